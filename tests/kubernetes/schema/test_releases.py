"""Which release has what; each line below is from the release notes of Kubernetes, not from our table."""

from __future__ import annotations

from pathlib import Path

import pytest

import whysync.kubernetes.schema as package
from whysync.kubernetes.schema import kinds, type_named, type_of
from whysync.kubernetes.schema.releases import (
    BASE,
    NEWEST,
    OLDEST,
    fields_in,
    release_of,
    span_at,
    span_of_field,
    span_of_kind,
    type_in,
    versions_in,
)
from whysync.queries.removed_apis import removal_of

FIELDS = [
    ("core/v1.PodSpec", "schedulingGates", 26),
    ("apps/v1.StatefulSetSpec", "ordinals", 26),
    ("core/v1.Container", "resizePolicy", 27),
    ("core/v1.Container", "restartPolicy", 28),
    ("batch/v1.JobSpec", "backoffLimitPerIndex", 28),
    ("core/v1.PersistentVolumeClaimSpec", "volumeAttributesClassName", 29),
    ("core/v1.LifecycleHandler", "sleep", 29),
    ("core/v1.PodAffinityTerm", "matchLabelKeys", 29),
    ("core/v1.ServiceSpec", "trafficDistribution", 30),
    ("core/v1.SecurityContext", "appArmorProfile", 30),
    ("core/v1.VolumeMount", "recursiveReadOnly", 30),
    ("batch/v1.JobSpec", "successPolicy", 30),
    ("core/v1.PodSecurityContext", "supplementalGroupsPolicy", 31),
    ("core/v1.Volume", "image", 31),
    ("core/v1.PodSpec", "resources", 32),
    ("core/v1.Lifecycle", "stopSignal", 33),
    ("core/v1.PodSpec", "hostnameOverride", 34),
    ("core/v1.EnvVarSource", "fileKeyRef", 34),
]
KINDS = [
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", 30),
    ("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", 29),
    ("networking.k8s.io/v1", "ServiceCIDR", 33),
    ("resource.k8s.io/v1", "ResourceClaim", 34),
    ("storage.k8s.io/v1", "VolumeAttributesClass", 34),
]
OLD = [
    ("core/v1.PodSpec", "containers"),
    ("core/v1.VolumeResourceRequirements", "requests"),
    ("networking/v1.IngressLoadBalancerIngress", "hostname"),
    ("meta/v1.ObjectMeta", "labels"),
]


@pytest.mark.parametrize(("struct", "field", "since"), FIELDS)
def test_a_field_exists_since_its_release(struct: str, field: str, since: int) -> None:
    known = type_named(struct).struct
    releases = [release for release in range(OLDEST, NEWEST + 1) if field in fields_in(known, release)]
    assert releases == list(range(since, NEWEST + 1))
    assert span_of_field(known, field) == (since, NEWEST)


@pytest.mark.parametrize(("api_version", "kind", "since"), KINDS)
def test_a_kind_exists_since_its_release(api_version: str, kind: str, since: int) -> None:
    releases = [
        release for release in range(OLDEST, NEWEST + 1) if type_in(api_version, kind, release) is not None
    ]
    assert releases == list(range(since, NEWEST + 1))
    assert span_of_kind(api_version, kind) == (since, NEWEST)


@pytest.mark.parametrize(("struct", "field"), OLD)
def test_a_type_that_got_another_name_did_not_change_what_may_be_said(struct: str, field: str) -> None:
    known = type_named(struct).struct
    assert all(field in fields_in(known, release) for release in range(OLDEST, NEWEST + 1))
    assert span_of_field(known, field) == (OLDEST, NEWEST)


def test_what_only_another_release_has_comes_with_its_type() -> None:
    claim = fields_in(type_named("core/v1.PodResourceClaim").struct, 30)["source"].type
    assert claim.kind == "struct"
    assert fields_in(claim.struct, 30)["resourceClaimName"].kind == "string"
    autoscaler = type_in("autoscaling/v2beta2", "HorizontalPodAutoscaler", 25)
    assert autoscaler is not None
    spec = fields_in(autoscaler.struct, 25)["spec"].type.struct
    assert fields_in(spec, 25)["maxReplicas"].type.bounds == (-(2**31), 2**31 - 1)
    assert fields_in(spec, 25)["metrics"].type.of.kind == "struct"


def test_the_release_of_the_tables_is_the_tables() -> None:
    for api_version, names in kinds().items():
        for kind in names:
            known = type_of(api_version, kind)
            assert known is not None
            assert fields_in(known.struct, BASE) is known.struct.fields


def test_both_tables_of_removed_kinds_say_the_same() -> None:
    checked = 0
    for api_version, names in kinds().items():
        for kind in names:
            removed, span = removal_of(api_version, kind), span_of_kind(api_version, kind)
            known = type_of(api_version, kind)
            if removed is None or kind.endswith("List") or (known and "metadata" not in known.struct.fields):
                continue
            assert span is not None
            assert span.last == max(int(removed.removeprefix("1.")), OLDEST) - 1, (api_version, kind)
            checked += 1
    assert checked > 20


def test_versions_of_a_kind_in_a_release() -> None:
    assert versions_in("resource.k8s.io", "ResourceClaim", 27) == ["resource.k8s.io/v1alpha2"]
    assert versions_in("apps", "Deployment", 30) == ["apps/v1"]
    assert versions_in("", "Pod", 30) == ["v1"]
    assert versions_in("example.com", "Widget", 30) == []


@pytest.mark.parametrize(
    ("written", "release"),
    [
        ("1.31", 31),
        ("v1.31.2", 31),
        ("v1.33.1-eks-12345", 33),
        ("1.20", OLDEST),
        ("1.99", NEWEST),
        ("1.99999", None),
        ("", None),
        ("latest", None),
        ("2.1", None),
        ("1.", None),
    ],
)
def test_versions_as_people_and_servers_write_them(written: str, release: int | None) -> None:
    assert release_of(written) == release


def test_the_table_is_small() -> None:
    data = Path(package.__file__).with_name("data") / "releases.json"
    assert data.stat().st_size < 150_000


def test_the_span_of_a_field_by_its_path() -> None:
    template = ("spec", "template", "spec")
    assert span_at("apps/v1", "Deployment", (*template, "hostnameOverride")) == (34, NEWEST)
    assert span_at("apps/v1", "Deployment", (*template, "containers", "0", "restartPolicy")) == (28, NEWEST)
    assert span_at("v1", "Pod", ("spec", "resourceClaims", "0", "source")) == (26, 30)
    assert span_at("v1", "Pod", ("spec", "resourceClaims", "0", "source", "resourceClaimName")) is not None
    assert span_at("v1", "ConfigMap", ("data",)) == (OLDEST, NEWEST)
    assert span_at("v1", "ConfigMap", ("data", "a")) is None
    assert span_at("v1", "Pod", ("spec", "nowhere", "at", "all")) is None
    assert span_at("example.com/v1", "Widget", ("spec",)) is None
    assert span_at("v1", "Pod", ()) is None


def test_what_nobody_knows_has_no_span() -> None:
    assert span_of_kind("example.com/v1", "Widget") is None
    assert span_of_field(type_named("core/v1.PodSpec").struct, "containerz") is None
