"""Images that nobody has seen run: on the model they do, and a proof that hangs on it says so."""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.case import Case
from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.controllers.pod_control import is_ready
from whysync.proofs.world import SimulatedCase
from whysync.queries.previous_revision import previous_revision_of

_READY = ("readyReplicas", "numberReady", "succeeded")


def unseen_images(world: SimulatedCase) -> list[str]:
    """Of the pods that run in this world, those that ran nowhere in the facts."""
    pods = [obj for obj in world.simulation.model.objects() if obj.get("kind") == "Pod"]
    run = {image for pod in pods for image in _images(fields(pod.get("spec")))}
    return sorted(run - _seen(world.case) - _ran(world))


def _ran(world: SimulatedCase) -> set[str]:
    """Of versions whose pods are gone, and that ran until the present one came."""
    found: set[str] = set()
    for desired_object in world.part.desired:
        before = (
            previous_revision_of(world.case, desired_object.ref)
            if desired_object.ref.kind == "Deployment"
            else None
        )
        if before is not None and not before.runs:
            found |= set(_images(fields(dig(before.kept.spec, "template", "spec"))))
    return found


def _seen(case: Case) -> set[str]:
    found: set[str] = set()
    for live in case.world.snapshot.live:
        if live.ref.kind == "Pod":
            found |= set(_running(live.body))
        elif any(integer(live.status.get(count)) > _older(live.status) for count in _READY):
            found |= set(_images(fields(dig(live.spec, "template", "spec"))))
    return found


def _older(status: Object) -> int:
    """Pods of a Deployment that are of an older template: these may be the ones that are ready."""
    updated = status.get("updatedReplicas")
    total = integer(status.get("replicas"))
    return max(total - integer(updated), 0) if total and "observedGeneration" in status else 0


def _running(pod: Object) -> Iterator[str]:
    """Of containers that are ready, or ended well."""
    by_name = {
        text(dig(one, "name")): text(dig(one, "image"))
        for group in ("initContainers", "containers")
        for one in items(dig(pod, "spec", group))
    }
    for group in ("initContainerStatuses", "containerStatuses"):
        for raw in items(dig(pod, "status", group)):
            ended = dig(raw, "state", "terminated", "exitCode")
            if dig(raw, "ready") is True or ended == 0:
                yield by_name.get(text(dig(raw, "name")), "")


def _images(pod: Object) -> Iterator[str]:
    for group in ("initContainers", "containers"):
        yield from (text(dig(one, "image")) for one in items(pod.get(group)))


def is_unready(pod: Manifest) -> bool:
    """One that is to run, and does not yet."""
    if pod.status.get("phase") not in ("Pending", "Running"):
        return False
    return not is_ready(pod.body)
