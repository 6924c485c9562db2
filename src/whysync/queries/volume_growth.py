"""Larger volumes for a StatefulSet: its claims grow one by one, as its template is immutable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from whysync.diagnosis import Case, Fix
from whysync.golang.quantity import quantity_value
from whysync.json_tree import Missing, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.queries.commands import kubectl, on_object, sync, with_comment

_STORAGE: Final = re.compile(r"(?P<template>/spec/volumeClaimTemplates/\d+)/spec/resources/requests/storage")
_MOST_CLAIMS: Final = 20


def growth_fix(case: Case, immutable: tuple[str, ...], desired: Manifest, live: Manifest) -> Fix | None:
    """Patch the claims, delete the StatefulSet without its Pods, and sync; `None` if that is not possible.

    Only if Git changes nothing but the size, to a larger one, and no class in the facts forbids expansion.
    """
    if desired.ref.kind != "StatefulSet" or not immutable:
        return None
    commands: list[str] = []
    checks: set[str] = set()
    for field in immutable:
        found = _STORAGE.fullmatch(field)
        if found is None or not _is_larger(desired.at(field), live.at(field)):
            return None
        class_name = text(live.at(f"{found['template']}/spec/storageClassName"))
        allowed = _allows_expansion(case, class_name)
        if allowed is False:
            return None
        if allowed is None:
            checks.add(
                with_comment(
                    kubectl("get", "storageclass", *([class_name] if class_name else [])),
                    "ALLOWVOLUMEEXPANSION must be true",
                )
            )
        size = msgspec.json.encode(
            {"spec": {"resources": {"requests": {"storage": text(desired.at(field))}}}}
        ).decode()
        name = text(live.at(f"{found['template']}/metadata/name"))
        commands += [
            on_object("patch", claim, "--type=merge", "-p", size) for claim in _claims(case, live, name)
        ]
    return Fix.run(
        *sorted(checks),
        *commands,
        on_object("delete", live.ref, "--cascade=orphan"),
        sync(case),
        title="Grow the claims, then recreate only the StatefulSet: its Pods and volumes stay",
        risk="a volume cannot shrink again; some drivers grow the file system only after a Pod restart",
        destroys=("the StatefulSet object, until the sync recreates it",),
    )


def _is_larger(new: object, old: object) -> bool:
    if not isinstance(new, str) or not isinstance(old, str):
        return False
    wanted, now = quantity_value(new), quantity_value(old)
    return wanted is not None and now is not None and wanted > now


def _allows_expansion(case: Case, name: str) -> bool | None:
    """`None` if the class is not in the facts."""
    if not name:
        return None
    found = next((item for item in case.live_of_kind("StorageClass") if item.ref.name == name), None)
    if found is None:
        return None
    allowed = found.at("/allowVolumeExpansion")
    return False if isinstance(allowed, Missing) else bool(allowed)


def _claims(case: Case, live: Manifest, template: str) -> Iterator[Ref]:
    """The claims in the facts; else those of the StatefulSet's replicas."""
    prefix = f"{template}-{live.ref.name}-"
    found = [
        claim.ref
        for claim in case.live_of_kind("PersistentVolumeClaim")
        if claim.ref.namespace == live.ref.namespace
        and claim.ref.name.startswith(prefix)
        and claim.ref.name.removeprefix(prefix).isdecimal()
    ]
    if found:
        yield from found[:_MOST_CLAIMS]
        return
    replicas, start = live.at("/spec/replicas"), live.at("/spec/ordinals/start")
    first = start if isinstance(start, int) else 0
    for ordinal in range(first, first + min(replicas if isinstance(replicas, int) else 1, _MOST_CLAIMS)):
        yield Ref(
            group="",
            version="v1",
            kind="PersistentVolumeClaim",
            namespace=live.ref.namespace,
            name=f"{prefix}{ordinal}",
        )
