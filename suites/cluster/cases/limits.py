# ruff: noqa: E501  (a table: one object on a line)
"""Quotas, limit ranges, sizes, pod security, policies, users with few rights, odd paths."""

from __future__ import annotations

from suites.cluster.cases.server_side import cm, web
from suites.cluster.cases.workloads import pod
from suites.cluster.steps import NS, Case, Step, at, case, create, delete, get, listing, obj, patch, ssa
from whysync.json_tree import Object

_POD = pod("{containers: [{name: c, image: a}]}")


def _sized(cpu: str, name: str = "web") -> Object:
    return pod(
        f"{{containers: [{{name: c, image: a, resources: {{requests: {{cpu: {cpu}, memory: 1Mi}}, limits: {{cpu: {cpu}, memory: 1Mi}}}}}}]}}",
        name,
    )


def _settled(*bodies: Object) -> tuple[Step, ...]:
    """Admission reads through a cache of the server: wait until a first request meets what was just made."""
    return tuple(Step(create(body, dry_run=True).request, until=403) for body in bodies)


def quota(hard: str) -> tuple[Step, ...]:
    """A quota whose use is told, as its controller would."""
    body = obj("v1/ResourceQuota q", f"spec: {{hard: {hard}}}")
    used = (
        "{" + ", ".join(f"{limit.split(':')[0].strip()}: '0'" for limit in hard.strip("{}").split(",")) + "}"
    )
    return (create(body), patch("merge", body, f"status: {{hard: {hard}, used: {used}}}", "status"))


_RANGE = obj(
    "v1/LimitRange l",
    "spec: {limits: [{type: Container, default: {cpu: 500m}, defaultRequest: {cpu: 100m}, max: {cpu: 1}, min: {cpu: 50m}, maxLimitRequestRatio: {cpu: 6}}]}",
)
_CLAIM = "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 9Gi}}}"
_BIG = "x" * 262144
_ROLE = obj(
    "rbac.authorization.k8s.io/v1/Role r",
    "rules: [{apiGroups: [''], resources: [configmaps], verbs: [get, create]}, {apiGroups: [apps], resources: [deployments], verbs: ['*']}, {apiGroups: [''], resources: [secrets], resourceNames: [s], verbs: [get]}]",
)
_BINDING = obj(
    "rbac.authorization.k8s.io/v1/RoleBinding r",
    f"{{roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}}, subjects: [{{kind: User, name: dev-{NS}}}, {{kind: ServiceAccount, name: robot, namespace: {NS}}}]}}",
)
_DEV, _ROBOT = f"dev-{NS}", f"system:serviceaccount:{NS}:robot"
_DENY = obj(
    "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy nsaaaa-p",
    f"spec: {{matchConstraints: {{namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {NS}}}}}, resourceRules: [{{apiGroups: ['', apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps, deployments]}}]}}, validations: [{{expression: \"object.kind != 'ConfigMap' || !('bad' in object.data)\", message: no bad data}}, {{expression: \"object.kind != 'Deployment' || object.spec.replicas <= 5\"}}]}}",
)
_DENY_BINDING = obj(
    "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding nsaaaa-b",
    "spec: {policyName: nsaaaa-p, validationActions: [Deny]}",
)
_DEAD = obj(
    "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration nsaaaa-w",
    f"webhooks: [{{name: a.b.example, clientConfig: {{url: 'https://127.0.0.1:1/x'}}, sideEffects: None, admissionReviewVersions: [v1], namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {NS}}}}}, rules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}}]}}]",
)
_DEAD_LENIENT = obj(
    "admissionregistration.k8s.io/v1/MutatingWebhookConfiguration nsaaaa-w",
    f"webhooks: [{{name: a.b.example, clientConfig: {{url: 'https://127.0.0.1:1/x'}}, sideEffects: None, failurePolicy: Ignore, admissionReviewVersions: [v1], namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {NS}}}}}, rules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}}]}}]",
)
_SECURE = "/api/v1/namespaces/nsaaaa"
_PATHS = (
    "/",
    "/api",
    "/apis",
    "/api/v2",
    "/api/v1/x",
    "/apis/apps",
    "/apis/apps/v1",
    "/apis/apps/v2",
    "/apis/none/v1/x",
    "/version",
    "/healthz",
    "/nothing",
    "/api/v1/namespaces/NS",
    "/api/v1/namespaces/none",
    "/api/v1/namespaces/NS/pods/none",
    "/api/v1/namespaces/NS/pods/none/log",
    "/api/v1/namespaces/NS/pods?limit=x",
    "/api/v1/namespaces/NS/pods?labelSelector=a%20in%20(",
    "/api/v1/namespaces/NS/pods?labelSelector=a==b,c!=d,!e",
    "/api/v1/namespaces/NS/pods?fieldSelector=spec.nodeName%3Dx",
    "/api/v1/namespaces/NS/configmaps?fieldSelector=data.a%3Dx",
    "/api/v1/namespaces/NS/pods?resourceVersion=x",
    "/api/v1/nodes/none",
    "/api/v1/nodes/none/status",
    "/apis/apps/v1/namespaces/NS/deployments/none/scale",
    "/apis/apps/v1/namespaces/NS/deployments/none/foo",
    "/apis/batch/v1/namespaces/NS/jobs/none/scale",
    "/api/v1/namespaces/NS/configmaps/none/status",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles/none",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/none",
    "/apis/apps/v1/namespaces/NS/deployments/",
    "/apis/apps/v1/namespaces/NS/Deployments",
    "/api/v1/namespaces/NS/services/none/proxy",
    "/apis/autoscaling/v2beta2/namespaces/NS/horizontalpodautoscalers",
    "/apis/policy/v1beta1/namespaces/NS/poddisruptionbudgets",
    "/apis/batch/v1beta1/namespaces/NS/cronjobs",
    "/apis/networking.k8s.io/v1beta1/namespaces/NS/ingresses",
    "/api/v1/componentstatuses/none",
    "/api/v1/namespaces/NS/bindings",
)

