# ruff: noqa: E501  (a table: one object on a line)
"""Merge, strategic and JSON patches."""

from __future__ import annotations

from suites.cluster.cases.server_side import cm, web
from suites.cluster.cases.workloads import workload
from suites.cluster.steps import Case, at, case, create, get, obj, patch

_WEB = web(
    "{name: c, image: a, env: [{name: A, value: '1'}, {name: B, value: '2'}], ports: [{containerPort: 80}], args: [x, y], volumeMounts: [{name: v, mountPath: /v}]}, {name: d, image: b}",
    "replicas: 2",
)
_WEB_SPEC = _WEB["spec"]
assert isinstance(_WEB_SPEC, dict)
_TEMPLATE = _WEB_SPEC["template"]
assert isinstance(_TEMPLATE, dict)
_POD_SPEC = _TEMPLATE["spec"]
assert isinstance(_POD_SPEC, dict)
_POD_SPEC["volumes"] = [{"name": "v", "emptyDir": {}}]
_POD_SPEC["tolerations"] = [{"key": "a", "operator": "Exists"}]
_SVC = obj("v1/Service s", "spec: {selector: {a: b}, ports: [{name: a, port: 80}, {name: b, port: 81}]}")
_T = "spec: {template: {spec: "

_STRATEGIC = (
    "spec: {replicas: 5}",
    "spec: {replicas: null}",
    "{}",
    "metadata: {labels: {a: b}}",
    "metadata: {annotations: null}",
    f"{_T}{{containers: [{{name: c, image: z}}]}}}}}}",
    f"{_T}{{containers: [{{name: e, image: z}}]}}}}}}",
    f"{_T}{{containers: [{{name: d, $patch: delete}}]}}}}}}",
    f"{_T}{{containers: [{{$patch: replace}}, {{name: z, image: z}}]}}}}}}",
    f"{_T}{{containers: [{{name: none, $patch: delete}}]}}}}}}",
    f"{_T}{{containers: null}}}}}}",
    f"{_T}{{$setElementOrder/containers: [{{name: d}}, {{name: c}}], containers: [{{name: c, image: q}}]}}}}}}",
    f"{_T}{{$setElementOrder/containers: [{{name: d}}], containers: [{{name: c, image: q}}]}}}}}}",
    f"{_T}{{containers: [{{name: c, env: [{{name: A, value: null}}]}}]}}}}}}",
    f"{_T}{{containers: [{{name: c, env: [{{name: B, $patch: delete}}, {{name: C, value: '3'}}]}}]}}}}}}",
    f"{_T}{{containers: [{{name: c, env: null, args: [z]}}]}}}}}}",
    f"{_T}{{containers: [{{name: c, ports: [{{containerPort: 80, name: web}}]}}]}}}}}}",
    f"{_T}{{containers: [{{name: c, ports: [{{containerPort: 80, $patch: delete}}]}}]}}}}}}",
    f"{_T}{{containers: [{{name: c, volumeMounts: [{{mountPath: /v, name: w}}]}}]}}}}}}",
    f"{_T}{{volumes: [{{name: v, emptyDir: null, configMap: {{name: m}}}}]}}}}}}",
    f"{_T}{{volumes: [{{name: v, $retainKeys: [name, configMap], configMap: {{name: m}}}}]}}}}}}",
    f"{_T}{{volumes: [{{name: v, configMap: {{name: m}}}}]}}}}}}",
    f"{_T}{{volumes: [{{name: v, $patch: replace, configMap: {{name: m}}}}]}}}}}}",
    f"{_T}{{tolerations: [{{key: b, operator: Exists}}]}}}}}}",
    f"{_T}{{imagePullSecrets: [{{name: s}}]}}}}}}",
    f"{_T}{{hostAliases: [{{ip: 1.2.3.4, hostnames: [h]}}]}}}}}}",
    f"{_T}{{nodeSelector: {{a: b}}}}}}}}",
    f"{_T}{{$patch: delete}}}}}}",
    "spec: {strategy: {type: Recreate}}",
    "spec: {strategy: {$retainKeys: [type], type: Recreate}}",
    "spec: {strategy: {$patch: replace, type: Recreate}}",
    "spec: {strategy: {type: Recreate, rollingUpdate: null}}",
    "spec: {selector: {matchLabels: {x: y}}}",
    "metadata: {finalizers: [a.example/b]}",
    "metadata: {$deleteFromPrimitiveList/finalizers: [a.example/b]}",
    "metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u}]}",
    "spec: abc",
    "[]",
    "spec: {template: {spec: {containers: [{image: a}]}}}",
    "spec: {template: {spec: {containers: [5]}}}",
    "spec: {$patch: unknown}",
    "metadata: {name: other}",
    "metadata: {resourceVersion: '1'}",
    "kind: Pod",
    "apiVersion: v2",
    "status: {replicas: 7}",
    f"{_T}{{topologySpreadConstraints: [{{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}}]}}}}}}",
)
_MERGE = (
    "spec: {replicas: 5}",
    "spec: null",
    "{}",
    "metadata: null",
    "metadata: {labels: null}",
    "spec: {template: {spec: {containers: [{name: c, image: z}]}}}",
    "spec: {template: {spec: {containers: []}}}",
    "spec: {template: {spec: {volumes: null}}}",
    "spec: {strategy: {rollingUpdate: null}}",
    "spec: {paused: true}",
    "spec: {paused: 'yes'}",
    "spec: {replicas: '3'}",
    "spec: {replicas: 1.5}",
    "[1]",
    "metadata: {name: null}",
    "metadata: {uid: x}",
    "metadata: {namespace: other}",
    "status: {replicas: 4}",
    "kind: null",
    "apiVersion: apps/v2",
    "metadata: {labels: {'a b': c}}",
    "metadata: {labels: {a: 5}}",
    "metadata: {generation: 99}",
)
_JSON = (
    "[]",
    "[{op: add, path: /spec/replicas, value: 3}]",
    "[{op: replace, path: /spec/nothing, value: 3}]",
    "[{op: remove, path: /spec/replicas}]",
    "[{op: test, path: /spec/replicas, value: 2}, {op: replace, path: /spec/replicas, value: 4}]",
    "[{op: test, path: /spec/replicas, value: 9}]",
    "[{op: test, path: /spec/none, value: 9}]",
    "[{op: add, path: /spec/template/spec/containers/-, value: {name: e, image: e}}]",
    "[{op: add, path: /spec/template/spec/containers/0, value: {name: e, image: e}}]",
    "[{op: remove, path: /spec/template/spec/containers/1}]",
    "[{op: remove, path: /spec/template/spec/containers/5}]",
    "[{op: replace, path: /spec/template/spec/containers/0/image, value: z}]",
    "[{op: copy, from: /spec/replicas, path: /spec/minReadySeconds}]",
    "[{op: move, from: /spec/replicas, path: /spec/minReadySeconds}]",
    "[{op: add, path: /metadata/labels, value: {}}, {op: add, path: /metadata/labels/a~1b, value: c}]",
    "[{op: add, path: /metadata/labels/a, value: c}]",
    "[{op: replace, path: '', value: {}}]",
    "[{op: jump, path: /a}]",
    "[{path: /a}]",
    "[{op: add}]",
    "[{op: add, path: spec, value: 1}]",
    "[5]",
    "{}",
    "[{op: add, path: /spec/replicas, value: x}]",
    "[{op: replace, path: /metadata/name, value: x}]",
    "[{op: remove, path: /spec/selector}]",
    "[{op: add, path: /spec/template/spec/containers/x, value: 1}]",
    "[{op: move, from: /spec/none, path: /spec/x}]",
    "[{op: add, path: /metadata/annotations/a, value: b}]",
    "[{op: replace, path: /spec, value: null}]",
)

