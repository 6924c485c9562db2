"""Whole syncs on the model: waves, hooks, prunes, failures. The test plays the controllers."""

from __future__ import annotations

from tests.argocd.sync.kubectl.shop import (
    ACCOUNT,
    SERVER_SIDE,
    Shop,
    a_config,
    a_definition,
    a_deployment,
    a_job,
    a_namespace,
    a_role,
    a_widget,
    marked,
    messages,
    mine,
    outcomes,
)
from whysync.argocd.compare.managed_namespace import managed_namespace
from whysync.argocd.sync.options import SyncOptions
from whysync.argocd.sync.results import State
from whysync.argocd.sync.step import step, terminate
from whysync.json_tree import Object, dig, fields

PRUNE = SyncOptions(prune=True)
READY: Object = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}
DONE: Object = {
    "startTime": "2026-01-01T00:00:00Z",
    "completionTime": "2026-01-01T00:00:00Z",
    "succeeded": 1,
    "uncountedTerminatedPods": {},
    "conditions": [
        {"type": "SuccessCriteriaMet", "status": "True"},
        {"type": "Complete", "status": "True"},
    ],
}
FAILED: Object = {
    "startTime": "2026-01-01T00:00:00Z",
    "failed": 1,
    "uncountedTerminatedPods": {},
    "conditions": [
        {"type": "FailureTarget", "status": "True", "message": "Job has reached the limit"},
        {"type": "Failed", "status": "True", "message": "Job has reached the limit"},
    ],
}


def test_one_wave_of_everything() -> None:
    shop = Shop()
    (last,) = shop.sync([a_deployment(), a_config(a="1"), a_role("get")])
    assert (last.phase, last.message) == ("Succeeded", "successfully synced (all tasks run)")
    assert messages(last)["api"] == "deployment.apps/api created"
    assert messages(last)["reader"].startswith("role.rbac.authorization.k8s.io/reader reconciled")
    (again,) = shop.sync([a_deployment(), a_config(a="1")])
    assert messages(again) == {
        "settings": "configmap/settings unchanged",
        "api": "deployment.apps/api unchanged",
    }


def test_a_wave_waits_until_the_one_before_is_healthy() -> None:
    shop = Shop()
    db, api = a_deployment("db"), marked(a_deployment("api"), wave="1")
    *_, stuck = shop.sync([db, api], most=3)
    assert (stuck.phase, stuck.message) == ("Running", "waiting for healthy state of apps/Deployment/db")
    assert not shop.has(api)
    assert shop.cluster_ops.not_before is not None, "the pause between waves was asked for"
    *_, last = shop.sync([db, api], meanwhile=lambda: shop.set_status(db, READY))
    assert (last.phase, shop.has(api)) == ("Succeeded", True)


def test_a_hook_runs_first_and_goes_when_it_has_succeeded() -> None:
    shop = Shop()
    hook = marked(a_job(), hook="PreSync", policy="HookSucceeded")

    def kubelet() -> None:
        if shop.has(hook) and not dig(shop.live(hook), "status", "conditions"):
            assert not shop.has(a_config())
            shop.set_status(hook, DONE)

    states = shop.sync([a_config(a="1")], [hook], meanwhile=kubelet)
    assert states[0].message == "waiting for completion of hook batch/Job/migrate"
    assert states[-1].phase == "Succeeded"
    assert outcomes(states[-1]) == {"migrate": "Synced Succeeded", "settings": "Synced Running"}
    shop.api_server.settle()
    assert not shop.has(hook), "its finalizer was taken off before"


def test_a_hook_that_fails_stops_the_sync_and_starts_the_hooks_for_that() -> None:
    shop = Shop()
    hook = marked(a_job(), hook="PreSync")
    sorry = marked(a_config("sorry"), hook="SyncFail")

    def kubelet() -> None:
        if not dig(shop.live(hook), "status", "conditions"):
            shop.set_status(hook, FAILED)

    *_, last = shop.sync([a_config(a="1")], [hook, sorry], meanwhile=kubelet)
    assert (last.phase, last.message) == (
        "Failed",
        "one or more synchronization tasks completed unsuccessfully",
    )
    assert messages(last)["migrate"] == "Job has reached the limit"
    assert shop.has(sorry)
    assert not shop.has(a_config())


