from __future__ import annotations

from tests.argocd.compare.comparing import config_map, live_config_map
from whysync.argocd.compare.live_objects import LiveIndex, in_version
from whysync.argocd.settings import Settings
from whysync.json_tree import Json, fields
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Key

KEY = Key("", "ConfigMap", "shop", "settings")
OWNED: Json = [{"kind": "ReplicaSet", "name": "web", "uid": "u"}]


def index(*objects: dict[str, Json], label: bool = False) -> LiveIndex:
    data: dict[str, Json] = {"application.resourceTrackingMethod": "label"} if label else {}
    return LiveIndex(
        [Manifest(body, role=Role.LIVE) for body in objects], Settings.from_config_maps({"data": data}, None)
    )


def test_what_is_marked_as_the_apps_is_the_apps() -> None:
    result = index(live_config_map(), live_config_map("other", owner="other")).managed("shop", [])
    assert list(result) == [KEY]


def test_what_has_an_owner_is_not_the_apps_own() -> None:
    assert index(live_config_map(ownerReferences=OWNED)).managed("shop", []) == {}


def test_a_target_finds_its_object_even_if_it_has_an_owner_or_another_apps_mark() -> None:
    for live in (live_config_map(ownerReferences=OWNED), live_config_map(owner="other")):
        assert list(index(live).managed("shop", [config_map()])) == [KEY]


def test_with_labels_the_label_counts() -> None:
    marked = live_config_map(owner="", labels={"app.kubernetes.io/instance": "shop"})
    assert list(index(marked, label=True).managed("shop", [])) == [KEY]
    assert index(marked).managed("shop", []) == {}


def test_marks_are_noticed() -> None:
    assert index(live_config_map()).has_marks
    assert not index(live_config_map(owner="")).has_marks
    assert KEY in index(live_config_map())


def test_live_is_read_in_gits_version() -> None:
    live = live_config_map()
    assert in_version(live, config_map()) is live
    assert in_version(live, {"apiVersion": "v2"})["apiVersion"] == "v2"
    assert live["apiVersion"] == "v1"


def test_a_hand_written_object_without_a_namespace_is_found_in_gits() -> None:
    live = live_config_map(owner="")
    del fields(live["metadata"])["namespace"]
    result = index(live).managed("shop", [config_map()])
    assert fields(result[KEY]["metadata"])["namespace"] == "shop"
    assert "namespace" not in fields(live["metadata"])
