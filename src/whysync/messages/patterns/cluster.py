"""Destination clusters: not registered, not reachable, or managed in other namespaces only."""

from __future__ import annotations

import re

from whysync.messages.failure import Failure, Network
from whysync.messages.network import api_server_in, dialled, host_of, is_to_argocd, reason_of, url_in
from whysync.messages.pattern import Context, Pattern, compiled, fill, group_text
from whysync.messages.patterns.argocd import repo_server_unreachable
from whysync.messages.patterns.diffs import OpenApiError
from whysync.messages.patterns.git import RepoUnreachable, from_source, repository_url
from whysync.messages.wrappers import LayerKind


class ConnectionFailed(Failure, frozen=True, kw_only=True):
    """A failed connection; the text does not show to which component."""

    host: str = ""
    port: int | None = None
    reason: Network = Network.UNKNOWN


class ClusterUnreachable(Failure, frozen=True, kw_only=True):
    server: str = ""
    reason: Network = Network.UNKNOWN
    loading: str = ""  # the kind whose listing failed, as `ImageStream.image.openshift.io`


class ApiServerFailing(Failure, frozen=True, kw_only=True):
    """The API server responded that it cannot handle the request now."""

    server: str = ""
    reason: Network = Network.UNKNOWN
    loading: str = ""  # the kind whose listing failed
    detail: str = ""


class ClusterNotRegistered(Failure, frozen=True, kw_only=True):
    server: str = ""
    name: str = ""
    ambiguous: bool = False
    disabled: bool = False


class RegistrationFailed(Failure, frozen=True, kw_only=True):
    """`argocd cluster add` stopped. `no_token`: the service account that it created got no token."""

    detail: str = ""
    no_token: bool = False
    context: str = ""  # the context that the kubeconfig does not have


class NamespaceNotManaged(Failure, frozen=True, kw_only=True):
    """`namespace` is empty for a cluster-scoped object."""

    namespace: str = ""
    kind: str = ""
    name: str = ""


BUILT_IN_GROUPS = frozenset(
    f"{name}.k8s.io"
    for name in (
        "admissionregistration",
        "apiextensions",
        "apiregistration",
        "authentication",
        "authorization",
        "certificates",
        "coordination",
        "discovery",
        "events",
        "flowcontrol.apiserver",
        "internal.apiserver",
        "networking",
        "node",
        "rbac.authorization",
        "resource",
        "scheduling",
        "storage",
        "storagemigration",
    )
) | {"apps", "autoscaling", "batch", "core", "extensions", "policy"}
"""API groups that the API server serves itself; it serves other groups from CRDs or through an APIService."""

_GIT_PORTS = frozenset({22, 7999, 9418, 29418})  # also of Bitbucket Server and Gerrit
_OF_SOURCE = r"\.git(?:/|$)|/info/refs|/index\.ya?ml$|\.tgz$|/v2/|^oci://"
_OF_API = r"/version\?timeout|/apis?(?:[/?]|$)|/openapi/|kubernetes\.default"


def not_registered(match: re.Match[str], context: Context) -> Failure:
    server = group_text(match, "server") or context.server
    is_url = "://" in server
    return ClusterNotRegistered(
        text=context.text,
        server=server if is_url else "",
        name=group_text(match, "name") or ("" if is_url else server),
        ambiguous="clusters with the same name" in match[0] or "multiple clusters" in match[0],
        disabled="disabled" in match[0],
    )


def unreachable(match: re.Match[str], context: Context) -> Failure:
    server = group_text(match, "server") or context.server or api_server_in(context.text)
    return ClusterUnreachable(
        text=context.text, server=server, reason=reason_of(context.text), loading=_loading(context)
    )


