"""How a sync is described: what is lost, restarted or overwritten, and what decides the verdict."""

from __future__ import annotations

from datetime import timedelta
from functools import cache

import pytest

from tests.proofs.worlds import bundle, deployment, in_git, running, settings, synced, there
from tests.situations import case_of, row
from whysync.diagnosis.case import Case
from whysync.diagnosis.drift.mechanism import Mechanism
from whysync.diagnosis.report import ReasonKind, SyncOutcome, SyncSafety
from whysync.json_tree import MISSING, Json, Missing, Object, fields
from whysync.kubernetes.api.ref import Key, Ref
from whysync.kubernetes.field_writers import Writer, WriterKind
from whysync.proofs.other_writers import OtherWriter
from whysync.proofs.simulated_case import SimulatedCase, simulated
from whysync.proofs.simulated_safety import doubts_of, simulated_safety, verdict_of
from whysync.proofs.sync_effects import DriftAfterSync, Effects, FieldChange
from whysync.proofs.sync_reasons import (
    RankedReason,
    counted,
    damage_reasons,
    duration_text,
    listed,
    no_effect_reasons,
    persistence_reasons,
    shortened,
    side_effect_reasons,
    value_text,
)

SHOP = Ref(group="apps", version="v1", kind="Deployment", namespace="shop", name="shop")
OTHER = Ref(group="apps", version="v1", kind="Deployment", namespace="shop", name="other")
THIRD = Ref(group="apps", version="v1", kind="Deployment", namespace="shop", name="third")
CONFIG = Ref(version="v1", kind="ConfigMap", namespace="shop", name="settings")
CLAIM = Ref(version="v1", kind="PersistentVolumeClaim", namespace="shop", name="data")
SERVICE = Ref(version="v1", kind="Service", namespace="shop", name="web")
EDITOR = Writer(manager="kubectl-edit", kind=WriterKind.KUBECTL_EDIT)
ARGOCD = Writer(manager="argocd-controller", kind=WriterKind.ARGOCD)
CONTROLLER = Writer(manager="some-operator", kind=WriterKind.CONTROLLER)


@cache
def world() -> SimulatedCase:
    """A synced app with a Deployment, a Service with an address, and a claim."""
    service: Object = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"type": "LoadBalancer", "selector": {"app": "shop"}, "ports": [{"port": 80}]},
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}},
    }
    live = running(deployment(replicas=3))
    app = synced(row("Deployment", "shop", health={"status": "Healthy"}), row("Service", "web"))
    case = case_of(bundle(), app, in_git(deployment(replicas=3)), live, in_git(service), there(service))
    return simulated(case, disable_auto_sync=True, everything=True)


def change(
    ref: Ref = CONFIG,
    pointer: str = "/data/a",
    *,
    writer: Writer | None = EDITOR,
    mechanism: Mechanism | None = None,
    minutes: float | None = 5,
    before: Json | Missing = "live",
    after: Json | Missing = "git",
) -> FieldChange:
    age = None if minutes is None else timedelta(minutes=minutes)
    return FieldChange(
        ref=ref, pointer=pointer, before=before, after=after, writer=writer, mechanism=mechanism, age=age
    )


def damage(effects: Effects) -> list[RankedReason]:
    return list(damage_reasons(world(), effects))


def side_effects(effects: Effects, result: DriftAfterSync | None = None, *, sure: bool = True) -> list[str]:
    reasons = side_effect_reasons(world(), effects, result or DriftAfterSync(), sure=sure)
    return [reason.text for reason in reasons]


def texts(reasons: list[RankedReason]) -> list[str]:
    return [reason.text for reason in reasons]


def pods(ref: Ref, number: int) -> tuple[tuple[Key, int], ...]:
    return ((ref.key, number),)


# --- words ---------------------------------------------------------------------------------------


