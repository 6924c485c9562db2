"""How a simulated sync ended, and what that says about a real one."""

from __future__ import annotations

import pytest

from tests.proofs.worlds import bundle, in_git, settings, synced, there
from tests.situations import case_of, row
from whysync.diagnosis.finding import Confidence, Finding
from whysync.diagnosis.report import ReasonKind
from whysync.diagnosis.symptom import Side
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.api.ref import Ref
from whysync.proofs.observations import failed_resources
from whysync.proofs.simulated_case import SimulatedCase, simulated
from whysync.proofs.sync_effects import DriftAfterSync, Effects
from whysync.proofs.sync_reasons import RankedReason, outcome, side_effect_reasons

CONFIG = Ref(version="v1", kind="ConfigMap", namespace="shop", name="settings")
REFUSED: Object = {**row("ConfigMap", "settings"), "status": "SyncFailed", "message": "it is refused"}
OLDER = "b" * 40


def ended(
    phase: str = "Failed",
    message: str = "one or more objects failed",
    *results: Json,
    before: Object | None = None,
    objects: tuple[Object, ...] = (),
    conditions: list[Json] | None = None,
) -> SimulatedCase:
    """A simulation whose sync ended in this way; `before` changes the last sync in the facts."""
    app = synced(row("ConfigMap", "settings", "OutOfSync"), sync="OutOfSync", conditions=conditions or [])
    state = fields(fields(app["status"])["operationState"])
    state |= before or {}
    config = settings("settings")
    case = case_of(bundle(), app, in_git(config), there({**config, "data": {"a": "c"}}), *objects)
    world = simulated(case, disable_auto_sync=True)
    operation: Object = {"phase": phase, "message": message, "syncResult": {"resources": [*results]}}

    def with_operation(body: Object) -> Object:
        return {**body, "status": {**fields(body["status"]), "operationState": operation}}

    world.edit(with_operation)
    return world


def finding(side: Side = Side.APPLY, *, root: str = "", caused_by: tuple[str, ...] = ()) -> Finding:
    verdict = "the quota is used up"
    return Finding(
        about=CONFIG,
        verdict=verdict,
        confidence=Confidence.HIGH,
        side=side,
        root=root,
        caused_by=caused_by,
    )


def reasons(world: SimulatedCase, *findings: Finding, finished: bool = True) -> list[RankedReason]:
    return list(outcome(world, findings, ended=finished))


def test_a_sync_that_succeeds_needs_no_reason() -> None:
    assert reasons(ended("Succeeded", "successfully synced")) == []


def test_a_failure_that_the_last_sync_did_not_have_is_a_doubt() -> None:
    """The same commit was synced before: the simulation may lack something that the cluster has."""
    (reason,) = reasons(ended("Failed", "one or more objects failed", REFUSED))
    assert reason.kind is ReasonKind.MODEL_DIFFERS
    assert reason.text == "the objects in the facts are not complete enough to simulate it"
    assert (reason.unknown, reason.weight) == (True, 65)
    assert [ref.name for ref in reason.refs] == ["settings"]
    (bare,) = reasons(ended("Error", "no rights"))
    assert bare.text == reason.text


def test_a_new_commit_may_fail_for_a_new_reason() -> None:
    world = ended("Failed", "failed", REFUSED, before={"syncResult": {"revision": OLDER}})
    (reason,) = reasons(world)
    assert reason.text == "it would fail: ConfigMap settings: it is refused"
    assert (reason.kind, reason.unknown) == (ReasonKind.SYNC_FAILS, False)


def test_a_hook_that_fails_is_the_reason() -> None:
    synced_one: Object = {**row("ConfigMap", "other"), "status": "Synced", "message": "configured"}
    for phase in ("Failed", "Error"):
        hook: Object = {
            **row("Job", "migrate"),
            "hookType": "PreSync",
            "hookPhase": phase,
            "message": "exit 1",
        }
        world = ended("Failed", "failed", synced_one, hook, before={"syncResult": {"revision": OLDER}})
        (reason,) = reasons(world)
        assert reason.text == "it would fail: Job migrate: exit 1"
        assert [ref.name for ref in reason.refs] == ["migrate"]


@pytest.mark.parametrize("phase", ["Failed", "Error"])
def test_a_sync_that_failed_fails_again_until_its_cause_is_fixed(phase: str) -> None:
    world = ended("Failed", "objects failed", REFUSED, before={"phase": phase})
    (again,) = reasons(world)
    assert again.text == "it fails again: objects failed"
    assert (again.kind, again.unknown, again.weight) == (ReasonKind.SYNC_FAILS, False, 65)
    (headline,) = reasons(world, finding())
    assert headline.text == "it fails again until the cause is fixed"
    (second,) = reasons(world, finding(Side.DRIFT), finding())
    assert second.text == "it fails again until this is fixed: the quota is used up"
    (root,) = reasons(world, finding(root="disk full"))
    assert root.text == "it fails again until this is fixed: disk full"
    (consequence,) = reasons(world, finding(caused_by=("another",)))
    assert consequence.text == "it fails again: objects failed"
    (healthy,) = reasons(world, finding(Side.HEALTH))
    assert healthy.text == "it fails again until the cause is fixed"


