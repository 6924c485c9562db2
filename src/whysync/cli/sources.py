"""Where the facts come from: what the flags say, then the environment, then the config files of others.

    --bundle                                          files
    --core, --server, --argocd-context, --port-forward    what is said on the line
    --kubeconfig, --context
    ARGOCD_OPTS, ARGOCD_SERVER                        what argocd itself would ask
    argocd's config file                              its current context
    KUBECONFIG, ~/.kube/config, a Pod's own account   the cluster

The first that there is counts. A token goes to the server that it was made for and to no other.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from whysync import app
from whysync.app import FactSource
from whysync.errors import UsageError
from whysync.facts.bundle.limits import BundleLimits
from whysync.reports.output import err

if TYPE_CHECKING:  # whoever reads a bundle does not wait for a client to load
    from whysync.diagnosis.snapshot_index import SnapshotIndex
    from whysync.facts.argocd_api.config import Config, Context
    from whysync.facts.argocd_api.server import ArgoServer
    from whysync.facts.kubernetes_api.access import KubeAccess
    from whysync.facts.selection import Selection


T = TypeVar("T")
# Seconds until progress is shown.
_PATIENCE = 1.0


def facts(options: argparse.Namespace) -> SnapshotIndex:
    """The facts, with a line on how far it is where somebody watches a terminal."""
    source = source_of(options)
    return with_progress(lambda progress: app.read(source, progress=progress))


def with_progress(work: Callable[[app.Progress | None], T]) -> T:
    if not err().is_terminal:
        return work(None)
    progress = _Progress()
    try:
        return work(progress)
    finally:
        progress.wipe()


def source_of(options: argparse.Namespace) -> FactSource:
    if not options.bundle:
        return live_source(options, os.environ)
    usual = BundleLimits()
    limits = BundleLimits(
        unpacked_bytes=options.max_size or usual.unpacked_bytes,
        file_bytes=options.max_file_size or usual.file_bytes,
        files=options.max_files or usual.files,
    )
    return FactSource(bundles=tuple(options.bundle), stdin=sys.stdin.buffer, limits=limits)


class _Progress:
    """On a terminal, anything slow says how far it is; the line is wiped when it is done."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _PATIENCE
        self._shown = False

    def __call__(self, name: str, unpacked: int) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _PATIENCE / 4
            self._shown = True
            err().progress(f"reading {name[:60]}: {unpacked / 1e6:,.0f} MB so far")

    def wipe(self) -> None:
        if self._shown:
            err().progress("")


def live_source(options: argparse.Namespace, environ: Mapping[str, str]) -> FactSource:
    """Argo CD's API, or Kubernetes', or a Place that is nowhere."""
    told = _Told(options, environ)
    if told.flag("core"):
        return _cluster(told)
    if options.server or options.argocd_context or options.port_forward or options.port_forward_namespace:
        return _argocd(told)
    if options.kubeconfig or options.context:
        return _cluster(told)
    if told.server or told.flag("port-forward"):
        return _argocd(told)
    context = told.context()
    if context is not None:
        return _cluster(told) if context.core else _argocd(told)
    return _cluster(told) if _has_kubeconfig(environ) else FactSource()


def names_live_source(options: argparse.Namespace) -> bool:
    """Does the line itself name a live source?"""
    flags = (
        "core",
        "server",
        "argocd_context",
        "port_forward",
        "port_forward_namespace",
        "kubeconfig",
        "context",
    )
    return any(getattr(options, flag) for flag in flags)


class _Told:
    """A flag, else what ARGOCD_OPTS says, else what the environment says."""

    def __init__(self, options: argparse.Namespace, environ: Mapping[str, str]) -> None:
        self.options = options
        self.environ = environ
        self.opts = _opts(environ.get("ARGOCD_OPTS", ""))

    def flag(self, name: str) -> bool:
        return bool(getattr(self.options, name.replace("-", "_"), False)) or self.opts.get(name) == "true"

    def value(self, flag: str, name: str) -> str:
        """`flag` as ours is called, `name` as argocd's is."""
        return getattr(self.options, flag) or self.opts.get(name, "")

    @property
    def server(self) -> str:
        return self.value("server", "server") or self.environ.get("ARGOCD_SERVER", "")

    @property
    def server_setting(self) -> str:
        """Where the address in `server` was given."""
        if self.options.server:
            return "--server"
        return "ARGOCD_OPTS" if self.opts.get("server") else "ARGOCD_SERVER"

    @property
    def token(self) -> str:
        found = self.value("auth_token", "auth-token") or self.environ.get("ARGOCD_AUTH_TOKEN", "")
        return found.strip()

    def config(self) -> Config | None:
        from whysync.facts.argocd_api.config import default_path, read_config

        named = self.value("config", "config")
        found = read_config(Path(named).expanduser() if named else default_path(self.environ))
        if found is None and named:
            raise UsageError(
                what=f"there is no {named}", next="argocd login SERVER makes argocd's config file"
            )
        return found

    def context(self) -> Context | None:
        """The context that was named, else the one of the server that was, else the current one."""
        config, named = self.config(), self.value("argocd_context", "argocd-context")
        if config is None:
            if named:
                raise UsageError(
                    what=f"there is no context {named!r}: argocd has no config file here",
                    next="argocd login SERVER makes one; --config names another",
                )
            return None
        if self.server and not named:
            return config.for_server(self.server)
        return config.context(named)


