"""Reading YAML as the API server does."""

from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conformance.yaml_scalars import check
from tests.shared import CONFORMANCE, needs_shared
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.yaml import Broken, Document, Invalid, YamlLimits, documents, load


@needs_shared
def test_every_recorded_answer_of_the_server() -> None:
    records = (CONFORMANCE / "yaml_scalars.jsonl").read_bytes().splitlines()
    assert len(records) > 200
    failures = {
        str(record["id"]): problems
        for record in (cast("Object", json.loads(line)) for line in records)
        if (problems := check(record))
    }
    assert failures == {}


def bodies(text: str | bytes) -> list[Json]:
    return [
        document.body if isinstance(document, Document) else str(document) for document in documents(text)
    ]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("yes", True),
        ("off", False),
        ("y", True),
        ("~", None),
        ("0o17", 15),
        ("017", 15),
        ("08", 8),
        ("1_000", 1000),
        ("1.0", 1),
        ("12:30", "12:30"),
        ("2001-12-14", "2001-12-14"),
        ("1e309", "1e309"),
        ("٣", "٣"),
        ("9223372036854775808", 2.0**63),
        ("0x10000000000000000", "0x10000000000000000"),
        (".5", 0.5),
        ("._5", "._5"),
        ("!!str yes", "yes"),
        ("! 012", "012"),
        ("!!int '5'", 5),
        ("!!binary aGk=", "hi"),
        ("!thing on", "on"),
        ("!!binary gIE=", "\ufffd\ufffd"),
    ],
)
def test_scalars(written: str, read: Json) -> None:
    body = bodies(f"v: {written}\n")[0]
    assert body == {"v": read}
    assert isinstance(body, dict)
    assert type(body["v"]) is type(read)


def test_documents_know_their_lines() -> None:
    result = list(documents("# hello\n\na: 1\n---\n\n---\nb: 2\n--- {c: 3}\n"))
    assert [(item.body, item.line) for item in result if isinstance(item, Document)] == [
        ({"a": 1}, 3),
        ({"b": 2}, 7),
        ({"c": 3}, 8),
    ]


def test_a_broken_document_leaves_its_neighbours_alone() -> None:
    result = list(documents("a: 1\n---\nb: [1,\n---\nc: 3\n"))
    assert isinstance(result[1], Broken)
    assert result[1].line in (3, 4)
    assert [item.body for item in result if isinstance(item, Document)] == [{"a": 1}, {"c": 3}]


def test_directives_are_read_with_their_document() -> None:
    assert bodies("%TAG ! tag:x,2000:\n---\nv: !a 1\n---\nw: 2\n") == [{"v": "1"}, {"w": 2}]


def test_bytes_with_marks_and_windows_line_ends() -> None:
    assert bodies(b"\xef\xbb\xbfa: 1\r\n---\r\nb: 2\r\n") == [{"a": 1}, {"b": 2}]
    assert bodies("a: é\n".encode("utf-16")) == [{"a": "é"}]
    assert list(documents(b"a: 1\nb: \xff\xfe\n")) == [Broken(problem="this is not UTF-8 text", line=2)]


def test_duplicate_keys_warn_and_the_last_one_counts() -> None:
    (document,) = documents("a:\n  b: 1\n  b: 2\n")
    assert document == Document(
        body={"a": {"b": 2}}, line=1, warnings=('line 3: key "b" already set in map',)
    )


def test_an_int_and_a_text_key_are_not_duplicates() -> None:
    (document,) = documents("v:\n  1: a\n  '1': b\n  true: c\n")
    assert isinstance(document, Document)
    assert document.warnings == ()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("1e3", "1000"),
        ("1e7", "1e+07"),
        ("0.1", "0.1"),
        ("1.23456789", "1.2345679"),
        ("1e39", ".inf"),
        ("-.5", "-0.5"),
    ],
)
def test_numbers_as_keys_have_single_precision(written: str, read: str) -> None:
    assert bodies(f"{written}: x\n") == [{read: "x"}]


def test_merge_keys_overwrite_what_stands_before_them() -> None:
    assert bodies("v: &x {a: 1, b: 2}\nw:\n  b: 3\n  <<: *x\n")[0] == {
        "v": {"a": 1, "b": 2},
        "w": {"a": 1, "b": 2},
    }


def test_aliases_do_not_share_their_value() -> None:
    body = bodies("v: &x {a: [1]}\nw: *x\n")[0]
    assert isinstance(body, dict)
    assert body["v"] == body["w"]
    assert body["v"] is not body["w"]


