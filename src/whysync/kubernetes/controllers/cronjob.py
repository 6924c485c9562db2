"""CronJob controller: creates Jobs on a schedule.

Mirrors `pkg/controller/cronjob`, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from whysync.golang.cron import BadSchedule, parse_schedule, time_zone
from whysync.golang.duration import BadDuration, parse_nanoseconds
from whysync.json_tree import Json, Object, dig, fields, integer, items, text
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
from whysync.kubernetes.controllers.controller import Backoff, Key, QueueController
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
        """Returns when to sync again."""
        jobs = self._client.owned(JOBS, self._obj)
        self._update_active_jobs(jobs)
        try:
            when = self._start_job_if_due()
        finally:
            self._cleanup_finished_jobs(self._client.owned(JOBS, self._obj))
            self._write_status()
        return when

    def _update_active_jobs(self, jobs: list[Object]) -> None:
        """Removes finished and missing Jobs from status.active."""
        for job in jobs:
            is_active = any(fields(active).get("uid") == uid_of(job) for active in self._active)
            condition_type = _finished_condition(job)
            if not condition_type:
                if not is_active:
                    message = f"Saw a job that the controller did not create or forgot: {name_of(job)}"
                    self._event("Warning", "UnexpectedJob", message)
                continue
            if is_active:
                self._remove_from_active(uid_of(job))
                self._event(
                    "Normal",
                    "SawCompletedJob",
                    f"Saw completed job: {name_of(job)}, condition: {condition_type}",
                )
            completion_time = text(dig(job, "status", "completionTime"))
            if condition_type == "Complete" and completion_time > text(
                self._status.get("lastSuccessfulTime")
            ):
                self._status["lastSuccessfulTime"] = completion_time
        job_uids = {uid_of(job) for job in jobs}
        for raw in list(self._active):
            reference = fields(raw)
            name = text(reference.get("name"))
            if reference.get("uid") not in job_uids and self._job(name) is None:
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
            next_after = parse_standard(schedule, zone if isinstance(zone, str) else "")
        except BadSchedule as bad:
            self._event("Warning", "UnparseableSchedule", f'unparseable schedule: "{schedule}" : {bad}')
            return None
        due = self._most_recent_schedule_time(next_after, now)
        if due is None:
            return next_after(now)
        deadline = dig(obj, "spec", "startingDeadlineSeconds")
        if isinstance(deadline, int) and add_seconds(due, deadline) < now:
            scheduled = due.astimezone(UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
            self._event("Warning", "MissSchedule", f"Missed scheduled time to start a job: {scheduled}")
        elif not self._has_started(due) and self._apply_concurrency_policy():
            self._create_job(due, zone if isinstance(zone, str) else "")
        return next_after(now)

    def _most_recent_schedule_time(self, next_after: _NextOf, now: datetime) -> datetime | None:
        """The last scheduled time without a Job. Mirrors `mostRecentScheduleTime`."""
        last = text(self._status.get("lastScheduleTime"))
        earliest = parse_time(last or text(dig(self._obj, "metadata", "creationTimestamp")))
        deadline = dig(self._obj, "spec", "startingDeadlineSeconds")
        if earliest is None:
            return None
        if isinstance(deadline, int):
            earliest = max(earliest, _subtract_seconds(now, deadline))
        first = next_after(earliest)
        if first is None or first > now:
            return None
        second = next_after(first)
        if second is None or second > now:
            return first
        interval = max((second - first).total_seconds(), 1)
        missed = int((now - first).total_seconds() // interval) + 1
        if missed > _MAX_MISSED:
            message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds"
            self._event("Warning", "TooManyMissedTimes", f"{message} or check clock skew")
        latest, when = first, next_after(add_seconds(first, (missed - 2) * interval))
        while when is not None and when <= now:
            latest, when = when, next_after(when)
        return latest

    def _has_started(self, due: datetime) -> bool:
        if self._status.get("lastScheduleTime") == format_time(due):
            return True
        return any(fields(active).get("name") == self._job_name(due) for active in self._active)

    def _apply_concurrency_policy(self) -> bool:
        """Applies the concurrency policy to running Jobs; false if no new Job may start."""
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
        scheduled_at = due.astimezone(time_zone(zone) or UTC).isoformat(timespec="seconds")
        annotations: Object = {
            **fields(template_meta.get("annotations")),
            _SCHEDULED_TIMESTAMP: scheduled_at.replace("+00:00", "Z"),
        }
        meta: Object = {
            "name": self._job_name(due),
            "namespace": namespace_of(obj),
            "annotations": annotations,
            "ownerReferences": [owner_reference(obj)],
        }
        if template_meta.get("labels"):
            meta["labels"] = template_meta["labels"]
        new_job: Object = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": meta,
            "spec": template.get("spec"),
        }
        try:
            job = self._client.create(new_job)
        except StatusError as error:
            if error.code == 409:
                existing = self._job(self._job_name(due))
                if existing is None or controller_of(existing).get("uid") != uid_of(obj):
                    return
                job = existing
            else:
                if not error.is_namespace_terminating:
                    self._event("Warning", "FailedCreate", f"Error creating job: {error.message}")
                raise
        else:
            self._event("Normal", "SuccessfulCreate", f"Created job {name_of(job)}")
        self._active.append(_reference(job))
        self._status["lastScheduleTime"] = format_time(due)

    def _cleanup_finished_jobs(self, jobs: list[Object]) -> None:
        """Deletes finished Jobs beyond the history limits, the oldest first."""
        for condition_type, key, default in (
            ("Complete", "successfulJobsHistoryLimit", 3),
            ("Failed", "failedJobsHistoryLimit", 1),
        ):
            limit = integer(dig(self._obj, "spec", key), default)
            finished = [
                job for job in jobs if _finished_condition(job) == condition_type and not is_terminating(job)
            ]
            finished.sort(key=lambda job: (text(dig(job, "status", "startTime"), "9"), name_of(job)))
            for job in finished[: max(len(finished) - limit, 0)]:
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
        new_status: Object = {"active": self._active, **status} if self._active else {**status}
        self._client.update_status(self._obj, new_status)

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
    """A function for the next activation after a time. Raises `BadSchedule`.

    Mirrors robfig/cron 3.0.1 `ParseStandard`, as Kubernetes 1.36 uses it: five fields, or a name such as
    `@daily`.
    """
    zone_prefix, space, expression = (
        schedule.partition(" ") if schedule.startswith(("TZ=", "CRON_TZ=")) else ("", "", schedule)
    )
    expression = expression.strip()
    if expression.startswith(_EVERY):
        interval = _every(expression.removeprefix(_EVERY))
        return lambda moment: moment.replace(microsecond=0) + interval
    if expression.startswith("@"):
        if expression not in _DESCRIPTORS:
            raise BadSchedule(f"unrecognized descriptor: {expression}")
        expression = _DESCRIPTORS[expression]
    prefix = f"{zone_prefix}{space}" if zone_prefix else f"TZ={zone} " if zone else ""
    parsed = parse_schedule(prefix + expression)
    return lambda moment: parsed.next_after(moment.astimezone(UTC))


def _every(duration: str) -> timedelta:
    try:
        seconds = parse_nanoseconds(duration) // 10**9
    except BadDuration as problem:
        raise BadSchedule(f"failed to parse duration {_EVERY}{duration}: {problem}") from None
    return timedelta(seconds=max(seconds, 1))
