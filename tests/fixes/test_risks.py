"""A fix that restarts, deletes or promotes something says what that costs, in `risk` or `destroys`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixes.shell import commands_in
from tests.played import played
from tests.rules.bench import BUNDLES, case_name, load_case
from whysync import app
from whysync.diagnosis.report import Report
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.lab.library import names
from whysync.queries.commands import is_dry_run, without_flags

INTRUSIVE = (
    ("kubectl", "rollout", "restart"),
    ("kubectl", "set", "env"),
    ("kubectl", "set", "resources"),
    ("kubectl", "delete"),
    ("kubectl", "scale"),
    ("kubectl", "argo", "rollouts", "promote"),
    ("argocd", "app", "delete"),
    ("argocd", "cluster", "rm"),
)


def is_intrusive(command: list[str]) -> bool:
    """Pods and hook Jobs do not count: their controller or the next sync creates them again."""
    plain = without_flags(command)
    if plain[:2] == ["kubectl", "delete"] and plain[2:3] in (["pod"], ["job.batch"]):
        return False
    return not is_dry_run(command) and any(tuple(plain[: len(start)]) == start for start in INTRUSIVE)


def without_risk(report: Report) -> Iterator[str]:
    for finding in (finding for each in report.apps for finding in each.findings):
        for fix in finding.fixes:
            commands = [command for line in fix.commands for command in commands_in(line)]
            if any(map(is_intrusive, commands)) and not fix.risk and not fix.destroys:
                yield f"{finding.rule}: {fix.title}"


@pytest.mark.parametrize("folder", BUNDLES, ids=case_name)
def test_of_every_rule(folder: Path) -> None:
    assert list(without_risk(app.diagnose([load_case(folder)], prove=False))) == []


@pytest.mark.parametrize("name", names())
def test_of_every_scenario(name: str) -> None:
    report = app.diagnose(app.cases(SnapshotIndex(played(name).snapshot())), prove=False)
    assert list(without_risk(report)) == []
