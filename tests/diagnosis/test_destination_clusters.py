"""Objects of one name on several clusters: an app is judged by those of its own."""

from __future__ import annotations

from whysync.argocd.api.application import Application
from whysync.diagnosis.case import Case
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Object
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Key

LEVEL = Key(group="", kind="ConfigMap", namespace="shop", name="level")


def level(value: str, cluster: str, namespace: str = "shop") -> Manifest:
    body: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "level", "namespace": namespace},
        "data": {"level": value},
    }
    return Manifest(body, role=Role.LIVE, cluster=cluster)


def case_for(destination: Object, *live: Manifest) -> Case:
    body: Object = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "shop", "namespace": "argocd"},
        "spec": {"destination": {**destination, "namespace": "shop"}},
    }
    settings: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm", "namespace": "argocd"},
    }
    manifest = Manifest(body, role=Role.APPLICATION)
    snapshot = Snapshot(
        applications=(manifest,), live=live, settings=(Manifest(settings, role=Role.SETTINGS),)
    )
    app, _ = decode(body, Application)
    assert app is not None
    return Case(SnapshotIndex(snapshot), manifest, app)


def level_in_sight(case: Case) -> object:
    live = case.live_of(LEVEL)
    return None if live is None else live.body["data"]


def test_the_object_of_its_own_cluster_counts() -> None:
    stage, prod = level("debug", "stage"), level("info", "prod")
    assert level_in_sight(case_for({"name": "prod"}, stage, prod)) == {"level": "info"}
    assert level_in_sight(case_for({"name": "stage"}, stage, prod)) == {"level": "debug"}


def test_a_cluster_that_was_not_read_has_nothing() -> None:
    assert level_in_sight(case_for({"name": "test"}, level("debug", "stage"), level("info", "prod"))) is None


def test_one_cluster_needs_no_name() -> None:
    assert level_in_sight(case_for({"server": "https://10.0.0.1"}, level("info", ""))) == {"level": "info"}


def test_objects_of_argocd_are_visible_from_every_cluster() -> None:
    own = level("argocd", "in-cluster", namespace="argocd")
    case = case_for({"name": "prod"}, own, level("info", "prod"))
    assert [config.ref.namespace for config in case.live_of_kind("ConfigMap")] == ["argocd", "shop"]
