"""The source of the facts, from flags, environment variables and config files. The first one given is used:

    --bundle                                              files
    --core, --server, --argocd-context, --port-forward    flags
    --kubeconfig, --context
    ARGOCD_OPTS, ARGOCD_SERVER                            as in argocd
    config file of argocd                                 its current context
    KUBECONFIG, ~/.kube/config, service account of a Pod  the cluster

A token is sent only to the server that it belongs to.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from whysync import app
from whysync.app import FactSource
from whysync.cli import progress
from whysync.cli.filters import split_values
from whysync.deadline import Deadline
from whysync.errors import UsageError
from whysync.facts.bundle.limits import BundleLimits

if TYPE_CHECKING:  # reading a bundle does not import the HTTP clients
    from whysync.diagnosis.case import Case
    from whysync.diagnosis.report import Report
    from whysync.diagnosis.snapshot_index import SnapshotIndex
    from whysync.facts.argocd_api.config import Config, Context
    from whysync.facts.argocd_api.server import ArgoServer
    from whysync.facts.kubernetes_api.access import KubeAccess
    from whysync.facts.selection import Selection


T = TypeVar("T")


def facts(options: argparse.Namespace) -> tuple[SnapshotIndex, ...]:
    """Read the facts, with a progress line on a terminal."""
    source = source_of(options)
    return with_progress(lambda progress: app.read(source, progress=progress), source.bundles)


def with_progress(work: Callable[[app.Progress | None], T], bundles: Sequence[str] = ()) -> T:
    """Read facts, with a progress line on a terminal."""
    return progress.with_progress(work, progress.reading, lambda: progress.size_of(bundles))


def diagnosed(cases: Sequence[Case], *, prove: bool, deadline: Deadline | None = None) -> Report:
    """Diagnose, with a progress line on a terminal; Ctrl-C keeps what is known."""
    limit = deadline or Deadline()

    def describe(_: str, done: int, left: str) -> str:
        return f"diagnosing apps: {done:,} of {len(cases):,}{left}"

    return progress.with_progress(
        lambda line: app.diagnose(cases, prove=prove, deadline=limit, progress=line, partial=True),
        describe,
        lambda: len(cases),
    )


def source_of(options: argparse.Namespace) -> FactSource:
    if not options.bundle:
        return live_source(options, os.environ)
    default = BundleLimits()
    limits = BundleLimits(
        unpacked_bytes=options.max_size or default.unpacked_bytes,
        file_bytes=options.max_file_size or default.file_bytes,
        files=options.max_files or default.files,
    )
    return FactSource(bundles=tuple(options.bundle), stdin=sys.stdin.buffer, limits=limits)


def live_source(options: argparse.Namespace, environ: Mapping[str, str]) -> FactSource:
    """Argo CD's API, Kubernetes, both, or an empty `FactSource` if neither is configured."""
    settings = _ConnectionSettings(options, environ)
    if options.argocd_context and not options.server:
        named = settings.context()
        if named is not None and named.core:
            return _cluster(settings)
    if options.server or options.argocd_context or options.port_forward or options.port_forward_namespace:
        return _argocd(settings)
    if settings.flag("core"):
        return _cluster(settings)
    if options.kubeconfig or options.context:
        return _cluster(settings)
    if settings.server or settings.flag("port-forward"):
        return _argocd(settings)
    context = settings.context()
    if context is not None:
        return _cluster(settings) if context.core else _argocd(settings)
    return _cluster(settings) if _has_kubeconfig(environ) else FactSource()


def names_live_source(options: argparse.Namespace) -> bool:
    """Do the flags name a live source?"""
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


