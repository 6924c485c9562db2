"""Small cases of our own, each with the text that a server gives."""

from __future__ import annotations

import pytest

from tests.kubernetes.validation.status import invalid_status
from whysync.json_tree import Json, Object, copy_object, fields
from whysync.kubernetes.schema import type_of
from whysync.kubernetes.schema.defaults import with_defaults
from whysync.kubernetes.validation import Kind, problems_on_create, problems_on_update


def _defaulted(obj: Object) -> Object:
    kind = type_of(str(obj["apiVersion"]), str(obj["kind"]))
    assert kind is not None
    return with_defaults(copy_object(obj), kind)


def _object(api_version: str, kind: str, name: str = "web", **rest: Json) -> Object:
    return _defaulted({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **rest})


def _deployment(**container: Json) -> Object:
    spec: Object = {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "nginx", **container}]},
        },
    }
    return _object("apps/v1", "Deployment", spec=spec)


def _nfs(path: str) -> Json:
    return {"server": "s", "path": path}


def _texts(obj: Object) -> list[str]:
    return [str(problem) for problem in problems_on_create(obj)]


def _changes(old: Object, new: Object) -> list[str]:
    return list(dict.fromkeys(str(problem) for problem in problems_on_update(old, new)))


def test_a_plain_deployment_is_fine() -> None:
    assert _texts(_deployment()) == []


