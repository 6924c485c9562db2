"""Whose mark an object carries, as far as the Applications at hand tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whysync.diagnosis.mechanism import INSTANCE, TRACKING_ID
from whysync.semantics.writers import WriterKind

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case
    from whysync.diagnosis.drift import Drift


def other_app_of(case: Case, drift: Drift) -> str:
    """The Application that the live mark names, where it is another one; empty where none is meant.

    A tracking id is written by Argo CD alone, so what it names is an app. A label may hold anything: it
    counts only where an Application of that name is at hand.
    """
    found = drift.found if isinstance(drift.found, str) else ""
    if drift.pointer == TRACKING_ID:
        owner = found.partition(":")[0]
        wanted = drift.wanted.partition(":")[0] if isinstance(drift.wanted, str) else ""
        own = ("", case.app.name, f"{case.app.namespace}_{case.app.name}", wanted)
        return "" if owner in own or ":" not in found else owner
    return found if found != case.app.name and found in case.world.apps_by_name else ""


def is_mark_of_a_tool(case: Case, drift: Drift) -> bool:
    """A label that Helm, a pipeline or a person wrote names no Application, whatever Argo CD makes of it."""
    writer = drift.writer
    by_tool = writer is not None and writer.kind not in (WriterKind.ARGOCD, WriterKind.UNKNOWN)
    return by_tool and drift.pointer == INSTANCE and not other_app_of(case, drift)
