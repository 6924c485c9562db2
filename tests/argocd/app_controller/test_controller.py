"""From a commit to a synced app, and what keeps it so."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.argocd.app_controller.world import (
    START,
    SmallWorld,
    application,
    config_map,
    job,
    restored_simulation,
)
from whysync.argocd.app_controller.trace import TraceKind
from whysync.argocd.repo_server.repository import Folder, Outage
from whysync.argocd.server.server import Denied
from whysync.argocd.simulation.simulation import Simulation
from whysync.facts.simulated import snapshot_of
from whysync.json_tree import Object, dig, fields, items
from whysync.kubernetes.apiserver.protocol import Request

PRUNE_AND_HEAL: Object = {"selfHeal": True, "prune": True}


def test_a_new_app_is_compared_synced_and_healthy() -> None:
    world = SmallWorld.with_objects([config_map("a", x="1"), config_map("b", wave=1, y="2")])
    world.minutes(1)
    assert world.codes == ("Synced", "Healthy")
    assert world.phase == "Succeeded"
    assert world.message == "successfully synced (all tasks run)"
    status = world.argocd.status("shop")
    assert len(items(status.get("history"))) == 1
    assert status.get("sourceType") == "Directory"
    assert "operation" not in world.argocd.applications["argocd/shop"]
    assert world.data("a", "x") == "1"


def test_waves_are_two_seconds_apart() -> None:
    world = SmallWorld.with_objects(
        [config_map("a", wave=0), config_map("b", wave=1), config_map("c", wave=2)]
    )
    world.minutes(1)
    created: dict[str, timedelta] = {}
    for moment in world.argocd.trace:
        if moment.kind is TraceKind.RESULT and moment.about is not None:
            created.setdefault(moment.about.name, moment.at - START)
    assert [created[name].total_seconds() for name in "abc"] == [0, 2, 4]


def test_without_auto_sync_nothing_happens_until_somebody_syncs() -> None:
    world = SmallWorld.with_objects([config_map("a", x="1")], application())
    world.minutes(10)
    assert world.codes == ("OutOfSync", "Missing")
    assert world.operation == {}
    world.argocd.request_sync("shop")
    world.minutes(1)
    assert world.codes == ("Synced", "Healthy")
    assert dig(world.operation, "operation", "initiatedBy", "username") == "admin"
    # A sync by hand is not tried again.
    assert dig(world.operation, "operation", "retry") in (None, {}) or "retry" not in fields(
        world.operation.get("operation")
    )


def test_a_push_is_seen_when_the_revision_is_next_asked_for() -> None:
    world = SmallWorld.with_objects([config_map("a", x="1")])
    world.minutes(5)
    pushed = world.clock.now
    world.repo.push({"apps/shop": [config_map("a", x="2")]})
    assert world.until(lambda: world.data("a", "x") == "2", timedelta(minutes=10))
    # Looked at every 2 minutes, but the repo-server remembers for 3 what the branch was.
    assert timedelta(minutes=2) < world.clock.now - pushed <= timedelta(minutes=4)


def test_a_webhook_makes_a_push_known_at_once() -> None:
    world = SmallWorld.with_objects([config_map("a", x="1")])
    world.minutes(5)
    world.repo.push({"apps/shop": [config_map("a", x="2")]})
    world.argocd.webhook("git@git.example.com:team/shop.git")
    world.seconds(1)
    assert world.data("a", "x") == "2"
    app = world.argocd.applications["argocd/shop"]
    assert "argocd.argoproj.io/refresh" not in fields(dig(app, "metadata", "annotations"))


def test_drift_is_healed_at_once_the_first_time() -> None:
    world = SmallWorld.with_objects([config_map("a", x="1")])
    world.minutes(1)
    reconciled = world.argocd.status("shop").get("reconciledAt")
    world.write("a", "x", "by hand")
    world.seconds(1)
    assert world.data("a", "x") == "1"
    assert dig(world.operation, "operation", "sync", "autoHealAttemptsCount") == 1
    assert dig(world.operation, "operation", "sync", "resources") == [{"kind": "ConfigMap", "name": "a"}]
    # A sync of some resources is no deployment, and the end of it compares with the latest.
    assert len(items(world.argocd.status("shop").get("history"))) == 1
    assert world.argocd.status("shop").get("reconciledAt") != reconciled


def test_without_self_heal_drift_stays_and_reconciled_at_does_not_move() -> None:
    world = SmallWorld.with_objects([config_map("a", x="1")], application(automated={"prune": True}))
    world.minutes(1)
    reconciled = world.argocd.status("shop").get("reconciledAt")
    world.write("a", "x", "by hand")
    world.seconds(1)
    assert world.codes == ("OutOfSync", "Healthy")
    assert world.argocd.status("shop").get("reconciledAt") == reconciled
    world.minutes(30)
    assert world.data("a", "x") == "by hand"


class Rival:
    """Writes its own value back, as soon as it finds another one."""

    def __init__(self) -> None:
        self.world: SmallWorld | None = None
        self.writes: list[datetime] = []

    def start(self, simulation: Simulation) -> None:
        assert isinstance(simulation, SmallWorld)
        self.world = simulation

    def reconcile(self) -> bool:
        if self.world is None or self.world.data("a", "x") in (None, "mine"):
            return False
        self.world.write("a", "x", "mine", manager="rival")
        self.writes.append(self.world.clock.now)
        return True

    def next_wakeup(self) -> datetime | None:
        return None


def test_a_war_of_self_heal_slows_down() -> None:
    rival = Rival()
    world = SmallWorld.with_objects([config_map("a", x="1")], others=(rival,))
    world.minutes(30)
    pauses = [round((b - a).total_seconds()) for a, b in zip(rival.writes, rival.writes[1:], strict=False)]
    assert pauses[:8] == [0, 2, 6, 18, 54, 162, 300, 300]
    attempts = dig(world.operation, "operation", "sync", "autoHealAttemptsCount")
    assert isinstance(attempts, int)
    assert attempts > 7


def test_a_failed_sync_is_tried_again_with_growing_pauses_and_then_given_up() -> None:
    bad: Object = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": []}}
    retry: Object = {"limit": 2, "backoff": {"duration": "10s", "factor": 3}}
    app = application(automated=PRUNE_AND_HEAL, retry=retry)
    world = SmallWorld.with_objects([bad], app)
    world.seconds(1)
    assert world.phase == "Running"
    assert ". Retrying attempt #1 at 10:00AM." in world.message
    world.minutes(5)
    assert world.phase == "Failed"
    assert world.message.endswith(" (retried 2 times).")
    retries = world.moments(TraceKind.RETRY)
    assert [retry[:8] for retry in retries] == ["10:00:00", "10:00:30"], "it says 10 s, and waits for 30"
    assert world.operation.get("retryCount") == 2
    result = world.condition("SyncError") or ""
    assert result.startswith("Failed last sync attempt to [")
    world.minutes(30)
    assert len(world.moments(TraceKind.STARTED)) == 1, "one revision is tried once"
    world.repo.push({"apps/shop": [config_map("a", x="1")]})
    world.minutes(5)
    assert world.codes == ("Synced", "Healthy")
    assert world.condition("SyncError") is None


def windowed(kind: str, *, manual: bool = False) -> Object:
    window: Object = {
        "kind": kind,
        "schedule": "0 11 * * *",
        "duration": "1h",
        "applications": ["*"],
        "manualSync": manual,
    }
    return {
        "metadata": {"name": "default"},
        "spec": {
            "sourceRepos": ["*"],
            "destinations": [{"server": "*", "namespace": "*"}],
            "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
            "syncWindows": [window],
        },
    }


def test_outside_of_its_window_an_app_waits_and_a_user_is_refused() -> None:
    world = SmallWorld.with_objects([config_map("a", x="1")], projects=(windowed("allow"),))
    world.minutes(30)
    assert world.codes == ("OutOfSync", "Missing")
    assert world.operation == {}
    with pytest.raises(Denied, match="cannot sync: blocked by sync window"):
        world.argocd.request_sync("shop")
    world.minutes(33)
    assert world.codes == ("Synced", "Healthy")


def test_a_user_without_permission_is_refused_and_the_refusal_is_kept() -> None:
    policy: Object = {
        "metadata": {"name": "argocd-rbac-cm", "namespace": "argocd"},
        "data": {"policy.csv": "p, dev, applications, get, */*, allow"},
    }
    world = SmallWorld.with_objects([config_map("a")], application(), config_maps=(policy,))
    world.minutes(1)
    with pytest.raises(Denied) as refused:
        world.argocd.request_sync("shop", user="dev")
    assert "permission denied: applications, sync, default/shop, sub: dev" in str(refused.value)
    assert world.operation == {}
    (log,) = [log for log in snapshot_of(world).logs if log.pod.startswith("argocd-server")]
    assert "permission denied: applications, sync, default/shop" in log.lines[0]
    world.argocd.request_sync("shop")
    with pytest.raises(Denied, match="another operation is already in progress"):
        world.argocd.request_sync("shop")


class Worker:
    """Ends Jobs after a while, well or not; the tests' stand-in for a kubelet."""

    def __init__(self, condition: str, after: timedelta) -> None:
        self.world: SmallWorld | None = None
        self._condition = condition
        self._after = after
        self._seen: dict[str, datetime] = {}

    def start(self, simulation: Simulation) -> None:
        assert isinstance(simulation, SmallWorld)
        self.world = simulation

    def reconcile(self) -> bool:
        assert self.world is not None
        acted = False
        for _, obj in self.world.api_server.store.within(("batch", "jobs")):
            uid = str(dig(obj, "metadata", "uid"))
            if dig(obj, "status", "conditions"):
                continue
            begun = self._seen.setdefault(uid, self.world.clock.now)
            if self.world.clock.now - begun >= self._after:
                self._finish(obj)
                acted = True
        return acted

    def _finish(self, obj: Object) -> None:
        assert self.world is not None
        name = str(dig(obj, "metadata", "name"))
        result: Object = {"type": self._condition, "status": "True", "message": "it is over"}
        answer = self.world.api_server.send(
            Request(
                verb="merge-patch",
                path=f"/apis/batch/v1/namespaces/shop/jobs/{name}/status",
                body={"status": {"conditions": [result]}},
                manager="kube-controller-manager",
            )
        )
        assert answer.ok, answer

    def next_wakeup(self) -> datetime | None:
        return min((at + self._after for at in self._seen.values()), default=None)


