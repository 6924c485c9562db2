"""The destination clusters of Applications: the hub, one of the kubeconfig, or one registered in Argo CD."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from functools import cached_property
from urllib.parse import urlsplit

import msgspec

from whysync.argocd.api.application import Destination
from whysync.errors import WhysyncError
from whysync.facts.http.auth import Auth, StaticHeaders, basic, bearer
from whysync.facts.http.tls import Tls
from whysync.facts.kubernetes_api.access import KubeAccess
from whysync.facts.kubernetes_api.kubeconfig import Context
from whysync.facts.kubernetes_api.login import Connection
from whysync.facts.snapshot import Gap, GapKind
from whysync.json_tree import Object, fields, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.manifest import Manifest

IN_CLUSTER_NAME = "in-cluster"
_IN_CLUSTER_HOSTS = frozenset(("kubernetes.default.svc", "kubernetes.default.svc.cluster.local"))
_SECRET_TYPE = "argocd.argoproj.io/secret-type"


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster secret of Argo CD; `config` has its credentials."""

    name: str
    server: str
    config: Object


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A destination. Without a connection it is the hub or, with a gap, unreachable."""

    name: str
    is_hub: bool = False
    connection: Connection | None = None
    gap: Gap | None = None


class Clusters:
    def __init__(self, access: KubeAccess, hub: Connection, settings: Iterable[Manifest]) -> None:
        self._access = access
        self._hub = hub
        self._known = list(_known(settings))
        self._found: dict[tuple[str, str], Target] = {}

    def target(self, destination: Destination) -> Target:
        asked = destination.server, destination.name
        if asked not in self._found:
            self._found[asked] = self._target(*asked)
        return self._found[asked]

    @cached_property
    def _contexts(self) -> tuple[Context, ...]:
        return tuple(self._access.contexts())

    def _target(self, server: str, name: str) -> Target:
        known = self._find(server, name)
        server = server or (known.server if known else "")
        called = name or (known.name if known else "") or server
        if _is_hub(server, name, known) or (server and same_server(server, self._hub.url)):
            return Target(name=IN_CLUSTER_NAME, is_hub=True)
        if known is not None and self._access.use_cluster_secrets:
            return self._by_secret(known, called)
        for context in self._contexts:
            fits = same_server(context.server, server) if server else False
            if fits or (not server and called in (context.name, context.cluster_name)):
                try:
                    return Target(name=called, connection=self._access.connect(context))
                except WhysyncError as problem:
                    return _out_of_reach(called, problem.what, problem.next)
        return self._nowhere(called, server, known)

    def _find(self, server: str, name: str) -> Known | None:
        for cluster in self._known:
            if (server and same_server(cluster.server, server)) or (
                name and not server and cluster.name == name
            ):
                return cluster
        return None

    def _by_secret(self, known: Known, called: str) -> Target:
        try:
            return Target(name=called, connection=connection_from(known))
        except WhysyncError as problem:
            return _out_of_reach(called, problem.what, problem.next)

    def _nowhere(self, called: str, server: str, known: Known | None) -> Target:
        if not server:
            why = "Argo CD's cluster secrets do not tell its address, and no context has that name"
        else:
            why = f"no context of the kubeconfig leads to {server}"
        how = "add a context for it to the kubeconfig"
        if known is not None:
            how += ", or allow the credentials that Argo CD keeps (--use-cluster-secrets)"
        return _out_of_reach(called, why, how)


def connection_from(known: Known) -> Connection:
    """The credentials that Argo CD uses. Exec plugins in them are not run."""
    config = known.config
    tls = fields(config.get("tlsClientConfig"))
    for key in ("awsAuthConfig", "execProviderConfig"):
        if config.get(key):
            raise WhysyncError(
                what=f"Argo CD logs in there with a program of its own ({key})",
                next="add a context for it to the kubeconfig",
            )
    auth: Auth = StaticHeaders()
    if text(config.get("bearerToken")):
        auth = bearer(text(config.get("bearerToken")))
    elif text(config.get("username")):
        auth = basic(text(config.get("username")), text(config.get("password")))
    return Connection(
        name=f"cluster {known.name or known.server}",
        url=known.server,
        auth=auth,
        tls=Tls(
            ca_pem=_plain(tls.get("caData")),
            certificate_pem=_plain(tls.get("certData")),
            key_pem=_plain(tls.get("keyData")),
            server_name=text(tls.get("serverName")),
            insecure=tls.get("insecure") is True,
        ),
        proxy=text(config.get("proxyUrl")),
        setting=f"server of the cluster secret {known.name or known.server!r}",
    )


def same_server(left: str, other: str) -> bool:
    return _parts(left) == _parts(other)


def _parts(url: str) -> tuple[str, str, int | None, str]:
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
        port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
        return parts.scheme, (parts.hostname or "").lower(), port, parts.path.rstrip("/")
    except ValueError:
        return "", url, None, ""


def _is_hub(server: str, name: str, known: Known | None) -> bool:
    if server:
        return _parts(server)[1] in _IN_CLUSTER_HOSTS
    return not name or (name == IN_CLUSTER_NAME and known is None)


def _out_of_reach(called: str, why: str, how: str) -> Target:
    gap = Gap(kind=GapKind.UNREACHABLE, what=f"live objects on cluster {called}", why=why, how_to_get=how)
    return Target(name=called, gap=gap)


def _known(settings: Iterable[Manifest]) -> Iterator[Known]:
    for setting in settings:
        if setting.ref.kind != "Secret" or setting.labels.get(_SECRET_TYPE) != "cluster":
            continue
        data = fields(setting.body.get("data"))
        try:
            config = fields(yaml.load(_plain(data.get("config")) or "{}"))
        except yaml.Invalid:
            config = {}
        yield Known(name=_plain(data.get("name")), server=_plain(data.get("server")), config=config)


def _plain(value: object) -> str:
    """Decoded base64; empty if it is invalid."""
    try:
        return base64.b64decode(value, validate=True).decode() if isinstance(value, str) else ""
    except (binascii.Error, ValueError):
        return ""
