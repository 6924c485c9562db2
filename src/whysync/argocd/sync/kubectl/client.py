"""Requests of one user to a cluster: who asks, what is served there, and what a refusal says."""

from __future__ import annotations

from typing import Final

from whysync.argocd.sync.cluster_ops import Reason, Refused
from whysync.json_tree import Json, Object, dig, text
from whysync.kubernetes.apiserver.protocol import Answer, Cluster, Request, ServedKind

AGENT: Final = "argocd-application-controller"
"""The program that asks. It owns the fields that are written without naming a manager."""

_ACCOUNT: Final = "system:serviceaccount:"
_REASONS: Final = {
    "NotFound": Reason.NOT_FOUND,
    "Conflict": Reason.CONFLICT,
    "AlreadyExists": Reason.ALREADY_EXISTS,
    "Unauthorized": Reason.UNAUTHORIZED,
}


def groups_of(user: str) -> tuple[str, ...]:
    """The groups that the API server gives to a service account that is impersonated by its name alone."""
    if not user.startswith(_ACCOUNT):
        return ("system:authenticated",) if user else ()
    namespace = user.removeprefix(_ACCOUNT).partition(":")[0]
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")


class Client:
    """What is served is asked once, and again only for a kind that was not there."""

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
        self.kind(api_version, "")  # so that a definition that came meanwhile is seen
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
        """No field validation is asked for: kubectl's own is all that Argo CD switches on or off.

        So the server warns of unknown fields and drops them, and Argo CD does not show its warnings.
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


def message_of(answer: Answer) -> str:
    """The error message of an answer, as client-go formats it."""
    message = text((answer.body or {}).get("message"))
    if message:
        return message
    match answer.code:
        case 404:
            return "the server could not find the requested resource"
        case 401:
            return "the server has asked for the client to provide credentials"
        case _:
            words = answer.text.strip() or "unknown"
            return f'an error on the server ("{words}") has prevented the request from succeeding'


def reason_of(answer: Answer) -> str:
    """The reason of the Status; where there is none, what the code says."""
    given = text((answer.body or {}).get("reason"))
    return given or {404: "NotFound", 401: "Unauthorized"}.get(answer.code, "")


def refused(answer: Answer, message: str = "") -> Refused:
    return Refused(message or message_of(answer), reason=_REASONS.get(reason_of(answer), Reason.OTHER))


def delete_options(propagation: str, *, uid: str = "") -> Object:
    body: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if propagation:
        body["propagationPolicy"] = propagation
    if uid:
        body["preconditions"] = {"uid": uid}
    return body


def version_of_answer(answer: Answer) -> str:
    return text(dig(answer.body or {}, "metadata", "resourceVersion"))
