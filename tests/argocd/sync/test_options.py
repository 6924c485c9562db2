"""Sync options: what each level asks for, and which wins."""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec
import pytest

from tests.conformance.sync_run_parts import pruning_required
from tests.shared import CONFORMANCE, needs_shared
from whysync.argocd.api.application import ResourceResult
from whysync.argocd.sync.options import (
    ApplyMethod,
    OptionSource,
    Propagation,
    PruneDecision,
    SyncOptions,
    is_forced,
    needs_migration,
    prune_decision,
    skips_missing_kind,
    uses_server_side_apply,
    write_plan,
)
from whysync.json_tree import Json, Object, fields, items, text


def obj(options: str = "", kind: str = "ConfigMap", api: str = "v1") -> Object:
    annotations: Object = {"argocd.argoproj.io/sync-options": options} if options else {}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "x", "annotations": annotations}}


def options(*sync_options: str, **sync: Json) -> SyncOptions:
    return SyncOptions.of({"syncOptions": list(sync_options), **sync})


def test_options_of_an_operation() -> None:
    result = options("Prune=confirm", "Validate=false", "CreateNamespace=true", "replace=true", prune=True)
    assert (result.prune, result.prune_option, result.validate) == (True, "confirm", False)
    assert (result.create_namespace, result.replace) == (True, False)
    assert SyncOptions.of({}) == SyncOptions()


def test_force_is_no_option_of_an_application() -> None:
    assert not options("Force=true").force
    assert options(syncStrategy={"hook": {"force": True}}).force
    assert not is_forced({"apply": {}, "hook": {"force": True}})


def test_a_sync_of_some_resources_runs_no_hooks() -> None:
    assert options(resources=[{"kind": "Pod", "name": "x"}]).skip_hooks
    assert options(syncStrategy={"apply": {}}).skip_hooks
    assert not options(syncStrategy={"hook": {}}).skip_hooks


def test_propagation_has_an_order_of_its_own() -> None:
    assert options().propagation is Propagation.FOREGROUND
    both = options("PrunePropagationPolicy=orphan", "PrunePropagationPolicy=background")
    assert both.propagation is Propagation.BACKGROUND


@pytest.mark.parametrize(
    ("target", "live", "sync_options", "method", "set_by"),
    [
        (obj(), None, (), ApplyMethod.APPLY, OptionSource.DEFAULT),
        (obj(), obj(), ("Replace=true",), ApplyMethod.REPLACE, OptionSource.OPERATION),
        (obj("Replace=true"), None, (), ApplyMethod.CREATE, OptionSource.TARGET),
        (obj(), obj("Replace=true"), (), ApplyMethod.REPLACE, OptionSource.LIVE),
        (obj(kind="Namespace"), obj(), ("Replace=true",), ApplyMethod.UPDATE, OptionSource.OPERATION),
        (
            obj(kind="CustomResourceDefinition", api="apiextensions.k8s.io/v1"),
            obj(),
            ("Replace=true",),
            ApplyMethod.UPDATE,
            OptionSource.OPERATION,
        ),
        (obj(), None, ("ServerSideApply=true",), ApplyMethod.SERVER_SIDE_APPLY, OptionSource.OPERATION),
        (obj("ServerSideApply=true"), None, (), ApplyMethod.SERVER_SIDE_APPLY, OptionSource.TARGET),
        (
            obj("ServerSideApply=false"),
            None,
            ("ServerSideApply=true",),
            ApplyMethod.APPLY,
            OptionSource.DEFAULT,
        ),
        (
            obj("Replace=true,ServerSideApply=true"),
            obj(),
            (),
            ApplyMethod.REPLACE,
            OptionSource.TARGET,
        ),
    ],
)
def test_how_an_object_is_written(
    target: Object,
    live: Object | None,
    sync_options: tuple[str, ...],
    method: ApplyMethod,
    set_by: OptionSource,
) -> None:
    plan = write_plan(target, live, options(*sync_options))
    assert (plan.method, plan.set_by) == (method, set_by)


def test_a_dry_run_is_never_server_side() -> None:
    plan = write_plan(obj("ServerSideApply=true"), None, options(), dry_run=True)
    assert plan.method is ApplyMethod.APPLY


def test_force_and_validation_of_one_object() -> None:
    plan = write_plan(obj("Validate=false"), obj("Force=true"), options())
    assert (plan.force, plan.validate) == (True, False)


def test_fields_of_kubectl_are_taken_over_once() -> None:
    rows: list[Json] = [{"manager": "kubectl-client-side-apply", "operation": "Update"}]
    live: Object = {"metadata": {"managedFields": rows}}
    assert write_plan(obj("ServerSideApply=true"), live, options()).migrates
    assert not write_plan(
        obj("ServerSideApply=true"), live, options("ClientSideApplyMigration=false")
    ).migrates
    assert not write_plan(obj(), live, options()).migrates


@pytest.mark.parametrize(
    ("live", "sync_options", "prune", "confirmed", "fate"),
    [
        (obj(), (), False, False, PruneDecision.NOT_ASKED),
        (obj(), (), True, False, PruneDecision.PRUNED),
        (obj("Prune=false"), (), True, False, PruneDecision.FORBIDDEN),
        (obj(), ("Prune=false",), True, False, PruneDecision.FORBIDDEN),
        (obj("Prune=true"), ("Prune=false",), True, False, PruneDecision.PRUNED),
        (obj("Prune=confirm"), (), True, False, PruneDecision.UNCONFIRMED),
        (obj("Prune=confirm"), (), True, True, PruneDecision.PRUNED),
        (obj("Prune=confirm"), (), False, False, PruneDecision.UNCONFIRMED),
    ],
)
def test_what_is_pruned(
    live: Object, sync_options: tuple[str, ...], prune: bool, confirmed: bool, fate: PruneDecision
) -> None:
    assert prune_decision(live, options(*sync_options, prune=prune), confirmed=confirmed) is fate


def test_kinds_that_may_be_unknown() -> None:
    assert skips_missing_kind(obj("SkipDryRunOnMissingResource=true"), options())
    assert skips_missing_kind(obj(), options("SkipDryRunOnMissingResource=true"))
    assert not skips_missing_kind(obj(), options())


def _server_side(record: Object) -> Json:
    result = SyncOptions(dry_run=record["operation_dry_run"] is True)
    return uses_server_side_apply(fields(record["object"]), result, dry_run=record["dry_run"] is True)


def _migration(record: Object) -> Json:
    live = record["live"]
    return needs_migration(live if isinstance(live, dict) else None, text(record["manager"]))


def _required(record: Object) -> Json:
    return pruning_required(msgspec.convert(items(record["results"]), list[ResourceResult]))


_QUESTIONS: dict[str, tuple[str, Callable[[Object], Json]]] = {
    "should-server-side-apply": ("server_side_apply", _server_side),
    "needs-csa-migration": ("needs_migration", _migration),
    "pruning-required": ("pruning_required", _required),
}


@needs_shared
def test_recorded_answers_of_argocd() -> None:
    request = 0
    with (CONFORMANCE / "sync_run.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            record: Object = json.loads(line)
            strategy = fields(record.get("strategy"))
            expect = fields(record["expect"])
            if text(record["op"]) in _QUESTIONS:
                name, question = _QUESTIONS[text(record["op"])]
                assert question(record) == expect[name], record["id"]
                request += 1
            elif record["op"] == "sync-strategy":
                result = SyncOptions.of({"syncStrategy": strategy})
                assert expect in ({"force": result.force}, {"is_apply": result.skip_hooks}), record["id"]
                request += 1
    assert request == 19
