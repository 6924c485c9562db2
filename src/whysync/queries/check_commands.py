"""Read-only commands that check whether a finding is the cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.symptom import Side
from whysync.kubernetes.api.ref import Ref
from whysync.queries.commands import (
    CONTROLLER,
    REPO_SERVER,
    app_argument,
    argocd_namespace,
    is_read_only,
    kubectl,
    on_object,
    with_comment,
    words_of,
)

_MOST = 4
_MOST_OBJECTS = 3
_HAS_PODS = frozenset({"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "Rollout"})
_HAS_LOGS = _HAS_PODS - {"Rollout"}  # kubectl finds the Pods of Kubernetes' own kinds
_REPOSITORY_CAUSES = frozenset({"repo-auth", "repo-unreachable", "tls-trust", "revision-not-found"})
_CLUSTER_CAUSES = frozenset({"cluster-unreachable", "cluster-auth", "cluster-not-registered"})
_CAUSES_WITH_LOGS = frozenset({"", "crashloop", "oom", "probe-failing", "hook-failed"})
_ARGOCD_CAUSES = frozenset({"repo-server-down", "argocd-cache-down", "argocd-disk-full"})


def checks_for(finding: Finding, case: Case) -> tuple[str, ...]:
    """The read-only commands of the finding's fixes, then the usual ones for its side."""
    commands: dict[tuple[str, ...], str] = {}
    for command in (*_from_fixes(finding), *side_checks(finding.side, case, finding.about, finding.cause)):
        commands.setdefault(tuple(words_of(command)), command)  # a comment is no difference
    return tuple(commands.values())[:_MOST]


def _from_fixes(finding: Finding) -> Iterator[str]:
    for fix in finding.fixes:
        for command in fix.commands:
            words = words_of(command)
            if words and is_read_only(words):
                yield command


def side_checks(side: Side, case: Case, about: Ref | None = None, cause: str = "") -> Iterator[str]:
    app = app_argument(case)
    match side:
        case Side.COMPARE:
            yield from _comparison_checks(cause, case)
        case Side.DRIFT:
            yield f"argocd app diff {app}"
            if about is None:  # nothing explains it: the comparison may be stale
                yield f"argocd app get {app} --hard-refresh"
        case Side.APPLY:
            yield f"argocd app get {app} --show-operation"
        case Side.HEALTH:
            if about is not None and about.kind not in ("", "Application"):
                yield on_object("describe", about)
                yield from pods_and_logs(about)
            if about is not None and about.kind == "Pod" and cause in _CAUSES_WITH_LOGS:
                yield kubectl("logs", about.name, "--all-containers", "--previous", namespace=about.namespace)
        case Side.FRESH | Side.NONE:
            yield f"argocd app get {app} --refresh"


def unhealthy_checks(case: Case, refs: Sequence[Ref]) -> Iterator[str]:
    """The events and conditions of the first unhealthy objects, then the Pods in their namespaces."""
    objects = [ref for ref in dict.fromkeys(refs) if ref.key != case.application.key]
    for ref in objects[:_MOST_OBJECTS]:
        yield on_object("describe", ref)
    of_pods = [command for ref in objects[:_MOST_OBJECTS] for command in pods_and_logs(ref)]
    rollouts = [kubectl("get", "pods", namespace=ref.namespace) for ref in objects if ref.kind == "Rollout"]
    yield from dict.fromkeys((*of_pods, *rollouts))
    if not objects:
        yield f"argocd app get {app_argument(case)}"


def pods_and_logs(ref: Ref) -> tuple[str, ...]:
    """The Pods of a workload and what they say; none for other kinds."""
    if ref.kind not in _HAS_LOGS:
        return ()
    workload = f"{ref.kind.lower()}/{ref.name}"
    return (
        kubectl("get", "pods", namespace=ref.namespace),
        kubectl("logs", workload, "--all-containers", "--tail=50", namespace=ref.namespace),
    )


def writer_checks(case: Case, refs: Sequence[Ref]) -> Iterator[str]:
    """Who writes the objects that differ."""
    for ref in list(dict.fromkeys(refs))[:_MOST_OBJECTS]:
        if ref.key != case.application.key:
            show = on_object("get", ref, "-o", "yaml", "--show-managed-fields")
            yield with_comment(show, "who writes its fields, and when")


def _comparison_checks(cause: str, case: Case) -> Iterator[str]:
    if cause in _REPOSITORY_CAUSES:
        yield "argocd repo list"
    if cause in _CLUSTER_CAUSES:
        yield "argocd cluster list"
    namespace = argocd_namespace(case)
    if cause in _ARGOCD_CAUSES:
        yield kubectl("get", "pods", namespace=namespace)
    yield f"argocd app get {app_argument(case)} --hard-refresh"
    program = CONTROLLER if cause in _CLUSTER_CAUSES else REPO_SERVER
    yield kubectl("logs", program, "--since=1h", namespace=namespace)
