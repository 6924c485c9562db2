"""From an object that is not ready to the last one that reports why."""

from __future__ import annotations

from tests.situations import application, case_of
from whysync.diagnosis.case import Case
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.ref import Ref
from whysync.queries.reason_chain import chain_evidence, last_reason, reason_chain


def thing(
    api_version: str, kind: str, name: str, *, owner: tuple[str, str] | None = None, **more: Json
) -> Object:
    meta: Object = {"name": name, "namespace": "shop"}
    if owner is not None:
        meta["ownerReferences"] = [{"apiVersion": "v1", "kind": owner[0], "name": owner[1], "uid": "1"}]
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **more}


def not_ready(message: str) -> Object:
    return {"conditions": [{"type": "Ready", "status": "False", "message": message}]}


def walked(case: Case, group: str, kind: str, name: str) -> tuple[list[str], str]:
    chain = reason_chain(case, Ref(group=group, version="v1", kind=kind, namespace="shop", name=name))
    reason = last_reason(chain)
    assert len(chain_evidence(chain)) == sum(link.reason is not None for link in chain)
    return [link.ref.kind for link in chain], reason.text if reason is not None else ""


def test_owner_references_lead_down_past_an_object_that_reports_nothing() -> None:
    case = case_of(
        application(),
        thing("cert-manager.io/v1", "Certificate", "tls", status=not_ready("issuing")),
        thing(
            "cert-manager.io/v1",
            "CertificateRequest",
            "tls-1",
            owner=("Certificate", "tls"),
            status=not_ready("waiting for the order"),
        ),
        thing(
            "acme.cert-manager.io/v1",
            "Order",
            "tls-1-9",
            owner=("CertificateRequest", "tls-1"),
            status={"state": "pending"},
        ),
        thing(
            "acme.cert-manager.io/v1",
            "Challenge",
            "tls-1-9-3",
            owner=("Order", "tls-1-9"),
            status={"state": "pending", "reason": "DNS record not yet propagated"},
        ),
    )
    kinds, reason = walked(case, "cert-manager.io", "Certificate", "tls")
    assert kinds == ["Certificate", "CertificateRequest", "Order", "Challenge"]
    assert reason == "DNS record not yet propagated"


def test_a_reference_in_the_spec_is_followed() -> None:
    case = case_of(
        application(),
        thing(
            "external-secrets.io/v1",
            "ExternalSecret",
            "db",
            spec={"secretStoreRef": {"kind": "SecretStore", "name": "vault"}},
            status=not_ready("could not get secret data from provider"),
        ),
        thing(
            "external-secrets.io/v1",
            "SecretStore",
            "vault",
            status=not_ready("invalid role for this account"),
        ),
    )
    kinds, reason = walked(case, "external-secrets.io", "ExternalSecret", "db")
    assert kinds == ["ExternalSecret", "SecretStore"]
    assert reason == "invalid role for this account"


def test_children_that_are_ready_are_not_the_reason() -> None:
    case = case_of(
        application(),
        thing("example.com/v1", "Widget", "blue", status=not_ready("no quorum")),
        thing(
            "example.com/v1",
            "Part",
            "one",
            owner=("Widget", "blue"),
            status={"phase": "Running", "message": "fine"},
        ),
    )
    assert walked(case, "example.com", "Widget", "blue") == (["Widget"], "no quorum")


def test_a_missing_secret_leads_to_what_creates_it() -> None:
    spec: Object = {"containers": [{"name": "a", "envFrom": [{"secretRef": {"name": "db"}}]}]}
    case = case_of(
        application(),
        thing("v1", "Pod", "worker", spec=spec, status={"phase": "Pending"}),
        thing("v1", "Secret", "another"),
        thing(
            "cert-manager.io/v1",
            "Certificate",
            "tls",
            spec={"secretName": "db"},
            status=not_ready("issuer not found"),
        ),
    )
    assert walked(case, "", "Pod", "worker") == (["Pod", "Certificate"], "issuer not found")


