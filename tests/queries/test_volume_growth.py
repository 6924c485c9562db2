"""The claims of a StatefulSet grow where its class allows that, and Git asks for nothing else."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.situations import application, case_of
from whysync.diagnosis.fix import Fix
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.queries.volume_growth import growth_fix

STORAGE = "/spec/volumeClaimTemplates/0/spec/resources/requests/storage"


def stateful_set(size: Json, *, replicas: int = 2) -> Object:
    claim: Object = {
        "metadata": {"name": "data"},
        "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": size}}},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "shop"},
        "spec": {"replicas": replicas, "volumeClaimTemplates": [claim]},
    }


def storage_class(**more: Json) -> Object:
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}, **more}


def claim(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {},
    }


def grown(*facts: Object, size: Json = "20Gi", immutable: Iterable[str] = (STORAGE,)) -> Fix | None:
    live = stateful_set("10Gi")
    case = case_of(application(), live, *facts)
    desired = Manifest(stateful_set(size), role=Role.DESIRED)
    return growth_fix(case, tuple(immutable), desired, Manifest(live, role=Role.LIVE))


def test_the_claims_in_the_facts_are_patched() -> None:
    others = ("data-db-4", "data-db-0", "data-db-old", "logs-db-0")
    fix = grown(storage_class(allowVolumeExpansion=True), *map(claim, others))
    assert fix is not None
    size = '\'{"spec":{"resources":{"requests":{"storage":"20Gi"}}}}\''
    assert sorted(fix.commands[:2]) == [
        f"kubectl -n shop patch persistentvolumeclaim data-db-{number} --type=merge -p {size}"
        for number in (0, 4)
    ]
    assert fix.commands[2:] == (
        "kubectl -n shop delete statefulset.apps db --cascade=orphan",
        "argocd app sync shop",
    )


def test_a_class_that_is_not_in_the_facts_is_checked_first() -> None:
    fix = grown()
    assert fix is not None
    assert fix.commands[0].startswith("kubectl get storageclass fast   # ")
    assert [command.split()[5] for command in fix.commands[1:3]] == ["data-db-0", "data-db-1"]


@pytest.mark.parametrize("size", ["5Gi", "10Gi", "10240Mi", None])
def test_volumes_do_not_shrink(size: Json) -> None:
    assert grown(storage_class(allowVolumeExpansion=True), size=size) is None


@pytest.mark.parametrize("settings", [{}, {"allowVolumeExpansion": False}])
def test_the_class_forbids_it(settings: Object) -> None:
    assert grown(storage_class(**settings)) is None


@pytest.mark.parametrize("immutable", [(), (STORAGE, "/spec/serviceName")])
def test_git_changes_something_else(immutable: tuple[str, ...]) -> None:
    assert grown(storage_class(allowVolumeExpansion=True), immutable=immutable) is None