def _argocd(told: _Told) -> FactSource:
    """With a kubeconfig named beside it, the cluster is asked too: for all that Argo CD does not show."""
    server = _server(told)
    named = bool(told.options.kubeconfig or told.options.context) and server.forward is None
    return FactSource(
        server=server, kube=_access(told) if named else None, selection=_selection(told.options)
    )


def _server(told: _Told) -> ArgoServer:
    from whysync.facts.argocd_api.port_forward import PortForward
    from whysync.facts.argocd_api.server import ArgoServer
    from whysync.facts.http.tls import Tls

    forward = None
    if told.flag("port-forward") or told.value("port_forward_namespace", "port-forward-namespace"):
        forward = PortForward(
            namespace=told.value("port_forward_namespace", "port-forward-namespace"),
            kubeconfig=told.options.kubeconfig,
            context=told.options.context,
        )
    context = told.context()
    known = context.server if context is not None else ArgoServer(address="")
    tls = known.tls
    if files := {
        name: value
        for name, value in {
            "ca_file": told.value("ca_file", "server-crt"),
            "certificate_file": told.value("client_crt", "client-crt"),
            "key_file": told.value("client_crt_key", "client-crt-key"),
        }.items()
        if value
    }:
        tls = Tls(insecure=tls.insecure, **{name: str(Path(v).expanduser()) for name, v in files.items()})
    address = told.server or known.address
    if not address and forward is None:
        raise UsageError(what="no Argo CD server is named", next="give --server argocd.example.com")
    return replace(
        known,
        address=address,
        token=told.token or ("" if told.options.auth_token_file else known.token),
        token_file=told.options.auth_token_file,
        tls=replace(tls, insecure=tls.insecure or told.flag("insecure")),
        plaintext=known.plaintext or told.flag("plaintext"),
        root_path=told.value("root_path", "grpc-web-root-path") or known.root_path,
        headers=tuple(_header(header) for header in _headers(told)),
        limits=replace(known.limits, deadline=told.options.deadline),
        forward=forward,
        setting=told.server_setting if told.server else f"context {known.context} of argocd's config file",
    )


def _headers(told: _Told) -> list[str]:
    return told.options.header or [one for one in told.opts.get("header", "").split(",") if one]


def _header(written: str) -> tuple[str, str]:
    name, colon, value = written.partition(":")
    if not colon or not name.strip():
        raise UsageError(what="a header is written as NAME: VALUE", next="correct -H")
    return name.strip(), value.strip()


def _cluster(told: _Told) -> FactSource:
    return FactSource(kube=_access(told), selection=_selection(told.options))


def _access(told: _Told) -> KubeAccess:
    from whysync.facts.http.limits import HttpLimits
    from whysync.facts.kubernetes_api.access import KubeAccess

    options = told.options
    return KubeAccess(
        kubeconfig=str(Path(options.kubeconfig).expanduser()) if options.kubeconfig else "",
        context=options.context,
        namespace=options.argocd_namespace,
        insecure=options.insecure,
        use_cluster_secrets=options.use_cluster_secrets,
        limits=HttpLimits(deadline=options.deadline),
        environment=told.environ,
    )


def _has_kubeconfig(environ: Mapping[str, str]) -> bool:
    """As kubectl looks: KUBECONFIG, the usual file, or the account of the Pod that this runs in."""
    if environ.get("KUBECONFIG"):
        return True
    home = Path(environ.get("HOME") or "~").expanduser()
    if (home / ".kube" / "config").exists():
        return True
    account = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
    return bool(environ.get("KUBERNETES_SERVICE_HOST")) and account.exists()


def _selection(options: argparse.Namespace) -> Selection:
    """What a server can narrow down for us; patterns with `*` it cannot."""
    from whysync.facts.selection import Selection

    spaces = [*options.app_namespace, *_plain(getattr(options, "namespace", None))]
    return Selection(
        names=tuple(getattr(options, "apps", None) or ()),
        app_namespaces=tuple(dict.fromkeys(spaces)),
        all_namespaces=options.all_namespaces,
        projects=tuple(_plain(getattr(options, "project", None))),
        selector=getattr(options, "selector", None) or "",
        refresh="hard" if options.hard_refresh else "normal" if options.refresh else "",
        logs=not options.no_logs,
        local=getattr(options, "local", None) or "",
    )


def _plain(values: list[str] | None) -> list[str]:
    """All of them, unless one is a pattern: the others alone would be too few."""
    found = values or []
    return [] if any(letter in value for value in found for letter in "*?[") else found


def _opts(written: str) -> dict[str, str]:
    """`ARGOCD_OPTS`: flags for every call of argocd. Mirrors `util/config` `LoadFlags`, Argo CD 3.6."""
    try:
        words = shlex.split(written)
    except ValueError as problem:
        raise UsageError(
            what="ARGOCD_OPTS cannot be read", why=str(problem), next="correct its quotes"
        ) from problem
    found: dict[str, str] = {}
    key = ""
    for word in words:
        if word.startswith("--"):
            key, equals, value = word[2:].partition("=")
            found[key] = value if equals else "true"
            key = "" if equals else key
        elif key:
            found[key] = word
            key = ""
        else:
            raise UsageError(
                what="ARGOCD_OPTS cannot be read", why="it is a list of --flags", next="correct or unset it"
            )
    return found
