"""Simulated behavior of other programs: CRDs that controllers create, repeated refusals and quotas."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.proofs.worlds import bundle, in_git, synced, there
from tests.situations import case_of, row
from whysync.argocd.repo_server.repository import GitRepositories
from whysync.argocd.simulation.simulation import Simulation
from whysync.argocd.simulation.world import OtherParticipant, World, WorldCluster
from whysync.diagnosis.case import Case
from whysync.json_tree import Json, Object, dig, fields, text
from whysync.kubernetes.api.ref import ref_of
from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.apiserver.status_errors import Refused
from whysync.kubernetes.clock import Clock
from whysync.messages.patterns.apply import QuotaExceeded
from whysync.proofs.admission import Admission, Quotas, Refusals
from whysync.proofs.operators import CrdCreators, definitions_of

# --- CRDs ----------------------------------------------------------------------------------------

TEMPLATE: Object = {
    "apiVersion": "templates.gatekeeper.sh/v1",
    "kind": "ConstraintTemplate",
    "metadata": {"name": "k8srequiredlabels"},
    "spec": {"crd": {"spec": {"names": {"kind": "K8sRequiredLabels"}}}},
}
XRD: Object = {
    "apiVersion": "apiextensions.crossplane.io/v1",
    "kind": "CompositeResourceDefinition",
    "metadata": {"name": "xdatabases.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "XDatabase", "plural": "xdatabases"},
        "claimNames": {"kind": "Database", "plural": "databases"},
        "versions": [{"name": "v1", "served": True}, {"name": "v1alpha1", "served": False}],
    },
}


def summary_of(crd: Object) -> tuple[str, ...]:
    spec = fields(crd["spec"])
    versions = spec["versions"]
    assert isinstance(versions, list)
    stored = [dig(version, "name") for version in versions if dig(version, "storage") is True]
    assert len(stored) == 1, "just one version is kept"
    kind = text(dig(spec, "names", "kind"))
    return (
        ref_of(crd).name,
        text(spec["scope"]),
        kind,
        *(text(dig(version, "name")) for version in versions),
    )


def test_a_constraint_template_creates_one_crd_and_an_xrd_two() -> None:
    assert [summary_of(definition) for definition in definitions_of(TEMPLATE)] == [
        (
            "k8srequiredlabels.constraints.gatekeeper.sh",
            "Cluster",
            "K8sRequiredLabels",
            "v1",
            "v1beta1",
            "v1alpha1",
        )
    ]
    assert [summary_of(definition) for definition in definitions_of(XRD)] == [
        ("xdatabases.example.com", "Cluster", "XDatabase", "v1"),
        ("databases.example.com", "Namespaced", "Database", "v1"),
    ]


def test_a_namespaced_xrd_without_claims_creates_one_crd() -> None:
    spec: Object = {key: value for key, value in fields(XRD["spec"]).items() if key != "claimNames"}
    (crd,) = definitions_of({**XRD, "spec": {**spec, "scope": "Namespaced"}})
    assert summary_of(crd)[:2] == ("xdatabases.example.com", "Namespaced")


@pytest.mark.parametrize("lacks", ["group", "names", "versions"])
def test_an_incomplete_definition_creates_no_crd(lacks: str) -> None:
    spec: Object = {
        key: value for key, value in fields(XRD["spec"]).items() if key not in (lacks, "claimNames")
    }
    assert list(definitions_of({**XRD, "spec": spec})) == []
    assert list(definitions_of({**TEMPLATE, "spec": {}})) == []
    assert list(definitions_of({"kind": "ConfigMap"})) == []


def started(case: Case, *others: OtherParticipant, admission: Admission | None = None) -> ApiServer:
    admission = admission or Admission()
    cluster = WorldCluster(objects=admission.objects, webhooks=admission.webhooks)
    world = World(clock=Clock(case.now), repository=GitRepositories([]), clusters=(cluster,), others=others)
    return Simulation(world).api_server


def crd_creators(*live: Object) -> tuple[CrdCreators, ApiServer]:
    case = case_of(bundle(), synced(), *live)
    creators = CrdCreators(case)
    return creators, started(case, creators)


def crds(model: ApiServer) -> list[str]:
    return [ref_of(obj).name for obj in model.objects() if obj["kind"] == "CustomResourceDefinition"]


CRD_OF_TEMPLATES: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "constrainttemplates.templates.gatekeeper.sh"},
    "spec": {
        "group": "templates.gatekeeper.sh",
        "scope": "Cluster",
        "names": {
            "kind": "ConstraintTemplate",
            "plural": "constrainttemplates",
            "singular": "constrainttemplate",
            "listKind": "ConstraintTemplateList",
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
            }
        ],
    },
}


def written(model: ApiServer, obj: Object) -> None:
    object_key = (("templates.gatekeeper.sh", "constrainttemplates"), "", ref_of(obj).name)
    model.store.put(object_key, obj)


@pytest.mark.parametrize("observed", [False, True])
def test_the_crd_is_created_later_and_whether_its_controller_runs_is_a_gap(observed: bool) -> None:
    owner: Object = {"apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "name": "x"}
    older: Object = {
        **CRD_OF_TEMPLATES,
        "metadata": {"name": "k8sold.constraints.gatekeeper.sh", "ownerReferences": [owner]},
    }
    creators, model = crd_creators(*([older] if observed else []))
    assert creators.next_wakeup() is None
    written(model, TEMPLATE)
    assert not creators.reconcile()
    due = creators.next_wakeup()
    assert due is not None
    assert due == model.clock.now + timedelta(seconds=3)
    assert crds(model) == []
    model.clock.turn_to(due)
    assert creators.reconcile()
    assert crds(model) == ["k8srequiredlabels.constraints.gatekeeper.sh"]
    assert creators.gaps == ([] if observed else ["whether Gatekeeper runs, which creates the CRD"])
    assert creators.next_wakeup() is None


def test_crossplane_creates_both_crds_of_an_xrd() -> None:
    creators, model = crd_creators()
    object_key = (("apiextensions.crossplane.io", "compositeresourcedefinitions"), "", ref_of(XRD).name)
    model.store.put(object_key, XRD)
    creators.reconcile()
    due = creators.next_wakeup()
    assert due is not None
    model.clock.turn_to(due)
    assert creators.reconcile()
    assert sorted(crds(model)) == ["databases.example.com", "xdatabases.example.com"]
    assert set(creators.gaps) == {"whether Crossplane runs, which creates the CRD"}


def test_a_template_that_was_deleted_in_between_creates_no_crd() -> None:
    creators, model = crd_creators()
    written(model, TEMPLATE)
    creators.reconcile()
    model.store.drop((("templates.gatekeeper.sh", "constrainttemplates"), "", "k8srequiredlabels"))
    due = creators.next_wakeup()
    assert due is not None
    model.clock.turn_to(due)
    assert not creators.reconcile()
    assert (crds(model), creators.gaps) == ([], [])


def test_a_kind_of_that_name_in_another_group_creates_no_crd() -> None:
    creators, model = crd_creators()
    written(model, {**TEMPLATE, "apiVersion": "example.com/v1"})
    creators.reconcile()
    assert creators.next_wakeup() is None


# --- refusals and quotas -------------------------------------------------------------------------

SERVICE: Object = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]},
}
EXCEEDED = (
    'services "web" is forbidden: exceeded quota: team, requested: services=1, '
    "used: services=2, limited: services=2"
)


def quota(hard: str, namespace: str = "shop") -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "team", "namespace": namespace},
        "spec": {"hard": {"services": hard}},
        "status": {"hard": {"services": hard}, "used": {"services": "2"}},
    }


def refused_case(
    *more: Object, message: str = EXCEEDED, status: str = "SyncFailed", phase: str = "Failed"
) -> Case:
    result: Object = {**row("Service", "web", status), "message": message, "hookPhase": phase}
    app = synced(
        row("Service", "web", "OutOfSync"),
        sync="OutOfSync",
        operationState={"phase": "Failed", "syncResult": {"resources": [result]}},
    )
    return case_of(bundle(), app, in_git(SERVICE), *(there(obj) for obj in more))


def refusals(case: Case) -> tuple[Refusals, ApiServer]:
    refusals = Refusals(case)
    return refusals, started(case, admission=refusals.admission)


def error_of_create(model: ApiServer, obj: Object) -> str:
    """The answer of the API server's stand-in; empty where it is granted."""
    for verify in model.webhooks.values():
        try:
            verify(obj)
        except Refused as problem:
            return problem.message
    return ""


