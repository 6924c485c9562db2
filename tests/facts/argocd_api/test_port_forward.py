"""kubectl port-forward: what hangs, floods or ends early is an error in time, and is killed."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from whysync.deadline import Deadline
from whysync.errors import SourceError
from whysync.facts.argocd_api.port_forward import PortForward, forwarded

POD = "if 'get' in sys.argv: print('pod/argocd-server-1'); sys.exit()\n"
READY = "print('Forwarding from 127.0.0.1:4711 -> 8080', flush=True)\n"
FAILING = {
    "get hangs": ("time.sleep(60)", 1.0, "the time given with --timeout"),
    "get floods": ("while True: print('x' * 65536)", 60.0, "more than 1 MiB"),
    "get complains without end": ("while True: sys.stderr.write('x' * 65536)", 60.0, "more than 1 MiB"),
    "no Pod": ("sys.exit('error: password=hunter2hunter2')", 60.0, "error: password="),
    "forward hangs": (f"{POD}time.sleep(60)", 2.0, "the time given with --timeout"),
    "forward floods": (f"{POD}while True: print('x' * 65536)", 60.0, "more than 1 MiB"),
    "forward ends": (f"{POD}sys.exit('error: lost connection to pod')", 60.0, "lost connection to pod"),
}


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path / "kubectl"


def written(kubectl: Path, script: str) -> None:
    kubectl.write_text(f"#!{sys.executable}\nimport sys, time\n{script}\n")
    kubectl.chmod(0o755)


@pytest.mark.parametrize(("script", "seconds", "expected"), FAILING.values(), ids=FAILING.keys())
def test_a_kubectl_that_does_not_help(kubectl: Path, script: str, seconds: float, expected: str) -> None:
    written(kubectl, script)
    with pytest.raises(SourceError) as caught, forwarded(PortForward(), Deadline.after(seconds)):
        pass
    assert expected in caught.value.why
    assert "hunter2hunter2" not in caught.value.why


def test_a_tunnel_that_talks_all_the_time_is_not_blocked(kubectl: Path) -> None:
    """kubectl writes a line for each connection; a full pipe would stop it."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    flood = "for _ in range(64): print('Handling connection ' * 4096, flush=True)\nimport socket\n"
    written(kubectl, f"{POD}{READY}{flood}socket.create_connection(('127.0.0.1', {port})); time.sleep(60)")
    with listening, forwarded(PortForward(), Deadline()) as address:
        assert address == "127.0.0.1:4711"
        listening.settimeout(60)
        listening.accept()[0].close()


def test_an_error_while_the_tunnel_is_used_is_the_user_s(kubectl: Path) -> None:
    written(kubectl, f"{POD}{READY}time.sleep(60)")
    with pytest.raises(KeyError), forwarded(PortForward(), Deadline()):
        raise KeyError("x")
