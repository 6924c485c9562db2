"""What happens to the live value of a field that is removed from Git."""

from __future__ import annotations

import json

import pytest

from tests.situations import application, case_of, row
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.ref import Ref
from whysync.queries.field_removal import Removal, removal_of, removal_risk

REPLICAS = "/spec/replicas"
LAST = "kubectl.kubernetes.io/last-applied-configuration"
REF = Ref(group="apps", version="v1", kind="Deployment", namespace="shop", name="shop")


def owner(manager: str, operation: str = "Update") -> Json:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "apps/v1",
        "time": "2026-03-02T03:04:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
    }


def removal(*, server_side: bool = False, applied: Json = None, managed: list[Json] | None = None) -> Removal:
    desired: Object = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "shop", "namespace": "shop", "annotations": {"whysync.dev/role": "desired"}},
        "spec": {"replicas": 2},
    }
    meta: Object = {"name": "shop", "namespace": "shop", "uid": "1", "resourceVersion": "2"}
    if applied is not None:
        meta["annotations"] = {LAST: json.dumps({"kind": "Deployment", "spec": applied})}
    if managed is not None:
        meta["managedFields"] = managed
    live: Object = {**desired, "metadata": meta, "spec": {"replicas": 9}}
    spec: Object = {"syncPolicy": {"syncOptions": ["ServerSideApply=true"]}} if server_side else {}
    app = application(
        sync="OutOfSync", spec=spec, status={"resources": [row("Deployment", "shop", "OutOfSync")]}
    )
    return removal_of(case_of(app, desired, live), REF, REPLICAS)


@pytest.mark.parametrize(
    ("applied", "expected"),
    [
        ({"replicas": 2}, Removal.DELETED),
        ({}, Removal.KEPT),
        (None, Removal.UNKNOWN),
    ],
)
def test_client_side_apply_deletes_what_it_applied(applied: Json, expected: Removal) -> None:
    assert removal(applied=applied) is expected


@pytest.mark.parametrize(
    ("managed", "expected"),
    [
        ([owner("argocd-controller", "Apply")], Removal.DELETED),
        ([owner("kube-controller-manager")], Removal.KEPT),
        ([owner("argocd-controller", "Apply"), owner("kube-controller-manager")], Removal.KEPT),
        (None, Removal.UNKNOWN),
    ],
)
def test_server_side_apply_deletes_what_only_argo_cd_owns(
    managed: list[Json] | None, expected: Removal
) -> None:
    assert removal(server_side=True, managed=managed) is expected


@pytest.mark.parametrize(
    ("ref", "pointer", "ignorable", "risk"),
    [
        (REF, REPLICAS, False, "this sync can reset it to 1 replica until the autoscaler acts"),
        (
            REF,
            "/spec/minReadySeconds",
            True,
            "this sync can delete the live value until the autoscaler writes it again; to avoid that, apply"
            " the ignore rule first",
        ),
        (
            Ref(group="agones.dev", version="v1", kind="Fleet", namespace="shop", name="shop"),
            REPLICAS,
            False,
            "this sync can delete the live number of replicas until the autoscaler acts, which can stop all"
            " of them",
        ),
    ],
)
def test_the_risk_in_words(ref: Ref, pointer: str, ignorable: bool, risk: str) -> None:
    case = case_of(application())
    assert removal_risk(case, ref, pointer, writer="the autoscaler", ignorable=ignorable) == risk
