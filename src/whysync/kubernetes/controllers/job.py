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
    Denied,
    is_leaving,
    name_of,
    namespace_of,
    uid_of,
)
from whysync.kubernetes.controllers.conditions import after, condition, instant, is_true
from whysync.kubernetes.controllers.controller import Key, QueueController
from whysync.kubernetes.controllers.deployment_util import MOST_PODS
from whysync.kubernetes.controllers.job_failures import PodFailures, ignored, reason_to_fail
from whysync.kubernetes.controllers.job_pods import (
    JobPods,
    index_of,
    indexes_in,
    is_failed,
    is_indexed,
    is_tracked,
    untracked,
    written_indexes,
)
from whysync.kubernetes.controllers.object_index import controller_of
from whysync.kubernetes.controllers.pod_control import is_active, is_ready, phase_of

_COMPLETE, _FAILED = "Complete", "Failed"
_MET, _TARGET, _SUSPENDED = "SuccessCriteriaMet", "FailureTarget", "Suspended"
_REACHED: Final = ("CompletionsReached", "Reached expected number of succeeded pods")
_TOO_MANY: Final = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
_TOO_LATE: Final = ("DeadlineExceeded", "Job was active longer than specified deadline")
_COMPONENT: Final = "job-controller"


def is_done(job: Object) -> bool:
    conditions = items(fields(job.get("status")).get("conditions"))
    return is_true(conditions, _COMPLETE) or is_true(conditions, _FAILED)


class JobController(QueueController):
    name = "job"
    main = JOBS
    owner_kind = "Job"
    dependents = frozenset({PODS})

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._failures: dict[Key, PodFailures] = {}
        self._backoff = Backoff()
        self._tracked: dict[Place, None] = {}

    def on_event(self, change: Change) -> None:
        super().on_event(change)
        if change.place[0] == PODS:
            if change.type != "DELETED" and is_tracked(change.obj):
                self._tracked[change.place] = None
        elif change.type == "DELETED" or is_done(change.obj):
            for pod in self.client.owned(PODS, change.obj):
                self._tracked[(PODS, namespace_of(pod), name_of(pod))] = None

    def reconcile(self) -> bool:
        worked = super().reconcile()
        places, self._tracked = list(self._tracked), {}
        for place in places:
            self._let_go(place)
        return worked or bool(places)

    def _let_go(self, place: Place) -> None:
        """Removes the tracking finalizer from pods whose Job is deleted or finished."""
        pod = self.client.api_server.store.get(place)
        if pod is None or not is_tracked(pod):
            return
        owner = controller_of(pod)
        if owner and owner.get("kind") != "Job":
            return
        job = self.client.get(JOBS, place[1], text(owner.get("name"))) if owner else None
        if job is None or uid_of(job) != owner.get("uid") or is_done(job):
            with suppress(Denied):
                self.client.update(untracked(pod))

    def gone(self, key: Key) -> None:
        self._failures.pop(key, None)
        self._backoff.forget(key)

    def sync(self, obj: Object) -> None:
        key = (namespace_of(obj), name_of(obj))
        managed_by = text(dig(obj, "spec", "managedBy"), "kubernetes.io/job-controller")
        if is_done(obj) or managed_by != "kubernetes.io/job-controller":
            self.gone(key)
            return
        known = self._failures.setdefault(key, PodFailures())
        job_round = _Round(self.client, obj, known)
        failed = job_round.sync_job()
        if job_round.again is not None:
            self.later(obj, job_round.again)
        if failed:
            self.later(obj, self._backoff.next(key))
        else:
            self._backoff.forget(key)


