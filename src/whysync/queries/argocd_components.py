"""Argo CD's own components: their Pods as evidence, failed lookups of their names, webhooks of Git hosts."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from whysync.diagnosis.evidence import Evidence, cite
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.pods import pod_histories
from whysync.json_tree import fields
from whysync.messages.failure import Lookup, Network
from whysync.messages.patterns.argocd import ArgocdCacheDown, RepoServerDown
from whysync.queries.commands import (
    API_SERVER,
    CONTROLLER,
    REPO_SERVER,
    argocd_namespace,
    kubectl,
    refresh,
    restart,
    with_comment,
)

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

PUSH_EVENT: Final = "Received push event"
"""What argocd-server logs for each webhook of a Git host. Argo CD 3.6, `util/webhook`."""
_ABSENT = "no such host"  # the DNS server answered; every other error means that it did not
_FLAGS = {"redis": "redis", "repo": "repo-server", "commit": "commit-server"}
_DNS = "k8s-app=kube-dns"  # the label of CoreDNS, too


def pods_named(case: Case, *components: str) -> Iterator[Evidence]:
    """Failing containers of the Pods of a component (`repo-server`, `redis`), else the phase of the Pods."""
    for pod in case.index.snapshot.live:
        if pod.ref.kind != "Pod" or pod.ref.namespace != argocd_namespace(case):
            continue
        if any(component in pod.ref.name for component in components):
            failing = [c for history in pod_histories(case, pod.ref) for c in history.failing]
            for container in failing:
                yield cite(pod, container.pointer, says="its Pod is failing")
            if not failing:
                yield cite(pod, "/status/phase", says="its Pod")


def time_out_together(case: Case) -> bool:
    """Do the repo-server and Redis both time out? Then it is the network, not two components."""
    repo_server = any(report.failure.reason is Network.TIMEOUT for report in case.failures(RepoServerDown))
    return repo_server and any(
        report.failure.reason is Network.TIMEOUT for report in case.failures(ArgocdCacheDown)
    )


def check_network(case: Case) -> Fix:
    """The path from the controller: policies, the nodes of the Pods, the network plugin."""
    namespace = argocd_namespace(case)
    return Fix.run(
        with_comment(
            kubectl("get", "pods,endpointslices", "-o", "wide", namespace=namespace),
            "all Ready? on which nodes?",
        ),
        with_comment(
            kubectl("get", "networkpolicies", "-o", "yaml", namespace=namespace),
            "do they permit the controller?",
        ),
        with_comment(
            kubectl("get", "pods", "-o", "wide", namespace="kube-system"),
            "network plugin and kube-proxy on these nodes",
        ),
        refresh(case),
        title="Check the network between the controller and these Pods: NetworkPolicies, the network plugin,"
        " the controller's node; then refresh",
    )


def unresolved(case: Case, lookup: Lookup) -> str:
    server = f" at {lookup.server}" if lookup.server else ""
    dns = f"DNS{server}" if _service(case, lookup) is None else f"the cluster DNS{server}"
    if lookup.error == _ABSENT:
        return f"Argo CD cannot resolve {lookup.name}: {dns} does not know the name ({_ABSENT})"
    return f"Argo CD cannot resolve {lookup.name}: {dns} fails ({lookup.error})"


def resolve_again(case: Case, lookup: Lookup, then: str, *, component: str) -> Fix:
    """Check the DNS Pods and the Service. An unknown name is most often a missing Service: it comes first.

    The components read the address of `redis`, `repo` or `commit` from a ConfigMap when they start.
    """
    dns = (
        kubectl("get", "pods,service,endpointslices", "-l", _DNS, namespace="kube-system"),
        kubectl("logs", "-l", _DNS, "--tail=100", namespace="kube-system"),
    )
    named = _service(case, lookup)
    if named is None:
        return Fix.run(
            *dns, then, title=f"Correct the name {lookup.name} or get its DNS working, then refresh"
        )
    name, namespace = named
    service = with_comment(kubectl("get", "service", name, namespace=namespace), "does it exist?")
    if lookup.error == _ABSENT:
        title = f"Create Service {name} or correct the configured name; if it exists, check the cluster DNS"
        own = argocd_namespace(case)
        return Fix.run(
            service,
            with_comment(
                f"{kubectl('get', 'service', namespace=own)} | grep {component}",
                "which name is right? It differs in an HA installation",
            ),
            *dns,
            with_comment(
                kubectl("edit", "configmap", "argocd-cmd-params-cm", namespace=own),
                f"correct {component}.server there, unless a flag --{_FLAGS[component]} sets it, then",
            ),
            restart(case, API_SERVER, REPO_SERVER, CONTROLLER),
            then,
            title=f"{title}, then refresh",
            risk="the restart interrupts Argo CD for a minute or two",
        )
    return Fix.run(*dns, service, then, title="Get the DNS Pods of Argo CD's cluster working, then refresh")


def _service(case: Case, lookup: Lookup) -> tuple[str, str] | None:
    """The Service and its namespace; `None` for a name outside the cluster."""
    own = argocd_namespace(case)
    name, *rest = lookup.name.rstrip(".").split(".")
    if not rest:
        return name, own
    if rest == [own] or rest[1:2] == ["svc"]:
        return name, rest[0]
    return None


class WebhookUse(Enum):
    USED = auto()
    NOT_LOGGED = auto()
    NO_SECRET = auto()
    UNKNOWN = auto()
    """Neither the log of argocd-server nor argocd-secret is in the facts."""


def webhook_use(case: Case) -> WebhookUse:
    logs = [log for log in case.index.snapshot.logs if "argocd-server" in log.pod]
    if any(PUSH_EVENT in line for log in logs for line in log.lines):
        return WebhookUse.USED
    if logs:
        return WebhookUse.NOT_LOGGED
    secret = case.settings("argocd-secret")
    if secret is None:
        return WebhookUse.UNKNOWN
    has_secret = any(key.startswith("webhook.") for key in fields(secret.body.get("data")))
    return WebhookUse.USED if has_secret else WebhookUse.NO_SECRET
