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


class RegisteredCluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster secret of Argo CD; `config` has its credentials."""

    name: str
    server: str
    config: Object


class DestinationCluster(msgspec.Struct, frozen=True, kw_only=True):
    """A destination. Without a connection it is the hub or, with a gap, unreachable."""

    name: str
    is_hub: bool = False
    connection: Connection | None = None
    gap: Gap | None = None


class Clusters:
    """Finds the cluster of a destination, and how to connect to it."""

    def __init__(self, access: KubeAccess, hub: Connection, settings: Iterable[Manifest]) -> None:
        self._access = access
        self._hub = hub
        self._registered = list(_registered(settings))
        self._destinations: dict[tuple[str, str], DestinationCluster] = {}

    def destination_cluster(self, destination: Destination) -> DestinationCluster:
        key = destination.server, destination.name
        if key not in self._destinations:
            self._destinations[key] = self._resolve(*key)
        return self._destinations[key]

    @cached_property
    def _contexts(self) -> tuple[Context, ...]:
        return tuple(self._access.contexts())

    def _resolve(self, server: str, name: str) -> DestinationCluster:
        registered = self._registered_cluster(server, name)
        server = server or (registered.server if registered else "")
        display_name = name or (registered.name if registered else "") or server
        if _is_hub(server, name, registered) or (server and same_server(server, self._hub.url)):
            return DestinationCluster(name=IN_CLUSTER_NAME, is_hub=True)
        if registered is not None and self._access.use_cluster_secrets:
            return self._from_secret(registered, display_name)
        for context in self._contexts:
            is_same = same_server(context.server, server) if server else False
            if is_same or (not server and display_name in (context.name, context.cluster_name)):
                try:
                    return DestinationCluster(name=display_name, connection=self._access.connect(context))
                except WhysyncError as problem:
                    return _unreachable(display_name, problem.what, problem.next)
        return self._without_context(display_name, server, registered)

    def _registered_cluster(self, server: str, name: str) -> RegisteredCluster | None:
        for cluster in self._registered:
            if (server and same_server(cluster.server, server)) or (
                name and not server and cluster.name == name
            ):
                return cluster
        return None

    def _from_secret(self, registered: RegisteredCluster, display_name: str) -> DestinationCluster:
        try:
            return DestinationCluster(name=display_name, connection=connection_from(registered))
        except WhysyncError as problem:
            return _unreachable(display_name, problem.what, problem.next)

    def _without_context(
        self, display_name: str, server: str, registered: RegisteredCluster | None
    ) -> DestinationCluster:
        if not server:
            why = "no cluster secret of Argo CD has its address, and no context has that name"
        else:
            why = f"no context of the kubeconfig has the server {server}"
        how_to_get = "add a context for it to the kubeconfig"
        if registered is not None:
            how_to_get += ", or allow the credentials of Argo CD's cluster secrets (--use-cluster-secrets)"
        return _unreachable(display_name, why, how_to_get)


def connection_from(registered: RegisteredCluster) -> Connection:
    """The credentials that Argo CD uses. Exec plugins in them are not run."""
    config = registered.config
    tls = fields(config.get("tlsClientConfig"))
    for key in ("awsAuthConfig", "execProviderConfig"):
        if config.get(key):
            raise WhysyncError(
                what=f"Argo CD logs in there with its own plugin ({key})",
                next="add a context for it to the kubeconfig",
            )
    auth: Auth = StaticHeaders()
    if text(config.get("bearerToken")):
        auth = bearer(text(config.get("bearerToken")))
    elif text(config.get("username")):
        auth = basic(text(config.get("username")), text(config.get("password")))
    return Connection(
        name=f"cluster {registered.name or registered.server}",
        url=registered.server,
        auth=auth,
        tls=Tls(
            ca_pem=_decoded(tls.get("caData")),
            certificate_pem=_decoded(tls.get("certData")),
            key_pem=_decoded(tls.get("keyData")),
            server_name=text(tls.get("serverName")),
            insecure=tls.get("insecure") is True,
        ),
        proxy=text(config.get("proxyUrl")),
        setting=f"server of the cluster secret {registered.name or registered.server!r}",
    )


def same_server(url: str, other: str) -> bool:
    return _address(url) == _address(other)


def _address(url: str) -> tuple[str, str, int | None, str]:
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
        port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
        return parts.scheme, (parts.hostname or "").lower(), port, parts.path.rstrip("/")
    except ValueError:
        return "", url, None, ""


def _is_hub(server: str, name: str, registered: RegisteredCluster | None) -> bool:
    if server:
        return _address(server)[1] in _IN_CLUSTER_HOSTS
    return not name or (name == IN_CLUSTER_NAME and registered is None)


def _unreachable(display_name: str, why: str, how_to_get: str) -> DestinationCluster:
    gap = Gap(
        kind=GapKind.UNREACHABLE,
        what=f"live objects on cluster {display_name}",
        why=why,
        how_to_get=how_to_get,
    )
    return DestinationCluster(name=display_name, gap=gap)


def _registered(settings: Iterable[Manifest]) -> Iterator[RegisteredCluster]:
    for setting in settings:
        if setting.ref.kind != "Secret" or setting.labels.get(_SECRET_TYPE) != "cluster":
            continue
        data = fields(setting.body.get("data"))
        try:
            config = fields(yaml.load(_decoded(data.get("config")) or "{}"))
        except yaml.Invalid:
            config = {}
        yield RegisteredCluster(
            name=_decoded(data.get("name")), server=_decoded(data.get("server")), config=config
        )


def _decoded(value: object) -> str:
    """Decoded base64; empty if it is invalid."""
    try:
        return base64.b64decode(value, validate=True).decode() if isinstance(value, str) else ""
    except (binascii.Error, ValueError):
        return ""
