"""What may change of a running Pod: hardly anything. Mirrors `ValidatePodUpdate`, Kubernetes 1.36."""

from __future__ import annotations

from whysync.golang.fmt import go_map
from whysync.json_tree import Json, Missing, Object, fields, integer, items, text
from whysync.kubernetes.validation import metadata
from whysync.kubernetes.validation.equality import same
from whysync.kubernetes.validation.field_error import Problems, forbidden, invalid, required
from whysync.kubernetes.validation.internal_types import difference, internal
from whysync.kubernetes.validation.placement import tolerations
from whysync.kubernetes.validation.pods import pod

_SPEC = "core/v1.PodSpec"
_LARGEST = 2**31 - 1
_MUTABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def pod_on_update(old: Object, new: Object) -> Problems:
    yield from metadata.on_update(old, new)
    yield from pod(new)
    before, after = fields(old.get("spec")), fields(new.get("spec"))
    for field in ("containers", "initContainers"):
        if len(items(before.get(field))) != len(items(after.get(field))):
            yield forbidden(f"spec.{field}", "pod updates may not add or remove containers")
            return
        yield from _images(items(after.get(field)), f"spec.{field}")
    deadline = tuple(_deadline(before.get("activeDeadlineSeconds"), after.get("activeDeadlineSeconds")))
    yield from deadline
    if deadline and after.get("activeDeadlineSeconds") is not None:
        return
    yield from _only_added(before.get("tolerations"), after.get("tolerations"))
    yield from _only_fewer_gates(before, after)
    if same(before, after, _SPEC):
        return
    munged = _as_if_allowed(before, after)
    if items(before.get("schedulingGates")):
        yield from _gated(before, munged)
    if not same(munged, before, _SPEC):
        shown = difference(internal(before, _SPEC), internal(munged, _SPEC))
        yield forbidden("spec", f"{_MUTABLE}\n{shown}")


def _as_if_allowed(before: Object, after: Object) -> Object:
    """The new spec with everything that may change set back, so that what still differs may not."""
    munged = dict(after)
    for field in ("containers", "initContainers"):
        if field in munged:
            pairs = zip(items(before.get(field)), items(after.get(field)), strict=True)
            munged[field] = [{**fields(new), "image": fields(old).get("image")} for old, new in pairs]
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        munged[field] = before.get(field)
    grace = before.get("terminationGracePeriodSeconds")
    if grace is not None and integer(grace) < 0 and after.get("terminationGracePeriodSeconds") == 1:
        munged["terminationGracePeriodSeconds"] = grace
    return munged


def _images(containers: list[Json], path: str) -> Problems:
    for index, item in enumerate(containers):
        image = text(fields(item).get("image"))
        if not image:
            yield required(f"{path}[{index}].image")
        if image != image.strip():
            detail = "must not have leading or trailing whitespace"
            yield invalid(f"{path}[{index}].image", image, detail)


def _deadline(old: Json, new: Json) -> Problems:
    path = "spec.activeDeadlineSeconds"
    if new is None:
        if old is not None:
            yield invalid(path, None, "must not update from a positive integer to nil value")
    elif not 0 <= integer(new) <= _LARGEST:
        yield invalid(path, integer(new), f"must be between 0 and {_LARGEST}, inclusive")
    elif old is not None and integer(old) < integer(new):
        yield invalid(path, integer(new), "must be less than or equal to previous value")


def _only_added(old: Json | Missing, new: Json | Missing) -> Problems:
    kept = [_without_seconds(item) for item in items(new)]
    if any(_without_seconds(item) not in kept for item in items(old)):
        detail = "existing toleration can not be modified except its tolerationSeconds"
        yield forbidden("spec.tolerations", detail)
        return
    yield from tolerations(new, "spec.tolerations")


def _without_seconds(toleration: Json) -> Object:
    toleration_fields = fields(toleration)
    return {
        key: value for key, value in toleration_fields.items() if key != "tolerationSeconds" and value != ""
    }


def _only_fewer_gates(before: Object, after: Object) -> Problems:
    known = {text(fields(item).get("name")) for item in items(before.get("schedulingGates"))}
    for index, item in enumerate(items(after.get("schedulingGates"))):
        name = text(fields(item).get("name"))
        if name not in known:
            detail = f"only deletion is allowed, but found new scheduling gate '{name}'"
            yield forbidden(f"spec.schedulingGates[{index}].name", detail)


def _gated(before: Object, munged: Object) -> Problems:
    """A pod that waits to be scheduled may be narrowed to fewer nodes."""
    old, new = fields(before.get("nodeSelector")), fields(munged.get("nodeSelector"))
    if old != new and any(new.get(key) != value for key, value in old.items()):
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield invalid("spec.nodeSelector", go_map(new), detail)
    munged["nodeSelector"] = before.get("nodeSelector")
