"""What sort of program a field manager is, from its name and the subresource it wrote through.

The API server takes the name from the request (`fieldManager`) or from the user agent up to the first
slash, so it is a claim of the client. The table holds names that programs use by default; what is not
in it is judged by the shape of the name, and what has no telling shape is unknown.
"""

from __future__ import annotations

from enum import StrEnum


class WriterKind(StrEnum):
    ARGOCD = "argocd"
    KUBECTL_EDIT = "kubectl-edit"
    KUBECTL_APPLY = "kubectl-apply"
    KUBECTL_SCALE = "kubectl-scale"
    KUBECTL_PATCH = "kubectl-patch"
    KUBECTL_OTHER = "kubectl-other"
    CONSOLE = "console"
    """A general tool for looking and editing: k9s, Lens, Rancher, a cloud's or OpenShift's web console."""
    CONTROLLER = "controller"
    AUTOSCALER = "autoscaler"
    WEBHOOK = "webhook"
    """Admission software under its own name: policy engines, injectors, what keeps a `caBundle` fresh."""
    API_SERVER = "api-server"
    HELM = "helm"
    TERRAFORM = "terraform"
    """Infrastructure as code: Terraform, OpenTofu, Pulumi."""
    OTHER_GITOPS = "other-gitops"
    OPERATOR = "operator"
    UNKNOWN = "unknown"


_KNOWN: dict[WriterKind, tuple[str, ...]] = {
    WriterKind.ARGOCD: (
        "argocd-controller",
        "argocd-application-controller",
        "argocd-applicationset-controller",
        "argocd",
    ),
    WriterKind.KUBECTL_EDIT: ("kubectl-edit", "oc-edit"),
    WriterKind.KUBECTL_APPLY: (
        "kubectl-client-side-apply",
        "kubectl-last-applied",
        "kubectl-apply",
        "oc-apply",
        # the default name of `kubectl apply --server-side` is plain `kubectl`: see `kind_of`
    ),
    WriterKind.KUBECTL_SCALE: ("kubectl-scale",),
    WriterKind.KUBECTL_PATCH: ("kubectl-patch", "oc-patch"),
    WriterKind.CONSOLE: (
        "argocd-server",  # what a person changes or runs on a live object in Argo CD's own pages
        "node-fetch",  # Lens and OpenLens
        "openlens",
        "lens",
        "freelens",
        "k9s",
        "headlamp",
        "headlamp-server",
        "octant",
        "rancher",
        "agent",  # Rancher's cluster agent, for what the Rancher UI sends
        "dashboard",
        "dashboard-api",
        "kubernetes-dashboard",
        "kubernetes-dashboard-api",
        "mozilla",  # a browser behind a proxying console, such as OpenShift's
        "googlecloudconsole",
        "azureportal",
        "kubesphere",
        "portainer",
        "komodor-agent",
    ),
    WriterKind.CONTROLLER: (
        "kube-controller-manager",
        "kube-scheduler",
        "kubelet",
        "kube-proxy",
        "cloud-controller-manager",
        "aws-cloud-controller-manager",
        "azure-cloud-controller-manager",
        "gcp-cloud-controller-manager",
        "aws-load-balancer-controller",
        "controller",  # the binary of the AWS load balancer controller in its own image
        "glbc",
        "ingress-gce",
        "gke-ingress",
        "azure-application-gateway-ingress",
        "application-gateway-kubernetes-ingress",
        "azure-workload-identity",
        "argocd-image-updater",  # writes parameters and images of Applications
        "argocd-image-updater-controller",
        "argocd-notifications-controller",
        "argocd-operator",
        "argo-rollouts",
        "rollouts-controller",
        "eks",  # managed add-ons of Amazon's clusters
        "kube-addon-manager",
        "external-dns",
        "node-problem-detector",
        "sealed-secrets",
        "external-secrets",
        "keel",
        "reloader",
        "stakater-reloader",
        "traefik",
        "nginx-ingress-controller",
        "contour",
        "cilium",
        "calico",
        "velero",
        "velero-server",
        "descheduler",
        "fluentd",
        "crossplane",
        "service-lb",
        "metallb",
    ),
    WriterKind.AUTOSCALER: (
        "horizontal-pod-autoscaler",
        "keda",
        "keda-operator",
        "keda-admission",
        "cluster-autoscaler",
        "karpenter",
        "autoscaler",  # Knative
        "recommender",  # the binaries of the vertical pod autoscaler
        "updater",
        "goldilocks",
        "multidim-pod-autoscaler",
        "watermarkpodautoscaler",
        "predictive-horizontal-pod-autoscaler",
    ),
    WriterKind.WEBHOOK: (
        "cert-manager-cainjector",
        "cainjector",
        "cert-manager-webhook",
        "pilot-discovery",
        "istiod",
        "istio-sidecar-injector",
        "linkerd",
        "kyverno",
        "gatekeeper",
        "opa",
        "kube-mgmt",
        "kube-webhook-certgen",
        "vault-k8s",
        "vault-agent-injector",
    ),
    WriterKind.API_SERVER: ("kube-apiserver", "apiserver"),
    WriterKind.HELM: ("helm", "helm3", "helmfile", "tiller"),
    WriterKind.TERRAFORM: ("terraform", "opentofu", "tofu", "hashicorp", "pulumi"),
    WriterKind.OTHER_GITOPS: (
        "kustomize-controller",
        "helm-controller",
        "flux",
        "fluxd",
        "helm-operator",
        "fleetagent",
        "fleet-agent",
        "fleetcontroller",
        "kapp",
        "kapp-controller",
        "kluctl",
        "timoni",
        "werf",
        "config-sync",
        "configsync.gke.io",
        "eunomia",
        "jx",
    ),
    WriterKind.OPERATOR: (
        "operator",
        "manager",  # the binary that kubebuilder and the Operator SDK build
        "olm",
        "catalog",
        "argocd-operator",
        "cluster-version-operator",
        "rook",
        "strimzi",
        "percona",
        "zalando",
        "prometheusoperator",
        "cert-manager",
    ),
    WriterKind.UNKNOWN: (
        "before-first-apply",
        "go-http-client",
        "python-requests",
        "openapi-generator",
        "okhttp",
        "fabric8-kubernetes-client",
        "kubernetes-client",
        "curl",
        "axios",
        "unknown",
        "unknown-manager",
    ),
}

