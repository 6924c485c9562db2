"""A PostgreSQL of Debian's package, on loopback, with a database that ends with the tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

_INSTALLED = Path("/usr/lib/postgresql")
_SECONDS = 60.0


def _programs() -> Path:
    versions = sorted(_INSTALLED.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    found = versions[-1].parent if versions else None
    on_path = shutil.which("initdb")
    if found is None and on_path is None:
        raise RuntimeError("PostgreSQL is needed: apt-get install postgresql")
    return found or Path(str(on_path)).parent


class PostgresServer:
    """`stop` and `start` are those of an administrator; the data stay."""

    def __init__(self, folder: Path) -> None:
        self._programs = _programs()
        self.folder = folder
        self._data = folder / "data"
        self._log = folder / "log"
        self.port = _free_port()
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            shutil.chown(folder, "nobody")
        self._run("initdb", "--no-sync", "--auth=trust", "--username=whysync", "-D", str(self._data))
        self.start()

    def url(self, schema: str = "public") -> str:
        return f"postgresql://whysync@127.0.0.1:{self.port}/postgres?options=-csearch_path%3D{schema}"

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
        self._run("pg_ctl", "-D", str(self._data), "-l", str(self._log), "-o", options, "-w", "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self._data), "-m", "immediate", "-w", "stop")

    def sql(self, text: str) -> None:
        self.tool("psql", "-v", "ON_ERROR_STOP=1", "-q", "-c", text)

    def tool(self, name: str, *arguments: str, database: str = "postgres") -> str:
        """A client program: `psql`, `pg_dump`, `pg_restore`."""
        place = ("-h", "127.0.0.1", "-p", str(self.port), "-U", "whysync", "-d", database)
        return self._run(name, *place, *arguments)

    def _run(self, name: str, *arguments: str) -> str:
        command = [str(self._programs / name), *arguments]
        if os.getuid() == 0:
            command = ["runuser", "-u", "nobody", "--", *command]
        # pg_ctl leaves the server its standard output, so that a pipe would never end
        output = subprocess.DEVNULL if name == "pg_ctl" else subprocess.PIPE
        done = subprocess.run(
            command, stdout=output, stderr=output, text=True, check=False, cwd="/", timeout=_SECONDS
        )
        if done.returncode:
            raise RuntimeError(f"{name} failed: {done.stderr or self._log.read_text()}")
        return done.stdout or ""


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_for(question: str, is_so: Callable[[], object], seconds: float = _SECONDS) -> None:
    """Ask until it is so. The limit is for processes that hang."""
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, f"not in {seconds:.0f} s: {question}"
        time.sleep(0.1)
