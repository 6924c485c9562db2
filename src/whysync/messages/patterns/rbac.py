"""Kubernetes' own `forbidden`: who may not do what, where."""

from __future__ import annotations

import re

from whysync.messages.failure import Failure
from whysync.messages.network import api_server_in
from whysync.messages.pattern import Context, Pattern, group_text
from whysync.messages.wrappers import LayerKind


class Forbidden(Failure, frozen=True, kw_only=True):
    """`escalation`: the user may write roles, but not grant what it does not hold (`detail` lists it)."""

    user: str = ""
    verb: str = ""
    resource: str = ""
    group: str = ""
    namespace: str = ""
    cluster_scope: bool = False
    name: str = ""
    escalation: bool = False
    detail: str = ""


class ClusterAuth(Failure, frozen=True, kw_only=True):
    server: str = ""
    detail: str = ""


_USER = r'User "(?P<user>[^"]{1,253})" cannot (?P<verb>[\w-]{1,40}) '
_WHERE = r'(?: in the namespace "(?P<namespace>[^"]{0,253})"| (?P<cluster>at the cluster scope))?'
_NAME = (
    r'(?:(?:^|[\s:"])(?P<plural>[a-z][a-z0-9]{1,62})(?:\.[a-z0-9][a-z0-9.-]{0,200})? '
    r'"(?P<name>[^"]{0,253})" is forbidden: )?'
)


def forbidden(match: re.Match[str], context: Context) -> Failure:
    path = group_text(match, "path")
    return Forbidden(
        text=context.text,
        user=group_text(match, "user"),
        verb=group_text(match, "verb"),
        resource=group_text(match, "resource") or path,
        group=group_text(match, "group"),
        namespace=group_text(match, "namespace"),
        cluster_scope=bool(group_text(match, "cluster")),
        name=group_text(match, "name"),
        detail=group_text(match, "detail"),
    )


def escalation(match: re.Match[str], context: Context) -> Failure:
    return Forbidden(
        text=context.text,
        user=group_text(match, "user"),
        verb="escalate",
        resource=group_text(match, "resource"),
        group="rbac.authorization.k8s.io",
        name=group_text(match, "name"),
        escalation=True,
        detail=group_text(match, "detail"),
    )


def unauthorized(match: re.Match[str], context: Context) -> Failure | None:
    """A bare `Unauthorized` is the API server's, unless it came from a repository or a registry.

    Before it renders, Argo CD asks the cluster for its version: then the text names the cluster.
    """
    elsewhere = (LayerKind.LOAD_TARGET_STATE, LayerKind.FETCH, LayerKind.REPOSITORY, LayerKind.CACHED)
    if context.within(*elsewhere) and not context.server:
        return None
    return ClusterAuth(
        text=context.text, server=context.server or api_server_in(context.text), detail=match[0]
    )


TABLE: tuple[Pattern, ...] = (
    Pattern(
        "attempting to grant RBAC permissions",
        r"(?:(?P<resource>(?:cluster)?role(?:binding)?s)\.rbac\.authorization\.k8s\.io "
        r'"(?P<name>[^"]{0,253})" is forbidden: )?(?:user "(?P<user>[^"]{1,253})" \([^)]{0,500}\) is )?'
        r"attempting to grant RBAC permissions not currently held:?(?P<detail>.*)",
        escalation,
    ),
    Pattern(
        "cannot ",
        _NAME
        + _USER
        + r'resource "(?P<resource>[\w./-]{1,253})" in API group "(?P<group>[\w.-]{0,253})"'
        + _WHERE
        + r"(?:: (?P<detail>.*))?",
        forbidden,
    ),
    # Before Kubernetes 1.14 the resource stood without quotes: cannot list configmaps in the namespace "x".
    Pattern(
        "cannot ",
        _NAME + _USER + r"(?P<resource>[a-z]{1,60})(?:\.(?P<group>[a-z0-9.-]{1,200}))?" + _WHERE,
        forbidden,
    ),
    Pattern("cannot ", _USER + r'path "(?P<path>[^"]{1,253})"', forbidden),
    # Cut off before what the account may not do: only the RBAC authorizer names a user like this.
    Pattern("is forbidden: User ", _NAME + r'User "(?P<user>[^"\s]{1,253})"?[^"]{0,20}$', forbidden),
    Pattern(
        "asked for the client to provide credentials",
        r"the server has asked for the client to provide credentials",
        unauthorized,
    ),
    Pattern(
        "getting credentials: ",
        r"getting credentials: (?P<detail>.*)",
        lambda m, c: ClusterAuth(
            text=c.text, server=c.server or api_server_in(c.text), detail=group_text(m, "detail")
        ),
    ),
    Pattern("Unauthorized", r"^Unauthorized$|: Unauthorized$", unauthorized),
    Pattern(
        "Failed to get cluster's credentials",
        r"Failed to get cluster's credentials.*",
        lambda m, c: ClusterAuth(text=c.text, server=c.server, detail=m[0]),
    ),
)
