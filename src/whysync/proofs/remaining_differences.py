"""Which fields still differ in a simulated world: a row tells only that something does."""

from __future__ import annotations

from collections.abc import Iterable

from whysync.argocd.api.application import Application
from whysync.diagnosis.case import Case
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.diagnosis.symptom import SymptomId
from whysync.facts.simulated import snapshot_of
from whysync.kubernetes.api.decode import decode
from whysync.proofs.world import SimulatedCase


def still_differing(world: SimulatedCase, symptoms: Iterable[SymptomId]) -> frozenset[SymptomId]:
    """Of these symptoms, those of fields that differ at present."""
    snapshot = snapshot_of(world.simulation)
    application = next(
        (application for application in snapshot.applications if application.ref.place == world.app), None
    )
    if application is None:
        return frozenset()
    app = decode(application.body, Application)[0] or Application()
    case = Case(SnapshotIndex(snapshot), application, app)
    return frozenset(drift.symptom for drift in case.drifts) & frozenset(symptoms)
