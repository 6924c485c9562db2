"""API client of one user: sends requests, caches discovery, and converts error responses."""

from __future__ import annotations

from typing import Final

from whysync.argocd.sync.cluster_ops import Reason, Refused
from whysync.json_tree import Json, Object, dig, text
from whysync.kubernetes.apiserver.protocol import Answer, Cluster, Request, ServedKind

AGENT: Final = "argocd-application-controller"
"""The user agent, which is the field manager of requests that do not name one."""

_ACCOUNT: Final = "system:serviceaccount:"
_REASONS: Final = {
    "NotFound": Reason.NOT_FOUND,
    "Conflict": Reason.CONFLICT,
    "AlreadyExists": Reason.ALREADY_EXISTS,
    "Unauthorized": Reason.UNAUTHORIZED,
}


def groups_of(user: str) -> tuple[str, ...]:
    """The groups of a service account that is impersonated by its name only."""
    if not user.startswith(_ACCOUNT):
        return ("system:authenticated",) if user else ()
    namespace = user.removeprefix(_ACCOUNT).partition(":")[0]
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")


class Client:
    """Discovery is cached, and repeated for a kind that is not in the cache."""

    def __init__(self, cluster: Cluster, user: str = "") -> None:
        self.cluster = cluster
        self.user = user
        self._groups = groups_of(user)
        self._kinds: dict[tuple[str, str], ServedKind] | None = None

    def kind(self, api_version: str, kind: str) -> ServedKind | None:
        key = api_version, kind
        if self._kinds is None or key not in self._kinds:
            self._kinds = {(kind.api_version, kind.kind): kind for kind in self.cluster.kinds()}
        return self._kinds.get(key)

    def serves(self, api_version: str) -> bool:
        self.kind(api_version, "")  # refreshes discovery if needed
        return any(served == api_version for served, _ in self._kinds or ())

    def send(
        self,
        verb: str,
        path: str,
        body: Json = None,
        *,
        manager: str | None = None,
        force: bool | None = None,
        dry_run: bool = False,
    ) -> Answer:
        """Sends a request without field validation: Argo CD only controls kubectl's own validation.

        The server drops unknown fields with a warning, which Argo CD does not show.
        """
        return self.cluster.send(
            Request(
                verb=verb,
                path=path,
                body=body,
                manager=manager,
                agent=AGENT,
                user=self.user,
                groups=self._groups,
                force=force,
                dry_run=dry_run,
            )
        )


def message_of(response: Answer) -> str:
    """The error message of a response, as client-go formats it."""
    message = text((response.body or {}).get("message"))
    if message:
        return message
    match response.code:
        case 404:
            return "the server could not find the requested resource"
        case 401:
            return "the server has asked for the client to provide credentials"
        case _:
            detail = response.text.strip() or "unknown"
            return f'an error on the server ("{detail}") has prevented the request from succeeding'


def reason_of(response: Answer) -> str:
    """The reason of the Status; without one, derived from the HTTP code."""
    reason = text((response.body or {}).get("reason"))
    return reason or {404: "NotFound", 401: "Unauthorized"}.get(response.code, "")


def refused(response: Answer, message: str = "") -> Refused:
    return Refused(message or message_of(response), reason=_REASONS.get(reason_of(response), Reason.OTHER))


def delete_options(propagation: str, *, uid: str = "") -> Object:
    body: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if propagation:
        body["propagationPolicy"] = propagation
    if uid:
        body["preconditions"] = {"uid": uid}
    return body


def resource_version(response: Answer) -> str:
    return text(dig(response.body or {}, "metadata", "resourceVersion"))
