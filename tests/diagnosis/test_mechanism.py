"""By which mechanism a field differs: decided once, in one order. Each mechanism, and its near misses."""

from __future__ import annotations

import json

import msgspec
import pytest

from tests.situations import REVISION, application, case_of, row
from whysync.diagnosis.case import Case
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.drift.mechanism import Mechanism, has_unsynced_revision, mechanism_of
from whysync.json_tree import Json, Object, fields

DEPLOYMENT: Object = {"apiVersion": "apps/v1", "kind": "Deployment"}
WIDGET: Object = {"apiVersion": "example.com/v1", "kind": "Widget"}
CONFIG: Object = {"apiVersion": "v1", "kind": "ConfigMap"}
OLD = "0000000000000000000000000000000000000000"


def written_by(manager: str, *path: str, operation: str = "Update", subresource: str = "") -> Object:
    claim: Object = {}
    for segment in reversed(path):
        claim = {f"f:{segment}": claim}
    entry: Object = {
        "manager": manager,
        "operation": operation,
        "time": "2026-03-02T03:00:00Z",
        "fieldsV1": claim,
    }
    if subresource:
        entry["subresource"] = subresource
    return entry


def differing(
    type: Object,
    desired_fields: Object,
    live: Object,
    *others: Object,
    writer: Object | None = None,
    annotations: Object | None = None,
    synced: str = REVISION,
    spec: Object | None = None,
    source: str = "",
    operation: Object | None = None,
) -> Case:
    """An app with one resource with this desired and live state."""
    desired: Object = {
        **type,
        "metadata": {"name": "web", "namespace": "shop", "annotations": {"whysync.dev/role": "desired"}},
        **desired_fields,
    }
    meta: Object = {"name": "web", "namespace": "shop"}
    if writer is not None:
        meta["managedFields"] = [writer]
    if annotations is not None:
        meta["annotations"] = annotations
    at = row(str(type["kind"]), "web", "OutOfSync")
    at["group"] = str(type["apiVersion"]).rpartition("/")[0]
    status: Object = {"resources": [at], "history": [{"revision": synced}]}
    if source:
        status["sourceType"] = source
    if operation is not None:
        status["operationState"] = operation
    app = application(sync="OutOfSync", status=status, spec=spec)
    return case_of(app, desired, {**type, "metadata": meta, **live}, *others)


def mechanisms_of(case: Case) -> dict[str, Mechanism]:
    return {drift.pointer: mechanism_of(case, drift) for drift in case.drifts}


HPA: Object = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}},
}


def replicas(desired_fields: int, live: int, *others: Object, writer: Object | None = None) -> Case:
    return differing(
        DEPLOYMENT,
        {"spec": {"replicas": desired_fields}},
        {"spec": {"replicas": live}},
        *others,
        writer=writer,
    )


def test_an_autoscalers_number() -> None:
    assert mechanisms_of(replicas(1, 3, HPA)) == {"/spec/replicas": Mechanism.AUTOSCALED}


@pytest.mark.parametrize(
    ("manager", "mechanism"),
    [
        ("kubectl-edit", Mechanism.BY_HAND),
        ("kubectl-client-side-apply", Mechanism.BY_HAND),
        ("kubectl-patch", Mechanism.BY_HAND),
        ("helm", Mechanism.BY_OTHER_TOOL),
        ("Terraform", Mechanism.BY_OTHER_TOOL),
        ("kube-controller-manager", Mechanism.BY_CONTROLLER),
    ],
)
def test_the_writer_of_the_live_value_decides(manager: str, mechanism: Mechanism) -> None:
    case = replicas(1, 3, writer=written_by(manager, "spec", "replicas"))
    assert mechanisms_of(case) == {"/spec/replicas": mechanism}


