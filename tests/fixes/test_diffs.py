"""Diffs that git takes: odd names, no line end, carriage returns, line ends that only Python knows."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fixes.gitting import git_apply
from whysync.fixes.diffs import hunk_lines, largest_context, lines, unified

NAMES = [
    "plain.yaml",
    "with blank.yaml",
    'qu"ote.yaml',
    "back\\slash.yaml",
    "tab\there.yaml",
    "é-ü.yaml",
    "a'b.yaml",
]
LINE = st.sampled_from(["a: 1", "b: 2", "", "c: \x0b x", "d: \u2028", "e\r", "# f", "-", "+x", "--- y", "@@"])


def _text(lines: list[str], end: str) -> str:
    return "\n".join(lines) + end


TEXTS = st.builds(_text, st.lists(LINE, max_size=12), st.sampled_from(["\n", ""]))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: 1\nb: 2\n", "a: 1\n"),
        ("a: 1\nb: 2", "a: 1\nb: 3"),
        ("a: 1\nb: 2", "a: 1\nb: 2\n"),
        ("a: 1\r\nb: 2\r\n", "a: 1\r\nb: 3\r\n"),
        (None, "a: 1\n"),
        (None, "a: 1"),
    ],
)
def test_git_takes_it(tmp_path: Path, name: str, before: str | None, after: str) -> None:
    file = tmp_path / name
    if before is not None:
        file.write_bytes(before.encode())
    git_apply(tmp_path, unified(name, before, after))
    assert file.read_bytes() == after.encode()


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=TEXTS, after=TEXTS)
def test_git_takes_any_change(tmp_path: Path, before: str, after: str) -> None:
    if before == after or not before or not after:
        return
    file = tmp_path / "file.yaml"
    file.write_bytes(before.encode())
    git_apply(tmp_path, unified("file.yaml", before, after))
    assert file.read_bytes() == after.encode()


@given(TEXTS)
def test_lines_make_up_the_text(text: str) -> None:
    assert "".join(lines(text)) == text
    assert all(line.count("\n") <= 1 for line in lines(text))


def test_equal_texts_have_no_diff() -> None:
    assert unified("a", "x\n", "x\n") == ""


def test_a_diff_shows_no_more_than_it_may() -> None:
    before = "".join(f"l{n}\n" for n in range(9))
    after = before.replace("l4\n", "")
    assert hunk_lines(before, after, context=3) == set(range(1, 8))
    assert largest_context(before, after, set()) == 3
    assert largest_context(before, after, {1}) == 2
    assert largest_context(before, after, {2, 6}) == 1
    assert largest_context(before, after, {3}) is None
    assert largest_context(before, after, {4}) is None
