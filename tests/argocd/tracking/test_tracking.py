from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.tracking import without_tracking
from whysync.argocd import tracking
from whysync.argocd.tracking import TrackingId
from whysync.json_tree import MISSING, Object, copy_object, dig

METHODS = st.sampled_from([*tracking.TrackingMethod])
NAMES = st.text("abcxyz0189-", min_size=1, max_size=80)


def config_map(**metadata: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", **metadata}}


def test_a_tracking_id_says_what_it_is_about() -> None:
    role: Object = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "system:reader"},
    }
    written = str(TrackingId.of(role, app="shop", namespace="prod"))
    assert written == "shop:rbac.authorization.k8s.io/ClusterRole:prod/system:reader"
    result = TrackingId.parse(written)
    assert result is not None
    assert result.describes(role)
    assert not result.describes(config_map())


@pytest.mark.parametrize(
    "broken", ["", "shop", "shop:/ConfigMap", "shop:ConfigMap:a/b", "shop:/ConfigMap:a/b/c"]
)
def test_what_is_no_tracking_id_owns_nothing(broken: str) -> None:
    obj = tracking.with_annotation(config_map(), tracking.TRACKING_ID, broken)
    assert tracking.owner_of(obj, method="annotation") == ""


@given(method=METHODS, app=NAMES)
def test_what_is_marked_is_owned_and_unmarking_restores_it(method: str, app: str) -> None:
    obj = config_map(namespace="prod")
    before = copy_object(obj)
    try:
        marked = tracking.with_tracking(obj, app=app, method=method)
    except tracking.LabelTooLong:
        assert len(app) > 63
        return
    assert tracking.owner_of(marked, method=method) == app
    assert tracking.is_self_referenced(marked, None, app=app, method=method)
    assert without_tracking(marked, method=method) == obj == before


def test_another_installation_owns_nothing_here() -> None:
    marked = tracking.with_tracking(config_map(), app="shop", method="annotation", installation_id="blue")
    assert tracking.owner_of(marked, method="annotation", installation_id="green") == ""
    assert tracking.owner_of(marked, method="annotation", installation_id="blue") == "shop"


def test_moving_from_labels_to_annotations_is_no_difference() -> None:
    desired = tracking.with_tracking(config_map(namespace="prod"), app="shop", method="annotation")
    live = tracking.with_tracking(config_map(namespace="prod"), app="shop", method="label")
    key = tracking.INSTANCE_LABEL
    assert tracking.normalized_live(desired, live, method="annotation", label_key=key) == desired
    assert tracking.normalized_live(desired, live, method="label", label_key=key) == live


def test_the_mark_of_another_app_stays_a_difference() -> None:
    desired = tracking.with_tracking(config_map(), app="shop", method="annotation+label")
    live = tracking.with_tracking(config_map(), app="other", method="annotation+label")
    normalized = tracking.normalized_live(
        desired, live, method="annotation+label", label_key=tracking.INSTANCE_LABEL
    )
    assert normalized is not None
    assert dig(normalized, "metadata", "annotations", tracking.TRACKING_ID) == "other:/ConfigMap:/settings"


def test_a_copied_mark_does_not_make_an_object_ours() -> None:
    copied = tracking.with_annotation(
        config_map(namespace="b"), tracking.TRACKING_ID, "shop:/ConfigMap:a/settings"
    )
    assert not tracking.is_self_referenced(copied, None, app="shop", method="annotation")
    assert tracking.is_self_referenced(copied, config_map(namespace="b"), app="shop", method="annotation")
    assert tracking.is_self_referenced(copied, None, app="shop", method="label")


def test_ill_typed_labels_are_named_in_the_error() -> None:
    obj: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"x": 1}}}
    with pytest.raises(
        tracking.MalformedMetadata, match='under key "x": 1 is of the type int64, expected string'
    ):
        tracking.label_of(obj, "y")
    assert tracking.owner_of(obj, method="label") == ""


def test_the_legacy_label_also_marks_pods() -> None:
    old: Object = {
        "apiVersion": "extensions/v1beta1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"template": {"metadata": {"labels": {"app": "web"}}}},
    }
    marked = tracking.with_instance_label(old, "applications.argoproj.io/app-name", "shop")
    assert dig(marked, "spec", "template", "metadata", "labels") == {
        "app": "web",
        "applications.argoproj.io/app-name": "shop",
    }
    assert dig(marked, "spec", "selector", "matchLabels") == {"app": "web"}
    assert dig(old, "spec", "selector") is MISSING
    assert dig(old, "spec", "template", "metadata", "labels") == {"app": "web"}