def test_the_autoscaler_comes_before_the_writer() -> None:
    """A person who scales what an autoscaler scales is not the cause."""
    case = replicas(1, 3, HPA, writer=written_by("kubectl-edit", "spec", "replicas"))
    assert mechanisms_of(case) == {"/spec/replicas": Mechanism.AUTOSCALED}


def test_an_autoscaler_of_something_else_says_nothing() -> None:
    other: Object = {**HPA, "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "other"}}}
    assert mechanisms_of(replicas(1, 3, other)) == {"/spec/replicas": Mechanism.SCALED}


def test_git_has_moved_on_by_the_revisions() -> None:
    case = differing(CONFIG, {"data": {"a": "new"}}, {"data": {"a": "old"}}, synced=OLD)
    assert has_unsynced_revision(case)
    assert mechanisms_of(case) == {"/data/a": Mechanism.NOT_SYNCED_YET}


def test_git_has_moved_on_by_the_last_applied_annotation() -> None:
    applied: Json = {"data": {"a": "old"}}
    last: Object = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(applied)}
    case = differing(CONFIG, {"data": {"a": "new"}}, {"data": {"a": "old"}}, annotations=last)
    assert mechanisms_of(case) == {"/data/a": Mechanism.NOT_SYNCED_YET}


def test_a_person_who_wrote_it_is_the_cause_even_when_git_moved_on() -> None:
    case = differing(
        CONFIG,
        {"data": {"a": "new"}},
        {"data": {"a": "by hand"}},
        writer=written_by("kubectl-edit", "data", "a"),
        synced=OLD,
    )
    assert mechanisms_of(case) == {"/data/a": Mechanism.BY_HAND}


def test_a_broken_last_applied_annotation_says_nothing() -> None:
    last: Object = {"kubectl.kubernetes.io/last-applied-configuration": "{broken"}
    case = differing(CONFIG, {"data": {"a": "new"}}, {"data": {"a": "old"}}, annotations=last)
    assert mechanisms_of(case) == {"/data/a": Mechanism.UNKNOWN}


def test_status_in_git() -> None:
    case = differing(WIDGET, {"status": {"ready": True}}, {"status": {"ready": False}})
    assert set(mechanisms_of(case).values()) <= {Mechanism.SERVER_SET_IN_GIT}


def test_the_equivalent_value() -> None:
    case = differing(WIDGET, {"spec": {"cpu": "1000m"}}, {"spec": {"cpu": "1"}})
    assert mechanisms_of(case) == {"/spec/cpu": Mechanism.SAME_VALUE}


def test_a_sidecar_that_a_webhook_put_in() -> None:
    mine: Json = {"name": "web", "image": "web:1"}
    theirs: Json = {"name": "istio-proxy", "image": "proxy:1"}

    def pod(*containers: Json) -> Object:
        return {"spec": {"template": {"spec": {"containers": list(containers)}}}}

    case = differing(DEPLOYMENT, pod(mine), pod(mine, theirs))
    assert set(mechanisms_of(case).values()) == {Mechanism.INJECTED}


