"""A Git host on loopback that answers for any host name: Argo CD reaches it through an HTTPS proxy.

Repositories keep the URLs that a scenario gives them, so messages, projects and credentials contain what they
would contain in production. `HTTPS_PROXY` of the repo-server names this proxy; it terminates TLS with a
certificate of its own for the requested host, and serves `git http-backend`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

_IDENTITY: Final = {
    "GIT_AUTHOR_NAME": "Dana",
    "GIT_AUTHOR_EMAIL": "dana@example.com",
    "GIT_COMMITTER_NAME": "Dana",
    "GIT_COMMITTER_EMAIL": "dana@example.com",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
}


class GitFailed(Exception):
    """A git command of a test ended with an error."""


class GitHost:
    """Bare repositories below a folder, one checkout of each, and the proxy that serves them."""

    def __init__(self, home: Path, openssl: Path) -> None:
        self._home, self._openssl = home, openssl
        self._served = home / "served"
        self.certificates = home / "certificates"
        """`ARGOCD_TLS_DATA_PATH`: a trusted certificate per host."""
        for folder in (self._served, self.certificates, home / "keys", home / "checkouts"):
            folder.mkdir(parents=True)
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._server = _ProxyServer(("127.0.0.1", 0), _Proxy, self)

    @property
    def proxy(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextlib.contextmanager
    def running(self) -> Generator[GitHost]:
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def create(self, url: str, branch: str) -> None:
        """An empty repository; one that exists is replaced."""
        host = urlsplit(url).hostname or ""
        if host not in self._contexts:
            self._contexts[host] = self._context(host)
        bare, checkout = self._bare(url), self.checkout(url)
        for folder in (bare, checkout):
            shutil.rmtree(folder, ignore_errors=True)
        bare.parent.mkdir(parents=True, exist_ok=True)
        checkout.parent.mkdir(parents=True, exist_ok=True)
        self._git(self._home, "init", "--quiet", "--bare", f"--initial-branch={branch}", str(bare))
        self._git(self._home, "init", "--quiet", f"--initial-branch={branch}", str(checkout))
        self._git(checkout, "remote", "add", "origin", url)
        self._git(checkout, "remote", "set-url", "--push", "origin", str(bare))
        # For commands that a test runs there as a person would.
        for key, value in (
            ("push.default", "current"),
            ("user.name", _IDENTITY["GIT_AUTHOR_NAME"]),
            ("user.email", _IDENTITY["GIT_AUTHOR_EMAIL"]),
        ):
            self._git(checkout, "config", key, value)

    def commit(
        self,
        url: str,
        branch: str,
        *,
        files: Mapping[str, str],
        removes: Sequence[str],
        message: str,
        before_push: Callable[[Path], None] | None = None,
    ) -> str:
        """Change files, push, and return the commit; a new branch starts at the current commit.

        `before_push` is called with the checkout when it has the commit and the host does not.
        """
        checkout = self.checkout(url)
        with contextlib.suppress(GitFailed):  # there is no commit yet
            self._git(checkout, "checkout", "--quiet", "-B", branch)
        for removed in removes:
            path = checkout / removed
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        for name, content in files.items():
            path = checkout / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        self._git(checkout, "add", "--all")
        self._git(checkout, "commit", "--quiet", "--allow-empty", "-m", message or "a commit")
        if before_push is not None:
            before_push(checkout)
        self._git(checkout, "push", "--quiet", "origin", "HEAD")
        return self.head(url)

    def head(self, url: str) -> str:
        """The newest commit of the checkout."""
        return self._git(self.checkout(url), "rev-parse", "HEAD").strip()

    def delete_branch(self, url: str, branch: str) -> None:
        self._git(self._bare(url), "update-ref", "-d", f"refs/heads/{branch}")

    def checkout(self, url: str) -> Path:
        return self._home / "checkouts" / _folder(url)

    def context_of(self, host: str) -> ssl.SSLContext | None:
        return self._contexts.get(host)

    def backend(self, host: str, environment: Mapping[str, str], body: bytes) -> bytes:
        """The answer of `git http-backend` as CGI writes it."""
        done = subprocess.run(
            ["git", "http-backend"],
            env={
                **os.environ,
                **_IDENTITY,
                **environment,
                "GIT_PROJECT_ROOT": str(self._served / host),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": "safe.directory",
                "GIT_CONFIG_VALUE_0": "*",
            },
            input=body,
            capture_output=True,
            check=False,
        )
        return done.stdout

    def _bare(self, url: str) -> Path:
        return self._served / _folder(url)

    def _context(self, host: str) -> ssl.SSLContext:
        """A certificate that is valid for this host, and trusted by Argo CD."""
        key, certificate = self._home / "keys" / host, self.certificates / host
        subprocess.run(
            [
                self._openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-days", "2", "-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}",
                "-keyout", key, "-out", certificate,
            ],
            capture_output=True,
            check=True,
        )  # fmt: skip
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        return context

    def _git(self, folder: Path, *arguments: str) -> str:
        environment = {**os.environ, **_IDENTITY}
        done = subprocess.run(
            ["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise GitFailed(f"git {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout


def _folder(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname}{parts.path}"


class _ProxyServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(
        self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], git_host: GitHost
    ) -> None:
        super().__init__(address, handler)
        self.git_host = git_host

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no error of a test."""


class _Quiet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the output belongs to the tests."""

    @property
    def git_host(self) -> GitHost:
        assert isinstance(self.server, _ProxyServer)
        return self.server.git_host


class _Proxy(_Quiet):
    def do_CONNECT(self) -> None:
        host = self.path.partition(":")[0]
        context = self.git_host.context_of(host)
        self.close_connection = True
        if context is None:
            self.send_error(502, f"no such host {host}")
            return
        self.send_response(200)
        self.end_headers()
        with context.wrap_socket(self.connection, server_side=True) as connection:
            _GitHandler(connection, self.client_address, self.server)


class _GitHandler(_Quiet):
    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        self._serve(self._body())

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts: list[bytes] = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _serve(self, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        environment = {
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        host = (self.headers.get("Host") or "").partition(":")[0]
        head, _, content = self.git_host.backend(host, environment, body).partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().splitlines() if ": " in line)
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
