"""GitOps Promoter (`promoter.argoproj.io`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import Check, Step, healthy, in_order, when
from whysync.argocd.health.verdict import DEGRADED, HEALTHY, PROGRESSING, HealthVerdict
from whysync.json_tree import Json, Object

CHECKS: Final[dict[str, dict[str, Check]]] = {}


# What all kinds of GitOps Promoter have in common: deletion, and the Ready condition.
#
# The kinds differ in their messages. Those of a `plain` kind are all made from its name; the newer kinds,
# `typed`, write some of their messages with the kind and some with a name for what they do.


class Messages(msgspec.Struct, frozen=True, kw_only=True):
    initializing: str
    deleting: str
    stale: str
    not_ready_yet: str
    failed: str
    failed_with_reason: str
    unclear: str | None = None  # plain kinds take an Unknown Ready for a good one


def plain(name: str, *, end: str = "") -> Messages:
    title = name[0].upper() + name[1:]
    return Messages(
        initializing=f"Initializing {name}",
        deleting=f"{title} is being deleted{end}",
        stale=f"Waiting for {name} spec update to be observed",
        not_ready_yet=f"{title} is not ready yet",
        failed=f"{title} reconciliation failed",
        failed_with_reason=f"{title} reconciliation failed",
    )


def typed(kind: str, name: str, failed: str, unclear: str, *, end: str = "") -> Messages:
    title = name[0].upper() + name[1:]
    return Messages(
        initializing=f"Initializing {name}",
        deleting=f"{kind} is being deleted{end}",
        stale=f"Waiting for {kind} spec update to be observed",
        not_ready_yet=f"{kind} Ready condition is missing",
        failed=f"{title} {failed}",
        failed_with_reason=f"{title} not ready",
        unclear=f"{title} {unclear}",
    )


def readiness(
    messages: Messages,
    *,
    finalizers: Mapping[str, tuple[str, str]] | None = None,
    conditions: tuple[str, ...] = ("Ready",),
) -> Step:
    """Decides unless the object is ready; then the rest of its status is assessed.

    `finalizers` describes for each what it waits for, and the effect of removing it.
    """

    def evaluate(obj: Object, _item: Json = None, /) -> HealthVerdict | None:
        if lua.truthy(lua.at_path(obj, "metadata", "deletionTimestamp")):
            remaining = lua.at_path(obj, "metadata", "finalizers") if finalizers is not None else None
            return HealthVerdict(PROGRESSING, _deletion(messages.deleting, remaining, finalizers or {}))
        status = lua.at(obj, "status")
        if not lua.truthy(status):
            return HealthVerdict(PROGRESSING, messages.initializing)
        entries, has_condition = lua.at(status, "conditions"), False
        for condition in lua.ipairs(entries) if lua.truthy(entries) else ():
            if lua.at(condition, "type") in conditions:
                has_condition = True
                decided = _not_ready(messages, obj, condition)
                if decided is not None:
                    return decided
        return None if has_condition else HealthVerdict(PROGRESSING, messages.not_ready_yet)

    return evaluate


def _not_ready(messages: Messages, obj: Object, condition: Json) -> HealthVerdict | None:
    observed = lua.at(condition, "observedGeneration")
    if lua.truthy(observed):
        generation = lua.at_path(obj, "metadata", "generation")
        if lua.truthy(generation) and not lua.same(observed, generation):
            return HealthVerdict(PROGRESSING, messages.stale)
    status, message = lua.at(condition, "status"), lua.at(condition, "message")
    reason = _or(lua.at(condition, "reason"), "Unknown")
    if status == "False":
        message = _or(message, "Unknown error")
        if reason == "ReconciliationError":
            return HealthVerdict(DEGRADED, lua.concat(messages.failed, ": ", message))
        return HealthVerdict(DEGRADED, lua.concat(messages.failed_with_reason, " (", reason, "): ", message))
    if status == "Unknown" and messages.unclear is not None:
        return HealthVerdict(
            PROGRESSING, lua.concat(messages.unclear, " (", reason, "): ", _or(message, "Unknown"))
        )
    return None


def _deletion(message: str, finalizers: Json, descriptions: Mapping[str, tuple[str, str]]) -> str:
    for name in lua.ipairs(finalizers) if lua.truthy(finalizers) else ():
        if isinstance(name, str) and name in descriptions:
            waiting, risk = descriptions[name]
            message += f" {name}: {waiting} Risk if removed manually: {risk}"
    return message


def _or(value: Json, otherwise: str) -> Json:
    return value if lua.truthy(value) else otherwise


# GitOps Promoter: the promotion of a commit through the environments.


def policy(obj: Object, _item: Json = None, /) -> HealthVerdict:
    """A ChangeTransferPolicy that is ready: one environment."""
    status = lua.at(obj, "status")
    active = _active(status)
    if active is None:
        return HealthVerdict(PROGRESSING, "The active commit DRY SHA is missing or empty.")
    proposed = _non_empty(status, "proposed", "dry", "sha")
    if proposed is None:
        return HealthVerdict(PROGRESSING, "The proposed commit DRY SHA is missing or empty.")
    if not lua.same(proposed, active):
        tally = _tally(lua.at(status, "proposed"))
        message = f"Promotion in progress from '{_short(active)}' to '{_short(proposed)}': {tally.text()}"
        return HealthVerdict(PROGRESSING, message)
    tally = _tally(lua.at(status, "active"))
    if tally.is_settled():
        return HealthVerdict(HEALTHY, f"Environment is up-to-date on commit {_short(active)}.")
    prefix = "Environment is up-to-date, but there are non-successful active commit statuses: "
    return HealthVerdict(HEALTHY, prefix + tally.text())


def strategy(obj: Object, _item: Json = None, /) -> HealthVerdict:
    """A PromotionStrategy that is ready: all environments, in order."""
    entries = lua.at_path(obj, "status", "environments")
    if not lua.truthy(entries) or lua.length(entries) == 0:
        return HealthVerdict(DEGRADED, "Promotion strategy has no environments configured")
    environments = list(lua.ipairs(entries))
    for environment in environments:
        for side, sha_of in (("active", _active), ("proposed", _hydrated)):
            if sha_of(environment) is None:
                environment_text = lua.concat("environment '", lua.at(environment, "branch"), "'.")
                return HealthVerdict(
                    PROGRESSING, f"The {side} commit DRY SHA is missing or empty in {environment_text}"
                )
    first = environments[0]
    if not all(lua.same(_hydrated(environment), _hydrated(first)) for environment in environments):
        return HealthVerdict(
            PROGRESSING,
            "Not all environments have the same proposed commit SHA. "
            "This likely means the hydrator has not run for all environments yet.",
        )
    return _in_progress(environments) or _up_to_date(environments)


def _in_progress(environments: list[Json]) -> HealthVerdict | None:
    """The first environment with something to promote; a hydrator note alone does not count."""
    for environment in environments:
        proposed, active = lua.at_path(environment, "proposed", "dry", "sha"), _active(environment)
        if lua.same(proposed, active):
            continue
        tally = _tally(lua.at(environment, "proposed"))
        message = lua.concat(
            "Promotion in progress for environment '",
            lua.at(environment, "branch"),
            f"' from '{_short(active)}' to '{_short(proposed)}': {tally.text()}",
            f"Hydrator has processed dry commit '{_short(_hydrated(environment))}'. ",
        )
        return HealthVerdict(PROGRESSING, message)
    return None


def _up_to_date(environments: list[Json]) -> HealthVerdict:
    unsettled: dict[str, str] = {}
    for environment in environments:
        tally = _tally(lua.at(environment, "active"))
        if not tally.is_settled():
            branch = lua.concat(lua.at(environment, "branch"))
            unsettled[branch] = f"{branch} ({tally.failed} failed, {tally.pending} pending)"
    if unsettled:
        but = "Environments are up-to-date, but some environments have non-successful commit statuses: "
        return HealthVerdict(HEALTHY, f"{but}{', '.join(unsettled.values())}.")
    active, hydrated = _short(_active(environments[0])), _short(_hydrated(environments[0]))
    return HealthVerdict(
        HEALTHY,
        f"All environments are up-to-date on commit '{active}'. "
        f"Hydrator has processed dry commit '{hydrated}'.",
    )


class _Tally(msgspec.Struct):
    """The commit statuses of one side, counted; those without a key are counted but not named."""

    pending: int = 0
    succeeded: int = 0
    failed: int = 0
    pending_keys: list[Json] = msgspec.field(default_factory=list[Json])
    failed_keys: list[Json] = msgspec.field(default_factory=list[Json])

    def is_settled(self) -> bool:
        return self.pending == self.failed == 0

    def text(self) -> str:
        summary = f"{self.pending} pending, {self.succeeded} successful, {self.failed} failed. "
        if self.pending:
            summary += f"Pending commit statuses: {lua.joined(self.pending_keys, ', ')}. "
        if self.failed:
            summary += f"Failed commit statuses: {lua.joined(self.failed_keys, ', ')}. "
        return summary


def _tally(side: Json) -> _Tally:
    entries, tally = lua.at(side, "commitStatuses"), _Tally()
    for entry in lua.ipairs(entries) if lua.truthy(entries) else ():
        match lua.at(entry, "phase"):
            case "pending":
                tally.pending += 1
                tally.pending_keys.append(lua.at(entry, "key"))
            case "success":
                tally.succeeded += 1
            case "failure":
                tally.failed += 1
                tally.failed_keys.append(lua.at(entry, "key"))
            case _:
                pass
    return tally


def _active(environment: Json) -> Json:
    return _non_empty(environment, "active", "dry", "sha")


def _hydrated(environment: Json) -> Json:
    """The commit of the hydrator: its note, or else the proposed one."""
    noted = _non_empty(environment, "proposed", "note", "drySha")
    return noted if noted is not None else _non_empty(environment, "proposed", "dry", "sha")


def _non_empty(value: Json, *keys: str) -> Json:
    """The value at the path; `None` if any value is nil or false, or if it is empty."""
    for key in keys:
        value = lua.at(value, key)
        if not lua.truthy(value):
            return None
    return None if value == "" else value


def _short(sha: Json) -> str:
    if not lua.truthy(sha):
        return ""
    if not isinstance(sha, str) and not lua.is_number(sha):
        raise lua.LuaError(f"bad argument #1 to len (string expected, got {lua.type_name(sha)})")
    return lua.concat(sha).encode(errors="replace")[:7].decode(errors="replace")


# GitOps Promoter: commits on their way through environments, and what has to agree before they move on.


def _applications(obj: Object, _item: Json = None, /) -> HealthVerdict:
    selected = lua.at_path(obj, "status", "applicationsSelected")
    if not lua.truthy(selected) or lua.length(selected) == 0:
        return HealthVerdict(DEGRADED, "Argo CD commit status has no applications configured")
    tracked = lua.length(selected)
    return HealthVerdict(HEALTHY, f"Argo CD commit status is healthy and is tracking {tracked} applications")


def _environments(title: str, *, done: str, reconciled: str) -> Step:
    """One phase per environment; any phase but success and failure is pending."""

    def evaluate(obj: Object, _item: Json = None, /) -> HealthVerdict:
        entries = lua.at_path(obj, "status", "environments")
        if not lua.truthy(entries) or lua.length(entries) == 0:
            return HealthVerdict(HEALTHY, reconciled)
        passed = 0
        failed: list[Json] = []
        pending: list[Json] = []
        for environment in lua.ipairs(entries):
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

    return evaluate


_SCM_PROVIDER_GONE = "GitRepository objects can reference a provider that no longer exists."
_OF_POLICY = "changetransferpolicy.promoter.argoproj.io/pullrequest-finalizer"

CHECKS["promoter.argoproj.io"] = {
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
        policy,
    ),
    "ClusterScmProvider": in_order(
        readiness(
            typed(
                "ClusterScmProvider",
                "cluster SCM provider",
                "validation failed",
                "readiness unknown",
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
            ".status.sha and .status.phase",
            healthy("Commit status for commit {.status.sha} reports {.status.phase}"),
        ),
        healthy("Commit status is healthy"),
    ),
    "GitCommitStatus": in_order(
        readiness(typed("GitCommitStatus", "git commit validation", "failed", "status unknown")),
        _environments("Git commit validation", done="passed", reconciled="Git commit validation reconciled"),
    ),
    "GitRepository": in_order(
        readiness(
            typed("GitRepository", "Git repository", "validation failed", "readiness unknown", end="."),
            finalizers={
                "gitrepository.promoter.argoproj.io/finalizer": (
                    "Waiting until no non-deleting PullRequests still reference this repository.",
                    "repository metadata may be removed while promotions still depend on it.",
                )
            },
        ),
        healthy("Git repository is ready"),
    ),
    "PromotionStrategy": in_order(readiness(plain("promotion strategy")), strategy),
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
        when(".status.id and .status.state", healthy("Pull request is {.status.state} as PR {.status.id}")),
        healthy("Pull request is healthy"),
    ),
    "ScmProvider": in_order(
        readiness(
            typed("ScmProvider", "SCM provider", "validation failed", "readiness unknown", end="."),
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
        readiness(typed("TimedCommitStatus", "timed commit gate", "failed", "status unknown")),
        _environments("Timed commit gate", done="satisfied", reconciled="Timed commit gate reconciled"),
    ),
    "WebRequestCommitStatus": in_order(
        readiness(typed("WebRequestCommitStatus", "web request commit validation", "failed", "unknown")),
        _environments(
            "Web request validation", done="passed", reconciled="Web request commit validation reconciled"
        ),
    ),
}
