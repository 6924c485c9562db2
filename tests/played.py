"""Scenarios of the lab, played and diagnosed once for all tests that look at the end of them.

What they give is for reading: whoever changes something plays the scenario again.
"""

from __future__ import annotations

from functools import cache

from whysync import app
from whysync.diagnosis.report import Report
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.lab.library import built_in
from whysync.lab.player import ScenarioRun, play


@cache
def played(name: str) -> ScenarioRun:
    return play(built_in(name))


@cache
def diagnosed(name: str) -> Report:
    """With all fixes tried."""
    return app.diagnose(app.cases(SnapshotIndex(played(name).snapshot())))
