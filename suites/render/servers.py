"""Servers on loopback: chart repository, OCI registry, Git over HTTP and SSH; all with a password or key."""

from __future__ import annotations

import base64
import fcntl
import http.server
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final
from urllib.parse import urlsplit

from whysync.argocd.repo_server.git.repo import cache_folder

USER: Final = "kim"
PASSWORD: Final = "secret"
_HTPASSWD: Final = f"{USER}:$2b$04$xcoejoWad5LBMGCS9emcGelWzttnXdKXstWEjrPg2egbkNQjDtEmC\n"
_REGISTRY: Final = "v3.0.0"
_ASYNCSSH: Final = "asyncssh==2.21.0"


class NotAvailable(Exception):
    """What a test needs cannot be installed, and why."""


# --- HTTP ----------------------------------------------------------------------------------------------


class _Files(http.server.SimpleHTTPRequestHandler):
    """Files of a folder; with a password if `protected` is set."""

    protected = True
    asked: Final[list[str]] = []

    def do_GET(self) -> None:
        type(self).asked.append(self.path)
        if self._is_allowed():
            super().do_GET()

    def _is_allowed(self) -> bool:
        expected = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if not self.protected or self.headers.get("Authorization") == f"Basic {expected}":
            return True
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="test"')
        self.send_header("Content-Length", "0")
        self.end_headers()
        return False

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Git(_Files):
    """`git http-backend` as a CGI program."""

    def do_GET(self) -> None:
        if self._is_allowed():
            self._answer(b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self._is_allowed():
            self._answer(body)

    def _answer(self, body: bytes) -> None:
        url = urlsplit(self.path)
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": self.directory,
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": url.path,
            "QUERY_STRING": url.query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type") or "",
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
        }
        done = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True, check=True)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = [line.partition(": ") for line in head.decode().split("\r\n")]
        status = next((value for name, _, value in headers if name == "Status"), "200 OK")
        self.send_response(int(status.split()[0]))
        for name, _, value in headers:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def _serving(handler: type[_Files], folder: Path) -> Generator[str]:
    def handle(*args: object) -> _Files:
        return handler(*args, directory=str(folder))  # pyright: ignore[reportArgumentType]  (of socketserver)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handle) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def chart_repository(folder: Path) -> Generator[str]:
    with _serving(_Files, folder) as url:
        yield url


@contextmanager
def git_over_http(folder: Path) -> Generator[str]:
    with _serving(_Git, folder) as url:
        yield url


# --- OCI registry --------------------------------------------------------------------------------------


def registry_program() -> Path:
    """The reference implementation of an OCI registry, built once with Go into whysync's cache."""
    home = cache_folder() / f"registry-{_REGISTRY}"
    home.mkdir(parents=True, exist_ok=True)
    program = home / "registry"
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            go = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
            if go is None:
                raise NotAvailable("no Go here to build the OCI registry with: install Go")
            package = f"github.com/distribution/distribution/v3/cmd/registry@{_REGISTRY}"
            env = {**os.environ, "GOBIN": str(home), "GOFLAGS": "", "GOWORK": "off"}
            done = subprocess.run(
                [go, "install", package], env=env, capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                raise NotAvailable(f"the OCI registry was not built: {done.stderr.strip()[-300:]}")
    return program


@contextmanager
def oci_registry(program: Path, folder: Path) -> Generator[str]:
    """`HOST:PORT` of a registry with a password."""
    (folder / "htpasswd").write_text(_HTPASSWD)
    (folder / "config.yml").write_text(
        "version: 0.1\nlog: {level: info, formatter: json}\n"
        f"storage: {{filesystem: {{rootdirectory: {folder / 'data'}}}}}\n"
        "http: {addr: '127.0.0.1:0'}\n"
        f"auth: {{htpasswd: {{realm: test, path: {folder / 'htpasswd'}}}}}\n"
    )
    command = [str(program), "serve", str(folder / "config.yml")]
    env = {"PATH": os.environ["PATH"], "OTEL_TRACES_EXPORTER": "none"}
    child = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert child.stderr is not None
    reader = threading.Thread(target=child.stderr.read, daemon=True)  # so that it never blocks
    try:
        address = _listening_address(child.stderr)
        reader.start()
        yield address
    finally:
        child.kill()
        child.wait()
        if reader.ident is not None:
            reader.join()
        child.stderr.close()


def _listening_address(log: IO[str]) -> str:
    lines: list[str] = []
    for line in log:
        lines.append(line)
        if "listening on " in line:
            return line.partition("listening on ")[2].partition('"')[0].strip()
    raise NotAvailable(f"the OCI registry did not start: {''.join(lines)[-500:]}")


# --- SSH -----------------------------------------------------------------------------------------------

_SSH_SERVER: Final = """\
import asyncio, shlex, sys
sys.path.insert(0, sys.argv[1])
import asyncssh

async def handle(process):
    program, path = shlex.split(process.command)
    assert program == "git-upload-pack", program
    child = await asyncio.create_subprocess_exec(
        "git", "-c", "safe.directory=*", "upload-pack", path,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    await process.redirect(stdin=child.stdin, stdout=child.stdout, stderr=child.stderr)
    process.exit(await child.wait())

async def main():
    server = await asyncssh.listen("127.0.0.1", 0, server_host_keys=[sys.argv[2]],
        authorized_client_keys=sys.argv[3], process_factory=handle, encoding=None)
    print(server.get_port(), flush=True)
    await asyncio.get_running_loop().create_future()

asyncio.run(main())
"""


def ssh_library() -> Path:
    """The folder with an SSH server for Python, installed once into whysync's cache."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    folder = cache_folder() / "tools" / f"{_ASYNCSSH}-{version}"
    if not (folder / "asyncssh").is_dir():
        command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(folder), _ASYNCSSH]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NotAvailable(f"{_ASYNCSSH} cannot be installed: {done.stderr.strip()[-300:]}")
    return folder


@contextmanager
def git_over_ssh(library: Path, folder: Path) -> Generator[tuple[str, str]]:
    """`ssh://…` and the command with which a client that has the key connects."""
    for name in ("host", "client"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(command, check=True)
    command = [sys.executable, "-c", _SSH_SERVER, str(library)]
    command += [str(folder / "host"), str(folder / "client.pub")]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        port = child.stdout.readline().strip()
        if not port:
            raise NotAvailable("the SSH server did not start, see above")
        known = folder / "known_hosts"
        host_key = " ".join((folder / "host.pub").read_text().split()[:2])
        known.write_text(f"[127.0.0.1]:{port} {host_key}\n")
        client = f"ssh -F none -i {folder / 'client'} -o UserKnownHostsFile={known} -o IdentitiesOnly=yes"
        yield f"ssh://{USER}@127.0.0.1:{port}", client
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
