"""Connect to an Argo CD without an address of its own through `kubectl port-forward`."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from whysync.deadline import Deadline
from whysync.errors import NoSource, SourceError
from whysync.facts.http.limits import MIB, PORT_FORWARD_SECONDS, PROGRAM_OUTPUT
from whysync.facts.masking import Masker
from whysync.processes.children import Bounds, Ended, NotStarted, TooMuchOutput, TooSlow, run, running

_SELECTOR: Final = "app.kubernetes.io/name=argocd-server"
_PORT: Final = 8080
_FORWARDING = re.compile(rb"Forwarding from 127\.0\.0\.1:(\d+)")


class PortForward(msgspec.Struct, frozen=True, kw_only=True):
    """`namespace` is Argo CD's; by default the usual one."""

    namespace: str = ""
    kubeconfig: str = ""
    context: str = ""


@contextmanager
def forwarded(options: PortForward, deadline: Deadline) -> Generator[str]:
    """The local address that is forwarded to Argo CD's API server."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        raise NoSource(
            what="--port-forward needs kubectl",
            why="no program of that name is on the PATH",
            next="install it, or give Argo CD's address with --server, or ask the cluster with --core",
        )
    command = [kubectl, *_kubectl_flags(options)]
    bounds = _bounds(deadline)
    with _explained(bounds):
        pod = _server_pod(command, bounds)
    bounds = _bounds(deadline)
    # Exceptions while the port is in use are not kubectl's.
    tunnel = running(
        [*command, "port-forward", "--address", "127.0.0.1", pod, f":{_PORT}"],
        folder=Path(),
        env=os.environ,
        bounds=bounds,
        ready=_port,
    )
    with _explained(bounds):
        port = tunnel.__enter__()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        tunnel.__exit__(None, None, None)


@contextmanager
def _explained(bounds: Bounds) -> Generator[None]:
    try:
        yield
    except TooSlow as problem:
        own = bounds.seconds >= PORT_FORWARD_SECONDS
        limit = f"{PORT_FORWARD_SECONDS:.0f} s" if own else "the time given with --timeout"
        raise SourceError(
            what="kubectl does not respond",
            why=f"it was killed: nothing from the cluster within {limit}",
            next="check the kubeconfig and the cluster, or give it more time with --timeout",
        ) from problem
    except TooMuchOutput as problem:
        raise SourceError(
            what="kubectl does not end",
            why=f"it was killed: it wrote more than {PROGRAM_OUTPUT / MIB:.0f} MiB",
            next="run kubectl get pods by hand to see",
        ) from problem
    except Ended as problem:
        raise SourceError(
            what="kubectl port-forward ended",
            why=_last(str(problem)),
            next="it needs `pods/portforward, create` in Argo CD's namespace",
        ) from problem
    except NotStarted as problem:
        raise SourceError(what="kubectl cannot be run", why=str(problem)) from problem


def _bounds(deadline: Deadline) -> Bounds:
    return Bounds(seconds=min(PORT_FORWARD_SECONDS, deadline.remaining()), output=PROGRAM_OUTPUT)


def _kubectl_flags(options: PortForward) -> list[str]:
    flags = ["--namespace", options.namespace or "argocd"]
    flags += ["--kubeconfig", options.kubeconfig] if options.kubeconfig else []
    return flags + (["--context", options.context] if options.context else [])


def _server_pod(command: Sequence[str], bounds: Bounds) -> str:
    """Select a running Pod with the API server's label, as argocd does."""
    result = run(
        [*command, "get", "pods", "-l", _SELECTOR, "--field-selector=status.phase=Running", "-o", "name"],
        folder=Path(),
        env=os.environ,
        bounds=bounds,
    )
    pods = result.out.decode("utf-8", "replace").split()
    if not pods:
        raise SourceError(
            what="no Pod of Argo CD's API server was found",
            why=_last(result.complaint) or f"none with the label {_SELECTOR}",
            next="name its namespace with --port-forward-namespace; a core install has none: --core",
        )
    return pods[0]


def _port(output: bytes) -> int | None:
    """The port that kubectl chose, once it is printed."""
    match = _FORWARDING.search(output)
    return int(match[1]) if match else None


def _last(output: str) -> str:
    lines = output.strip().splitlines()
    return Masker().masked_text(lines[-1])[:300] if lines else ""
