"""What changes objects on their way into the cluster: webhooks and the server's own schema, as seen.

Of a webhook whose configuration is at hand nobody knows what it does, unless live objects show it. So: what
live has beyond Git, by a mechanism at admission, is put in whenever Git's value passes; all other webhooks
agree to everything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from whysync.diagnosis.case import Case
from whysync.diagnosis.drift import Drift
from whysync.diagnosis.fix import Remove, Set
from whysync.fixes.edit import edited
from whysync.json_tree import MISSING, Json, Missing, Object, dig, fields, items, same, text
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.ref import Key, ref_of
from whysync.kubernetes.apiserver.server import ApiServer

NAME: Final = "seen.whysync.dev"
_CONFIGURATIONS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passing:
    """A field of one object that comes out of admission otherwise than it went in."""

    key: Key
    pointer: str
    wanted: Json | Missing
    found: Json | Missing


def admit(case: Case, model: ApiServer, passing: Iterable[Passing], drifts: Iterable[Drift]) -> None:
    """Tell the model what its webhooks do; those that failed are told as such elsewhere."""
    for kind in _CONFIGURATIONS:
        for found in case.live_of_kind(kind):
            for raw in items(found.body.get("webhooks")):
                model.webhooks.setdefault(text(fields(raw).get("name")), _agrees)
    by_key: defaultdict[Key, list[Passing]] = defaultdict(list)
    for one in passing:
        by_key[one.key].append(one)
    if not by_key:
        return
    model.load([configuration(NAME, "MutatingWebhookConfiguration")])
    names = {drift.key: drift.ref.key for drift in drifts}

    def passed(obj: Object) -> Object:
        key = ref_of(obj).key
        for one in by_key.get(names.get(key, key), ()):
            obj = _passed(obj, one)
        return obj

    model.webhooks[NAME] = passed


def _agrees(obj: Object) -> Object:
    return obj


def configuration(name: str, kind: str, *, operations: tuple[str, ...] = ("CREATE", "UPDATE")) -> Object:
    """A webhook that is asked about everything."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": name,
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Ignore",
                "clientConfig": {"url": "https://seen.whysync.dev"},
                "rules": [
                    {
                        "apiGroups": ["*"],
                        "apiVersions": ["*"],
                        "operations": list(operations),
                        "resources": ["*"],
                    }
                ],
            }
        ],
    }


def _passed(obj: Object, one: Passing) -> Object:
    value = pointers.resolve(obj, one.pointer)
    if isinstance(one.found, Missing):
        return edited(obj, [Remove(pointer=one.pointer)]) if same(value, one.wanted) else obj
    if isinstance(one.wanted, Missing):
        return _added(obj, one.pointer, one.found)
    return edited(obj, [Set(pointer=one.pointer, value=one.found)]) if same(value, one.wanted) else obj


def _added(obj: Object, pointer: str, value: Json) -> Object:
    """Only live has it: it is put in where nothing stands, and into lists where no such element is."""
    parts = pointers.split(pointer)
    around = pointers.resolve(obj, pointers.join(parts[:-1]))
    if isinstance(around, list):
        name = dig(value, "name")
        there = value in around or (name is not MISSING and any(dig(one, "name") == name for one in around))
        place = pointers.join((*parts[:-1], str(len(around))))
        return obj if there else edited(obj, [Set(pointer=place, value=value)])
    if isinstance(pointers.resolve(obj, pointer), Missing):
        return edited(obj, [Set(pointer=pointer, value=value)])
    return obj
