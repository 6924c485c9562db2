"""Questions that are answered and not kept: may I, may they, who am I."""

from __future__ import annotations

from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.apiserver.rbac_authorizer import AccessQuestion, may
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.storage import Store


def review(obj: Object, call: RequestContext, store: Store, now: str) -> Object:
    spec = fields(obj.get("spec"))
    match obj.get("kind"):
        case "SelfSubjectReview":
            return _who(obj, call, now)
        case "SubjectAccessReview" | "LocalSubjectAccessReview":
            groups = tuple(text(group) for group in items(spec.get("groups")))
            return _told(obj, may(store, _question(spec, text(spec.get("user")), groups)))
        case _:
            return _told(obj, may(store, _question(spec, call.request.user, call.request.groups)))


def _told(obj: Object, allowed: bool) -> Object:
    return {**obj, "status": {"allowed": allowed}}


def _question(spec: Object, user: str, groups: tuple[str, ...]) -> AccessQuestion:
    what = fields(spec.get("resourceAttributes"))
    return AccessQuestion(
        user=user,
        groups=groups,
        verb=text(what.get("verb")),
        group=text(what.get("group")),
        plural=text(what.get("resource")),
        subresource=text(what.get("subresource")),
        namespace=text(what.get("namespace")),
        name=text(what.get("name")),
    )


def _who(obj: Object, call: RequestContext, now: str) -> Object:
    groups: list[Json] = [*(call.request.groups or ("system:masters",)), "system:authenticated"]
    meta: Object = {**fields(obj.get("metadata")), "creationTimestamp": now}
    info: Object = {"username": call.request.user or "admin", "groups": groups}
    return {**obj, "metadata": meta, "status": {"userInfo": info}}
