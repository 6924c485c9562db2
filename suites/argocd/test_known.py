"""The list of known differences is current: an entry names a place, and fails if it does not occur there."""

from __future__ import annotations

from suites.argocd.answers import SOURCES
from suites.argocd.known import known_differences, stale, unexplained
from suites.argocd.playable import playable, unplayable

_PARTS = ("", *(f"/{source}" for source in SOURCES), "/fix", "/plan")


def test_each_entry_names_a_place_that_is_compared() -> None:
    places = {f"{scenario}{part}" for scenario in playable() for part in _PARTS}
    for entry in known_differences():
        named = {place for place in entry.where if "*" not in place}
        assert named or not entry.always, f"{entry.id} names no scenario in which it occurs"
        assert named <= places, f"{entry.id} names {sorted(named - places)}, which nothing compares"


_REVISION = """argocd/cart: condition ComparisonError
    real:  unable to resolve 'gone' to a commit SHA
    model: unable to resolve 'gone' to a commit SHA: revision not found"""


def test_an_entry_that_does_not_differ_any_more_is_a_problem() -> None:
    assert stale("branch-deleted", [_REVISION]) == []
    assert stale("branch-deleted", []) == ["unresolved-revision"]
    assert unexplained("branch-deleted", [_REVISION]) == []
    assert (
        len(unexplained("branch-deleted", ["argocd/cart: sync\n    real:  Synced\n    model: Unknown"])) == 2
    )


def test_an_entry_that_depends_on_the_moment_is_no_problem_if_it_does_not_differ() -> None:
    difference = (
        "argocd/orders: result of Service orders/orders Sync phase\n    real:  (none)\n    model: Failed"
    )
    assert unexplained("namespace-terminating", [difference]) == []
    assert unexplained("namespace-terminating", []) == []


def test_a_difference_due_to_the_version_is_none_in_a_later_one() -> None:
    assert unexplained("branch-deleted", [_REVISION], "v3.4.0") == []
    assert unexplained("branch-deleted", [], "v3.4.0") == []
    assert unexplained("branch-deleted", [_REVISION], "v3.6.0") == [_REVISION]
    assert unexplained("branch-deleted", [], "v3.6.0") == []


def test_reasons_that_name_a_version_say_where_the_difference_ends() -> None:
    named = {entry.id for entry in known_differences() if "Argo CD 3." in entry.why}
    assert {entry.id for entry in known_differences() if entry.before} == named


def test_most_scenarios_can_be_played() -> None:
    assert len(playable()) >= 100
    assert all(unplayable().values())
