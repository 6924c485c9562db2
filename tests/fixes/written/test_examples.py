"""Texts as people write them, each before and after one edit."""

from __future__ import annotations

import pytest

from whysync.diagnosis.fix import Add, Edit, Remove, Set
from whysync.fixes.edit import edited
from whysync.fixes.yaml_edit import Uneditable, rewritten
from whysync.json_tree import fields
from whysync.kubernetes.api.yaml import load

CASES: dict[str, tuple[str, Edit, str]] = {
    "a field goes with the comment beside it, not with the one above": (
        "spec:\n  # keep me\n  replicas: 1 # goes\n  x: 2\n",
        Remove(pointer="/spec/replicas"),
        "spec:\n  # keep me\n  x: 2\n",
    ),
    "the only field leaves an empty map": (
        "spec:\n  replicas: 1\nb: 2\n",
        Remove(pointer="/spec/replicas"),
        "spec: {}\nb: 2\n",
    ),
    "the first field of an element": (
        "l:\n  - name: a\n    v: 1\n",
        Remove(pointer="/l/0/name"),
        "l:\n  - v: 1\n",
    ),
    "the first field of an element, with a comment below": (
        "l:\n- name: a\n  # about v\n  v: 1\n",
        Remove(pointer="/l/0/name"),
        "l:\n-\n  # about v\n  v: 1\n",
    ),
    "quotes stay": ("a: 'x'\nb: \"y\"\n", Set(pointer="/a", value="it's"), "a: 'it''s'\nb: \"y\"\n"),
    "double quotes stay": ("a: 'x'\nb: \"y\" # c\n", Set(pointer="/b", value="z"), "a: 'x'\nb: \"z\" # c\n"),
    "text that looks like a number is quoted": ("a: x\n", Set(pointer="/a", value="1"), "a: '1'\n"),
    "a literal keeps its lines": (
        "a: |\n  one\n  # two\n\nb: 1\n",
        Set(pointer="/a", value="one\n# two\nthree\n"),
        "a: |\n  one\n  # two\n  three\n\nb: 1\n",
    ),
    "a list in the style of the others": (
        "a:\n  - 1\nb: 1\n",
        Set(pointer="/c", value=["x"]),
        "a:\n  - 1\nb: 1\nc:\n  - x\n",
    ),
    "a list as kubectl writes it": (
        "a:\n- 1\n",
        Add(pointer="/a", value={"name": 2}),
        "a:\n- 1\n- name: 2\n",
    ),
    "a flow list": ("a: [x, y] # c\n", Add(pointer="/a", value="z"), 'a: [x, y, "z"] # c\n'),
    "one element of a flow list": ("a: [x, y, z]\n", Remove(pointer="/a/1"), "a: [x, z]\n"),
    "the last of a flow list": ("a: [x, y]\n", Remove(pointer="/a/1"), "a: [x]\n"),
    "JSON on lines": (
        '{\n    "a": 1,\n    "b": [\n        1\n    ]\n}\n',
        Set(pointer="/c", value="x"),
        '{\n    "a": 1,\n    "b": [\n        1\n    ],\n    "c": "x"\n}\n',
    ),
    "JSON, the last field": ('{\n  "a": 1,\n  "b": 2\n}\n', Remove(pointer="/b"), '{\n  "a": 1\n}\n'),
    "an empty value": ("a:\nb: 1\n", Set(pointer="/a", value=2), "a: 2\nb: 1\n"),
    "an empty map becomes a block": (
        "m:\n  labels: {} # none\n  x: 1\n",
        Set(pointer="/m/labels/a", value="b"),
        "m:\n  labels: # none\n    a: b\n  x: 1\n",
    ),
    "no line end at the end": ("a: 1", Set(pointer="/b", value=2), "a: 1\nb: 2\n"),
    "carriage returns": ("a: 1\r\nb: 2\r\n", Set(pointer="/c", value=[1]), "a: 1\r\nb: 2\r\nc:\r\n- 1\r\n"),
    "a byte order mark": ("\ufeffa: 1\n", Set(pointer="/a", value=2), "\ufeffa: 2\n"),
    "a literal behind a comment": (
        "l:\n- x # c\n",
        Set(pointer="/l/0", value="one\ntwo\n"),
        "l:\n- | # c\n  one\n  two\n",
    ),
    "an anchor that nobody follows": ("a: &x\n  b: 1\n  c: 2\n", Remove(pointer="/a/b"), "a: &x\n  c: 2\n"),
    "keys that look like numbers": ("1: a\n2: b\n", Remove(pointer="/1"), "2: b\n"),
}


@pytest.mark.parametrize("name", CASES)
def test_an_edit_of_a_text(name: str) -> None:
    before, edit, after = CASES[name]
    body = edited(fields(load(before)), [edit])
    assert rewritten(before, 0, body) == after


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("base: &b {x: 1}\nd:\n  <<: *b\n  y: 2\n", Set(pointer="/d/x", value=5)),
        ("base: &b {x: 1}\nd: *b\n", Set(pointer="/d/x", value=5)),
        ("base: &b {x: 1}\nd: *b\n", Remove(pointer="/base")),
        ("base: &b\n  x: 1\nd: *b\n", Set(pointer="/base/x", value=2)),
    ],
)
def test_what_is_shared_is_refused(text: str, edit: Edit) -> None:
    """The same text stands for two values: a change of one would be a change of both."""
    with pytest.raises(Uneditable):
        rewritten(text, 0, edited(fields(load(text)), [edit]))


@pytest.mark.parametrize("text", ["a: [1\n", "a: 1\n---\nb: [\n", "\ta: 1\n"])
def test_what_is_broken_is_refused(text: str) -> None:
    with pytest.raises(Uneditable):
        rewritten(text, 0, {"a": 2})


def test_a_document_that_is_not_there() -> None:
    with pytest.raises(Uneditable):
        rewritten("a: 1\n", 1, {"a": 2})


def test_empty_documents_do_not_count() -> None:
    assert rewritten("---\n---\na: 1\n---\n# no\n---\nb: 2\n", 1, {"b": 3}) == (
        "---\n---\na: 1\n---\n# no\n---\nb: 3\n"
    )
