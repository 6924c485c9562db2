"""What stands in for others in a world: CRDs that controllers make, refusals that are repeated, quotas."""

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


def told(crd: Object) -> tuple[str, ...]:
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


def test_a_template_makes_one_kind_and_an_xrd_two() -> None:
    assert [told(definition) for definition in definitions_of(TEMPLATE)] == [
        (
            "k8srequiredlabels.constraints.gatekeeper.sh",
            "Cluster",
            "K8sRequiredLabels",
            "v1",
            "v1beta1",
            "v1alpha1",
        )
    ]
    assert [told(definition) for definition in definitions_of(XRD)] == [
        ("xdatabases.example.com", "Cluster", "XDatabase", "v1"),
        ("databases.example.com", "Namespaced", "Database", "v1"),
    ]


def test_an_xrd_of_a_namespace_without_claims() -> None:
    spec: Object = {key: one for key, one in fields(XRD["spec"]).items() if key != "claimNames"}
    (made,) = definitions_of({**XRD, "spec": {**spec, "scope": "Namespaced"}})
    assert told(made)[:2] == ("xdatabases.example.com", "Namespaced")


@pytest.mark.parametrize("lacks", ["group", "names", "versions"])
def test_half_a_definition_makes_nothing(lacks: str) -> None:
    spec: Object = {key: one for key, one in fields(XRD["spec"]).items() if key not in (lacks, "claimNames")}
    assert list(definitions_of({**XRD, "spec": spec})) == []
    assert list(definitions_of({**TEMPLATE, "spec": {}})) == []
    assert list(definitions_of({"kind": "ConfigMap"})) == []


def started(case: Case, *others: OtherParticipant, admission: Admission | None = None) -> ApiServer:
    admission = admission or Admission()
    cluster = WorldCluster(objects=admission.objects, webhooks=admission.webhooks)
    world = World(clock=Clock(case.now), repository=GitRepositories([]), clusters=(cluster,), others=others)
    return Simulation(world).api_server


def makers(*live: Object) -> tuple[CrdCreators, ApiServer]:
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
    place = (("templates.gatekeeper.sh", "constrainttemplates"), "", ref_of(obj).name)
    model.store.put(place, obj)


@pytest.mark.parametrize("seen", [False, True])
def test_the_crd_comes_a_moment_later_and_whether_anybody_makes_it_is_a_gap(seen: bool) -> None:
    owner: Object = {"apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "name": "x"}
    older: Object = {
        **CRD_OF_TEMPLATES,
        "metadata": {"name": "k8sold.constraints.gatekeeper.sh", "ownerReferences": [owner]},
    }
    found, model = makers(*([older] if seen else []))
    assert found.next_wakeup() is None
    written(model, TEMPLATE)
    assert not found.reconcile()
    due = found.next_wakeup()
    assert due is not None
    assert due == model.clock.now + timedelta(seconds=3)
    assert crds(model) == []
    model.clock.turn_to(due)
    assert found.reconcile()
    assert crds(model) == ["k8srequiredlabels.constraints.gatekeeper.sh"]
    assert found.gaps == ([] if seen else ["whether Gatekeeper runs, which creates the CRD"])
    assert found.next_wakeup() is None


def test_crossplane_makes_both_kinds_of_an_xrd() -> None:
    found, model = makers()
    place = (("apiextensions.crossplane.io", "compositeresourcedefinitions"), "", ref_of(XRD).name)
    model.store.put(place, XRD)
    found.reconcile()
    due = found.next_wakeup()
    assert due is not None
    model.clock.turn_to(due)
    assert found.reconcile()
    assert sorted(crds(model)) == ["databases.example.com", "xdatabases.example.com"]
    assert set(found.gaps) == {"whether Crossplane runs, which creates the CRD"}


def test_one_that_is_gone_by_then_makes_nothing() -> None:
    found, model = makers()
    written(model, TEMPLATE)
    found.reconcile()
    model.store.drop((("templates.gatekeeper.sh", "constrainttemplates"), "", "k8srequiredlabels"))
    due = found.next_wakeup()
    assert due is not None
    model.clock.turn_to(due)
    assert not found.reconcile()
    assert (crds(model), found.gaps) == ([], [])


def test_a_kind_of_that_name_in_another_group_makes_nothing() -> None:
    found, model = makers()
    written(model, {**TEMPLATE, "apiVersion": "example.com/v1"})
    found.reconcile()
    assert found.next_wakeup() is None


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
    return case_of(bundle(), app, in_git(SERVICE), *(there(one) for one in more))


def refusals(case: Case) -> tuple[Refusals, ApiServer]:
    refusals = Refusals(case)
    return refusals, started(case, admission=refusals.admission)


def asked(model: ApiServer, obj: Object) -> str:
    """The answer of the API server's stand-in; empty where it is granted."""
    for verify in model.webhooks.values():
        try:
            verify(obj)
        except Refused as problem:
            return problem.message
    return ""


def test_the_same_wish_is_refused_again_and_another_is_granted() -> None:
    _, model = refusals(refused_case())
    ports: list[Json] = [
        {"name": "a", "port": 80, "protocol": "TCP"},
        {"name": "b", "port": 81, "protocol": "TCP"},
    ]
    filled: Object = {**SERVICE, "spec": {"clusterIP": "10.0.0.1", "ports": ports}}
    assert asked(model, SERVICE) == EXCEEDED
    assert asked(model, filled) == EXCEEDED, "defaults do not make it another wish"
    fewer: Object = {**SERVICE, "spec": {"ports": [{"name": "a", "port": 80}]}}
    other: Object = {**SERVICE, "spec": {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 82}]}}
    elsewhere: Object = {**SERVICE, "metadata": {"name": "web", "namespace": "another"}}
    assert [asked(model, one) for one in (fewer, other, elsewhere)] == ["", "", ""]


