"""Which fields still differ in a simulated world: a row tells only that something does."""

from __future__ import annotations

from collections.abc import Iterable

from whysync.contracts.application import Application
from whysync.contracts.decode import decode
from whysync.diagnosis.case import Case
from whysync.diagnosis.world import World
from whysync.proofs.ground import Simulated
from whysync.simulated_facts import snapshot_of


def still_differing(world: Simulated, symptoms: Iterable[str]) -> frozenset[str]:
    """Of these symptoms, those of fields that differ at present."""
    snapshot = snapshot_of(world.simulation)
    application = next((one for one in snapshot.applications if one.ref.place == world.app), None)
    if application is None:
        return frozenset()
    app = decode(application.body, Application)[0] or Application()
    case = Case(World(snapshot), application, app)
    return frozenset(drift.symptom for drift in case.drifts) & frozenset(symptoms)