CASES: tuple[Case, ...] = (
    *(
        case(
            f"strategic_{n}",
            create(_WEB),
            patch("strategic", _WEB, change),
            patch("strategic", _WEB, change, manager="again"),
        )
        for n, change in enumerate(_STRATEGIC)
    ),
    *(
        case(
            f"merge_{n}",
            create(_WEB),
            patch("merge", _WEB, change),
            patch("merge", _WEB, change, manager="again"),
        )
        for n, change in enumerate(_MERGE)
    ),
    *(
        case(
            f"json_{n}",
            create(_WEB),
            patch("json", _WEB, change),
            patch("json", _WEB, change, manager="again"),
        )
        for n, change in enumerate(_JSON)
    ),
    case(
        "service_ports",
        create(_SVC),
        patch("strategic", _SVC, "spec: {ports: [{port: 80, targetPort: 8080}]}"),
        patch("strategic", _SVC, "spec: {ports: [{port: 82, name: c}]}"),
        patch("strategic", _SVC, "spec: {ports: [{port: 81, $patch: delete}]}"),
        patch("merge", _SVC, "spec: {ports: [{port: 90}]}"),
        patch("strategic", _SVC, "spec: {selector: null}"),
        patch("strategic", _SVC, "spec: {type: NodePort}"),
        patch("strategic", _SVC, "spec: {type: ClusterIP}"),
    ),
    case(
        "config_map",
        create(cm("{a: b}")),
        patch("strategic", cm("{}"), "data: {c: d}"),
        patch("strategic", cm("{}"), "data: {$patch: replace, e: f}"),
        patch("strategic", cm("{}"), "data: null"),
        patch("merge", cm("{}"), "immutable: true"),
        patch("merge", cm("{}"), "data: {a: b}"),
    ),
    case(
        "missing",
        patch("strategic", cm("{}"), "data: {a: b}"),
        patch("merge", cm("{}"), "data: {a: b}"),
        patch("json", cm("{}"), "[]"),
    ),
    case(
        "dry_run",
        create(_WEB),
        patch("merge", _WEB, "spec: {replicas: 9}", dry_run=True),
        get(_WEB),
        patch("strategic", _WEB, "spec: {replicas: 9}", dry_run=True, manager="x"),
    ),
    case(
        "force_on_patch",
        create(_WEB),
        patch("merge", _WEB, "{}", force=True),
        patch("json", _WEB, "[]", force=False),
        at(
            "create",
            "/apis/apps/v1/namespaces/NS/deployments?force=true",
            workload("apps/v1/Deployment", name="f"),
        ),
    ),
    case(
        "secret",
        create(obj("v1/Secret s", "data: {a: aGk=}")),
        patch("strategic", obj("v1/Secret s"), "stringData: {a: x, b: y}"),
        patch("merge", obj("v1/Secret s"), "data: {a: null}"),
        patch("merge", obj("v1/Secret s"), "data: {a: '%'}"),
        patch("merge", obj("v1/Secret s"), "type: other"),
    ),
    case(
        "ingress",
        create(
            obj(
                "networking.k8s.io/v1/Ingress i",
                "spec: {rules: [{host: a.example}], tls: [{hosts: [a.example]}]}",
            )
        ),
        patch("strategic", obj("networking.k8s.io/v1/Ingress i"), "spec: {rules: [{host: b.example}]}"),
        patch("merge", obj("networking.k8s.io/v1/Ingress i"), "spec: {tls: null}"),
    ),
    case(
        "account",
        create(obj("v1/ServiceAccount a", "{secrets: [{name: s}], imagePullSecrets: [{name: x}]}")),
        patch(
            "strategic", obj("v1/ServiceAccount a"), "{secrets: [{name: t}], imagePullSecrets: [{name: y}]}"
        ),
    ),
    case(
        "webhooks",
        create(
            obj(
                "admissionregistration.k8s.io/v1/MutatingWebhookConfiguration nsaaaa-m",
                "webhooks: [{name: a.b.example, clientConfig: {url: 'https://127.0.0.1:1/x'}, sideEffects: None, admissionReviewVersions: [v1]}]",
            )
        ),
        patch(
            "strategic",
            obj("admissionregistration.k8s.io/v1/MutatingWebhookConfiguration nsaaaa-m"),
            "webhooks: [{name: a.b.example, clientConfig: {caBundle: aGk=}}]",
        ),
    ),
)
