from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whysync.argocd.repo_server.git.revisions import (
    RevisionUnknown,
    commit_of,
    compare,
    is_range,
    newest,
    refs_in,
    version_of,
)

A, B, C, D = ("a" * 40, "b" * 40, "c" * 40, "d" * 40)
REFS = {
    "HEAD": A,
    "refs/heads/main": A,
    "refs/heads/feature/x": B,
    "refs/tags/v1.0.0": C,
    "refs/tags/v1.2.0": D,
    "refs/tags/v2.0.0-rc.1": B,
    "refs/tags/api/0.9.1": B,
}


@pytest.mark.parametrize(
    ("revision", "commit"),
    [
        ("", A),
        ("HEAD", A),
        ("main", A),
        ("refs/heads/main", A),
        ("feature/x", B),
        ("v1.0.0", C),
        ("1.*", D),
        ("^1.0", D),
        (">=1.0.0 <1.1.0", C),
        (">=2.0.0-0", B),
        (D, D),
        ("deadbee", "deadbee"),
    ],
)
def test_a_revision_is_found_as_argo_cd_finds_it(revision: str, commit: str) -> None:
    assert commit_of(revision, REFS) == commit


def test_tags_of_one_component() -> None:
    assert commit_of("0.9.*", REFS, tag_prefix="api/") == B


@pytest.mark.parametrize("revision", ["nope", "3.*", "deadbe", "feature"])
def test_an_unknown_revision_in_the_words_of_the_repo_server(revision: str) -> None:
    with pytest.raises(RevisionUnknown, match=r"unable to resolve '.*' to a commit SHA: revision not found"):
        commit_of(revision, REFS)


def test_an_annotated_tag_leads_to_its_commit() -> None:
    listing = f"{A}\tHEAD\n{B}\trefs/tags/v1\n{C}\trefs/tags/v1^{{}}\nnonsense\n"
    assert refs_in(listing) == {"HEAD": A, "refs/tags/v1": C}


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        ("*", "v2.1"),
        ("x", "v2.1"),
        ("1.*", "v1.2.3"),
        ("~1.2", "v1.2.3"),
        ("^0.3", "0.3.9"),
        ("^0.3.1", "0.3.9"),
        ("~0.3.1", "0.3.9"),
        ("1.0.0 - 2.0.0", "2.0.0"),
        (">=1.3.0-0 <2", "1.3.0-rc.1"),
        (">1", "v2.1"),
        ("<=1.2", "v1.2.3"),
        ("!=2.x", "v1.2.3"),
        ("=2.0.0", "2.0.0"),
        ("<0.4.0 || >3", "0.3.9"),
        ("9.x", None),
    ],
)
def test_ranges(constraint: str, expected: str | None) -> None:
    tags = ["v1.0.0", "v1.2.3", "1.3.0-rc.1", "2.0.0", "0.3.1", "0.3.9", "v2.1", "latest"]
    assert newest(constraint, tags) == expected


@pytest.mark.parametrize("branch", ["main", "release-1", "feature/1.0", "", "1.0.0", "v1", "a" * 500])
def test_names_of_branches_and_exact_versions_are_no_ranges(branch: str) -> None:
    assert not is_range(branch)


@pytest.mark.parametrize("version", ["1.0.0-00", "1.0.0-rc.01", "1.0.0-01.rc"])
def test_a_number_in_a_prerelease_does_not_start_with_zero(version: str) -> None:
    assert version_of(version) is None
    assert version_of(version.replace("01", "0").replace("00", "0")) is not None


_NUMBER = r"(0|[1-9][0-9]{0,2})"
_VERSIONS = st.from_regex(
    rf"\A[0-9]{{1,3}}\.[0-9]{{1,3}}\.[0-9]{{1,3}}(-([a-z][a-z0-9]{{0,2}}|{_NUMBER})(\.{_NUMBER})?)?\Z"
)


@given(_VERSIONS, _VERSIONS)
def test_the_order_of_versions_is_antisymmetric(first: str, second: str) -> None:
    left, right = version_of(first), version_of(second)
    assert left is not None
    assert right is not None
    assert compare(left, right) == -compare(right, left)


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader_of_ranges(constraint: str) -> None:
    newest(constraint, ["1.0.0"])