def test_a_condition_that_blocks_the_sync_is_the_same_failure() -> None:
    conditions: list[Json] = [{"type": "InvalidSpecError", "message": "no project"}]
    (reason,) = reasons(ended("Error", "InvalidSpecError: no project", conditions=conditions))
    assert reason.text == "it would fail: InvalidSpecError: no project"
    (other,) = reasons(ended("Error", "another one", conditions=conditions))
    assert other.kind is ReasonKind.MODEL_DIFFERS
    warning: list[Json] = [{"type": "OrphanedResourceWarning", "message": "1"}]
    (warned,) = reasons(ended("Error", "OrphanedResourceWarning", conditions=warning))
    assert warned.kind is ReasonKind.MODEL_DIFFERS


def test_a_sync_that_does_not_end_hangs() -> None:
    running: Object = {**row("Job", "migrate"), "hookPhase": "Running", "hookType": "PreSync"}
    world = ended("Running", "waiting for completion of hook batch/Job/migrate", running)
    (reason,) = reasons(world, finished=False)
    assert reason.text == "it would not finish: waiting for completion of hook batch/Job/migrate"
    assert (reason.kind, reason.weight) == (ReasonKind.SYNC_HANGS, 65)
    assert [ref.name for ref in reason.refs] == ["migrate"]
    (silent,) = reasons(ended("Running", ""), finished=False)
    assert silent.text == "it would not finish"


RUNNING: Object = {"phase": "Running", "message": "waiting", "finishedAt": None}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("waiting", "in the simulation it does not finish"),
        ("another step", "in the simulation it does not finish: another step"),
        ("", "in the simulation it does not finish"),
    ],
)
def test_simulated_states_of_a_running_sync_are_not_reported_as_observed(message: str, expected: str) -> None:
    (reason,) = reasons(ended("Running", message, before=RUNNING), finished=False)
    assert reason.text == expected


def test_a_retried_sync_is_described_with_the_reported_message() -> None:
    """The simulation has continued to later attempts, whose number nobody has seen."""
    reported = "one or more objects failed to apply. Retrying attempt #2 at 3:12AM."
    later = "one or more objects failed to apply. Retrying attempt #5 at 3:40AM."
    before: Object = {**RUNNING, "message": reported}
    (reason,) = reasons(ended("Running", later, before=before), finished=False)
    assert reason.text == f"it is retried: {reported}"


# --- what stays in the cluster -------------------------------------------------------------------


def unpruned(
    *rows: Object, objects: tuple[Object, ...] = (), prune: bool = False, options: tuple[str, ...] = ()
) -> list[str]:
    policy: Object = {"syncOptions": [*options]}
    if prune:
        policy["automated"] = {"prune": True}
    app = synced(*rows, sync="OutOfSync", spec={"syncPolicy": policy})
    config = settings("settings")
    case = case_of(bundle(), app, in_git(config), there(config), *objects)
    world = simulated(case, disable_auto_sync=True)
    all_reasons = side_effect_reasons(world, Effects(), DriftAfterSync(), sure=False)
    return [reason.text for reason in all_reasons if reason.kind is ReasonKind.LEAVES_UNPRUNED]


def old(name: str = "old", kind: str = "ConfigMap", **more: Json) -> Object:
    return row(kind, name, "OutOfSync", requiresPruning=True, **more)


def secret(name: str) -> Object:
    return there({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "shop"}})


KEPT = row("ConfigMap", "settings")


def test_an_object_that_git_dropped_stays_without_prune() -> None:
    (text,) = unpruned(KEPT, old(), objects=(there(settings("old")),))
    assert text == "without --prune it leaves ConfigMap shop/old in the cluster; with --prune it deletes it"
    assert unpruned(KEPT) == []
    assert unpruned(KEPT, old(hook=True)) == []


def test_auto_sync_prunes_what_a_plain_sync_leaves() -> None:
    (text,) = unpruned(KEPT, old(), prune=True)
    assert text.endswith("with --prune it deletes it; auto-sync prunes (automated.prune is true)")


def test_what_prune_would_delete_with_its_data_is_named() -> None:
    names = ("a", "b", "c")
    rows = [old(name, "Secret") for name in names]
    (single,) = unpruned(KEPT, rows[0], objects=(secret("a"),))
    assert single.endswith("; with --prune it deletes Secret shop/a and its data")
    (three,) = unpruned(KEPT, *rows, objects=tuple(map(secret, names)))
    assert three.endswith(
        "; with --prune it deletes Secret shop/a and its data, Secret shop/b and its data and 1 object more"
    )


def test_prune_would_delete_everything_that_the_app_has() -> None:
    (text,) = unpruned(old(), old("older"))
    assert text.endswith("; with --prune it deletes everything that the app has (2 objects)")
    assert "auto-sync" not in unpruned(old(), old("older"), prune=True)[0]


def test_prune_false_keeps_all_of_it() -> None:
    (text,) = unpruned(KEPT, old(), options=("Prune=false",), prune=True)
    assert text == "it leaves ConfigMap shop/old in the cluster"


@pytest.mark.parametrize("reported", ["", "shop"])
def test_a_cluster_scoped_failure_is_the_reported_one(reported: str) -> None:
    """The sync adds the destination's namespace; not each version of Argo CD reports it."""
    crd: Object = {
        **row("CustomResourceDefinition", "tenants.acme.io", "SyncFailed"),
        "group": "apiextensions.k8s.io",
        "message": "field is immutable",
    }
    before: Object = {"syncResult": {"resources": [{**crd, "namespace": reported}]}}
    world = ended("Failed", "failed", {**crd, "namespace": "shop"}, before=before)
    (symptom,) = failed_resources(world)
    assert symptom.key is not None
    assert symptom.key.namespace == reported
