"""A Fix as text: changed fields, merge patch, JSON patch, new manifest, policy line, commands."""

from __future__ import annotations

from collections.abc import Iterable

from whysync.argocd.tracking.method import INSTALLATION_ID, TRACKING_ID, TrackingMethod
from whysync.diagnosis.case import Case
from whysync.diagnosis.drift.raw_difference import differences
from whysync.diagnosis.fix import Add, Edit, Fix, FixKind, Remove, Set
from whysync.facts.masking.masks import is_mask
from whysync.fixes.edit import edited
from whysync.fixes.fragments import deleted, fragment
from whysync.fixes.generated_app import application_set_of, parent_of, place_in_set
from whysync.fixes.places import place_of
from whysync.json_tree import Json, Missing, Object, copy_object, fields, items, same
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.pointer import join, resolve, split
from whysync.kubernetes.api.ref import Ref, ref_of
from whysync.kubernetes.api.yaml import dump
from whysync.kubernetes.merge.last_applied import LAST_APPLIED
from whysync.queries.commands import comment, kubectl

_SERVERS = ("managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink")
_ANNOTATIONS = (TRACKING_ID, INSTALLATION_ID, LAST_APPLIED)
RESOURCES = {"Application": "application", "AppProject": "appproject", "ConfigMap": "configmap"}


def patch_text(fix: Fix, case: Case) -> str:
    """The fix as text that can be applied; the first line explains how if it is not obvious."""
    if fix.commands:
        return "".join(f"{_one_line(command)}\n" for command in fix.commands)
    if fix.line:
        return f"# add this line to policy.csv in ConfigMap argocd-rbac-cm\n{_one_line(fix.line)}\n"
    if fix.create is not None:
        return dump(fix.create)
    target = object_of(fix, case)
    if target is None or fix.target is None:
        return ""
    if fix.drops:
        return f"{comment(f'delete {place_of(fix.target, case)}')}\n{deleted(for_git(target.body, case))}"
    after = edited(target.body, fix.edits)
    if fix.kind is FixKind.MANIFEST:
        changed = fragment(target.body, after)
        return f"{comment(place_of(fix.target, case))}\n{changed}" if changed else ""
    generator = application_set_of(case, fix) if fix.kind is FixKind.APPLICATION else ""
    if generator:
        place = f"in {place_in_set(case, fix, generator)}, which generates {fix.target}"
        changed = fragment(target.body, after)
        return f"{comment(place)}\n{changed}" if changed else ""
    parent = parent_of(case) if fix.kind is FixKind.APPLICATION else ""
    if parent:
        changed = fragment(target.body, after)
        place = f"{fix.target}, in the source of app {parent}, which applies it"
        return f"{comment(place)}\n{changed}" if changed else ""
    return _cluster_patch_text(fix, fix.target, target.body, after)


def _one_line(text: str) -> str:
    """Replace line breaks, which come from values and must not start another command."""
    return " ".join(text.splitlines())


def is_usable(fix: Fix, case: Case) -> bool:
    """Can the fix be applied as it is? Not if it contains a masked value or changes nothing."""
    if any(isinstance(edit, Set | Add) and holds_a_mask(edit.value) for edit in fix.edits):
        return False
    if fix.drops:
        return object_of(fix, case) is not None
    target = object_of(fix, case) if fix.edits else None
    return target is None or not same(edited(target.body, fix.edits), target.body)


def in_safe_order(fixes: Iterable[Fix]) -> tuple[Fix, ...]:
    """The order of the rule, but fixes that destroy something come last."""
    return tuple(sorted(fixes, key=lambda fix: bool(fix.destroys)))


def holds_a_mask(value: Json) -> bool:
    """Does it contain a mask? A mask must never be written anywhere."""
    if isinstance(value, dict):
        return any(holds_a_mask(item) for item in value.values())
    if isinstance(value, list):
        return any(holds_a_mask(item) for item in value)
    return isinstance(value, str) and is_mask(value)


def object_of(fix: Fix, case: Case) -> Manifest | None:
    """The object that the fix edits, if the Case has it."""
    if fix.target is None:
        return None
    match fix.kind:
        case FixKind.APPLICATION:
            return case.application
        case FixKind.PROJECT:
            return case.project_manifest
        case FixKind.SETTINGS:
            return case.settings(fix.target.name) or unseen_settings(fix.target)
        case FixKind.MANIFEST:
            return _first_copy(fix.target, case) if fix.drops else case.desired_of(fix.target.key)
        case FixKind.POLICY | FixKind.COMMAND:
            return None


