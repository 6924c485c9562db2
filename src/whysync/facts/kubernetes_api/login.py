"""Create a connection from a context of the kubeconfig, or from inside a Pod."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from whysync.errors import Unreadable, UsageError
from whysync.facts.http.address import parse_address
from whysync.facts.http.auth import Auth, StaticHeaders, TokenFile, WithHeaders, basic, bearer
from whysync.facts.http.client import Client
from whysync.facts.http.limits import HttpLimits
from whysync.facts.http.tls import Tls
from whysync.facts.kubernetes_api.exec_plugin import ExecPlugin
from whysync.facts.kubernetes_api.kubeconfig import Context, Entry
from whysync.json_tree import fields, items, text

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_AUTH_PROVIDER_REPLACEMENTS = {
    "gcp": "gke-gcloud-auth-plugin: gcloud container clusters get-credentials writes it",
    "azure": "kubelogin: kubelogin convert-kubeconfig writes it",
    "oidc": "kubelogin (kubectl oidc-login) as an exec plugin",
}


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """How to connect to one API server; `name` is how messages call it."""

    name: str
    url: str
    auth: Auth
    tls: Tls
    proxy: str = ""
    # of the context, if it has one
    namespace: str = ""
    # where the address was configured
    setting: str = "the server's address"

    async def client(self, limits: HttpLimits) -> Client:
        """A client to be opened with `async with`. An exec plugin runs first, because it may return a
        certificate.
        """
        tls = self.tls
        plugin = self.auth
        while isinstance(plugin, WithHeaders):
            plugin = plugin.inner
        parse_address(self.url, setting=self.setting)  # before a login that may prompt
        if isinstance(plugin, ExecPlugin):
            plugin.deadline = limits.deadline
            credential = await plugin.credential()
            if credential.certificate_pem:
                tls = msgspec.structs.replace(
                    tls, certificate_pem=credential.certificate_pem, key_pem=credential.key_pem
                )
        return Client(
            self.url,
            name=self.name,
            auth=self.auth,
            tls=tls,
            limits=limits,
            proxy=self.proxy,
            setting=self.setting,
        )


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """`kubectl --as` and `--as-group`."""

    user: str = ""
    groups: tuple[str, ...] = ()


def connection_of(
    context: Context,
    *,
    identity: Identity | None = None,
    insecure: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Connection:
    cluster, user = context.cluster, context.user
    auth = _impersonating(_auth(user, cluster, environment), user, identity or Identity())
    return Connection(
        name=f"the cluster of context {context.name}",
        url=context.server if "://" in context.server else f"https://{context.server}",
        auth=auth,
        tls=Tls(
            ca_pem=_pem(cluster, "certificate-authority-data"),
            ca_file=cluster.path("certificate-authority"),
            certificate_pem=_pem(user, "client-certificate-data"),
            certificate_file=user.path("client-certificate"),
            key_pem=_pem(user, "client-key-data"),
            key_file=user.path("client-key"),
            server_name=cluster.text("tls-server-name"),
            insecure=insecure or cluster.body.get("insecure-skip-tls-verify") is True,
        ),
        proxy=cluster.text("proxy-url"),
        namespace=context.namespace,
        setting=f"server of cluster {context.cluster_name} in the kubeconfig",
    )


def in_cluster(
    environment: Mapping[str, str] | None = None, home: Path = SERVICE_ACCOUNT
) -> Connection | None:
    """The service account of the Pod that we run in; `None` outside of one."""
    environment = os.environ if environment is None else environment
    host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT")
    token = home / "token"
    if not host or not port or not token.exists():
        return None
    ca, namespace = home / "ca.crt", home / "namespace"
    return Connection(
        name="the cluster that whysync runs in",
        url=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        auth=TokenFile(token),
        tls=Tls(ca_file=str(ca) if ca.exists() else ""),
        namespace=namespace.read_text(encoding="utf-8").strip() if namespace.exists() else "",
        setting="KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT",
    )


def _auth(user: Entry, cluster: Entry, environment: Mapping[str, str] | None) -> Auth:
    token, token_file = user.text("token"), user.path("tokenFile")
    if token_file:
        return TokenFile(Path(token_file), fallback=token)
    if token:
        return bearer(token)
    if user.text("username"):
        return basic(user.text("username"), user.text("password"))
    if user.body.get("exec"):
        return ExecPlugin(user, cluster, environment)
    provider = fields(user.body.get("auth-provider"))
    if provider:
        name = text(provider.get("name"))
        raise UsageError(
            what=f"the kubeconfig logs in with the auth provider {name!r}",
            why="Kubernetes 1.26 replaced auth providers with exec plugins",
            next=f"use {_AUTH_PROVIDER_REPLACEMENTS.get(name, 'an exec plugin, or a token')}",
        )
    return StaticHeaders()


def _impersonating(auth: Auth, user: Entry, identity: Identity) -> Auth:
    """The command line has precedence over the kubeconfig."""
    name = identity.user or user.text("as")
    groups = identity.groups or tuple(
        as_group for as_group in items(user.body.get("as-groups")) if isinstance(as_group, str)
    )
    if not name:
        if groups:
            raise UsageError(what="groups cannot be impersonated without a user", next="also set --as")
        return auth
    headers: dict[str, str | tuple[str, ...]] = {"Impersonate-User": name}
    if groups:
        headers["Impersonate-Group"] = groups
    if not identity.user:
        if user.text("as-uid"):
            headers["Impersonate-Uid"] = user.text("as-uid")
        for key, values in fields(user.body.get("as-user-extra")).items():
            headers[f"Impersonate-Extra-{key}"] = tuple(
                value for value in items(values) if isinstance(value, str)
            )
    return WithHeaders(auth, headers)


def _pem(entry: Entry, key: str) -> str:
    encoded = entry.text(key)
    if not encoded:
        return ""
    try:
        return base64.b64decode("".join(encoded.split()), validate=True).decode()
    except (binascii.Error, ValueError) as problem:
        raise Unreadable(
            what=f"{key} in the kubeconfig cannot be read",
            why="it is not base64-encoded PEM",
            next="regenerate the kubeconfig with the tool that wrote it",
        ) from problem
