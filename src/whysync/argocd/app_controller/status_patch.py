"""Parts of an Application as a refresh writes them, by `processAppRefreshQueueItem`, Argo CD 3.6."""

from __future__ import annotations

from datetime import datetime

from whysync.argocd.api.application import Condition
from whysync.argocd.app_controller.deletion.finalizers import with_hook_finalizers
from whysync.argocd.app_controller.need_refresh import REFRESH
from whysync.argocd.compare.app_status import conditions_json, go_time
from whysync.argocd.compare.conditions import set_conditions
from whysync.json_tree import Json, Object, fields, items
from whysync.kubernetes.api.decode import decode


def with_condition(status: Object, type: str, message: str, now: datetime) -> Object:
    """The status with the one condition of this type, or without any."""
    before = [decode(fields(condition), Condition)[0] for condition in items(status.get("conditions"))]
    told = [Condition(type=type, message=message)] if message else []
    after = set_conditions([one for one in before if one is not None], told, (type,), now)
    left: Object = {key: value for key, value in status.items() if key != "conditions"}
    return left | conditions_json(after)


def unknown(status: Object, now: datetime) -> Object:
    """What is written where project or spec are not as they must be; nothing was compared."""
    sync: Object = {**fields(status.get("sync")), "status": "Unknown"}
    health = fields(status.get("health"))
    after: Object = {"status": "Unknown"}
    if health.get("status") != "Unknown":
        after["lastTransitionTime"] = go_time(now)
    elif health.get("lastTransitionTime") is not None:
        after["lastTransitionTime"] = health["lastTransitionTime"]
    return {**status, "sync": sync, "health": after}


def source_types(spec: Object, types: tuple[str, ...]) -> Object:
    if not types:
        return {}
    several: list[Json] = [*types]
    return {"sourceTypes": several} if items(spec.get("sources")) else {"sourceType": types[0]}


def without_refresh(app: Object) -> Object:
    """The refresh that was asked for is done."""
    meta = fields(app.get("metadata"))
    annotations = fields(meta.get("annotations"))
    if REFRESH not in annotations:
        return app
    gone = (REFRESH, f"{REFRESH}-timestamp")
    kept: Object = {key: value for key, value in annotations.items() if key not in gone}
    left: Object = {key: value for key, value in meta.items() if key != "annotations"}
    return {**app, "metadata": {**left, "annotations": kept} if kept else left}


def with_finalizers(app: Object, *, pre: bool, post: bool) -> Object:
    """Hooks that run at the deletion of the app hold it with finalizers, as long as Git has them."""
    meta = fields(app.get("metadata"))
    after: list[Json] = [*with_hook_finalizers(app, pre_delete=pre, post_delete=post)]
    if after == items(meta.get("finalizers")):
        return app
    left: Object = {key: value for key, value in meta.items() if key != "finalizers"}
    return {**app, "metadata": {**left, "finalizers": after} if after else left}