def test_the_same_spec_is_refused_again_and_another_is_accepted() -> None:
    _, model = refusals(refused_case())
    ports: list[Json] = [
        {"name": "a", "port": 80, "protocol": "TCP"},
        {"name": "b", "port": 81, "protocol": "TCP"},
    ]
    filled: Object = {**SERVICE, "spec": {"clusterIP": "10.0.0.1", "ports": ports}}
    assert error_of_create(model, SERVICE) == EXCEEDED
    assert error_of_create(model, filled) == EXCEEDED, "defaulted fields do not make it another spec"
    fewer: Object = {**SERVICE, "spec": {"ports": [{"name": "a", "port": 80}]}}
    other: Object = {**SERVICE, "spec": {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 82}]}}
    elsewhere: Object = {**SERVICE, "metadata": {"name": "web", "namespace": "another"}}
    assert [error_of_create(model, service) for service in (fewer, other, elsewhere)] == ["", "", ""]


def test_what_kubectl_put_before_the_words_is_not_said_twice() -> None:
    denied = 'admission webhook "policy.example.com" denied the request: no ports below 1024'
    case = refused_case(message=f'error when patching "/dev/shm/1": {denied}')
    assert error_of_create(refusals(case)[1], SERVICE) == denied


def test_only_what_failed_is_refused_again() -> None:
    assert refusals(refused_case(status="Synced", phase="Succeeded"))[0].all == ()
    assert len(refusals(refused_case(status="Synced", phase="Error"))[0].all) == 1, "a hook"
    assert refusals(refused_case(quota("3")))[0].all == (), "there is room by now"
    assert len(refusals(refused_case(quota("2"), quota("3", "another")))[0].all) == 1