def test_an_image_pinned_by_its_digest() -> None:
    def pod(image: str) -> Object:
        return {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": image}]}}}}

    case = differing(DEPLOYMENT, pod("web:1"), pod("web:1@sha256:0123456789abcdef"))
    assert set(mechanisms_of(case).values()) == {Mechanism.INJECTED}
    case = differing(DEPLOYMENT, pod("web:1"), pod("web:2"))
    assert set(mechanisms_of(case).values()) == {Mechanism.UNKNOWN}


def test_a_default_of_a_custom_resource() -> None:
    case = differing(WIDGET, {"spec": {"size": 1}}, {"spec": {"size": 1, "policy": "Retain"}})
    assert mechanisms_of(case) == {"/spec/policy": Mechanism.CRD_DEFAULT}


def test_a_field_that_the_cluster_does_not_keep() -> None:
    case = differing(WIDGET, {"spec": {"size": 1, "typo": "x"}}, {"spec": {"size": 1}})
    assert mechanisms_of(case) == {"/spec/typo": Mechanism.DROPPED}


def test_an_element_that_the_cluster_lost_is_no_spelling_and_no_dropped_field() -> None:
    steps: list[Json] = [{"setWeight": 20}, {"pause": {}}]
    case = differing(WIDGET, {"spec": {"steps": steps}}, {"spec": {"steps": steps[:1]}})
    assert mechanisms_of(case) == {"/spec/steps/1": Mechanism.UNKNOWN}
    empty = differing(WIDGET, {"spec": {"pause": {}, "a": 1}}, {"spec": {"a": 1}})
    assert mechanisms_of(empty) == {"/spec/pause": Mechanism.SAME_VALUE}


def test_an_entry_of_a_map_is_kept_even_when_it_is_empty() -> None:
    case = differing(CONFIG, {"data": {"flags": "", "mode": "x"}}, {"data": {"mode": "x"}})
    assert mechanisms_of(case) == {"/data/flags": Mechanism.UNKNOWN}


def test_a_finalizer_is_put_on_by_who_will_clean_up() -> None:
    desired: Object = {"name": "web", "namespace": "shop", "finalizers": ["example.com/a"]}
    desired["annotations"] = {"whysync.dev/role": "desired"}
    live: Object = {**desired, "annotations": {}, "finalizers": ["example.com/a", "example.com/b"]}
    case = differing(WIDGET, {"metadata": desired}, {"metadata": live})
    assert mechanisms_of(case) == {"/metadata/finalizers/1": Mechanism.BY_CONTROLLER}


def test_rules_that_a_program_adds_to_its_own_webhook() -> None:
    kind: Object = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}

    def hook(*rules: Json) -> Object:
        return {"webhooks": [{"name": "widgets.example.com", "rules": list(rules)}]}

    first: Object = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["widgets"]}
    second: Object = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["gadgets"]}
    more = mechanisms_of(differing(kind, hook(first), hook(second, first)))
    assert set(more.values()) == {Mechanism.BY_CONTROLLER}
    changed = mechanisms_of(differing(kind, hook(first), hook(second)))
    assert set(changed.values()) == {Mechanism.UNKNOWN}


def test_a_generated_password() -> None:
    secret: Object = {"apiVersion": "v1", "kind": "Secret"}
    case = differing(secret, {"data": {"password": "YQ=="}}, {"data": {"password": "Yg=="}})
    assert set(mechanisms_of(case).values()) == {Mechanism.GENERATED}


def test_what_nothing_tells_stays_untold() -> None:
    case = differing(CONFIG, {"data": {"a": "x"}}, {"data": {"a": "y"}})
    assert mechanisms_of(case) == {"/data/a": Mechanism.UNKNOWN}
    assert case.drifts_by(Mechanism.UNKNOWN) == case.drifts
    assert case.drifts_by(Mechanism.BY_HAND) == ()


def test_every_drift_has_exactly_one_mechanism() -> None:
    case = differing(
        DEPLOYMENT,
        {"spec": {"replicas": 1, "paused": True, "minReadySeconds": 5}},
        {"spec": {"replicas": 3, "paused": False, "minReadySeconds": 7}},
        HPA,
        writer=written_by("kubectl-edit", "spec", "paused"),
    )
    by_mechanism = [drift for mechanism in Mechanism for drift in case.drifts_by(mechanism)]
    assert sorted(d.pointer for d in by_mechanism) == sorted(d.pointer for d in case.drifts)


def test_built_in_kinds_are_known() -> None:
    case = replicas(1, 3)
    assert is_builtin(case.drifts[0].ref)
    widget = differing(WIDGET, {"spec": {"a": 1}}, {"spec": {"a": 2}})
    assert not is_builtin(widget.drifts[0].ref)


