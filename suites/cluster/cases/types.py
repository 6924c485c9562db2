# ruff: noqa: E501  (a table: one object on a line)
"""Values of a wrong type: how the server calls the type that it wanted, and the way to it."""

from __future__ import annotations

from collections.abc import Iterator

from suites.cluster.steps import Case, case, create, obj, patch, ssa
from whysync.json_tree import Object

_VALUES = {"number": "5", "map": "{a: b}", "list": "[a]"}
_POD = (
    "restartPolicy: V", "dnsPolicy: V", "tolerations: [{operator: V}]", "tolerations: [{key: a, effect: V}]", "preemptionPolicy: V",
    "volumes: V", "volumes: [{name: v, emptyDir: V}]", "volumes: [{name: v, emptyDir: {medium: V}}]", "volumes: [{name: v, hostPath: {path: /, type: V}}]",
    "volumes: [{name: v, configMap: {name: V}}]", "volumes: [{name: v, secret: {secretName: V}}]", "volumes: [{name: v, projected: {sources: [{secret: {name: V}}]}}]",
    "securityContext: {fsGroupChangePolicy: V}", "securityContext: {seccompProfile: {type: V}}", "nodeSelector: V",
    "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: V}]}]}}}",
)  # fmt: skip
_CONTAINER = (
    "imagePullPolicy: V", "terminationMessagePolicy: V", "livenessProbe: V", "livenessProbe: {httpGet: V}", "livenessProbe: {httpGet: {port: 80, scheme: V}}",
    "livenessProbe: {periodSeconds: V}", "env: V", "env: [{name: A, valueFrom: {secretKeyRef: {name: V, key: a}}}]", "env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: V}}}]",
    "envFrom: [{configMapRef: {name: V}}]", "securityContext: {capabilities: {add: V}}", "volumeMounts: [{name: v, mountPath: /v, mountPropagation: V}]", "resources: V",
)  # fmt: skip
_OTHERS = {
    "v1/Service": (*(f"spec: {{ports: [{{port: 80}}], {field}: V}}" for field in ("type", "sessionAffinity", "externalTrafficPolicy", "ipFamilyPolicy")), "spec: {ports: V}"),
    "v1/PersistentVolumeClaim": ("spec: {volumeMode: V}", "spec: {storageClassName: V}"),
    "v1/Secret": ("type: V", "data: V"),
    "networking.k8s.io/v1/Ingress": ("spec: {rules: [{http: V}]}", "spec: {rules: [{http: {paths: [{pathType: V}]}}]}"),
    "batch/v1/CronJob": ("spec: {concurrencyPolicy: V}", "spec: {schedule: V}"),
    "batch/v1/Job": ("spec: {completionMode: V}",),
    "apps/v1/StatefulSet": ("spec: {podManagementPolicy: V}", "spec: {updateStrategy: {type: V}}"),
    "autoscaling/v2/HorizontalPodAutoscaler": ("spec: {metrics: [{type: V}]}", "spec: {metrics: [{type: Resource, resource: {name: V}}]}"),
    "policy/v1/PodDisruptionBudget": ("spec: {unhealthyPodEvictionPolicy: V}",),
}  # fmt: skip


def _objects(value: str) -> Iterator[Object]:
    spec = "spec: {{selector: {{matchLabels: {{app: x}}}}, template: {{metadata: {{labels: {{app: x}}}}, spec: {{containers: [{{name: c, image: a{0}}}]{1}}}}}}}"
    for item in _POD:
        yield obj("apps/v1/Deployment d", spec.format("", f", {item.replace('V', value)}"))
    for item in _CONTAINER:
        yield obj("apps/v1/Deployment d", spec.format(f", {item.replace('V', value)}", ""))
    for kind, result in _OTHERS.items():
        for item in result:
            yield obj(f"{kind} o", item.replace("V", value))


def cases() -> Iterator[Case]:
    for name, value in _VALUES.items():
        wrong = list(_objects(value))
        yield case(f"created_{name}", *map(create, wrong))
        yield case(f"applied_{name}", *map(ssa, wrong))
    service = obj("v1/Service s", "spec: {ports: [{port: 80}]}")
    changes = (
        "spec: {type: 5}",
        "spec: {sessionAffinity: {a: b}}",
        "spec: {ipFamilies: 5}",
        "spec: {ports: 5}",
    )
    yield case("patched", create(service), *(patch("strategic", service, change) for change in changes))
    unfit = ("spec: {hard: {cpu: lots}}", "spec: {hard: {cpu: 1.5.5}}", "spec: {hard: {cpu: true}}")
    yield case("quantities", *(ssa(obj("v1/ResourceQuota q", item)) for item in unfit))
    bytes = obj("v1/Secret s", "data: {a: 'no base!'}")
    yield case("bytes", create(bytes), ssa(bytes), ssa(obj("v1/ConfigMap c", "binaryData: {a: 'no base!'}")))


CASES = tuple(cases())
