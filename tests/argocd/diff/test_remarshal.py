"""The round trip through Go types, and what is evened out after it."""

from __future__ import annotations

import pytest

from whysync.argocd.diff.normalize import normalize
from whysync.argocd.diff.remarshal import remarshal
from whysync.json_tree import Json, Object, dig
from whysync.kubernetes.schema.scalars import NotOfType, as_bytes, as_duration, as_integer, as_time


def pod(**container: Json) -> Object:
    spec: Object = {"containers": [{"name": "app", **container}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def first_container(obj: Object) -> Json:
    value = dig(obj, "spec", "containers", 0)
    assert isinstance(value, dict)
    return value


def test_amounts_become_canonical() -> None:
    limits: Object = {"cpu": 0.2, "memory": "1024Mi"}
    result = remarshal(pod(resources={"limits": limits}))
    assert dig(first_container(result), "resources", "limits") == {"cpu": "200m", "memory": "1Gi"}


def test_empty_values_disappear_and_structs_stay() -> None:
    result = remarshal(pod(env=[], args=None, tty=False, workingDir="", resources={}, securityContext={}))
    assert first_container(result) == {"name": "app", "resources": {}, "securityContext": {}}


def test_a_pointer_to_zero_is_kept() -> None:
    deployment: Object = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {"replicas": 0, "paused": False},
    }
    assert remarshal(deployment)["spec"] == {"replicas": 0}


def test_null_where_a_struct_stood_becomes_the_empty_struct() -> None:
    deployment: Object = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": None}
    assert remarshal(deployment)["spec"] == {
        "selector": None,
        "strategy": {},
        "template": {"metadata": {}, "spec": {"containers": None}},
    }


def test_a_name_in_the_wrong_case_is_read_and_lost() -> None:
    service: Object = {
        "apiVersion": "v1",
        "kind": "Service",
        "spec": {"Type": "NodePort", "clusterIP": "None"},
    }
    assert remarshal(service)["spec"] == {"clusterIP": "None"}


@pytest.mark.parametrize(
    "broken",
    [
        {"imagee": "typo"},
        {"image": 5},
        {"tty": "true"},
        {"ports": [{"containerPort": "80"}]},
        {"ports": [{"containerPort": 2**31}]},
        {"ports": {"containerPort": 80}},
        {"resources": {"limits": {"cpu": "a lot"}}},
        {"env": "A=B"},
        {"ports": [{"containerPort": True}]},
    ],
)
def test_one_field_that_does_not_fit_leaves_all_as_it_was(broken: Object) -> None:
    container: Object = {"resources": {"limits": {"memory": "1024Mi"}}}
    obj = pod(**{**container, **broken})
    assert remarshal(obj) is obj


def test_what_is_canonical_is_not_copied() -> None:
    obj = pod(image="a", resources={"limits": {"cpu": "1"}})
    assert remarshal(obj) is obj


def test_custom_resources_stay() -> None:
    obj: Object = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "spec": {"cpu": "1000m", "list": [], "no": None},
    }
    assert remarshal(obj) is obj


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("90s", "1m30s"),
        ("1h", "1h0m0s"),
        ("1.5h", "1h30m0s"),
        ("100ms", "100ms"),
        ("1500ms", "1.5s"),
        ("0", "0s"),
        ("-5m", "-5m0s"),
        ("1us", "1µs"),
        ("1h1ns", "1h0m0.000000001s"),
    ],
)
def test_durations(text: str, canonical: str) -> None:
    assert as_duration(text) == canonical


@pytest.mark.parametrize("text", ["", "5", "5 m", "1d", "99999999h", None, 5])
def test_what_is_no_duration(text: Json) -> None:
    with pytest.raises(NotOfType):
        as_duration(text)


def test_times_are_written_in_utc_and_whole_seconds() -> None:
    assert as_time("2026-01-01T02:00:00+02:00") == "2026-01-01T00:00:00Z"
    assert as_time("2026-01-01T00:00:00.999Z") == "2026-01-01T00:00:00Z"
    assert as_time("2026-01-01T00:00:00.5Z", micro=True) == "2026-01-01T00:00:00.500000Z"
    assert as_time("0001-01-01T00:00:00Z") is None
    for wrong in ("2026-13-01T00:00:00Z", "yesterday", "2026-01-01", 5):
        with pytest.raises(NotOfType):
            as_time(wrong)


def test_whole_numbers() -> None:
    assert as_integer(80.0, (0, 100)) == 80
    for wrong in (True, "80", 80.5, 101, None, 1e300):
        with pytest.raises(NotOfType):
            as_integer(wrong, (0, 100))


def test_bytes_are_base64_or_a_mark() -> None:
    assert as_bytes("YQ==") == "YQ=="
    assert as_bytes("YW\nJj") == "YWJj"
    assert as_bytes("<masked 3>") == "<masked 3>"
    for wrong in ("YQ=", "nö", "a b", 5):
        with pytest.raises(NotOfType):
            as_bytes(wrong)


def secret(**parts: Json) -> Object:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **parts}


def test_string_data_moves_into_data() -> None:
    result = normalize(
        secret(data={"a": "YQ==", "b": "Yg=="}, stringData={"b": "x", "c": 5, "d": "<masked 1>"})
    )
    assert result == secret(data={"a": "YQ==", "b": "eA==", "c": 5, "d": "<masked 1>"})


def test_null_data_becomes_empty() -> None:
    assert normalize(secret(data={"a": None, "b": "YQ=="}))["data"] == {"a": "", "b": "YQ=="}


def test_roles() -> None:
    role: Object = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "aggregationRule": {},
        "rules": [{"verbs": ["get"]}],
    }
    assert normalize(role) == role
    assert normalize(role, ignore_aggregated_roles=True)["rules"] is None
    assert normalize({**role, "rules": []})["rules"] is None
    assert (
        normalize({**role, "aggregationRule": "no"}, ignore_aggregated_roles=True)["rules"] == role["rules"]
    )


def test_endpoints_are_sorted() -> None:
    def endpoints(*ips: str, ports: list[Json]) -> Object:
        addresses: list[Json] = [{"ip": ip} for ip in ips]
        return {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "subsets": [{"addresses": addresses, "ports": ports}],
        }

    first = endpoints("10.0.0.2", "10.0.0.1", ports=[{"port": 80}, {"port": 443, "protocol": "TCP"}])
    other = endpoints("10.0.0.1", "10.0.0.2", ports=[{"port": 443}, {"port": 80, "protocol": "TCP"}])
    assert normalize(first) == normalize(other)


def test_only_the_outer_creation_timestamp_goes() -> None:
    obj: Object = {
        "kind": "Thing",
        "metadata": {"creationTimestamp": None, "uid": "1"},
        "spec": {"metadata": {"creationTimestamp": None}},
    }
    assert normalize(obj) == {
        "kind": "Thing",
        "metadata": {"uid": "1"},
        "spec": {"metadata": {"creationTimestamp": None}},
    }


def test_a_normaliser_that_fails_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: Object) -> Object:
        raise ValueError("bad rule")

    obj: Object = {"kind": "Thing", "spec": {}}
    assert normalize(obj, normalizer=fail) == obj
    assert "bad rule" in caplog.text