@pytest.mark.parametrize(
    "written",
    [
        "v: *nothing",
        "v: &x [*x]",
        "v: .inf",
        "? [a]\n: 1",
        "? {a: 1}\n: 1",
        "null: 1",
        "w:\n  <<: 5",
        "w:\n  <<: [5]",
        "w:\n  <<: [[{a: 1}]]",
        "v: !!int x",
        "v: !!binary '*'",
        "v: !!binary YWJj=",
        "v: \0",
        'v: "\\/"',
        "v: {{ .Values.x }}",
        "%YAML 1.2\n---\na: 1",
    ],
)
def test_what_the_server_refuses_is_broken(written: str) -> None:
    result = list(documents(written))
    assert len(result) == 1
    assert isinstance(result[0], Broken)
    assert result[0].line >= 1


def test_billion_laughs_are_stopped() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    (document,) = documents("\n".join(lines))
    assert isinstance(document, Broken)
    assert "aliasing" in document.problem


def test_depth_is_limited_also_through_aliases() -> None:
    assert isinstance(next(documents("[" * 300 + "]" * 300)), Broken)
    assert isinstance(next(documents("v: " + "[" * 300 + "]" * 300)), Broken)
    assert isinstance(next(documents('{"v": ' + "[" * 100_000 + "]" * 100_000 + "}")), Broken)
    nested = "a: &a " + "[" * 200 + "]" * 200 + "\nb: " + "[" * 200 + "*a" + "]" * 200
    assert isinstance(next(documents(nested)), Broken)
    assert next(documents("v: [[[1]]]", limits=YamlLimits(depth=4))) == Document(body={"v": [[[1]]]})


def test_the_fast_path_for_json_gives_the_same_values() -> None:
    text = '{"a": 1.0, "b": 18446744073709551615, "c": "\\u003cx\\/", "d": [null, true, 1e3]}'
    (document,) = documents(text)
    assert document == Document(body={"a": 1, "b": float(2**64 - 1), "c": "<x/", "d": [None, True, 1000]})


def test_json_values_behind_each_other() -> None:
    assert list(documents('{"a": 1}\n\n{"b": 2} [3]\n')) == [
        Document(body={"a": 1}, line=1),
        Document(body={"b": 2}, line=3),
        Document(body=[3], line=3),
    ]
    assert bodies('{"a": 1} {"b": NaN}') == [{"a": 1}, {"b": "NaN"}]
    assert bodies('{"a": 1}\n---\n{"b": 2}\n') == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize("number", ["1" * 400, "1" * 10_000, "1e400", "-1e400"])
def test_numbers_beyond_all_measure(number: str) -> None:
    assert bodies(f'{{"v": {number}}}') == [{"v": number}]
    assert bodies(f"v: {number}\n") == [{"v": number}]


def test_json_with_a_key_twice_warns() -> None:
    (document,) = documents('\n{"a": {"v": 1,\n "v": 2}}')
    assert document == Document(
        body={"a": {"v": 2}}, line=2, warnings=('line 3: key "v" already set in map',)
    )


def test_load_raises_with_the_place() -> None:
    assert load("# nothing\n") is None
    assert load("a: 1\n---\nb: 2\n") == {"a": 1}
    with pytest.raises(Invalid) as caught:
        load("a: 1\nb: [\n")
    assert caught.value.line >= 2


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_gives_values_or_a_problem(text: str) -> None:
    for document in documents(text):
        assert isinstance(document, (Document, Broken))


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_give_values_or_a_problem(data: bytes) -> None:
    for document in documents(data):
        assert isinstance(document, (Document, Broken))


@settings(deadline=None)
@given(st.text(alphabet="ab:-&*<!{}[],#|>'\" \n01.~?\\/", max_size=60))
def test_any_structure_gives_values_or_a_problem(text: str) -> None:
    for document in documents(text):
        assert isinstance(document, (Document, Broken))
        if isinstance(document, Document):
            json.dumps(document.body, allow_nan=False)


def test_json_values_behind_each_other_may_be_scalars() -> None:
    assert [document.body for document in documents("{}0") if isinstance(document, Document)] == [{}, 0]


def test_aliases_may_add_only_a_share_of_the_values() -> None:
    """As go-yaml: at most 99 %, once they are more than a hundred values and the document has a thousand."""
    flat = f"- &long {'x' * 20}\n" + "- *long\n" * 2_000
    assert len(cast("list[str]", load(flat))) == 2_001
    nested = "a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\nb: &b [{}]\nc: [{}]\n"
    ten = nested.format(*(", ".join([f"*{name}"] * 10) for name in "ab"))
    assert load(ten)
    hundred = nested.format(*(", ".join([f"*{name}"] * times) for name, times in (("a", 40), ("b", 60))))
    with pytest.raises(Invalid, match=r"document contains excessive aliasing$"):
        load(hundred)
