# ruff: noqa: E501  (a table: one object on a line)
"""Corners that recorded answers left out: rare formats, broken expressions, scales, percentages, wrong types."""

from __future__ import annotations

from suites.cluster.cases.custom import definition, ready, schema, thing
from suites.cluster.steps import Case, Step, at, case, create, delete, get, obj, patch, put, ssa, tree
from whysync.json_tree import Json, Object, fields

_FORMATS = {
    "isbn": ("0-306-40615-2", "978-0-306-40615-7", "080442957X", "0804429570", "978-0-306-40615-8", "isbn", ""),
    "isbn10": ("0 306 40615 2", "0306406153", "978-0-306-40615-7", "080442957x"),
    "isbn13": ("978 0306406157", "9780306406150", "0-306-40615-2"),
    "creditcard": ("4111 1111 1111 1111", "4111111111111112", "378282246310005", "5555-5555-5555-4444", "2223003122003222", "62000000000000", "1234"),
    "ssn": ("123-45-6789", "123 45 6789", "123456789", "123-456-789"),
    "hexcolor": ("#fff", "FFFFFF", "#ffff", "red"),
    "rgbcolor": ("rgb(0, 10,255)", "rgb( 1 , 2 , 3 )", "rgb(256,0,0)", "rgb(01,0,0)", "rgba(1,1,1,1)", "RGB(1,1,1)"),
    "bsonobjectid": ("507f1f77bcf86cd799439011", "507F1F77BCF86CD799439011", "507f1f77bcf86cd79943901", "507f1f77bcf86cd79943901g"),
    "password": ("", "anything"),
    "uuid3": ("6fa459ea-ee8a-3ca4-894e-db77e160355e", "6fa459ea-ee8a-4ca4-894e-db77e160355e"),
    "k8s-short-name": ("a-b", "a.b", "A"),
}  # fmt: skip
_WITH_FORMATS = definition(
    schema(
        f"{{{', '.join(f'{name}: {{type: string, format: {name}}}' for name in _FORMATS)}, odd: {{type: string, format: nothing-known}}}}"
    )
)
_BROKEN_RULES = (
    "self.a >", "self.a ==", "(self.a", "self.a)", "self.a]", "self.[", "self.a[", "self.a['x'", "self..a", "", " ", "self.a = 'x'",
    "self.a == 'x", "self.a == \"x'", "self.a && ", "!", "has(self.a", "has()", "has(self)", "self.a ? 'x'", "self.a ? true : ", "self.all(x)", "1 2",
    "self.a == `x`", "if self.a", "self.a; true", "self.a == 0x", "self.a in [", "{'a': 1", "self.é == 'x'", "self.a // note", "self.a == '\\\\q'",
)  # fmt: skip
_WEB = "apps/v1/Deployment web"
_TEMPLATE = "selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: a}]}}"
_PERCENTAGES = (
    "'25'", "'25%%'", "'-5%'", "'0%'", "'101%'", "'25 %'", "'1.5%'", "' 25%'", "'%'", "''", "'1e2%'", "2.0", "2.5", "true", "-1", "'٢%'", "4294967296", "[1]", "{a: 1}", "'+5%'", "'0x1%'", "'2147483648%'",
)  # fmt: skip
_WRONG: dict[str, str] = {
    "replicas_text": "spec: {replicas: three}",
    "replicas_number_text": "spec: {replicas: '3'}",
    "replicas_float": "spec: {replicas: 3.5}",
    "replicas_whole_float": "spec: {replicas: 3.0}",
    "replicas_large": "spec: {replicas: 3000000000}",
    "replicas_true": "spec: {replicas: true}",
    "spec_list": "spec: []",
    "spec_text": "spec: text",
    "labels_number": "metadata: {labels: {a: 1}}",
    "labels_list": "metadata: {labels: [a]}",
    "annotations_true": "metadata: {annotations: {a: true}}",
    "finalizers_text": "metadata: {finalizers: a/b}",
    "containers_map": "spec: {template: {spec: {containers: {name: c}}}}",
    "containers_numbers": "spec: {template: {spec: {containers: [1]}}}",
    "image_number": "spec: {template: {spec: {containers: [{name: c, image: 5}]}}}",
    "paused_text": "spec: {paused: 'true'}",
    "strategy_text": "spec: {strategy: Recreate}",
}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _web(more: str = "") -> Object:
    return obj(_WEB, f"spec: {{{_TEMPLATE}{', ' + more if more else ''}}}")