class _Round:
    """One look at a Job and its pods."""

    def __init__(self, client: Client, obj: Object, failures: PodFailures) -> None:
        self._client = client
        self._obj = obj
        self._failures = failures
        self._status = dict(fields(obj.get("status")))
        self._conditions: list[Json] = items(self._status.get("conditions"))
        self._suspended = dig(obj, "spec", "suspend") is True
        self.again: float | None = None

    def sync_job(self) -> bool:
        """True where a pod could not be made, so that it is to be tried again."""
        obj, client = self._obj, self._client
        pods = client.owned(PODS, obj)
        hands = JobPods(client, obj, pods)
        active = [pod for pod in pods if is_active(pod)]
        ended = [pod for pod in pods if is_tracked(pod)]
        succeeded = [pod for pod in ended if phase_of(pod) == "Succeeded"]
        failed = [pod for pod in ended if is_failed(pod, obj)]
        self._failures.add(succeeded, failed)
        if "startTime" not in self._status and not self._suspended:
            self._status["startTime"] = client.stamp()
        done = integer(self._status.get("succeeded")) + len(succeeded)
        if is_indexed(obj):
            self._index(pods)
            done = integer(self._status.get("succeeded"))
        lost = integer(self._status.get("failed")) + sum(1 for pod in failed if not ignored(pod, obj))
        verdict = self._verdict(pods, lost)
        trouble = False
        if verdict is not None:
            for pod in active:
                hands.delete(pod)
            living: list[Object] = []
        else:
            living = active
            if not is_leaving(obj):
                living, trouble = self._manage_job(hands, active, done)
            verdict = self._success(done, living)
            if verdict is None and not is_leaving(obj):
                self._suspend_or_resume()
        self._finish(verdict, living)
        return trouble

    # -- how it stands ----------------------------------------------------------------------------

    def _verdict(self, pods: list[Object], lost: int) -> Object | None:
        """The condition that ends the Job: an existing one, or one that is due."""
        for kind in (_MET, _TARGET):
            if is_true(self._conditions, kind):
                return condition(self._conditions, kind)
        obj = self._obj
        why = reason_to_fail(pods, obj)
        if why is not None:
            return self._condition(_TARGET, "PodFailurePolicy", why)
        limit = integer(dig(obj, "spec", "backoffLimit"), 6)
        if lost > limit or self._restarted_too_often(pods, limit):
            return self._condition(_TARGET, *_TOO_MANY)
        allowed, since = (
            dig(obj, "spec", "activeDeadlineSeconds"),
            instant(text(self._status.get("startTime"))),
        )
        if isinstance(allowed, int) and since is not None and not self._suspended:
            left = (after(since, allowed) - self._client.now).total_seconds()
            if left <= 0:
                return self._condition(_TARGET, *_TOO_LATE)
            self._wait(left)
        return None

    def _restarted_too_often(self, pods: list[Object], limit: int) -> bool:
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

    def _success(self, done: int, living: list[Object]) -> Object | None:
        wanted = dig(self._obj, "spec", "completions")
        enough = done > 0 if not isinstance(wanted, int) else done >= wanted
        return self._condition(_MET, *_REACHED) if enough and not living else None

    def _wait(self, seconds: float) -> None:
        self.again = seconds if self.again is None else min(self.again, seconds)

    # -- what is done -----------------------------------------------------------------------------

    def _manage_job(self, hands: JobPods, active: list[Object], done: int) -> tuple[list[Object], bool]:
        """The pods that are left or new, and whether one could not be made."""
        if self._suspended:
            for pod in active:
                hands.drop(pod)
            return [], False
        parallel = min(integer(dig(self._obj, "spec", "parallelism"), 1), MOST_PODS)
        wanted = dig(self._obj, "spec", "completions")
        if isinstance(wanted, int):
            target = max(min(wanted - done, parallel), 0)
        else:
            target = len(active) if done else parallel
        surplus = hands.surplus(active, len(active) - target)
        for pod in surplus:
            hands.drop(pod)
        living = [pod for pod in active if pod not in surplus]
        missing = target - len(living)
        if dig(self._obj, "spec", "podReplacementPolicy") == "Failed":
            missing -= hands.leaving()
        missing = min(missing, MOST_PODS - hands.count())  # an endless Job must not fill the memory
        if missing <= 0:
            return living, False
        left = self._failures.left(self._client.now)
        if left > 0:
            self._wait(left)
            return living, False
        made, trouble = hands.create(missing, indexes_in(text(self._status.get("completedIndexes"))))
        return [*living, *made], trouble

    def _suspend_or_resume(self) -> None:
        before = condition(self._conditions, _SUSPENDED)
        if self._suspended and before.get("status") != "True":
            self._conditions = self._with(self._condition(_SUSPENDED, "JobSuspended", "Job suspended"))
            self._client.event(self._obj, "Normal", "Suspended", "Job suspended", _COMPONENT)
        elif not self._suspended and before.get("status") == "True":
            resumed = self._condition(_SUSPENDED, "JobResumed", "Job resumed")
            self._conditions = self._with({**resumed, "status": "False"})
            self._client.event(self._obj, "Normal", "Resumed", "Job resumed", _COMPONENT)
            self._status["startTime"] = self._client.stamp()

    # -- what is told -----------------------------------------------------------------------------

    def _finish(self, verdict: Object | None, living: list[Object]) -> None:
        self._count(verdict)
        if verdict is not None and not condition(self._conditions, text(verdict.get("type"))):
            self._conditions = [*self._conditions, verdict]
        pods = self._client.owned(PODS, self._obj)
        leaving = sum(1 for pod in pods if is_leaving(pod) and phase_of(pod) not in ("Succeeded", "Failed"))
        ended: Object | None = None
        if verdict is not None and not leaving:
            kind = _COMPLETE if verdict.get("type") == _MET else _FAILED
            ended = self._condition(kind, text(verdict.get("reason")), text(verdict.get("message")))
            self._conditions = self._with(ended)
            if kind == _COMPLETE:
                self._status["completionTime"] = self._client.stamp()
        self._write(len(living), leaving, sum(1 for pod in living if is_ready(pod)))
        if ended is None:
            return
        if ended.get("type") == _COMPLETE:
            self._client.event(self._obj, "Normal", "Completed", "Job completed", _COMPONENT)
        else:
            reason, message = text(ended.get("reason")), text(ended.get("message"))
            self._client.event(self._obj, "Warning", reason, message, _COMPONENT)

    def _count(self, verdict: Object | None) -> None:
        """Pods that have ended are counted and need not wait any longer."""
        obj = self._obj
        gave_up = verdict is not None and verdict.get("type") != _MET
        for pod in self._client.owned(PODS, obj):
            if not is_tracked(pod):
                continue
            succeeded, failed = phase_of(pod) == "Succeeded", is_failed(pod, obj)
            if not (succeeded or failed or verdict is not None or is_leaving(obj)):
                continue
            if succeeded:
                if not is_indexed(obj):
                    self._status["succeeded"] = integer(self._status.get("succeeded")) + 1
            elif (failed or gave_up) and not ignored(pod, obj):
                self._status["failed"] = integer(self._status.get("failed")) + 1
            try:
                self._client.update(untracked(pod))
            except Denied:
                continue

    def _index(self, pods: list[Object]) -> None:
        most = integer(dig(self._obj, "spec", "completions"))
        done = indexes_in(text(self._status.get("completedIndexes")))
        done |= {
            index for pod in pods if phase_of(pod) == "Succeeded" and 0 <= (index := index_of(pod)) < most
        }
        if done:
            self._status["completedIndexes"] = written_indexes(done)
            self._status["succeeded"] = len(done)

    def _write(self, active: int, leaving: int, ready: int) -> None:
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

    def _with(self, new: Object) -> list[Json]:
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
