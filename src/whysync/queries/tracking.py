"""Whose mark an object carries, as far as the Applications at hand tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whysync.argocd.tracking.method import TRACKING_ID_POINTER
from whysync.diagnosis.drift.mechanism import INSTANCE, Mechanism
from whysync.diagnosis.fix import Fix
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.field_writers import WriterKind

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case
    from whysync.diagnosis.drift import Drift


def other_app_of(case: Case, drift: Drift) -> str:
    """The Application that the live mark names, where it is another one; empty where none is meant.

    A tracking id is written by Argo CD alone, so what it names is an app. A label may hold anything: it
    counts only where an Application of that name is at hand.
    """
    live_value = drift.live_value if isinstance(drift.live_value, str) else ""
    if drift.pointer == TRACKING_ID_POINTER:
        owner = live_value.partition(":")[0]
        desired_owner = drift.desired_value.partition(":")[0] if isinstance(drift.desired_value, str) else ""
        own_names = ("", case.app.name, f"{case.app.namespace}_{case.app.name}", desired_owner)
        return "" if owner in own_names or ":" not in live_value else owner
    return live_value if live_value != case.app.name and live_value in case.index.apps_by_name else ""


def is_label_of_a_tool(case: Case, drift: Drift) -> bool:
    """A label that Helm, a pipeline or a person wrote names no Application, whatever Argo CD makes of it."""
    writer = drift.writer
    by_tool = writer is not None and writer.kind not in (WriterKind.ARGOCD, WriterKind.UNKNOWN)
    return by_tool and drift.pointer == INSTANCE and not other_app_of(case, drift)


def drop_from_this_app(case: Case, ref: Ref) -> Fix | None:
    """Out of this app's source, where the live object is another app's by its mark, and that app has it too.

    A mark alone would not do: it may be of an app that has let the object go, or is gone itself.
    """
    for drift in case.drifts_by(Mechanism.TRACKING):
        if (drift.ref.kind, drift.ref.name) != (ref.kind, ref.name):
            continue
        other = other_app_of(case, drift)
        other_application = case.index.apps_by_name.get(other.rpartition("_")[2]) if other else None
        if other_application is not None and any(
            row.key == drift.ref.key for row in other_application[1].status.resources
        ):
            return Fix.drop(
                drift.desired.ref,
                title=f"Let {other} keep it, which has it now: delete it from the source of {case.app.name}",
                risk=f"{case.app.name} lives then with what {other} says of it",
            )
    return None
