"""What a denial of Pod Security demands, as edits or in words."""

from __future__ import annotations

import pytest

from whysync.json_tree import Object
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.queries.pod_security import demanded_edits, demanded_fields, is_only_unset

ESCALATION = 'allowPrivilegeEscalation != false (container "a" must set allowPrivilegeEscalation=false)'
ROOT = 'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true)'


@pytest.mark.parametrize(
    ("reason", "only"),
    [
        (ESCALATION, True),
        (f"{ESCALATION}, {ROOT}", True),
        (f'{ESCALATION}, hostPath volumes (volume "a")', False),
        ('runAsNonRoot != true (container "a" must not set securityContext.runAsNonRoot=false)', False),
        ('privileged (container "a" must not set securityContext.privileged=true)', False),
        ("something new", False),
        ("", False),
    ],
)
def test_what_can_be_set(reason: str, only: bool) -> None:
    assert is_only_unset(reason) is only


def test_in_words() -> None:
    assert list(demanded_fields(f"{ESCALATION}, unrestricted capabilities, {ROOT}, seccompProfile")) == [
        "securityContext of each container: allowPrivilegeEscalation: false, capabilities.drop: [ALL]",
        "securityContext of the Pod: runAsNonRoot: true, seccompProfile.type: RuntimeDefault",
    ]


@pytest.mark.parametrize(
    ("kind", "base"),
    [("Pod", "/spec"), ("Job", "/spec/template/spec"), ("CronJob", "/spec/jobTemplate/spec/template/spec")],
)
def test_where_the_pod_is(kind: str, base: str) -> None:
    spec: Object = {"containers": [{"name": "a"}, {"name": "b"}]}
    for name in reversed(base.split("/")[2:]):
        spec = {name: spec}
    body: Object = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}, "spec": spec}
    edits = demanded_edits(Manifest(body, role=Role.DESIRED), f"{ESCALATION}, {ROOT}")
    assert [(edit.pointer, edit.value) for edit in edits] == [
        (f"{base}/containers/0/securityContext/allowPrivilegeEscalation", False),
        (f"{base}/containers/1/securityContext/allowPrivilegeEscalation", False),
        (f"{base}/securityContext/runAsNonRoot", True),
    ]


def test_no_pod_no_edits() -> None:
    body: Object = {"apiVersion": "v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {}}
    assert demanded_edits(Manifest(body, role=Role.DESIRED), ESCALATION) == ()
