"""A verdict costs what moves, not what the app has. Calls are counted: a busy machine changes nothing."""

from __future__ import annotations

import cProfile
import pstats
from typing import cast

from tests.proofs.worlds import large_app
from tests.situations import case_of
from whysync.proofs.sync_safety import safety_of


def calls(resources: int, drifted: int) -> int:
    case = case_of(*large_app(resources, drifted))
    assert case.drifts  # the comparison is the diagnosis' own cost
    assert case.symptoms
    profile = cProfile.Profile()
    profile.enable()
    safety = safety_of(case)
    profile.disable()
    assert safety.reasons
    return cast("int", vars(pstats.Stats(profile))["total_calls"])


def test_what_stays_costs_next_to_nothing() -> None:
    calls(20, 1)
    small, large = calls(20, 1), calls(200, 1)
    assert large < small * 1.6


def test_it_grows_with_what_moves() -> None:
    calls(20, 1)
    few, many = calls(100, 2), calls(100, 8)
    assert many < few * 6
