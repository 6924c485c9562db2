"""What is lost with an object, as the facts show it."""

from __future__ import annotations

import pytest

from tests.proofs.worlds import bundle
from tests.situations import application, case_of
from whysync.json_tree import Object
from whysync.kubernetes.api.ref import Ref
from whysync.queries.deletion_cost import deletion_cost

CLAIM = Ref(version="v1", kind="PersistentVolumeClaim", namespace="db", name="data-pg-0")
SET = Ref(group="apps", version="v1", kind="StatefulSet", namespace="db", name="pg")
CRD = Ref(group="apiextensions.k8s.io", kind="CustomResourceDefinition", name="tenants.example.com")


def _object(api: str, kind: str, name: str, namespace: str = "", **more: Object) -> Object:
    meta: Object = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api, "kind": kind, "metadata": meta, **more}


def _lost(ref: Ref, *objects: Object) -> str:
    return deletion_cost(case_of(bundle(), application(), *objects), ref)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("Delete", "its data (reclaim policy Delete)"),
        ("Retain", "the claim; the volume and its data stay (reclaim policy Retain)"),
    ],
)
def test_a_claim_is_lost_with_its_data_by_the_reclaim_policy(policy: str, expected: str) -> None:
    claim = _object("v1", "PersistentVolumeClaim", "data-pg-0", "db", spec={"volumeName": "pv-1"})
    volume = _object("v1", "PersistentVolume", "pv-1", spec={"persistentVolumeReclaimPolicy": policy})
    assert _lost(CLAIM, claim, volume) == expected


def test_without_the_volume_the_policy_is_unknown() -> None:
    assert _lost(CLAIM) == "its data (unless its volume has reclaim policy Retain)"


def test_a_stateful_set_keeps_its_claims_unless_its_policy_deletes_them() -> None:
    templates: Object = {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}
    claim = _object("v1", "PersistentVolumeClaim", "data-pg-0", "db", spec={})
    retaining = _object("apps/v1", "StatefulSet", "pg", "db", spec=templates)
    assert _lost(SET, retaining, claim) == "all its Pods at once; its claims and their data stay"
    policy: Object = {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}}
    deleting = _object("apps/v1", "StatefulSet", "pg", "db", spec={**templates, **policy})
    assert _lost(SET, deleting, claim) == (
        "all its Pods at once; DATA LOSS: its claims are deleted too (whenDeleted: Delete): data-pg-0"
    )


def test_a_claim_that_is_deleted_with_its_stateful_set_may_leave_its_volume() -> None:
    templates: Object = {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}
    policy: Object = {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}}
    deleting = _object("apps/v1", "StatefulSet", "pg", "db", spec={**templates, **policy})
    objects = [deleting]
    for number, reclaim in enumerate(("Delete", "Retain")):
        volume = f"pv-{number}"
        claim = _object("v1", "PersistentVolumeClaim", f"data-pg-{number}", "db", spec={"volumeName": volume})
        objects += [
            claim,
            _object("v1", "PersistentVolume", volume, spec={"persistentVolumeReclaimPolicy": reclaim}),
        ]
    assert _lost(SET, *objects) == (
        "all its Pods at once; DATA LOSS: its claims are deleted too (whenDeleted: Delete): data-pg-0;"
        " the volumes of data-pg-1 stay (reclaim policy Retain)"
    )
    assert _lost(SET, deleting, *objects[3:]) == (
        "all its Pods at once; its claims are deleted too (whenDeleted: Delete),"
        " but the volumes of data-pg-1 stay (reclaim policy Retain)"
    )


def test_a_volume_is_the_reference_to_its_storage() -> None:
    volume = Ref(version="v1", kind="PersistentVolume", name="pv-1")
    retained = _object("v1", "PersistentVolume", "pv-1", spec={"persistentVolumeReclaimPolicy": "Retain"})
    assert _lost(volume, retained) == "the reference to its storage, which stays (reclaim policy Retain)"
    assert _lost(volume) == "its data (unless it has reclaim policy Retain)"


def test_a_definition_is_lost_with_its_instances() -> None:
    spec: Object = {"group": "example.com", "names": {"kind": "Tenant"}}
    definition = _object("apiextensions.k8s.io/v1", "CustomResourceDefinition", CRD.name, spec=spec)
    tenants = [_object("example.com/v1", "Tenant", f"t{n}", f"team-{n % 2}") for n in range(3)]
    assert (
        _lost(CRD, definition, *tenants) == "every Tenant object in the cluster, at least 3 in 2 namespaces"
    )
    assert _lost(CRD, definition) == "every Tenant object in the cluster"
