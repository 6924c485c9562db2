"""A lazy pattern behaves as a compiled one, and is compiled once."""

from __future__ import annotations

import re

import pytest

from whysync.lazy_pattern import lazy_pattern


def test_it_matches_as_a_compiled_expression() -> None:
    pattern = lazy_pattern(r"(?P<digits>\d+)", re.ASCII)
    found = pattern.search("a 42 b 7")
    assert found is not None
    assert found["digits"] == "42"
    assert pattern.findall("a 42 b 7") == ["42", "7"]
    assert pattern.sub("N", "a 42 b 7") == "a N b N"
    assert pattern.fullmatch("٣") is None
    assert pattern.pattern == r"(?P<digits>\d+)"


def test_it_is_compiled_once_and_only_when_used(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []

    def counted(pattern: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(pattern)
        return original(pattern, flags)

    original = re.compile
    monkeypatch.setattr(re, "compile", counted)
    pattern = lazy_pattern("b+")
    assert compiled == []
    assert pattern.match("bb") is not None
    assert pattern.search("abb") is not None
    assert compiled == ["b+"]


def test_it_has_no_other_attributes() -> None:
    with pytest.raises(AttributeError):
        getattr(lazy_pattern("a"), "scanner")  # noqa: B009  (the type checker refuses the attribute)