def test_numbers_and_lists() -> None:
    assert (counted(1, "object"), counted(2, "object"), counted(0, "pod")) == (
        "1 object",
        "2 objects",
        "0 pods",
    )
    assert listed([SHOP]) == "Deployment shop/shop"
    assert listed([SHOP, CONFIG]) == "Deployment shop/shop and ConfigMap shop/settings"
    assert listed([SHOP, CONFIG, CLAIM, OTHER]) == "Deployment shop/shop, ConfigMap shop/settings and 2 more"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-5, "0 s"),
        (119, "119 s"),
        (120, "2 min"),
        (120 * 60 - 1, "119 min"),
        (120 * 60, "2 h"),
        (48 * 3600 - 1, "47 h"),
        (48 * 3600, "2 d"),
    ],
)
def test_durations_have_one_unit(seconds: int, expected: str) -> None:
    assert duration_text(timedelta(seconds=seconds)) == expected


def test_values_are_short() -> None:
    assert value_text(MISSING) == "unset"
    assert value_text("a  b\nc") == "a b c"
    assert value_text({"ü": 1}) == '{"ü": 1}'
    assert value_text("x" * 40) == "x" * 40
    assert value_text("x" * 41) == "x" * 39 + "…"
    assert shortened("y" * 240) == "y" * 240
    assert len(shortened("y" * 241)) == 240


# --- objects that are deleted --------------------------------------------------------------------


def test_deleting_data_is_unsafe_and_deleting_settings_is_not() -> None:
    reasons = damage(Effects(deleted=(CONFIG, CLAIM, SERVICE, SHOP), pods=pods(SHOP, 3)))
    assert texts(reasons) == [
        "it deletes PersistentVolumeClaim shop/data and its data"
        " (unless its volume has reclaim policy Retain)",
        "it deletes Service shop/web and its address is lost",
        "it deletes Deployment shop/shop with 3 running pods",
        "it deletes ConfigMap shop/settings",
    ]
    assert [reason.unsafe for reason in reasons] == [True, True, True, False]
    assert [reason.weight for reason in reasons] == [95, 80, 85, 30]
    assert {reason.kind for reason in reasons} == {ReasonKind.DELETES}
    assert reasons[3].refs == (CONFIG,)


def test_recreating_an_object_loses_its_data_or_stops_its_pods() -> None:
    secret = Ref(version="v1", kind="Secret", namespace="shop", name="key")
    reasons = damage(Effects(recreated=(secret, SHOP, CONFIG), pods=pods(SHOP, 1)))
    assert texts(reasons) == [
        "it deletes Secret shop/key and its data, and recreates it",
        "it deletes Deployment shop/shop and recreates it: its running pod stops first",
        "it deletes ConfigMap shop/settings and recreates it",
    ]
    assert [(reason.unsafe, reason.weight) for reason in reasons] == [(True, 95), (True, 85), (False, 35)]


# --- pods that are terminated --------------------------------------------------------------------


def scaled(*entries: tuple[Ref, int, int], changes: tuple[FieldChange, ...] = ()) -> Effects:
    running_pods = tuple((ref.key, before) for ref, before, _ in entries)
    return Effects(scaled=entries, overwritten=changes, pods=running_pods)


def replicas(ref: Ref = SHOP, **more: object) -> FieldChange:
    return change(ref, "/spec/replicas", before=5, after=2, **more)  # pyright: ignore[reportArgumentType]  passes keywords on


def test_scaling_down_what_somebody_scaled_up_terminates_pods() -> None:
    (reason,) = damage(scaled((SHOP, 5, 2), changes=(replicas(),)))
    assert reason.text == (
        "it terminates 3 running pods of Deployment shop/shop"
        " (5 now, set by kubectl edit 5 min ago, Git declares 2)"
    )
    assert (reason.kind, reason.unsafe, reason.weight) == (ReasonKind.DROPS_PODS, True, 93)
    (undated,) = damage(scaled((SHOP, 5, 2), changes=(replicas(minutes=None),)))
    assert "set by kubectl edit at an unknown time" in undated.text