def test_secret_values_never_reach_a_drift() -> None:
    secret: Object = {"apiVersion": "v1", "kind": "Secret"}
    case = differing(secret, {"stringData": {"password": "hunter2"}}, {"data": {"password": "aHVudGVyMw=="}})
    shown = repr([(drift.desired_value, drift.live_value) for drift in case.drifts])
    assert "hunter2" not in shown
    assert "aHVudGVyMw" not in shown
    assert "hunter2" not in repr([fields(desired_object.body) for desired_object in case.desired])


def pod_with(**container: Json) -> Object:
    return {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "web:1", **container}]}}}}


@pytest.mark.parametrize(
    ("desired_fields", "live", "mechanism"),
    [
        (pod_with(readinessProbe={"timeoutSeconds": 0}), pod_with(readinessProbe={"timeoutSeconds": 1}),
         Mechanism.API_DEFAULT),
        (pod_with(readinessProbe={"timeoutSeconds": 0}), pod_with(readinessProbe={"timeoutSeconds": 7}),
         Mechanism.UNKNOWN),
        ({"spec": {"revisionHistoryLimit": 0}}, {"spec": {"revisionHistoryLimit": 10}}, Mechanism.UNKNOWN),
    ],
)  # fmt: skip
def test_a_zero_value_counts_as_unset_where_go_has_no_pointer(
    desired_fields: Object, live: Object, mechanism: Mechanism
) -> None:
    assert set(mechanisms_of(differing(DEPLOYMENT, desired_fields, live)).values()) == {mechanism}


def test_a_known_default_comes_before_a_deduction_from_absent_managed_fields() -> None:
    kind: Object = {"apiVersion": "apps/v1", "kind": "StatefulSet"}
    claim: Json = {"metadata": {"name": "data"}}
    filled: Json = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
    case = differing(
        kind,
        {"spec": {"volumeClaimTemplates": [claim]}},
        {"spec": {"volumeClaimTemplates": [filled]}},
        spec={"syncPolicy": {"syncOptions": ["ServerSideApply=true"]}},
    )
    assert set(mechanisms_of(case).values()) == {Mechanism.API_DEFAULT}


@pytest.mark.parametrize(
    ("manager", "operation", "mechanism"),
    [
        ("kubectl-client-side-apply", "Update", Mechanism.LEFT_OVER),
        ("kubectl", "Apply", Mechanism.LEFT_OVER),
        ("argocd-controller", "Update", Mechanism.LEFT_OVER),
        ("argocd-controller", "Apply", Mechanism.KEPT),
        ("kubectl-edit", "Update", Mechanism.BY_HAND),
        ("argocd-server", "Update", Mechanism.BY_HAND),
    ],
)
def test_a_field_that_only_the_cluster_has_under_server_side_apply(
    manager: str, operation: str, mechanism: Mechanism
) -> None:
    case = differing(
        DEPLOYMENT,
        {"spec": {"minReadySeconds": 5}},
        {"spec": {"minReadySeconds": 5, "progressDeadlineSeconds": 60}},
        writer=written_by(manager, "spec", "progressDeadlineSeconds", operation=operation),
        spec={"syncPolicy": {"syncOptions": ["ServerSideApply=true"]}},
    )
    assert mechanisms_of(case) == {"/spec/progressDeadlineSeconds": mechanism}


def test_of_two_managers_at_the_same_time_the_other_one_wrote_a_value_that_is_not_gits() -> None:
    case = replicas(1, 3)
    live = case.drifts[0].live
    both: list[Json] = [
        written_by(name, "spec", "replicas") for name in ("argocd-controller", "argocd-server")
    ]
    body: Object = {**live.body, "metadata": {**live.meta, "managedFields": both}}
    drift = msgspec.structs.replace(case.drifts[0], live=live.with_body(body))
    assert drift.writer is not None
    assert drift.writer.manager == "argocd-server"
    assert mechanism_of(case, drift) is Mechanism.BY_HAND