class _ConnectionSettings:
    """Connection settings: from flags, else from ARGOCD_OPTS, else from other environment variables."""

    def __init__(self, options: argparse.Namespace, environ: Mapping[str, str]) -> None:
        self.options = options
        self.environ = environ
        self.opts = _opts(environ.get("ARGOCD_OPTS", ""))

    def flag(self, name: str) -> bool:
        return bool(getattr(self.options, name.replace("-", "_"), False)) or self.opts.get(name) == "true"

    def value(self, flag: str, name: str) -> str:
        """The value of our `flag`, or of argocd's flag `name` in ARGOCD_OPTS."""
        return getattr(self.options, flag) or self.opts.get(name, "")

    @property
    def forwards(self) -> bool:
        return self.flag("port-forward") or bool(self.forward_namespace)

    @property
    def forward_namespace(self) -> str:
        return self.value("port_forward_namespace", "port-forward-namespace")

    @property
    def server(self) -> str:
        return self.value("server", "server") or self.environ.get("ARGOCD_SERVER", "")

    @property
    def server_setting(self) -> str:
        """The flag or variable that set `server`."""
        if self.options.server:
            return "--server"
        return "ARGOCD_OPTS" if self.opts.get("server") else "ARGOCD_SERVER"

    @property
    def token(self) -> str:
        token = self.value("auth_token", "auth-token") or self.environ.get("ARGOCD_AUTH_TOKEN", "")
        return token.strip()

    def config(self) -> Config | None:
        from whysync.facts.argocd_api.config import default_path, read_config

        path = self.value("config", "config")
        config = read_config(Path(path).expanduser() if path else default_path(self.environ))
        if config is None and path:
            raise UsageError(what=f"{path} does not exist", next="run argocd login SERVER to create it")
        return config

    def context(self) -> Context | None:
        """The context of `--argocd-context`, else the one for the server, else the current one.

        With `--port-forward`, that of `argocd login --port-forward`: the token of another one is for another
        server.
        """
        from whysync.facts.argocd_api.config import PORT_FORWARD

        config, name = self.config(), self.value("argocd_context", "argocd-context")
        if config is None:
            if name:
                raise UsageError(
                    what=f"context {name!r} does not exist: argocd has no config file",
                    next="run argocd login SERVER to create it, or pass --config",
                )
            return None
        if self.forwards and not name:
            return config.for_server(PORT_FORWARD)
        if self.server and not name:
            return config.for_server(self.server)
        return config.context(name)


def _argocd(settings: _ConnectionSettings) -> FactSource:
    """With `--core`, `--kubeconfig` or `--context`, the cluster is read as well."""
    server, options = _server(settings), settings.options
    # `--port-forward` needs the kubeconfig for itself; only `--core` then asks for the cluster's objects.
    names_cluster = bool(options.kubeconfig or options.context) and server.forward is None
    reads_cluster = names_cluster or bool(options.core)
    return FactSource(
        server=server,
        kube=_access(settings) if reads_cluster else None,
        selection=_selection(settings.options),
    )


def _server(settings: _ConnectionSettings) -> ArgoServer:
    from whysync.facts.argocd_api.config import PORT_FORWARD
    from whysync.facts.argocd_api.port_forward import PortForward
    from whysync.facts.argocd_api.server import ArgoServer
    from whysync.facts.http.tls import Tls

    context = settings.context()
    server = context.server if context is not None else ArgoServer(address="")
    forward = None
    if settings.forwards or (server.address == PORT_FORWARD and not settings.server):
        forward = PortForward(
            namespace=settings.forward_namespace,
            kubeconfig=settings.options.kubeconfig,
            context=settings.options.context,
        )
    tls = server.tls
    if files := {
        name: value
        for name, value in {
            "ca_file": settings.value("ca_file", "server-crt"),
            "certificate_file": settings.value("client_crt", "client-crt"),
            "key_file": settings.value("client_crt_key", "client-crt-key"),
        }.items()
        if value
    }:
        tls = Tls(insecure=tls.insecure, **{name: str(Path(v).expanduser()) for name, v in files.items()})
    address = "" if forward is not None else settings.server or server.address
    if not address and forward is None:
        raise UsageError(what="no Argo CD server is set", next="pass --server argocd.example.com")
    return replace(
        server,
        address=address,
        token=settings.token or ("" if settings.options.auth_token_file else server.token),
        token_file=settings.options.auth_token_file,
        tls=replace(tls, insecure=tls.insecure or settings.flag("insecure")),
        plaintext=server.plaintext or settings.flag("plaintext"),
        root_path=settings.value("root_path", "grpc-web-root-path") or server.root_path,
        context="" if settings.token else server.context,
        headers=tuple(_header(header) for header in _headers(settings)),
        limits=replace(server.limits, deadline=settings.options.deadline),
        forward=forward,
        setting=settings.server_setting
        if settings.server
        else f"context {server.context} of argocd's config file",
    )


