"""The labels and annotations of the destination's Namespace, where Argo CD manages them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case


def managed_metadata_differs(case: Case) -> bool:
    """Does the policy name other metadata than the last sync wrote?

    Mirrors the check at the end of `CompareAppState`, Argo CD 3.6: both must be there.
    """
    wanted = case.app.spec.sync_policy.managed_namespace_metadata
    result = case.operation.sync_result if case.operation is not None else None
    written = result.managed_namespace_metadata if result is not None else None
    return wanted is not None and written is not None and wanted != written


def differing_metadata(case: Case) -> tuple[str, ...]:
    """What differs there, in words: `label team`, `annotation owner`; nothing where that is not known."""
    wanted = case.app.spec.sync_policy.managed_namespace_metadata
    result = case.operation.sync_result if case.operation is not None else None
    written = result.managed_namespace_metadata if result is not None else None
    if wanted is None or written is None:
        return ()
    kinds = (
        ("label", wanted.labels, written.labels),
        ("annotation", wanted.annotations, written.annotations),
    )
    return tuple(
        f"{kind} {key}"
        for kind, asked, had in kinds
        for key in sorted({*asked, *had})
        if asked.get(key) != had.get(key)
    )
