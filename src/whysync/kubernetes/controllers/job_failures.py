"""Failed pods of a Job: the back-off before the next pod, and the pod failure policy.

Mirrors `backoff_utils.go` and `pod_failure_policy.go` of the Job controller, Kubernetes 1.36.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.controllers.client import name_of, namespace_of, uid_of
from whysync.kubernetes.controllers.conditions import add_seconds, condition, conditions_of, parse_time
from whysync.kubernetes.controllers.job_pods import is_failed

_INITIAL_BACKOFF: Final = 10.0
_MAX_BACKOFF: Final = 600.0


class BackoffRecord(msgspec.Struct):
    """Failures since the last success: each doubles the back-off before the next pod."""

    count: int = 0
    last: datetime | None = None
    _counted: set[str] = msgspec.field(default_factory=set[str])

    def add(self, succeeded: list[Object], failed: list[Object]) -> None:
        new_failures = [pod for pod in failed if uid_of(pod) not in self._counted]
        new_successes = [pod for pod in succeeded if uid_of(pod) not in self._counted]
        self._counted.update(uid_of(pod) for pod in (*new_failures, *new_successes))
        failure_times = [when for pod in new_failures if (when := finished_at(pod)) is not None]
        if new_successes:
            last_success = max(
                (when for pod in new_successes if (when := finished_at(pod)) is not None), default=None
            )
            failure_times = [
                when for when in failure_times if last_success is not None and when > last_success
            ]
            self.count, self.last = 0, None
        self.count += len(failure_times)
        self.last = max([*failure_times, *([self.last] if self.last else [])], default=None)

    def remaining_backoff(self, now: datetime) -> float:
        """Seconds until another pod may start."""
        if not self.count or self.last is None:
            return 0
        backoff = min(_INITIAL_BACKOFF * 2 ** min(self.count - 1, 10), _MAX_BACKOFF)
        return max((add_seconds(self.last, backoff) - now).total_seconds(), 0)


def finished_at(pod: Object) -> datetime | None:
    finish_times = [
        parse_time(text(dig(container_status, "state", "terminated", "finishedAt")))
        for container_status in items(dig(pod, "status", "containerStatuses"))
    ]
    known_times = [when for when in finish_times if when is not None]
    if known_times and len(known_times) == len(finish_times):
        return max(known_times)
    ready = condition(conditions_of(pod), "Ready")
    if ready.get("status") == "False":
        return parse_time(text(ready.get("lastTransitionTime")))
    deletion = parse_time(text(dig(pod, "metadata", "deletionTimestamp")))
    if deletion is not None:
        grace = integer(dig(pod, "metadata", "deletionGracePeriodSeconds"))
        return add_seconds(deletion, -grace)
    return parse_time(text(dig(pod, "metadata", "creationTimestamp")))


def fail_job_message(pods: list[Object], job: Object) -> str | None:
    """The message of the pod failure policy rule that fails the Job, if one matches."""
    if not isinstance(dig(job, "spec", "podFailurePolicy"), dict):
        return None
    for pod in pods:
        if is_failed(pod, job):
            action, message = _match_pod_failure_policy(pod, job)
            if action == "FailJob":
                return message
    return None


def is_ignored(pod: Object, job: Object) -> bool:
    """Does the pod failure policy ignore this failure?"""
    return is_failed(pod, job) and _match_pod_failure_policy(pod, job)[0] == "Ignore"


def _match_pod_failure_policy(pod: Object, job: Object) -> tuple[str, str]:
    for index, raw in enumerate(items(dig(job, "spec", "podFailurePolicy", "rules"))):
        rule = fields(raw)
        action = text(rule.get("action"))
        pod_name = f"{namespace_of(pod)}/{name_of(pod)}"
        if "onExitCodes" in rule:
            container_status = _match_on_exit_codes(pod, fields(rule["onExitCodes"]))
            if container_status:
                code = integer(dig(container_status, "state", "terminated", "exitCode"))
                name = text(container_status.get("name"))
                message = f"Container {name} for pod {pod_name} failed with exit code {code}"
                return action, f"{message} matching {action} rule at index {index}"
        else:
            kind = _match_on_pod_conditions(pod, items(rule.get("onPodConditions")))
            if kind:
                return action, f"Pod {pod_name} has condition {kind} matching {action} rule at index {index}"
    return "", ""


def _match_on_exit_codes(pod: Object, rule: Object) -> Object:
    for key in ("containerStatuses", "initContainerStatuses"):
        for raw in items(dig(pod, "status", key)):
            container_status = fields(raw)
            code = integer(dig(container_status, "state", "terminated", "exitCode"))
            if not code or rule.get("containerName") not in (None, container_status.get("name")):
                continue
            if (code in items(rule.get("values"))) == (rule.get("operator") == "In"):
                return container_status
    return {}


def _match_on_pod_conditions(pod: Object, patterns: list[Json]) -> str:
    for raw in patterns:
        pattern = fields(raw)
        kind = text(pattern.get("type"))
        status = condition(conditions_of(pod), kind).get("status")
        if status is not None and status == text(pattern.get("status"), "True"):
            return kind
    return ""
