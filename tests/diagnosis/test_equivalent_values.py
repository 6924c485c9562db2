from __future__ import annotations

import pytest

from whysync.diagnosis.drift.equivalent_values import Equivalence, equivalence_of, reordered_list_of
from whysync.json_tree import Json


@pytest.mark.parametrize(
    ("desired", "live", "equivalence"),
    [
        ("24h", "1d", Equivalence.DURATION),
        ("2w", "336h0m0s", Equivalence.DURATION),
        ("1d", "1h", None),
        ('{"a": 1, "b": [2]}', '{"b":[2],"a":1}', Equivalence.JSON),
        ('{"a": 1}', '{"a": 2}', None),
        ("{{ template }}", "{{ other }}", None),
        ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", Equivalence.TIME),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00+01:00", None),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00", None),
        ("10.1.2.3/8", "10.0.0.0/8", Equivalence.ADDRESS),
        ("10.0.0.0/8", "10.0.0.0/16", None),
        ("2001:DB8:0::1", "2001:db8::1", Equivalence.ADDRESS),
        ("https://a.example.com/", "https://a.example.com", Equivalence.ADDRESS),
        ("https://a.example.com/x", "https://a.example.com", None),
        ("Shop.Example.COM", "shop.example.com", Equivalence.CASE),
        ("Always", "Never", None),
        ("two Words", "two words", None),
    ],
)
def test_one_value_in_two_notations(desired: Json, live: Json, equivalence: Equivalence | None) -> None:
    assert equivalence_of(desired, live) is equivalence


def test_a_list_inside_a_reordered_list() -> None:
    desired: Json = {"rules": [{"verbs": ["get"]}, {"verbs": ["list"]}]}
    live: Json = {"rules": [{"verbs": ["list"]}, {"verbs": ["get"]}]}
    assert reordered_list_of(desired, live, "/rules/0/verbs/0") == "/rules"
    assert reordered_list_of(desired, {"rules": [{"verbs": ["list"]}]}, "/rules/0/verbs/0") is None
