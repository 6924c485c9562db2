"""A fleet costs what its apps cost, a sync what its resources cost: nothing looks through all for each.

Calls are counted, not seconds, so that a busy machine changes nothing.
"""

from __future__ import annotations

import cProfile
import pstats
from pathlib import Path
from typing import cast

from benchmarks.diagnose import write
from benchmarks.sync import manifests_of, play
from whysync import app

SMALL, LARGE = 10, 40


def calls_to_diagnose(folder: Path, apps: int) -> int:
    folder.mkdir()
    write(folder, apps)
    cases = app.cases(app.read(app.Place(bundles=(str(folder),))))
    profile = cProfile.Profile()
    profile.enable()
    report = app.diagnose(cases, prove=False)  # of few apps fixes would be tried, of many not
    profile.disable()
    assert len(report.apps) == apps
    return cast("int", vars(pstats.Stats(profile))["total_calls"])


def test_diagnosing_grows_with_the_number_of_apps(tmp_path: Path) -> None:
    calls_to_diagnose(tmp_path / "warm", SMALL)
    small = calls_to_diagnose(tmp_path / "small", SMALL) / SMALL
    large = calls_to_diagnose(tmp_path / "large", LARGE) / LARGE
    assert large < small * 1.5


def calls_to_sync(resources: int) -> int:
    manifests = manifests_of(resources)
    profile = cProfile.Profile()
    profile.enable()
    play(manifests)
    profile.disable()
    return cast("int", vars(pstats.Stats(profile))["total_calls"])


def test_a_sync_grows_with_the_number_of_resources() -> None:
    calls_to_sync(30)
    small = calls_to_sync(60) / 60
    large = calls_to_sync(180) / 180
    assert large < small * 1.3