_HARD = "allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}"
_SECURED = (
    "{hostPID: true, hostNetwork: true, containers: [{name: c, image: a, ports: [{containerPort: 80, hostPort: 80}], securityContext: {privileged: true, capabilities: {add: [NET_ADMIN]}, seLinuxOptions: {type: x, user: u}, seccompProfile: {type: Unconfined}, appArmorProfile: {type: Unconfined}}}], volumes: [{name: v, hostPath: {path: /x}}], securityContext: {sysctls: [{name: kernel.shm_rmid_forced, value: '1'}]}}",
    f"{{containers: [{{name: c, image: a, securityContext: {{{_HARD}, runAsUser: 0}}}}], securityContext: {{runAsNonRoot: false, runAsUser: 0}}}}",
    f"{{containers: [{{name: c, image: a, securityContext: {{{_HARD}}}}}, {{name: d, image: a, securityContext: {{capabilities: {{drop: [ALL], add: [NET_BIND_SERVICE, SYS_TIME]}}}}}}], securityContext: {{runAsNonRoot: true, seccompProfile: {{type: RuntimeDefault}}}}}}",
    "{hostUsers: false, containers: [{name: c, image: a, securityContext: {procMount: Unmasked, runAsUser: 0}}]}",
    "{containers: [{name: c, image: a, livenessProbe: {httpGet: {port: 80, host: x}}, lifecycle: {preStop: {tcpSocket: {port: 80, host: y}}}}]}",
    "{securityContext: {seccompProfile: {type: Unconfined}, seLinuxOptions: {role: r}, appArmorProfile: {type: Unconfined}}, containers: [{name: c, image: a}]}",
    "{volumes: [{name: v, nfs: {server: a, path: /x}}, {name: w, hostPath: {path: /x}}], containers: [{name: c, image: a}]}",
)
CASES: tuple[Case, ...] = (
    case(
        "quota_count",
        *quota("{pods: '1', configmaps: '2', services: '0', count/deployments.apps: '0'}"),
        *_settled(web()),
        create(_POD),
        create(pod("{containers: [{name: c, image: a}]}", "b")),
        create(cm("{a: b}")),
        create(obj("v1/ConfigMap d")),
        create(obj("v1/ConfigMap e")),
        create(obj("v1/Service s", "spec: {ports: [{port: 80}]}")),
        create(web()),
        ssa(obj("v1/ConfigMap f")),
        delete(cm("{}")),
        create(obj("v1/ConfigMap g")),
        get(obj("v1/ResourceQuota q")),
    ),
    case(
        "quota_cpu",
        *quota("{requests.cpu: '1', limits.memory: 1Gi}"),
        *_settled(_POD),
        create(_POD),
        create(_sized("400m", "a")),
        create(_sized("700m", "b")),
        create(_sized("600m", "c")),
        create(_sized("1m", "d")),
        get(obj("v1/ResourceQuota q")),
    ),
    case(
        "quota_storage",
        *quota("{requests.storage: 5Gi, persistentvolumeclaims: '3'}"),
        *_settled(obj("v1/PersistentVolumeClaim p", _CLAIM)),
        create(obj("v1/PersistentVolumeClaim p", _CLAIM)),
        create(obj("v1/PersistentVolumeClaim p", _CLAIM.replace("9Gi", "4Gi"))),
        create(obj("v1/PersistentVolumeClaim q", _CLAIM.replace("9Gi", "2Gi"))),
    ),
    case(
        "quota_balancers",
        *quota("{services.loadbalancers: '0', services.nodeports: '1'}"),
        *_settled(obj("v1/Service s", "spec: {type: LoadBalancer, ports: [{port: 80}]}")),
        create(obj("v1/Service s", "spec: {type: LoadBalancer, ports: [{port: 80}]}")),
        create(obj("v1/Service t", "spec: {type: NodePort, ports: [{port: 80}]}")),
        create(obj("v1/Service u", "spec: {type: NodePort, ports: [{port: 80}]}")),
        create(obj("v1/Service v", "spec: {ports: [{port: 80}]}")),
        patch("merge", obj("v1/Service v"), "spec: {type: NodePort}"),
    ),
    case(
        "quota_two",
        *quota("{pods: '0'}"),
        create(obj("v1/ResourceQuota r", "spec: {hard: {requests.cpu: 1}}")),
        *_settled(_sized("1")),
        create(_sized("2")),
        create(_POD),
    ),
    case(
        "range",
        create(_RANGE),
        Step(create(_sized("2"), dry_run=True).request, until=403),
        create(_POD),
        create(_sized("2", "b")),
        create(_sized("10m", "c")),
        create(
            pod(
                "{containers: [{name: c, image: a, resources: {requests: {cpu: 100m}, limits: {cpu: 1}}}]}",
                "d",
            )
        ),
        create(pod("{containers: [{name: c, image: a, resources: {limits: {cpu: 300m}}}]}", "e")),
        create(
            pod(
                "{initContainers: [{name: i, image: a}], containers: [{name: c, image: a, resources: {requests: {cpu: 200m}}}]}",
                "f",
            )
        ),
        create(web()),
    ),
    case(
        "range_pod",
        create(
            obj(
                "v1/LimitRange l",
                "spec: {limits: [{type: Pod, max: {cpu: 1}, min: {memory: 1Mi}}, {type: PersistentVolumeClaim, max: {storage: 5Gi}, min: {storage: 2Gi}}]}",
            )
        ),
        Step(create(_sized("2"), dry_run=True).request, until=403),
        create(_POD),
        create(_sized("2", "b")),
        create(obj("v1/PersistentVolumeClaim p", _CLAIM)),
        create(obj("v1/PersistentVolumeClaim q", _CLAIM.replace("9Gi", "1Gi"))),
    ),
    case(
        "annotation_size",
        create(cm("{}", f"metadata: {{annotations: {{a: {_BIG}}}}}")),
        create(obj("v1/ConfigMap d", f"metadata: {{annotations: {{a: {_BIG[:-1]}}}}}")),
        patch("merge", obj("v1/ConfigMap d"), "metadata: {annotations: {b: c}}"),
        ssa(obj("v1/ConfigMap e", f"metadata: {{annotations: {{a: {_BIG}}}}}")),
    ),
    case(
        "object_size",
        create(cm(f"{{a: {'y' * 1048577}}}")),
        create(obj("v1/ConfigMap d", f"data: {{a: {'y' * 1048575}}}")),
        create(obj("v1/Secret s", f"stringData: {{a: {'y' * 1048577}}}")),
        create(cm(f"{{a: {'y' * 3200000}}}")),
    ),
    case(
        "role",
        create(_ROLE),
        create(_BINDING),
        Step(get(cm("{}"), user=_DEV).request, until=404),
        create(cm("{a: b}"), user=_DEV),
        get(cm("{}"), user=_DEV),
        listing(cm("{}"), user=_DEV),
        delete(cm("{}"), user=_DEV),
        patch("merge", cm("{}"), "{}", user=_DEV),
        ssa(cm("{}"), user=_DEV),
        create(web(), user=_ROBOT),
        get(web(), "scale", user=_DEV),
        patch("merge", web(), "{}", "status", user=_DEV),
        get(obj("v1/Secret s"), user=_DEV),
        get(obj("v1/Secret t"), user=_DEV),
        listing(obj("v1/Secret s"), user=_DEV),
        get(obj("v1/Namespace nsaaaa"), user=_DEV),
        create(obj("rbac.authorization.k8s.io/v1/ClusterRole nsaaaa-x"), user=_DEV),
        at("list", "/apis/none.example/v1/namespaces/NS/things", user=_DEV),
        at("get", "/version", user=_DEV),
    ),
    case(
        "escalation",
        create(
            obj(
                "rbac.authorization.k8s.io/v1/Role r",
                "rules: [{apiGroups: [rbac.authorization.k8s.io], resources: [roles, rolebindings], verbs: ['*']}, {apiGroups: [''], resources: [configmaps], verbs: [get]}]",
            )
        ),
        create(_BINDING),
        Step(listing(obj("rbac.authorization.k8s.io/v1/Role x"), user=_DEV).request, until=200),
        create(
            obj(
                "rbac.authorization.k8s.io/v1/Role a",
                "rules: [{apiGroups: [''], resources: [configmaps], verbs: [get]}]",
            ),
            user=_DEV,
        ),
        create(
            obj(
                "rbac.authorization.k8s.io/v1/Role b",
                "rules: [{apiGroups: [''], resources: [secrets, configmaps], verbs: [get, list]}]",
            ),
            user=_DEV,
        ),
        create(
            obj(
                "rbac.authorization.k8s.io/v1/RoleBinding b",
                "{roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{kind: User, name: x}]}",
            ),
            user=_DEV,
        ),
    ),
    case(
        "strangers",
        get(cm("{}"), user="(bad token)"),
        get(cm("{}"), user="(anonymous)"),
        create(cm("{}"), user="(anonymous)"),
        get(cm("{}"), user="nobody"),
        at("get", "/healthz", user="nobody"),
        at("get", "/metrics", user="nobody"),
    ),
    case(
        "policy",
        create(_DENY),
        create(_DENY_BINDING),
        Step(create(cm("{bad: x}"), dry_run=True).request, until=422),
        create(cm("{bad: x}")),
        create(cm("{good: x}")),
        patch("merge", cm("{}"), "data: {bad: y}"),
        create(web(more="replicas: 9")),
        ssa(web(more="replicas: 9")),
        ssa(web(more="replicas: 5")),
        create(obj("v1/ConfigMap none")),
        delete(_DENY_BINDING),
        delete(_DENY),
    ),
    case(
        "dead_webhook",
        create(_DEAD),
        Step(create(cm("{}"), dry_run=True).request, until=500),
        create(cm("{a: b}")),
        ssa(cm("{a: b}")),
        create(obj("v1/Secret s")),
        delete(_DEAD),
    ),
    case("dead_lenient_webhook", create(_DEAD_LENIENT), create(cm("{a: b}")), delete(_DEAD_LENIENT)),
    case(
        "pod_security",
        patch(
            "merge",
            obj("v1/Namespace nsaaaa"),
            "metadata: {labels: {pod-security.kubernetes.io/enforce: restricted, pod-security.kubernetes.io/warn: restricted}}",
        ),
        Step(create(_POD, dry_run=True).request, until=403),
        create(_POD),
        create(web()),
        create(
            pod(
                "{hostNetwork: true, hostPID: true, volumes: [{name: h, hostPath: {path: /}}], containers: [{name: c, image: a, securityContext: {privileged: true, capabilities: {add: [SYS_ADMIN]}}, ports: [{containerPort: 80, hostPort: 80}]}]}",
                "b",
            )
        ),
        create(
            pod(
                "{securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}, containers: [{name: c, image: a, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]}",
                "d",
            )
        ),
    ),
    case(
        "pod_security_baseline",
        patch(
            "merge",
            obj("v1/Namespace nsaaaa"),
            "metadata: {labels: {pod-security.kubernetes.io/enforce: baseline, pod-security.kubernetes.io/warn: restricted, pod-security.kubernetes.io/enforce-version: v1.30}}",
        ),
        Step(
            create(pod("{hostPID: true, containers: [{name: c, image: a}]}"), dry_run=True).request, until=403
        ),
        create(_POD),
        create(pod("{hostIPC: true, containers: [{name: c, image: a}]}", "b")),
        create(web()),
    ),
    *(
        case(
            f"pod_security_checks_{level}",
            patch(
                "merge",
                obj("v1/Namespace nsaaaa"),
                f"metadata: {{labels: {{pod-security.kubernetes.io/enforce: {level}}}}}",
            ),
            Step(create(pod(_SECURED[0], "first"), dry_run=True).request, until=403),
            *(create(pod(spec, f"p{n}")) for n, spec in enumerate(_SECURED)),
        )
        for level in ("baseline", "restricted")
    ),
    *(case(f"path_{n}", at("get", where)) for n, where in enumerate(_PATHS)),
    case(
        "wrong_methods",
        at("create", f"{_SECURE}/configmaps/c", cm("{}")),
        at("update", f"{_SECURE}/configmaps", cm("{}")),
        at("merge-patch", f"{_SECURE}/configmaps", {}),
        at("create", "/api/v1/configmaps", cm("{}")),
        at("update", "/api/v1/configmaps", cm("{}")),
        at("create", f"{_SECURE}/namespaces", obj("v1/Namespace x")),
        at("create", "/apis/apps/v1", {}),
        at("delete", "/apis/apps/v1"),
        at("create", f"{_SECURE}/pods/none/status", _POD),
    ),
    case(
        "lists",
        create(cm("{a: b}")),
        create(obj("v1/ConfigMap d", "metadata: {labels: {a: b}}")),
        listing(cm("{}")),
        listing(obj("v1/Pod p")),
        listing(obj("apps/v1/Deployment d")),
    ),
)
