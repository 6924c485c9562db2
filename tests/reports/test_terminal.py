"""Widths, ages, colours and cuts: how text gets onto a terminal."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whysync.reports.output import one_safe_line
from whysync.reports.terminal import Terminal, ago, one_line, short_age, table


@given(st.text(), st.integers(5, 50))
def test_one_line_is_one_line_and_not_too_long(text: str, longest: int) -> None:
    line = one_line(text, longest)
    assert len(line) <= longest
    assert "\n" not in line


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=15)), st.integers(30, 120))
def test_wrapping_loses_no_word_and_keeps_to_the_width(words: list[str], width: int) -> None:
    lines = Terminal(width=width).wrap(" ".join(words), indent=10, first="  label")
    assert " ".join(lines).split() == ["label", *words]
    assert all(len(line) <= width for line in lines)
    assert all(line.startswith(" " * 10) for line in lines[1:])


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-5, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (7_199, "119m"),
        (7_200, "2h"),
        (172_799, "47h"),
        (172_800, "2d"),
        (8_640_000, "100d"),
    ],
)
def test_ages_as_kubectl_writes_them(seconds: int, expected: str) -> None:
    assert short_age(timedelta(seconds=seconds)) == expected
    assert ago(timedelta(seconds=seconds)) == f"{expected} ago"


def test_an_unknown_age_is_no_words() -> None:
    assert ago(None) == ""


def test_paint_is_nothing_without_colour() -> None:
    assert Terminal().paint("x", "red") == "x"
    assert one_safe_line(Terminal(color=True).paint("x", "bold", "red")) == "\x1b[1;31mx\x1b[0m"
    assert Terminal(color=True).paint("", "red") == ""


def test_a_table_lines_up_and_is_cut() -> None:
    rows = [("A", "B"), ("long word", "x" * 50)]
    lines = table(rows, Terminal())
    assert lines[0].index("B") == lines[1].index("x")
    cut = table(rows, Terminal(), most=20)
    assert [len(line) <= 20 for line in cut] == [True, True]
    assert cut[1].endswith("…")
    assert table([], Terminal()) == []


def test_marks_have_an_ascii_form() -> None:
    for name in ("bad", "good", "wait", "unsure", "arrow", "branch"):
        assert Terminal(unicode=False).mark(name).isascii()