def test_an_api_service_leads_to_the_pods_behind_it() -> None:
    case = case_of(
        application(),
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": "v1beta1.metrics.k8s.io"},
            "spec": {"service": {"namespace": "shop", "name": "metrics"}},
            "status": {"conditions": [{"type": "Available", "status": "False", "message": "no endpoints"}]},
        },
        thing("v1", "Service", "metrics", spec={"selector": {"app": "metrics"}}),
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "metrics-1", "namespace": "shop", "labels": {"app": "metrics"}},
            "status": {"phase": "Failed", "reason": "Evicted", "message": "low on memory"},
        },
    )
    chain = reason_chain(
        case,
        Ref(group="apiregistration.k8s.io", version="v1", kind="APIService", name="v1beta1.metrics.k8s.io"),
    )
    assert [link.ref.kind for link in chain] == ["APIService", "Pod"]
    reason = last_reason(chain)
    assert reason is not None
    assert reason.text == "Evicted: low on memory"


def test_a_claim_leads_to_its_volume_and_the_attachment() -> None:
    case = case_of(
        application(),
        thing(
            "v1", "PersistentVolumeClaim", "data", spec={"volumeName": "pv-1"}, status={"phase": "Pending"}
        ),
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "pv-1"},
            "status": {"phase": "Failed", "message": "disk not found"},
        },
    )
    assert walked(case, "", "PersistentVolumeClaim", "data") == (
        ["PersistentVolumeClaim", "PersistentVolume"],
        "disk not found",
    )


def test_a_child_application_leads_to_its_resources() -> None:
    child = application(
        "child",
        health="Degraded",
        status={
            "resources": [
                {
                    "group": "example.com",
                    "version": "v1",
                    "kind": "Widget",
                    "namespace": "shop",
                    "name": "blue",
                    "health": {"status": "Degraded"},
                }
            ]
        },
    )
    case = case_of(
        application("parent"),
        child,
        thing("example.com/v1", "Widget", "blue", status=not_ready("no license")),
    )
    chain = reason_chain(
        case,
        Ref(group="argoproj.io", version="v1alpha1", kind="Application", namespace="argocd", name="child"),
    )
    assert [link.ref.kind for link in chain] == ["Application", "Widget"]


def test_objects_that_own_each_other_do_not_hang_the_walk() -> None:
    case = case_of(
        application(),
        thing("example.com/v1", "Widget", "a", owner=("Widget", "b"), status=not_ready("one")),
        thing("example.com/v1", "Widget", "b", owner=("Widget", "a"), status=not_ready("another")),
    )
    assert walked(case, "example.com", "Widget", "a")[0] == ["Widget", "Widget"]


def test_a_reference_without_a_kind_is_named_after_its_field() -> None:
    case = case_of(
        application(),
        thing(
            "s3.aws.example.com/v1",
            "Bucket",
            "logs",
            spec={"providerConfigRef": {"name": "prod"}},
            status=not_ready("failed"),
        ),
        thing("gcp.other.com/v1", "ProviderConfig", "prod", status=not_ready("no key: it expired")),
        thing("aws.example.com/v1", "ProviderConfig", "prod", status=not_ready("no credentials: not found")),
    )
    kinds, reason = walked(case, "s3.aws.example.com", "Bucket", "logs")
    assert kinds == ["Bucket", "ProviderConfig"]
    assert reason == "no credentials: not found"


def test_of_two_possible_targets_none_is_chosen() -> None:
    case = case_of(
        application(),
        thing("a.com/v1", "Thing", "x", spec={"configRef": "prod"}, status=not_ready("failed")),
        thing("b.com/v1", "Config", "prod", status=not_ready("b: failed")),
        thing("c.com/v1", "Config", "prod", status=not_ready("c: failed")),
    )
    assert walked(case, "a.com", "Thing", "x") == (["Thing"], "failed")