def with_worker(condition: str, objects: list[Object], app: Object | None = None) -> SmallWorld:
    worker = Worker(condition, timedelta(minutes=10))
    return SmallWorld.with_objects(objects, app, others=(worker,))


def test_a_hook_holds_everything_back_until_it_is_done() -> None:
    world = with_worker("Complete", [job("migrate"), config_map("a", x="1")])
    world.minutes(9)
    assert world.message == "waiting for completion of hook batch/Job/migrate"
    assert world.data("a", "x") is None
    world.minutes(2)
    assert world.codes == ("Synced", "Healthy")


def test_a_failing_hook_fails_the_sync_and_nothing_is_applied() -> None:
    app = application(automated=PRUNE_AND_HEAL, retry={"limit": 0})
    world = with_worker("Failed", [job("migrate"), config_map("a", x="1")], app)
    world.minutes(11)
    assert world.phase == "Failed"
    assert world.message.startswith("one or more synchronization tasks completed unsuccessfully")
    assert world.data("a", "x") is None
    world.minutes(10)
    assert (world.condition("SyncError") or "").startswith("Failed last sync attempt to [")


def test_a_hanging_sync_can_be_terminated() -> None:
    world = SmallWorld.with_objects([job("migrate"), config_map("a", x="1")])
    world.minutes(5)
    assert world.phase == "Running"
    world.argocd.terminate("shop")
    world.seconds(10)
    assert (world.phase, world.message) == ("Failed", "Operation terminated")
    with pytest.raises(Denied, match="No operation is in progress"):
        world.argocd.terminate("shop")


