"""The form in which the server prints objects, and when two of them are the same to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whysync.golang.decode_errors import json_object_error
from whysync.golang.fmt import go_json, quoted
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes import validation
from whysync.kubernetes.validation.internal_types import difference, internal, same, same_plain

TABLE: dict[str, str] = json.loads(
    (Path(validation.__file__).parent / "data" / "internal.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("struct", TABLE)
def test_every_struct_of_the_table_has_its_fields_in_the_schemas(struct: str) -> None:
    package, _, name = struct.partition(".")
    printed = internal({}, f"{package}/v1.{name}")
    expected = [
        entry.partition("=")[0].rstrip("!") for entry in TABLE[struct].split() if entry != "@metadata"
    ]
    if package != "meta":
        assert list(fields(printed)) == expected


def test_nothing_is_left_out_and_names_are_those_of_go() -> None:
    assert go_json(internal({"name": "p", "port": 80, "targetPort": "http"}, "core/v1.ServicePort")) == (
        '{"Name":"p","Protocol":"","AppProtocol":null,"Port":80,"TargetPort":"http","NodePort":0}'
    )


def test_the_choices_about_the_host_lie_in_the_security_context() -> None:
    context = fields(fields(internal({"hostNetwork": True}, "core/v1.PodSpec"))["SecurityContext"])
    assert list(context)[:2] == ["HostNetwork", "HostPID"]
    assert context["HostNetwork"] is True
    assert context["ShareProcessNamespace"] is None


def test_metadata_is_written_as_outside() -> None:
    template: Object = {"metadata": {"labels": {"b": "1", "a": "2"}, "annotations": {}}, "spec": {}}
    assert go_json(internal(template, "core/v1.PodTemplateSpec")).startswith(
        '{"labels":{"a":"2","b":"1"},"Spec":{"Volumes":null,'
    )


def test_a_difference_has_three_lines_around_it() -> None:
    old: Json = {"A": 1, "B": 2, "C": 3, "D": 4, "E": 5}
    new: Json = {"A": 1, "B": 2, "C": 3, "D": 4, "E": 6}
    assert difference(old, new) == (
        '@@ -3,5 +3,5 @@\n  "B": 2,\n  "C": 3,\n  "D": 4,\n- "E": 5\n+ "E": 6\n }\n'
    )


SAME: list[tuple[Json, Json, str, bool]] = [
    ({"nodeName": ""}, {}, "core/v1.PodSpec", True),
    ({"volumes": []}, {}, "core/v1.PodSpec", True),
    ({"hostUsers": False}, {}, "core/v1.PodSpec", False),
    ({"overhead": {"cpu": "1000m"}}, {"overhead": {"cpu": 1}}, "core/v1.PodSpec", True),
    ({"overhead": {"cpu": "1000m"}}, {"overhead": {"cpu": 2}}, "core/v1.PodSpec", False),
    ({"emptyDir": {}}, {}, "core/v1.Volume", False),
    ({}, None, "meta/v1.LabelSelector", False),
    (None, None, "meta/v1.LabelSelector", True),
    ({"matchLabels": {}}, {}, "meta/v1.LabelSelector", True),
    (
        {"kind": "PersistentVolumeClaim", "metadata": {}},
        {"metadata": {}},
        "core/v1.PersistentVolumeClaim",
        True,
    ),
]


@pytest.mark.parametrize(("left", "right", "struct", "expected"), SAME)
def test_what_counts_as_the_same(left: Json, right: Json, struct: str, *, expected: bool) -> None:
    assert same(left, right, struct) is expected
    assert same(right, left, struct) is expected


def test_plain_values_are_the_same_when_both_are_empty() -> None:
    assert same_plain(None, [])
    assert same_plain({}, None)
    assert not same_plain("", None)
    assert not same_plain([], 0)


QUOTED = [
    ("a", '"a"'),
    ('a"b', r'"a\"b"'),
    ("a\nb", r'"a\nb"'),
    ("\x00", r'"\x00"'),
    ("é", '"é"'),
    ("a\u200bb", r'"a\u200bb"'),
]


@pytest.mark.parametrize(("text", "expected"), QUOTED)
def test_text_is_quoted_as_go_does(text: str, expected: str) -> None:
    assert quoted(text) == expected


def test_json_is_safe_inside_html() -> None:
    assert go_json({"a": "<b>&"}) == r'{"a":"\u003cb\u003e\u0026"}'


BROKEN = [
    (b"{}", ""),
    (b"null", ""),
    (b"", "unexpected end of JSON input"),
    (b"nope", "invalid character 'o' in literal null (expecting 'u')"),
    (b"{'a': 1}", r"invalid character '\'' looking for beginning of object key string"),
    (b"hello", "invalid character 'h' looking for beginning of value"),
    (b"[1]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
    (b'{"a":1', "unexpected end of JSON input"),
]


@pytest.mark.parametrize(("data", "expected"), BROKEN)
def test_broken_json_is_told_as_go_does(data: bytes, expected: str) -> None:
    assert json_object_error(data) == expected