def connection(match: re.Match[str], context: Context) -> Failure | None:
    """A failed connection; the wrappers, the URL or the port show to which component, if anything does."""
    text = context.text[:8192]
    if is_to_argocd(text):
        return None
    url = url_in(text)
    host, port = dialled(text)
    if context.within(LayerKind.LOAD_LIVE_STATE, LayerKind.CLUSTER, LayerKind.LOAD_KIND) or compiled(
        _OF_API
    ).search(url):
        return unreachable(match, context)
    if port == 8081 or "repo-server" in host:
        return repo_server_unreachable(context)
    of_source = port in _GIT_PORTS or compiled(_OF_SOURCE).search(url) or "service=git-upload-pack" in text
    if of_source or from_source(context) or context.within(LayerKind.RPC):
        return RepoUnreachable(
            text=context.text,
            host=host or host_of(url),
            url=repository_url(url),
            reason=reason_of(text),
            detail=match[0].strip(),
        )
    if port == 6443:
        return unreachable(match, context)
    if not host and not url:
        return None
    return ConnectionFailed(text=context.text, host=host or host_of(url), port=port, reason=reason_of(text))


def api_server(match: re.Match[str], context: Context) -> Failure | None:
    if from_source(context):
        return None
    return ApiServerFailing(
        text=context.text,
        server=context.server or api_server_in(context.text),
        reason=reason_of(context.text),
        loading=_loading(context),
        detail=match[0].strip(),
    )


def _loading(context: Context) -> str:
    return next((layer.subject for layer in context.layers if layer.kind is LayerKind.LOAD_KIND), "")


def unable_to_handle(match: re.Match[str], context: Context) -> Failure | None:
    """The API server returns this also for an aggregated API whose backend is down, and names that API."""
    if from_source(context):
        return None
    resource = group_text(match, "resource")
    _, _, group = (resource or _loading(context)).partition(".")
    if group and group not in BUILT_IN_GROUPS:
        if not resource:
            return unreachable(match, context)  # with the kind that could not be listed
        return OpenApiError(text=context.text, group_version=group, detail=match[0].strip())
    return api_server(match, context)


def server_error(match: re.Match[str], context: Context) -> Failure | None:
    return (
        unreachable(match, context) if context.within(LayerKind.CLUSTER, LayerKind.LOAD_LIVE_STATE) else None
    )


REGISTRATION: tuple[Pattern, ...] = (
    Pattern(
        "did not have a token",
        r"Secret \"[^\"]{1,253}\" for service account .{1,2000} did not have a token",
        fill(RegistrationFailed, no_token=True, detail="its Secret has no token"),
    ),
    Pattern(
        "service account secret",
        r"[Ff]ailed to wait for service account secret: (?P<detail>.{1,300})",
        fill(RegistrationFailed, no_token=True),
    ),
    Pattern(
        "to generate new token",
        r"(?P<detail>timed out waiting for secret to generate new token.{0,300})",
        fill(RegistrationFailed, no_token=True),
    ),
    Pattern(
        " for serviceaccount ",
        r"(?P<detail>failed to (?:get|create) (?:secret|token)\b.{0,253} for serviceaccount .{1,300})",
        fill(RegistrationFailed, no_token=True),
    ),
    Pattern(
        "ailed to create service account",
        r"(?P<detail>[Ff]ailed to create service account .{1,300})",
        fill(RegistrationFailed),
    ),
    Pattern(
        "does not exist in kubeconfig",
        r"[Cc]ontext (?P<context>\S{1,253}) does not exist in kubeconfig",
        fill(RegistrationFailed, whole="detail"),
    ),
    Pattern(
        "or --cluster-endpoint",
        r"Can only use one of --in-cluster or --cluster-endpoint",
        fill(RegistrationFailed, whole="detail"),
    ),
    Pattern(
        "bearer token may be set",
        r"username/password or bearer token may be set, but not both",
        fill(RegistrationFailed, whole="detail"),
    ),
    Pattern(
        "there are no clusters with this name",
        r"there are no clusters with this name: (?P<name>\S{1,253})",
        not_registered,
    ),
    Pattern(
        "clusters with the same name",
        r"there are \d+ clusters with the same name: (?P<name>\[[^\]]{0,500}\])",
        not_registered,
    ),
    Pattern('cluster "', r"cluster \"(?P<server>[^\"]{1,300})\" (?:not found|is disabled)", not_registered),
    Pattern(
        "cluster ",
        r"^cluster \"?(?P<server>[^\"\s]{8,300})$",
        lambda m, c: (
            not_registered(m, c)
            if c.within(LayerKind.INVALID_SPEC_ERROR) or (c.layers and c.layers[-1].code == "NotFound")
            else None
        ),
    ),
    Pattern(
        "cluster '",
        r"cluster '(?P<server>[^']{1,300})' (?:not found|has not been configured)",
        not_registered,
    ),
    Pattern(
        "is not configured",
        r"application destination server (?P<server>\S{1,300}) is not configured",
        not_registered,
    ),
    Pattern(
        "has not been configured",
        r"[Cc]luster(?: '(?P<server>[^']{1,300})')? has not been configured",
        not_registered,
    ),
    Pattern(
        "in-cluster has been disabled",
        r"cannot register cluster: (?P<name>in-cluster) has been disabled",
        not_registered,
    ),
    Pattern(
        "is not managed",
        r"[Nn]amespace \"(?P<namespace>[^\"]{1,253})\" for (?P<kind>\w{1,63}) \""
        r"(?P<name>[^\"]{1,253})\" is not managed",
        fill(NamespaceNotManaged),
    ),
    Pattern(
        "amespace ",
        r"^[Nn]amespace \"(?P<namespace>[^\"]{1,253})\" for (?P<kind>[A-Z]\w{1,62}) ?"
        r"(?:\"[^\"]{0,253}(?:\"[isnot ]{0,8})?)?$",
        lambda m, c: (
            fill(NamespaceNotManaged)(m, c)
            if not c.layers or c.within(LayerKind.LOAD_LIVE_STATE, LayerKind.COMPARISON_ERROR)
            else None
        ),
    ),
    Pattern(
        "when in namespaced mode",
        r"[Cc]luster level (?P<kind>\w{1,63}) \""
        r"(?P<name>[^\"]{1,253})\" can ?not be managed when in namespaced mode",
        fill(NamespaceNotManaged),
    ),
)

