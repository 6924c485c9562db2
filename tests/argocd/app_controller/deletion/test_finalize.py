"""Applications on their way out, look by look. The test plays the controllers of the cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NoReturn

from tests.argocd.sync.kubectl.shop import Shop, a_config, a_definition, a_job, marked, mine
from tests.argocd.sync.kubectl.test_sync import DONE, FAILED
from whysync.argocd.api.application import Condition, HealthCode
from whysync.argocd.app_controller.deletion.finalize_app import (
    AppDeletion,
    CannotDelete,
    Finalized,
    conditions_after,
    finalize,
    finalize_without_cluster,
)
from whysync.argocd.app_controller.deletion.finalizers import RESOURCES
from whysync.argocd.health.assess import Assessment
from whysync.argocd.health.verdict import HealthVerdict
from whysync.argocd.sync.kubectl.cluster_ops import KubectlClusterOps
from whysync.json_tree import Json, Object, dig, fields
from whysync.kubernetes.api.ref import Key, ref_of

PRE = "pre-delete-finalizer.argocd.argoproj.io"
POST = "post-delete-finalizer.argocd.argoproj.io"
DELETED = "2026-01-01T00:00:00Z"
NOW = datetime(2026, 1, 1, 0, 5, tzinfo=UTC)


class Leaving:
    """The Application `mine`, with what has its label."""

    def __init__(self, *finalizers: str, options: Sequence[str] = (), targets: Sequence[Object] = ()) -> None:
        self.shop = Shop()
        self.targets = targets
        self.cluster_ops = self.shop.cluster_ops
        self.app: Object = {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Application",
            "metadata": {
                "name": "mine",
                "namespace": "argocd",
                "finalizers": list(finalizers),
                "deletionTimestamp": DELETED,
            },
            "spec": {"destination": {"namespace": "shop"}, "syncPolicy": {"syncOptions": list(options)}},
        }

    def live(self) -> Mapping[Key, Object]:
        result = self.shop.api_server.objects()
        return {ref_of(obj).key: obj for obj in result if dig(obj, "metadata", "labels", "app") == "mine"}

    def look(self) -> Finalized:
        done = finalize(
            AppDeletion(
                application=self.app,
                cluster_ops=self.cluster_ops,
                live=self.live,
                targets=lambda: self.targets,
                mark=mine,
            )
        )
        meta = fields(self.app["metadata"])
        self.app["metadata"] = {**meta, "finalizers": list(done.finalizers)}
        self.shop.api_server.settle()
        return done

    def has(self, *names: str) -> None:
        assert {key.name for key in self.live()} == set(names)


def hook(kind: str, name: str = "goodbye", policy: str = "") -> Object:
    return marked(a_job(name), hook=kind, **({"policy": policy} if policy else {}))


def test_resources_go_wave_by_wave_from_the_highest() -> None:
    leaving = Leaving(RESOURCES)
    for name, wave in (("a", "0"), ("b", "1"), ("c", "1")):
        leaving.shop.apply(mine(marked(a_config(name), wave=wave)))
    first = leaving.look()
    assert (first.finalizers, first.waits_for) == ((RESOURCES,), "3 objects remaining for deletion")
    leaving.has("a")
    assert leaving.look().finalizers == (RESOURCES,)
    leaving.has()
    assert leaving.look() == Finalized(finalizers=())


def test_in_the_background_they_are_gone_at_once() -> None:
    leaving = Leaving(f"{RESOURCES}/background")
    leaving.shop.apply(mine(a_config("a")))
    assert leaving.look() == Finalized(finalizers=())
    leaving.has()


def test_the_next_wave_waits_for_finalizers_of_the_last_one() -> None:
    leaving = Leaving(f"{RESOURCES}/background")
    blocked = mine(marked(a_config("held"), wave="1"))
    blocked["metadata"] = {**fields(blocked["metadata"]), "finalizers": ["example.com/hold"]}
    leaving.shop.apply(blocked)
    leaving.shop.apply(mine(a_config("a")))
    for _ in range(2):
        assert leaving.look().waits_for == "2 objects remaining for deletion"
        leaving.has("a", "held")
    live = leaving.shop.live(blocked)
    meta = {key: value for key, value in fields(live["metadata"]).items() if key != "finalizers"}
    leaving.shop.cluster_ops.update({**live, "metadata": meta}, dry_run=False)
    assert leaving.look() == Finalized(finalizers=())


def test_without_the_finalizer_they_stay() -> None:
    leaving = Leaving("example.com/other")
    leaving.shop.apply(mine(a_config("a")))
    assert leaving.look() == Finalized(finalizers=("example.com/other",))
    leaving.has("a")


def test_delete_false_and_definitions_are_not_deleted() -> None:
    leaving = Leaving(f"{RESOURCES}/background", options=["Delete=false"])
    retained = mine(a_config("kept"))
    deleted = mine(marked(a_config("gone"), options="Delete=true"))
    for obj in (retained, deleted, mine(a_definition())):
        leaving.shop.apply(obj)
    assert leaving.look() == Finalized(finalizers=())
    leaving.has("kept", "widgets.shop.example")


def test_somebody_has_to_confirm() -> None:
    leaving = Leaving(f"{RESOURCES}/background")
    leaving.shop.apply(mine(marked(a_config("a"), options="Delete=confirm")))
    row: Json = {
        "kind": "ConfigMap",
        "version": "v1",
        "namespace": "shop",
        "name": "a",
        "requiresDeletionConfirmation": True,
    }
    leaving.app["status"] = {"resources": [row]}
    request = "Resource /ConfigMap/shop/a requires manual confirmation to delete"
    assert leaving.look().waits_for == request
    for approved, waits in (("2025-12-31T23:59:59Z", request), ("2026-01-01T00:00:01Z", "")):
        annotations: Object = {"argocd.argoproj.io/deletion-approved": approved}
        leaving.app["metadata"] = {**fields(leaving.app["metadata"]), "annotations": annotations}
        assert leaving.look().waits_for == waits
    leaving.has()


def test_who_may_not_delete_is_told_so() -> None:
    leaving = Leaving(RESOURCES)
    leaving.shop.apply(mine(a_config("a")))
    leaving.cluster_ops = leaving.shop.as_user()
    done = leaving.look()
    assert done.finalizers == (RESOURCES,)
    assert done.error.startswith('configmaps "a" is forbidden: User ')


def test_a_hook_runs_before_anything_goes() -> None:
    before = hook("PreDelete", policy="HookSucceeded")
    leaving = Leaving(PRE, f"{PRE}/cleanup", f"{RESOURCES}/background", targets=[a_config("a"), before])
    leaving.shop.apply(mine(a_config("a")))
    for _ in range(2):
        assert leaving.look().waits_for == "waiting for PreDelete hooks to complete"
        leaving.has("a", "goodbye")
    leaving.shop.set_status(before, DONE)
    leaving.look()
    assert not leaving.shop.has(a_config("a")), "the resources follow at once"


def test_a_hook_is_a_resource_too_when_the_rest_goes() -> None:
    """It has the mark of the Application, so the cascade takes it along; nothing is left to clean up."""
    before = hook("PreDelete")
    leaving = Leaving(PRE, f"{PRE}/cleanup", f"{RESOURCES}/background", targets=[before])
    leaving.look()
    leaving.shop.set_status(before, DONE)
    assert leaving.look().finalizers == (f"{PRE}/cleanup",)
    leaving.has()
    assert leaving.look() == Finalized(finalizers=())


def test_a_hook_that_fails_is_deleted_and_tried_again_for_ever() -> None:
    before = hook("PreDelete")
    leaving = Leaving(PRE, RESOURCES, targets=[before])
    leaving.shop.apply(mine(a_config("a")))
    leaving.look()
    leaving.shop.set_status(before, FAILED)
    failed = leaving.look()
    assert failed.error == "error executing pre-delete hooks: PreDelete hook(s) failed: shop/goodbye"
    assert failed.finalizers == (PRE, RESOURCES)
    leaving.has("a")
    assert leaving.look().error == ""
    leaving.has("a", "goodbye")


def test_hooks_behind_the_rest_and_their_cleanup() -> None:
    after = hook("PostDelete", policy="HookSucceeded")
    leaving = Leaving(POST, f"{POST}/cleanup", f"{RESOURCES}/background", targets=[after])
    leaving.shop.apply(mine(a_config("a")))
    assert RESOURCES not in str(leaving.look().finalizers)
    leaving.has()
    assert leaving.look().waits_for == "waiting for PostDelete hooks to complete"
    leaving.shop.set_status(after, DONE)
    assert leaving.look().finalizers == (f"{POST}/cleanup",)
    leaving.has("goodbye")
    assert leaving.look().waits_for == "waiting for PostDelete hooks to be deleted"
    leaving.has()
    assert leaving.look() == Finalized(finalizers=())


def test_a_hook_without_a_policy_stays_behind() -> None:
    after = hook("PostDelete")
    leaving = Leaving(POST, f"{POST}/cleanup", targets=[after])
    leaving.look()
    leaving.shop.set_status(after, DONE)
    leaving.look()
    assert leaving.look() == Finalized(finalizers=())
    leaving.has("goodbye")


def test_a_hook_that_somebody_else_created_counts_as_done() -> None:
    """It has not the mark of the Application, and so nobody waits for it."""
    before = hook("PreDelete")
    leaving = Leaving(PRE, targets=[before])
    leaving.shop.apply(before)
    assert leaving.look() == Finalized(finalizers=())


def test_a_hook_without_a_health_check_is_done_when_it_is_there() -> None:
    before = marked(a_config("note"), hook="PreDelete")
    leaving = Leaving(PRE, targets=[before])
    assert leaving.look().finalizers == (PRE,)
    assert leaving.look().finalizers == ()


def test_a_hook_without_a_namespace_goes_to_the_destination() -> None:
    before = hook("PreDelete")
    before["metadata"] = {
        key: value for key, value in fields(before["metadata"]).items() if key != "namespace"
    }
    leaving = Leaving(PRE, targets=[before])
    assert leaving.look().error == ""
    assert [key.namespace for key in leaving.live()] == ["shop"]


def test_who_may_not_create_or_delete_a_hook() -> None:
    before = hook("PreDelete", policy="HookSucceeded")
    leaving = Leaving(PRE, targets=[before])
    leaving.cluster_ops = leaving.shop.as_user()
    assert leaving.look().error.startswith("error executing pre-delete hooks: jobs.batch is forbidden: User ")
    leaving.shop.apply(mine(before))
    leaving.shop.set_status(before, FAILED)
    failed = "error executing pre-delete hooks: PreDelete hook(s) failed: shop/goodbye"
    assert leaving.look().error == failed, "that it stays is only logged"
    leaving.has("goodbye")
    leaving.shop.set_status(before, DONE)
    leaving.app["metadata"] = {**fields(leaving.app["metadata"]), "finalizers": [f"{PRE}/cleanup"]}
    assert leaving.look().error.startswith('error cleaning up pre-delete hooks: jobs.batch "goodbye" is')


def test_a_cleanup_after_failure_takes_those_that_ask_for_it() -> None:
    first = hook("PostDelete", "one", policy="HookFailed")
    two = hook("PostDelete", "two", policy="HookSucceeded")
    leaving = Leaving(f"{POST}/cleanup")
    for obj, state in ((first, DONE), (two, FAILED)):
        leaving.shop.apply(mine(obj))
        leaving.shop.set_status(obj, state)
    assert leaving.look().waits_for == "waiting for PostDelete hooks to be deleted"
    leaving.has("two")


def test_health_that_cannot_be_told_stops_the_deletion() -> None:
    before = hook("PreDelete")
    leaving = Leaving(PRE, targets=[before])
    leaving.shop.apply(mine(before))
    unknown = Assessment(verdict=HealthVerdict(HealthCode.UNKNOWN), error="lua: broken")
    leaving.cluster_ops = KubectlClusterOps(leaving.shop.api_server, health=lambda _: unknown)
    assert leaving.look().error == "error executing pre-delete hooks: lua: broken"


def test_a_time_of_deletion_that_nobody_can_read_does_no_harm() -> None:
    leaving = Leaving(f"{RESOURCES}/background")
    leaving.app["metadata"] = {**fields(leaving.app["metadata"]), "deletionTimestamp": "yesterday"}
    assert leaving.look() == Finalized(finalizers=())


def test_a_hook_of_an_unknown_kind() -> None:
    odd: Object = {**hook("PreDelete"), "apiVersion": "shop.example/v1", "kind": "Widget"}
    leaving = Leaving(PRE, targets=[odd])
    assert leaving.look().error == (
        "error executing pre-delete hooks: failed to get api resource: failed to discover server resources "
        "for group version shop.example/v1: the server could not find the requested resource"
    )


def _cannot() -> NoReturn:
    raise CannotDelete("rpc error: repository not found")


def test_manifests_that_cannot_be_rendered_keep_the_application() -> None:
    shop = Shop()
    app: Object = {"metadata": {"finalizers": [PRE, RESOURCES], "deletionTimestamp": DELETED}}
    ground = KubectlClusterOps(shop.api_server)
    deletion = AppDeletion(application=app, cluster_ops=ground, live=dict[Key, Object], targets=_cannot)
    done = finalize(deletion)
    assert done.finalizers == (PRE, RESOURCES)
    assert done.error == "error executing pre-delete hooks: rpc error: repository not found"
    blind = finalize(AppDeletion(application=app, cluster_ops=ground, live=_cannot))
    assert blind.error == "error getting permitted app live objects: rpc error: repository not found"


def test_without_a_cluster_everything_is_let_go() -> None:
    app: Object = {"metadata": {"finalizers": [PRE, RESOURCES, "a"], "deletionTimestamp": DELETED}}
    assert finalize_without_cluster(app) == Finalized(finalizers=("a",))


def test_the_error_becomes_a_condition_and_stays_one() -> None:
    app: Object = {"status": {"conditions": [{"type": "SyncError", "message": "x"}]}}
    failed = Finalized(finalizers=(), error="no")
    result = conditions_after(app, failed, NOW)
    assert [(item.type, item.message) for item in result] == [("DeletionError", "no"), ("SyncError", "x")]
    assert result[0] == Condition(type="DeletionError", message="no", last_transition_time=NOW)
    stamp = "2026-01-01T00:05:00Z"
    app["status"] = {"conditions": [{"type": "DeletionError", "message": "no", "lastTransitionTime": stamp}]}
    later = NOW.replace(hour=1)
    assert conditions_after(app, failed, later)[0].last_transition_time == NOW
    assert len(conditions_after(app, Finalized(finalizers=()), later)) == 1
    other = conditions_after(app, Finalized(finalizers=(), error="other"), later)
    assert [(item.message, item.last_transition_time) for item in other] == [("other", later)]
