"""Conditions in the evidence of `diagnose`: with the status, without which they mean the opposite."""

from __future__ import annotations

from tests.cli.running import Whysync

CASE = "tests/rules/health/workload_degraded/challenge_below_a_certificate/case.yaml"


def test_a_condition_that_is_false_says_so(whysync: Whysync) -> None:
    text = " ".join(whysync("diagnose", "--bundle", CASE).out.split())
    assert "condition Ready is False: DoesNotExist: Issuing certificate as Secret does not exist" in text
