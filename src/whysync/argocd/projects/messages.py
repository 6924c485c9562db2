"""Messages of a sync, made clearer. Mirrors `AugmentSyncMsg`, Argo CD 3.6."""

from __future__ import annotations

from collections.abc import Sequence

from whysync.kubernetes.api.ref import Ref

_NOT_FOUND = "the server could not find the requested resource"
_TOO_LONG = "metadata.annotations: Too long: must have at most 262144 bytes"


def clearer_message(message: str, ref: Ref, installed: Sequence[Ref]) -> str:
    """`installed`: group, version and kind of what the cluster has."""
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
    place = f"requested resource {ref.namespace}/{ref.name}"
    same_kind = [one for one in installed if one.kind == ref.kind]
    found = next((one for one in same_kind if one.group == ref.group), next(iter(same_kind), None))
    if found is None:
        return (
            f"The Kubernetes API could not find {kind} for {place}. "
            f'Make sure the "{ref.kind}" CRD is installed on the destination cluster.'
        )
    return (
        f'The Kubernetes API could not find version "{ref.version}" of {kind} for {place}. '
        f'Version "{found.version}" of {found.group}/{found.kind} is installed on the destination cluster.'
    )
