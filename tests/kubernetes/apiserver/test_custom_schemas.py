"""Values of custom resources against their schemas: combinations, formats, embedded resources, updates."""

from __future__ import annotations

import pytest

from tests.kubernetes.apiserver.talk import Talk, definition, message_of, widget
from whysync.json_tree import Json, Object, dig, fields, items
from whysync.kubernetes.apiserver.custom_resources import pruned
from whysync.kubernetes.apiserver.schema_formats import STRING_FORMATS

STRINGS: Object = {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "integer"}}


def define(talk: Talk, spec: Object) -> None:
    answer = talk.create(definition({"type": "object", "properties": {"spec": spec}}))
    assert answer.code == 201, message_of(answer)


def causes(talk: Talk, value: Object) -> list[str]:
    """The causes of the refusal of a new object, as `field: message`; empty if it is accepted."""
    answer = talk.create(widget(value))
    if answer.code == 201:
        talk.delete(widget({}))
        return []
    message = message_of(answer).removeprefix('Widget.shop.example "w" is invalid: ')
    return message.removeprefix("[").removesuffix("]").split(", ") if message.startswith("[") else [message]


ONE_OF = '<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). '


@pytest.mark.parametrize(
    ("combination", "value", "expected"),
    [
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": "x"}, []),
        (
            {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"c": 1},
            [f"{ONE_OF}Found none valid", "spec.a: Required value"],
        ),
        (
            {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"a": "x", "b": "y"},
            [f"{ONE_OF}Found 2 valid alternatives"],
        ),
        (
            # The alternative of which more checks pass is reported.
            {"oneOf": [{"required": ["a"]}, {"required": ["b"], "properties": {"c": {"minimum": 0}}}]},
            {"c": 1},
            [f"{ONE_OF}Found none valid", "spec.b: Required value"],
        ),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": "x", "b": "y"}, []),
        (
            {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {},
            [
                '<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf)',
                "spec.a: Required value",
            ],
        ),
        (
            {"allOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"b": "y"},
            [
                "spec.a: Required value",
                '<nil>: Invalid value: "": "spec" must validate all the schemas (allOf)',
            ],
        ),
        (
            {"allOf": [{"required": ["a"]}, {"properties": {"c": {"minimum": 2}}}]},
            {"c": 1},
            [
                "spec.a: Required value",
                "spec.c: Invalid value: 1: spec.c in body should be greater than or equal to 2",
                '<nil>: Invalid value: "": "spec" must validate all the schemas (allOf). None validated',
            ],
        ),
        (
            {"not": {"required": ["a", "b"]}},
            {"a": "x", "b": "y"},
            ['<nil>: Invalid value: "": "spec" must not validate the schema (not)'],
        ),
        ({"not": {"required": ["a", "b"]}}, {"a": "x"}, []),
        (
            {"minProperties": 1},
            {},
            ["spec: Invalid value: 0: spec in body should have at least 1 properties"],
        ),
        ({"maxProperties": 1}, {"a": "x", "b": "y"}, ["spec: Too many: 2: must have at most 1 item"]),
    ],
)
def test_combined_schemas(talk: Talk, combination: Object, value: Object, expected: list[str]) -> None:
    define(talk, {"type": "object", "properties": STRINGS, **combination})
    assert causes(talk, value) == expected


def integer(form: str, **more: Json) -> Object:
    return {"type": "integer", "format": form, **more}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (integer("int32"), 2147483647, []),
        (
            integer("int32"),
            2147483648,
            ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.v'],
        ),
        (
            integer("int32"),
            True,
            ['spec.v: Invalid value: "": spec.v in body must be of type int32: ""'],
        ),
        (
            integer("int64"),
            "5",
            ['spec.v: Invalid value: "string": spec.v in body must be of type integer: "string"'],
        ),
        (integer("uint8"), 300, []),
        (
            integer("int32", maximum=5),
            6,
            ["spec.v: Invalid value: 6: spec.v in body should be less than or equal to 5"],
        ),
        ({"type": "number", "multipleOf": 0.5}, 1.5, []),
        (
            {"type": "number", "multipleOf": 0.5},
            1.2,
            ["spec.v: Invalid value: 1.2: spec.v in body should be a multiple of 0.5"],
        ),
        (
            {"type": "integer", "enum": [1, 2]},
            3,
            ['spec.v: Unsupported value: 3: supported values: "1", "2"'],
        ),
        (
            {"type": "string", "format": "date-time"},
            5,
            ['spec.v: Invalid value: "int64": spec.v in body must be of type date-time: "int64"'],
        ),
        (
            # Several mistakes in one value: the server reports its type first, then the others.
            {"type": "string", "enum": ["a"], "maxLength": 2},
            "abc",
            [
                "spec.v: Too long: may not be more than 2 bytes",
                'spec.v: Unsupported value: "abc": supported values: "a"',
            ],
        ),
        (
            {"type": "string", "enum": ["a"]},
            5,
            [
                'spec.v: Invalid value: "integer": spec.v in body must be of type string: "integer"',
                'spec.v: Unsupported value: 5: supported values: "a"',
            ],
        ),
    ],
)
def test_single_values(talk: Talk, schema: Object, value: Json, expected: list[str]) -> None:
    define(talk, {"type": "object", "properties": {"v": schema}})
    assert causes(talk, {"v": value}) == expected


