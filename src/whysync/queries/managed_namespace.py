"""`managedNamespaceMetadata`: labels and annotations of the destination namespace that Argo CD sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whysync.queries.pod_security import ENFORCE, is_stricter, refused_template

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case
    from whysync.kubernetes.api.manifest import Manifest


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


def refused_by_new_level(case: Case) -> tuple[tuple[Manifest, str], ...]:
    """Workloads whose next Pods the new Pod Security level refuses, each with the violated checks."""
    desired = case.app.spec.sync_policy.managed_namespace_metadata
    result = case.operation.sync_result if case.operation is not None else None
    written = result.managed_namespace_metadata if result is not None else None
    if desired is None or written is None:
        return ()
    level, before = desired.labels.get(ENFORCE, ""), written.labels.get(ENFORCE, "")
    if not is_stricter(level, before):
        return ()
    namespace = case.destination_namespace
    refused: list[tuple[Manifest, str]] = []
    for live in case.index.snapshot.live:
        if live.ref.namespace != namespace or live.meta.get("ownerReferences"):
            continue
        violated = refused_template(case.desired_of(live.key) or live, level=level, before=before)
        if violated:
            refused.append((live, violated))
    return tuple(refused)
