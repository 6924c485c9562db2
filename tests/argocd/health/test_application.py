"""The health of an Application, from the health of what it manages."""

from __future__ import annotations

import json

import pytest

from tests.argocd.health.app_health import app_health
from tests.conformance.compare_health import CHECKS
from tests.shared import CONFORMANCE, needs_shared
from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.application import AppHealth, ManagedPair, health_causes, health_status
from whysync.json_tree import Object
from whysync.kubernetes.api.ref import Key

HOOK: Object = {"argocd.argoproj.io/hook": "PreSync"}


def pair(kind: str, phase: str | None, annotations: Object | None = None, *, name: str = "x") -> ManagedPair:
    """A claim or Pod whose phase decides; without a phase it is not live."""
    body: Object = {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "shop", "annotations": annotations or {}},
        "status": {"phase": phase},
    }
    key = Key("", kind, "shop", name)
    return ManagedPair(key=key, target=body, live=None if phase is None else body)


CLAIM = "PersistentVolumeClaim"


@pytest.mark.parametrize(
    ("pairs", "code", "message"),
    [
        ([], HealthCode.HEALTHY, ""),
        ([pair(CLAIM, "Bound")], HealthCode.HEALTHY, ""),
        (
            [pair(CLAIM, "Pending"), pair(CLAIM, "Lost"), pair(CLAIM, "Pending")],
            HealthCode.DEGRADED,
            f"Caused by {CLAIM}:shop/x",
        ),
        (
            [pair(CLAIM, "Pending", name="a"), pair(CLAIM, "Pending", name="b")],
            HealthCode.PROGRESSING,
            f"Caused by {CLAIM}:shop/a, {CLAIM}:shop/b",
        ),
        ([pair(CLAIM, None), pair(CLAIM, "Bound")], HealthCode.HEALTHY, ""),
        ([pair(CLAIM, None)], HealthCode.MISSING, ""),
        ([pair(CLAIM, "Lost", HOOK)], HealthCode.HEALTHY, ""),
        (
            [pair(CLAIM, "Lost", {"argocd.argoproj.io/ignore-healthcheck": "true"})],
            HealthCode.HEALTHY,
            "",
        ),
        ([pair(CLAIM, "Lost", {"argocd.argoproj.io/hook": "Skip"})], HealthCode.HEALTHY, ""),
        ([pair("ConfigMap", "odd")], HealthCode.HEALTHY, ""),
    ],
)
def test_the_worst_counts(pairs: list[ManagedPair], code: HealthCode, message: str) -> None:
    health = app_health(pairs, {})
    assert (health.code, health.message) == (code, message)


def test_rows_show_what_each_has() -> None:
    health = app_health([pair(CLAIM, None), pair(CLAIM, "Lost"), pair("ConfigMap", "x")], {})
    codes = [None if row is None else row.code for row in health.rows]
    assert codes == [HealthCode.MISSING, HealthCode.DEGRADED, None]


def test_an_app_that_manages_itself_does_not_count() -> None:
    app: Object = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {
            "name": "me",
            "namespace": "argocd",
            "uid": "1",
            "deletionTimestamp": "2026-01-02T03:04:05Z",
        },
    }
    itself = ManagedPair(key=Key("argoproj.io", "Application", "argocd", "me"), target=app, live=app)
    assert app_health([itself], {}, app=app).code is HealthCode.HEALTHY
    other: Object = {"metadata": {"name": "me", "namespace": "argocd", "uid": "2"}}
    assert app_health([itself], {}, app=other).code is HealthCode.PROGRESSING


def test_the_first_error_is_reported() -> None:
    live: Object = {"apiVersion": "v2", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop"}}
    bad = ManagedPair(key=Key("", "Pod", "shop", "p"), target=None, live=live)
    assert app_health([bad], {}).error == (
        'failed to get resource health for "Pod" with name "p" in namespace "shop": '
        "unsupported Pod GVK: /v2, Kind=Pod"
    )


def test_three_causes_are_named() -> None:
    keys = [Key("apps", "Deployment", "", str(number)) for number in range(5)]
    assert (
        health_causes(keys) == "Caused by apps/Deployment:0, apps/Deployment:1, apps/Deployment:2 and 2 more"
    )


def test_a_message_outlives_its_cause_unless_rows_carry_health() -> None:
    before: Object = {"status": "Degraded", "lastTransitionTime": "then", "message": "old"}
    now = AppHealth(code=HealthCode.DEGRADED, message="new", rows=())
    assert health_status(before, now, persisted=False, now="now") == before
    assert health_status(before, now, persisted=True, now="now") == {**before, "message": "new"}
    healthy = AppHealth(code=HealthCode.HEALTHY, message="", rows=())
    assert health_status(before, healthy, persisted=False, now="now") == {
        "status": "Healthy",
        "lastTransitionTime": "now",
    }


@needs_shared
def test_recorded_answers_are_ours() -> None:
    checked = 0
    for line in (CONFORMANCE / "compare.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["op"] in CHECKS:
            checked += 1
            assert CHECKS[record["op"]](record) == [], record["id"]
    assert checked > 20
