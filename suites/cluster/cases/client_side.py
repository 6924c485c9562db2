# ruff: noqa: E501  (a table: one object on a line)
"""kubectl's client-side apply, many times over: the patches that it works out, and what the server makes of them.

The patch is worked out on each side from what that side has.
"""

from __future__ import annotations

from suites.cluster.cases.server_side import cm, web
from suites.cluster.steps import Case, apply, case, create, get, obj, patch, ssa

_A = "{name: c, image: a, env: [{name: A, value: '1'}, {name: B, value: '2'}], resources: {limits: {cpu: 1000m}}}"
_SVC = "spec: {selector: {a: b}, ports: "

CASES: tuple[Case, ...] = (
    case(
        "same",
        apply(cm("{a: b}")),
        apply(cm("{a: b}")),
        apply(cm("{a: c, d: e}")),
        apply(cm("{d: e}")),
        apply(obj("v1/ConfigMap c")),
        get(cm("{}")),
    ),
    case(
        "deployment",
        apply(web()),
        apply(web()),
        apply(web("{name: c, image: b}")),
        apply(web("{name: c, image: b}, {name: d, image: d}")),
        apply(web("{name: d, image: d}")),
        apply(web("{name: d, image: d}, {name: c, image: c}")),
        get(web()),
    ),
    case(
        "env",
        apply(web(_A)),
        apply(web(_A)),
        apply(web(_A.replace("{name: A, value: '1'}, ", ""))),
        apply(web(_A.replace("value: '2'", "valueFrom: {secretKeyRef: {name: s, key: k}}"))),
        apply(web("{name: c, image: a}")),
    ),
    case(
        "replicas",
        apply(web(more="replicas: 2")),
        patch("merge", web(), "spec: {replicas: 7}", "scale", manager="hpa"),
        apply(web(more="replicas: 2")),
        patch("merge", web(), "spec: {replicas: 7}", "scale", manager="hpa"),
        apply(web()),
        apply(web()),
        get(web()),
    ),
    case(
        "drift",
        apply(cm("{a: b}")),
        patch("merge", cm("{}"), "{data: {a: x, z: y}, metadata: {labels: {l: m}}}", manager="someone"),
        apply(cm("{a: b}")),
        apply(cm("{}")),
    ),
    case(
        "labels",
        apply(cm("{}", "metadata: {labels: {a: b, c: d}, annotations: {e: f}}")),
        apply(cm("{}", "metadata: {labels: {a: b}}")),
        apply(cm("{}")),
        apply(cm("{}", "metadata: {labels: {a: null}}")),
    ),
    case(
        "service",
        apply(obj("v1/Service s", f"{_SVC}[{{port: 80}}]}}")),
        apply(obj("v1/Service s", f"{_SVC}[{{port: 80}}]}}")),
        apply(obj("v1/Service s", f"{_SVC}[{{port: 80, name: a}}, {{port: 81, name: b}}]}}")),
        apply(obj("v1/Service s", f"{_SVC}[{{port: 81, name: b}}]}}")),
        apply(obj("v1/Service s", f"{_SVC}[{{port: 81, name: b, targetPort: web}}], type: NodePort}}")),
        apply(obj("v1/Service s", f"{_SVC}[{{port: 81, name: b}}]}}")),
    ),
    case("strategy", apply(web()), apply(web(more="strategy: {type: Recreate}")), apply(web())),
    case(
        "immutable",
        apply(web()),
        apply(
            obj(
                "apps/v1/Deployment web",
                "spec: {selector: {matchLabels: {x: y}}, template: {metadata: {labels: {x: y}}, spec: {containers: [{name: c, image: a}]}}}",
            )
        ),
        apply(obj("v1/Secret s", "{type: a, data: {a: aGk=}}")),
        apply(obj("v1/Secret s", "{type: b, data: {a: aGk=}}")),
    ),
    case(
        "unknown_field",
        apply(web("{name: c, image: a, foo: bar}")),
        apply(web()),
        apply(web("{name: c, image: a, foo: bar}")),
    ),
    case("over_create", create(cm("{a: b, c: d}")), apply(cm("{a: b}")), apply(cm("{}"))),
    case("over_apply", ssa(cm("{a: b}")), apply(cm("{a: c}")), ssa(cm("{a: b}")), apply(cm("{}"))),
    case(
        "volumes",
        apply(
            obj(
                "apps/v1/Deployment web",
                "spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {volumes: [{name: v, emptyDir: {}}], containers: [{name: c, image: a}]}}}",
            )
        ),
        apply(
            obj(
                "apps/v1/Deployment web",
                "spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {volumes: [{name: v, configMap: {name: m}}], containers: [{name: c, image: a}]}}}",
            )
        ),
    ),
    case(
        "job",
        apply(
            obj(
                "batch/v1/Job j",
                "spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: a}]}}}",
            )
        ),
        apply(
            obj(
                "batch/v1/Job j",
                "spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: b}]}}}",
            )
        ),
    ),
    case(
        "finalizers",
        apply(cm("{}", "metadata: {finalizers: [a.example/x]}")),
        apply(cm("{}", "metadata: {finalizers: [a.example/y]}")),
        apply(cm("{}")),
    ),
    case(
        "null",
        apply(cm("{a: null}")),
        apply(web(more="replicas: null")),
        apply(cm("{a: b}")),
        apply(cm("{a: null}")),
    ),
    case(
        "ingress",
        apply(obj("networking.k8s.io/v1/Ingress i", "spec: {rules: [{host: a.example}, {host: b.example}]}")),
        apply(obj("networking.k8s.io/v1/Ingress i", "spec: {rules: [{host: b.example}]}")),
    ),
    case(
        "role",
        apply(
            obj(
                "rbac.authorization.k8s.io/v1/Role r",
                "rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]",
            )
        ),
        apply(
            obj(
                "rbac.authorization.k8s.io/v1/Role r",
                "rules: [{apiGroups: [''], resources: [pods], verbs: [get, list]}]",
            )
        ),
        apply(obj("rbac.authorization.k8s.io/v1/Role r", "rules: []")),
    ),
    case("too_big", apply(cm(f"{{a: {'z' * 262144}}}"))),
)
