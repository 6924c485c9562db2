"""Who creates an object that does not exist."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of
from whysync.json_tree import Json, Object
from whysync.queries.producers import producer_of


def thing(api_version: str, kind: str, name: str, namespace: str = "shop", **more: Json) -> Object:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        **more,
    }


def copied(annotation: str) -> Object:
    body = thing("v1", "Secret", "db", "vault")
    body["metadata"] = {"name": "db", "namespace": "vault", "annotations": {annotation: "true"}}
    return body


@pytest.mark.parametrize(
    ("source", "certain"),
    [
        (thing("external-secrets.io/v1", "ExternalSecret", "any", spec={"target": {"name": "db"}}), True),
        (thing("external-secrets.io/v1", "ExternalSecret", "db", spec={}), True),
        (thing("bitnami.com/v1alpha1", "SealedSecret", "db", spec={}), True),
        (thing("cert-manager.io/v1", "Certificate", "any", spec={"secretName": "db"}), True),
        (
            thing(
                "secrets.hashicorp.com/v1beta1",
                "VaultStaticSecret",
                "a",
                spec={"destination": {"name": "db"}},
            ),
            True,
        ),
        (copied("reflector.v1.k8s.emberstack.com/reflection-allowed"), True),
        (
            thing(
                "secrets-store.csi.x-k8s.io/v1",
                "SecretProviderClass",
                "a",
                spec={"secretObjects": [{"secretName": "db"}]},
            ),
            True,
        ),
        (
            thing(
                "isindir.github.com/v1alpha3",
                "SopsSecret",
                "a",
                spec={"secretTemplates": [{"name": "other"}, {"name": "db"}]},
            ),
            True,
        ),
        (
            thing(
                "example.com/v1",
                "Users",
                "a",
                spec={"users": [{"name": "app", "targetSecretName": "db"}]},
            ),
            True,
        ),
        (thing("postgresql.example.com/v1", "Cluster", "db", status={"phase": "Failed"}), False),
    ],
)
def test_the_source_of_a_missing_secret(source: Object, certain: bool) -> None:
    producer = producer_of(case_of(application(), source), "Secret", "shop", "db")
    assert producer is not None
    assert producer.manifest.body == source
    assert producer.certain is certain


@pytest.mark.parametrize(
    "other",
    [
        thing("external-secrets.io/v1", "ExternalSecret", "db", spec={"target": {"name": "another"}}),
        thing("cert-manager.io/v1", "Certificate", "any", "elsewhere", spec={"secretName": "db"}),
        thing("v1", "Secret", "db", "vault"),
        thing("apps/v1", "Deployment", "db", spec={}),
        thing("monitoring.example.com/v1", "Monitor", "db", spec={}),
        copied("example.com/owner"),
    ],
)
def test_what_does_not_create_it(other: Object) -> None:
    assert producer_of(case_of(application(), other), "Secret", "shop", "db") is None


@pytest.mark.parametrize(
    ("name", "is_named_after"),
    [
        ("app.orders.credentials.postgresql.example.com", True),
        ("orders.app", True),
        ("orders-app", True),
        ("app.orders.credentials.example.org", False),
        ("app.reorders.credentials.postgresql.example.com", False),
    ],
)
def test_a_name_made_from_the_custom_resource_and_its_api_group(name: str, *, is_named_after: bool) -> None:
    source = thing("postgresql.example.com/v1", "Cluster", "orders", status={"phase": "Failed"})
    producer = producer_of(case_of(application(), source), "Secret", "shop", name)
    assert (producer is not None) is is_named_after


@pytest.mark.parametrize(
    "spec",
    [
        {"secretTemplates": None},
        {"secretTemplates": {"name": "db"}},
        {"secretTemplates": ["db", 3, None]},
        {"secretTemplates": [{"name": ["db"]}]},
    ],
)
def test_a_list_of_another_form_names_nothing(spec: Object) -> None:
    source = thing("isindir.github.com/v1alpha3", "SopsSecret", "a", spec=spec)
    assert producer_of(case_of(application(), source), "Secret", "shop", "db") is None
