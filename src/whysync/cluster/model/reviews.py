"""Questions that are answered and not kept: may I, who am I. In the model everybody may."""

from __future__ import annotations

from whysync.contracts.tree import Object


def review(obj: Object) -> Object:
    status: Object = {"allowed": True}
    if obj.get("kind") == "SelfSubjectReview":
        status = {"userInfo": {"username": "admin", "groups": ["system:masters", "system:authenticated"]}}
    return {**obj, "status": status}
