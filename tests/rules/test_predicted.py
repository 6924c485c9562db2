"""In a plan, rules about syncs and health report what would happen, not what has happened."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.rules.bench import BUNDLES, findings_of, load_case, rule_for
from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.snapshot_index import SnapshotIndex

RULES = ("hook_failed", "hook_stuck", "wave_stalled", "workload_degraded")
OF_THE_PAST = ("has been waiting", "hook failed", "became Degraded", "not applied yet")


@pytest.mark.parametrize("rule", RULES)
def test_findings_of_a_plan_are_in_the_future(rule: str) -> None:
    bundles = [bundle for bundle in BUNDLES if bundle.parent.name == rule]
    main = [finding.verdict for bundle in bundles for finding in _predicted(bundle) if finding.explains]
    assert any("would" in verdict for verdict in main), main
    for verdict in main:
        assert not any(phrase in verdict for phrase in OF_THE_PAST), verdict


def _predicted(bundle: Path) -> tuple[Finding, ...]:
    case = load_case(bundle)
    index = SnapshotIndex(replace(case.index.snapshot, is_predicted=True))
    manifest, app = index.decoded[0]
    return findings_of(rule_for(bundle), Case(index, manifest, app))
