"""What schemas know, which annotations controllers write, and which API versions are gone."""

from __future__ import annotations

import pytest

from whysync.diagnosis.drift.mechanism import is_instant, is_written_by_cloud
from whysync.diagnosis.drift.schemas import builtin_has_field, is_field_of_argocd
from whysync.kubernetes.api.ref import Ref
from whysync.queries.removed_apis import removal_of

DEPLOYMENT = Ref(group="apps", version="v1", kind="Deployment", name="shop")


@pytest.mark.parametrize(
    ("pointer", "known"),
    [
        ("/spec/replicas", True),
        ("/spec/replica", False),
        ("/spec/template/spec/containers/0/image", True),
        ("/spec/template/spec/containers/0/imagePolicy", False),
        ("/metadata/annotations/anything~1goes", True),
        ("/spec/template/spec/nodeSelector/disk", True),
        ("", True),
    ],
)
def test_built_in_kinds_know_their_fields(pointer: str, *, known: bool) -> None:
    assert builtin_has_field(DEPLOYMENT, pointer) is known


@pytest.mark.parametrize(
    ("kind", "pointer", "known"),
    [
        ("Application", "/spec/syncPolicy/retry/backoff/maxDuration", True),
        ("Application", "/spec/syncPolicy/automatic", False),
        ("Application", "/spec/sources/0/kustomize/namePrefix", True),
        ("Application", "/spec/destination/path", False),
        ("Application", "/spec/source/helm/valuesObject/any/thing", True),
        ("Application", "/metadata/labels/path", False),
        ("Application", "/operation/sync/revision", True),
        ("ApplicationSet", "/spec/template/spec/source/path", True),
        ("AppProject", "/spec/syncWindows/0/schedule", True),
        ("AppProject", "/spec/syncWindows/0/timezone", False),
        ("Rollout", "/spec/replicas", False),
    ],
)
def test_argocds_own_kinds_know_their_fields(kind: str, pointer: str, *, known: bool) -> None:
    ref = Ref(group="argoproj.io", version="v1alpha1", kind=kind, name="shop")
    assert is_field_of_argocd(ref, pointer) is known


def test_nothing_is_known_of_custom_kinds() -> None:
    assert (
        builtin_has_field(Ref(group="example.com", version="v1", kind="Widget", name="w"), "/spec/a") is None
    )


@pytest.mark.parametrize(
    ("api_version", "kind", "release"),
    [
        ("policy/v1beta1", "PodDisruptionBudget", "1.25"),
        ("extensions/v1beta1", "Ingress", "1.22"),
        ("apps/v1beta2", "StatefulSet", "1.16"),
        ("apps/v1", "Deployment", None),
        ("example.com/v1beta1", "Widget", None),
    ],
)
def test_removed_versions(api_version: str, kind: str, release: str | None) -> None:
    assert removal_of(api_version, kind) == release


@pytest.mark.parametrize(
    ("annotation", "written"),
    [
        ("ingress.kubernetes.io/backends", True),
        ("cloud.google.com/neg-status", True),
        ("cloud.google.com/neg", False),
        ("alb.ingress.kubernetes.io/scheme", False),
        ("service.beta.kubernetes.io/aws-load-balancer-type", False),
    ],
)
def test_notes_of_controllers_are_told_from_settings(annotation: str, *, written: bool) -> None:
    assert is_written_by_cloud(annotation) is written


@pytest.mark.parametrize(
    ("annotation", "value", "instant"),
    [
        ("example.com/refreshed-at", "2026-03-02T03:00:00Z", True),
        ("example.com/lastUpdated", "1772420400", True),
        ("example.com/restart-trigger", "1772420400", False),
        ("example.com/updated", "yes", False),
        ("example.com/updated", None, False),
    ],
)
def test_an_instant_has_a_telling_name_and_value(annotation: str, value: object, *, instant: bool) -> None:
    assert is_instant(annotation, value) is instant