def test_with_self_heal_a_program_changed_it() -> None:
    case = differing(
        DEPLOYMENT,
        {"spec": {"minReadySeconds": 5}},
        {"spec": {"minReadySeconds": 9}},
        spec={"syncPolicy": {"automated": {"selfHeal": True}}},
        operation={"phase": "Succeeded"},
    )
    assert mechanisms_of(case) == {"/spec/minReadySeconds": Mechanism.CONTESTED}


def test_content_of_plain_files_is_not_generated() -> None:
    secret: Object = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque"}
    sides: tuple[Object, Object] = ({"data": {"password": "YQ=="}}, {"data": {"password": "Yg=="}})
    assert mechanisms_of(differing(secret, *sides, source="Helm")) == {"/data/password": Mechanism.GENERATED}
    assert mechanisms_of(differing(secret, *sides, source="Directory")) == {
        "/data/password": Mechanism.UNKNOWN
    }


def test_argocds_mask_is_no_value() -> None:
    """Argo CD masks a Secret with plus signs: equal masks hide equal values."""
    secret: Object = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque"}
    case = differing(secret, {"stringData": {"a": "++++++++"}}, {"data": {"a": "++++++++"}})
    assert set(mechanisms_of(case).values()) == {Mechanism.ENCODING}


API_SERVICE: Object = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}
BUCKET: Object = {"apiVersion": "s3.aws.example.org/v1", "kind": "Bucket"}
CRD: Object = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}


def _pod(container: Object) -> Object:
    return {"spec": {"template": {"spec": {"containers": [{"name": "web", **container}]}}}}


def _schema(schema: Object) -> Object:
    return {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}}


@pytest.mark.parametrize(
    ("type", "desired_fields", "live", "mechanism"),
    [
        (
            API_SERVICE,
            {"spec": {"group": "a", "insecureSkipTLSVerify": True}},
            {"spec": {"group": "a", "caBundle": "QUJD"}},
            Mechanism.BY_CONTROLLER,
        ),
        (
            BUCKET,
            {"spec": {"forProvider": {"region": "eu"}}},
            {"spec": {"forProvider": {"region": "eu", "tags": {"a": "b"}}}},
            Mechanism.BY_CONTROLLER,
        ),
        (
            DEPLOYMENT,
            _pod({}),
            _pod({"env": [{"name": "STAKATER_WEB_CONFIGMAP", "value": "8843d7f92416"}]}),
            Mechanism.BY_CONTROLLER,
        ),
        (
            CRD,
            {"spec": {"conversion": {"strategy": "None"}}},
            {"spec": {"conversion": {"strategy": "Webhook"}}},
            Mechanism.BY_CONTROLLER,
        ),
        (
            CRD,
            _schema({"type": "object", "x-kubernetes-validations": [{"rule": "true"}]}),
            _schema({"type": "object"}),
            Mechanism.DROPPED,
        ),
        (
            DEPLOYMENT,
            {"spec": {"template": {"spec": {"resources": {"limits": {"cpu": "1"}}}}}},
            {"spec": {"template": {"spec": {}}}},
            Mechanism.DROPPED,
        ),
    ],
)
def test_who_writes_a_field_of_this_kind(
    type: Object, desired_fields: Object, live: Object, mechanism: Mechanism
) -> None:
    assert set(mechanisms_of(differing(type, desired_fields, live)).values()) == {mechanism}


def test_a_switch_without_a_ca_was_changed_by_someone() -> None:
    case = differing(API_SERVICE, {"spec": {"insecureSkipTLSVerify": True}}, {"spec": {}})
    assert Mechanism.BY_CONTROLLER not in mechanisms_of(case).values()


