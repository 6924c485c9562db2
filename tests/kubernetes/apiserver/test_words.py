"""What the server says of values of a wrong type: recorded from a kube-apiserver 1.36."""

from __future__ import annotations

import pytest

from tests.kubernetes.apiserver.talk import Talk, config_map, deployment, message_of
from whysync.golang.fmt import go_syntax
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.apiserver.protocol import Request


@pytest.fixture
def talk() -> Talk:
    return Talk()


def pods(**spec: Json) -> Object:
    workload = deployment()
    inner = fields(fields(fields(workload["spec"])["template"])["spec"])
    inner.update(spec)
    return workload


@pytest.mark.parametrize(
    ("obj", "type"),
    [
        (pods(restartPolicy=5), "PodSpec.spec.template.spec.restartPolicy of type v1.RestartPolicy"),
        (pods(nodeName=5), "PodSpec.spec.template.spec.nodeName of type string"),
        (
            pods(volumes=[{"name": "v", "emptyDir": {"medium": 5}}]),
            "EmptyDirVolumeSource.spec.template.spec.volumes.VolumeSource.emptyDir.medium "
            "of type v1.StorageMedium",
        ),
        (pods(volumes=[{"name": 5}]), "Volume.spec.template.spec.volumes.name of type string"),
        (
            pods(volumes=[{"name": "v", "configMap": {"name": 5}}]),
            "ConfigMapVolumeSource.spec.template.spec.volumes.VolumeSource.configMap."
            "LocalObjectReference.name of type string",
        ),
    ],
)
def test_the_type_that_was_wanted(talk: Talk, obj: Object, type: str) -> None:
    assert message_of(talk.create(obj)).endswith(f"cannot unmarshal number into Go struct field {type}")


def test_bytes_of_a_secret(talk: Talk) -> None:
    secret: Object = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": 5}
    assert message_of(talk.create(secret)).endswith("Secret.data of type map[string][]uint8")


def test_an_apply_that_does_not_convert(talk: Talk) -> None:
    body: Object = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": {"cpu": "lots"}},
    }
    path = "/api/v1/namespaces/shop/resourcequotas/q"
    answer = talk.api_server.send(Request(verb="ssa", path=path, body=body, manager="a"))
    assert answer.code == 500
    assert message_of(answer).startswith(
        "failed to convert new object (/q; /v1, Kind=ResourceQuota) to proper version: unable to convert "
        "unstructured object to /v1, Kind=ResourceQuota: quantities must match the regular expression"
    )


def test_values_in_gos_own_syntax() -> None:
    value: Json = {"b": [1, None, True], "a": 'say "hi"'}
    assert go_syntax(value) == (
        'map[string]interface {}{"a":"say \\"hi\\"", "b":[]interface {}{1, interface {}(nil), true}}'
    )
    assert go_syntax([]) == "[]interface {}{}"


def test_preferred_versions_come_first(talk: Talk) -> None:
    versions = [kind.version for kind in talk.api_server.kinds() if kind.kind == "HorizontalPodAutoscaler"]
    assert versions == ["v2", "v1"]


def claim(size: str, **more: Json) -> Object:
    spec: Object = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **more}
    meta: Object = {"name": "c", "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}


@pytest.mark.parametrize(
    ("kind", "phase", "why"),
    [
        ("grows", "Bound", ""),
        ("not-in-the-facts", "Bound", ""),
        ("stays", "Bound", "only dynamically provisioned pvc can be resized"),
        ("", "Bound", "only dynamically provisioned pvc can be resized"),
        ("grows", "Pending", "spec is immutable after creation"),
    ],
)
def test_claims_that_grow(talk: Talk, kind: str, phase: str, why: str) -> None:
    classes: list[Object] = [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": "a.example/b",
            "allowVolumeExpansion": name == "grows",
        }
        for name in ("grows", "stays")
    ]
    result = claim("1Gi", storageClassName=kind, volumeName="v", volumeMode="Filesystem")
    talk.api_server.load([*classes, {**result, "status": {"phase": phase}}])
    change: Object = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    path = "/api/v1/namespaces/shop/persistentvolumeclaims/c"
    answer = talk.api_server.send(Request(verb="merge-patch", path=path, body=change))
    assert (why in message_of(answer)) if why else answer.ok, message_of(answer)
    assert talk.create(config_map()).ok