@pytest.mark.parametrize(
    ("form", "valid", "wrong"),
    [
        ("date", "2024-02-29", "2023-02-29"),
        ("date-time", "2020-01-01T00:00:00.5+02:00", "2020-01-01T00:00:60Z"),
        ("date-time", "2020-01-01t00:00:00z", "2020-01-01 00:00:00Z"),
        ("duration", "1h30m", "soon"),
        ("duration", "3 days", "3 fortnights"),
        ("ipv4", "010.0.0.1", "::1"),
        ("ipv6", "::1", "10.0.0.1"),
        ("cidr", "10.0.0.0/8", "10.0.0.0"),
        ("cidr", "fd00::/8", "10.0.0.0/33"),
        ("mac", "00:00:5e:00:53:01", "00:00:5e:00:53"),
        ("mac", "0000.5e00.5301", "00:00-5e:00:53:01"),
        ("uri", "https://example.com:8080/a%20b?c=d", "example.com"),
        ("uri", "/path", "https://example.com/%zz"),
        ("uri", "urn:a:b", "https://example.com:port/"),
        ("hostname", "a-b.example.com", "a_b"),
        ("email", "Ann <ann@example.com>", "ann.example.com"),
        ("byte", "aGk=", "aGk"),
        ("hexcolor", "#ff0", "#ff00"),
        ("rgbcolor", "rgb( 0,10,255 )", "rgb(0,10,256)"),
        ("isbn", "978-0-306-40615-7", "978-0-306-40615-8"),
        ("isbn", "0-306-40615-2", "0-306-40615-3"),
        ("isbn10", "080442957X", "9780306406157"),
        ("isbn13", "978 0306406157", "080442957X"),
        ("creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"),
        ("creditcard", "3782-822463-10005", "1234"),
        ("ssn", "123-45-6789", "123456789"),
        ("bsonobjectid", "507f1f77bcf86cd799439011", "507f1f77bcf86cd79943901g"),
        ("uuid4", "9b2cbd5a-0c3d-4f7e-8a1b-2c3d4e5f6a7b", "9b2cbd5a-0c3d-5f7e-8a1b-2c3d4e5f6a7b"),
        ("k8s-short-name", "a-1", "a.1"),
        ("k8s-long-name", "a.1", "A"),
    ],
)
def test_formats_of_strings(talk: Talk, form: str, valid: str, wrong: str) -> None:
    define(talk, {"type": "object", "properties": {"v": {"type": "string", "format": form}}})
    assert causes(talk, {"v": valid}) == []
    expected = f'spec.v: Invalid value: "{wrong}": spec.v in body must be of type {form}: "{wrong}"'
    assert causes(talk, {"v": wrong}) == [expected]


@pytest.mark.parametrize("form", sorted(STRING_FORMATS))
@pytest.mark.parametrize(
    "value", ["", " ", "0", "/", "%", "@", "://", "[", "a" * 3000, "\ud800", "é" * 300, "1" * 80]
)
def test_no_string_breaks_a_format(form: str, value: str) -> None:
    assert STRING_FORMATS[form](value) in (True, False)


def test_rules_are_not_checked_for_a_value_of_the_wrong_type(talk: Talk) -> None:
    rule: Json = [{"rule": "self.c > 5"}]
    define(talk, {"type": "object", "properties": STRINGS, "x-kubernetes-validations": rule})
    skipped = (
        "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
        "correct the existing errors to complete validation"
    )
    wrong_type = 'spec.a: Invalid value: "integer": spec.a in body must be of type string: "integer"'
    assert causes(talk, {"a": 5, "c": 1}) == [wrong_type, skipped]
    assert causes(talk, {"c": 1}) == ["spec: Invalid value: failed rule: self.c > 5"]


