"""From the facts of a bundle to a comparison: what is found, and what is honestly not there."""

from __future__ import annotations

import base64
import io
import json

import pytest

from tests.situations import application, row
from whysync.argocd.api.application import SyncCode
from whysync.argocd.compare.comparison import Comparison
from whysync.diagnosis.case import Case
from whysync.diagnosis.comparison import NotCompared, is_not_provided
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.facts.bundle import read_bundle
from whysync.json_tree import Json, Object, fields

MARK = "argocd.argoproj.io/tracking-id"


def config_map(
    name: str = "settings", *, desired: bool = False, marked: bool = False, value: str = "b", **meta: Json
) -> Object:
    annotations: Object = {MARK: f"shop:/ConfigMap:shop/{name}"} if marked else {}
    if desired:
        annotations["whysync.dev/role"] = "desired"
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "shop", "annotations": annotations, **meta},
        "data": {"a": value},
    }


def case_with(*objects: Object, app: Object | None = None) -> Case:
    every: list[Json] = [app or application(), *objects]
    snapshot = read_bundle(["-"], stdin=io.BytesIO(json.dumps({"kind": "List", "items": every}).encode()))
    world = SnapshotIndex(snapshot)
    manifest, decoded = world.decoded[0]
    return Case(world, manifest, decoded)


def comparison(*objects: Object, app: Object | None = None) -> Comparison:
    result = case_with(*objects, app=app).comparison
    assert isinstance(result, Comparison)
    return result


def test_without_rendered_manifests_there_is_nothing_to_compare() -> None:
    result = case_with(config_map()).comparison
    assert isinstance(result, NotCompared)
    assert "no rendered manifests" in result.problem
    assert "desired/shop/" in result.next


def test_without_live_objects_there_is_nothing_to_compare() -> None:
    result = case_with(config_map(desired=True)).comparison
    assert isinstance(result, NotCompared)
    assert "no live objects" in result.problem


def test_facts_without_any_marks_are_compared_as_they_are() -> None:
    result = comparison(config_map(desired=True), config_map())
    assert (result.sync, result.conditions) == (SyncCode.SYNCED, ())


def test_manifests_rendered_by_hand_get_the_marks_that_live_objects_have() -> None:
    result = comparison(config_map(desired=True), config_map(marked=True))
    assert result.sync is SyncCode.SYNCED


def test_manifests_that_argo_cd_rendered_require_their_tracking_id() -> None:
    result = comparison(config_map(desired=True, marked=True), config_map())
    assert result.sync is SyncCode.OUT_OF_SYNC


def test_an_extra_object_is_known_by_its_mark() -> None:
    result = comparison(config_map(desired=True), config_map(marked=True), config_map("old", marked=True))
    assert [resource.ref.name for resource in result.resources if resource.target is None] == ["old"]


def test_an_extra_object_without_a_mark_is_known_by_its_row() -> None:
    rows: Json = [row("ConfigMap", "old", "OutOfSync", requiresPruning=True)]
    app = application(status={"resources": rows})
    case = case_with(config_map(desired=True), config_map(), config_map("old"), app=app)
    assert isinstance(case.comparison, Comparison)
    extra = next(resource for resource in case.comparison.resources if resource.target is None)
    assert not is_not_provided(case, extra)


def test_what_argo_cd_calls_synced_and_the_facts_lack_is_unseen() -> None:
    rows: Json = [
        row("ConfigMap", "settings"),
        row("ConfigMap", "other"),
        row("ConfigMap", "gone", "OutOfSync"),
    ]
    case = case_with(
        config_map(desired=True),
        config_map(),
        config_map("other"),
        config_map("gone", desired=True),
        config_map("hidden", desired=True),
        app=application(status={"resources": [*rows, row("ConfigMap", "hidden")]}),
    )
    assert isinstance(case.comparison, Comparison)
    lacking = {resource.ref.name: is_not_provided(case, resource) for resource in case.comparison.resources}
    assert lacking == {"settings": False, "other": True, "gone": False, "hidden": True}


def test_settings_and_project_are_found() -> None:
    settings: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm", "namespace": "argocd"},
        "data": {"resource.customizations.ignoreDifferences.ConfigMap": "jsonPointers: [/data/a]\n"},
    }
    project: Object = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": "default", "namespace": "argocd"},
        "spec": {
            "destinations": [{"server": "*", "namespace": "*"}],
            "namespaceResourceBlacklist": [{"group": "", "kind": "Service"}],
        },
    }
    service: Object = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "shop"}}
    desired: Object = {
        **service,
        "metadata": {**fields(service["metadata"]), "annotations": {"whysync.dev/role": "desired"}},
    }
    result = comparison(settings, project, config_map(desired=True), config_map(value="x"), desired, service)
    assert {resource.ref.kind: resource.sync for resource in result.resources} == {
        "ConfigMap": SyncCode.SYNCED,
        "Service": SyncCode.UNKNOWN,
    }


def cluster(name: str, server: str) -> Object:
    data: Object = {
        key: base64.b64encode(value.encode()).decode() for key, value in (("name", name), ("server", server))
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": f"cluster-{name}",
            "namespace": "argocd",
            "labels": {"argocd.argoproj.io/secret-type": "cluster"},
        },
        "data": data,
    }


@pytest.mark.parametrize("broken", ["%%%", "/w=="])
def test_a_cluster_is_known_by_its_secret(broken: str) -> None:
    odd = cluster("odd", "https://odd")
    fields(odd["data"])["server"] = broken
    app = application(spec={"destination": {"name": "prod", "namespace": "shop"}})
    result = comparison(
        cluster("prod", "https://10.0.0.1"), odd, config_map(desired=True), config_map(), app=app
    )
    assert result.inputs.cluster is not None
    assert result.inputs.cluster.server == "https://10.0.0.1"


def test_an_app_in_another_namespace_is_known_by_both_names() -> None:
    app = application(
        namespace="team", status={"controllerNamespace": "argocd", "sync": {"status": "Synced"}}
    )
    mine: Object = {MARK: "team_shop:/ConfigMap:shop/settings"}
    live = config_map()
    live["metadata"] = {**fields(live["metadata"]), "annotations": mine}
    result = comparison(config_map(desired=True), live, app=app)
    assert (result.sync, result.conditions) == (SyncCode.SYNCED, ())


def widget(ports: list[Json], *, desired: bool = False) -> Object:
    annotations: Object = {"argocd.argoproj.io/sync-options": "ServerSideApply=true"}
    if desired:
        annotations["whysync.dev/role"] = "desired"
    return {
        "apiVersion": "x.io/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "shop", "annotations": annotations},
        "spec": {"ports": ports},
    }


def definition() -> Object:
    item: Object = {"type": "object", "properties": {"name": {"type": "string"}, "port": {"type": "integer"}}}
    ports: Object = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    spec: Object = {"type": "object", "properties": {"ports": ports}}
    schema: Object = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.x.io"},
        "spec": {
            "group": "x.io",
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def test_a_crd_in_the_facts_defines_how_lists_merge() -> None:
    first: Json = {"name": "one", "port": 1}
    second: Json = {"name": "other", "port": 2}
    facts = (widget([first], desired=True), widget([second, first]))
    assert comparison(*facts).sync is SyncCode.OUT_OF_SYNC
    assert comparison(*facts, definition()).sync is SyncCode.SYNCED