_PORT: Json = {"containerPort": 80, "name": "a", "protocol": "TCP"}
CONTAINERS: list[tuple[Object, str]] = [
    ({"name": ""}, "name: Required value"),
    ({"image": ""}, "image: Required value"),
    (
        {"ports": [{"containerPort": 0, "protocol": "TCP"}]},
        "ports[0].containerPort: Required value",
    ),
    (
        {"ports": [_PORT, _PORT]},
        'ports[1].name: Duplicate value: "a"',
    ),
    (
        {"ports": [{"containerPort": 80, "name": "web--1", "protocol": "TCP"}]},
        'ports[0].name: Invalid value: "web--1": must not contain consecutive hyphens',
    ),
    (
        {"volumeMounts": [{"name": "gone", "mountPath": "/x"}]},
        'volumeMounts[0].name: Not found: "gone"',
    ),
    (
        {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1500m"}}},
        'resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1500m',
    ),
    (
        {"resources": {"limits": {"memory": "-1Gi"}}},
        'resources.limits[memory]: Invalid value: "-1Gi": must be greater than or equal to 0',
    ),
    (
        {"livenessProbe": {"periodSeconds": 5, "successThreshold": 1}},
        "livenessProbe: Required value: must specify a handler type",
    ),
    (
        {"livenessProbe": {"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}, "successThreshold": 2}},
        "livenessProbe.successThreshold: Invalid value: 2: must be 1",
    ),
    (
        {"readinessProbe": {"tcpSocket": {"port": 80}, "exec": {"command": ["x"]}, "successThreshold": 1}},
        "readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
    ),
    (
        {"env": [{"name": "A", "valueFrom": {}}]},
        'env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, '
        "`configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
    ),
]


@pytest.mark.parametrize(
    ("container", "expected"), CONTAINERS, ids=[expected.partition(":")[0] for _, expected in CONTAINERS]
)
def test_a_container_with_one_mistake(container: Object, expected: str) -> None:
    assert f"spec.template.spec.containers[0].{expected}" in _texts(_deployment(**container))


def test_one_problem_stands_alone_and_several_in_brackets() -> None:
    first = problems_on_create(_deployment(image=""))
    status = invalid_status("Deployment", "apps", "web", first)
    assert status["message"] == (
        'Deployment.apps "web" is invalid: spec.template.spec.containers[0].image: Required value'
    )
    assert status["code"] == 422
    assert fields(status["details"])["causes"] == [
        {
            "reason": "FieldValueRequired",
            "message": "Required value",
            "field": "spec.template.spec.containers[0].image",
        }
    ]
    two = problems_on_create(_deployment(image="", name=""))
    assert str(invalid_status("Deployment", "apps", "web", two)["message"]).endswith(
        "[spec.template.spec.containers[0].name: Required value, "
        "spec.template.spec.containers[0].image: Required value]"
    )


def test_a_problem_found_twice_is_told_once_and_counted_twice() -> None:
    (problem,) = problems_on_create(_object("v1", "ConfigMap", name="A"))
    status = invalid_status("ConfigMap", "", "A", (problem, problem))
    assert str(status["message"]).count("metadata.name") == 1
    causes = fields(status["details"])["causes"]
    assert isinstance(causes, list)
    assert len(causes) == 2


def test_a_deployment_keeps_its_selector() -> None:
    old, new = _deployment(), _deployment()
    fields(new["spec"])["selector"] = {"matchLabels": {"app": "other"}}
    assert _changes(old, new) == [
        "spec.template.metadata.labels: Invalid value: "
        '{"app":"web"}: `selector` does not match template `labels`',
        'spec.selector: Invalid value: {"matchLabels":{"app":"other"}}: field is immutable',
    ]


def test_a_stateful_set_lists_the_mutable_fields() -> None:
    spec = {**fields(_deployment()["spec"]), "serviceName": "a"}
    spec.pop("strategy")
    old = _object("apps/v1", "StatefulSet", spec=spec)
    new = _object("apps/v1", "StatefulSet", spec={**spec, "serviceName": "b", "replicas": 3})
    (problem,) = _changes(old, new)
    assert problem.startswith("spec: Forbidden: updates to statefulset spec for fields other than 'replicas'")
    assert _changes(old, _object("apps/v1", "StatefulSet", spec={**spec, "replicas": 3})) == []


def test_a_pod_shows_the_difference() -> None:
    spec: Object = {"containers": [{"name": "c", "image": "a"}]}
    old = _object("v1", "Pod", spec=spec)
    assert _changes(old, _object("v1", "Pod", spec={"containers": [{"name": "c", "image": "b"}]})) == []
    (problem,) = _changes(old, _object("v1", "Pod", spec={**spec, "restartPolicy": "Never"}))
    assert problem.startswith(
        "spec: Forbidden: pod updates may not change fields other than `spec.containers[*]"
    )
    assert problem.endswith(
        "(allow it to be set to 1 if it was previously negative)\n"
        '@@ -35,7 +35,7 @@\n   }\n  ],\n  "EphemeralContainers": null,\n- "RestartPolicy": "Always",\n'
        '+ "RestartPolicy": "Never",\n  "TerminationGracePeriodSeconds": 30,\n'
        '  "ActiveDeadlineSeconds": null,\n  "DNSPolicy": "ClusterFirst",\n'
    )


def test_a_claim_does_not_shrink_or_move() -> None:
    def claim(size: str, **more: Json) -> Object:
        request: Object = {"requests": {"storage": size}}
        spec: Object = {"accessModes": ["ReadWriteOnce"], "resources": request, **more}
        return _object("v1", "PersistentVolumeClaim", spec=spec)

    assert _changes(claim("1Gi"), claim("1024Mi")) == []
    assert _changes(claim("1Gi"), claim("1Gi", storageClassName="fast")) == [], "it had none yet"
    (problem,) = _changes(claim("1Gi"), claim("2Gi"))
    assert '-   "storage": "1Gi"\n+   "storage": "2Gi"\n' in problem
    bound: Object = {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
    assert _changes({**claim("1Gi"), **bound}, {**claim("2Gi"), **bound}) == []


def test_an_immutable_secret_stays_as_it_is() -> None:
    def secret(text: str, *, immutable: bool = True) -> Object:
        return _object("v1", "Secret", stringData={"a": text}, immutable=immutable)

    assert _changes(secret("1"), secret("1")) == []
    assert _changes(secret("1"), secret("2")) == [
        "data: Forbidden: field is immutable when `immutable` is set"
    ]
    assert _changes(secret("1"), secret("1", immutable=False)) == [
        "immutable: Forbidden: field is immutable when `immutable` is set"
    ]
    assert _changes(secret("1", immutable=False), secret("2")) == []


def test_a_binding_keeps_its_role() -> None:
    def binding(name: str) -> Object:
        role: Object = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
        return _object("rbac.authorization.k8s.io/v1", "RoleBinding", roleRef=role)

    assert _changes(binding("a"), binding("b")) == [
        "roleRef: Invalid value: "
        '{"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"b"}: cannot change roleRef'
    ]


SPECS: list[tuple[str, str, Object, str]] = [
    (
        "batch/v1",
        "CronJob",
        {"schedule": "* * *"},
        'spec.schedule: Invalid value: "* * *": expected exactly 5 fields, found 3: [* * *]',
    ),
    ("batch/v1", "CronJob", {}, "spec.schedule: Required value"),
    (
        "networking.k8s.io/v1",
        "Ingress",
        {},
        "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified",
    ),
    (
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        {
            "minReplicas": 3,
            "maxReplicas": 2,
            "scaleTargetRef": {"kind": "D", "name": "n", "apiVersion": "a/b"},
        },
        "spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`",
    ),
    (
        "policy/v1",
        "PodDisruptionBudget",
        {"minAvailable": "150%"},
        'spec.minAvailable: Invalid value: "150%": must not be greater than 100%',
    ),
    (
        "v1",
        "Service",
        {"ports": [{"port": 80, "targetPort": "http--x"}]},
        'spec.ports[0].targetPort: Invalid value: "http--x": must not contain consecutive hyphens',
    ),
    (
        "v1",
        "Service",
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]},
        "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. "
        "The range of valid ports is 30000-32767",
    ),
]


@pytest.mark.parametrize(("version", "kind", "spec", "expected"), SPECS, ids=[row[1] for row in SPECS])
def test_a_spec_with_one_mistake(version: str, kind: str, spec: Object, expected: str) -> None:
    assert expected in _texts(_object(version, kind, spec=spec))


IMMUTABLE: list[tuple[str, str, Object, Object, str]] = [
    (
        "storage.k8s.io/v1",
        "StorageClass",
        {"provisioner": "a.b/c"},
        {"provisioner": "a.b/d"},
        'provisioner: Invalid value: "a.b/d": field is immutable',
    ),
    (
        "storage.k8s.io/v1",
        "StorageClass",
        {"provisioner": "a.b/c", "parameters": {"x": "1"}},
        {"provisioner": "a.b/c"},
        "parameters: Invalid value: null: field is immutable",
    ),
    (
        "scheduling.k8s.io/v1",
        "PriorityClass",
        {"value": 1},
        {"value": 2},
        "value: Forbidden: may not be changed in an update.",
    ),
    (
        "node.k8s.io/v1",
        "RuntimeClass",
        {"handler": "a"},
        {"handler": "b"},
        'handler: Invalid value: "b": field is immutable',
    ),
    (
        "networking.k8s.io/v1",
        "IngressClass",
        {"spec": {"controller": "a.b/c"}},
        {"spec": {"controller": "a.b/d"}},
        'spec.controller: Invalid value: "a.b/d": field is immutable',
    ),
    (
        "networking.k8s.io/v1",
        "ServiceCIDR",
        {"spec": {"cidrs": ["10.0.0.0/16"]}},
        {"spec": {"cidrs": ["10.1.0.0/16"]}},
        'spec.cidrs[0]: Invalid value: "10.1.0.0/16": field is immutable',
    ),
    (
        "v1",
        "Node",
        {"spec": {"providerID": "a"}},
        {"spec": {"providerID": "b"}},
        'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
    ),
    (
        "v1",
        "PersistentVolume",
        {"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1"}, "nfs": _nfs("/a")}},
        {"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1"}, "nfs": _nfs("/b")}},
        '-  "Path": "/a",\n+  "Path": "/b",\n',
    ),
    (
        "batch/v1",
        "Job",
        {"spec": {"completions": 1}},
        {"spec": {"completions": 2}},
        "spec.completions: Invalid value: 2: field is immutable",
    ),
    (
        "v1",
        "ResourceQuota",
        {"spec": {"hard": {"pods": 1}, "scopes": ["BestEffort"]}},
        {"spec": {"hard": {"pods": 1}}},
        "spec.scopes: Invalid value: null: field is immutable",
    ),
]


