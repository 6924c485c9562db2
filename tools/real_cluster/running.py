"""A real API server for the length of a `with` block: on loopback, as any user, leaving nothing behind."""

from __future__ import annotations

import contextlib
import secrets
import ssl
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

from tools.real_cluster.binaries import Binaries, NotAvailable
from tools.real_cluster.processes import Child, free_ports
from tools.real_cluster.wire import Wire

_START_SECONDS = 120


@contextlib.contextmanager
def real_cluster(binaries: Binaries) -> Generator[Wire]:
    """Start etcd and kube-apiserver, give a connection of an administrator, stop both in the right order.

    No controllers run: nothing changes between two requests by itself.
    """
    with tempfile.TemporaryDirectory(prefix="whysync-cluster-") as folder, contextlib.ExitStack() as leaving:
        home = Path(folder)
        store, peers, port = free_ports(3)
        etcd = Child(binaries.etcd, _etcd_arguments(home, store, peers), home / "etcd.log")
        leaving.callback(etcd.stop)
        token = secrets.token_urlsafe(24)
        tokens = home / "tokens.csv"
        tokens.touch(mode=0o600)
        tokens.write_text(f'{token},administrator,administrator,"system:masters"\n', encoding="utf-8")
        server = Child(
            binaries.apiserver, _apiserver_arguments(home, store, port, tokens), home / "apiserver.log"
        )
        leaving.callback(server.stop)  # runs before etcd's: a server without its store hangs
        wire = _connected(home, port, token, etcd, server)
        leaving.callback(wire.close)
        yield wire


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
    key = certificates / "apiserver.key"  # the server makes it; service accounts may use the same
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
        "--disable-admission-plugins=ServiceAccount",
        "--allow-privileged=true",
        "--profiling=false",
        "--event-ttl=1h",
    ]


def _connected(home: Path, port: int, token: str, etcd: Child, server: Child) -> Wire:
    certificate = home / "certificates" / "apiserver.crt"
    until = time.monotonic() + _START_SECONDS
    wire: Wire | None = None
    while time.monotonic() < until:
        for child in (etcd, server):
            if not child.running:
                raise NotAvailable(f"{child.log.stem} ended while it was starting:\n{child.last_words()}")
        if wire is None and certificate.exists():
            with contextlib.suppress(ssl.SSLError):  # half written
                wire = Wire(port=port, token=token, trust=ssl.create_default_context(cafile=certificate))
        if wire is not None and wire.ready():
            return wire
        time.sleep(0.1)
    raise NotAvailable(f"not ready after {_START_SECONDS} s:\n{server.last_words()}")
