"""Split documents into objects: Lists, API responses and `argocd … -o yaml` included."""

from __future__ import annotations

from collections.abc import Iterator

from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api import yaml

ARGO = "argoproj.io/v1alpha1"
_STATES = ("targetState", "liveState")


def objects_in(document: Json) -> Iterator[Json]:
    """All objects of a document; other values are returned as they are, for the caller to report."""
    if isinstance(document, list):
        for item in document:
            yield from objects_in(item)
        return
    if not isinstance(document, dict):
        yield document
        return
    members = document.get("items")
    kind = text(document.get("kind"))
    is_list = isinstance(members, list) or (kind.endswith("List") and members is None and "items" in document)
    if is_list and (not kind or kind.endswith("List")) and not is_managed_resources(document):
        for item in items(members):
            if isinstance(item, dict) and kind != "List":
                _inherit(item, document, kind)
            yield from objects_in(item)
        return
    yield _with_kind(document)


def _inherit(item: Object, parent: Object, kind: str) -> None:
    """Set kind and version, which a typed list (`PodList`) omits in its items."""
    if kind and not item.get("kind"):
        item["kind"] = kind.removesuffix("List")
        if not item.get("apiVersion"):
            item["apiVersion"] = text(parent.get("apiVersion"))


def _with_kind(body: Object) -> Object:
    """Set `kind`, which Argo CD's API and CLI omit for Applications and AppProjects."""
    if text(body.get("kind")) and text(body.get("apiVersion")):
        return body
    spec = fields(body.get("spec"))
    if "metadata" not in body or not spec:
        return body
    kind = text(body.get("kind"))
    if not kind:
        if "destination" in spec and any(key in spec for key in ("source", "sources", "sourceHydrator")):
            kind = "Application"
        elif "sourceRepos" in spec or ("destinations" in spec and "destination" not in spec):
            kind = "AppProject"
    return (
        {"apiVersion": ARGO, "kind": kind, **_without(body)}
        if kind in ("Application", "AppProject")
        else body
    )


def _without(body: Object) -> Object:
    return {key: value for key, value in body.items() if key not in ("apiVersion", "kind")}


def is_object(body: Json) -> bool:
    return isinstance(body, dict) and bool(text(body.get("kind"))) and bool(text(body.get("apiVersion")))


def is_managed_resources(body: Object) -> bool:
    """Is it a response of `GET …/applications/NAME/managed-resources`?"""
    return not body.get("kind") and any(
        any(state in fields(item) for state in _STATES) for item in items(body.get("items"))
    )


def is_resource_tree(body: Object) -> bool:
    """Is it a response of `GET …/applications/NAME/resource-tree`?"""
    return not body.get("kind") and isinstance(body.get("nodes"), list)


def managed_states(body: Object) -> Iterator[tuple[str, Object]]:
    """The objects inside a managed-resources response: `targetState` or `liveState`, and the object."""
    for item in items(body.get("items")):
        for state in _STATES:
            state_json = text(fields(item).get(state))
            if state_json in ("", "null"):
                continue
            try:
                yield state, fields(yaml.load(state_json))
            except yaml.Invalid:
                yield state, {}


def without_states(body: Object) -> Object:
    """The response without the objects, which are stored separately to mask their secrets."""
    rows: list[Json] = [
        {key: value for key, value in fields(item).items() if not key.endswith("State") and key != "diff"}
        for item in items(body.get("items"))
    ]
    return {"items": rows}
