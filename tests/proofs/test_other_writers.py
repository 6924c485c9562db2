"""Whoever else writes is found in the facts, and plays its part: once, again and again, or in passing."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.proofs.worlds import bundle, deployment, in_git, running, settings, synced, there, wrote
from tests.situations import case_of, row
from whysync.argocd.app_controller.trace import TraceKind
from whysync.diagnosis.drift.mechanism import Mechanism
from whysync.json_tree import Json, Object, dig, fields
from whysync.kubernetes.api.ref import Key
from whysync.proofs.other_writers import EnforcedField, FieldController
from whysync.proofs.simulated_case import SimulatedCase, simulated

WELL: Object = {"status": "Healthy"}
SHOP = Key("apps", "Deployment", "shop", "shop")
REPLICAS: Object = {"f:spec": {"f:replicas": {}}}


def scaled(
    manager: str, *, live_replicas: int = 5, spec: Object | None = None, at: str = "2026-03-02T03:00:00Z"
) -> SimulatedCase:
    live = running(deployment(replicas=live_replicas), managed=[wrote(manager, REPLICAS, at=at)])
    app = synced(row("Deployment", "shop", "OutOfSync", health=WELL), sync="OutOfSync", spec=spec)
    return simulated(case_of(bundle(), app, in_git(deployment(replicas=2)), live))


def replicas(world: SimulatedCase) -> object:
    return dig(world.objects()[SHOP], "spec", "replicas")


def test_a_person_writes_once() -> None:
    world = scaled("kubectl-edit")
    (writer,) = world.writers.all
    assert (writer.mechanism, writer.repeats) == (Mechanism.BY_HAND, False)
    world.sync()
    world.run(timedelta(minutes=30))
    assert replicas(world) == 2
    assert world.sync_and_health == ("Synced", "Healthy")


def test_an_operator_writes_again() -> None:
    world = scaled("shop-operator")
    (writer,) = world.writers.all
    assert (writer.mechanism, writer.repeats, writer.who) == (
        Mechanism.BY_CONTROLLER,
        True,
        "an operator (shop-operator)",
    )
    assert [citation.source for citation in writer.evidence] == ["desired", "live"]
    world.sync()
    world.run(timedelta(seconds=5))
    assert replicas(world) == 2
    world.run(timedelta(minutes=5))
    assert replicas(world) == 5
    assert world.sync_and_health[0] == "OutOfSync"


def test_how_long_it_takes_is_read_off_the_facts() -> None:
    """The last sync ended at one o'clock."""
    (writer,) = scaled("shop-operator", at="2026-03-02T01:00:42Z").writers.all
    assert (writer.seconds, writer.delay_observed) == (42, True)
    (writer,) = scaled("shop-operator", at="2026-03-02T02:30:00Z").writers.all
    assert (writer.seconds, writer.delay_observed) == (10, False)


def test_two_writers_and_one_field_are_a_loop() -> None:
    world = scaled("shop-operator", spec={"syncPolicy": {"automated": {"selfHeal": True}}})
    world.run(timedelta(minutes=10))
    syncs = [entry for entry in world.simulation.argocd.trace if entry.kind is TraceKind.STARTED]
    assert len(syncs) > 2


def test_a_webhook_injects_its_container_into_applied_objects() -> None:
    live = running(deployment())
    containers = dig(live, "spec", "template", "spec", "containers")
    assert isinstance(containers, list)
    sidecar: Object = {"name": "istio-proxy", "image": "istio/proxyv2:1.2"}
    containers.append({**sidecar, **{k: v for k, v in fields(containers[0]).items() if k not in sidecar}})
    app = synced(row("Deployment", "shop", "OutOfSync", health=WELL), sync="OutOfSync")
    world = simulated(case_of(bundle(), app, in_git(deployment()), live))
    assert Mechanism.INJECTED in {writer.mechanism for writer in world.writers.all}
    world.sync()
    world.run(timedelta(minutes=5))
    after = dig(world.objects()[SHOP], "spec", "template", "spec", "containers")
    assert isinstance(after, list)
    assert [dig(container, "name") for container in after] == ["main", "istio-proxy"]


def test_a_refusal_is_repeated_until_it_is_lifted() -> None:
    message = (
        'admission webhook "validate.kyverno.svc-fail" denied the request: '
        "policy require-labels/check: validation error: label team is required"
    )
    config = settings("new")
    app = synced(row("ConfigMap", "new", "OutOfSync", health={"status": "Missing"}), sync="OutOfSync")
    state = fields(fields(app["status"])["operationState"])
    results: list[Json] = [{**row("ConfigMap", "new", "SyncFailed"), "message": message, "syncPhase": "Sync"}]
    state |= {"phase": "Failed", "syncResult": {"revision": "a" * 40, "resources": results}}
    other = there(settings("other"))
    world = simulated(case_of(bundle(), app, in_git(config), other))
    assert [refusal.ref.name for refusal in world.writers.refusals.all] == ["new"]
    world.sync()
    world.run(timedelta(minutes=1))
    assert world.operation["phase"] == "Failed"
    assert "label team is required" in str(world.operation)
    assert world.writers.refusals.lift(lambda refusal: refusal.ref.name == "new") == 1
    world.sync()
    world.run(timedelta(minutes=1))
    assert world.operation["phase"] == "Succeeded"


@pytest.mark.parametrize("seconds", [0.0, 7.0, 300.0])
def test_a_holder_waits_as_long_as_it_takes(seconds: float) -> None:
    config = settings("a", data={"k": "git"})
    app = synced(row("ConfigMap", "a"))
    world = simulated(case_of(bundle(), app, in_git(config), there(config)), everything=True)
    ref = world.ref(Key("", "ConfigMap", "shop", "a"))
    holder = FieldController(
        EnforcedField(ref=ref, pointer="/data/k", value="mine", who="me", seconds=seconds)
    )
    holder.start(world.simulation)
    world.simulation.participants.insert(0, holder)
    world.run(timedelta(seconds=max(seconds - 1, 0)))
    before = holder.writes
    world.run(timedelta(seconds=2))
    assert (before, holder.writes) == (1 if seconds == 0 else 0, 1)
    assert dig(world.objects()[ref.key], "data", "k") == "mine"
