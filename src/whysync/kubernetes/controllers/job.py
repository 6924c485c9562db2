"""Job controller: runs pods until enough have succeeded, too many have failed, or the deadline is exceeded.

Mirrors `pkg/controller/job`, Kubernetes 1.36. Differs: finished pods are counted in one write, where the real
controller first records them in uncountedTerminatedPods; backoffLimitPerIndex and successPolicy are ignored.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Final

import msgspec

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.storage import Change, ObjectKey
from whysync.kubernetes.controllers.client import (
    JOBS,
    PODS,
    Client,
    StatusError,
    is_terminating,
    name_of,
    namespace_of,
    uid_of,
)
from whysync.kubernetes.controllers.conditions import (
    add_seconds,
    condition,
    conditions_of,
    is_true,
    parse_time,
)
from whysync.kubernetes.controllers.controller import Backoff, Key, QueueController
from whysync.kubernetes.controllers.deployment import MAX_PODS
from whysync.kubernetes.controllers.job_pods import (
    JobPods,
    completion_index,
    format_indexes,
    is_failed,
    is_indexed,
    is_tracked,
    parse_indexes,
    without_tracking_finalizer,
)
from whysync.kubernetes.controllers.object_index import controller_of
from whysync.kubernetes.controllers.pod_control import is_active, is_ready, phase_of

_COMPLETE, _FAILED = "Complete", "Failed"
_SUCCESS_CRITERIA_MET, _FAILURE_TARGET, _SUSPENDED = "SuccessCriteriaMet", "FailureTarget", "Suspended"
_COMPLETIONS_REACHED: Final = ("CompletionsReached", "Reached expected number of succeeded pods")
_BACKOFF_LIMIT_EXCEEDED: Final = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
_DEADLINE_EXCEEDED: Final = ("DeadlineExceeded", "Job was active longer than specified deadline")
_COMPONENT: Final = "job-controller"


def is_job_finished(job: Object) -> bool:
    conditions = items(fields(job.get("status")).get("conditions"))
    return is_true(conditions, _COMPLETE) or is_true(conditions, _FAILED)


class JobController(QueueController):
    name = "job"
    main = JOBS
    owner_kind = "Job"
    dependents = frozenset({PODS})

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._backoff_records: dict[Key, BackoffRecord] = {}
        self._backoff = Backoff()
        self._orphan_candidates: dict[ObjectKey, None] = {}

    def on_event(self, change: Change) -> None:
        super().on_event(change)
        if change.object_key[0] == PODS:
            if change.type != "DELETED" and is_tracked(change.obj):
                self._orphan_candidates[change.object_key] = None
        elif change.type == "DELETED" or is_job_finished(change.obj):
            for pod in self.client.owned(PODS, change.obj):
                self._orphan_candidates[(PODS, namespace_of(pod), name_of(pod))] = None

    def reconcile(self) -> bool:
        worked = super().reconcile()
        places, self._orphan_candidates = list(self._orphan_candidates), {}
        for object_key in places:
            self._sync_orphan_pod(object_key)
        return worked or bool(places)

    def _sync_orphan_pod(self, object_key: ObjectKey) -> None:
        """Removes the tracking finalizer from pods whose Job is deleted or finished."""
        pod = self.client.api_server.store.get(object_key)
        if pod is None or not is_tracked(pod):
            return
        owner = controller_of(pod)
        if owner and owner.get("kind") != "Job":
            return
        job = self.client.get(JOBS, object_key[1], text(owner.get("name"))) if owner else None
        if job is None or uid_of(job) != owner.get("uid") or is_job_finished(job):
            with suppress(StatusError):
                self.client.update(without_tracking_finalizer(pod))

    def forget(self, key: Key) -> None:
        self._backoff_records.pop(key, None)
        self._backoff.forget(key)

    def sync(self, obj: Object) -> None:
        key = (namespace_of(obj), name_of(obj))
        managed_by = text(dig(obj, "spec", "managedBy"), "kubernetes.io/job-controller")
        if is_job_finished(obj) or managed_by != "kubernetes.io/job-controller":
            self.forget(key)
            return
        backoff_record = self._backoff_records.setdefault(key, BackoffRecord())
        sync_run = _JobSync(self.client, obj, backoff_record)
        failed = sync_run.sync_job()
        if sync_run.requeue_seconds is not None:
            self.enqueue_after(obj, sync_run.requeue_seconds)
        if failed:
            self.enqueue_after(obj, self._backoff.next(key))
        else:
            self._backoff.forget(key)


class _JobSync:
    """One sync of a Job and its pods."""

    def __init__(self, client: Client, obj: Object, failures: BackoffRecord) -> None:
        self._client = client
        self._obj = obj
        self._backoff_record = failures
        self._status = dict(fields(obj.get("status")))
        self._conditions: list[Json] = items(self._status.get("conditions"))
        self._suspended = dig(obj, "spec", "suspend") is True
        self.requeue_seconds: float | None = None

    def sync_job(self) -> bool:
        """True if a pod could not be created and the sync must be retried."""
        obj, client = self._obj, self._client
        pods = client.owned(PODS, obj)
        job_pods = JobPods(client, obj, pods)
        active = [pod for pod in pods if is_active(pod)]
        tracked = [pod for pod in pods if is_tracked(pod)]
        succeeded = [pod for pod in tracked if phase_of(pod) == "Succeeded"]
        failed = [pod for pod in tracked if is_failed(pod, obj)]
        self._backoff_record.add(succeeded, failed)
        if "startTime" not in self._status and not self._suspended:
            self._status["startTime"] = client.stamp()
        succeeded_count = integer(self._status.get("succeeded")) + len(succeeded)
        if is_indexed(obj):
            self._update_completed_indexes(pods)
            succeeded_count = integer(self._status.get("succeeded"))
        failed_count = integer(self._status.get("failed")) + sum(
            1 for pod in failed if not is_ignored(pod, obj)
        )
        finishing = self._finishing_condition(pods, failed_count)
        creation_failed = False
        if finishing is not None:
            for pod in active:
                job_pods.delete(pod)
            remaining: list[Object] = []
        else:
            remaining = active
            if not is_terminating(obj):
                remaining, creation_failed = self._manage_job(job_pods, active, succeeded_count)
            finishing = self._success_condition(succeeded_count, remaining)
            if finishing is None and not is_terminating(obj):
                self._suspend_or_resume()
        self._update_job_status(finishing, remaining)
        return creation_failed

    # -- success and failure ----------------------------------------------------------------------

    def _finishing_condition(self, pods: list[Object], failed_count: int) -> Object | None:
        """The condition that ends the Job: an existing one, or one that is due."""
        for kind in (_SUCCESS_CRITERIA_MET, _FAILURE_TARGET):
            if is_true(self._conditions, kind):
                return condition(self._conditions, kind)
        obj = self._obj
        policy_message = fail_job_message(pods, obj)
        if policy_message is not None:
            return self._condition(_FAILURE_TARGET, "PodFailurePolicy", policy_message)
        limit = integer(dig(obj, "spec", "backoffLimit"), 6)
        if failed_count > limit or self._past_backoff_limit_on_failure(pods, limit):
            return self._condition(_FAILURE_TARGET, *_BACKOFF_LIMIT_EXCEEDED)
        deadline, start = (
            dig(obj, "spec", "activeDeadlineSeconds"),
            parse_time(text(self._status.get("startTime"))),
        )
        if isinstance(deadline, int) and start is not None and not self._suspended:
            seconds_left = (add_seconds(start, deadline) - self._client.now).total_seconds()
            if seconds_left <= 0:
                return self._condition(_FAILURE_TARGET, *_DEADLINE_EXCEEDED)
            self._requeue_within(seconds_left)
        return None

    def _past_backoff_limit_on_failure(self, pods: list[Object], limit: int) -> bool:
        if dig(self._obj, "spec", "template", "spec", "restartPolicy") != "OnFailure":
            return False
        restarts = sum(
            integer(fields(container_status).get("restartCount"))
            for pod in pods
            if phase_of(pod) in ("Running", "Pending")
            for key in ("initContainerStatuses", "containerStatuses")
            for container_status in items(dig(pod, "status", key))
        )
        return restarts > 0 if not limit else restarts >= limit

    def _success_condition(self, succeeded_count: int, remaining: list[Object]) -> Object | None:
        completions = dig(self._obj, "spec", "completions")
        reached = succeeded_count > 0 if not isinstance(completions, int) else succeeded_count >= completions
        return (
            self._condition(_SUCCESS_CRITERIA_MET, *_COMPLETIONS_REACHED)
            if reached and not remaining
            else None
        )

    def _requeue_within(self, seconds: float) -> None:
        self.requeue_seconds = seconds if self.requeue_seconds is None else min(self.requeue_seconds, seconds)

    # -- pods -------------------------------------------------------------------------------------

    def _manage_job(
        self, job_pods: JobPods, active: list[Object], succeeded_count: int
    ) -> tuple[list[Object], bool]:
        """The remaining and new pods, and whether one could not be created."""
        if self._suspended:
            for pod in active:
                job_pods.delete_uncounted(pod)
            return [], False
        parallelism = min(integer(dig(self._obj, "spec", "parallelism"), 1), MAX_PODS)
        completions = dig(self._obj, "spec", "completions")
        if isinstance(completions, int):
            target = max(min(completions - succeeded_count, parallelism), 0)
        else:
            target = len(active) if succeeded_count else parallelism
        pods_to_delete = job_pods.pods_to_delete(active, len(active) - target)
        for pod in pods_to_delete:
            job_pods.delete_uncounted(pod)
        remaining = [pod for pod in active if pod not in pods_to_delete]
        missing = target - len(remaining)
        if dig(self._obj, "spec", "podReplacementPolicy") == "Failed":
            missing -= job_pods.terminating()
        missing = min(missing, MAX_PODS - job_pods.count())  # limits the memory that an endless Job uses
        if missing <= 0:
            return remaining, False
        backoff = self._backoff_record.remaining_backoff(self._client.now)
        if backoff > 0:
            self._requeue_within(backoff)
            return remaining, False
        created, failed = job_pods.create(missing, parse_indexes(text(self._status.get("completedIndexes"))))
        return [*remaining, *created], failed

    def _suspend_or_resume(self) -> None:
        current = condition(self._conditions, _SUSPENDED)
        if self._suspended and current.get("status") != "True":
            self._conditions = self._with_condition(
                self._condition(_SUSPENDED, "JobSuspended", "Job suspended")
            )
            self._client.event(self._obj, "Normal", "Suspended", "Job suspended", _COMPONENT)
        elif not self._suspended and current.get("status") == "True":
            resumed = self._condition(_SUSPENDED, "JobResumed", "Job resumed")
            self._conditions = self._with_condition({**resumed, "status": "False"})
            self._client.event(self._obj, "Normal", "Resumed", "Job resumed", _COMPONENT)
            self._status["startTime"] = self._client.stamp()

    # -- status -----------------------------------------------------------------------------------

    def _update_job_status(self, finishing: Object | None, remaining: list[Object]) -> None:
        self._track_job_status_and_remove_finalizers(finishing)
        if finishing is not None and not condition(self._conditions, text(finishing.get("type"))):
            self._conditions = [*self._conditions, finishing]
        pods = self._client.owned(PODS, self._obj)
        terminating = sum(
            1 for pod in pods if is_terminating(pod) and phase_of(pod) not in ("Succeeded", "Failed")
        )
        finished: Object | None = None
        if finishing is not None and not terminating:
            kind = _COMPLETE if finishing.get("type") == _SUCCESS_CRITERIA_MET else _FAILED
            finished = self._condition(kind, text(finishing.get("reason")), text(finishing.get("message")))
            self._conditions = self._with_condition(finished)
            if kind == _COMPLETE:
                self._status["completionTime"] = self._client.stamp()
        self._write_status(len(remaining), terminating, sum(1 for pod in remaining if is_ready(pod)))
        if finished is None:
            return
        if finished.get("type") == _COMPLETE:
            self._client.event(self._obj, "Normal", "Completed", "Job completed", _COMPONENT)
        else:
            reason, message = text(finished.get("reason")), text(finished.get("message"))
            self._client.event(self._obj, "Warning", reason, message, _COMPONENT)

    def _track_job_status_and_remove_finalizers(self, finishing: Object | None) -> None:
        """Counts finished pods and removes their tracking finalizer."""
        obj = self._obj
        job_failed = finishing is not None and finishing.get("type") != _SUCCESS_CRITERIA_MET
        for pod in self._client.owned(PODS, obj):
            if not is_tracked(pod):
                continue
            succeeded, failed = phase_of(pod) == "Succeeded", is_failed(pod, obj)
            if not (succeeded or failed or finishing is not None or is_terminating(obj)):
                continue
            if succeeded:
                if not is_indexed(obj):
                    self._status["succeeded"] = integer(self._status.get("succeeded")) + 1
            elif (failed or job_failed) and not is_ignored(pod, obj):
                self._status["failed"] = integer(self._status.get("failed")) + 1
            try:
                self._client.update(without_tracking_finalizer(pod))
            except StatusError:
                continue

    def _update_completed_indexes(self, pods: list[Object]) -> None:
        completions = integer(dig(self._obj, "spec", "completions"))
        completed = parse_indexes(text(self._status.get("completedIndexes")))
        completed |= {
            index
            for pod in pods
            if phase_of(pod) == "Succeeded" and 0 <= (index := completion_index(pod)) < completions
        }
        if completed:
            self._status["completedIndexes"] = format_indexes(completed)
            self._status["succeeded"] = len(completed)

    def _write_status(self, active: int, terminating: int, ready: int) -> None:
        counts: Object = {"active": active} if active else {}
        old_status = {key: value for key, value in self._status.items() if key != "active"}
        status: Object = {
            **old_status,
            **counts,
            "terminating": terminating,
            "uncountedTerminatedPods": {},
            "ready": ready,
        }
        if self._conditions:
            status["conditions"] = self._conditions
        self._client.update_status(self._obj, status)

    def _with_condition(self, new: Object) -> list[Json]:
        kind = new.get("type")
        if not condition(self._conditions, text(kind)):
            return [*self._conditions, new]
        return [new if fields(condition).get("type") == kind else condition for condition in self._conditions]

    def _condition(self, kind: str, reason: str, message: str) -> Object:
        now = self._client.stamp()
        return {
            "type": kind,
            "status": "True",
            "lastProbeTime": now,
            "lastTransitionTime": now,
            "reason": reason,
            "message": message,
        }


# Failed pods of a Job: the back-off before the next pod, and the pod failure policy.
#
# Mirrors `backoff_utils.go` and `pod_failure_policy.go` of the Job controller, Kubernetes 1.36.


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


# TTL-after-finished controller: deletes finished Jobs after ttlSecondsAfterFinished.
#
# Mirrors `pkg/controller/ttlafterfinished`, Kubernetes 1.36.


class TtlAfterFinishedController(QueueController):
    name = "ttl-after-finished"
    main = JOBS

    def sync(self, obj: Object) -> None:
        seconds = dig(obj, "spec", "ttlSecondsAfterFinished")
        if not isinstance(seconds, int) or is_terminating(obj):
            return
        for raw in items(dig(obj, "status", "conditions")):
            condition = fields(raw)
            if condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True":
                ended = parse_time(text(condition.get("lastTransitionTime")))
                if ended is None:
                    return
                when = add_seconds(ended, seconds)
                if when <= self.client.now:
                    self.client.delete(obj, policy="Foreground")
                else:
                    self.enqueue_at(obj, when)
                return