def test_an_autoscaler_is_not_named_as_the_person_who_scaled() -> None:
    (reason,) = damage(
        scaled((SHOP, 5, 2), changes=(replicas(writer=CONTROLLER, mechanism=Mechanism.AUTOSCALED),))
    )
    assert reason.text.endswith("(5 now, Git declares 2)")
    (other,) = damage(scaled((SHOP, 5, 2), changes=(replicas(writer=CONTROLLER),)))
    assert "set by" in other.text


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ((SHOP, 2, 5), replicas()),
        ((SHOP, 5, 2), replicas(writer=ARGOCD)),
        ((SHOP, 5, 2), change(SHOP, "/spec/paused")),
        ((SHOP, 5, 2), replicas(OTHER)),
    ],
)
def test_a_commit_that_scales_down_and_scaling_up_are_no_damage(
    entry: tuple[Ref, int, int], field: FieldChange
) -> None:
    reasons = [
        reason
        for reason in damage(scaled(entry, changes=(field,)))
        if reason.kind is not ReasonKind.UNDOES_MANUAL_CHANGE
    ]
    assert texts(reasons) == [f"it scales Deployment shop/shop from {entry[1]} to {entry[2]}"]
    assert [(reason.kind, reason.unsafe) for reason in reasons] == [(ReasonKind.SCALES, False)]


def test_starting_what_an_unknown_writer_stopped_is_unsafe() -> None:
    stopped = change(SHOP, "/spec/replicas", before=0, after=2, writer=None, mechanism=Mechanism.SCALED)
    (reason,) = damage(scaled((SHOP, 0, 2), changes=(stopped,)))
    assert reason.text == (
        "it starts Deployment shop/shop again, which was scaled to 0 (Git declares 2): ask first"
    )
    assert reason.unsafe
    asleep = change(SHOP, "/spec/replicas", before=0, after=2, writer=None, mechanism=Mechanism.AUTOSCALED)
    (reason,) = damage(scaled((SHOP, 0, 2), changes=(asleep,)))
    assert not reason.unsafe


def test_only_pods_that_run_are_terminated() -> None:
    effects = Effects(scaled=((SHOP, 5, 2),), overwritten=(replicas(),), pods=pods(SHOP, 3))
    assert damage(effects)[0].text.startswith("it terminates 1 running pod of")
    none = Effects(scaled=((SHOP, 5, 2),), overwritten=(replicas(),), pods=pods(SHOP, 2))
    assert [reason.kind for reason in damage(none)] == [ReasonKind.SCALES, ReasonKind.UNDOES_MANUAL_CHANGE]


def test_replicas_of_other_kinds_are_not_called_pods() -> None:
    database = Ref(group="db.example.com", version="v1", kind="Database", namespace="shop", name="main")
    (reason,) = damage(scaled((database, 3, 2), changes=(replicas(database),)))
    assert reason.text.startswith("it removes 1 replica of Database shop/main")


def test_many_workloads_are_one_sentence() -> None:
    entries = ((SHOP, 5, 2), (OTHER, 5, 2), (THIRD, 5, 2))
    (reason,) = damage(scaled(*entries, changes=tuple(replicas(ref) for ref, _, _ in entries)))
    assert reason.text == (
        "it terminates 9 running pods of Deployment shop/shop, Deployment shop/other and 1 more"
    )
    assert (reason.refs, reason.unsafe) == ((SHOP, OTHER, THIRD), True)
    two = damage(scaled(*entries[:2], changes=tuple(replicas(ref) for ref, _, _ in entries[:2])))
    assert len(two) == 2


# --- work that is reverted -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("minutes", "weight", "unsafe", "unknown", "when"),
    [
        (5, 92, True, False, "5 min ago"),
        (59.9, 92, True, False, "59 min ago"),
        (60, 50, False, False, "60 min ago"),
        (None, 70, False, True, "at an unknown time"),
    ],
)
def test_a_recent_manual_change_is_part_of_an_incident(
    minutes: float | None, weight: int, unsafe: bool, unknown: bool, when: str
) -> None:
    (reason,) = damage(Effects(overwritten=(change(minutes=minutes),)))
    assert reason.text == (
        f"it reverts /data/a of ConfigMap shop/settings (live, Git declares git), set by kubectl edit {when}"
    )
    assert (reason.weight, reason.unsafe, reason.unknown) == (weight, unsafe, unknown)
    assert (reason.kind, reason.refs) == (ReasonKind.UNDOES_MANUAL_CHANGE, (CONFIG,))


