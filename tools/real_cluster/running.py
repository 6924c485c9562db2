"""A real API server for the duration of a `with` block, on loopback, without root and without leftovers."""

from __future__ import annotations

import contextlib
import secrets
import ssl
import tempfile
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.real_cluster.binaries import Binaries, NotAvailable
from tools.real_cluster.client import ApiServerClient
from tools.real_cluster.processes import Child, free_ports

_START_SECONDS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServer:
    """A running kube-apiserver: a client with administrator access, and what other clients need."""

    client: ApiServerClient
    port: int
    token: str
    certificates: Path
    """The folder with `apiserver.crt` and `apiserver.key`; the key also signs service account tokens."""

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def another_client(self) -> ApiServerClient:
        """A client with a connection of its own, for another thread."""
        trust = ssl.create_default_context(cafile=self.certificates / "apiserver.crt")
        return ApiServerClient(port=self.port, token=self.token, trust=trust)


@contextlib.contextmanager
def real_cluster(binaries: Binaries) -> Generator[ApiServerClient]:
    """Start etcd and kube-apiserver, yield a client with administrator access, then stop both.

    No controllers run, so nothing changes between two requests.
    """
    with (
        tempfile.TemporaryDirectory(prefix="whysync-cluster-") as folder,
        api_server(binaries, Path(folder), ["--disable-admission-plugins=ServiceAccount"]) as server,
    ):
        yield server.client


@contextlib.contextmanager
def api_server(binaries: Binaries, home: Path, arguments: Sequence[str] = ()) -> Generator[ApiServer]:
    """Start etcd and kube-apiserver with their files in `home`, and stop both at the end."""
    with contextlib.ExitStack() as stack:
        store, peers, port = free_ports(3)
        etcd = Child(binaries.etcd, _etcd_arguments(home, store, peers), home / "etcd.log")
        stack.callback(etcd.stop)
        token = secrets.token_urlsafe(24)
        tokens = home / "tokens.csv"
        tokens.touch(mode=0o600)
        tokens.write_text(f'{token},administrator,administrator,"system:masters"\n', encoding="utf-8")
        server = Child(
            binaries.apiserver,
            [*_apiserver_arguments(home, store, port, tokens), *arguments],
            home / "apiserver.log",
        )
        stack.callback(server.stop)  # before etcd: a server without its store hangs
        client = _connected(home, port, token, etcd, server)
        stack.callback(client.close)
        yield ApiServer(client=client, port=port, token=token, certificates=home / "certificates")


def _etcd_arguments(home: Path, store: int, peers: int) -> list[str]:
    client, peer = f"http://127.0.0.1:{store}", f"http://127.0.0.1:{peers}"
    return [
        f"--data-dir={home / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def _apiserver_arguments(home: Path, store: int, port: int, tokens: Path) -> list[str]:
    certificates = home / "certificates"
    key = certificates / "apiserver.key"  # created by the server; also used for service accounts
    return [
        f"--etcd-servers=http://127.0.0.1:{store}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={certificates}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--service-account-issuer=https://127.0.0.1",
        f"--service-account-signing-key-file={key}",
        f"--service-account-key-file={key}",
        f"--token-auth-file={tokens}",
        "--authorization-mode=RBAC",
        "--endpoint-reconciler-type=none",
        "--allow-privileged=true",
        "--profiling=false",
        "--event-ttl=1h",
    ]


def _connected(home: Path, port: int, token: str, etcd: Child, server: Child) -> ApiServerClient:
    certificate = home / "certificates" / "apiserver.crt"
    until = time.monotonic() + _START_SECONDS
    client: ApiServerClient | None = None
    while time.monotonic() < until:
        for child in (etcd, server):
            if not child.running:
                raise NotAvailable(f"{child.log.stem} ended while it was starting:\n{child.log_tail()}")
        if client is None and certificate.exists():
            with contextlib.suppress(ssl.SSLError):  # half written
                client = ApiServerClient(
                    port=port, token=token, trust=ssl.create_default_context(cafile=certificate)
                )
        if client is not None and client.ready():
            return client
        time.sleep(0.1)
    raise NotAvailable(f"not ready after {_START_SECONDS} s:\n{server.log_tail()}")
