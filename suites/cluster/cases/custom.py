# ruff: noqa: E501  (a table: one object on a line)
"""Definitions of custom resources: pruning, defaults, validation, CEL, subresources, versions, missing ones."""

from __future__ import annotations

import json

from suites.cluster.steps import (
    Case,
    Step,
    at,
    case,
    create,
    delete,
    edit,
    get,
    listing,
    obj,
    patch,
    put,
    ssa,
)
from whysync.json_tree import Json, Object, fields

_GROUP = "nsaaaa.example"


def definition(schema: str, more: str = "", version_more: str = "", scope: str = "Namespaced") -> Object:
    kind = "Thing" if scope == "Namespaced" else "WideThing"
    return obj(
        f"apiextensions.k8s.io/v1/CustomResourceDefinition {kind.lower()}s.{_GROUP}",
        f"spec: {{group: {_GROUP}, scope: {scope}, names: {{plural: {kind.lower()}s, kind: {kind}}}, versions: [{{name: v1, served: true, storage: true, "
        f"schema: {{openAPIV3Schema: {schema}}}{', ' + version_more if version_more else ''}}}]{', ' + more if more else ''}}}",
    )


def thing(rest: str = "", name: str = "t", kind: str = "Thing", version: str = "v1") -> Object:
    return obj(f"{_GROUP}/{version}/{kind} {name}", rest)


def ready(body: Object) -> tuple[Step, ...]:
    """A definition, and reads until the real server has caught up with it."""
    return (create(body), Step(listing(thing()).request, until=200))


_SPEC = "{type: object, properties: {spec: {type: object, properties: "


def schema(properties: str, more: str = "") -> str:
    return f"{_SPEC}{properties}{', ' + more if more else ''}}}, status: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}"


