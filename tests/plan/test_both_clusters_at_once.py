"""A large app is simulated on both clusters at the same time, with the same result."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.plan import planned, repository
from benchmarks.sync import manifests_of
from whysync.plan import planner
from whysync.plan.plan import Plan
from whysync.processes import forked


def test_two_processes_plan_what_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository(tmp_path, manifests_of(20))
    monkeypatch.setattr(planner, "_MANY_OBJECTS", 10)

    def plan_with(cores: int) -> Plan:
        monkeypatch.setattr(forked, "cores", lambda: cores)
        return planned(str(tmp_path))

    assert plan_with(2) == plan_with(1)
