"""Does what a sync did last? Loops and leftovers."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.proofs.worlds import bundle, in_git, settings, synced, there
from tests.situations import case_of, row
from whysync.diagnosis.drift.mechanism import Mechanism
from whysync.kubernetes.api.ref import Ref
from whysync.proofs.other_writers import OtherWriter
from whysync.proofs.simulated_case import simulated
from whysync.proofs.sync_effects import DriftAfterSync, drift_after_sync, period_of


@pytest.mark.parametrize(("rounds", "is_loop"), [(0, False), (1, False), (2, True), (3, True)])
def test_twice_is_a_loop(rounds: int, is_loop: bool) -> None:
    assert DriftAfterSync(auto_syncs=rounds).is_loop is is_loop


def test_what_nobody_prunes_does_not_come_back() -> None:
    """It differs for ever, and no writer is to blame."""
    config, old = settings("settings"), settings("old")
    rows = (row("ConfigMap", "old", "OutOfSync", requiresPruning=True), row("ConfigMap", "settings"))
    world = simulated(
        case_of(bundle(), synced(*rows, sync="OutOfSync"), in_git(config), there(config), there(old)),
        disable_auto_sync=True,
    )
    world.simulation.timeline.settle()
    world.sync()
    world.until(lambda: not world.is_operating, timedelta(minutes=30))
    assert world.sync_and_health[0] == "OutOfSync"
    assert drift_after_sync(world) == DriftAfterSync()


def test_the_period_is_the_middle_one_and_no_faster_than_the_slowest_writer() -> None:
    spans = [timedelta(seconds=9), timedelta(seconds=2), timedelta(seconds=4)]
    nobody: tuple[OtherWriter, ...] = ()
    assert period_of(nobody, spans) == timedelta(seconds=4)
    assert period_of(nobody, []) is None


def test_a_slow_writer_sets_the_period() -> None:
    """A loop is never faster than the writer that was observed to take that long."""

    def writer(seconds: float, *, observed: bool) -> OtherWriter:
        return OtherWriter(
            who="an operator",
            ref=Ref(kind="ConfigMap", name="settings"),
            pointer="/data/a",
            mechanism=Mechanism.BY_CONTROLLER,
            repeats=True,
            seconds=seconds,
            delay_observed=observed,
        )

    spans = [timedelta(seconds=4)]
    assert period_of((writer(60, observed=True), writer(20, observed=True)), spans) == timedelta(seconds=60)
    assert period_of((writer(60, observed=False),), spans) == timedelta(seconds=4)
    assert period_of((writer(2, observed=True),), spans) == timedelta(seconds=4)