_PLAIN = schema(
    "{size: {type: integer, minimum: 1, maximum: 10}, colour: {type: string, enum: [red, blue], default: red}, name: {type: string, pattern: '^[a-z]+$', maxLength: 5, minLength: 2}, tags: {type: array, items: {type: string}, maxItems: 2}, "
    "map: {type: object, additionalProperties: {type: integer}}, deep: {type: object, default: {}, properties: {level: {type: integer, default: 3}}}, flag: {type: boolean}, ratio: {type: number}, any: {x-kubernetes-preserve-unknown-fields: true}, "
    "port: {x-kubernetes-int-or-string: true}, when: {type: string, format: date-time}, maybe: {type: string, nullable: true}}",
)
_LISTS = schema(
    "{ports: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [port], items: {type: object, required: [port], properties: {port: {type: integer}, name: {type: string}}}}, set: {type: array, x-kubernetes-list-type: set, items: {type: string}}, "
    "whole: {type: array, items: {type: object, properties: {a: {type: string}}}}, box: {type: object, x-kubernetes-map-type: atomic, properties: {a: {type: string}, b: {type: string}}}}"
)
_COMBINED = schema(
    "{one: {type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}, any: {type: object, properties: {a: {type: string}, b: {type: integer}}, anyOf: [{required: [a]}, {properties: {b: {minimum: 2}}, required: [b]}]}, "
    "every: {type: object, properties: {a: {type: string}, b: {type: integer}}, allOf: [{required: [a]}, {properties: {b: {minimum: 2}}}]}, never: {type: object, properties: {a: {type: string}, b: {type: string}}, not: {required: [a, b]}}, "
    "some: {type: object, minProperties: 1, maxProperties: 1, properties: {a: {type: string}, b: {type: string}}}, small: {type: integer, format: int32}, half: {type: number, multipleOf: 0.5}, level: {type: integer, enum: [1, 2]}, "
    "when: {type: string, format: date-time}, day: {type: string, format: date}, long: {type: string, format: duration}, link: {type: string, format: uri}, net: {type: string, format: cidr}, host: {type: string, format: hostname}, mail: {type: string, format: email}, raw: {type: string, format: byte}, "
    "mix: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], pattern: '^[0-9]+%?$'}, choice: {type: string, enum: [a], maxLength: 2}, "
    "template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}, list: {type: array, items: {type: object, properties: {n: {type: integer, maximum: 5}}}}}"
)
_COMBINED_VALUES = (
    "one: {a: x}", "one: {}", "one: {a: x, b: y}", "one: {a: 1}", "any: {a: x}", "any: {}", "any: {b: 1}", "any: {a: 1, b: 1}", "every: {a: x, b: 3}", "every: {b: 3}", "every: {b: 1}", "every: {}", "never: {a: x}", "never: {a: x, b: y}",
    "some: {}", "some: {a: x}", "some: {a: x, b: y}", "small: 2147483647", "small: 2147483648", "small: true", "small: x", "small: 1.5", "small: {}", "half: 1.5", "half: 1.2", "half: 2", "level: 3", "level: x",
    "when: 5", "when: true", "when: [a]", "when: '2020-01-01 00:00:00Z'", "when: '2020-01-01T00:00:60Z'", "when: '2020-01-01t00:00:00z'", "day: '2023-02-29'", "day: '2024-02-29'", "long: 1h", "long: 3 days", "long: 3 fortnights", "long: soon",
    "link: example.com", "link: 'https://example.com/%zz'", "link: 'urn:a:b'", "link: 'https://example.com:x/'", "link: 'https://a b/'", "net: 10.0.0.0", "net: 010.0.0.0/8", "net: 10.0.0.0/33", "net: 'fd00::/8'", "host: a_b", "host: a.example.com", "host: a.1", "mail: a@b", "mail: ann.example", "mail: 'Ann <a@b.example>'", "raw: aGk", "raw: aGk=", "raw: ''",
    "mix: 5", "mix: 5%", "mix: x", "mix: true", "mix: 1.5", "choice: abc", "choice: 5", "template: {}", "template: {apiVersion: v1, kind: Pod}", "template: {apiVersion: a/b/c, kind: ''}", "template: {apiVersion: v1, kind: P_d, metadata: {labels: {a: b c}}}", "template: {apiVersion: 5, kind: Pod}", "template: {apiVersion: v1, kind: Pod, metadata: {name: a, foo: b, labels: {a: b}}}", "template: {apiVersion: v1, kind: Pod, metadata: {labels: x}}", "list: [{n: 6}]", "{one: {}, small: x, choice: abc}",
)  # fmt: skip
_TIGHT = definition(
    schema(
        "{size: {type: integer, maximum: 5}, tags: {type: array, items: {type: string, enum: [a]}}, "
        "map: {type: object, additionalProperties: {type: integer, maximum: 0}}}"
    )
)
_RULES = schema(
    "{min: {type: integer}, max: {type: integer}, name: {type: string, x-kubernetes-validations: [{rule: 'self == oldSelf', message: name is immutable}]}, list: {type: array, maxItems: 5, items: {type: string, maxLength: 10}, "
    "x-kubernetes-validations: [{rule: 'self.all(x, x.startsWith(\"a\"))', message: all with a}]}}",
    "x-kubernetes-validations: [{rule: 'self.min <= self.max', message: min above max}, {rule: '!has(self.name) || self.name.size() > 1', messageExpression: '\"too short: \" + self.name', reason: FieldValueForbidden, fieldPath: .name}]",
)
_VALUES = (
    "spec: {size: 5}",
    "spec: {size: 0}",
    "spec: {size: 11}",
    "spec: {size: '5'}",
    "spec: {size: 1.5}",
    "spec: {size: null}",
    "spec: {colour: green}",
    "spec: {colour: null}",
    "spec: {name: A}",
    "spec: {name: abcdefg}",
    "spec: {name: a}",
    "spec: {tags: [a, b, c]}",
    "spec: {tags: a}",
    "spec: {tags: [1]}",
    "spec: {map: {a: 1}}",
    "spec: {map: {a: b}}",
    "spec: {deep: {}}",
    "spec: {deep: {level: 7, extra: 1}}",
    "spec: {flag: 'true'}",
    "spec: {ratio: 1}",
    "spec: {ratio: 1.5e3}",
    "spec: {any: {a: [1, {b: c}]}}",
    "spec: {port: 80}",
    "spec: {port: http}",
    "spec: {port: 1.5}",
    "spec: {port: true}",
    "spec: {when: yesterday}",
    "spec: {when: '2020-01-01T00:00:00Z'}",
    "spec: {maybe: null}",
    "spec: {unknown: 1}",
    "spec: []",
    "spec: null",
    "other: 1",
    "status: {a: b}",
    "{spec: {size: 0, colour: x, name: A, flag: 1}}",
    "metadata: {labels: {a: 5}}",
    "metadata: {foo: bar}",
)
_DEFINITION_MISTAKES: dict[str, Object] = {
    "no_group_match": obj(
        "apiextensions.k8s.io/v1/CustomResourceDefinition a.b",
        f"spec: {{group: {_GROUP}, scope: Namespaced, names: {{plural: things, kind: Thing}}, versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}]}}",
    ),
    "no_versions": obj(
        f"apiextensions.k8s.io/v1/CustomResourceDefinition things.{_GROUP}",
        f"spec: {{group: {_GROUP}, scope: Namespaced, names: {{plural: things, kind: Thing}}, versions: []}}",
    ),
    "empty": obj(f"apiextensions.k8s.io/v1/CustomResourceDefinition things.{_GROUP}", "spec: {}"),
    "scope": definition("{type: object}", scope="Galaxy"),
    "no_type": definition("{properties: {spec: {type: object}}}"),
    "no_inner_type": definition("{type: object, properties: {spec: {properties: {a: {type: string}}}}}"),
    "list_map_no_keys": definition(
        schema(
            "{a: {type: array, x-kubernetes-list-type: map, items: {type: object, properties: {k: {type: string}}}}}"
        )
    ),
    "list_set_objects": definition(
        schema("{a: {type: array, x-kubernetes-list-type: set, items: {type: object}}}")
    ),
    "default_type": definition(schema("{a: {type: string, default: 5}}")),
    "bad_rule": definition(schema("{a: {type: string, x-kubernetes-validations: [{rule: 'self +'}]}}")),
    "two_storage": obj(
        f"apiextensions.k8s.io/v1/CustomResourceDefinition things.{_GROUP}",
        f"spec: {{group: {_GROUP}, scope: Namespaced, names: {{plural: things, kind: Thing}}, versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}, {{name: v2, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}]}}",
    ),
    "kind_lower": obj(
        f"apiextensions.k8s.io/v1/CustomResourceDefinition things.{_GROUP}",
        f"spec: {{group: {_GROUP}, scope: Namespaced, names: {{plural: Things, kind: 'T hing'}}, versions: [{{name: V1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}]}}",
    ),
    "nested_type": definition(
        schema("{a: {type: object, properties: {b: {type: string}}, oneOf: [{type: object, required: [b]}]}}")
    ),
    "undescribed": definition(
        "{type: object, properties: {spec: {type: object}}, anyOf: [{properties: {other: {minLength: 1}}}]}"
    ),
    "undescribed_inside": definition(
        schema("{a: {type: object, anyOf: [{properties: {other: {minLength: 1}}}]}}")
    ),
    "int_or_string": definition(
        schema(
            "{a: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}, b: {x-kubernetes-int-or-string: true, "
            "allOf: [{anyOf: [{type: integer}, {type: string}]}, {pattern: a}]}}"
        )
    ),
    "embedded": definition(schema("{a: {x-kubernetes-embedded-resource: true}}")),
    "default_inside": definition(
        schema("{a: {type: object, default: {b: x}, properties: {b: {type: integer}}}}")
    ),
    "scale_paths": definition(
        "{type: object}",
        version_more="subresources: {scale: {specReplicasPath: .status.n, statusReplicasPath: n, labelSelectorPath: .x}}",
    ),
    "scale": definition(
        "{type: object}",
        version_more="subresources: {scale: {specReplicasPath: replicas, statusReplicasPath: .status.replicas}}",
    ),
    "column": definition(
        "{type: object}", version_more="additionalPrinterColumns: [{name: A, type: text, jsonPath: spec}]"
    ),
}
_TWO = obj(
    f"apiextensions.k8s.io/v1/CustomResourceDefinition things.{_GROUP}",
    f"spec: {{group: {_GROUP}, scope: Namespaced, names: {{plural: things, kind: Thing, shortNames: [th], categories: [all]}}, versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {schema('{a: {type: string}}')}}}}}, "
    f"{{name: v1beta1, served: true, storage: false, deprecated: true, schema: {{openAPIV3Schema: {schema('{a: {type: string}, b: {type: string, default: x}}')}}}}}, {{name: v1alpha1, served: false, storage: false, schema: {{openAPIV3Schema: {{type: object}}}}}}]}}",
)