def test_without_prune_an_extra_object_stays_and_auto_sync_does_nothing() -> None:
    world = SmallWorld.with_objects([config_map("a"), config_map("b")], application(automated={}))
    world.minutes(1)
    world.repo.push({"apps/shop": [config_map("a")]})
    world.minutes(10)
    assert world.codes == ("OutOfSync", "Healthy")
    assert world.argocd.trace[-1].kind is not TraceKind.ENDED
    assert "prune-only" in [m.status for m in world.argocd.trace if m.kind is TraceKind.AUTO_SYNC]
    world.argocd.request_sync("shop", {"sync": {"prune": True}})
    world.minutes(1)
    assert world.codes == ("Synced", "Healthy")
    assert world.data("b", "x") is None


def test_auto_sync_does_not_wipe_out_everything() -> None:
    world = SmallWorld.with_objects([config_map("a"), config_map("b")])
    world.minutes(1)
    world.repo.push({"apps/shop": []})
    world.minutes(10)
    result = world.condition("SyncError") or ""
    assert result.endswith(": auto-sync will wipe out all resources")
    assert world.get("/api/v1/namespaces/shop/configmaps/a") is not None


def test_an_error_is_cached_until_a_hard_refresh() -> None:
    world = SmallWorld.with_objects([config_map("a", x="1")])
    world.minutes(1)
    broken = Folder(
        manifests=(config_map("a", x="2"),),
        error="helm dependency build failed: 503",
        error_until=START + timedelta(minutes=20),
        source_type="Helm",
    )
    world.repo.push({"apps/shop": broken})
    world.minutes(4)
    assert world.condition("ComparisonError") is None, "kept back for a while"
    world.minutes(15)
    result = world.condition("ComparisonError") or ""
    assert result == (
        "Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: "
        "code = Unknown desc = Manifest generation error (cached): helm dependency build failed: 503"
    )
    assert world.codes[0] == "Unknown"
    world.minutes(10)
    assert world.codes[0] == "Unknown", "mended outside of Git, and nobody looks"
    world.argocd.refresh("shop")
    world.minutes(1)
    assert world.codes[0] == "Unknown", "a normal refresh does not help"
    world.argocd.refresh("shop", hard=True)
    world.minutes(1)
    assert world.codes == ("Synced", "Healthy")
    assert world.data("a", "x") == "2"


