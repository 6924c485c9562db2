"""GitOps Promoter: commits on their way through environments, and what has to agree before they move on."""

from __future__ import annotations

from whysync.argocd.health.shipped import family_promoter_promotion as promotion
from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.family_promoter import plain, readiness, typed
from whysync.argocd.health.shipped.vocabulary import (
    DEGRADED,
    HEALTHY,
    PROGRESSING,
    Check,
    Step,
    healthy,
    in_order,
    true,
    when,
)
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object


def _applications(obj: Object, _it: Json = None, /) -> HealthVerdict:
    selected = lua.named(obj, "status", "applicationsSelected")
    if not lua.truthy(selected) or lua.length(selected) == 0:
        return HealthVerdict(DEGRADED, "Argo CD commit status has no applications configured")
    tracked = lua.length(selected)
    return HealthVerdict(HEALTHY, f"Argo CD commit status is healthy and is tracking {tracked} applications")


def _environments(title: str, *, done: str, reconciled: str) -> Step:
    """One phase per environment; whatever is neither success nor failure is pending."""

    def ask(obj: Object, _it: Json = None, /) -> HealthVerdict:
        listed = lua.named(obj, "status", "environments")
        if not lua.truthy(listed) or lua.length(listed) == 0:
            return HealthVerdict(HEALTHY, reconciled)
        passed = 0
        failed: list[Json] = []
        pending: list[Json] = []
        for environment in lua.ipairs(listed):
            branch, phase = lua.at(environment, "branch"), lua.at(environment, "phase")
            if phase == "success":
                passed += 1
            else:
                (failed if phase == "failure" else pending).append(branch if lua.truthy(branch) else "?")
        if failed:
            return HealthVerdict(DEGRADED, f"{title} failed for branch(es): {lua.joined(failed, ', ')}")
        if pending:
            return HealthVerdict(PROGRESSING, f"{title} pending for branch(es): {lua.joined(pending, ', ')}")
        return HealthVerdict(HEALTHY, f"{title} {done} for {passed} environment(s)")

    return ask


_SCM_PROVIDER_GONE = "GitRepository objects can reference a provider that no longer exists."
_OF_POLICY = "changetransferpolicy.promoter.argoproj.io/pullrequest-finalizer"

GROUP = "promoter.argoproj.io"
CHECKS: dict[str, Check] = {
    "ArgoCDCommitStatus": in_order(readiness(plain("Argo CD commit status")), _applications),
    "ChangeTransferPolicy": in_order(
        readiness(
            plain("change transfer policy", end="."),
            finalizers={
                "changetransferpolicy.promoter.argoproj.io/finalizer": (
                    "Waiting to clear related PullRequest finalizers and finish cleanup "
                    "before this policy is removed.",
                    f"The '{_OF_POLICY}' finalizer may not be cleaned up from PullRequests owned by "
                    "this ChangeTransferPolicy.",
                )
            },
        ),
        promotion.policy,
    ),
    "ClusterScmProvider": in_order(
        readiness(
            typed(
                "ClusterScmProvider",
                "cluster SCM provider",
                title="Cluster SCM provider",
                failed="validation failed",
                unclear="readiness unknown",
                end=".",
            ),
            finalizers={
                "clusterscmprovider.promoter.argoproj.io/finalizer": (
                    "Waiting until no GitRepository still references this cluster-wide SCM provider.",
                    _SCM_PROVIDER_GONE,
                )
            },
        ),
        healthy("Cluster SCM provider is ready"),
    ),
    "CommitStatus": in_order(
        readiness(plain("commit status")),
        when(
            true(".status.sha"),
            true(".status.phase"),
            then=healthy("Commit status for commit {.status.sha} reports {.status.phase}"),
        ),
        healthy("Commit status is healthy"),
    ),
    "GitCommitStatus": in_order(
        readiness(
            typed(
                "GitCommitStatus",
                "git commit validation",
                title="Git commit validation",
                failed="failed",
                unclear="status unknown",
            )
        ),
        _environments("Git commit validation", done="passed", reconciled="Git commit validation reconciled"),
    ),
    "GitRepository": in_order(
        readiness(
            typed(
                "GitRepository",
                "Git repository",
                title="Git repository",
                failed="validation failed",
                unclear="readiness unknown",
                end=".",
            ),
            finalizers={
                "gitrepository.promoter.argoproj.io/finalizer": (
                    "Waiting until no non-deleting PullRequests still reference this repository.",
                    "repository metadata may be removed while promotions still depend on it.",
                )
            },
        ),
        healthy("Git repository is ready"),
    ),
    "PromotionStrategy": in_order(readiness(plain("promotion strategy")), promotion.strategy),
    "PullRequest": in_order(
        readiness(
            plain("pull request", end="."),
            conditions=("Reconciled", "Ready"),
            finalizers={
                "pullrequest.promoter.argoproj.io/finalizer": (
                    "Waiting for SCM closure or reconciliation of the pull request.",
                    "the real PR can stay open after the CR is gone.",
                ),
                _OF_POLICY: (
                    "Waiting for the ChangeTransferPolicy to observe PR identity and state.",
                    "promotion status or history can be wrong or racy.",
                ),
            },
        ),
        when(
            true(".status.id"),
            true(".status.state"),
            then=healthy("Pull request is {.status.state} as PR {.status.id}"),
        ),
        healthy("Pull request is healthy"),
    ),
    "ScmProvider": in_order(
        readiness(
            typed(
                "ScmProvider",
                "SCM provider",
                title="SCM provider",
                failed="validation failed",
                unclear="readiness unknown",
                end=".",
            ),
            finalizers={
                "scmprovider.promoter.argoproj.io/finalizer": (
                    "Waiting until no GitRepository in this namespace still references this provider.",
                    _SCM_PROVIDER_GONE,
                )
            },
        ),
        healthy("SCM provider is ready"),
    ),
    "TimedCommitStatus": in_order(
        readiness(
            typed(
                "TimedCommitStatus",
                "timed commit gate",
                title="Timed commit gate",
                failed="failed",
                unclear="status unknown",
            )
        ),
        _environments("Timed commit gate", done="satisfied", reconciled="Timed commit gate reconciled"),
    ),
    "WebRequestCommitStatus": in_order(
        readiness(
            typed(
                "WebRequestCommitStatus",
                "web request commit validation",
                title="Web request commit validation",
                failed="failed",
                unclear="unknown",
            )
        ),
        _environments(
            "Web request validation", done="passed", reconciled="Web request commit validation reconciled"
        ),
    ),
}
