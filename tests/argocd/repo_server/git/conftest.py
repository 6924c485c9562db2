"""Small repositories, made with the real `git` in a temporary folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest


class GitCheckout:
    """A checkout that a test fills; its commits have fixed authors and times."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("git") is None:
            pytest.skip("git is not installed")
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, stdin: bytes = b"") -> str:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder.parent),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@example.org",
            "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
            "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
        }
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, env=env, input=stdin, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    def commit(self, files: Mapping[str, str], message: str = "change") -> str:
        for path, content in files.items():
            full = self.folder / path
            full.parent.mkdir(parents=True, exist_ok=True)
            full.write_text(content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def checkout(tmp_path: Path) -> GitCheckout:
    return GitCheckout(tmp_path / "checkout")


@contextmanager
def served(folder: Path) -> Generator[str]:
    """The repositories of a folder over HTTP on this machine; gives the address of the folder."""
    backend = subprocess.run(
        ["git", "--exec-path"], capture_output=True, text=True, check=True
    ).stdout.strip()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            length = int(self.headers.get("Content-Length") or 0)
            env = {
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(folder),
                "GIT_HTTP_EXPORT_ALL": "1",
                "HOME": str(folder),
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type") or "",
                "CONTENT_LENGTH": str(length),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "",
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
            }
            done = subprocess.run(
                [f"{backend}/git-http-backend"],
                env=env,
                input=self.rfile.read(length),
                capture_output=True,
                check=False,
            )
            head, _, body = done.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
            self.send_response(int(fields.pop("Status", "200").split()[0]))
            for name, value in fields.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
