"""`managedNamespaceMetadata`: labels and annotations of the destination namespace that Argo CD sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case


def managed_metadata_differs(case: Case) -> bool:
    """Does the sync policy declare other metadata than the last sync wrote?

    Mirrors the check at the end of `CompareAppState`, Argo CD 3.6: both must be set.
    """
    desired = case.app.spec.sync_policy.managed_namespace_metadata
    result = case.operation.sync_result if case.operation is not None else None
    written = result.managed_namespace_metadata if result is not None else None
    return desired is not None and written is not None and desired != written


def differing_metadata(case: Case) -> tuple[str, ...]:
    """The labels and annotations that differ: `label team`, `annotation owner`; empty if unknown."""
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
