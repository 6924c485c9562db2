"""The short cut for plain block style reads what the real parser reads, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.kubernetes.api.test_yaml_writing import VALUES
from whysync.json_tree import Json
from whysync.kubernetes.api.yaml import Document, YamlLimits, dump
from whysync.kubernetes.api.yaml.fast_block_parser import quick
from whysync.kubernetes.api.yaml.load import parsed

LIMITS = YamlLimits()


def assert_same(text: str, *, expect_quick: bool = False) -> None:
    """The result of the fast path must be the only document of the parser, without warnings."""
    result = quick(text, LIMITS)
    if result is None:
        assert not expect_quick, f"the fast path was not used: {text!r}"
        return
    value, line = result
    assert list(parsed(text, 0, LIMITS)) == [Document(body=value, line=line + 1)], text


@settings(deadline=None)
@given(VALUES)
def test_what_whysync_writes(value: Json) -> None:
    assert_same(dump({"v": value}))
    assert_same(f"---\n{dump({'v': [value, {'w': value}]})}")


_WORDS = """\
a:|b:|a: 1|b: x|c: {}|- |- a|- b: 1|- - c|-|- c:|  | |    |text|# note|a: b # c|a: 'x'|b: "y"|a: b: c|a:b: c
f:x:|y: 1|1: 2|'on': on|k:{"n":"x"}: {}|...|---|- {}|- []|a: - b|a: -b|? a|a: &x 1|b: *x|<<: 1|a: !!str 1|a: >
a: [1]|~: 1|a: ~|a: .inf|a: 0x1F|:|a: |- a |a: 'it''s'|- 'a': b|-a: b|  x||a: 1e400|%TAG|a: ;|a: 1.0|a: "1"
"""
PIECES = st.sampled_from(
    [*_WORDS.replace("\n", "|").split("|"), "a: |", "a: |-", "- |+", "- |", "a: |2", "b: |+"]
)
LINES = st.tuples(st.sampled_from(["", "", "  ", "  ", "    ", " ", "- ", "  - "]), PIECES).map("".join)


@settings(deadline=None, max_examples=400)
@given(st.lists(LINES, min_size=1, max_size=7).map(lambda lines: "\n".join(lines) + "\n"))
@example("a:\n- b\nc: 1\n")
@example("a:\n  - b\n  - c: 1\n    d: 2\n  - - e\n    - f\n")
@example("- a:\n  - b\n  c: 1\n- d\n")
@example("a: |\n  x\n\n   y\n\nb: |-\n  z\n\nc: |+\n  w\n\n")
@example("a: x\n  b: y\n")
@example("a: x\n  y\n")
@example("a:\nb: 1\n")
@example("- a\nb: 1\n")
@example("a: 1\n- b\n")
@example("a: |\n  x\n# c\nb: 1\n")
@example("a: |\n  x\n y\nb: 1\n")
@example("  a: 1\nb: 2\n")
@example("a:\n    b: 1\n  c: 2\n")
@example("- - a\n - b\n")
@example("- a: 1\n   b: 2\n")
@example("a:\n- b:\n- c\n")
@example("- - a: 1\n- - b\n")
@example("a:\n  - b\n- c\n")
def test_lines_of_all_kinds(text: str) -> None:
    assert_same(text)


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet="ab:- \n1#'\"|{}[],.~y", max_size=30).map(lambda text: text + "\n"))
def test_any_letters(text: str) -> None:
    assert_same(text)


@pytest.mark.parametrize(
    "text",
    [
        'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  labels:\n    a/b: "1"\ndata: {}\n',
        "---\n# a note\na:\n- b: 1\n  c: on\n- d\n\ne: |\n  text\n    more\n",
        'f:metadata:\n  f:annotations:\n    .: {}\n    k:{"port":80,"protocol":"TCP"}:\n      .: {}\n',
        "args:\n- --flag=a:b\n- -c\n- 10m\n- 1.0\n",
    ],
)
def test_plain_files_take_the_short_cut(text: str) -> None:
    assert_same(text, expect_quick=True)


def test_depth_is_left_to_the_parser() -> None:
    text = "".join(f"{'  ' * depth}a:\n" for depth in range(300))
    assert quick(text, LIMITS) is None
    assert quick("- " * 300 + "a\n", LIMITS) is None