@pytest.mark.parametrize(
    ("version", "kind", "old", "new", "expected"), IMMUTABLE, ids=[row[1] for row in IMMUTABLE]
)
def test_a_field_that_may_not_change(
    version: str, kind: str, old: Object, new: Object, expected: str
) -> None:
    before, after = _object(version, kind, "x", **old), _object(version, kind, "x", **new)
    assert any(expected in text for text in _changes(before, after))
    assert not any(expected in text for text in _changes(after, after))


def test_annotations_have_a_size_together() -> None:
    obj = _object("v1", "ConfigMap")
    fields(obj["metadata"])["annotations"] = {"a": "x" * 262143}
    assert _texts(obj) == []
    fields(obj["metadata"])["annotations"] = {"a": "x" * 262144}
    (problem,) = problems_on_create(obj)
    assert (problem.kind, problem.path) == (Kind.TOO_LONG, "metadata.annotations")
    assert problem.body == "Too long: may not be more than 262144 bytes"


def test_a_custom_resource_has_the_rules_of_all() -> None:
    thing: Object = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "A"}}
    assert [problem.path for problem in problems_on_create(thing)] == ["metadata.name"]
    fine: Object = {**thing, "metadata": {"name": "a", "labels": {"k": "v"}}}
    assert problems_on_create(fine) == ()
    assert problems_on_update(fine, fine) == ()


def test_a_finalizer_cannot_be_added_to_what_goes_away() -> None:
    meta: Object = {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a.b/c"]}
    old: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
    new: Object = {**old, "metadata": {**meta, "finalizers": ["a.b/c", "a.b/d"]}}
    assert _changes(old, new) == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
        'found new finalizers []string{"a.b/d"}'
    ]


@pytest.mark.parametrize("hostile", [None, 3, "x", [], [1], {"a": None}, {"containers": {"x": 1}}])
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
def test_wrong_types_give_an_answer(kind: str, hostile: Json) -> None:
    specs: list[Json] = [hostile, {"template": hostile}, {"template": {"spec": hostile}, "selector": hostile}]
    for spec in specs:
        obj: Object = {"apiVersion": "apps/v1", "kind": kind, "metadata": hostile, "spec": spec}
        assert problems_on_create(obj)
        problems_on_update(obj, obj)


def test_a_deep_tree_gives_an_answer() -> None:
    deep: Json = []
    for _ in range(50_000):
        deep = [deep]
    old: Object = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {"name": "a"},
        "data": {},
    }
    new: Object = {**old, "data": {"a": deep}}
    assert any(problem.path == "data" for problem in problems_on_update(old, new))
