"""Jobs: pods until enough of them have succeeded, or too many have failed, or time is up.

Mirrors `pkg/controller/job`, Kubernetes 1.36. Differs: finished pods are counted in one write, where the real
controller notes them as uncounted in a write before; a backoff limit per index and success policies count for
nothing.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.storage import Change, Place
from whysync.kubernetes.controllers.backoff import Backoff
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
from whysync.kubernetes.controllers.conditions import add_seconds, condition, is_true, parse_time
from whysync.kubernetes.controllers.controller import Key, QueueController
from whysync.kubernetes.controllers.deployment_util import MAX_PODS
from whysync.kubernetes.controllers.job_failures import BackoffRecord, fail_job_message, is_ignored
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
        self._orphan_candidates: dict[Place, None] = {}

    def on_event(self, change: Change) -> None:
        super().on_event(change)
        if change.place[0] == PODS:
            if change.type != "DELETED" and is_tracked(change.obj):
                self._orphan_candidates[change.place] = None
        elif change.type == "DELETED" or is_job_finished(change.obj):
            for pod in self.client.owned(PODS, change.obj):
                self._orphan_candidates[(PODS, namespace_of(pod), name_of(pod))] = None

    def reconcile(self) -> bool:
        worked = super().reconcile()
        places, self._orphan_candidates = list(self._orphan_candidates), {}
        for place in places:
            self._sync_orphan_pod(place)
        return worked or bool(places)

    def _sync_orphan_pod(self, place: Place) -> None:
        """Removes the tracking finalizer from pods whose Job is deleted or finished."""
        pod = self.client.api_server.store.get(place)
        if pod is None or not is_tracked(pod):
            return
        owner = controller_of(pod)
        if owner and owner.get("kind") != "Job":
            return
        job = self.client.get(JOBS, place[1], text(owner.get("name"))) if owner else None
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
        known = self._backoff_records.setdefault(key, BackoffRecord())
        sync_run = _JobSync(self.client, obj, known)
        failed = sync_run.sync_job()
        if sync_run.requeue_seconds is not None:
            self.enqueue_after(obj, sync_run.requeue_seconds)
        if failed:
            self.enqueue_after(obj, self._backoff.next(key))
        else:
            self._backoff.forget(key)


class _JobSync:
    """One look at a Job and its pods."""

    def __init__(self, client: Client, obj: Object, failures: BackoffRecord) -> None:
        self._client = client
        self._obj = obj
        self._backoff_record = failures
        self._status = dict(fields(obj.get("status")))
        self._conditions: list[Json] = items(self._status.get("conditions"))
        self._suspended = dig(obj, "spec", "suspend") is True
        self.requeue_seconds: float | None = None

    def sync_job(self) -> bool:
        """True where a pod could not be made, so that it is to be tried requeue_seconds."""
        obj, client = self._obj, self._client
        pods = client.owned(PODS, obj)
        job_pods = JobPods(client, obj, pods)
        active = [pod for pod in pods if is_active(pod)]
        ended = [pod for pod in pods if is_tracked(pod)]
        succeeded = [pod for pod in ended if phase_of(pod) == "Succeeded"]
        failed = [pod for pod in ended if is_failed(pod, obj)]
        self._backoff_record.add(succeeded, failed)
        if "startTime" not in self._status and not self._suspended:
            self._status["startTime"] = client.stamp()
        done = integer(self._status.get("succeeded")) + len(succeeded)
        if is_indexed(obj):
            self._update_completed_indexes(pods)
            done = integer(self._status.get("succeeded"))
        lost = integer(self._status.get("failed")) + sum(1 for pod in failed if not is_ignored(pod, obj))
        verdict = self._finishing_condition(pods, lost)
        trouble = False
        if verdict is not None:
            for pod in active:
                job_pods.delete(pod)
            living: list[Object] = []
        else:
            living = active
            if not is_terminating(obj):
                living, trouble = self._manage_job(job_pods, active, done)
            verdict = self._success_condition(done, living)
            if verdict is None and not is_terminating(obj):
                self._suspend_or_resume()
        self._update_job_status(verdict, living)
        return trouble

    # -- how it stands ----------------------------------------------------------------------------

    def _finishing_condition(self, pods: list[Object], lost: int) -> Object | None:
        """The condition that ends the Job: an existing one, or one that is due."""
        for kind in (_SUCCESS_CRITERIA_MET, _FAILURE_TARGET):
            if is_true(self._conditions, kind):
                return condition(self._conditions, kind)
        obj = self._obj
        why = fail_job_message(pods, obj)
        if why is not None:
            return self._condition(_FAILURE_TARGET, "PodFailurePolicy", why)
        limit = integer(dig(obj, "spec", "backoffLimit"), 6)
        if lost > limit or self._past_backoff_limit_on_failure(pods, limit):
            return self._condition(_FAILURE_TARGET, *_BACKOFF_LIMIT_EXCEEDED)
        allowed, since = (
            dig(obj, "spec", "activeDeadlineSeconds"),
            parse_time(text(self._status.get("startTime"))),
        )
        if isinstance(allowed, int) and since is not None and not self._suspended:
            left = (add_seconds(since, allowed) - self._client.now).total_seconds()
            if left <= 0:
                return self._condition(_FAILURE_TARGET, *_DEADLINE_EXCEEDED)
            self._requeue_within(left)
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

    def _success_condition(self, done: int, living: list[Object]) -> Object | None:
        wanted = dig(self._obj, "spec", "completions")
        enough = done > 0 if not isinstance(wanted, int) else done >= wanted
        return (
            self._condition(_SUCCESS_CRITERIA_MET, *_COMPLETIONS_REACHED) if enough and not living else None
        )

    def _requeue_within(self, seconds: float) -> None:
        self.requeue_seconds = seconds if self.requeue_seconds is None else min(self.requeue_seconds, seconds)

    # -- what is done -----------------------------------------------------------------------------

    def _manage_job(self, job_pods: JobPods, active: list[Object], done: int) -> tuple[list[Object], bool]:
        """The pods that are left or new, and whether one could not be made."""
        if self._suspended:
            for pod in active:
                job_pods.delete_uncounted(pod)
            return [], False
        parallel = min(integer(dig(self._obj, "spec", "parallelism"), 1), MAX_PODS)
        wanted = dig(self._obj, "spec", "completions")
        if isinstance(wanted, int):
            target = max(min(wanted - done, parallel), 0)
        else:
            target = len(active) if done else parallel
        surplus = job_pods.pods_to_delete(active, len(active) - target)
        for pod in surplus:
            job_pods.delete_uncounted(pod)
        living = [pod for pod in active if pod not in surplus]
        missing = target - len(living)
        if dig(self._obj, "spec", "podReplacementPolicy") == "Failed":
            missing -= job_pods.terminating()
        missing = min(missing, MAX_PODS - job_pods.count())  # an endless Job must not fill the memory
        if missing <= 0:
            return living, False
        left = self._backoff_record.remaining_backoff(self._client.now)
        if left > 0:
            self._requeue_within(left)
            return living, False
        made, trouble = job_pods.create(missing, parse_indexes(text(self._status.get("completedIndexes"))))
        return [*living, *made], trouble

    def _suspend_or_resume(self) -> None:
        before = condition(self._conditions, _SUSPENDED)
        if self._suspended and before.get("status") != "True":
            self._conditions = self._with_condition(
                self._condition(_SUSPENDED, "JobSuspended", "Job suspended")
            )
            self._client.event(self._obj, "Normal", "Suspended", "Job suspended", _COMPONENT)
        elif not self._suspended and before.get("status") == "True":
            resumed = self._condition(_SUSPENDED, "JobResumed", "Job resumed")
            self._conditions = self._with_condition({**resumed, "status": "False"})
            self._client.event(self._obj, "Normal", "Resumed", "Job resumed", _COMPONENT)
            self._status["startTime"] = self._client.stamp()

    # -- what is told -----------------------------------------------------------------------------

    def _update_job_status(self, verdict: Object | None, living: list[Object]) -> None:
        self._track_job_status_and_remove_finalizers(verdict)
        if verdict is not None and not condition(self._conditions, text(verdict.get("type"))):
            self._conditions = [*self._conditions, verdict]
        pods = self._client.owned(PODS, self._obj)
        leaving = sum(
            1 for pod in pods if is_terminating(pod) and phase_of(pod) not in ("Succeeded", "Failed")
        )
        ended: Object | None = None
        if verdict is not None and not leaving:
            kind = _COMPLETE if verdict.get("type") == _SUCCESS_CRITERIA_MET else _FAILED
            ended = self._condition(kind, text(verdict.get("reason")), text(verdict.get("message")))
            self._conditions = self._with_condition(ended)
            if kind == _COMPLETE:
                self._status["completionTime"] = self._client.stamp()
        self._write_status(len(living), leaving, sum(1 for pod in living if is_ready(pod)))
        if ended is None:
            return
        if ended.get("type") == _COMPLETE:
            self._client.event(self._obj, "Normal", "Completed", "Job completed", _COMPONENT)
        else:
            reason, message = text(ended.get("reason")), text(ended.get("message"))
            self._client.event(self._obj, "Warning", reason, message, _COMPONENT)

    def _track_job_status_and_remove_finalizers(self, verdict: Object | None) -> None:
        """Pods that have ended are counted and need not wait any longer."""
        obj = self._obj
        gave_up = verdict is not None and verdict.get("type") != _SUCCESS_CRITERIA_MET
        for pod in self._client.owned(PODS, obj):
            if not is_tracked(pod):
                continue
            succeeded, failed = phase_of(pod) == "Succeeded", is_failed(pod, obj)
            if not (succeeded or failed or verdict is not None or is_terminating(obj)):
                continue
            if succeeded:
                if not is_indexed(obj):
                    self._status["succeeded"] = integer(self._status.get("succeeded")) + 1
            elif (failed or gave_up) and not is_ignored(pod, obj):
                self._status["failed"] = integer(self._status.get("failed")) + 1
            try:
                self._client.update(without_tracking_finalizer(pod))
            except StatusError:
                continue

    def _update_completed_indexes(self, pods: list[Object]) -> None:
        most = integer(dig(self._obj, "spec", "completions"))
        done = parse_indexes(text(self._status.get("completedIndexes")))
        done |= {
            index
            for pod in pods
            if phase_of(pod) == "Succeeded" and 0 <= (index := completion_index(pod)) < most
        }
        if done:
            self._status["completedIndexes"] = format_indexes(done)
            self._status["succeeded"] = len(done)

    def _write_status(self, active: int, leaving: int, ready: int) -> None:
        counts: Object = {"active": active} if active else {}
        before = {key: value for key, value in self._status.items() if key != "active"}
        status: Object = {
            **before,
            **counts,
            "terminating": leaving,
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