def test_many_manual_changes_are_one_sentence_about_all_objects() -> None:
    changes = (change(), change(pointer="/data/b"), change(SHOP, "/spec/paused"))
    (reason,) = damage(Effects(overwritten=changes))
    assert reason.text.endswith(", and 2 more manually changed fields")
    assert reason.refs == (CONFIG, SHOP)
    assert len(damage(Effects(overwritten=changes[:2]))) == 2
    assert damage(Effects(overwritten=(change(writer=ARGOCD),))) == []


def test_a_generated_secret_is_replaced_for_those_who_use_it() -> None:
    secret = Ref(version="v1", kind="Secret", namespace="shop", name="db")
    generated = change(secret, "/data/password", writer=ARGOCD, mechanism=Mechanism.GENERATED)
    (reason,) = damage(Effects(overwritten=(generated,)))
    assert reason.text == "it replaces /data/password of Secret shop/db with the value that is rendered now"
    user = change(secret, "/data/user", writer=ARGOCD, mechanism=Mechanism.GENERATED)
    (reason,) = damage(Effects(overwritten=(generated, user)))  # one sentence per object
    assert (
        reason.text
        == "it replaces /data/password and /data/user of Secret shop/db with the values that are rendered now"
    )
    assert (reason.kind, reason.unsafe, reason.weight) == (ReasonKind.REPLACES_GENERATED_VALUE, True, 80)
    for other in (
        change(secret, "/metadata/labels/a", writer=ARGOCD, mechanism=Mechanism.GENERATED),
        change(secret, "/data/password", writer=ARGOCD),
        change(CONFIG, "/data/a", writer=ARGOCD, mechanism=Mechanism.GENERATED),
    ):
        assert damage(Effects(overwritten=(other,))) == []


# --- side effects --------------------------------------------------------------------------------


def test_a_restart_reports_the_pod_count_and_the_rolling_update() -> None:
    (three,) = side_effects(Effects(restarted=((SHOP, 3),)), sure=False)
    assert three == "it restarts the 3 pods of Deployment shop/shop, in a rolling update"
    (single,) = side_effects(Effects(restarted=((SHOP, 1),)), sure=False)
    assert single == "it restarts the pod of Deployment shop/shop, in a rolling update"
    assert side_effects(Effects(restarted=((SHOP, 0),)), sure=False) == []


def test_fields_of_a_controller_are_overwritten_with_its_name() -> None:
    foreign = change(writer=CONTROLLER, minutes=3)
    assert side_effects(Effects(overwritten=(foreign,))) == [
        "it overwrites /data/a of ConfigMap shop/settings, which a controller (some-operator) wrote 3 min ago"
    ]
    undated = change(writer=CONTROLLER, minutes=None)
    assert side_effects(Effects(overwritten=(undated,)))[0].endswith(
        "which a controller (some-operator) wrote"
    )
    four = tuple(change(pointer=f"/data/{name}", writer=CONTROLLER) for name in "abcd")
    assert len(side_effects(Effects(overwritten=four))) == 3
    scale = change(SHOP, "/spec/replicas", writer=CONTROLLER)
    assert side_effects(Effects(overwritten=(scale, change()))) == []


def test_what_is_created_and_updated() -> None:
    git = change(writer=ARGOCD)
    assert side_effects(Effects(created=(CLAIM,), overwritten=(git,))) == [
        "it creates PersistentVolumeClaim shop/data",
        "it updates ConfigMap shop/settings to what Git declares",
    ]


