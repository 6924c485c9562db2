"""How far an ApplicationSet with `strategy: RollingSync` has updated its Applications."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_DONE = "Healthy"


class RolloutEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of `status.applicationStatus`, at `pointer`."""

    application: str
    status: str
    step: int
    message: str
    target_revisions: tuple[str, ...]
    pointer: str


def unfinished(application_set: Manifest) -> tuple[RolloutEntry, ...]:
    """The Applications of the first step that is not done: the next steps wait for them."""
    entries = [
        RolloutEntry(
            application=text(entry.get("application")),
            status=text(entry.get("status")),
            step=_number(text(entry.get("step"))),
            message=text(entry.get("message")),
            target_revisions=tuple(map(text, items(entry.get("targetRevisions")))),
            pointer=f"/status/applicationStatus/{index}",
        )
        for index, entry in enumerate(map(fields, items(application_set.status.get("applicationStatus"))))
    ]
    open_entries = [entry for entry in entries if entry.status not in ("", _DONE) and entry.step >= 0]
    first = min((entry.step for entry in open_entries), default=0)
    return tuple(entry for entry in open_entries if entry.step == first)


def _number(step: str) -> int:
    """The step from 1; -1 for an Application that no step selects, and that none waits for."""
    return int(step) if step.isdecimal() and len(step) < 6 else -1 if step == "-1" else 0


def synced_revision(case: Case, application: str) -> str:
    """The revision of the last successful sync of a generated Application; empty if it is not known."""
    known = (*(manifest for manifest, _ in case.index.decoded), *case.index.snapshot.live)
    live = next((m for m in known if m.ref.kind == "Application" and m.ref.name == application), None)
    state = fields(live.status.get("operationState")) if live is not None else {}
    if text(state.get("phase")) != "Succeeded":
        return ""
    sync = fields(fields(state.get("operation")).get("sync"))
    return text(fields(state.get("syncResult")).get("revision")) or text(sync.get("revision"))
