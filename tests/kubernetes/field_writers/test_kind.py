from __future__ import annotations

import pytest

from whysync.kubernetes.field_writers import WriterKind, kind_of


@pytest.mark.parametrize(
    ("manager", "kind"),
    [
        ("argocd-controller", WriterKind.ARGOCD),
        ("argocd-application-controller", WriterKind.ARGOCD),
        ("kubectl-edit", WriterKind.KUBECTL_EDIT),
        ("kubectl-client-side-apply", WriterKind.KUBECTL_APPLY),
        ("kubectl-patch", WriterKind.KUBECTL_PATCH),
        ("kubectl-rollout", WriterKind.KUBECTL_OTHER),
        ("kubectl-label", WriterKind.KUBECTL_OTHER),
        ("node-fetch", WriterKind.CONSOLE),
        ("Mozilla", WriterKind.CONSOLE),
        ("kube-controller-manager", WriterKind.CONTROLLER),
        ("shop-controller", WriterKind.CONTROLLER),
        ("aws-load-balancer-controller", WriterKind.CONTROLLER),
        ("keda-operator", WriterKind.AUTOSCALER),
        ("vpa-admission-controller", WriterKind.AUTOSCALER),
        ("cert-manager-cainjector", WriterKind.WEBHOOK),
        ("linkerd-destination", WriterKind.WEBHOOK),
        ("kubectl.exe", WriterKind.KUBECTL_OTHER),
        ("argocd-operator", WriterKind.OPERATOR),
        ("gotk-kustomize-controller", WriterKind.OTHER_GITOPS),
        ("apiextensions.crossplane.io/composite", WriterKind.CONTROLLER),
        ("helm", WriterKind.HELM),
        ("Helm", WriterKind.HELM),
        ("Terraform", WriterKind.TERRAFORM),
        ("HashiCorp", WriterKind.TERRAFORM),
        ("pulumi-kubernetes-1f2e3d", WriterKind.TERRAFORM),
        ("kustomize-controller", WriterKind.OTHER_GITOPS),
        ("postgres-operator", WriterKind.OPERATOR),
        ("manager", WriterKind.OPERATOR),
        ("before-first-apply", WriterKind.UNKNOWN),
        ("Go-http-client", WriterKind.UNKNOWN),
        ("", WriterKind.UNKNOWN),
        ("jane", WriterKind.UNKNOWN),
    ],
)
def test_a_manager_is_what_its_name_says(manager: str, kind: WriterKind) -> None:
    assert kind_of(manager) == kind


def test_the_scale_subresource_tells_the_autoscaler_from_other_controllers() -> None:
    assert kind_of("kube-controller-manager", subresource="scale") is WriterKind.AUTOSCALER
    assert kind_of("kube-controller-manager", subresource="status") is WriterKind.CONTROLLER


def test_plain_kubectl_is_told_by_how_it_wrote() -> None:
    assert kind_of("kubectl", subresource="scale") is WriterKind.KUBECTL_SCALE
    assert kind_of("kubectl", operation="Apply") is WriterKind.KUBECTL_APPLY
    assert kind_of("kubectl", operation="Update") is WriterKind.KUBECTL_OTHER