def _first_copy(ref: Ref, case: Case) -> Manifest | None:
    """The copy to remove if Git declares the object twice: the last one is effective."""
    last = case.desired_of(ref.key)
    if last is None:
        return None
    keys = {last.key, last.key._replace(namespace=case.destination_namespace)}
    keys |= {key._replace(namespace="") for key in keys if key.namespace == case.destination_namespace}
    return next(desired_object for desired_object in case.desired if desired_object.key in keys)


def unseen_settings(ref: Ref) -> Manifest | None:
    """An empty ConfigMap in place of one of Argo CD's that exists but is not in the facts."""
    if ref.kind != "ConfigMap" or not ref.name.startswith("argocd-"):
        return None
    meta: Object = {"name": ref.name, **({"namespace": ref.namespace} if ref.namespace else {})}
    return Manifest({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}, role=Role.SETTINGS)


def for_git(body: Object, case: Case) -> Object:
    """The object as it would be written in Git: without what the API server and Argo CD add."""
    clean = copy_object(body)
    for name in ("status", "operation"):
        clean.pop(name, None)
    meta = fields(clean.get("metadata"))
    for name in _SERVERS:
        meta.pop(name, None)
    settings = case.argocd
    by_label = settings.tracking_method in (TrackingMethod.LABEL, TrackingMethod.ANNOTATION_AND_LABEL)
    marks = {"annotations": _ANNOTATIONS, "labels": (settings.instance_label_key,) if by_label else ()}
    for section, names in marks.items():
        values = fields(meta.get(section))
        for name in names:
            values.pop(name, None)
        if section in meta and not values:
            del meta[section]
    return clean


def file_name(ref: Ref) -> str:
    """File name of an object, such as `role-shop-reader.yaml`; it never contains a path."""
    name = f"{ref.kind}-{ref.name}".lower()
    safe = "".join(char if char.isascii() and (char.isalnum() or char in "-.") else "-" for char in name)
    return f"{safe.strip('.-')[:100] or 'manifest'}.yaml"


def new_file_name(manifest: Object) -> str:
    """File name of a new object; for a List, that of its first item."""
    listed = items(manifest.get("items")) if manifest.get("kind") == "List" else []
    return file_name(ref_of(fields(listed[0]) if listed else manifest))


def merge_patch(before: Json, after: Json) -> Json:
    """The JSON merge patch (RFC 7386) that turns `before` into `after`."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    patch: Object = {key: None for key in before if key not in after}
    for key, value in after.items():
        if key not in before:
            patch[key] = value
        elif before[key] != value or any(
            differences(before[key], value)
        ):  # `1 == True` is true in Python only
            patch[key] = merge_patch(before[key], value)
    return patch


def _cluster_patch_text(fix: Fix, ref: Ref, before: Object, after: Object) -> str:
    kind, patch = cluster_patch(fix, before, after)
    arguments = ("patch", RESOURCES.get(ref.kind, ref.kind.lower()), ref.name, "--type", kind)
    head = comment(kubectl(*arguments, "--patch-file", "THIS_FILE", namespace=ref.namespace))
    return f"{head}\n{dump(patch)}"


def cluster_patch(fix: Fix, before: Object, after: Object) -> tuple[str, Json]:
    """Patch and type for `kubectl patch --type`: a merge patch unless it would contain a masked value."""
    patch = merge_patch(before, after)
    return ("json", json_patch(before, fix.edits)) if holds_a_mask(patch) else ("merge", patch)


def json_patch(body: Object, edits: Iterable[Edit]) -> list[Json]:
    """Edits as a JSON patch (RFC 6902): the operations in order; an edit that changes nothing gives none.

    Unlike a merge patch it does not replace a whole list, which would overwrite secret values with masks.
    """
    operations: list[Json] = []
    for edit in edits:
        after = edited(body, [edit])
        if not same(after, body):
            operations.append(_operation(body, after, edit))
        body = after
    return operations


def _operation(before: Object, after: Object, edit: Edit) -> Object:
    match edit:
        case Remove(pointer=pointer):
            return {"op": "remove", "path": pointer}
        case Add(pointer=pointer, value=value) if isinstance(resolve(before, pointer), list):
            return {"op": "add", "path": f"{pointer}/-", "value": value}
        case Set(pointer=pointer, value=value) | Add(pointer=pointer, value=value):
            path = _first_new(before, pointer)
            exists = not isinstance(resolve(before, path), Missing)
            new_value = resolve(after, path)
            if isinstance(new_value, Missing):  # beyond the end of its list: the value was appended
                return {"op": "add", "path": join((*split(path)[:-1], "-")), "value": value}
            return {"op": "replace" if exists else "add", "path": path, "value": new_value}


def _first_new(before: Object, pointer: str) -> str:
    """The field itself, or the first of its parent maps that has to be created."""
    parts = split(pointer)
    for length in range(1, len(parts)):
        if not isinstance(resolve(before, join(parts[:length])), dict | list):
            return join(parts[:length])
    return pointer