def replaced(body: Object, change: str) -> Step:
    return edit(body, change)


_WITH_STATUS = definition(
    schema("{replicas: {type: integer}, a: {type: string, default: x}}"),
    version_more="subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}}",
)
_NOTHING: Json = None

CASES: tuple[Case, ...] = (
    case(
        "values",
        *ready(definition(_PLAIN)),
        *(create(thing(value, f"t{n}")) for n, value in enumerate(_VALUES)),
    ),
    case(
        "values_strict",
        *ready(definition(_PLAIN)),
        *(create(thing(value, f"t{n}"), validation="Strict") for n, value in enumerate(_VALUES)),
    ),
    case(
        "values_ssa",
        *ready(definition(_PLAIN)),
        *(ssa(thing(value, f"t{n}")) for n, value in enumerate(_VALUES)),
    ),
    case(
        "values_merge",
        *ready(definition(_PLAIN)),
        create(thing("spec: {size: 1}")),
        *(patch("merge", thing(), value) for value in _VALUES),
    ),
    *(
        case(
            f"combined_{start}",
            *ready(definition(_COMBINED)),
            *(
                create(thing(f"spec: {{{value.strip('{}') if value.startswith('{') else value}}}", f"t{n}"))
                for n, value in enumerate(_COMBINED_VALUES[start : start + 20])
            ),
        )
        for start in range(0, len(_COMBINED_VALUES), 20)
    ),
    case(
        "tightened",
        *ready(definition(_PLAIN)),
        create(thing("spec: {tags: [a, b], map: {a: 1}, size: 9}")),
        edit(definition(_PLAIN), f"spec: {{versions: {json.dumps(fields(_TIGHT['spec'])['versions'])}}}"),
        # The server needs a moment to use the new schema.
        Step(patch("merge", thing(), "spec: {size: 8}").request, until=422),
        patch("merge", thing(), "metadata: {labels: {a: b}}"),
        patch("merge", thing(), "spec: {tags: [a, b, a]}"),
        patch("merge", thing(), "spec: {map: {b: 0}}"),
        patch("merge", thing(), "spec: {map: {b: 1}}"),
    ),
    case(
        "writes",
        *ready(definition(_PLAIN)),
        create(thing("spec: {size: 1}")),
        put(thing("spec: {size: 2}")),
        edit(thing(), "spec: {size: 3}"),
        patch("strategic", thing(), "spec: {size: 4}"),
        patch("json", thing(), "[{op: replace, path: /spec/size, value: 5}]"),
        ssa(thing("spec: {size: 6}")),
        ssa(thing("spec: {size: 6}"), force=True),
        ssa(thing("spec: {colour: blue}"), "two"),
        get(thing()),
        listing(thing()),
        delete(thing()),
        get(thing()),
    ),
    case(
        "lists",
        *ready(definition(_LISTS)),
        ssa(
            thing("spec: {ports: [{port: 1}, {port: 2, name: b}], set: [a, b], whole: [{a: x}], box: {a: x}}")
        ),
        ssa(thing("spec: {ports: [{port: 2, name: c}], set: [b, c], whole: [{a: y}], box: {b: y}}"), "two"),
        ssa(thing("spec: {ports: [{port: 3}], set: [c]}"), "two"),
        ssa(thing("spec: {ports: [{port: 1}, {port: 1}]}"), "three"),
        ssa(thing("spec: {set: [a, a]}"), "three"),
        ssa(thing("spec: {ports: [{name: x}]}"), "three"),
        create(thing("spec: {ports: [{port: 1}, {port: 1}], set: [a, a]}", "u")),
        ssa(thing("spec: {ports: [{port: 1}]}")),
        get(thing()),
    ),
    case(
        "rules",
        *ready(definition(_RULES)),
        create(thing("spec: {min: 1, max: 2, name: ab}")),
        create(thing("spec: {min: 3, max: 2}", "u")),
        create(thing("spec: {min: 1}", "v")),
        create(thing("spec: {min: 1, max: 2, name: a}", "w")),
        create(thing("spec: {min: 1, max: 2, list: [a, b]}", "x")),
        patch("merge", thing(), "spec: {name: cd}"),
        patch("merge", thing(), "spec: {min: 9}"),
        patch("merge", thing(), "spec: {name: null}"),
        patch("merge", thing(), "spec: {name: zz}"),
        ssa(thing("spec: {min: 5, max: 4}"), force=True),
    ),
    case(
        "status",
        *ready(_WITH_STATUS),
        create(thing("{spec: {replicas: 2}, status: {replicas: 1}}")),
        patch("merge", thing(), "{spec: {replicas: 3}, status: {replicas: 2, selector: a=b}}", "status"),
        get(thing(), "scale"),
        patch("merge", thing(), "spec: {replicas: 5}", "scale"),
        patch("merge", thing(), "status: {replicas: 9}"),
        put(thing("spec: {replicas: 6}")),
        ssa(thing("status: {replicas: 7}"), "ctl", "status"),
        ssa(thing("{spec: {a: y}, status: {replicas: 8}}"), "two"),
        edit(thing(), "status: {x: y}", "status"),
        get(thing(), "status"),
        patch("merge", thing(), "metadata: {labels: {a: b}}", "status"),
        get(thing()),
    ),
    case(
        "no_status",
        *ready(definition(_PLAIN)),
        create(thing("{spec: {size: 1}, status: {a: b}}")),
        patch("merge", thing(), "status: {a: c}", "status"),
        get(thing(), "scale"),
        patch("merge", thing(), "status: {a: c}"),
    ),
    case(
        "versions",
        *ready(_TWO),
        create(thing("spec: {a: b, b: c}")),
        get(thing(version="v1beta1")),
        create(thing("spec: {a: b}", "u", version="v1beta1")),
        get(thing(name="u")),
        get(thing(version="v1alpha1")),
        patch("merge", thing(version="v1beta1"), "spec: {b: z}"),
        ssa(thing("spec: {b: q}", version="v1beta1")),
        get(thing()),
        at("list", f"/apis/{_GROUP}/v3/namespaces/NS/things"),
    ),
    case(
        "wide",
        create(definition(_PLAIN, scope="Cluster")),
        Step(listing(thing(kind="WideThing")).request, until=200),
        create(thing("spec: {size: 1}", "nsaaaa", "WideThing")),
        at("create", f"/apis/{_GROUP}/v1/namespaces/NS/widethings", thing(kind="WideThing")),
        get(thing(name="nsaaaa", kind="WideThing")),
        delete(thing(name="nsaaaa", kind="WideThing")),
    ),
    case(
        "missing",
        create(thing()),
        get(thing()),
        ssa(thing()),
        delete(thing()),
        listing(thing()),
        at("list", "/apis/none.example/v1/things"),
        at("list", "/apis/none.example"),
        at("list", "/apis/apps/v9/namespaces/NS/deployments"),
        at("list", "/apis/apps/v1/namespaces/NS/nothings"),
        at("create", "/apis/extensions/v1beta1/namespaces/NS/ingresses", obj("extensions/v1beta1/Ingress i")),
    ),
    case(
        "held_definition",
        *ready(definition(_PLAIN)),
        create(thing("metadata: {finalizers: [a.example/x]}")),
        at("get", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{_GROUP}"),
    ),
    case(
        "definition_edits",
        *ready(definition(_PLAIN)),
        replaced(definition(_PLAIN), "spec: {scope: Cluster}"),
        replaced(definition(_PLAIN), "spec: {group: other.example}"),
        replaced(definition(_PLAIN), "spec: {names: {kind: Other}}"),
        replaced(definition(_PLAIN), "spec: {versions: []}"),
        replaced(definition(_PLAIN), "spec: {preserveUnknownFields: true}"),
        replaced(definition(_PLAIN), "metadata: {labels: {a: b}}"),
        put(definition(_PLAIN)),
        ssa(definition(_PLAIN), "one"),
        ssa(definition(_PLAIN), "one", force=True),
    ),
    case(
        "decoding",
        *ready(definition(_PLAIN)),
        create({**thing(), "kind": "Other"}),
        at("create", f"/apis/{_GROUP}/v1/namespaces/NS/things", {**thing(), "kind": "Other"}),
        at("create", f"/apis/{_GROUP}/v1/namespaces/NS/things", {**thing(), "apiVersion": "v1"}),
        at("create", f"/apis/{_GROUP}/v1/namespaces/NS/things", {"metadata": {"name": "x"}}),
        at("create", f"/apis/{_GROUP}/v1/namespaces/NS/things", {**thing(), "metadata": {}}),
        at("create", f"/apis/{_GROUP}/v1/namespaces/NS/things", {**thing(), "metadata": "x"}),
        at("create", f"/apis/{_GROUP}/v1/namespaces/NS/things", thing(name="A_")),
    ),
    *(case(f"definition_{name}", create(body)) for name, body in _DEFINITION_MISTAKES.items()),
)
