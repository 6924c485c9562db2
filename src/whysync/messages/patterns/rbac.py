"""`forbidden` and `Unauthorized` of the API server."""

from __future__ import annotations

import re

from whysync.messages.failure import Failure
from whysync.messages.network import api_server_in
from whysync.messages.pattern import Answer, Context, Pattern, compiled, fill, group_text
from whysync.messages.wrappers import LayerKind


class Forbidden(Failure, frozen=True, kw_only=True):
    """`escalation`: the user may write roles, but not grant permissions it does not have (`detail`)."""

    user: str = ""
    verb: str = ""
    resource: str = ""
    group: str = ""
    namespace: str = ""
    cluster_scope: bool = False
    name: str = ""
    escalation: bool = False
    detail: str = ""

    @property
    def other_authorizer(self) -> str:
        """Who else than RBAC denies the request, such as `GKEAutopilot authz`; RBAC cannot permit it then.

        Other authorizers that only have no opinion, or that name what would permit it, do not count.
        """
        match = compiled(r"(?P<who>[\w .-]{1,60}?) authz\b").match(self.detail[:200])
        if match is not None and not self.escalation:
            return f"{group_text(match, 'who')} authz"
        is_denied = compiled(r"(?:is|was|access) denied\b|denied by ").search(self.detail[:300])
        return "another authorizer" if is_denied and not self.escalation else ""


class ClusterAuth(Failure, frozen=True, kw_only=True):
    """`anonymous`: the request has no credentials, so the API server refuses it as `system:anonymous`."""

    server: str = ""
    detail: str = ""
    anonymous: bool = False

    @property
    def uses_exec_plugin(self) -> bool:
        """A program such as `argocd-k8s-auth` or `aws` was to obtain the credentials, and failed."""
        return "exec:" in self.text


_USER = r'User "(?P<user>[^"]{1,253})" cannot (?P<verb>[\w-]{1,40}) '
_WHERE = r'(?: in the namespace "(?P<namespace>[^"]{0,253})"| (?P<cluster>at the cluster scope))?'
_NAME = (
    r'(?:(?:^|[\s:"])(?P<plural>[a-z][a-z0-9]{1,62})(?:\.[a-z0-9][a-z0-9.-]{0,200})? '
    r'"(?P<name>[^"]{0,253})" is forbidden: )?'
)


_ANONYMOUS = "system:anonymous"
_forbidden = fill(Forbidden, cluster_scope=lambda match, _: bool(group_text(match, "cluster")))


def forbidden(match: re.Match[str], context: Context) -> Answer:
    """No Role may be bound to `system:anonymous`: a request without credentials is a failed login."""
    if group_text(match, "user") == _ANONYMOUS:
        return ClusterAuth(text=context.text, server=_server(match, context), anonymous=True)
    return _forbidden(match, context)


_REGISTRY_API = re.compile(r"https?://[^/\s\"]{1,253}/v2/")
"""A request to an image or chart registry."""


def unauthorized(match: re.Match[str], context: Context) -> Failure | None:
    """A bare `Unauthorized` of the API server, unless the wrappers name a repository or a registry.

    Argo CD requests the version of the cluster before it renders: then the text names the cluster.
    """
    elsewhere = (LayerKind.LOAD_TARGET_STATE, LayerKind.FETCH, LayerKind.REPOSITORY, LayerKind.CACHED)
    if (context.within(*elsewhere) or _REGISTRY_API.search(context.text)) and not context.server:
        return None
    return ClusterAuth(text=context.text, server=_server(match, context), detail=match[0])


def _server(_match: re.Match[str], context: Context) -> str:
    return context.server or api_server_in(context.text)


TABLE: tuple[Pattern, ...] = (
    Pattern(
        "attempting to grant RBAC permissions",
        r"(?:(?P<resource>(?:cluster)?role(?:binding)?s)\.rbac\.authorization\.k8s\.io "
        r'"(?P<name>[^"]{0,253})" is forbidden: )?(?:user "(?P<user>[^"]{1,253})" \([^)]{0,500}\) is )?'
        r"attempting to grant RBAC permissions not currently held:?(?P<detail>.*)",
        fill(Forbidden, verb="escalate", group="rbac.authorization.k8s.io", escalation=True),
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
    # Copied without the beginning of the sentence.
    Pattern(
        "cannot ",
        r'^cannot (?P<verb>[\w-]{1,40}) resource "(?P<resource>[\w./-]{1,253})" in API group '
        r'"(?P<group>[\w.-]{0,253})"' + _WHERE,
        forbidden,
    ),
    # Before Kubernetes 1.14 the resource had no quotes: cannot list configmaps in the namespace "x".
    Pattern(
        "cannot ",
        _NAME + _USER + r"(?P<resource>[a-z]{1,60})(?:\.(?P<group>[a-z0-9.-]{1,200}))?" + _WHERE,
        forbidden,
    ),
    Pattern("cannot ", _USER + r'path "(?P<resource>[^"]{1,253})"', forbidden),
    # Truncated before the verb: only the RBAC authorizer names a user in this way.
    Pattern("is forbidden: User ", _NAME + r'User "(?P<user>[^"\s]{1,253})"?[^"]{0,20}$', forbidden),
    Pattern(
        "asked for the client to provide credentials",
        r"the server has asked for the client to provide credentials",
        unauthorized,
    ),
    Pattern(
        "getting credentials: ",
        r"getting credentials: (?P<detail>.*)",
        fill(ClusterAuth, server=_server),
    ),
    Pattern("Unauthorized", r"^Unauthorized$|: Unauthorized$", unauthorized),
    Pattern(
        "Failed to get cluster's credentials",
        r"Failed to get cluster's credentials.*",
        fill(ClusterAuth, whole="detail", server=lambda _, context: context.server),
    ),
)
