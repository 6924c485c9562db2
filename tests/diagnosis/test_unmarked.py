"""Manifests that somebody rendered by hand carry no tracking ids: that is no difference."""

from __future__ import annotations

import json

from tests.situations import application, case_of, config_map, row
from whysync.diagnosis.drift import drifts_of
from whysync.json_tree import Object, fields

ID = "argocd.argoproj.io/tracking-id"
LAST = "kubectl.kubernetes.io/last-applied-configuration"


def marked(obj: Object, mark: str) -> Object:
    meta = fields(obj["metadata"])
    annotations: Object = {**fields(meta.get("annotations")), ID: mark}
    return {**obj, "metadata": {**meta, "annotations": annotations}}


def live_config_map(value: str) -> Object:
    applied = marked(config_map(data={"a": "b"}), "shop:/ConfigMap:shop/settings")
    obj = marked(config_map(data={"a": value}), "shop:/ConfigMap:shop/settings")
    annotations = fields(fields(obj["metadata"])["annotations"])
    annotations[LAST] = json.dumps(applied)
    annotations["example.com/seen"] = "yes"
    return obj


def pointers(desired: Object, live: Object) -> list[str]:
    app = application(sync="OutOfSync", status={"resources": [row("ConfigMap", "settings", "OutOfSync")]})
    return [drift.pointer for drift in drifts_of(case_of(app, desired, live))]


def test_only_what_really_differs_is_told() -> None:
    assert pointers(config_map(desired=True), live_config_map("c")) == ["/data/a"]


def test_a_mark_that_git_carries_is_compared() -> None:
    other = marked(config_map(desired=True), "other:/ConfigMap:shop/settings")
    assert "/metadata/annotations/argocd.argoproj.io~1tracking-id" in pointers(other, live_config_map("b"))


def test_the_own_tracking_label_of_the_live_object_is_no_difference() -> None:
    live = config_map(data={"a": "c"})
    live["metadata"] = {**fields(live["metadata"]), "labels": {"app.kubernetes.io/instance": "shop"}}
    assert pointers(config_map(desired=True), live) == ["/data/a"]