def test_an_update_is_not_told_twice() -> None:
    template = change(SHOP, "/spec/template/spec/x", writer=ARGOCD)
    for effects in (
        Effects(overwritten=(template,), restarted=((SHOP, 3),)),
        Effects(overwritten=(template,), scaled=((SHOP, 1, 2),)),
        Effects(overwritten=(template,), taken_over=((SHOP, "billing"),)),
    ):
        assert not any("updates" in text for text in side_effects(effects))


def test_hooks_run_in_their_phase() -> None:
    job = Ref(group="batch", version="v1", kind="Job", namespace="shop", name="migrate")
    assert side_effects(Effects(hooks=((job, "PreSync"),))) == ["it runs the PreSync hook Job shop/migrate"]


def test_taking_over_an_object_is_unsafe_if_its_fields_are_overwritten() -> None:
    def reasons(*changes: FieldChange) -> list[RankedReason]:
        effects = Effects(overwritten=changes, taken_over=((CONFIG, "billing"),))
        all_reasons = side_effect_reasons(world(), effects, DriftAfterSync(), sure=False)
        return [reason for reason in all_reasons if reason.kind is ReasonKind.TAKES_OVER]

    (harmless,) = reasons()
    assert harmless.text == "it takes over ConfigMap shop/settings from Application billing"
    assert (harmless.unsafe, harmless.weight) == (False, 61)
    (unsafe,) = reasons(change(writer=ARGOCD), change(pointer="/data/b", writer=ARGOCD))
    assert unsafe.text.endswith("from Application billing, and overwrites its /data/a and 1 more")
    assert (unsafe.unsafe, unsafe.weight) == (True, 84)
    (one_field,) = reasons(change(writer=ARGOCD), change(SHOP, "/spec/x", writer=ARGOCD))
    assert one_field.text.endswith("and overwrites its /data/a")


def test_nothing_is_claimed_if_the_simulation_disagrees() -> None:
    """`it changes nothing` needs a simulation that shows what Argo CD shows, and a sync that succeeded."""
    assert side_effects(Effects(), sure=False) == []
    succeeded = {"phase": "Succeeded"}
    assert world().operation.get("phase") == succeeded["phase"]
    assert side_effects(Effects()) == ["it changes nothing in the cluster"]
    assert side_effects(Effects(created=(CLAIM,))) == ["it creates PersistentVolumeClaim shop/data"]


# --- does it last --------------------------------------------------------------------------------


def test_a_difference_that_remains_and_an_object_that_is_deleted_again() -> None:
    def reason(result: DriftAfterSync) -> RankedReason:
        (only_reason,) = persistence_reasons(world(), Effects(), result)
        return only_reason

    remains = reason(DriftAfterSync(differs_after=timedelta()))
    assert remains.text == "it does not help: the difference remains after every sync"
    assert (remains.kind, remains.weight) == (ReasonKind.DOES_NOT_HELP, 62)
    deleted = reason(DriftAfterSync(differs_after=timedelta(seconds=3), deleted_keys=(SHOP.key,)))
    assert deleted.text == "it does not last: Deployment shop/shop is deleted again"
    assert (deleted.kind, deleted.refs) == (ReasonKind.DOES_NOT_LAST, (SHOP,))
    assert list(persistence_reasons(world(), Effects(), DriftAfterSync())) == []


def writer(who: str = "an operator", ref: Ref = CONFIG, *, seconds: float = 0) -> OtherWriter:
    return OtherWriter(
        who=who,
        ref=ref,
        pointer="/data/a",
        mechanism=Mechanism.BY_CONTROLLER,
        repeats=True,
        seconds=seconds,
        delay_observed=bool(seconds),
    )


def lasting(result: DriftAfterSync, effects: Effects | None = None) -> RankedReason:
    (reason,) = persistence_reasons(world(), effects or Effects(), result)
    return reason


def test_a_writer_that_answers_at_once_makes_a_sync_useless() -> None:
    reason = lasting(DriftAfterSync(differs_after=timedelta(), writers=(writer(),)))
    assert reason.text == "it does not help: an operator changes the field back immediately"
    assert (reason.kind, reason.refs) == (ReasonKind.DOES_NOT_HELP, (CONFIG,))