def test_words_that_nobody_understands_are_not_repeated() -> None:
    assert refusals(refused_case(message="it did not work"))[0].all == ()


def test_the_model_asks_before_it_writes() -> None:
    _, model = refusals(refused_case())
    model.load([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}])
    path = "/api/v1/namespaces/shop/services"
    answer = model.send(Request(verb="create", path=path, body=SERVICE, manager="argocd"))
    assert (answer.ok, answer.code) == (False, 403)
    other: Object = {**SERVICE, "metadata": {"name": "other", "namespace": "shop"}}
    assert model.send(Request(verb="create", path=path, body=other, manager="argocd")).ok


def test_each_object_is_refused_with_its_own_message() -> None:
    denied = 'admission webhook "policy.example.com" denied the request: no'
    other: Object = {**SERVICE, "metadata": {"name": "other", "namespace": "shop"}}
    results: list[Json] = [
        {**row("Service", name, "SyncFailed"), "message": message, "hookPhase": "Failed"}
        for name, message in (("web", EXCEEDED), ("other", denied))
    ]
    app = synced(
        row("Service", "web", "OutOfSync"),
        row("Service", "other", "OutOfSync"),
        sync="OutOfSync",
        operationState={"phase": "Failed", "syncResult": {"resources": results}},
    )
    refused, model = refusals(case_of(bundle(), app, in_git(SERVICE), in_git(other)))
    assert [type(refusal.failure).__name__ for refusal in refused.all] == ["QuotaExceeded", "AdmissionDenied"]
    assert (error_of_create(model, SERVICE), error_of_create(model, other)) == (EXCEEDED, denied)


def test_a_lifted_refusal_is_accepted_and_counted() -> None:
    refused, model = refusals(refused_case())
    assert refused.lift(lambda refusal: not isinstance(refusal.failure, QuotaExceeded)) == 0
    assert error_of_create(model, SERVICE) == EXCEEDED
    assert refused.lift(lambda refusal: refusal.ref.name == "web") == 1
    assert (error_of_create(model, SERVICE), refused.all) == ("", ())


def raised(
    hard: str, *, message: str = EXCEEDED, namespace: str = "shop"
) -> tuple[Quotas, Refusals, ApiServer]:
    case = refused_case(quota("2"), message=message)
    refused = Refusals(case)
    quotas = Quotas(case, refused)
    objects = (*refused.admission.objects, quota("2"), quota("2", "another"))
    model = started(case, quotas, admission=Admission(objects=objects, webhooks=refused.admission.webhooks))
    assert not quotas.reconcile(), "no quota has been written yet"
    assert error_of_create(model, SERVICE) == message
    for object_key, obj in list(model.store.within(("", "resourcequotas"))):
        if object_key[1] == namespace:
            model.store.put(object_key, {**obj, "spec": {"hard": {"services": hard}}})
    return quotas, refused, model


def test_a_raised_quota_accepts_what_it_refused() -> None:
    quotas, refused, model = raised("3")
    assert quotas.reconcile()
    allowed = [
        dig(obj, "status", "hard", "services")
        for obj in model.objects()
        if obj["kind"] == "ResourceQuota" and ref_of(obj).namespace == "shop"
    ]
    assert allowed == ["3"]
    assert (error_of_create(model, SERVICE), refused.all) == ("", ())
    assert not quotas.reconcile(), "once"
    assert quotas.next_wakeup() is None


def test_a_quota_raised_too_little_or_in_another_namespace_still_refuses() -> None:
    for quotas, refused, model in (raised("2"), raised("9", namespace="another")):
        quotas.reconcile()
        assert error_of_create(model, SERVICE) == EXCEEDED
        assert len(refused.all) == 1


def test_a_quota_does_not_lift_what_a_policy_denies() -> None:
    denied = 'admission webhook "policy.example.com" denied the request: no'
    quotas, refused, model = raised("9", message=denied)
    quotas.reconcile()
    assert error_of_create(model, SERVICE) == denied
    assert len(refused.all) == 1
