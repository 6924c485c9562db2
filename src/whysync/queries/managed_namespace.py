"""The labels and annotations of the destination's Namespace, where Argo CD manages them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case


def managed_metadata_differs(case: Case) -> bool:
    """Does the policy name other metadata than the last sync wrote?

    Mirrors the check at the end of `CompareAppState`, Argo CD 3.6: both must be there.
    """
    desired = case.app.spec.sync_policy.managed_namespace_metadata
    result = case.operation.sync_result if case.operation is not None else None
    written = result.managed_namespace_metadata if result is not None else None
    return desired is not None and written is not None and desired != written


def differing_metadata(case: Case) -> tuple[str, ...]:
    """What differs there, in words: `label team`, `annotation owner`; nothing where that is not known."""
    desired = case.app.spec.sync_policy.managed_namespace_metadata
    result = case.operation.sync_result if case.operation is not None else None
    written = result.managed_namespace_metadata if result is not None else None
    if desired is None or written is None:
        return ()
    kinds = (
        ("label", desired.labels, written.labels),
        ("annotation", desired.annotations, written.annotations),
    )
    return tuple(
        f"{kind} {key}"
        for kind, desired_values, written_values in kinds
        for key in sorted({*desired_values, *written_values})
        if desired_values.get(key) != written_values.get(key)
    )
