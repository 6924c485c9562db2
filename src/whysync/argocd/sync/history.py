"""The entry that a successful sync leaves in the Application's history.

Mirrors `persistRevisionHistory`, Argo CD 3.6: raw, because a source has many fields that nobody reads here.
"""

from __future__ import annotations

from datetime import datetime

from whysync.argocd.compare.app_status import go_time
from whysync.argocd.compare.history import kept_history, next_id
from whysync.json_tree import Json, Object, dig, fields, integer, items


def history_after(application: Object, state: Object, now: datetime) -> list[Json]:
    """`status.history` with this operation in it; `state` is its `operationState`."""
    before = items(dig(application, "status", "history"))
    last = integer(fields(before[-1]).get("id")) if before else None
    result = fields(state.get("syncResult"))
    entry: Object = {"deployedAt": go_time(now), "id": next_id(last)}
    if state.get("startedAt"):
        entry["deployStartedAt"] = state["startedAt"]
    if items(result.get("sources")):
        entry["sources"] = result["sources"]
        entry["revisions"] = result.get("revisions")
    else:
        entry["source"] = result.get("source")
        entry["revision"] = result.get("revision")
    initiator = dig(state, "operation", "initiatedBy")
    entry["initiatedBy"] = initiator if isinstance(initiator, dict) else {}
    limit = dig(application, "spec", "revisionHistoryLimit")
    return list(kept_history([*before, entry], limit if isinstance(limit, int) else None))