def test_a_hook_of_the_last_sync_goes_before_it_is_created_anew() -> None:
    shop = Shop()
    hook = marked(a_job(), hook="PreSync")

    def kubelet() -> None:
        if shop.has(hook) and not dig(shop.live(hook), "status", "conditions"):
            shop.set_status(hook, DONE)

    shop.sync([], [hook], meanwhile=kubelet)
    before = dig(shop.live(hook), "metadata", "uid")
    newer = marked(a_job(image="migrate:2"), hook="PreSync")
    first, *_, last = shop.sync([], [newer], meanwhile=kubelet)
    assert first.message == "waiting for deletion of hook batch/Job/migrate"
    assert last.phase == "Succeeded"
    assert dig(shop.live(hook), "metadata", "uid") != before


def test_a_leftover_hook_without_that_policy_cannot_be_changed() -> None:
    shop = Shop()
    hook = marked(a_job(), hook="PreSync", policy="HookSucceeded")
    shop.apply(hook)
    newer = marked(a_job(image="migrate:2"), hook="PreSync", policy="HookSucceeded")
    *_, last = shop.sync([a_config(a="1")], [newer])
    assert last.phase == "Failed"
    assert "one or more objects failed to apply, reason: error when patching" in last.message
    assert last.message.endswith("field is immutable")


def test_terminated_while_a_hook_runs() -> None:
    shop = Shop()
    hook = marked(a_job(), hook="PreSync")
    (running,) = shop.sync([], [hook], most=1)
    ended = terminate(running, shop.request([], [hook]), shop.cluster_ops)
    assert (ended.phase, ended.message) == ("Failed", "Operation terminated")
    shop.api_server.settle()
    assert not shop.has(hook)


def test_prunes_go_in_the_order_against_creation() -> None:
    shop = Shop()
    first, second = mine(a_config("first")), mine(marked(a_config("second"), wave="1"))
    shop.sync([first, second])
    states = shop.sync([], options=PRUNE)
    assert messages(states[0]) == {"second": "pruned"}
    assert messages(states[-1]) == {"second": "pruned", "first": "pruned"}
    shop.api_server.settle()
    assert not shop.has(first)
    assert not shop.has(second)


def test_a_prune_waits_for_whatever_holds_the_object() -> None:
    shop = Shop()
    with_finalizer = mine(a_config("held"))
    with_finalizer["metadata"] = {
        **fields(with_finalizer["metadata"]),
        "finalizers": ["example.com/hold"],
    }
    shop.apply(with_finalizer)
    *_, stuck = shop.sync([a_config("new"), marked(a_config("later"), wave="1")], options=PRUNE, most=4)
    assert stuck.message == "waiting for deletion of /ConfigMap/held"


def test_a_prune_that_is_forbidden() -> None:
    shop = Shop()
    shop.apply(mine(a_config("old")))
    last = step(State(), shop.request([], options=PRUNE), shop.as_user())
    assert last.phase == "Failed"
    assert messages(last)["old"] == (
        f'configmaps "old" is forbidden: User "{ACCOUNT}" cannot delete resource "configmaps" in API group '
        '"" in the namespace "shop"'
    )


def test_what_cannot_be_changed_fails_in_its_wave_and_the_rest_of_it_is_applied() -> None:
    shop = Shop()
    shop.apply(a_deployment())
    later = marked(a_config("later"), wave="1")
    *_, last = shop.sync([a_deployment(selects="other"), a_config(a="1"), later])
    assert last.phase == "Failed"
    assert outcomes(last) == {"settings": "Synced Succeeded", "api": "SyncFailed Failed"}
    assert shop.has(a_config())
    assert not shop.has(later)


