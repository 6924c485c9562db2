"""Play a recorded conversation with an API server again: what would the checks have said at each write?

The recorded answers are the state: an object that was stored is the `old` of the next write. Only what the
server does before its checks is done here, as far as the checks depend on it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from tests.kubernetes.validation.status import invalid_status
from whysync.json_tree import Json, Object, copy_object, dig, fields, integer, items, text
from whysync.kubernetes.merge.merge_patch import merge_patch, without_nulls
from whysync.kubernetes.merge.strategic import BadPatch, apply_patch
from whysync.kubernetes.merge.structured.apply import applied, decode_managers
from whysync.kubernetes.merge.structured.schema import atom_of
from whysync.kubernetes.schema import type_of
from whysync.kubernetes.schema.defaults import with_defaults
from whysync.kubernetes.validation import FieldProblem, problems_on_create, problems_on_update

_WRITES = frozenset({"create", "update", "ssa", "merge-patch", "strategic-patch", "json-patch"})
_ALLOCATED = "already allocated"
_UID = "0b5f3c1e-0000-4000-8000-000000000001"
_STAND_INS = (
    ("<uid>", _UID),
    ("<clusterIP>", "10.96.0.77"),
    ("<random>", "abcde"),
    ('"<nodePort>"', "30077"),
    ("<nodePort>", "30077"),
    ("<time>", "2026-01-01T00:00:00Z"),
)


@dataclass(frozen=True, slots=True)
class Played:
    """One write: what was recorded and what the checks say; `status` is `None` where they say nothing."""

    index: int
    recorded: Object
    status: Object | None
    in_any_order: bool = False

    @property
    def agrees(self) -> bool:
        answer = fields(self.recorded.get("status"))
        if text(answer.get("reason")) != "Invalid":
            return self.status is None
        if self.status is None:
            return False
        if self.in_any_order:
            return sorted(map(str, _causes(self.status))) == sorted(map(str, _causes(answer)))
        return self.status["message"] == answer.get("message") and _causes(self.status) == _causes(answer)


def _causes(status: Object) -> list[Json]:
    return items(dig(status, "details", "causes"))


def read(line: str) -> Object:
    """A record with values where the recorder put `<uid>` and the like, which pass as what they are."""
    for mark, value in _STAND_INS:
        line = line.replace(mark, value)
    record: Object = json.loads(line)
    return record


def played(record: Object) -> list[Played]:
    """The writes of a record that reached the checks: accepted, or refused by them."""
    stored: dict[str, Object] = {}
    result: list[Played] = []
    for index, step in enumerate(items(record.get("steps"))):
        request, response = fields(fields(step).get("request")), fields(fields(step).get("response"))
        if _reached_the_checks(request, response):
            new = _requested(_complete(request, response), stored)
            if new is not None:
                message = _said(new, stored.get(_key(request, new)))
                result.append(Played(index, response, message, in_any_order=record.get("unstable") is True))
        _remember(request, response, stored)
    return result


def _reached_the_checks(request: Object, response: Object) -> bool:
    if request.get("verb") not in _WRITES or request.get("subresource") or "rawBody" in request:
        return False
    answer = fields(response.get("status"))
    kind = text(dig(answer, "details", "kind"))
    refused = answer.get("reason") == "Invalid" and kind and not kind.endswith("Options")
    if refused and _ALLOCATED in text(answer.get("message")):
        return False
    return (response.get("code") in (200, 201) and "object" in response) or bool(refused)


def _said(new: Object, old: Object | None) -> Object | None:
    problems: tuple[FieldProblem, ...]
    problems = problems_on_create(new) if old is None else problems_on_update(old, _carried(old, new))
    if not problems:
        return None
    version = text(new.get("apiVersion"))
    group = version.partition("/")[0] if "/" in version else ""
    return invalid_status(text(new.get("kind")), group, text(dig(new, "metadata", "name")), problems)


def _key(request: Object, obj: Object) -> str:
    path = text(request.get("path"))
    return f"{path}/{text(dig(obj, 'metadata', 'name'))}" if request.get("verb") == "create" else path


def _remember(request: Object, response: Object, stored: dict[str, Object]) -> None:
    obj = response.get("object")
    if request.get("verb") == "delete" and response.get("code") == 200:
        stored.pop(text(request.get("path")), None)
    if not isinstance(obj, dict) or request.get("subresource") or request.get("dryRun"):
        return
    if request.get("verb") in _WRITES or request.get("verb") == "get":
        stored[_key(request, obj)] = obj


def _requested(request: Object, stored: dict[str, Object]) -> Object | None:
    """The object that the request asks for, with its defaults."""
    body = _expanded(request.get("body"))
    if request.get("verb") in {"create", "update"}:
        new = fields(body)
    else:
        new = _patched(
            text(request.get("verb")),
            body,
            stored.get(text(request.get("path"))),
            text(request.get("fieldManager")),
        )
        if new is None:
            return None
    kind = type_of(text(new.get("apiVersion")), text(new.get("kind")))
    complete = with_defaults(copy_object(new), kind) if kind is not None else new
    if text(request.get("path")) not in stored:
        complete = _as_created(complete)
    if new.get("kind") == "Pod":
        complete = _with_usual_tolerations(complete)
    return fields(without_nulls(complete))


def _complete(request: Object, response: Object) -> Object:
    """A body that does not say its kind is taken for the one of the URL; the answer names it."""
    body, details = fields(request.get("body")), fields(dig(response, "status", "details"))
    if request.get("verb") != "create" or text(body.get("kind")) or not text(details.get("kind")):
        return request
    parts = text(request.get("path")).split("/")
    version = f"{parts[2]}/{parts[3]}" if parts[1] == "apis" else parts[2]
    return {**request, "body": {"apiVersion": version, **body, "kind": details["kind"]}}


def _patched(verb: str, body: Json, old: Object | None, manager: str) -> Object | None:
    if old is None:
        return fields(body) if verb == "ssa" else None
    kind = type_of(text(old.get("apiVersion")), text(old.get("kind")))
    if verb == "json-patch":
        return None
    if verb == "ssa" and kind is not None:
        return applied(old, fields(body), decode_managers(old), manager, atom_of(kind)) or old
    if verb == "merge-patch" or kind is None:
        return merge_patch(old, fields(body))
    try:
        return apply_patch(copy_object(old), fields(body), kind)
    except BadPatch:
        return None


def _expanded(value: Json) -> Json:
    if isinstance(value, dict):
        repeat = value.get("$repeat")
        if isinstance(repeat, list):
            return text(repeat[0]) * integer(repeat[1])
        return {key: _expanded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_expanded(item) for item in value]
    return value


def _as_created(obj: Object) -> Object:
    """What strategies write into a new object before it is checked."""
    meta: Object = {"uid": _UID, "namespace": "ns1", **fields(obj.get("metadata"))}
    if not text(meta.get("name")) and text(meta.get("generateName")):
        meta["name"] = f"{meta['generateName']}abcde"
    obj = {**obj, "metadata": meta}
    name = text(meta.get("name"))
    match text(obj.get("kind")):
        case "Job":
            return _with_generated_selector(obj, name)
        case "Service":
            return _with_cluster_ips(obj)
        case "Namespace" if name:
            meta["labels"] = {**fields(meta.get("labels")), "kubernetes.io/metadata.name": name}
        case _:
            pass
    return obj


def _with_usual_tolerations(pod: Object) -> Object:
    """What the DefaultTolerationSeconds admission plugin adds, also to a change."""
    spec = fields(pod.get("spec"))
    tolerations = items(spec.get("tolerations"))
    keys = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    added: list[Json] = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in keys
        if not any(fields(item).get("key") in (key, None) for item in tolerations)
    ]
    return {**pod, "spec": {**spec, "tolerations": tolerations + added}}


def _with_generated_selector(obj: Object, name: str) -> Object:
    spec = dict(fields(obj.get("spec")))
    if spec.get("manualSelector") is True:
        return obj
    template = dict(fields(spec.get("template")))
    meta = dict(fields(template.get("metadata")))
    prefix = "batch.kubernetes.io/"
    own: Object = {"controller-uid": _UID, "job-name": name}
    labels: Object = {
        **own,
        **{prefix + key: value for key, value in own.items()},
        **fields(meta.get("labels")),
    }
    template["metadata"] = {**meta, "labels": labels}
    selector = fields(spec.get("selector"))
    matching: Object = {f"{prefix}controller-uid": _UID, **fields(selector.get("matchLabels"))}
    return {**obj, "spec": {**spec, "template": template, "selector": {**selector, "matchLabels": matching}}}


def _with_cluster_ips(obj: Object) -> Object:
    spec = dict(fields(obj.get("spec")))
    if text(spec.get("clusterIP")) and not items(spec.get("clusterIPs")):
        spec["clusterIPs"] = [spec["clusterIP"]]
    return {**obj, "spec": spec}


def _carried(old: Object, new: Object) -> Object:
    """The new object with the fields that the server copies from the old one if they are unset."""
    before, meta = fields(old.get("metadata")), dict(fields(new.get("metadata")))
    for field in ("namespace", "uid", "creationTimestamp", "resourceVersion"):
        if field in before and field not in meta:
            meta[field] = before[field]
    merged: Object = {**new, "metadata": meta}
    if "status" in old:
        merged["status"] = old["status"]
    return _service_carried(old, merged) if new.get("kind") == "Service" else merged


def _service_carried(old: Object, new: Object) -> Object:
    """Mirrors what `patchAllocatedValues` and its kin do, as far as the records need it."""
    before, after = fields(old.get("spec")), dict(fields(new.get("spec")))
    if "ExternalName" in (before.get("type"), after.get("type")):
        if after.get("type") == "ExternalName":
            for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
                after.pop(field, None)
        return {**new, "spec": after}
    if not text(after.get("clusterIP")):
        after["clusterIP"], after["clusterIPs"] = before.get("clusterIP"), before.get("clusterIPs")
    elif not items(after.get("clusterIPs")) or (
        after["clusterIP"] != before.get("clusterIP") and after.get("clusterIPs") == before.get("clusterIPs")
    ):
        after["clusterIPs"] = [after["clusterIP"]]
    for field in ("ipFamilies", "ipFamilyPolicy"):
        after.setdefault(field, before.get(field))
    return {**new, "spec": after}
