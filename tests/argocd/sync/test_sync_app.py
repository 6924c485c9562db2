"""The controller's turn: what stops a sync before its step, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import pytest
from msgspec.structs import replace

from tests.argocd.compare.comparing import NOW, OPEN_PROJECT, SERVER, application, config_map
from tests.argocd.sync.memory import MemoryGround
from whysync.argocd.api.application import Application
from whysync.argocd.api.project import AppProject
from whysync.argocd.app_controller.operation_state import CompareWith, Start
from whysync.argocd.app_controller.process_operation import process
from whysync.argocd.compare.compare_app_state import compare
from whysync.argocd.compare.comparison import Comparison, Inputs
from whysync.argocd.compare.live_objects import LiveIndex
from whysync.argocd.projects import Cluster
from whysync.argocd.settings import Settings
from whysync.argocd.sync.app_request import AppSync, NotCompared, SyncPass, SyncTarget
from whysync.argocd.sync.cluster_ops import ClusterOps, Refused
from whysync.argocd.sync.sync_app_state import sync_app
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Ref, ref_of

HERE = Cluster(server=SERVER, name="here")
COMMIT = "0123456789abcdef"


@dataclass
class Scene:
    """One Application on a small cluster; every turn compares it again."""

    targets: Sequence[Object]
    cluster_ops: MemoryGround
    app: Object
    settings: Settings
    project: Object
    users: list[str]
    compared_targets: list[SyncTarget]

    def sync(self) -> AppSync:
        project, _ = decode(self.project, AppProject)
        assert project is not None
        return AppSync(
            application=self.app,
            project=project,
            settings=self.settings,
            clusters=[HERE],
            compare=self.compare,
            cluster_ops=self.as_user,
            now=NOW,
        )

    def as_user(self, user: str) -> ClusterOps:
        self.users.append(user)
        return self.cluster_ops

    def compare(self, target: SyncTarget) -> Comparison:
        self.compared_targets.append(target)
        app, _ = decode(self.app, Application)
        project, _ = decode(self.project, AppProject)
        assert app is not None
        objects = [Manifest(body, role=Role.LIVE) for body in self.cluster_ops.objects.values()]
        live = LiveIndex(objects, self.settings)
        return compare(
            Inputs(
                application=self.app,
                app=app,
                project=project,
                settings=self.settings,
                targets=self.targets,
                live=live,
                now=NOW,
                cluster=HERE,
                revisions=(COMMIT,),
            )
        )

    def sync_pass(self, state: Object | None = None, **sync: Json) -> SyncPass:
        return sync_app(self.sync(), state or started(**sync))


def scene(*targets: Object, live: Sequence[Object] = (), **more: Json) -> Scene:
    return Scene(
        targets=targets,
        cluster_ops=MemoryGround(objects={ref_of(live_object).key: live_object for live_object in live}),
        app=application(**{key: fields(value) for key, value in more.items()}),
        settings=Settings(),
        project=OPEN_PROJECT,
        users=[],
        compared_targets=[],
    )


def started(**sync: Json) -> Object:
    return {"operation": {"sync": {**sync}}, "phase": "Running", "startedAt": "2026-03-02T03:00:00Z"}


def _phase_and_message(sync_pass: SyncPass) -> tuple[str, str]:
    return text(sync_pass.operation_state.get("phase")), text(sync_pass.operation_state.get("message"))


def test_a_sync_records_what_it_did_and_where_from() -> None:
    sync_pass = scene(config_map(owner="")).sync_pass(revision="main")
    assert _phase_and_message(sync_pass) == ("Succeeded", "successfully synced (all tasks run)")
    result = fields(sync_pass.operation_state["syncResult"])
    assert result["revision"] == COMMIT
    assert [fields(resource)["message"] for resource in items(result["resources"])] == [
        "ConfigMap/settings created"
    ]
    assert sync_pass.history == [
        {
            "id": 0,
            "revision": COMMIT,
            "source": {"repoURL": "https://git.example.com/shop.git", "path": "deploy"},
            "deployedAt": "2026-03-02T03:10:00Z",
            "deployStartedAt": "2026-03-02T03:00:00Z",
            "initiatedBy": {},
        }
    ]


def test_history_is_kept_short() -> None:
    before: list[Json] = [{"id": at} for at in range(10)]
    sync_pass = scene(config_map(), status={"history": before}).sync_pass()
    assert [fields(entry)["id"] for entry in sync_pass.history or ()] == list(range(1, 11))


@pytest.mark.parametrize(
    "sync", [{"dryRun": True}, {"resources": [{"kind": "ConfigMap", "name": "settings"}]}]
)
def test_neither_a_dry_run_nor_a_part_is_a_deployment(sync: Object) -> None:
    sync_pass = scene(config_map()).sync_pass(started(**sync))
    assert (_phase_and_message(sync_pass)[0], sync_pass.history) == ("Succeeded", None)


def test_only_selected_resources_are_synced() -> None:
    chosen: Json = [{"kind": "ConfigMap", "name": "b"}]
    app_scene = scene(config_map("a"), config_map("b"))
    app_scene.sync_pass(resources=chosen)
    assert app_scene.cluster_ops.names == {"b"}


def test_an_object_that_only_copied_its_mark_is_not_pruned() -> None:
    extra, copied = config_map("extra"), config_map("copied")
    annotations = fields(fields(copied["metadata"])["annotations"])
    annotations["argocd.argoproj.io/tracking-id"] = "shop:/ConfigMap:shop/original"
    app_scene = scene(live=[extra, copied])
    app_scene.sync_pass(prune=True)
    assert app_scene.cluster_ops.names == {"copied"}


def test_no_operation() -> None:
    sync_pass = sync_app(scene().sync(), {"operation": {}, "phase": "Running"})
    assert _phase_and_message(sync_pass) == ("Error", "Invalid operation request: no operation specified")


def test_what_is_over_is_not_touched() -> None:
    over = {**started(), "phase": "Succeeded"}
    assert sync_app(scene(config_map()).sync(), over) == SyncPass(operation_state=over)


def _deny(schedule: str) -> Object:
    window: Object = {"kind": "deny", "schedule": schedule, "duration": "24h", "applications": ["*"]}
    return {**OPEN_PROJECT, "spec": {**fields(OPEN_PROJECT["spec"]), "syncWindows": [window]}}


def test_a_window_leaves_the_operation_as_it_is() -> None:
    app_scene = scene(config_map())
    app_scene.project = _deny("0 0 * * *")
    sync_pass = app_scene.sync_pass()
    assert _phase_and_message(sync_pass) == ("Running", "Sync operation blocked by sync window")
    assert (app_scene.cluster_ops.names, app_scene.compared_targets) == (set(), [])
    ending = sync_app(app_scene.sync(), {**started(), "phase": "Terminating", "message": "ending"})
    assert _phase_and_message(ending) == ("Terminating", "ending")
    app_scene.project = _deny("nonsense")
    assert _phase_and_message(app_scene.sync_pass())[1].startswith(
        "Sync operation blocked by sync window: invalid sync windows: "
    )


def test_a_comparison_that_cannot_be_made() -> None:
    def refuse(_target: SyncTarget) -> Comparison:
        raise NotCompared("no cache")

    sync = replace(scene().sync(), compare=refuse)
    assert _phase_and_message(sync_app(sync, started())) == ("Error", "no cache")


def test_errors_of_the_comparison_stop_it() -> None:
    result: Json = [{"type": "InvalidSpecError", "message": "bad"}]
    sync_pass = scene(config_map(), status={"conditions": result}).sync_pass()
    assert _phase_and_message(sync_pass) == ("Error", "InvalidSpecError: bad")


def test_a_shared_resource_stops_it_only_when_asked_so() -> None:
    mine, theirs = config_map(), config_map(owner="other")
    sync_pass = scene(mine, live=[theirs]).sync_pass(syncOptions=["FailOnSharedResource=true"])
    assert _phase_and_message(sync_pass)[0] == "Failed"
    assert _phase_and_message(sync_pass)[1].startswith(
        "Shared resource found: ConfigMap/settings is part of applications"
    )
    assert _phase_and_message(scene(mine, live=[theirs]).sync_pass())[0] == "Succeeded"


def test_a_cluster_that_nobody_knows() -> None:
    sync = replace(scene().sync(), clusters=[])
    assert _phase_and_message(sync_app(sync, started()))[1].startswith(
        "Failed to get destination cluster: error getting"
    )


def test_the_project_is_checked_for_each_object() -> None:
    app_scene = scene(config_map())
    app_scene.project = {
        **OPEN_PROJECT,
        "spec": {"destinations": [{"server": "*", "namespace": "elsewhere"}]},
    }
    message = "namespace shop is not permitted in project 'default'"
    assert _phase_and_message(app_scene.sync_pass()) == (
        "Failed",
        f"one or more synchronization tasks are not valid: {message}",
    )


def test_unreadable_overrides_stop_the_sync() -> None:
    app_scene = scene(config_map())
    app_scene.settings = Settings.from_config_maps({"data": {"resource.customizations": "- no map"}}, None)
    phase, message = _phase_and_message(app_scene.sync_pass())
    assert (phase, app_scene.cluster_ops.names) == ("Error", set())
    assert message.startswith("Failed to load resource overrides: ")


def test_impersonation() -> None:
    account: Object = {"server": "*", "namespace": "*", "defaultServiceAccount": "deployer"}
    app_scene = scene(config_map())
    app_scene.settings = Settings(impersonation_enabled=True)
    message = f"no matching service account found for destination server {SERVER} and namespace shop"
    assert _phase_and_message(app_scene.sync_pass()) == ("Error", message)
    app_scene.project = {
        **OPEN_PROJECT,
        "spec": {**fields(OPEN_PROJECT["spec"]), "destinationServiceAccounts": [account]},
    }
    assert _phase_and_message(app_scene.sync_pass())[0] == "Succeeded"
    assert app_scene.users == ["system:serviceaccount:shop:deployer"]


def test_ignored_fields_keep_their_live_value_if_respected() -> None:
    rules: Json = [{"kind": "ConfigMap", "jsonPointers": ["/data/held"]}]
    git, live = config_map(data={"held": "git", "k": "new"}), config_map(data={"held": "live", "k": "old"})
    for options, expected in ((["RespectIgnoreDifferences=true"], "live"), ([], "git")):
        app_scene = scene(git, live=[live], spec={"ignoreDifferences": rules})
        app_scene.sync_pass(syncOptions=[*options])
        data = dig(app_scene.cluster_ops.objects[ref_of(git).key], "data")
        assert data == {"held": expected, "k": "new"}


def test_a_prune_is_confirmed_by_a_late_enough_annotation() -> None:
    extra = config_map("extra")
    fields(fields(extra["metadata"])["annotations"])["argocd.argoproj.io/sync-options"] = "Prune=confirm"
    for when, phase in (("2026-03-02T02:59:59Z", "Running"), ("2026-03-02T03:00:00Z", "Succeeded")):
        app_scene = scene(live=[extra])
        app_scene.app = application(annotations={"argocd.argoproj.io/deletion-approved": when})
        assert _phase_and_message(app_scene.sync_pass(prune=True))[0] == phase


class _Unknown(MemoryGround):
    def kinds(self) -> Sequence[Ref]:
        return (Ref(group="", version="v2", kind="ConfigMap", name=""),)


def test_messages_of_resources_are_augmented_but_not_that_of_the_operation() -> None:
    app_scene = scene(config_map())
    raw = "the server could not find the requested resource"
    app_scene.cluster_ops = _Unknown(refusals={"settings": raw})
    sync_pass = app_scene.sync_pass()
    assert _phase_and_message(sync_pass)[1].endswith(raw)
    message = text(dig(sync_pass.operation_state, "syncResult", "resources", 0, "message"))
    assert 'Version "v2" of /ConfigMap is installed' in message


class _Silent(MemoryGround):
    def kinds(self) -> Sequence[Ref]:
        raise Refused("no answer")


def test_without_the_served_kinds_the_message_stays() -> None:
    app_scene = scene(config_map())
    raw = "the server could not find the requested resource"
    app_scene.cluster_ops = _Silent(refusals={"settings": raw})
    assert dig(app_scene.sync_pass().operation_state, "syncResult", "resources", 0, "message") == raw


def test_the_namespace_is_created_with_its_metadata() -> None:
    policy: Object = {"managedNamespaceMetadata": {"labels": {"team": "shop"}}}
    app_scene = scene(config_map(), spec={"syncPolicy": policy})
    sync_pass = app_scene.sync_pass(syncOptions=["CreateNamespace=true"])
    assert dig(sync_pass.operation_state, "syncResult", "managedNamespaceMetadata") == {
        "labels": {"team": "shop"}
    }
    namespace = next(obj for obj in app_scene.cluster_ops.objects.values() if obj["kind"] == "Namespace")
    assert dig(namespace, "metadata", "labels") == {"team": "shop"}


def test_terminating() -> None:
    sync_pass = sync_app(scene(config_map()).sync(), {**started(), "phase": "Terminating"})
    assert _phase_and_message(sync_pass) == ("Failed", "Operation terminated")


def _sync_passes(app_scene: Scene) -> Callable[[Object], SyncPass]:
    return lambda state: sync_app(app_scene.sync(), state)


def test_an_operation_is_retried_with_all_its_parameters() -> None:
    app_scene = scene(config_map())
    app_scene.cluster_ops.refusals = {"settings": "denied"}
    source: Object = {"repoURL": "https://git.example.com/shop.git", "helm": {"parameters": [{"name": "a"}]}}
    operation: Object = {
        "sync": {"source": source, "revision": "main"},
        "retry": {"limit": 1, "refresh": True},
        "initiatedBy": {"automated": True},
    }
    first = process(operation, None, _sync_passes(app_scene), now=NOW)
    assert (first.start, first.refresh) == (Start.NEW, None)
    assert text(first.operation_state["message"]).startswith(
        "one or more objects failed to apply, reason: denied. Retrying attempt #1 at"
    )
    soon = process(operation, first.operation_state, _sync_passes(app_scene), now=NOW)
    assert (soon.start, soon.sync_pass, soon.operation_state) == (Start.WAITING, None, first.operation_state)
    app_scene.cluster_ops.refusals = {}
    later = process(operation, first.operation_state, _sync_passes(app_scene), now=NOW + timedelta(minutes=5))
    assert (later.start, later.refresh) == (Start.RETRIED, CompareWith.CompareWithLatest)
    assert (later.operation_state["phase"], later.operation_state["retryCount"]) == ("Succeeded", 1)
    assert later.operation_state["finishedAt"] == "2026-03-02T03:15:00Z"
    assert later.operation_state["startedAt"] == first.operation_state["startedAt"]
    assert dig(later.operation_state, "syncResult", "source") == source
    assert [item.revisions for item in app_scene.compared_targets] == [("main",), ("",)]


def test_an_operation_that_takes_too_long_is_terminated() -> None:
    app_scene = scene(config_map())
    state = started()
    result = process({"sync": {}}, state, _sync_passes(app_scene), now=NOW, timeout=timedelta(minutes=5))
    assert result.start is Start.TIMED_OUT
    assert result.operation_state["message"] == "Operation terminated, triggered by controller sync timeout"
