"""Operators of custom resources, as far as their behavior can be inferred from the facts.

An operator that reported a status updates `observedGeneration` after a change. A new object gets the status
of a healthy one of its kind. `Operators.unknown` has the keys of all other custom resources, because a
missing status is not a failure there. `CrdCreators` are controllers that create CRDs from objects: Gatekeeper
and Crossplane.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from whysync.argocd.api.application import HealthCode
from whysync.argocd.simulation.simulation import Simulation
from whysync.diagnosis.case import Case
from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.api.ref import Key, group_of, ref_of
from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.apiserver.storage import ObjectKey

_REPORT_DELAY: Final = timedelta(seconds=3)
_OBSERVED: Final = "observedGeneration"


class Operators:
    """Writes the status of custom resources a few seconds after a change."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._due: dict[ObjectKey, datetime] = {}
        self.unknown: set[Key] = set()

    def start(self, simulation: Simulation) -> None:
        self._api_server = simulation.api_server
        self._read = len(self._api_server.store.journal)

    def reconcile(self) -> bool:
        journal, now = self._api_server.store.journal, self._api_server.clock.now
        while self._read < len(journal):
            change = journal[self._read]
            self._read += 1
            if change.type != "DELETED" and self._is_custom(change.object_key):
                self._due.setdefault(change.object_key, now + _REPORT_DELAY)
        written = False
        for object_key, due in list(self._due.items()):
            if due <= now:
                del self._due[object_key]
                written = self._report(object_key) or written
        return written

    def next_wakeup(self) -> datetime | None:
        return min(self._due.values(), default=None)

    def _is_custom(self, object_key: ObjectKey) -> bool:
        resource = self._api_server.discovery.of_store(object_key[0])
        return resource is not None and resource.custom

    def _report(self, object_key: ObjectKey) -> bool:
        obj = self._api_server.store.get(object_key)
        if obj is None:
            return False
        status, generation = fields(obj.get("status")), integer(dig(obj, "metadata", "generation"))
        if not status:
            status = self._status_of_healthy_peer(obj)
            if not status:
                self.unknown.add(ref_of(obj).key)
                return False
        elif _OBSERVED not in status or integer(status.get(_OBSERVED)) >= generation:
            return False
        new: Object = {**status, _OBSERVED: generation} if _OBSERVED in status else status
        self._api_server.keep_status(
            object_key, {**obj, "status": new}, manager=f"{text(obj.get('kind')).lower()}-operator"
        )
        return True

    def _status_of_healthy_peer(self, obj: Object) -> Object:
        """The status of a healthy object of the same kind."""
        ref = ref_of(obj)
        for other in self._case.live_of_kind(ref.kind):
            if other.ref.group == ref.group and other.status:
                verdict = self._case.health_of(other)
                if verdict is not None and verdict.code is HealthCode.HEALTHY:
                    return other.status
        return {}


_CRD_DELAY: Final = timedelta(seconds=3)
_TEMPLATES: Final = ("templates.gatekeeper.sh", "ConstraintTemplate")
_XRDS: Final = ("apiextensions.crossplane.io", "CompositeResourceDefinition")
_CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ANY_SCHEMA: Final[Object] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class CrdCreators:
    """Gatekeeper and Crossplane, which create CRDs from objects. `gaps`: what was assumed."""

    def __init__(self, case: Case) -> None:
        self._seen = {
            text(dig(owner, "kind"))
            for crd in case.live_of_kind("CustomResourceDefinition")
            for owner in items(crd.meta.get("ownerReferences"))
        }
        self.gaps: list[str] = []
        self._read = 0
        self._due: dict[ObjectKey, datetime] = {}

    def start(self, simulation: Simulation) -> None:
        self._api_server = simulation.api_server

    def reconcile(self) -> bool:
        journal, now = self._api_server.store.journal, self._api_server.clock.now
        while self._read < len(journal):
            change = journal[self._read]
            self._read += 1
            if change.type != "DELETED" and _creates_crds(change.obj):
                self._due.setdefault(change.object_key, now + _CRD_DELAY)
        created = False
        for object_key in [object_key for object_key, due in self._due.items() if due <= now]:
            del self._due[object_key]
            creator = self._api_server.store.get(object_key)
            for definition in definitions_of(creator or {}):
                created = self._create(definition, text(dig(creator, "kind"))) or created
        return created

    def next_wakeup(self) -> datetime | None:
        return min(self._due.values(), default=None)

    def _create(self, definition: Object, creator: str) -> bool:
        """Create the CRD; an existing one is not changed."""
        operator = "Gatekeeper" if creator == _TEMPLATES[1] else "Crossplane"
        request = Request(verb="create", path=_CRDS, body=definition, manager=operator.lower())
        created = self._api_server.send(request).ok
        if created and creator not in self._seen:
            self.gaps.append(f"whether {operator} runs, which creates the CRD")
        return created


def _creates_crds(obj: Object) -> bool:
    kind = obj.get("kind")
    return kind in (_TEMPLATES[1], _XRDS[1]) and (group_of(text(obj.get("apiVersion"))), kind) in (
        _TEMPLATES,
        _XRDS,
    )


def definitions_of(creator: Object) -> Iterator[Object]:
    """The CRDs created from an object: one for a ConstraintTemplate, up to two for an XRD."""
    spec = fields(creator.get("spec"))
    if creator.get("kind") == _TEMPLATES[1]:
        kind = text(dig(spec, "crd", "spec", "names", "kind"))
        names: Object = {"kind": kind, "plural": kind.lower()}
        versions = ("v1", "v1beta1", "v1alpha1")
        yield from _definition("constraints.gatekeeper.sh", names, versions, "Cluster")
    elif creator.get("kind") == _XRDS[1]:
        declared = [fields(version) for version in items(spec.get("versions"))]
        served = tuple(
            text(version.get("name")) for version in declared if version.get("served") is not False
        )
        scope = "Namespaced" if spec.get("scope") == "Namespaced" else "Cluster"
        yield from _definition(text(spec.get("group")), fields(spec.get("names")), served, scope)
        yield from _definition(text(spec.get("group")), fields(spec.get("claimNames")), served, "Namespaced")


def _definition(group: str, names: Object, versions: tuple[str, ...], scope: str) -> Iterator[Object]:
    kind, plural = text(names.get("kind")), text(names.get("plural"))
    if not (group and kind and plural and versions):
        return
    served: list[Json] = [
        {
            "name": version,
            "served": True,
            "storage": index == 0,
            "schema": {"openAPIV3Schema": _ANY_SCHEMA},
            "subresources": {"status": {}},
        }
        for index, version in enumerate(versions)
    ]
    yield {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": served,
        },
    }