CONNECTION: tuple[Pattern, ...] = (
    Pattern("dial tcp", r"dial tcp.*", connection),
    Pattern("no such host", r"no such host.*", connection),
    Pattern("stream error", r"stream error: stream ID \d{1,12};? ?[A-Z_]{0,40}.*", connection),
    Pattern("server gave HTTP response", r"server gave HTTP response to HTTPS client", connection),
    Pattern("TLS handshake timeout", r"TLS handshake timeout", connection),
    Pattern("Client.Timeout exceeded", r"Client\.Timeout exceeded.*", connection),
    Pattern("i/o timeout", r"i/o timeout", connection),
    Pattern("onnection refused", r"[Cc]onnection refused", connection),
    Pattern("connection reset by peer", r"connection reset by peer", connection),
    Pattern("http2: client connection lost", r"http2: client connection lost", api_server),
    Pattern("GOAWAY", r"server sent GOAWAY.*", api_server),
    Pattern(
        "etcdserver: ",
        r"etcdserver: (?!request is too large).{1,300}",
        api_server,
    ),
    Pattern(
        "currently unable to handle the request",
        r"the server is currently unable to handle the request"
        r"(?: \(\w{1,20} (?P<resource>[\w.-]{1,253})\))?",
        unable_to_handle,
    ),
    Pattern("evaluation timed out", r"resource quota evaluation timed out", api_server),
    Pattern(
        "in the time allotted",
        r"the server was unable to return a response in the time allotted.*",
        api_server,
    ),
    Pattern("oo many requests", r"[Tt]oo many requests", api_server),
    Pattern("within requested timeout", r"request did not complete within requested timeout", api_server),
    Pattern("client rate limiter", r"client rate limiter Wait returned an error.*", api_server),
    Pattern(
        "has prevented the request from succeeding",
        r"an error on the server .* has prevented the request from succeeding.*",
        api_server,
    ),
    Pattern(
        "version info from the target cluster",
        r"failed to get version info from the target cluster \"(?P<server>[^\"]{1,300})\"",
        unreachable,
    ),
    Pattern("context deadline exceeded", r"context deadline exceeded", connection),
    Pattern("EOF", r"EOF$", server_error),
)