def test_lists_of_references_and_names_alone_are_followed() -> None:
    case = case_of(
        application(),
        thing(
            "a.com/v1",
            "Route",
            "r",
            spec={"parentRefs": [3, None, {"kind": "Gateway", "name": "g"}], "authRef": "none"},
            status=not_ready("failed"),
        ),
        thing("b.com/v1", "Gateway", "g", status=not_ready("listener: port 80 is taken")),
    )
    kinds, reason = walked(case, "a.com", "Route", "r")
    assert (kinds, reason) == (["Route", "Gateway"], "listener: port 80 is taken")


def test_a_secret_that_a_custom_resource_names_leads_to_what_creates_it() -> None:
    case = case_of(
        application(),
        thing(
            "gateway.networking.k8s.io/v1",
            "Gateway",
            "public",
            spec={"listeners": [{"tls": {"certificateRefs": [{"kind": "Secret", "name": "tls"}]}}]},
            status=not_ready("listeners are not valid"),
        ),
        thing("v1", "Secret", "another"),
        thing(
            "cert-manager.io/v1",
            "Certificate",
            "web",
            spec={"secretName": "tls"},
            status=not_ready("issuer ca does not exist"),
        ),
    )
    kinds, reason = walked(case, "gateway.networking.k8s.io", "Gateway", "public")
    assert (kinds, reason) == (["Gateway", "Certificate"], "issuer ca does not exist")


def _with_password(status: Object) -> Case:
    """The facts contain no Secret at all: nobody has read them."""
    return case_of(
        application(),
        thing(
            "db.example.com/v1",
            "Database",
            "main",
            spec={"auth": {"passwordSecret": {"name": "main-admin", "key": "password"}}},
            status=not_ready("cannot read the credentials"),
        ),
        thing(
            "external-secrets.io/v1",
            "ExternalSecret",
            "admin",
            spec={"target": {"name": "main-admin"}},
            status=status,
        ),
    )


def test_a_secret_that_was_not_read_leads_to_what_fails_to_create_it() -> None:
    kinds, reason = walked(_with_password(not_ready("no access")), "db.example.com", "Database", "main")
    assert (kinds, reason) == (["Database", "ExternalSecret"], "no access")


def test_a_secret_that_was_created_is_not_the_reason() -> None:
    ready: Object = {"conditions": [{"type": "Ready", "status": "True"}]}
    kinds, reason = walked(_with_password(ready), "db.example.com", "Database", "main")
    assert (kinds, reason) == (["Database"], "cannot read the credentials")


def test_a_budget_leads_to_the_pods_that_it_counts() -> None:
    counted = thing("v1", "Pod", "web-1", status=not_ready("web-1 cannot start"))
    counted["metadata"] = {"name": "web-1", "namespace": "shop", "labels": {"app": "web"}}
    other = thing("v1", "Pod", "other-1", status=not_ready("other-1 cannot start"))
    budget = thing(
        "policy/v1", "PodDisruptionBudget", "web", spec={"selector": {"matchLabels": {"app": "web"}}}
    )
    case = case_of(application(), budget, counted, other)
    kinds, reason = walked(case, "policy", "PodDisruptionBudget", "web")
    assert (kinds, reason) == (["PodDisruptionBudget", "Pod"], "web-1 cannot start")


def test_an_error_that_wraps_another_says_more_than_a_summary() -> None:
    failed = not_ready("the autoscaler of this object could not be created")
    event: Object = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "shop"},
        "type": "Warning",
        "reason": "ScalerFailed",
        "message": "parsing metadata: no host",
        "involvedObject": {"apiVersion": "a.com/v1", "kind": "Scaler", "name": "s", "namespace": "shop"},
    }
    case = case_of(application(), thing("a.com/v1", "Scaler", "s", status=failed), event)
    assert walked(case, "a.com", "Scaler", "s") == (["Scaler"], "parsing metadata: no host")
