from __future__ import annotations

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clock import processor_seconds
from whysync.golang.glob import BadPattern, glob_match, glob_match_or_raise, name_matcher, path_match


@pytest.mark.parametrize(
    ("pattern", "text", "separators", "matches"),
    [
        ("", "", "", True),
        ("", "a", "", False),
        ("*", "", "", True),
        ("*", "a/b", "", True),
        ("*", "a/b", "/", False),
        ("**", "a/b", "/", True),
        ("a/*/c", "a/b/c", "/", True),
        ("a/*/c", "a/b/b/c", "/", False),
        ("a/**/c", "a/b/b/c", "/", True),
        ("*.aws.*", "s3.aws.io", "", True),
        ("?x", "ax", "", True),
        ("?", "/", "/", False),
        ("[abc]", "b", "", True),
        ("[!abc]", "b", "", False),
        ("[!abc]", "d", "", True),
        ("[a-c]x", "bx", "", True),
        ("[!a-c]", "d", "", True),
        ("[/]", "/", "/", True),  # a class does not stop at separators
        ("{a,b}c", "bc", "", True),
        ("{a,b}c", "c", "", False),
        ("{,a}c", "c", "", True),
        ("{a,{b,c}d}e", "cde", "", True),
        ("{apps,*.io}", "x.io", "", True),
        ("{a,b", "b", "", True),  # closed at the end by the library
        ("a}", "a}", "", True),
        ("a,b", "a,b", "", True),
        (r"a\*", "a*", "", True),
        (r"a\*", "ab", "", False),
        ("a\\", "a", "", True),
        (r"[\]]", "]", "", True),
        ("[a-cx]", "a", "", False),  # not a class of the library: it does not compile
        ("Ünï*", "Ünïcode", "", True),
    ],
)
def test_gobwas_globs(pattern: str, text: str, separators: str, *, matches: bool) -> None:
    assert glob_match(pattern, text, separators) is matches


@pytest.mark.parametrize("pattern", ["[", "[]", "[!]", "[a", "[a-", "[a-c", "[a-cx]", "[z-a]"])
def test_a_pattern_that_does_not_compile_matches_nothing_and_says_so(pattern: str) -> None:
    assert not glob_match(pattern, pattern)
    with pytest.raises(BadPattern):
        glob_match_or_raise(pattern, "a")


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("*", "Deployment", True),
        ("*", "a/b", False),
        ("a[", "a", False),
        ("a[", "ab", False),
        ("[^a-c]*", "xyz", True),
        ("[a-c0-9]", "5", True),
        ("[]a]", "]", False),
        (r"[\]a]", "]", True),
        ("[-]", "-", False),
        (r"[\-x]", "x", True),
        ("{a,b}", "{a,b}", True),
        ("{a,b}", "a", False),
        (r"a\\b", r"a\b", True),
        ("a\\", "a", False),
        ("*x*y*z", "1x2y3z", True),
    ],
)
def test_paths(pattern: str, text: str, *, matches: bool) -> None:
    assert path_match(pattern, text) is matches


@given(pattern=st.text("ab*?", max_size=8), text=st.text("ab", max_size=8))
def test_plain_wildcards_are_those_of_the_shell(pattern: str, text: str) -> None:
    expected = fnmatch.fnmatchcase(text, pattern)
    assert glob_match(pattern, text) is expected
    assert path_match(pattern, text) is expected


@given(pattern=st.text("ab{},*[]!-\\?", max_size=12), text=st.text("ab{},", max_size=6))
def test_any_pattern_gets_an_answer(pattern: str, text: str) -> None:
    assert glob_match(pattern, text, "/") in (True, False)
    assert path_match(pattern, text) in (True, False)


def test_no_pattern_takes_forever() -> None:
    def match() -> None:
        assert not glob_match("*a" * 30 + "b", "a" * 200)
        assert not glob_match("{*a,*b,*c}" * 10 + "!", "abc" * 60)
        assert glob_match("{" * 5000 + "a", "a")

    assert processor_seconds(match) < 5


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("*.yaml", "a.yaml", True),
        ("values-{dev,prod}.yaml", "values-prod.yaml", True),
        ("values-{dev,prod}.yaml", "values-test.yaml", False),
        ("[!ab].yaml", "c.yaml", True),
        ("[^ab].yaml", "a.yaml", False),
        ("[a-c0-9].yaml", "7.yaml", True),
    ],
)
def test_doublestar_names(pattern: str, name: str, *, matches: bool) -> None:
    assert name_matcher(pattern)(name) is matches


@pytest.mark.parametrize("pattern", ["[", "[]", "[a", "{a,b", "a\\"])
def test_a_doublestar_pattern_that_does_not_compile(pattern: str) -> None:
    with pytest.raises(BadPattern):
        name_matcher(pattern)
