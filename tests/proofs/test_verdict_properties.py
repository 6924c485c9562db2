"""What holds for every verdict, whatever the facts are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.played import played
from tests.rules.bench import BUNDLES, case_name, load_case
from tests.shared import CORPUS, SHARED, needs_shared
from tests.situations import EXAMPLES
from tools.corpus import FILES, load
from whysync import app
from whysync.diagnosis.case import Case
from whysync.diagnosis.report import ReasonKind, SyncOutcome, SyncSafety
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.fixes.while_syncing import is_running
from whysync.lab.library import names
from whysync.proofs.sync_safety import safety_of
from whysync.reports.diagnose_text import SyncVerdict, sync_verdict

_UNCOMPARED = frozenset({"ComparisonError", "UnknownError"})
_LOSS = frozenset(
    {
        ReasonKind.DELETES,
        ReasonKind.RECREATES,
        ReasonKind.DROPS_PODS,
        ReasonKind.REFUSES_PODS,
        ReasonKind.REPLACES_GENERATED_VALUE,
    }
)
_NOT_STARTED = frozenset({ReasonKind.REFUSED, ReasonKind.SYNC_RUNNING, ReasonKind.SYNC_HANGS})
_GREEN = SyncVerdict.SAFE


def violations(case: Case) -> Iterator[str]:
    report = diagnose(case, diagnosis_rules())
    safety = safety_of(case, report.findings)
    word, sentence = sync_verdict(replace(report, safety=safety))
    kinds = {reason.kind for reason in safety.reasons}
    starts = not kinds & _NOT_STARTED
    operation = case.operation
    if not safety.reasons or "\n" in sentence:
        yield "it has one line with a reason"
    if safety.sync is SyncSafety.SAFE and starts and kinds & _LOSS:
        yield f"safe beside a loss: {kinds & _LOSS}"
    if word is _GREEN and safety.outcome is SyncOutcome.FAILS:
        yield "green, but it fails"
    if is_running(case) and word is _GREEN:
        yield "green, but a sync is running"
    if word is _GREEN and any(c.type in _UNCOMPARED for c in case.app.status.conditions):
        yield "green, but the comparison failed"
    failed = operation is not None and operation.phase in ("Failed", "Error")
    explains_failure = any(
        finding.already_fixed is None and not finding.caused_by and finding.severity.value == "critical"
        for finding in report.findings
    )
    if failed and explains_failure and word is _GREEN:
        yield "green, but the last sync failed, and its cause is not fixed"
    rows = case.app.status.resources
    if case.app.status.sync.status == "Synced" and rows and starts and word is _GREEN:
        allowed = {ReasonKind.CHANGES_NOTHING, ReasonKind.UPDATES, ReasonKind.CREATES, ReasonKind.RUNS_HOOKS}
        allowed |= {ReasonKind.OVERWRITES, ReasonKind.UNDOES_MANUAL_CHANGE, ReasonKind.RESTARTS_PODS}
        if not kinds & allowed:
            yield "Synced, but no reason says what a sync does"
    if any("simulat" in evidence.says for finding in report.findings for evidence in finding.evidence):
        yield "a simulated state is told as a fact"
    by_prune = [r for r in safety.reasons if r.kind is ReasonKind.DELETES and "prune" in r.text]
    if by_prune:
        yield "a plain sync does not prune"


def _cases(path: Path) -> Iterator[Case]:
    yield from app.cases(app.read(app.FactSource(bundles=(str(path),))))


def _violations_in(paths: list[Path]) -> list[str]:
    assert paths
    return [
        f"{path.name}: {problem}" for path in paths for case in _cases(path) for problem in violations(case)
    ]


@pytest.mark.parametrize("folder", BUNDLES, ids=case_name)
def test_of_a_rule(folder: Path) -> None:
    assert list(violations(load_case(folder))) == []


@pytest.mark.parametrize("name", names())
def test_of_a_scenario(name: str) -> None:
    cases = app.cases(SnapshotIndex(played(name).snapshot()))
    assert [problem for case in cases for problem in violations(case)] == []


def test_of_examples() -> None:
    assert _violations_in(list(EXAMPLES)) == []


@needs_shared
def test_of_incidents() -> None:
    assert _violations_in(sorted((SHARED / "reviews" / "incidents").rglob("*.yaml"))) == []


@needs_shared
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # to_bundle.py leaves it to be closed
@pytest.mark.parametrize("name", FILES)
def test_of_real_cases(name: str, tmp_path: Path) -> None:
    load(CORPUS / "to_bundle.py").main(str(CORPUS / name), str(tmp_path))
    assert _violations_in(sorted(tmp_path.iterdir())) == []
