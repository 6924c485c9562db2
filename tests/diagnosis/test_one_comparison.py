"""`diff` and `diagnose` agree: on every golden bundle and every scenario of the lab."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.played import played
from tests.rules.bench import BUNDLES, case_name, load_case
from tests.situations import application, case_of, config_map, row
from whysync.diagnosis.case import Case
from whysync.diagnosis.drift import HiddenBy, per_map_entry
from whysync.diagnosis.drift.raw_difference import Difference
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.json_tree import Object
from whysync.kubernetes.api.ref import Key
from whysync.lab.library import names
from whysync.reports.app_diff import AppDiff, ResourceDiff, State


def cases_of_lab(name: str) -> Iterator[Case]:
    world = SnapshotIndex(played(name).snapshot())
    for manifest, app in world.decoded:
        yield Case(world, manifest, app)


def shown_by_diff(resource: ResourceDiff) -> set[str]:
    changes = (
        Difference(field.change.pointer, field.change.desired, field.change.live) for field in resource.fields
    )
    return {difference.pointer for difference in per_map_entry(changes)}


def assert_agreement(case: Case) -> None:
    diff = AppDiff(case, selects=lambda _: True)
    by_key = {resource.resource.key: resource for resource in diff.resources}
    drifts: dict[Key, set[str]] = {}
    hidden: dict[Key, dict[str, HiddenBy]] = {}
    for drift in case.drifts:
        key = drift.live.key if drift.live.key in by_key else drift.key
        shown = drifts.setdefault(key, set())
        if drift.hidden_by is None:
            shown.add(drift.pointer)
        else:
            hidden.setdefault(key, {})[drift.pointer] = drift.hidden_by
    for key, shown in drifts.items():
        resource = by_key[key]
        assert shown == shown_by_diff(resource), key
        ignored = {field.change.pointer for field in resource.ignored}
        by_rule = {at for at, by in hidden.get(key, {}).items() if by is HiddenBy.IGNORE_RULE}
        assert by_rule <= ignored, key
        if not shown:
            assert resource.disagreement or resource.state in (State.ERROR, State.IGNORED), key
    for key, resource in by_key.items():
        reported = case.rows.get(key)
        if resource.state is State.DIFFERS and reported is not None and reported.status == "OutOfSync":
            assert key in drifts


@pytest.mark.parametrize("folder", BUNDLES, ids=case_name)
def test_diff_and_diagnose_agree_on_a_bundle(folder: Path) -> None:
    assert_agreement(load_case(folder))


@pytest.mark.parametrize("name", names())
def test_diff_and_diagnose_agree_on_a_scenario(name: str) -> None:
    for case in cases_of_lab(name):
        assert_agreement(case)


OUT_OF_SYNC = application(sync="OutOfSync", status={"resources": [row("ConfigMap", "settings", "OutOfSync")]})


def hidden(case: Case) -> dict[str, HiddenBy | None]:
    return {drift.pointer: drift.hidden_by for drift in case.drifts}


def test_a_difference_that_argo_cd_shows_is_not_hidden() -> None:
    case = case_of(OUT_OF_SYNC, config_map(desired=True), config_map(data={"a": "c"}))
    assert hidden(case) == {"/data/a": None}


def test_what_only_live_has_is_hidden_by_normalization() -> None:
    case = case_of(OUT_OF_SYNC, config_map(desired=True), config_map(data={"a": "b", "more": "x"}))
    assert hidden(case) == {"/data/more": HiddenBy.NORMALIZATION}


def test_a_rule_of_the_settings_is_named_as_what_hides() -> None:
    settings: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm", "namespace": "argocd"},
        "data": {"resource.customizations.ignoreDifferences.ConfigMap": "jsonPointers: [/data/a]\n"},
    }
    case = case_of(OUT_OF_SYNC, settings, config_map(desired=True), config_map(data={"a": "c"}))
    assert hidden(case) == {"/data/a": HiddenBy.IGNORE_RULE}


def test_another_api_version_is_hidden_next_to_what_is_shown() -> None:
    live = {**config_map(data={"a": "c"}), "apiVersion": "v2"}
    case = case_of(OUT_OF_SYNC, config_map(desired=True), live)
    assert hidden(case) == {"/data/a": None, "/apiVersion": HiddenBy.CONVERSION}


def test_the_comparison_is_made_once_and_only_when_asked_for() -> None:
    case = case_of(application(), config_map(desired=True), config_map())
    assert case.drifts == ()
    assert "comparison" not in vars(case)
    assert case.comparison is case.comparison
