"""The narrowest ignore rule for a field, with the sync option that makes a sync respect it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from whysync.diagnosis.drift.drifts import Drift
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.drift.raw_difference import LIST_KEYS
from whysync.diagnosis.fix import Add, Edit, Fix
from whysync.json_tree import MISSING, Json, Missing, Object, dig, fields
from whysync.kubernetes.api.pointer import index_of, join, split
from whysync.kubernetes.api.ref import Ref
from whysync.queries.sync_options import has_option

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

RESPECT = "RespectIgnoreDifferences=true"
NOT_APPLIED = "later commits that change this field are not applied, and drift in it is not reported"
"""The risk of ignoring a field that Git declares, if a sync respects the rule."""
_RELEASED = frozenset({"image", "env", "envFrom", "args", "command", "template"})
# The suffix that the API server generates for `generateName`: without vowels and 0, 1, 3; with a digit.
_GENERATED_NAME = re.compile(
    r"(?P<prefix>[a-z0-9][a-z0-9.-]{1,200}-)(?=[a-z]{0,4}\d)[bcdfghjklmnpqrstvwxz2456789]{5}"
)
_METADATA = frozenset({"annotations", "labels"})
_REPLACE = "Replace=true"
_SERVER_SIDE = "ServerSideApply=true"


def ignore_fields(case: Case, ref: Ref, *pointers: str) -> tuple[Fix, ...]:
    """The ignore rule for these fields, unless a release changes one of them.

    With `RespectIgnoreDifferences=true` every sync applies the live value: an ignored image that Git declares
    would never be deployed again, without any report.
    """
    if any(changes_with_releases(case, ref, pointer) for pointer in pointers):
        return ()
    return (ignore_field(case, ref, *pointers),)


def changes_with_releases(case: Case, ref: Ref, pointer: str) -> bool:
    """Does Git declare the field, and does a release change it, such as an image or the Pod template?"""
    desired = case.desired_of(ref.key)
    if desired is None or isinstance(desired.at(pointer), Missing):
        return False
    parts = split(pointer)
    return bool(_RELEASED.intersection(parts)) and not _METADATA.intersection(parts)


def ignore_field(case: Case, ref: Ref, *pointers: str, title: str = "", risk: str = "") -> Fix:
    """An ignore rule for fields of one object, never of a whole kind.

    Without `RespectIgnoreDifferences=true` a sync still writes the value from Git, and Argo CD and the other
    writer keep overwriting each other. Fields that Git does not declare are not written.
    """
    fields_text = ", ".join(pointers)
    is_written = any(_is_written(case, ref, pointer) for pointer in _in_both_notations(case, ref, pointers))
    return ignore_together(
        case,
        {ref: pointers},
        title=title or f"Ignore {fields_text} of this object" + (", also when syncing" if is_written else ""),
        risk=risk or _risk(case, ref, pointers),
    )


def ignore_together(case: Case, values: Mapping[Ref, Sequence[str]], *, title: str, risk: str) -> Fix:
    """One change that ignores fields of several objects, so that a sync keeps all of them or none."""
    edits: list[Edit] = []
    is_written = False
    for ref, selected in values.items():
        pointers = _in_both_notations(case, ref, selected)
        rule: Object = {"kind": ref.kind, "name": ref.name, **_paths(case, ref, pointers)}
        if ref.group:
            rule["group"] = ref.group
        if ref.namespace:
            rule["namespace"] = ref.namespace
        edits.append(Add(pointer="/spec/ignoreDifferences", value=rule))
        is_written = is_written or any(_is_written(case, ref, pointer) for pointer in pointers)
    if is_written and not case.has_sync_option(RESPECT):
        edits.append(Add(pointer="/spec/syncPolicy/syncOptions", value=RESPECT))
    return Fix.application(case.application.ref, *edits, title=title, risk=risk)


def _in_both_notations(case: Case, ref: Ref, pointers: Sequence[str]) -> tuple[str, ...]:
    """A Secret's values with those that Git gives as `stringData`.

    Argo CD compares them as `data`, but a sync that respects ignore rules still sends the `stringData` of
    Git, which replaces the live value. Mirrors `normalizeTargetResources`, Argo CD 3.6.
    """
    desired = case.desired_of(ref.key)
    if ref.kind != "Secret" or ref.group:
        return tuple(pointers)
    found = list(pointers)
    for pointer in pointers:
        other = f"/stringData{pointer.removeprefix('/data')}"
        if pointer.startswith("/data") and (desired is None or not isinstance(desired.at(other), Missing)):
            found.append(other)
    return tuple(dict.fromkeys(found))


def _risk(case: Case, ref: Ref, pointers: Sequence[str]) -> str:
    """A sync keeps the live value of an ignored field, also when a newer commit changes it."""
    desired = case.desired_of(ref.key)
    declared = desired is not None and any(
        not isinstance(desired.at(pointer), Missing) for pointer in pointers
    )
    if declared:
        return NOT_APPLIED
    risk = "drift in this field is no longer reported"
    around = next((found for pointer in pointers if (found := _list_around(pointer))), "")
    if around and not is_builtin(ref):
        return f"{risk}; Argo CD may then keep the whole live list {around}, without later commits to it"
    return risk


def _list_around(pointer: str) -> str:
    """The outermost list on the way to a field.

    For a kind without a strategic merge patch, Argo CD carries the ignored part over in a JSON merge patch,
    and that has whole lists (`getMergePatch`, Argo CD 3.2).
    """
    parts = split(pointer)
    position = next((number for number, part in enumerate(parts) if index_of(part) is not None), 0)
    return join(parts[:position]) if position else ""


def _is_written(case: Case, ref: Ref, pointer: str) -> bool:
    """Would a sync write it? Declared fields, and elements of lists, which may be sent as a whole.

    Server-side apply also removes fields that Argo CD owned and Git no longer declares.
    """
    desired = case.desired_of(ref.key)
    overwriting = (_REPLACE, _SERVER_SIDE)
    if desired is None or any(case.has_sync_option(o) or has_option(desired, o) for o in overwriting):
        return True
    in_list = any(index_of(part) is not None for part in split(pointer))
    return in_list or not isinstance(desired.at(pointer), Missing)


def _paths(case: Case, ref: Ref, pointers: Sequence[str]) -> Object:
    """List elements are selected by a key or value, because their index can change.

    What starts with a dot is a jq path already.
    """
    json_pointers: list[Json] = []
    jq_paths: list[Json] = []
    for pointer in pointers:
        path = pointer if pointer.startswith(".") else _by_element(case, ref, pointer)
        if path:
            jq_paths.append(path)
        else:
            json_pointers.append(pointer)
    rule: Object = {}
    if json_pointers:
        rule["jsonPointers"] = json_pointers
    if jq_paths:
        rule["jqPathExpressions"] = jq_paths
    return rule


def _by_element(case: Case, ref: Ref, pointer: str) -> str:
    """`.spec.template.spec.containers[] | select(.name == "proxy") | .image`; empty without a key."""
    parts = split(pointer)
    live = case.live_of(ref.key)
    if live is None or not any(index_of(part) is not None for part in parts):
        return ""
    desired = case.desired_of(ref.key)
    path = ""
    at_start = True  # at the start of a jq path
    for number, part in enumerate(parts):
        parent = live.at(join(parts[:number]))
        if not isinstance(parent, list):
            path += _key(part, first=at_start)
            at_start = False
            continue
        is_last = number == len(parts) - 1
        desired_element = desired.at(join(parts[: number + 1])) if desired is not None else MISSING
        condition = _condition(
            parent, live.at(join(parts[: number + 1])), MISSING if is_last else desired_element
        )
        if not condition:
            return ""
        path += f"[] | select({condition})"
        at_start = True
        if not is_last:
            path += " | "
    return path


def _condition(elements: list[Json], element: Json | Missing, desired_element: Json | Missing) -> str:
    """A condition that only this element meets; Git's element at that index may be another one."""
    if isinstance(element, str | int):
        return f". == {json.dumps(element)}" if elements.count(element) == 1 else ""
    for key in LIST_KEYS:
        value = fields(element).get(key)
        if not isinstance(value, str | int) or [fields(item).get(key) for item in elements].count(value) != 1:
            continue
        if fields(desired_element).get(key, value) == value:
            others = [fields(item).get(key) for item in elements if item is not element]
            return _generated(key, value, others) or f".{key} == {json.dumps(value)}"
    name = dig(element, "metadata", "name")  # an element that is an object, as in volumeClaimTemplates
    is_unique = [dig(item, "metadata", "name") for item in elements].count(name) == 1
    if isinstance(name, str) and is_unique and dig(desired_element, "metadata", "name") in (name, MISSING):
        return f".metadata.name == {json.dumps(name)}"
    return ""


def _generated(key: str, value: str | int, others: list[Json]) -> str:
    """`.name | test("^app-dockercfg-[a-z0-9]{5}$")`: a generated name is another one in the next cluster."""
    found = _GENERATED_NAME.fullmatch(value) if isinstance(value, str) and key == "name" else None
    if found is None:
        return ""
    regex = f"^{found['prefix'].replace('.', '[.]')}[a-z0-9]{{5}}$"
    if any(isinstance(other, str) and re.match(regex, other) for other in others):
        return ""
    return f".{key} | test({json.dumps(regex)})"


def _key(part: str, *, first: bool) -> str:
    if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", part):
        return f".{part}"
    return f"{'.' if first else ''}[{json.dumps(part)}]"


def risk_of_ignoring(drift: Drift, none: str) -> str:
    """`none` if only the cluster has the field; what Git declares is otherwise no longer applied."""
    return none if drift.only_live else "Git's value is then only used when the object is created"