def _headers(settings: _ConnectionSettings) -> list[str]:
    return settings.options.header or [
        header for header in settings.opts.get("header", "").split(",") if header
    ]


def _header(header: str) -> tuple[str, str]:
    name, colon, value = header.partition(":")
    if not colon or not name.strip():
        raise UsageError(what="invalid header: it must be NAME: VALUE", next="correct -H")
    return name.strip(), value.strip()


def _cluster(settings: _ConnectionSettings) -> FactSource:
    return FactSource(kube=_access(settings), selection=_selection(settings.options))


def _access(settings: _ConnectionSettings) -> KubeAccess:
    from whysync.facts.http.limits import HttpLimits
    from whysync.facts.kubernetes_api.access import KubeAccess

    options = settings.options
    return KubeAccess(
        kubeconfig=str(Path(options.kubeconfig).expanduser()) if options.kubeconfig else "",
        context=options.context,
        namespace=options.argocd_namespace,
        insecure=options.insecure,
        use_cluster_secrets=options.use_cluster_secrets,
        limits=HttpLimits(deadline=options.deadline),
        environment=settings.environ,
    )


def _has_kubeconfig(environ: Mapping[str, str]) -> bool:
    """As in kubectl: KUBECONFIG, ~/.kube/config, or the service account of the Pod."""
    if environ.get("KUBECONFIG"):
        return True
    home = Path(environ.get("HOME") or "~").expanduser()
    if (home / ".kube" / "config").exists():
        return True
    account = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
    return bool(environ.get("KUBERNETES_SERVICE_HOST")) and account.exists()


def _selection(options: argparse.Namespace) -> Selection:
    """The filters that a server can apply; it cannot apply patterns with `*`."""
    from whysync.facts.selection import Selection

    namespaces = [*options.app_namespace, *_plain(getattr(options, "namespace", None))]
    return Selection(
        names=tuple(name for name in getattr(options, "apps", None) or () if not set_name(name)),
        sets=tuple(name for one in getattr(options, "apps", None) or () if (name := set_name(one))),
        app_namespaces=tuple(dict.fromkeys(namespaces)),
        all_namespaces=options.all_namespaces,
        projects=tuple(_plain(getattr(options, "project", None))),
        selector=getattr(options, "selector", None) or "",
        refresh="hard" if options.hard_refresh else "normal" if options.refresh else "",
        logs=not options.no_logs,
        local=getattr(options, "local", None) or "",
        checkout=_checkout(options),
        git=getattr(options, "git", False),
    )


def set_name(argument: str) -> str:
    """`web` of `appset/web` or `applicationset/web`, `team/web` of `appset/team/web`; empty for an app.

    An app in a namespace of that name is named with `-N`.
    """
    kind, slash, name = argument.partition("/")
    return name if slash and kind in ("appset", "applicationset", "applicationsets") else ""


def _checkout(options: argparse.Namespace) -> str:
    """A folder in a checkout, which may be that of a source: that of `fix --checkout`, or the current one.

    Verbs without `--git` compare no live app with its source.
    """
    if not hasattr(options, "git"):
        return ""
    folder = getattr(options, "checkout", None) or "."
    path = Path(folder).resolve()
    return folder if any((parent / ".git").exists() for parent in (path, *path.parents)) else ""


def _plain(values: list[str] | None) -> list[str]:
    """The values, or none of them if one is a pattern: a filter by the others would drop apps."""
    names = list(split_values(values or []))
    return [] if any(char in name for name in names for char in "*?[!") else names


def _opts(text: str) -> dict[str, str]:
    """The flags in `ARGOCD_OPTS`. Mirrors `util/config` `LoadFlags`, Argo CD 3.6."""
    try:
        arguments = shlex.split(text)
    except ValueError as problem:
        raise UsageError(what="invalid ARGOCD_OPTS", why=str(problem), next="correct its quotes") from problem
    flags: dict[str, str] = {}
    key = ""
    for argument in arguments:
        if argument.startswith("--"):
            key, equals, value = argument[2:].partition("=")
            flags[key] = value if equals else "true"
            key = "" if equals else key
        elif key:
            flags[key] = argument
            key = ""
        else:
            raise UsageError(
                what="invalid ARGOCD_OPTS", why="it must be a list of --flags", next="correct or unset it"
            )
    return flags