def test_a_writer_that_answers_later_undoes_the_sync() -> None:
    later = timedelta(seconds=30)
    reason = lasting(DriftAfterSync(differs_after=later, writers=(writer(),)))
    assert reason.text == "it does not last: an operator writes the live value back"
    assert reason.kind is ReasonKind.DOES_NOT_LAST
    observed = lasting(DriftAfterSync(differs_after=later, writers=(writer(seconds=30),)))
    assert observed.text.endswith("writes the live value back, as it did 30 s after the last sync")
    two = (writer(), writer("another"), writer("another", SHOP))
    assert (
        "an operator and another write the" in lasting(DriftAfterSync(differs_after=later, writers=two)).text
    )


def loop(*writers: OtherWriter, reported: bool = False, syncs: int = 2) -> DriftAfterSync:
    return DriftAfterSync(
        differs_after=timedelta(seconds=30),
        auto_syncs=syncs,
        period=timedelta(seconds=45),
        period_reported=reported,
        writers=writers,
    )


def test_a_loop_has_a_period_only_if_the_facts_show_one() -> None:
    """The period of the simulation alone is that of its defaults."""
    plain = lasting(loop(writer()))
    assert plain.text == "an operator writes the live value back after every sync"
    assert (plain.kind, plain.unsafe, plain.weight) == (ReasonKind.SYNC_LOOP, False, 75)
    assert lasting(loop(writer(), reported=True)).text.endswith("after every sync, about every 45 s")
    assert lasting(loop(writer(seconds=9))).text.endswith("after every sync, the last time after 9 s")
    assert lasting(loop(writer(), syncs=1)).kind is ReasonKind.DOES_NOT_LAST


def test_a_loop_that_restarts_pods_is_unsafe() -> None:
    restarted = Effects(restarted=((SHOP, 3),))
    reason = lasting(loop(writer(ref=SHOP)), restarted)
    assert reason.text == (
        "it restarts the pods of Deployment shop/shop; an operator writes the live value back"
        " after every sync"
    )
    assert reason.unsafe
    assert not lasting(loop(writer(ref=SHOP)), Effects(restarted=((SHOP, 0),))).unsafe
    assert not lasting(loop(writer(ref=CONFIG)), restarted).unsafe
    assert side_effects(restarted, loop(writer(ref=SHOP)), sure=False) == []  # told once
    assert len(side_effects(restarted, loop(writer(ref=CONFIG)), sure=False)) == 1


def test_a_field_that_is_written_back_is_not_told_twice() -> None:
    foreign = Effects(overwritten=(change(writer=CONTROLLER),))
    assert side_effects(foreign, DriftAfterSync(writers=(writer(),))) == []
    assert len(side_effects(foreign, DriftAfterSync(writers=(writer(ref=SHOP),)))) == 1


# --- the verdict ---------------------------------------------------------------------------------


def ranked(
    kind: ReasonKind, weight: int = 10, *, unsafe: bool = False, unknown: bool = False
) -> RankedReason:
    return RankedReason(kind=kind, text=kind.value, weight=weight, unsafe=unsafe, unknown=unknown)


def test_what_is_unsafe_comes_first_then_what_weighs_most() -> None:
    reasons = [
        ranked(ReasonKind.CREATES, 20),
        ranked(ReasonKind.MODEL_DIFFERS, 60, unknown=True),
        ranked(ReasonKind.DELETES, 30, unsafe=True),
        ranked(ReasonKind.SYNC_LOOP, 75),
    ]
    safety = verdict_of(world().case, reasons)
    assert safety.sync is SyncSafety.UNSAFE
    assert [reason.kind.value for reason in safety.reasons] == [
        "deletes",
        "sync-loop",
        "model-differs",
        "creates",
    ]
    unknown = verdict_of(world().case, [ranked(ReasonKind.SYNC_LOOP, 75), *reasons[:2]])
    assert unknown.sync is SyncSafety.UNKNOWN
    assert [reason.kind.value for reason in unknown.reasons] == ["model-differs", "sync-loop", "creates"]
    safe = verdict_of(world().case, [reasons[0], reasons[3]])
    assert safe.sync is SyncSafety.SAFE
    assert [reason.kind.value for reason in safe.reasons] == ["sync-loop", "creates"]


