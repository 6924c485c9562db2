"""The narrowest ignore rule for one field, paired with the option that makes a sync respect it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whysync.contracts.ref import Ref
from whysync.contracts.tree import Object
from whysync.diagnosis.fix import Add, Edit, Fix

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

RESPECT = "RespectIgnoreDifferences=true"


def ignore_field(case: Case, ref: Ref, *pointers: str, title: str = "", risk: str = "") -> Fix:
    """Named down to the object: never a whole kind, never a whole block.

    Without `RespectIgnoreDifferences=true` a sync still writes the value from Git: then whoever
    else writes the field and Argo CD go on fighting, unseen.
    """
    rule: Object = {"kind": ref.kind, "name": ref.name, "jsonPointers": list(pointers)}
    if ref.group:
        rule["group"] = ref.group
    if ref.namespace:
        rule["namespace"] = ref.namespace
    edits: list[Edit] = [Add(pointer="/spec/ignoreDifferences", value=rule)]
    if not case.has_sync_option(RESPECT):
        edits.append(Add(pointer="/spec/syncPolicy/syncOptions", value=RESPECT))
    shown = ", ".join(pointers)
    return Fix.application(
        case.application.ref,
        *edits,
        title=title or f"Ignore {shown} of this one object, also when syncing",
        risk=risk or "real drift in this field will not be seen any more",
    )
