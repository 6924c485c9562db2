"""CronJobs: a Job whenever the schedule says so.

Mirrors `pkg/controller/cronjob`, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from whysync.golang.cron import BadSchedule, parse_schedule, time_zone
from whysync.golang.duration import BadDuration, parse_nanoseconds
from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.controllers.backoff import Backoff
from whysync.kubernetes.controllers.client import (
    CRON_JOBS,
    JOBS,
    Client,
    StatusError,
    is_terminating,
    name_of,
    namespace_of,
    owner_reference,
    uid_of,
)
from whysync.kubernetes.controllers.conditions import add_seconds, format_time, is_true, parse_time
from whysync.kubernetes.controllers.controller import Key, QueueController
from whysync.kubernetes.controllers.object_index import controller_of

_COMPONENT: Final = "cronjob-controller"
_SCHEDULED_TIMESTAMP: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_MAX_MISSED: Final = 100
_NextOf = Callable[[datetime], datetime | None]


class CronJobController(QueueController):
    name = "cronjob"
    main = CRON_JOBS
    owner_kind = "CronJob"
    dependents = frozenset({JOBS})

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._backoff = Backoff()

    def forget(self, key: Key) -> None:
        self._backoff.forget(key)

    def sync(self, obj: Object) -> None:
        key = (namespace_of(obj), name_of(obj))
        sync_run = _CronJobSync(self.client, obj)
        try:
            when = sync_run.sync_cron_job()
        except StatusError:
            self.enqueue_after(obj, self._backoff.next(key))
            return
        self._backoff.forget(key)
        if when is not None:
            self.enqueue_at(obj, max(when, add_seconds(self.client.now, 1)))


class _CronJobSync:
    def __init__(self, client: Client, obj: Object) -> None:
        self._client = client
        self._obj = obj
        self._status = dict(fields(obj.get("status")))
        self._active: list[Json] = list(items(self._status.get("active")))

    def sync_cron_job(self) -> datetime | None:
        """When to look again."""
        jobs = self._client.owned(JOBS, self._obj)
        self._update_active_jobs(jobs)
        try:
            when = self._start_job_if_due()
        finally:
            self._cleanup_finished_jobs(self._client.owned(JOBS, self._obj))
            self._write_status()
        return when

    def _update_active_jobs(self, jobs: list[Object]) -> None:
        """What has become of the Jobs."""
        for job in jobs:
            listed = any(fields(active).get("uid") == uid_of(job) for active in self._active)
            end = _finished_condition(job)
            if not end:
                if not listed:
                    message = f"Saw a job that the controller did not create or forgot: {name_of(job)}"
                    self._event("Warning", "UnexpectedJob", message)
                continue
            if listed:
                self._remove_from_active(uid_of(job))
                self._event(
                    "Normal", "SawCompletedJob", f"Saw completed job: {name_of(job)}, condition: {end}"
                )
            ended = text(dig(job, "status", "completionTime"))
            if end == "Complete" and ended > text(self._status.get("lastSuccessfulTime")):
                self._status["lastSuccessfulTime"] = ended
        known = {uid_of(job) for job in jobs}
        for raw in list(self._active):
            reference = fields(raw)
            name = text(reference.get("name"))
            if reference.get("uid") not in known and self._job(name) is None:
                self._event("Normal", "MissingJob", f"Active job went missing: {name}")
                self._remove_from_active(text(reference.get("uid")))

    def _start_job_if_due(self) -> datetime | None:
        obj, now = self._obj, self._client.now
        if is_terminating(obj):
            return None
        zone = dig(obj, "spec", "timeZone")
        if isinstance(zone, str) and time_zone(zone) is None:
            message = f'invalid timeZone: "{zone}": unknown time zone {zone}'
            self._event("Warning", "UnknownTimeZone", message)
            return None
        if dig(obj, "spec", "suspend") is True:
            return None
        schedule = text(dig(obj, "spec", "schedule"))
        try:
            following = parse_standard(schedule, zone if isinstance(zone, str) else "")
        except BadSchedule as bad:
            self._event("Warning", "UnparseableSchedule", f'unparseable schedule: "{schedule}" : {bad}')
            return None
        due = self._most_recent_schedule_time(following, now)
        if due is None:
            return following(now)
        late = dig(obj, "spec", "startingDeadlineSeconds")
        if isinstance(late, int) and add_seconds(due, late) < now:
            scheduled = due.astimezone(UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
            self._event("Warning", "MissSchedule", f"Missed scheduled time to start a job: {scheduled}")
        elif not self._has_started(due) and self._apply_concurrency_policy():
            self._create_job(due, zone if isinstance(zone, str) else "")
        return following(now)

    def _most_recent_schedule_time(self, following: _NextOf, now: datetime) -> datetime | None:
        """The last time that the schedule named and no Job was made for; mirrors `mostRecentScheduleTime`."""
        last = text(self._status.get("lastScheduleTime"))
        earliest = parse_time(last or text(dig(self._obj, "metadata", "creationTimestamp")))
        late = dig(self._obj, "spec", "startingDeadlineSeconds")
        if earliest is None:
            return None
        if isinstance(late, int):
            earliest = max(earliest, _subtract_seconds(now, late))
        first = following(earliest)
        if first is None or first > now:
            return None
        second = following(first)
        if second is None or second > now:
            return first
        between = max((second - first).total_seconds(), 1)
        missed = int((now - first).total_seconds() // between) + 1
        if missed > _MAX_MISSED:
            message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds"
            self._event("Warning", "TooManyMissedTimes", f"{message} or check clock skew")
        latest, when = first, following(add_seconds(first, (missed - 2) * between))
        while when is not None and when <= now:
            latest, when = when, following(when)
        return latest

    def _has_started(self, due: datetime) -> bool:
        if self._status.get("lastScheduleTime") == format_time(due):
            return True
        return any(fields(active).get("name") == self._job_name(due) for active in self._active)

    def _apply_concurrency_policy(self) -> bool:
        """Applies the concurrency policy to Jobs that still run."""
        policy = dig(self._obj, "spec", "concurrencyPolicy")
        if policy == "Forbid" and self._active:
            message = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._event("Normal", "JobAlreadyActive", message)
            return False
        if policy == "Replace":
            for raw in list(self._active):
                job = self._job(text(fields(raw).get("name")))
                if job is not None and not self._delete_job(job):
                    return False
        return True

    def _create_job(self, due: datetime, zone: str) -> None:
        obj = self._obj
        template = fields(dig(obj, "spec", "jobTemplate"))
        template_meta = fields(template.get("metadata"))
        local = due.astimezone(time_zone(zone) or UTC).isoformat(timespec="seconds")
        annotations: Object = {
            **fields(template_meta.get("annotations")),
            _SCHEDULED_TIMESTAMP: local.replace("+00:00", "Z"),
        }
        meta: Object = {
            "name": self._job_name(due),
            "namespace": namespace_of(obj),
            "annotations": annotations,
            "ownerReferences": [owner_reference(obj)],
        }
        if template_meta.get("labels"):
            meta["labels"] = template_meta["labels"]
        wanted: Object = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": meta,
            "spec": template.get("spec"),
        }
        try:
            job = self._client.create(wanted)
        except StatusError as error:
            if error.code == 409:
                there = self._job(self._job_name(due))
                if there is None or controller_of(there).get("uid") != uid_of(obj):
                    return
                job = there
            else:
                if "because it is being terminated" not in error.message:
                    self._event("Warning", "FailedCreate", f"Error creating job: {error.message}")
                raise
        else:
            self._event("Normal", "SuccessfulCreate", f"Created job {name_of(job)}")
        self._active.append(_reference(job))
        self._status["lastScheduleTime"] = format_time(due)

    def _cleanup_finished_jobs(self, jobs: list[Object]) -> None:
        """Finished Jobs beyond the limits of the history go, the oldest first."""
        for end, key, usual in (
            ("Complete", "successfulJobsHistoryLimit", 3),
            ("Failed", "failedJobsHistoryLimit", 1),
        ):
            limit = integer(dig(self._obj, "spec", key), usual)
            ended = [job for job in jobs if _finished_condition(job) == end and not is_terminating(job)]
            ended.sort(key=lambda job: (text(dig(job, "status", "startTime"), "9"), name_of(job)))
            for job in ended[: max(len(ended) - limit, 0)]:
                self._delete_job(job)

    def _delete_job(self, job: Object) -> bool:
        try:
            self._client.delete(job)
        except StatusError as error:
            if error.code != 404:
                self._event("Warning", "FailedDelete", f"Deleted job: {error.message}")
                return False
        self._remove_from_active(uid_of(job))
        self._event("Normal", "SuccessfulDelete", f"Deleted job {name_of(job)}")
        return True

    def _write_status(self) -> None:
        status = {key: value for key, value in self._status.items() if key != "active"}
        new: Object = {"active": self._active, **status} if self._active else {**status}
        self._client.update_status(self._obj, new)

    def _remove_from_active(self, uid: str) -> None:
        self._active = [reference for reference in self._active if fields(reference).get("uid") != uid]

    def _job(self, name: str) -> Object | None:
        return self._client.get(JOBS, namespace_of(self._obj), name)

    def _job_name(self, due: datetime) -> str:
        return f"{name_of(self._obj)}-{int(due.timestamp()) // 60}"

    def _event(self, type: str, reason: str, message: str) -> None:
        self._client.event(self._obj, type, reason, message, _COMPONENT)


def _subtract_seconds(when: datetime, seconds: int) -> datetime:
    try:
        return when - timedelta(seconds=seconds)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _finished_condition(job: Object) -> str:
    conditions = items(dig(job, "status", "conditions"))
    return next((kind for kind in ("Complete", "Failed") if is_true(conditions, kind)), "")


def _reference(job: Object) -> Object:
    return {
        "kind": "Job",
        "namespace": namespace_of(job),
        "name": name_of(job),
        "uid": uid_of(job),
        "apiVersion": "batch/v1",
        "resourceVersion": text(dig(job, "metadata", "resourceVersion")),
    }


_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY: Final = "@every "


def parse_standard(schedule: str, zone: str) -> Callable[[datetime], datetime | None]:
    """The first activation after a moment. Raises `BadSchedule`.

    Mirrors robfig/cron 3.0.1 `ParseStandard`, as Kubernetes 1.36 uses it: five fields, or a name such as
    `@daily`.
    """
    head, space, rest = (
        schedule.partition(" ") if schedule.startswith(("TZ=", "CRON_TZ=")) else ("", "", schedule)
    )
    rest = rest.strip()
    if rest.startswith(_EVERY):
        step = _every(rest.removeprefix(_EVERY))
        return lambda moment: moment.replace(microsecond=0) + step
    if rest.startswith("@"):
        if rest not in _DESCRIPTORS:
            raise BadSchedule(f"unrecognized descriptor: {rest}")
        rest = _DESCRIPTORS[rest]
    lead = f"{head}{space}" if head else f"TZ={zone} " if zone else ""
    parsed = parse_schedule(lead + rest)
    return lambda moment: parsed.next_after(moment.astimezone(UTC))


def _every(text: str) -> timedelta:
    try:
        seconds = parse_nanoseconds(text) // 10**9
    except BadDuration as problem:
        raise BadSchedule(f"failed to parse duration {_EVERY}{text}: {problem}") from None
    return timedelta(seconds=max(seconds, 1))
