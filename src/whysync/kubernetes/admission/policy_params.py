"""What a policy is bound with: objects that its expressions see as `params`."""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Object, dig, fields, text
from whysync.kubernetes.api.ref import group_of
from whysync.kubernetes.apiserver.builtin_kinds import built_in
from whysync.kubernetes.apiserver.label_selectors import selects
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.storage import Store

_DEFINITIONS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")


def params_of(policy: Object, binding: Object, call: RequestContext, store: Store) -> list[Object | None]:
    """One for each time that the policy is to be judged: once without params, never where none is found."""
    wanted = fields(dig(policy, "spec", "paramKind"))
    reference = fields(dig(binding, "spec", "paramRef"))
    if not wanted or not reference:
        return [None]
    where, namespaced = _stored(text(wanted.get("apiVersion")), text(wanted.get("kind")), store)
    space = (text(reference.get("namespace")) or call.address.namespace) if namespaced else ""
    name = text(reference.get("name"))
    if name:
        found = store.get((where, space, name))
        return [] if found is None else [found]
    return [
        obj
        for _, obj in store.within(where, space)
        if selects(reference.get("selector"), fields(dig(obj, "metadata", "labels")))
    ]


def _stored(api_version: str, kind: str, store: Store) -> tuple[tuple[str, str], bool]:
    """Where objects of a kind lie, and whether they do so in namespaces."""
    for resource in built_in().values():
        if (resource.api_version, resource.kind) == (api_version, kind):
            return resource.store, resource.namespaced
    group = group_of(api_version)
    for _, definition in store.within(_DEFINITIONS):
        spec = fields(definition.get("spec"))
        if spec.get("group") == group and dig(spec, "names", "kind") == kind:
            return (group, text(dig(spec, "names", "plural"))), spec.get("scope") == "Namespaced"
    return ("", ""), False
