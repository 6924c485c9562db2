"""Differences that Argo CD does not show, and what hides them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.running import Whysync
from tests.situations import application, bundle, case_of, config_map, row
from whysync.diagnosis.drift import HiddenBy
from whysync.json_tree import Object, dig, items
from whysync.queries.hidden_drift import unreported_differences

IGNORED: Object = {"ignoreDifferences": [{"kind": "ConfigMap", "jsonPointers": ["/data/a"]}]}


def app(sync: str, spec: Object | None = None, *, reported: str = "") -> Object:
    rows = [row("ConfigMap", "settings", reported or sync)]
    return application(sync=sync, status={"resources": [*rows]}, spec=spec)


def hidden(application: Object, live: Object) -> list[tuple[str, HiddenBy, str]]:
    case = case_of(application, config_map(desired=True), live)
    return [(field.pointer, field.hidden_by, field.ignore_rule) for field in unreported_differences(case)]


def test_a_field_that_an_ignore_rule_hides() -> None:
    rule = "spec.ignoreDifferences[0]: /data/a"
    for status in ("Synced", "OutOfSync"):
        hidden_fields = hidden(app(status, IGNORED), config_map(data={"a": "c"}))
        assert hidden_fields == [("/data/a", HiddenBy.IGNORE_RULE, rule)]


def test_a_field_of_a_resource_that_is_reported_as_synced() -> None:
    hidden_fields = hidden(app("OutOfSync", reported="Synced"), config_map(data={"a": "c"}))
    assert hidden_fields == [("/data/a", HiddenBy.REPORTED_SYNCED, "")]


def test_a_difference_that_argo_cd_shows_is_not_listed() -> None:
    assert hidden(app("OutOfSync"), config_map(data={"a": "c"})) == []


def test_an_app_without_symptoms_and_rules_is_not_compared() -> None:
    case = case_of(app("Synced"), config_map(desired=True), config_map(data={"a": "c"}))
    assert unreported_differences(case) == ()
    assert "comparison" not in vars(case)


def test_diagnose_shows_it_with_wide_and_as_json_only(whysync: Whysync, tmp_path: Path) -> None:
    objects = (app("Synced", IGNORED), config_map(desired=True), config_map(data={"a": "c"}))
    command = ("diagnose", "--no-proof", "--bundle", bundle(tmp_path, *objects))
    (shown,) = items(dig(json.loads(whysync(*command, "-o", "json").out), "apps", 0, "hidden"))
    assert (dig(shown, "pointer"), dig(shown, "hiddenBy")) == ("/data/a", "ignore-rule")
    assert (dig(shown, "desired"), dig(shown, "live")) == ("b", "c")
    wide = " ".join(whysync(*command, "-o", "wide").out.split())
    assert "hidden by an ignore rule (spec.ignoreDifferences[0]: /data/a)" in wide
    assert "hidden" not in whysync(*command).out