def test_a_cached_error_is_forgotten_after_an_hour() -> None:
    world = SmallWorld.with_objects([config_map("a", x="1")])
    world.repo.push({"apps/shop": Folder(error="boom", error_until=START + timedelta(minutes=20))})
    world.minutes(59)
    assert world.codes[0] == "Unknown"
    world.minutes(10)
    assert world.condition("ComparisonError") is None


def test_a_repository_that_is_away_shows_after_its_grace_and_not_to_the_cached() -> None:
    world = SmallWorld.with_objects([config_map("a", x="1")])
    world.minutes(1)
    away = "failed to list refs: dial tcp: lookup git.example.com: no such host"
    world.repo.outages.append(Outage(text=away, since=START, until=START + timedelta(minutes=30)))
    world.minutes(3)
    assert world.codes == ("Synced", "Healthy")
    world.minutes(10)
    assert (world.condition("ComparisonError") or "").endswith(f"rpc error: code = Unknown desc = {away}")
    assert world.codes == ("Unknown", "Healthy")
    world.minutes(30)
    assert world.condition("ComparisonError") is None
    assert world.codes == ("Synced", "Healthy")


def test_two_apps_that_share_an_object_warn_of_each_other() -> None:
    world = SmallWorld.with_objects([config_map("a", x="1")])
    world.repo.push({"apps/other": [config_map("a", x="2")]})
    world.argocd.add(application(name="other", path="apps/other", automated={}))
    world.minutes(10)
    assert world.data("a", "x") == "1", "who heals itself wins"
    result = [
        fields(condition).get("message")
        for condition in items(world.argocd.status("other").get("conditions"))
    ]
    assert result == ["ConfigMap/a is part of applications argocd/other and shop"]


def test_a_project_that_is_not_there_makes_the_app_unknown() -> None:
    app = application(automated={})
    spec: Object = {**fields(app.get("spec")), "project": "nowhere"}
    world = SmallWorld.with_objects([config_map("a")], {**app, "spec": spec})
    world.minutes(10)
    assert world.codes == ("Unknown", "Unknown")
    message = "Application referencing project nowhere which does not exist"
    assert world.condition("InvalidSpecError") == message
    world.argocd.set_project({"metadata": {"name": "nowhere"}, "spec": windowed("allow")["spec"]})
    world.minutes(3)
    assert world.condition("InvalidSpecError") is None


def test_a_cluster_that_does_not_answer() -> None:
    world = SmallWorld.with_objects([config_map("a")])
    world.minutes(1)
    away = 'Get "https://kubernetes.default.svc/version": dial tcp 10.0.0.1:443: i/o timeout'
    world.destinations[0].unreachable = away
    world.argocd.refresh("shop")
    world.seconds(1)
    assert world.codes[0] == "Unknown"
    assert away in (world.condition("ComparisonError") or "")
    world.destinations[0].unreachable = ""
    world.minutes(5)
    assert world.codes == ("Synced", "Healthy")


def test_settings_that_cannot_be_read_leave_the_app_unknown_without_a_word() -> None:
    world = SmallWorld.with_objects([config_map("a")])
    world.minutes(1)
    world.argocd.set_config_map(
        {"metadata": {"name": "argocd-cm"}, "data": {"resource.customizations": "{not: [yaml"}}
    )
    world.minutes(5)
    assert world.codes == ("Unknown", "Unknown")
    assert world.condition("ComparisonError") is None


