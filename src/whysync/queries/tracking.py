"""Tracking ids and labels: which Application a live object belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whysync.argocd.hooks import SYNC_OPTIONS, has_option
from whysync.argocd.tracking.method import TRACKING_ID, TRACKING_ID_POINTER
from whysync.diagnosis.drift.mechanism import Mechanism
from whysync.diagnosis.fix import Fix
from whysync.json_tree import text
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.field_writers import WriterKind
from whysync.queries.commands import comment, on_object, with_comment

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case
    from whysync.diagnosis.drift import Drift

_KEPT = "Prune=false"


def other_app_of(case: Case, drift: Drift) -> str:
    """The other Application that the live tracking id or label names; empty if there is none.

    Only Argo CD writes tracking ids, so one always names an app. A label can have any value: it counts only
    if an Application of that name is in the facts.
    """
    live_value = drift.live_value if isinstance(drift.live_value, str) else ""
    if drift.pointer == TRACKING_ID_POINTER:
        owner = live_value.partition(":")[0]
        desired_owner = drift.desired_value.partition(":")[0] if isinstance(drift.desired_value, str) else ""
        own_names = ("", case.app.name, f"{case.app.namespace}_{case.app.name}", desired_owner)
        return "" if owner in own_names or ":" not in live_value else owner
    return live_value if live_value != case.app.name and live_value in case.index.apps_by_name else ""


def is_label_of_a_tool(case: Case, drift: Drift) -> bool:
    """Did Helm, a pipeline or a person write the instance label? Then it does not name an Application."""
    writer = drift.writer
    by_tool = writer is not None and writer.kind not in (WriterKind.ARGOCD, WriterKind.UNKNOWN)
    return by_tool and drift.pointer == case.argocd.instance_label_pointer and not other_app_of(case, drift)


def drop_from_this_app(case: Case, ref: Ref) -> Fix | None:
    """Removes the object from this app's source, if another app tracks it and lists it as its resource.

    A tracking id alone is not enough: that app may no longer manage the object, or no longer exist.
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
                title=f"Let {other} manage it, as it does now: remove it from {case.app.name}",
                risk=f"{case.app.name} then depends on what {other} declares",
            )
    return None


def kept_from_prune(case: Case, ref: Ref) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Commands before and after the object is removed from the source of the app that it is tracked by.

    That app prunes it unless the live object says `Prune=false`; a sync of another app does not remove that.
    """
    live = case.live_of(ref.key)
    if live is None:
        return (), ()
    why, options = "no app prunes it now", text(live.annotations.get(SYNC_OPTIONS))
    if has_option(live.body, SYNC_OPTIONS, _KEPT):
        return (comment(f"{ref} has {_KEPT}: {why}"),), ()
    if not options:
        keep = on_object("annotate", live.ref, f"{SYNC_OPTIONS}={_KEPT}")
        return (with_comment(keep, why),), (on_object("annotate", live.ref, f"{SYNC_OPTIONS}-"),)
    keep = on_object("annotate", live.ref, f"{SYNC_OPTIONS}={options},{_KEPT}", "--overwrite")
    release = on_object("annotate", live.ref, f"{SYNC_OPTIONS}={options}", "--overwrite")
    return (with_comment(keep, why),), (release,)


def unmarked(case: Case, ref: Ref) -> tuple[str, ...]:
    """Removes the mark of another app, if the sync of this one refuses an object that has it."""
    live = case.live_of(ref.key)
    if live is None or not case.has_sync_option("FailOnSharedResource=true"):
        return ()
    why, label = "FailOnSharedResource refuses the mark of the other app", case.argocd.instance_label_key
    if TRACKING_ID in live.annotations:
        return (with_comment(on_object("annotate", live.ref, f"{TRACKING_ID}-"), why),)
    return (with_comment(on_object("label", live.ref, f"{label}-"), why),) if label in live.labels else ()