def test_a_webhook_that_git_requests_injects_the_values() -> None:
    request: Object = {"vault.security.example.org/inline-mutation": "true"}
    desired_fields: Object = {"data": {"a": "${vault:secret#a}"}}
    case = differing(CONFIG, desired_fields, {"data": {"a": "b"}}, annotations=request)
    assert set(mechanisms_of(case).values()) != {Mechanism.INJECTED}  # Git does not request it
    marks: Object = {**request, "whysync.dev/role": "desired"}
    body: Object = {**desired_fields, "metadata": {"name": "web", "namespace": "shop", "annotations": marks}}
    requested = differing(CONFIG, body, {"data": {"a": "b"}}, annotations=request)
    assert mechanisms_of(requested)["/data/a"] is Mechanism.INJECTED


def test_an_element_that_another_manager_wrote_is_not_injected() -> None:
    live: Object = {"spec": {"parameters": [{"name": "a"}, {"name": "image.tag", "value": "1.2"}]}}
    desired_fields: Object = {"spec": {"parameters": [{"name": "a"}]}}
    writer = written_by("argocd-image-updater", "spec", "parameters")
    assert set(mechanisms_of(differing(WIDGET, desired_fields, live, writer=writer)).values()) == {
        Mechanism.BY_CONTROLLER
    }
    stranger = written_by("some-program", "spec", "parameters")
    assert set(mechanisms_of(differing(WIDGET, desired_fields, live, writer=stranger)).values()) == {
        Mechanism.BY_CONTROLLER
    }


APPLICATION: Object = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}
PROJECT: Object = {"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject"}
IS_LIVE: Object = {"whysync.dev/role": "live"}


@pytest.mark.parametrize(
    ("type", "spec", "mechanism"),
    [
        (APPLICATION, {"syncPolicy": {"retry": {"limit": 5}}}, Mechanism.UNKNOWN),
        (APPLICATION, {"autoSync": {"prune": True}}, Mechanism.DROPPED),
        (PROJECT, {"orphanedResources": {"warn": True}}, Mechanism.UNKNOWN),
        (PROJECT, {"orphaned": {"warn": True}}, Mechanism.DROPPED),
    ],
)
def test_the_cluster_drops_what_the_schema_of_argocd_does_not_have(
    type: Object, spec: Object, mechanism: Mechanism
) -> None:
    case = differing(
        type, {"spec": {"description": "x", **spec}}, {"spec": {"description": "x"}}, annotations=IS_LIVE
    )
    assert set(mechanisms_of(case).values()) == {mechanism}


def test_no_setting_of_argocds_own_kinds_is_a_default() -> None:
    case = differing(
        PROJECT,
        {"spec": {"description": "x"}},
        {"spec": {"description": "x", "permitOnlyProjectScopedClusters": True}},
        annotations=IS_LIVE,
    )
    assert mechanisms_of(case) == {"/spec/permitOnlyProjectScopedClusters": Mechanism.UNKNOWN}


def test_a_crd_of_the_cluster_comes_before_the_schema_of_the_current_argocd() -> None:
    """An older Argo CD has no `syncPolicy.automated.enabled`."""
    crd: Object = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "applications.argoproj.io"},
        "spec": {
            "group": "argoproj.io",
            "names": {"kind": "Application", "plural": "applications"},
            "versions": [
                {
                    "name": "v1alpha1",
                    "schema": {
                        "openAPIV3Schema": {
                            "properties": {
                                "spec": {
                                    "properties": {
                                        "syncPolicy": {
                                            "properties": {
                                                "automated": {"properties": {"prune": {"type": "boolean"}}}
                                            }
                                        }
                                    }
                                }
                            }
                        }
                    },
                }
            ],
        },
    }
    automated: Object = {"prune": True}
    case = differing(
        APPLICATION,
        {"spec": {"syncPolicy": {"automated": {**automated, "enabled": True}}}},
        {"spec": {"syncPolicy": {"automated": automated}}},
        crd,
        annotations=IS_LIVE,
    )
    assert mechanisms_of(case) == {"/spec/syncPolicy/automated/enabled": Mechanism.DROPPED}