def test_a_world_loaded_from_facts_goes_on_from_there() -> None:
    world = SmallWorld.with_objects([config_map("a", x="1")])
    world.minutes(1)
    world.write("a", "x", "by hand")
    snapshot = snapshot_of(world)
    app = snapshot.applications[0].body
    again = restored_simulation(
        app,
        [desired_object.body for desired_object in snapshot.desired["argocd/shop"]],
        [live_object.body for live_object in snapshot.live],
        world.clock.now,
    )
    again.run(timedelta(minutes=1))
    assert again.argocd.sync_and_health("shop") == ("Synced", "Healthy")
    assert again.unserved == []


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.integers(-2, 3), min_size=1, max_size=5),
    st.booleans(),
    st.lists(st.integers(1, 400), max_size=3),
)
def test_the_same_start_gives_the_same_bytes(waves: list[int], heal: bool, edits: list[int]) -> None:
    def played() -> bytes:
        objects = [config_map(f"c{number}", wave=wave, x="1") for number, wave in enumerate(waves)]
        world = SmallWorld.with_objects(objects, application(automated={"selfHeal": heal, "prune": True}))
        world.minutes(2)
        for pause in edits:
            world.write("c0", "x", f"after {pause}")
            world.seconds(pause)
        snapshot = snapshot_of(world)
        result = [*snapshot.applications, *snapshot.live, *snapshot.events]
        return msgspec.json.encode([[item.body for item in result], [str(m) for m in world.argocd.trace]])

    assert played() == played()


def test_a_person_syncs_what_the_branch_is_now() -> None:
    world = SmallWorld.with_objects([config_map("a", x="1")], application())
    world.minutes(1)
    commit = world.repo.push({"apps/shop": [config_map("a", x="2")]})
    world.argocd.request_sync("shop")
    world.seconds(1)
    assert world.data("a", "x") == "2"
    assert dig(world.operation, "operation", "sync", "revision") == commit
    world.repo.outages.append(Outage(text="failed to list refs: authentication required"))
    with pytest.raises(
        Denied, match="error resolving repo revision: rpc error: code = Unknown desc = failed"
    ):
        world.argocd.request_sync("shop")


def test_retries_and_self_heal_without_any_pause_still_take_time() -> None:
    bad: Object = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": []}}
    retry: Object = {"limit": -1, "backoff": {"duration": "0s"}}
    world = SmallWorld.with_objects([bad], application(automated={}, retry=retry))
    world.minutes(1)
    assert 30 <= len(world.moments(TraceKind.RETRY)) <= 62
    params: Object = {
        "metadata": {"name": "argocd-cmd-params-cm"},
        "data": {"controller.self.heal.backoff.timeout.seconds": "0"},
    }
    rival = Rival()
    world = SmallWorld.with_objects([config_map("a", x="1")], others=(rival,), config_maps=(params,))
    world.minutes(1)
    assert 30 <= len(rival.writes) <= 62


def test_an_app_that_is_applied_again_keeps_its_status() -> None:
    world = SmallWorld.with_objects([config_map("a", x="1")])
    world.minutes(1)
    world.repo.push({"apps/new": [config_map("b", x="1")]})
    world.argocd.add(application(path="apps/new", automated={"selfHeal": True, "prune": True}))
    assert world.codes == ("Synced", "Healthy")
    world.minutes(1)
    assert world.data("b", "x") == "1"
    assert world.data("a", "x") is None
    assert len(items(world.argocd.status("shop").get("history"))) == 2


def test_an_app_that_is_skipped_is_neither_refreshed_nor_synced_nor_deleted() -> None:
    app = application(automated={})
    meta = fields(app["metadata"])
    meta["annotations"] = {"argocd.argoproj.io/skip-reconcile": "true"}
    meta["finalizers"] = ["resources-finalizer.argocd.argoproj.io"]
    world = SmallWorld.with_objects([config_map("a", x="1")], app)
    world.argocd.request_sync("shop")
    world.minutes(10)
    assert "operation" in world.argocd.applications["argocd/shop"]
    assert world.argocd.status("shop") == {}
    unskipped: Object = {**meta, "annotations": {}}
    world.argocd.edit("shop", lambda current: {**current, "metadata": unskipped})
    world.minutes(5)
    assert (world.codes, world.operation["phase"]) == (("Synced", "Healthy"), "Succeeded")