def test_at_most_six_reasons_are_shown() -> None:
    assert len(verdict_of(world().case, [ranked(ReasonKind.CREATES)] * 9).reasons) == 6


def test_reasons_that_another_one_contradicts_or_implies_are_left_out() -> None:
    """A simulated update is not what a sync does if the simulation differs from Argo CD."""

    def shown(*kinds: ReasonKind) -> list[ReasonKind]:
        return [reason.kind for reason in verdict_of(world().case, [ranked(kind) for kind in kinds]).reasons]

    updates, differs = ReasonKind.UPDATES, ReasonKind.MODEL_DIFFERS
    assert shown(updates, differs, ReasonKind.CREATES) == [differs, ReasonKind.CREATES]
    assert shown(updates, ReasonKind.CREATES) == [updates, ReasonKind.CREATES]
    nothing, no_help = ReasonKind.CHANGES_NOTHING, ReasonKind.DOES_NOT_HELP
    assert shown(nothing, no_help, updates) == [no_help, updates]
    assert shown(nothing) == [nothing]


@pytest.mark.parametrize(
    ("kinds", "outcome"),
    [
        ([ReasonKind.SYNC_FAILS, ReasonKind.MODEL_DIFFERS], SyncOutcome.FAILS),
        ([ReasonKind.SYNC_HANGS], SyncOutcome.FAILS),
        ([ReasonKind.MODEL_DIFFERS], SyncOutcome.UNKNOWN),
        ([ReasonKind.OPERATOR_NOT_MODELED], SyncOutcome.UNKNOWN),
        ([ReasonKind.FACTS_MISSING], SyncOutcome.UNKNOWN),
        ([ReasonKind.FAILED_BEFORE], SyncOutcome.UNKNOWN),
        ([ReasonKind.UPDATES], SyncOutcome.SUCCEEDS),
        ([], SyncOutcome.SUCCEEDS),
    ],
)
def test_a_doubt_is_never_told_as_success(kinds: list[ReasonKind], outcome: SyncOutcome) -> None:
    assert verdict_of(world().case, [ranked(kind) for kind in kinds]).outcome is outcome


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("a", "live ConfigMap shop/a"),
        ("ab", "live ConfigMap shop/a, live ConfigMap shop/b"),
        ("abcd", "live ConfigMap shop/a, live ConfigMap shop/b and 2 more"),
    ],
)
def test_what_is_not_in_the_facts_makes_the_verdict_unknown(names: str, expected: str) -> None:
    """Argo CD reports a health of these objects, so they exist; a sync may overwrite anything in them."""
    rows = [row("ConfigMap", name, "OutOfSync", health={"status": "Healthy"}) for name in names]
    config = settings("known")
    app = synced(row("ConfigMap", "known"), *rows, sync="OutOfSync")
    case = case_of(bundle(), app, in_git(config), there(config), *(in_git(settings(name)) for name in names))
    disagree, missing = doubts_of(simulated(case, disable_auto_sync=True), ["they disagree"])
    assert (disagree.kind, disagree.text) == (ReasonKind.MODEL_DIFFERS, "they disagree")
    assert missing.text == f"its effect on {expected} is not known: not in the facts"
    assert (disagree.unknown, missing.unknown) == (True, True)
    assert list(doubts_of(world(), [])) == []


# --- self-heal, and a sync that runs already -----------------------------------------------------


