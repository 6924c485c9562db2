"""Manifests that somebody rendered by hand carry no tracking ids: that is no difference."""

from __future__ import annotations

import json

import pytest

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


def pointers(desired: Object, live: Object, *others: Object) -> list[str]:
    app = application(sync="OutOfSync", status={"resources": [row("ConfigMap", "settings", "OutOfSync")]})
    return [drift.pointer for drift in drifts_of(case_of(app, desired, live, *others))]


def argocd_cm(**data: str) -> Object:
    settings: Object = {f"application.{name}": value for name, value in data.items()}
    meta: Object = {"name": "argocd-cm", "namespace": "argocd"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": settings}


def test_only_what_really_differs_is_told() -> None:
    assert pointers(config_map(desired=True), live_config_map("c")) == ["/data/a"]


def test_a_mark_that_git_carries_is_compared() -> None:
    other = marked(config_map(desired=True), "other:/ConfigMap:shop/settings")
    assert "/metadata/annotations/argocd.argoproj.io~1tracking-id" in pointers(other, live_config_map("b"))


def test_the_own_tracking_label_of_the_live_object_is_no_difference() -> None:
    live = config_map(data={"a": "c"})
    live["metadata"] = {**fields(live["metadata"]), "labels": {"app.kubernetes.io/instance": "shop"}}
    assert pointers(config_map(desired=True), live) == ["/data/a"]


def labeled(label: str, value: str = "shop") -> Object:
    """With a last-applied annotation, so that a label which Git lacks is a difference."""
    live = config_map(data={"a": "c"})
    meta: Object = {**fields(live["metadata"]), "labels": {label: value}}
    applied = json.dumps({**live, "metadata": meta, "data": {"a": "b"}})
    return {**live, "metadata": {**meta, "annotations": {LAST: applied}}}


@pytest.mark.parametrize(
    ("settings", "label", "is_mark"),
    [
        ((), "app.kubernetes.io/instance", True),
        ((argocd_cm(),), "app.kubernetes.io/instance", True),
        ((argocd_cm(resourceTrackingMethod="label"),), "app.kubernetes.io/instance", True),
        ((argocd_cm(resourceTrackingMethod="annotation"),), "app.kubernetes.io/instance", True),
        ((argocd_cm(instanceLabelKey="argocd.argoproj.io/instance"),), "argocd.argoproj.io/instance", True),
        ((argocd_cm(instanceLabelKey="argocd.argoproj.io/instance"),), "app.kubernetes.io/instance", False),
    ],
)
def test_the_label_of_argocds_settings_is_no_difference(
    settings: tuple[Object, ...], label: str, *, is_mark: bool
) -> None:
    shown = pointers(config_map(desired=True), labeled(label), *settings)
    other = [] if is_mark else [f"/metadata/labels/{label.replace('/', '~1')}"]
    assert shown == ["/data/a", *other]


def test_a_tracking_label_of_another_app_is_a_difference() -> None:
    by_label = argocd_cm(resourceTrackingMethod="label")
    shown = pointers(config_map(desired=True), labeled("app.kubernetes.io/instance", "other"), by_label)
    assert "/metadata/labels/app.kubernetes.io~1instance" in shown