def test_what_kubectl_put_before_the_words_is_not_said_twice() -> None:
    denied = 'admission webhook "policy.example.com" denied the request: no ports below 1024'
    case = refused_case(message=f'error when patching "/dev/shm/1": {denied}')
    assert asked(refusals(case)[1], SERVICE) == denied


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


def test_each_is_refused_in_its_own_words() -> None:
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
    found, model = refusals(case_of(bundle(), app, in_git(SERVICE), in_git(other)))
    assert [type(one.failure).__name__ for one in found.all] == ["QuotaExceeded", "AdmissionDenied"]
    assert (asked(model, SERVICE), asked(model, other)) == (EXCEEDED, denied)


def test_what_is_lifted_is_granted_and_counted() -> None:
    found, model = refusals(refused_case())
    assert found.lift(lambda one: not isinstance(one.failure, QuotaExceeded)) == 0
    assert asked(model, SERVICE) == EXCEEDED
    assert found.lift(lambda one: one.ref.name == "web") == 1
    assert (asked(model, SERVICE), found.all) == ("", ())


def raised(
    hard: str, *, message: str = EXCEEDED, namespace: str = "shop"
) -> tuple[Quotas, Refusals, ApiServer]:
    case = refused_case(quota("2"), message=message)
    found = Refusals(case)
    quotas = Quotas(case, found)
    objects = (*found.admission.objects, quota("2"), quota("2", "another"))
    model = started(case, quotas, admission=Admission(objects=objects, webhooks=found.admission.webhooks))
    assert not quotas.reconcile(), "nobody has written one yet"
    assert asked(model, SERVICE) == message
    for place, obj in list(model.store.within(("", "resourcequotas"))):
        if place[1] == namespace:
            model.store.put(place, {**obj, "spec": {"hard": {"services": hard}}})
    return quotas, found, model


def test_a_raised_quota_grants_what_it_refused() -> None:
    quotas, found, model = raised("3")
    assert quotas.reconcile()
    allowed = [
        dig(obj, "status", "hard", "services")
        for obj in model.objects()
        if obj["kind"] == "ResourceQuota" and ref_of(obj).namespace == "shop"
    ]
    assert allowed == ["3"]
    assert (asked(model, SERVICE), found.all) == ("", ())
    assert not quotas.reconcile(), "once"
    assert quotas.next_wakeup() is None


def test_one_that_is_raised_too_little_or_elsewhere_does_not() -> None:
    for quotas, found, model in (raised("2"), raised("9", namespace="another")):
        quotas.reconcile()
        assert asked(model, SERVICE) == EXCEEDED
        assert len(found.all) == 1


def test_a_quota_does_not_lift_what_a_policy_denies() -> None:
    denied = 'admission webhook "policy.example.com" denied the request: no'
    quotas, found, model = raised("9", message=denied)
    quotas.reconcile()
    assert asked(model, SERVICE) == denied
    assert len(found.all) == 1
