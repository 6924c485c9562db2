"""Causes that are already fixed, so that only a sync or a refresh is left.

Auto-sync does not check whether the cause of the last failure is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whysync.diagnosis.finding import AlreadyFixed
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.reported_texts import FAILED_PHASES
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.failure import Failure
from whysync.messages.parse import understand
from whysync.messages.patterns.apply import NamespaceMissing, QuotaExceeded
from whysync.messages.wrappers import LayerKind
from whysync.queries.commands import hard_refresh, refresh, sync
from whysync.queries.quotas import has_room

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case


def already_fixed(verdict: str, *fixes: Fix, when: bool = True) -> AlreadyFixed | None:
    """The remaining steps for a cause that is fixed; `None` if it is not."""
    return AlreadyFixed(verdict=verdict, fixes=fixes) if when else None


def sync_again(case: Case, verdict: str, title: str, *others: Fix, when: bool = True) -> AlreadyFixed | None:
    """Only a sync is left; `others` are fixes if that does not help."""
    return already_fixed(verdict, Fix.run(sync(case), title=title), *others, when=when)


def refresh_again(case: Case, verdict: str, title: str, *, when: bool) -> AlreadyFixed | None:
    """Only a refresh is left."""
    return already_fixed(verdict, Fix.run(refresh(case), title=title), when=when)


def render_again(case: Case, verdict: str, title: str, *, when: bool) -> AlreadyFixed | None:
    """Only a hard refresh is left: the cached manifests are outdated."""
    return already_fixed(verdict, Fix.run(hard_refresh(case), title=title), when=when)


def proof_of_fix(case: Case, failure: Failure, namespace: str = "") -> Manifest | None:
    """The live object that proves a fix: a namespace that exists, a quota with room.

    `namespace` is the namespace of the failed object: quotas of other namespaces often have the same name.
    """
    if isinstance(failure, NamespaceMissing):
        namespace_object = case.live_named("Namespace", "", failure.namespace or case.destination_namespace)
        return (
            namespace_object
            if namespace_object is not None and not namespace_object.meta.get("deletionTimestamp")
            else None
        )
    if isinstance(failure, QuotaExceeded) and failure.requested and failure.quota:
        quota = case.live_named("ResourceQuota", namespace or case.destination_namespace, failure.quota)
        return quota if quota is not None and has_room(quota.body, failure.requested) else None
    return None


def fixed_since_autosync_gave_up(case: Case) -> tuple[Manifest, ...]:
    """The live objects which prove that a commit that auto-sync gave up on would succeed now."""
    operation = case.operation
    if operation is None or operation.phase not in FAILED_PHASES or not case.is_automated:
        return ()
    given_up = any(
        condition.type == "SyncError"
        and understand(condition.message).layer(LayerKind.SYNC_ATTEMPT) is not None
        for condition in case.app.status.conditions
    )
    failures = [
        (failure, result.ref.namespace)
        for result in case.results
        if result.status == "SyncFailed" or result.hook_phase in FAILED_PHASES
        for failure in understand(result.message).failures
    ]
    proofs = [proof_of_fix(case, failure, namespace) for failure, namespace in failures]
    if not given_up or not proofs or any(manifest is None for manifest in proofs):
        return ()
    return tuple({manifest.key: manifest for manifest in proofs if manifest is not None}.values())
