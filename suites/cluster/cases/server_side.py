# ruff: noqa: E501  (a table: one object on a line)
"""Server-side apply: several managers, conflicts, force, who owns what afterwards."""

from __future__ import annotations

from suites.cluster.cases.workloads import LABELS, workload
from suites.cluster.steps import Case, case, create, delete, edit, get, obj, patch, put, ssa
from whysync.json_tree import Object


def cm(data: str, more: str = "") -> Object:
    return obj("v1/ConfigMap c", f"{{data: {data}{', ' + more if more else ''}}}")


def web(container: str = "{name: c, image: a}", more: str = "") -> Object:
    template = f"template: {{metadata: {{labels: {{app: web}}}}, spec: {{containers: [{container}]}}}}"
    return obj("apps/v1/Deployment web", f"spec: {{{LABELS}, {template}{', ' + more if more else ''}}}")


def svc(ports: str) -> Object:
    return obj("v1/Service s", f"spec: {{selector: {{app: web}}, ports: {ports}}}")


_PLAIN = web()

CASES: tuple[Case, ...] = (
    case(
        "create_and_again",
        ssa(cm("{a: b}")),
        ssa(cm("{a: b}")),
        ssa(cm("{a: c}")),
        ssa(cm("{b: c}")),
        get(cm("{}")),
    ),
    case("no_manager", ssa(cm("{a: b}"), None), ssa(cm("{a: b}"), "")),
    case("long_manager", ssa(cm("{a: b}"), "x" * 129), ssa(cm("{a: b}"), "x" * 128)),
    case(
        "dry_run",
        ssa(cm("{a: b}"), dry_run=True),
        get(cm("{}")),
        ssa(cm("{a: b}")),
        ssa(cm("{a: c}"), dry_run=True),
        get(cm("{}")),
    ),
    case(
        "conflict",
        ssa(cm("{a: b}")),
        ssa(cm("{a: c}"), "two"),
        ssa(cm("{a: c}"), "two", force=False),
        ssa(cm("{a: c}"), "two", force=True),
        ssa(cm("{a: b}")),
    ),
    case(
        "conflicts_with_two",
        ssa(cm("{a: b}")),
        ssa(cm("{a: b}"), "two"),
        ssa(cm("{a: c}"), "three"),
        ssa(cm("{a: c}"), "three", force=True),
        ssa(cm("{}")),
        ssa(cm("{}"), "two"),
    ),
    case("conflict_many_fields", ssa(cm("{a: b, c: d, e: f}")), ssa(cm("{a: x, c: y, e: z}"), "two")),
    case(
        "conflict_with_update",
        create(cm("{a: b}"), manager="kubectl-create"),
        ssa(cm("{a: c}")),
        ssa(cm("{a: c}"), force=True),
        ssa(cm("{}")),
        get(cm("{}")),
    ),
    case(
        "conflict_with_two_kinds",
        create(cm("{a: b}"), manager="make"),
        ssa(cm("{a: b}"), "one"),
        ssa(cm("{a: c}"), "two"),
    ),
    case(
        "same_name_other_operation",
        create(cm("{a: b}"), manager="one"),
        ssa(cm("{a: c}"), "one"),
        ssa(cm("{a: c}"), "one", force=True),
        patch("merge", cm("{}"), "data: {a: d}", manager="one"),
        ssa(cm("{a: e}"), "one"),
    ),
    case(
        "give_up",
        ssa(cm("{a: b, c: d}")),
        ssa(cm("{a: b}"), "two"),
        ssa(cm("{c: d}")),
        ssa(cm("{}"), "two"),
        ssa(cm("{}")),
        get(cm("{}")),
    ),
    case(
        "nothing_left",
        ssa(cm("{a: b}")),
        ssa(obj("v1/ConfigMap c")),
        ssa(cm("{a: b}"), "two"),
        ssa(obj("v1/ConfigMap c"), "two"),
    ),
    case(
        "labels",
        ssa(cm("{}", "metadata: {labels: {a: b, c: d}, annotations: {x: y}}")),
        ssa(cm("{}", "metadata: {labels: {a: b}}")),
        ssa(cm("{}", "metadata: {labels: {a: z}}"), "two"),
        ssa(cm("{}", "metadata: {labels: {}}")),
    ),
    case(
        "finalizers",
        ssa(cm("{}", "metadata: {finalizers: [a.example/b]}")),
        ssa(cm("{}", "metadata: {finalizers: [a.example/c]}"), "two"),
        ssa(cm("{}")),
        delete(cm("{}")),
        ssa(cm("{x: y}"), "two"),
        ssa(cm("{}"), "two"),
        get(cm("{}")),
    ),
    case(
        "owners",
        ssa(cm("{}", "metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u1}]}")),
        ssa(cm("{}", "metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: q, uid: u2}]}"), "two"),
        ssa(cm("{}")),
    ),
    case(
        "resource_version",
        ssa(cm("{a: b}")),
        ssa(cm("{a: c}", "metadata: {resourceVersion: '1'}")),
        ssa(cm("{a: c}", "metadata: {uid: x}")),
        ssa(obj("v1/ConfigMap other", "metadata: {resourceVersion: '1'}")),
    ),
    case(
        "managed_fields_in_body",
        ssa(cm("{a: b}", "metadata: {managedFields: []}")),
        ssa(cm("{a: b}", "metadata: {managedFields: [{manager: x}]}")),
    ),
    case(
        "clear_managed_fields",
        ssa(cm("{a: b}")),
        patch("merge", cm("{}"), "metadata: {managedFields: [{}]}"),
        ssa(cm("{a: c}")),
        patch("json", cm("{}"), "[{op: replace, path: /metadata/managedFields, value: [{}]}]"),
        patch("merge", cm("{}"), "data: {z: z}"),
        ssa(cm("{z: y}")),
    ),
    case(
        "deployment",
        ssa(_PLAIN),
        ssa(_PLAIN, "two"),
        ssa(web("{name: c, image: b}"), "two"),
        ssa(web("{name: c, image: b}"), "two", force=True),
        get(_PLAIN),
    ),
    case(
        "add_container",
        ssa(_PLAIN),
        ssa(web("{name: d, image: b}"), "two"),
        ssa(obj("apps/v1/Deployment web", "spec: {template: {spec: {containers: [{name: d}]}}}"), "three"),
        ssa(web("{name: c, image: a}"), "two"),
        ssa(_PLAIN),
    ),
    case(
        "default_taken",
        ssa(web(more="replicas: 1")),
        ssa(web(more="replicas: 2"), "two", force=True),
        ssa(web()),
        ssa(web(), "two"),
    ),
    case(
        "replicas_given_up",
        ssa(web(more="replicas: 3")),
        patch("merge", _PLAIN, "spec: {replicas: 5}", "scale", manager="hpa"),
        ssa(web(more="replicas: 3")),
        ssa(web()),
        get(_PLAIN),
    ),
    case(
        "env",
        ssa(web("{name: c, image: a, env: [{name: A, value: '1'}, {name: B, value: '2'}]}")),
        ssa(web("{name: c, image: a, env: [{name: B, value: '3'}]}"), "two"),
        ssa(web("{name: c, image: a, env: [{name: C, value: '3'}]}"), "two"),
        ssa(web("{name: c, image: a, env: [{name: B, value: '2'}]}")),
    ),
    case(
        "env_value_from",
        ssa(web("{name: c, image: a, env: [{name: A, value: '1'}]}")),
        ssa(web("{name: c, image: a, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}")),
        ssa(web("{name: c, image: a, env: [{name: A, value: ''}]}")),
    ),
    case(
        "env_duplicate", ssa(web("{name: c, image: a, env: [{name: A, value: '1'}, {name: A, value: '2'}]}"))
    ),
    case(
        "ports",
        ssa(web("{name: c, image: a, ports: [{containerPort: 80}]}")),
        ssa(web("{name: c, image: a, ports: [{containerPort: 80, name: web}]}"), "two"),
        ssa(web("{name: c, image: a, ports: [{containerPort: 81}]}")),
        ssa(web("{name: c, image: a, ports: [{containerPort: 80, protocol: UDP}]}")),
    ),
    case(
        "quantity",
        ssa(web("{name: c, image: a, resources: {limits: {cpu: 1000m}}}")),
        ssa(web("{name: c, image: a, resources: {limits: {cpu: 1000m}}}"), "two"),
        ssa(web("{name: c, image: a, resources: {limits: {cpu: '1'}}}"), "three"),
        ssa(web("{name: c, image: a, resources: {limits: {cpu: 1000m}}}")),
    ),
    case(
        "volumes",
        ssa(web("{name: c, image: a, volumeMounts: [{name: v, mountPath: /v}]}", "replicas: 1")),
        ssa(
            obj("apps/v1/Deployment web", "spec: {template: {spec: {volumes: [{name: v, emptyDir: {}}]}}}"),
            "two",
        ),
    ),
    case(
        "strategy_recreate",
        ssa(web(more="strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}")),
        ssa(web(more="strategy: {type: Recreate}")),
        ssa(web(more="strategy: {type: Recreate}"), "two", force=True),
    ),
    case(
        "null_values", ssa(web(more="replicas: null, strategy: null")), ssa(cm("{a: null}")), ssa(cm("null"))
    ),
    case(
        "unknown_fields",
        ssa(cm("{}", "spec: {}")),
        ssa(web(more="foo: bar")),
        ssa(web("{name: c, image: a, foo: bar}"), validation="Strict"),
        ssa(web("{name: c, image: a, foo: bar}"), validation="Ignore"),
    ),
    case(
        "wrong_types",
        ssa(cm("{a: 1}")),
        ssa(cm("[a]")),
        ssa(web(more="replicas: x")),
        ssa(web(more="paused: 'true'")),
        ssa(web("{name: 5, image: a}")),
        ssa(obj("v1/Service s", "spec: {ports: 80}")),
    ),
    case(
        "whole_floats",
        ssa(web(more="replicas: 2.0")),
        ssa(web(more="replicas: 2.5")),
        patch("strategic", _PLAIN, "spec: {replicas: 4.0}"),
        patch("strategic", _PLAIN, "spec: {replicas: 4.5}"),
        ssa(obj("v1/Service s", "spec: {ports: [{port: 80.0, targetPort: 8080.0}]}")),
        create(obj("v1/Service t", "spec: {ports: [{port: 80.0}]}")),
    ),
    case(
        "address_modes",
        create(obj("v1/Service s", "spec: {type: LoadBalancer, ports: [{port: 80}]}")),
        patch(
            "merge",
            obj("v1/Service s"),
            "status: {loadBalancer: {ingress: [{ip: 192.0.2.1}, {hostname: a.example}]}}",
            "status",
        ),
        ssa(obj("v1/Service s", "status: {loadBalancer: {ingress: [{ip: 192.0.2.2}]}}"), "x", "status"),
        get(obj("v1/Service s")),
    ),
    case(
        "invalid",
        ssa(web("{name: C, image: a}")),
        ssa(obj("apps/v1/Deployment web", "spec: {replicas: 1}")),
        ssa(svc("[{port: 0}]")),
        ssa(svc("[]")),
    ),
    case(
        "wrong_name",
        ssa(obj("v1/ConfigMap c", "{metadata: {name: d}}")),
        patch("merge", cm("{}"), "{}"),
        ssa(obj("v1/ConfigMap c", "metadata: {namespace: other}")),
    ),
    case(
        "service_ports",
        ssa(svc("[{port: 80}]")),
        ssa(svc("[{port: 81, name: b}]"), "two"),
        ssa(svc("[{port: 80, name: a}]")),
        ssa(svc("[{port: 81, name: b}]"), "two"),
        ssa(svc("[{port: 82, name: a}]")),
    ),
    case(
        "service_nodeport",
        ssa(obj("v1/Service s", "spec: {type: NodePort, ports: [{port: 80}]}")),
        ssa(obj("v1/Service s", "spec: {type: ClusterIP, ports: [{port: 80}]}")),
    ),
    case(
        "secret",
        ssa(obj("v1/Secret s", "stringData: {a: b}")),
        ssa(obj("v1/Secret s", "data: {a: Yg==}"), "two"),
        ssa(obj("v1/Secret s", "data: {a: Yw==}"), "two"),
        ssa(obj("v1/Secret s")),
    ),
    case(
        "put_over_apply",
        ssa(cm("{a: b, c: d}")),
        put(cm("{a: b}")),
        ssa(cm("{a: b, c: d}")),
        put(cm("{a: x}"), manager="two"),
        get(cm("{}")),
    ),
    case(
        "patch_over_apply",
        ssa(cm("{a: b}")),
        patch("merge", cm("{}"), "data: {a: c}", manager="two"),
        ssa(cm("{a: b}")),
        ssa(cm("{a: b}"), force=True),
        patch("merge", cm("{}"), "data: {a: null}", manager="two"),
        ssa(cm("{}")),
    ),
    case(
        "edit_over_apply",
        ssa(_PLAIN),
        edit(_PLAIN, "spec: {replicas: 4}", manager="edit"),
        ssa(web(more="replicas: 1")),
        ssa(_PLAIN),
        edit(_PLAIN, "metadata: {annotations: {a: b}}", manager="edit"),
    ),
    case(
        "status",
        ssa(_PLAIN),
        ssa(obj("apps/v1/Deployment web", "status: {replicas: 1}"), "ctl", "status"),
        ssa(obj("apps/v1/Deployment web", "status: {replicas: 2}"), "two"),
        ssa(
            obj("apps/v1/Deployment web", "status: {replicas: 2, conditions: [{type: A, status: 'True'}]}"),
            "two",
            "status",
        ),
        get(_PLAIN),
    ),
    case(
        "last_applied",
        create(
            cm("{a: b}", "metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{}'}}"),
            manager="kubectl-client-side-apply",
        ),
        ssa(cm("{a: c}"), "kubectl", force=True),
        ssa(cm("{a: c}"), "argocd-controller", force=True),
    ),
    case(
        "list_order",
        ssa(web("{name: b, image: a}, {name: a, image: a}")),
        ssa(web("{name: a, image: a}, {name: b, image: a}")),
        ssa(web("{name: z, image: a}, {name: a, image: a}"), "two"),
        ssa(web("{name: a, image: a}")),
    ),
    case(
        "atomic_lists",
        ssa(web("{name: c, image: a, args: [a, b]}")),
        ssa(web("{name: c, image: a, args: [a]}"), "two"),
        ssa(web("{name: c, image: a, args: [b]}"), "two", force=True),
        ssa(web("{name: c, image: a}")),
    ),
    case(
        "selector_atomic",
        ssa(obj("v1/Service s", "spec: {selector: {a: b}, ports: [{port: 80}]}")),
        ssa(obj("v1/Service s", "spec: {selector: {c: d}}"), "two"),
        ssa(obj("v1/Service s", "spec: {selector: {c: d}}"), "two", force=True),
    ),
    case(
        "nested_empty",
        ssa(web("{name: c, image: a, securityContext: {}, resources: {}}")),
        ssa(web("{name: c, image: a, securityContext: {}}"), "two"),
        ssa(web("{name: c, image: a, livenessProbe: {}}"), "two"),
    ),
    case(
        "tolerations",
        ssa(
            obj(
                "v1/Pod p",
                "spec: {containers: [{name: c, image: a}], tolerations: [{key: a, operator: Exists}]}",
            )
        ),
        ssa(
            obj(
                "v1/Pod p",
                "spec: {containers: [{name: c, image: b}], tolerations: [{key: a, operator: Exists}]}",
            )
        ),
    ),
    case(
        "webhook_list",
        ssa(
            obj(
                "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration nsaaaa-v",
                "webhooks: [{name: a.b.example, clientConfig: {url: 'https://127.0.0.1:1/x'}, sideEffects: None, admissionReviewVersions: [v1]}]",
            )
        ),
        ssa(
            obj(
                "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration nsaaaa-v",
                "webhooks: [{name: a.b.example, clientConfig: {caBundle: aGk=}}]",
            ),
            "injector",
        ),
    ),
    case(
        "ingress",
        ssa(obj("networking.k8s.io/v1/Ingress i", "spec: {rules: [{host: a.example}]}")),
        ssa(obj("networking.k8s.io/v1/Ingress i", "spec: {rules: [{host: b.example}]}"), "two"),
        ssa(obj("networking.k8s.io/v1/Ingress i", "spec: {tls: [{hosts: [a.example]}]}"), "two"),
    ),
    case(
        "autoscaler",
        ssa(
            obj(
                "autoscaling/v2/HorizontalPodAutoscaler h",
                "spec: {scaleTargetRef: {kind: Deployment, name: web}, maxReplicas: 5, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}",
            )
        ),
        ssa(obj("autoscaling/v2/HorizontalPodAutoscaler h", "spec: {maxReplicas: 6}"), "two"),
        ssa(obj("autoscaling/v1/HorizontalPodAutoscaler h", "spec: {minReplicas: 2}"), "two"),
    ),
    case(
        "job",
        ssa(
            obj(
                "batch/v1/Job j",
                "spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: a}]}}}",
            )
        ),
        ssa(
            obj(
                "batch/v1/Job j",
                "spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: b}]}}}",
            )
        ),
        ssa(obj("batch/v1/Job j", "spec: {parallelism: 2}"), "two"),
    ),
    case(
        "stateful",
        ssa(workload("apps/v1/StatefulSet", "serviceName: web")),
        ssa(workload("apps/v1/StatefulSet", "serviceName: other")),
        ssa(workload("apps/v1/StatefulSet", "serviceName: other"), "two", force=True),
    ),
    case(
        "namespace",
        ssa(obj("v1/Namespace nsaaaa-n", "metadata: {labels: {a: b}}")),
        ssa(obj("v1/Namespace nsaaaa-n", "metadata: {labels: {a: c}}"), "two"),
        ssa(obj("v1/Namespace nsaaaa-n")),
    ),
    case(
        "cluster_role",
        ssa(
            obj(
                "rbac.authorization.k8s.io/v1/ClusterRole nsaaaa-n",
                "rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]",
            )
        ),
        ssa(
            obj(
                "rbac.authorization.k8s.io/v1/ClusterRole nsaaaa-n",
                "{aggregationRule: {clusterRoleSelectors: [{matchLabels: {nsaaaa: x}}]}}",
            ),
            "two",
        ),
        ssa(
            obj(
                "rbac.authorization.k8s.io/v1/ClusterRole nsaaaa-n",
                "rules: [{apiGroups: [''], resources: [pods], verbs: [list]}]",
            ),
            "two",
        ),
    ),
    case(
        "claim",
        ssa(
            obj(
                "v1/PersistentVolumeClaim p",
                "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
            )
        ),
        ssa(obj("v1/PersistentVolumeClaim p", "spec: {resources: {requests: {storage: 1024Mi}}}"), "two"),
        ssa(
            obj("v1/PersistentVolumeClaim p", "spec: {resources: {requests: {storage: 2Gi}}}"),
            "two",
            force=True,
        ),
    ),
    case(
        "many_update_managers",
        create(cm("{}")),
        *(patch("merge", cm("{}"), f"data: {{k{n}: v}}", manager=f"m{n}") for n in range(12)),
        ssa(cm("{k0: v}")),
        get(cm("{}")),
    ),
    case(
        "subresource_manager",
        create(_PLAIN, manager="a"),
        patch("merge", _PLAIN, "status: {replicas: 1}", "status", manager="a"),
        patch("merge", _PLAIN, "metadata: {annotations: {x: y}}", "status", manager="a"),
        get(_PLAIN),
    ),
)