def test_force_and_replace_as_the_objects_ask_for_them() -> None:
    shop = Shop()
    shop.apply(a_deployment())
    (last,) = shop.sync([marked(a_deployment(selects="other"), options="Force=true")])
    assert messages(last) == {"api": "deployment.apps/api configured"}
    (last,) = shop.sync([marked(a_deployment(selects="third"), options="Force=true,Replace=true")])
    assert messages(last) == {
        "api": 'deployment.apps "api" deleted from shop namespace\ndeployment.apps/api replaced'
    }
    (last,) = shop.sync([marked(a_config(a="1"), options="Replace=true")])
    assert messages(last) == {"settings": "configmap/settings created"}
    (last,) = shop.sync([marked(a_namespace("shop"), options="Replace=true")])
    assert messages(last) == {"shop": "Namespace/shop updated"}


def test_a_definition_and_its_objects_in_one_sync() -> None:
    shop = Shop()
    (last,) = shop.sync([a_widget(size=1), a_definition()])
    assert last.phase == "Succeeded"
    assert messages(last) == {
        "widgets.shop.example": (
            "customresourcedefinition.apiextensions.k8s.io/widgets.shop.example created"
        ),
        "w": "widget.shop.example/w created",
    }


def test_objects_of_a_kind_that_nobody_defines() -> None:
    shop = Shop()
    (last,) = shop.sync([a_widget(size=1), a_config(a="1")])
    assert (last.phase, last.message) == (
        "Failed",
        "one or more synchronization tasks are not valid: failed to discover server resources for group "
        "version shop.example/v1: the server could not find the requested resource",
    )
    assert not shop.has(a_config())
    patient = marked(a_widget(size=1), options="SkipDryRunOnMissingResource=true")
    *_, last = shop.sync([patient, a_config(a="1")])
    assert last.phase == "Failed"
    assert 'no matches for kind "Widget" in version "shop.example/v1"' in last.message
    assert shop.has(a_config()), "the dry run was skipped, and the rest of the wave was applied"


def test_a_namespace_that_is_missing() -> None:
    shop = Shop(namespace=False)
    (last,) = shop.sync([a_config(a="1")])
    assert (last.phase, last.message) == (
        "Failed",
        'one or more objects failed to apply, reason: namespaces "shop" not found',
    )


def test_a_namespace_that_is_missing_and_created() -> None:
    shop = Shop(namespace=False)
    make = SyncOptions(create_namespace=True)
    *_, last = shop.sync(
        [a_config(a="1")], options=make, make_namespace=lambda bare, live: managed_namespace(bare, live, None)
    )
    assert last.phase == "Succeeded"
    assert messages(last) == {"shop": "namespace/shop created", "settings": "configmap/settings created"}


def test_a_dry_run_that_fails_leaves_everything_as_it_was() -> None:
    shop = Shop()
    odd = a_deployment()
    odd["spec"] = {**fields(odd["spec"]), "extra": {"a": 1}}
    shop.apply(odd)
    odd["spec"] = {**fields(odd["spec"]), "extra": {"a": 2}}
    (last,) = shop.sync([odd, a_config(a="1")])
    assert (last.phase, last.message) == ("Failed", "one or more objects failed to apply (dry run)")
    assert not shop.has(a_config())


def test_an_operation_that_is_a_dry_run() -> None:
    shop = Shop()
    (last,) = shop.sync([a_config(a="1")], options=SyncOptions(dry_run=True))
    assert last.phase == "Succeeded"
    assert messages(last) == {"settings": "configmap/settings created (dry run)"}
    assert not shop.has(a_config())


def test_server_side_apply_takes_over_what_kubectl_owns() -> None:
    shop = Shop()
    ours = SERVER_SIDE.manager
    (first,) = shop.sync([a_config(a="1", b="2")])
    assert first.phase == "Succeeded"
    (last,) = shop.sync([a_config(a="1")], options=SyncOptions(server_side_apply=True))
    assert messages(last) == {"settings": "configmap/settings serverside-applied"}
    live = shop.live(a_config())
    assert live["data"] == {"a": "1"}
    assert dig(live, "metadata", "managedFields", 0, "manager") == ours