def _changed(change: str) -> Object:
    """The Deployment with another spec or other metadata."""
    changed = fields(tree(change))
    metadata: Json = {"name": "web", **fields(changed.get("metadata"))}
    return {**_web(), **changed, "metadata": metadata}


def _surge(value: str) -> Object:
    return _web(f"strategy: {{type: RollingUpdate, rollingUpdate: {{maxSurge: {value}}}}}")


def _scale(more: str) -> Object:
    return obj("autoscaling/v1/Scale web", more)


def _scaled(verb: str, body: Json, **more: object) -> Step:
    return at(verb, "/apis/apps/v1/namespaces/NS/deployments/web/scale", body, **more)


_CHILD = obj(
    "v1/ConfigMap child",
    "metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: 5d5f5a5e-0000-4000-8000-000000000001, blockOwnerDeletion: true}]}",
)

CASES: tuple[Case, ...] = (
    *(
        case(
            f"format_{name}",
            *ready(_WITH_FORMATS),
            *(create(thing(f"spec: {{{name}: '{value}'}}", f"t{n}")) for n, value in enumerate(values)),
            create(thing(f"spec: {{{name}: 5}}", "number")),
            create(thing("spec: {odd: whatever}", "odd")),
        )
        for name, values in _FORMATS.items()
    ),
    *(
        case(
            f"rule_{n}",
            create(
                definition(
                    schema(
                        f"{{a: {{type: string, x-kubernetes-validations: [{{rule: {_quoted(rule.replace('self.a', 'self'))}}}]}}}}",
                        f"x-kubernetes-validations: [{{rule: {_quoted(rule)}}}]",
                    )
                )
            ),
        )
        for n, rule in enumerate(_BROKEN_RULES)
    ),
    case(
        "scale",
        create(_web("replicas: 2")),
        get(_web(), "scale"),
        _scaled("ssa", _scale("spec: {replicas: 3}"), manager="hpa"),
        _scaled("ssa", _scale("spec: {replicas: 3}"), manager="hpa", force=True),
        get(_web()),
        _scaled("ssa", _scale("spec: {replicas: 4}"), manager="other"),
        _scaled("ssa", _scale("spec: {replicas: 4}"), manager="other", force=True),
        _scaled("ssa", _scale("spec: {replicas: -1}"), manager="other", force=True),
        _scaled("ssa", _scale("spec: {replicas: x}"), manager="other", force=True),
        _scaled("ssa", _scale("spec: {replicas: 2.5}"), manager="other", force=True),
        _scaled("ssa", _scale("spec: {size: 2}"), manager="other", force=True),
        _scaled("ssa", _scale("{}"), manager="other"),
        get(_web()),
        ssa(_web("replicas: 1")),
        ssa(_web("replicas: 1"), force=True),
        _scaled("merge-patch", {"spec": {"replicas": 6}}, manager="hpa"),
        _scaled("merge-patch", {"spec": {"replicas": "6"}}, manager="hpa"),
        _scaled("strategic-patch", {"spec": {"replicas": 7}}, manager="hpa"),
        _scaled("json-patch", [{"op": "replace", "path": "/spec/replicas", "value": 8}], manager="hpa"),
        _scaled("merge-patch", {"spec": {"replicas": 9}}, manager="hpa", dry_run=True),
        get(_web(), "scale"),
        get(_web()),
    ),
    case("scale_missing", _scaled("ssa", _scale("spec: {replicas: 3}"), manager="hpa")),
    *(
        case(f"surge_{n}", create(_surge(value)), ssa(_surge(value)))
        for n, value in enumerate(_PERCENTAGES)
    ),
    *(
        case(
            f"wrong_{name}",
            create(_web()),
            patch("merge", _web(), change),
            patch("strategic", _web(), change),
            ssa(_changed(change)),
            get(_web()),
        )
        for name, change in _WRONG.items()
    ),
    case(
        "wrong_json",
        create(_web("replicas: 1")),
        *(
            patch("json", _web(), f"[{change}]")
            for change in (
                "{op: replace, path: /spec/replicas, value: three}",
                "{op: replace, path: /spec/replicas, value: 1.5}",
                "{op: add, path: /metadata/labels, value: {a: 1}}",
                "{op: replace, path: /spec/template/spec/containers/0/image, value: 5}",
                "{op: replace, path: /spec/template/spec/containers/3/image, value: a}",
                "{op: remove, path: /spec/none}",
                "{op: test, path: /spec/replicas, value: 2}",
                "{op: wrong, path: /spec/replicas}",
                "{op: add, path: spec/replicas, value: 2}",
                "{op: move, from: /spec/replicas, path: /spec/none}",
                "{op: replace, path: /spec, value: []}",
            )
        ),
        get(_web()),
    ),
    case(
        "dry_run",
        create(_web("replicas: 1"), dry_run=True),
        get(_web()),
        ssa(_web("replicas: 1"), dry_run=True),
        get(_web()),
        ssa(_web("replicas: 1")),
        ssa(_web("replicas: 2"), dry_run=True),
        ssa(_web("replicas: 3"), "two", dry_run=True),
        ssa(_web("replicas: 3"), "two", dry_run=True, force=True),
        patch("merge", _web(), "spec: {replicas: 4}", dry_run=True),
        put(_web("replicas: 5"), dry_run=True),
        get(_web()),
        create(_web(), dry_run=True),
        create(obj("v1/Service s", "spec: {ports: [{port: 80}], type: NodePort}"), dry_run=True),
        get(obj("v1/Service s")),
    ),
    case(
        "foreground",
        create(obj("v1/ConfigMap owner")),
        create(_CHILD),
        delete(obj("v1/ConfigMap owner"), "propagationPolicy: Foreground"),
        get(obj("v1/ConfigMap owner")),
        delete(obj("v1/ConfigMap owner"), "propagationPolicy: Background"),
        get(obj("v1/ConfigMap owner")),
        patch("merge", obj("v1/ConfigMap owner"), "metadata: {finalizers: null}"),
        get(obj("v1/ConfigMap owner")),
    ),
    case(
        "names_that_are_numbers",
        create(obj("v1/ConfigMap", "metadata: {name: 5}")),
        create(obj("v1/ConfigMap", "metadata: {name: '5'}")),
        create(obj("v1/ConfigMap c", "{metadata: {name: c}, data: {a: 5}}")),
        create(obj("v1/ConfigMap c", "{metadata: {name: c}, data: {'5': a}}")),
        ssa(obj("v1/ConfigMap d", "{metadata: {name: d}, data: {a: true}}")),
        create(obj("v1/Service", "{metadata: {name: '5'}, spec: {ports: [{port: 80}]}}")),
        create(obj("v1/ConfigMap", "{metadata: {name: true}}")),
        create(obj("v1/ConfigMap", "{metadata: {name: null}}")),
    ),
    case(
        "ip_mode",
        create(obj("v1/Service s", "spec: {ports: [{port: 80}], type: LoadBalancer}")),
        patch("merge", obj("v1/Service s"), "status: {loadBalancer: {ingress: [{ip: 192.0.2.1}, {hostname: a.example.com}]}}", "status"),
        patch("merge", obj("v1/Service s"), "status: {loadBalancer: {ingress: [{ip: 192.0.2.1, ipMode: Proxy}, {hostname: a.example.com, ipMode: VIP}]}}", "status"),
        patch("merge", obj("v1/Service s"), "status: {loadBalancer: {ingress: [{ip: 192.0.2.300}, {ip: 192.0.2.2, ipMode: Other}]}}", "status"),
        patch("merge", obj("v1/Service s"), "spec: {type: ClusterIP}"),
        get(obj("v1/Service s")),
    ),
)  # fmt: skip