# Controllers that are part of Kubernetes, or that a cloud runs for its clusters.
_OF_KUBERNETES = frozenset(
    {
        "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kube-addon-manager", "eks",
        "cloud-controller-manager", "aws-cloud-controller-manager", "azure-cloud-controller-manager",
        "gcp-cloud-controller-manager", "glbc", "ingress-gce", "gke-ingress", "service-lb",
    }
)  # fmt: skip
_KIND_BY_NAME = {name: kind for kind, names in _KNOWN.items() for name in names}

# Read in this order: the first shape that fits decides.
_PREFIXES = (
    ("argocd-", WriterKind.ARGOCD),
    ("kubectl-", WriterKind.KUBECTL_OTHER),
    ("vpa-", WriterKind.AUTOSCALER),
    ("flux-", WriterKind.OTHER_GITOPS),
    ("gotk-", WriterKind.OTHER_GITOPS),
    ("terraform", WriterKind.TERRAFORM),
    ("pulumi", WriterKind.TERRAFORM),
    ("linkerd-", WriterKind.WEBHOOK),
    ("istio-", WriterKind.WEBHOOK),
    ("kyverno-", WriterKind.WEBHOOK),
    ("gatekeeper-", WriterKind.WEBHOOK),
)
_FRAGMENTS = (
    ("autoscaler", WriterKind.AUTOSCALER),
    ("injector", WriterKind.WEBHOOK),
    ("webhook", WriterKind.WEBHOOK),
    ("admission", WriterKind.WEBHOOK),
    ("crossplane", WriterKind.CONTROLLER),
)
_SUFFIXES = (
    ("-operator", WriterKind.OPERATOR),
    ("_operator", WriterKind.OPERATOR),
    ("-controller", WriterKind.CONTROLLER),
    ("-controller-manager", WriterKind.CONTROLLER),
    ("-cloud-provider", WriterKind.CONTROLLER),
    ("controller", WriterKind.CONTROLLER),
    ("operator", WriterKind.OPERATOR),
)


def is_part_of_kubernetes(manager: str) -> bool:
    return manager.lower() in _OF_KUBERNETES


def kind_of(manager: str, *, operation: str = "", subresource: str = "") -> WriterKind:
    """The sort of writer behind one entry of managedFields."""
    name = manager.strip().lower().removesuffix(".exe")
    if subresource == "scale" and name == "kube-controller-manager":
        # the one controller in there that writes scale: the horizontal pod autoscaler
        return WriterKind.AUTOSCALER
    if name in ("kubectl", "oc"):
        return _plain_kubectl(operation, subresource)
    known = _KIND_BY_NAME.get(name)
    return known if known is not None else _kind_by_shape(name)


def _plain_kubectl(operation: str, subresource: str) -> WriterKind:
    """`kubectl` without a verb is the user agent: `scale` sends no other name, nor does server-side apply."""
    if subresource == "scale":
        return WriterKind.KUBECTL_SCALE
    return WriterKind.KUBECTL_APPLY if operation == "Apply" else WriterKind.KUBECTL_OTHER


def _kind_by_shape(name: str) -> WriterKind:
    for prefix, kind in _PREFIXES:
        if name.startswith(prefix):
            return kind
    for fragment, kind in _FRAGMENTS:
        if fragment in name:
            return kind
    for suffix, kind in _SUFFIXES:
        if name.endswith(suffix):
            return kind
    return WriterKind.UNKNOWN