def self_healing(*rows: Object, phase: str = "Succeeded", self_heal: bool = True, **operation: Json) -> Case:
    spec: Object = {"syncPolicy": {"automated": {"selfHeal": self_heal}}}
    app = synced(*rows, sync="OutOfSync", spec=spec)
    fields(fields(app["status"])["operationState"]).update({"phase": phase, **operation})
    config = settings("settings")
    return case_of(bundle(), app, in_git(config), there({**config, "data": {"a": "c"}}))


DELETES = ranked(ReasonKind.DELETES, 90, unsafe=True)
SECOND = ranked(ReasonKind.RECREATES, 80, unsafe=True)
UPDATES = ranked(ReasonKind.UPDATES, 20)
DIFFERS = row("ConfigMap", "settings", "OutOfSync")


def test_self_heal_does_the_damage_without_a_sync() -> None:
    """Not to sync does not prevent it: the reader has to know, right after the damage."""
    reasons = verdict_of(self_healing(DIFFERS), [UPDATES, SECOND, DELETES]).reasons
    assert [reason.kind.value for reason in reasons] == ["deletes", "recreates", "self-heals", "updates"]
    assert reasons[2].text == "self-heal is on, so Argo CD does this by itself"


@pytest.mark.parametrize(
    ("case", "reasons"),
    [
        (self_healing(DIFFERS), [UPDATES]),
        (self_healing(DIFFERS), [DELETES, ranked(ReasonKind.SYNC_LOOP, 75)]),
        (self_healing(DIFFERS, phase="Failed"), [DELETES]),
        (self_healing(DIFFERS, phase="Error"), [DELETES]),
        (self_healing(DIFFERS, phase="Running"), [DELETES]),
        (self_healing(DIFFERS, self_heal=False), [DELETES]),
        (self_healing(row("ConfigMap", "settings")), [DELETES]),
        (self_healing(row("ConfigMap", "settings", "OutOfSync", requiresPruning=True)), [DELETES]),
        (self_healing(row("ConfigMap", "settings", "OutOfSync", hook=True)), [DELETES]),
    ],
)
def test_self_heal_is_named_only_where_it_acts(case: Case, reasons: list[RankedReason]) -> None:
    kinds = {reason.kind for reason in verdict_of(case, reasons).reasons}
    assert ReasonKind.SELF_HEALS not in kinds


def test_a_running_sync_is_followed_and_no_other_one_is_started() -> None:
    now: Object = {"startedAt": "2026-03-02T03:10:50Z", "finishedAt": None}
    case = self_healing(DIFFERS, phase="Running", self_heal=False, **now)
    safety = simulated_safety(case, ())
    assert ReasonKind.SYNC_RUNNING in {reason.kind for reason in safety.reasons}


def test_facts_without_manifests_are_not_simulated() -> None:
    safety = simulated_safety(case_of(bundle(), synced(DIFFERS, sync="OutOfSync")), ())
    assert [reason.kind for reason in safety.reasons] == [ReasonKind.FACTS_MISSING]
    assert safety.sync is SyncSafety.UNKNOWN


EQUAL = "Git and the cluster have equal values in ConfigMap shop/settings"


@pytest.mark.parametrize(
    ("mechanisms", "expected"),
    [
        ([Mechanism.API_DEFAULT], "the API server sets its default again in ConfigMap shop/settings"),
        ([Mechanism.CRD_DEFAULT], "the API server sets its default again in ConfigMap shop/settings"),
        ([Mechanism.SAME_VALUE], EQUAL),
        (
            [Mechanism.SAME_VALUE] * 3,
            f"{EQUAL} and 2 more",
        ),
    ],
)
def test_a_difference_without_an_effect_is_not_helped_by_a_sync(
    mechanisms: list[Mechanism], expected: str
) -> None:
    (reason,) = no_effect_reasons([(CONFIG, mechanism) for mechanism in mechanisms])
    assert reason.text == f"it does not help: {expected}"
    assert (reason.kind, reason.weight) == (ReasonKind.DOES_NOT_HELP, 62)
    assert reason.refs == (CONFIG,) * len(mechanisms)
    assert list(no_effect_reasons([])) == []
