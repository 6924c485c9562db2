"""The results of a sync per resource, as in `syncResult.resources`.

An operation has no other state between two steps, so a `State` that was written to an Application's status
and read back can be resumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from whysync.argocd.api.application import Phase, ResourceResult
from whysync.json_tree import Object, dig, fields, items
from whysync.kubernetes.api.ref import Key, Ref

COMPLETED: Final = frozenset({Phase.FAILED.value, Phase.ERROR.value, Phase.SUCCEEDED.value})
_CONTAINERS: Final = (
    ("spec", "containers"),
    ("spec", "template", "spec", "containers"),
    ("spec", "jobTemplate", "spec", "template", "spec", "containers"),
)


class Code(StrEnum):
    """The status of a resource result. Mirrors gitops-engine `ResultCode`, Argo CD 3.6."""

    SYNCED = "Synced"
    SYNC_FAILED = "SyncFailed"
    PRUNED = "Pruned"
    PRUNE_SKIPPED = "PruneSkipped"


PHASE_OF: Final = {
    Code.SYNCED: Phase.RUNNING.value,
    Code.SYNC_FAILED: Phase.FAILED.value,
    Code.PRUNED: Phase.SUCCEEDED.value,
    Code.PRUNE_SKIPPED: Phase.SUCCEEDED.value,
}
"""An applied resource still has to become healthy; all others are completed."""


class Result(ResourceResult, frozen=True):
    """A row of `syncResult.resources`; `hook_phase` is the phase of the task, even if it is not a hook."""

    images: tuple[str, ...] = ()

    @property
    def task(self) -> tuple[Key, str]:
        """The task of the result: an object can be part of several phases."""
        return self.key, self.sync_phase


class State(msgspec.Struct, frozen=True, kw_only=True):
    """An operation between two steps."""

    phase: str = Phase.RUNNING.value
    message: str = ""
    results: tuple[Result, ...] = ()

    @property
    def is_finished(self) -> bool:
        return self.phase in COMPLETED


def results_from_json(rows: Iterable[Object]) -> tuple[Result, ...]:
    """Rows that cannot be decoded are skipped."""
    results: list[Result] = []
    for row in rows:
        try:
            set_fields = {key: value for key, value in row.items() if value is not None}
            results.append(msgspec.convert(set_fields, Result))
        except msgspec.ValidationError:
            continue
    return tuple(results)


def result_json(result: Result) -> Object:
    """As Go encodes it: the identity of the resource always, other fields if they are not empty."""
    row: Object = {
        "group": result.group,
        "version": result.version,
        "kind": result.kind,
        "namespace": result.namespace,
        "name": result.name,
    }
    details: Object = {
        "status": result.status,
        "message": result.message,
        "hookType": result.hook_type,
        "hookPhase": result.hook_phase,
        "syncPhase": result.sync_phase,
        "images": list(result.images),
    }
    return row | {key: value for key, value in details.items() if value}


def get_resource_images(obj: Object) -> tuple[str, ...]:
    """The images of the containers, not of init containers. Mirrors `GetResourceImages`, Argo CD 3.6."""
    for path in _CONTAINERS:
        containers = dig(obj, *path)
        if isinstance(containers, list):
            images = (fields(container).get("image") for container in items(containers))
            return tuple(image for image in images if isinstance(image, str))
    return ()


_NOT_FOUND = "the server could not find the requested resource"
_TOO_LONG = "metadata.annotations: Too long: must have at most 262144 bytes"


def augment_sync_msg(message: str, ref: Ref, installed: Sequence[Ref]) -> str:
    """A message of a sync with advice. Mirrors `AugmentSyncMsg`, Argo CD 3.6.

    `installed`: group, version and kind of what the cluster has.
    """
    if _NOT_FOUND in message:
        return _not_found(ref, installed)
    if _TOO_LONG in message:
        return (
            f"{message} \n -Additional Info: This error usually means that you are trying to add a large "
            "resource on client side. Consider using Server-side apply or syncing with replace enabled. "
            "Note: Syncing with Replace enabled is potentially destructive as it may cause resource "
            "deletion and re-creation."
        )
    return message


def _not_found(ref: Ref, installed: Sequence[Ref]) -> str:
    kind = f"{ref.group}/{ref.kind}"
    resource = f"requested resource {ref.namespace}/{ref.name}"
    same_kind = [candidate for candidate in installed if candidate.kind == ref.kind]
    nearest = next(
        (candidate for candidate in same_kind if candidate.group == ref.group), next(iter(same_kind), None)
    )
    if nearest is None:
        return (
            f"The Kubernetes API could not find {kind} for {resource}. "
            f'Make sure the "{ref.kind}" CRD is installed on the destination cluster.'
        )
    return (
        f'The Kubernetes API could not find version "{ref.version}" of {kind} for {resource}. '
        f'Version "{nearest.version}" of {nearest.group}/{nearest.kind} is installed '
        "on the destination cluster."
    )