EMBEDDED: Object = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}}, "spec": {}}, []),
        ({}, ["spec.t.apiVersion: Required value", "spec.t.kind: Required value"]),
        ({"apiVersion": "v1", "kind": ""}, ['spec.t.kind: Invalid value: "": must not be empty']),
        (
            {"apiVersion": "a/b/c", "kind": "Pod"},
            ['spec.t.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
        ),
    ],
)
def test_an_embedded_resource_has_a_kind(talk: Talk, value: Json, expected: list[str]) -> None:
    define(talk, {"type": "object", "properties": {"t": EMBEDDED}})
    assert causes(talk, {"t": value}) == expected


def test_metadata_of_an_embedded_resource_is_checked(talk: Talk) -> None:
    define(talk, {"type": "object", "properties": {"t": {"type": "array", "items": EMBEDDED}}})
    template: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b c"}}}
    (found,) = [cause for cause in causes(talk, {"t": [template]}) if cause.startswith("spec")]
    assert found.startswith('spec.t[0].metadata.labels: Invalid value: "b c": a valid label must be')


def test_an_embedded_resource_is_decoded(talk: Talk) -> None:
    define(talk, {"type": "object", "properties": {"t": EMBEDDED}})
    template: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "foo": "b"}}
    stored = talk.create(widget({"t": template}))
    assert dig(stored.body or {}, "spec", "t", "metadata") == {"name": "a"}
    strict = talk.create(widget({"t": template}), validation="Strict")
    assert message_of(strict).endswith('unknown field "spec.t.metadata.foo"')
    prefix = 'Widget in version "v1" cannot be handled as a Widget: spec.t.'
    no_text = message_of(talk.create(widget({"t": {"apiVersion": 5, "kind": "Pod"}})))
    assert no_text == f"{prefix}apiVersion: Invalid value: 5: must be a string"
    wrong = message_of(talk.create(widget({"t": {**template, "metadata": {"labels": "x"}}})))
    assert wrong.startswith(
        f'{prefix}metadata: Invalid value: {{"labels":"x"}}: json: cannot unmarshal string'
    )


KEYED: Object = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
    },
}


def tightened(talk: Talk, schema: Object, value: Json, new: Json) -> str:
    """The answer to an update after the maximum of `size` was lowered below a stored value."""
    define(talk, {"type": "object", "properties": {"list": schema}})
    assert talk.create(widget({"list": value})).code == 201
    limited_properties: Object = {"name": {"type": "string"}, "size": integer("int32", maximum=5)}
    inner: Object = {**fields(schema["items"]), "properties": limited_properties}
    limited_list: Object = {**schema, "items": inner}
    properties: Object = {"list": limited_list}
    in_spec: Object = {"type": "object", "properties": properties}
    in_object: Object = {"spec": in_spec}
    limited = definition({"type": "object", "properties": in_object})
    assert talk.patch(limited, {"spec": limited["spec"]}).code == 200
    return message_of(talk.patch(widget({}), {"spec": {"list": new}}))


def test_unchanged_elements_of_a_keyed_list_are_not_validated_again(talk: Talk) -> None:
    old: Json = [{"name": "a", "size": 9}]
    new: Json = [{"name": "b", "size": 1}, {"name": "a", "size": 9}]
    assert tightened(talk, KEYED, old, new) == ""


def test_a_changed_list_without_keys_is_validated_as_a_whole(talk: Talk) -> None:
    atomic: Object = {"type": "array", "items": KEYED["items"]}
    old: Json = [{"name": "a", "size": 9}]
    assert "spec.list[0].size: Invalid value: 9" in tightened(talk, atomic, old, [*old, {"name": "b"}])


def test_the_replicas_of_a_scale_are_a_number(talk: Talk) -> None:
    body = definition({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    version = fields(items(fields(body["spec"])["versions"])[0])
    version["subresources"] = {"scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}}
    assert talk.create(body).code == 201
    assert causes(talk, {"n": 3}) == []
    wrong = ".spec.n: Invalid value: 0: .spec.n accessor error: x is of the type string, expected int64"
    assert causes(talk, {"n": "x"}) == [wrong]
    assert causes(talk, {"n": -1}) == [".spec.n: Invalid value: -1: should be a non-negative integer"]


def test_a_list_that_preserves_unknown_fields_does_so_for_its_items() -> None:
    """As kube-apiserver 1.36 does, with a field of an item that the schema specifies."""
    known: Object = {"type": "object", "properties": {"a": {"type": "string"}}}
    item: Object = {"type": "object", "properties": {"known": known}}
    steps: Object = {"type": "array", "x-kubernetes-preserve-unknown-fields": True, "items": item}
    dropped: list[str] = []
    value: Json = [{"image": "a", "deep": {"b": 1}, "known": {"a": "1", "z": 2}}]
    assert pruned(value, steps, "steps", dropped) == [{"deep": {"b": 1}, "image": "a", "known": {"a": "1"}}]
    assert dropped == ["steps[0].known.z"]
