"""Reach an Argo CD that has no address of its own: `kubectl port-forward`, as long as it is needed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import IO, Final

import msgspec

from whysync.errors import NoSource, SourceError

_SELECTOR: Final = "app.kubernetes.io/name=argocd-server"
_PORT: Final = 8080
_SECONDS: Final = 30
_FORWARDING = re.compile(r"Forwarding from 127\.0\.0\.1:(\d+)")


class PortForward(msgspec.Struct, frozen=True, kw_only=True):
    """`namespace` is Argo CD's; without one, the usual."""

    namespace: str = ""
    kubeconfig: str = ""
    context: str = ""


@contextmanager
def forwarded(wish: PortForward) -> Generator[str]:
    """The address on this machine that leads to Argo CD's API server."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        raise NoSource(
            what="--port-forward needs kubectl",
            why="no program of that name is on the PATH",
            next="install it, or give Argo CD's address with --server, or ask the cluster with --core",
        )
    command = [kubectl, *_where(wish)]
    pod = _server_pod(command)
    child = subprocess.Popen(
        [*command, "port-forward", "--address", "127.0.0.1", pod, f":{_PORT}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield f"127.0.0.1:{_port(child)}"
    finally:
        child.terminate()
        try:
            child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        for pipe in (child.stdout, child.stderr):
            if pipe is not None:
                pipe.close()


def _where(wish: PortForward) -> list[str]:
    flags = ["--namespace", wish.namespace or "argocd"]
    flags += ["--kubeconfig", wish.kubeconfig] if wish.kubeconfig else []
    return flags + (["--context", wish.context] if wish.context else [])


def _server_pod(command: Sequence[str]) -> str:
    """As argocd finds it: a running Pod that bears the API server's name."""
    try:
        asked = subprocess.run(
            [*command, "get", "pods", "-l", _SELECTOR, "--field-selector=status.phase=Running", "-o", "name"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as problem:
        raise SourceError(
            what="kubectl does not answer", why=f"no word from the cluster in {_SECONDS} s"
        ) from problem
    pods = asked.stdout.split()
    if not pods:
        raise SourceError(
            what="no Pod of Argo CD's API server was found",
            why=_last(asked.stderr) or f"none with the label {_SELECTOR}",
            next="name its namespace with --port-forward-namespace; a core install has none: --core",
        )
    return pods[0]


def _port(child: subprocess.Popen[str]) -> int:
    """kubectl says which port it took, or why it could not; either ends the wait."""
    lines: IO[str] | None = child.stdout
    assert lines is not None
    assert child.stderr is not None
    for line in lines:
        found = _FORWARDING.search(line)
        if found:
            return int(found[1])
    raise SourceError(
        what="kubectl port-forward ended",
        why=_last(child.stderr.read()),
        next="it needs `pods/portforward, create` in Argo CD's namespace",
    )


def _last(said: str) -> str:
    lines = said.strip().splitlines()
    return lines[-1][:300] if lines else ""
