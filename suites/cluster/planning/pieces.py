# ruff: noqa: E501  (a table: one object on a line)
"""What commits are made of: objects as people write them, right and with the usual mistakes.

Each is told as it is in the base (where it is there) and in the head. `N` is the object's own name, `NS` the
namespace; names of kinds without namespaces contain it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from suites.cluster.steps import kind_of, tree
from whysync.json_tree import Object, dig, fields, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    id: str
    kind: str
    """As `apps/v1/Deployment`."""
    head: str
    base: str | None = None
    around: tuple[str, ...] = ()
    """Objects that are in the cluster, and not in Git: `kind name rest`."""

    def objects(self, number: int, namespace: str) -> tuple[Object | None, Object]:
        name = f"o{number}"
        before = None if self.base is None else made(f"{self.kind} {name}", self.base, namespace)
        return before, made(f"{self.kind} {name}", self.head, namespace)


def made(header: str, rest: str, namespace: str) -> Object:
    kind, _, name = header.partition(" ")
    api_version, _, kind = kind.rpartition("/")
    if not kind_of(api_version, kind).namespaced:
        name = f"{namespace}-{name}"
    filled = fields(tree(rest.replace("NS", namespace).replace("$N", name)))
    metadata: Object = {"name": name, **fields(filled.get("metadata"))}
    if kind == "CustomResourceDefinition":
        plural, group = dig(filled, "spec", "names", "plural"), dig(filled, "spec", "group")
        metadata["name"] = text(fields(filled.get("metadata")).get("name")) or f"{text(plural)}.{text(group)}"
    return {"apiVersion": api_version, "kind": kind, **filled, "metadata": metadata}


_C = "containers: [{name: c, image: 'a:1'}]"
_T = f"template: {{metadata: {{labels: {{app: x}}}}, spec: {{{_C}}}}}"
_S = "selector: {matchLabels: {app: x}}"
_DEP = f"spec: {{{_S}, {_T}}}"
_JOB = f"spec: {{template: {{spec: {{restartPolicy: Never, {_C}}}}}}}"
_PVC = "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}"
_SVC = "spec: {selector: {app: x}, ports: [{port: 80}]}"
_STS = f"spec: {{serviceName: x, {_S}, {_T}}}"
_CRON = f"spec: {{schedule: '0 3 * * *', jobTemplate: {{{_JOB}}}}}"
_ING = "spec: {rules: [{host: a.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}}]}"
_HPA = (
    "spec: {maxReplicas: 3, minReplicas: 1, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: x}}"
)
_RB = "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}"
_NP = "spec: {podSelector: {matchLabels: {app: x}}, ingress: [{from: [{podSelector: {}}], ports: [{port: 80}]}]}"
_PDB = "spec: {minAvailable: 1, selector: {matchLabels: {app: x}}}"
_WIDGET = "type: object, properties: {spec: {type: object, required: [size], properties: {size: {type: integer, minimum: 1}, color: {type: string, enum: [red, blue]}}}}"
_CRD = f"spec: {{group: NS.example.com, scope: Namespaced, names: {{plural: $Ns, kind: Kind$N}}, versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{{_WIDGET}}}}}}}]}}"

_DEPLOYMENT, _SERVICE, _CLAIM = "apps/v1/Deployment", "v1/Service", "v1/PersistentVolumeClaim"
_STATEFUL, _JOBS, _INGRESS = "apps/v1/StatefulSet", "batch/v1/Job", "networking.k8s.io/v1/Ingress"
_SCALER, _BINDING = "autoscaling/v2/HorizontalPodAutoscaler", "rbac.authorization.k8s.io/v1/RoleBinding"
_CRONS, _POLICY = "batch/v1/CronJob", "networking.k8s.io/v1/NetworkPolicy"
_DEFINITION = "apiextensions.k8s.io/v1/CustomResourceDefinition"


def _pod(more: str) -> str:
    return f"spec: {{{_S}, template: {{metadata: {{labels: {{app: x}}}}, spec: {{{more}}}}}}}"


def _container(more: str) -> str:
    return _pod(f"containers: [{{name: c, image: 'a:1', {more}}}]")


def _told(kind: str, heads: dict[str, str], base: str | None = None) -> Iterable[Piece]:
    for id, head in heads.items():
        yield Piece(id=id, kind=kind, head=head, base=base)


PIECES: Final[tuple[Piece, ...]] = (
    # As they should be: new ones, and changes that are allowed.
    *_told("v1/ConfigMap", {"config": "data: {a: x}", "config-empty": "data: {}", "config-binary": "binaryData: {a: aGk=}"}),
    *_told("v1/ConfigMap", {"config-changed": "data: {a: z}"}, "data: {a: x}"),
    *_told("v1/Secret", {"secret": "stringData: {a: x}", "secret-data": "data: {a: aGk=}"}),
    *_told(_DEPLOYMENT, {"deployment": _DEP, "deployment-probe": _container("livenessProbe: {httpGet: {port: 80}}, ports: [{containerPort: 80, name: web}]")}),
    *_told(_DEPLOYMENT, {"deployment-image": _DEP.replace("a:1", "a:2"), "deployment-scaled": f"spec: {{replicas: 2, {_S}, {_T}}}"}, _DEP),
    *_told(_SERVICE, {"service": _SVC, "service-headless": "spec: {clusterIP: None, ports: [{port: 80}]}"}),
    *_told(_SERVICE, {"service-port": _SVC.replace("80", "81"), "service-type": "spec: {type: NodePort, selector: {app: x}, ports: [{port: 80}]}"}, _SVC),
    *_told(_INGRESS, {"ingress": _ING}), *_told(_SCALER, {"scaler": _HPA}), *_told(_POLICY, {"policy": _NP}),
    *_told("policy/v1/PodDisruptionBudget", {"budget": _PDB}), *_told(_JOBS, {"job": _JOB}), *_told(_CRONS, {"cron": _CRON}),
    *_told(_STATEFUL, {"stateful": _STS}), *_told(_STATEFUL, {"stateful-scaled": _STS.replace("serviceName: x", "serviceName: x, replicas: 2")}, _STS),
    *_told(_CLAIM, {"claim": _PVC}), *_told("v1/ServiceAccount", {"account": "{}"}),
    *_told("rbac.authorization.k8s.io/v1/Role", {"role": "rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]"}),
    *_told(_BINDING, {"binding": f"{{{_RB}, subjects: [{{kind: ServiceAccount, name: a, namespace: NS}}]}}"}),
    *_told("rbac.authorization.k8s.io/v1/ClusterRole", {"cluster-role": "rules: [{apiGroups: [''], resources: [nodes], verbs: [get]}]"}),
    *_told("scheduling.k8s.io/v1/PriorityClass", {"priority": "value: 1000"}),
    *_told("storage.k8s.io/v1/StorageClass", {"storage": "provisioner: a.example/b"}),
    *_told(_DEFINITION, {"definition": _CRD}),
    # A field that is misspelt is dropped without a word, except where the apply is the server's.
    *_told(_DEPLOYMENT, {"misspelt-replicas": f"spec: {{replica: 2, {_S}, {_T}}}", "misspelt-containers": _pod("container: [{name: c, image: a}]"),
        "misspelt-ports": _container("port: [{containerPort: 80}]"), "misspelt-in-probe": _container("livenessProbe: {httpget: {port: 80}}")}),
    *_told(_SERVICE, {"misspelt-target": "spec: {ports: [{port: 80, targetport: 8080}]}", "misspelt-selector": "spec: {selectors: {app: x}, ports: [{port: 80}]}"}),
    *_told("v1/ConfigMap", {"misspelt-data": "datas: {a: x}"}), *_told(_CRONS, {"misspelt-schedule": _CRON.replace("schedule", "scedule")}),
    # Values of a wrong type.
    *_told(_DEPLOYMENT, {"replicas-text": f"spec: {{replicas: '2', {_S}, {_T}}}", "replicas-half": f"spec: {{replicas: 2.5, {_S}, {_T}}}", "env-number": _container("env: [{name: A, value: 5}]"),
        "env-boolean": _container("env: [{name: A, value: true}]"), "containers-map": _pod("containers: {name: c, image: a}"), "labels-number": f"{{metadata: {{labels: {{a: 5}}}}, {_DEP}}}",
        "args-number": _container("args: [5]"), "port-text": _container("ports: [{containerPort: '80'}]"), "command-text": _container("command: sh -c true")}),
    *_told("v1/ConfigMap", {"data-number": "data: {a: 5}", "data-map": "data: {a: {b: c}}", "data-list": "data: [a]", "annotation-boolean": "metadata: {annotations: {a: true}}", "data-null": "data: {a: null}"}),
    *_told("v1/Secret", {"secret-not-base64": "data: {a: 'no base64!'}", "secret-number": "stringData: {a: 5}", "secret-tls": "{type: kubernetes.io/tls, data: {}}", "secret-docker": "{type: kubernetes.io/dockerconfigjson, data: {a: aGk=}}"}),
    *_told(_SERVICE, {"service-port-text": "spec: {ports: [{port: '80'}]}"}), *_told(_CRONS, {"suspend-text": _CRON.replace("schedule:", "suspend: 'no', schedule:")}),
    # Values that are out of bounds or contradict each other.
    *_told(_DEPLOYMENT, {"selector-of-others": f"spec: {{selector: {{matchLabels: {{app: y}}}}, {_T}}}", "no-selector": f"spec: {{{_T}}}", "empty-selector": f"spec: {{selector: {{}}, {_T}}}",
        "bad-selector": f"spec: {{selector: {{matchExpressions: [{{key: app, operator: Is, values: [x]}}]}}, {_T}}}", "no-image": _pod("containers: [{name: c}]"), "no-containers": _pod("containers: []"), "twins": _pod("containers: [{name: c, image: a}, {name: c, image: b}]"),
        "bad-container-name": _pod("containers: [{name: My_App, image: a}]"), "bad-policy": _pod(f"restartPolicy: Never, {_C}"), "negative": f"spec: {{replicas: -1, {_S}, {_T}}}", "limit-below-request": _container("resources: {requests: {cpu: 2}, limits: {cpu: 1}}"),
        "bad-quantity": _container("resources: {requests: {memory: 1GB}}"), "no-such-volume": _container("volumeMounts: [{name: v, mountPath: /v}]"), "volume-of-two-kinds": _pod(f"{_C}, volumes: [{{name: v, emptyDir: {{}}, configMap: {{name: a}}}}]"),
        "port-too-high": _container("ports: [{containerPort: 70000}]"), "ports-twice": _container("ports: [{containerPort: 80, name: a}, {containerPort: 81, name: a}]"), "env-name": _container("env: [{name: 'A B', value: x}]"), "env-both": _container("env: [{name: A, value: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"),
        "bad-pull-policy": _container("imagePullPolicy: Sometimes"), "probe-without-port": _container("livenessProbe: {httpGet: {path: /}}"), "probe-of-two-kinds": _container("livenessProbe: {httpGet: {port: 80}, tcpSocket: {port: 80}}"), "bad-strategy": f"spec: {{strategy: {{type: Recreate, rollingUpdate: {{maxSurge: 1}}}}, {_S}, {_T}}}",
        "surge-nothing": f"spec: {{strategy: {{rollingUpdate: {{maxSurge: 0, maxUnavailable: 0}}}}, {_S}, {_T}}}", "privileged-contradiction": _container("securityContext: {privileged: true, allowPrivilegeEscalation: false}"), "no-key-of-toleration": _pod(f"{_C}, tolerations: [{{operator: Equal, value: x}}]"),
        "bad-dns": _pod(f"{_C}, dnsPolicy: None"), "host-port-differs": _pod("hostNetwork: true, containers: [{name: c, image: a, ports: [{containerPort: 80, hostPort: 81}]}]")}),
    *_told(_SERVICE, {"ports-without-names": "spec: {ports: [{port: 80}, {port: 81}]}", "ports-duplicate": "spec: {ports: [{port: 80, name: a}, {port: 80, name: b}]}", "port-names-twice": "spec: {ports: [{port: 80, name: a}, {port: 81, name: a}]}", "no-ports": "spec: {selector: {a: b}}",
        "port-zero": "spec: {ports: [{port: 0}]}", "bad-type": "spec: {type: Cluster, ports: [{port: 80}]}", "external-without-name": "spec: {type: ExternalName}", "node-port-out-of-range": "spec: {type: NodePort, ports: [{port: 80, nodePort: 80}]}", "bad-protocol": "spec: {ports: [{port: 80, protocol: HTTP}]}",
        "address-out-of-range": "spec: {clusterIP: 192.168.1.1, ports: [{port: 80}]}", "bad-affinity": "spec: {sessionAffinity: Cookie, ports: [{port: 80}]}", "bad-selector-value": "spec: {selector: {app: 'a b'}, ports: [{port: 80}]}"}),
    *_told(_INGRESS, {"path-type-missing": _ING.replace("pathType: Prefix, ", ""), "path-relative": _ING.replace("path: /,", "path: x,"), "old-backend": "spec: {rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {serviceName: s, servicePort: 80}}]}}]}", "bad-host": _ING.replace("a.example", "A_b.example"), "empty": "spec: {}", "wildcard-inside": _ING.replace("a.example", "'a.*.example'")}),
    *_told(_SCALER, {"min-over-max": _HPA.replace("minReplicas: 1", "minReplicas: 5"), "no-max": _HPA.replace("maxReplicas: 3, ", ""), "no-target": "spec: {maxReplicas: 3}", "metric-without-target": _HPA.replace("maxReplicas: 3", "maxReplicas: 3, metrics: [{type: Resource, resource: {name: cpu}}]"), "zero-min": _HPA.replace("minReplicas: 1", "minReplicas: 0")}),
    *_told(_CRONS, {"bad-schedule": _CRON.replace("0 3 * * *", "every day"), "bad-zone": _CRON.replace("schedule:", "timeZone: Mars/Base, schedule:"), "bad-concurrency": _CRON.replace("schedule:", "concurrencyPolicy: Never, schedule:")}),
    *_told(_JOBS, {"job-always": f"spec: {{template: {{spec: {{restartPolicy: Always, {_C}}}}}}}", "job-no-policy": f"spec: {{template: {{spec: {{{_C}}}}}}}", "job-negative": _JOB.replace("spec: {template", "spec: {backoffLimit: -1, template", 1)}),
    *_told(_CLAIM, {"claim-no-size": "spec: {accessModes: [ReadWriteOnce]}", "claim-bad-mode": _PVC.replace("ReadWriteOnce", "ReadWrite"), "claim-no-mode": "spec: {resources: {requests: {storage: 1Gi}}}", "claim-bad-size": _PVC.replace("2Gi", "2GiB")}),
    *_told("policy/v1/PodDisruptionBudget", {"budget-both": "spec: {minAvailable: 1, maxUnavailable: 1, selector: {}}", "budget-percent": "spec: {minAvailable: 150%, selector: {}}"}),
    *_told(_POLICY, {"policy-port": _NP.replace("80", "70000"), "policy-block": "spec: {podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.0.0.0}}]}]}"}),
    *_told(_BINDING, {"binding-without-role": "subjects: [{kind: User, name: u}]", "binding-account-nowhere": f"{{{_RB}, subjects: [{{kind: ServiceAccount, name: a}}]}}", "binding-bad-kind": f"{{{_RB}, subjects: [{{kind: Robot, name: a}}]}}"}),
    *_told("rbac.authorization.k8s.io/v1/Role", {"role-without-verbs": "rules: [{apiGroups: [''], resources: [pods]}]", "role-without-groups": "rules: [{resources: [pods], verbs: [get]}]", "role-urls": "rules: [{nonResourceURLs: [/x], verbs: [get]}]"}),
    *_told("v1/ResourceQuota", {"quota-bad": "spec: {hard: {cpu: lots}}"}), *_told("v1/LimitRange", {"limits-bad": "spec: {limits: [{type: Container, min: {cpu: 2}, max: {cpu: 1}}]}"}),
    *_told("scheduling.k8s.io/v1/PriorityClass", {"priority-too-high": "value: 2000000000", "priority-none": "description: x"}),
    *_told("storage.k8s.io/v1/StorageClass", {"storage-without-provisioner": "reclaimPolicy: Delete", "storage-bad-policy": "{provisioner: a.example/b, reclaimPolicy: Keep}"}),
    # Names, labels, annotations.
    *_told("v1/ConfigMap", {"name-capitals": "metadata: {name: MyConfig}", "name-underscore": "metadata: {name: my_config}", "name-too-long": f"metadata: {{name: {'a' * 254}}}", "label-value-space": "metadata: {labels: {a: b c}}", "label-value-long": f"metadata: {{labels: {{a: {'b' * 64}}}}}",
        "label-key": "metadata: {labels: {'a b': c}}", "key-with-slash": "data: {a/b: c}", "annotation-key": "metadata: {annotations: {'a b': c}}", "bad-finalizer": "metadata: {finalizers: [plain]}"}),
    *_told(_SERVICE, {"service-name-dot": f"{{metadata: {{name: my.service}}, {_SVC}}}", "service-name-long": f"{{metadata: {{name: {'s' * 64}}}, {_SVC}}}", "service-name-digit": f"{{metadata: {{name: 1st}}, {_SVC}}}"}),
    *_told(_CRONS, {"cron-name-long": f"{{metadata: {{name: {'c' * 60}}}, {_CRON}}}"}), *_told(_STATEFUL, {"stateful-name-long": f"{{metadata: {{name: {'s' * 70}}}, {_STS}}}"}),
    *_told(_DEPLOYMENT, {"template-label": _DEP.replace("labels: {app: x}", "labels: {app: x, v: 'a/b'}")}),
    # What cannot be changed.
    *_told(_DEPLOYMENT, {"selector-changed": _DEP.replace("app: x", "app: y")}, _DEP),
    *_told(_STATEFUL, {"stateful-claims": _STS.replace("serviceName: x", f"serviceName: x, volumeClaimTemplates: [{{metadata: {{name: d}}, {_PVC}}}]"), "stateful-service": _STS.replace("serviceName: x", "serviceName: y"), "stateful-management": _STS.replace("serviceName: x", "serviceName: x, podManagementPolicy: Parallel")}, _STS),
    *_told("apps/v1/DaemonSet", {"daemon-selector": _DEP.replace("app: x", "app: y")}, _DEP),
    *_told(_JOBS, {"job-image": _JOB.replace("a:1", "a:2"), "job-completions": _JOB.replace("spec: {template", "spec: {completions: 3, template", 1), "job-parallel": _JOB.replace("spec: {template", "spec: {parallelism: 2, template", 1)}, _JOB),
    *_told(_SERVICE, {"address-changed": "spec: {clusterIP: None, selector: {app: x}, ports: [{port: 80}]}", "address-chosen": "spec: {clusterIP: 10.96.77.77, selector: {app: x}, ports: [{port: 80}]}"}, _SVC),
    *_told(_CLAIM, {"claim-shrunk": _PVC.replace("2Gi", "1Gi"), "claim-grown": _PVC.replace("2Gi", "3Gi"), "claim-class": _PVC.replace("spec: {", "spec: {storageClassName: fast, "), "claim-mode": _PVC.replace("ReadWriteOnce", "ReadWriteMany")}, _PVC),
    *_told(_BINDING, {"role-ref": f"{{{_RB.replace('name: r', 'name: other')}, subjects: [{{kind: User, name: u}}]}}"}, f"{{{_RB}, subjects: [{{kind: User, name: u}}]}}"),
    *_told("v1/ConfigMap", {"immutable-data": "{immutable: true, data: {a: y}}", "immutable-undone": "{immutable: false, data: {a: x}}"}, "{immutable: true, data: {a: x}}"),
    *_told("v1/Secret", {"secret-type": "{type: a.example/b, stringData: {a: x}}"}, "stringData: {a: x}"),
    *_told("scheduling.k8s.io/v1/PriorityClass", {"priority-changed": "value: 2000"}, "value: 1000"),
    *_told("storage.k8s.io/v1/StorageClass", {"storage-changed": "provisioner: c.example/d", "storage-parameters": "{provisioner: a.example/b, parameters: {a: b}}"}, "provisioner: a.example/b"),
    *_told(_DEFINITION, {"definition-scope": _CRD.replace("Namespaced", "Cluster"), "definition-stricter": _CRD.replace("minimum: 1", "minimum: 3")}, _CRD),
    *_told("v1/Pod", {"pod-image": "spec: {containers: [{name: c, image: 'a:2'}]}", "pod-env": "spec: {containers: [{name: c, image: 'a:1', env: [{name: A, value: b}]}]}"}, f"spec: {{{_C}}}"),
    # Kinds and versions that are not there, or not any more.
    *_told("extensions/v1beta1/Ingress", {"removed-ingress": "spec: {backend: {serviceName: s, servicePort: 80}}"}),
    *_told("apps/v1beta1/Deployment", {"removed-deployment": _DEP}), *_told("batch/v1beta1/CronJob", {"removed-cron": _CRON}), *_told("policy/v1beta1/PodDisruptionBudget", {"removed-budget": _PDB}),
    *_told("autoscaling/v2beta2/HorizontalPodAutoscaler", {"removed-scaler": _HPA}), *_told("v1/Deployment", {"wrong-group": _DEP}), *_told("apps/v1/Deploymnt", {"misspelt-kind": _DEP}), *_told("networking.k8s.io/v1beta1/Ingress", {"removed-network-ingress": _ING}),
    # Where it belongs to.
    *_told("v1/ConfigMap", {"namespace-missing": "metadata: {namespace: nowhere-NS}", "namespace-with-wave": "{metadata: {namespace: nowhere-NS, annotations: {argocd.argoproj.io/sync-wave: '1'}}}"}, "data: {a: x}"),
    *_told("v1/Namespace", {"namespace": "{}", "namespace-bad": "metadata: {name: Bad_NS}"}),
    # Definitions that the server refuses.
    *_told(_DEFINITION, {"definition-no-schema": _CRD.replace(f", schema: {{openAPIV3Schema: {{{_WIDGET}}}}}", ""), "definition-name": f"{{metadata: {{name: wrong.NS.example.com}}, {_CRD}}}", "definition-no-storage": _CRD.replace("storage: true", "storage: false"), "definition-no-type": _CRD.replace("size: {type: integer, minimum: 1}", "size: {}")}),
)  # fmt: skip
