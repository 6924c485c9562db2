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
    Denied,
    is_leaving,
    name_of,
    namespace_of,
    owner_reference,
    uid_of,
)
from whysync.kubernetes.controllers.conditions import after, instant, is_true, stamped
from whysync.kubernetes.controllers.controller import Key, QueueController
from whysync.kubernetes.controllers.object_index import controller_of

_COMPONENT: Final = "cronjob-controller"
_SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_MANY: Final = 100
_NextOf = Callable[[datetime], datetime | None]


class CronJobController(QueueController):
    name = "cronjob"
    main = CRON_JOBS
    owner_kind = "CronJob"
    dependents = frozenset({JOBS})

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._backoff = Backoff()

    def gone(self, key: Key) -> None:
        self._backoff.forget(key)

    def sync(self, obj: Object) -> None:
        key = (namespace_of(obj), name_of(obj))
        cron_round = _Round(self.client, obj)
        try:
            when = cron_round.sync_cron_job()
        except Denied:
            self.later(obj, self._backoff.next(key))
            return
        self._backoff.forget(key)
        if when is not None:
            self.later_at(obj, max(when, after(self.client.now, 1)))


class _Round:
    def __init__(self, client: Client, obj: Object) -> None:
        self._client = client
        self._obj = obj
        self._status = dict(fields(obj.get("status")))
        self._active: list[Json] = list(items(self._status.get("active")))

    def sync_cron_job(self) -> datetime | None:
        """When to look again."""
        jobs = self._client.owned(JOBS, self._obj)
        self._note(jobs)
        try:
            when = self._started()
        finally:
            self._cleanup_finished_jobs(self._client.owned(JOBS, self._obj))
            self._write()
        return when

    def _note(self, jobs: list[Object]) -> None:
        """What has become of the Jobs."""
        for job in jobs:
            listed = any(fields(active).get("uid") == uid_of(job) for active in self._active)
            end = _end_of(job)
            if not end:
                if not listed:
                    message = f"Saw a job that the controller did not create or forgot: {name_of(job)}"
                    self._event("Warning", "UnexpectedJob", message)
                continue
            if listed:
                self._forget(uid_of(job))
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
                self._forget(text(reference.get("uid")))

    def _started(self) -> datetime | None:
        obj, now = self._obj, self._client.now
        if is_leaving(obj):
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
        if isinstance(late, int) and after(due, late) < now:
            scheduled = due.astimezone(UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
            self._event("Warning", "MissSchedule", f"Missed scheduled time to start a job: {scheduled}")
        elif not self._is_started(due) and self._makes_room():
            self._create(due, zone if isinstance(zone, str) else "")
        return following(now)

    def _most_recent_schedule_time(self, following: _NextOf, now: datetime) -> datetime | None:
        """The last time that the schedule named and no Job was made for; mirrors `mostRecentScheduleTime`."""
        last = text(self._status.get("lastScheduleTime"))
        earliest = instant(last or text(dig(self._obj, "metadata", "creationTimestamp")))
        late = dig(self._obj, "spec", "startingDeadlineSeconds")
        if earliest is None:
            return None
        if isinstance(late, int):
            earliest = max(earliest, _before(now, late))
        first = following(earliest)
        if first is None or first > now:
            return None
        second = following(first)
        if second is None or second > now:
            return first
        between = max((second - first).total_seconds(), 1)
        missed = int((now - first).total_seconds() // between) + 1
        if missed > _MANY:
            message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds"
            self._event("Warning", "TooManyMissedTimes", f"{message} or check clock skew")
        latest, when = first, following(after(first, (missed - 2) * between))
        while when is not None and when <= now:
            latest, when = when, following(when)
        return latest

    def _is_started(self, due: datetime) -> bool:
        if self._status.get("lastScheduleTime") == stamped(due):
            return True
        return any(fields(active).get("name") == self._name(due) for active in self._active)

    def _makes_room(self) -> bool:
        """Applies the concurrency policy to Jobs that still run."""
        policy = dig(self._obj, "spec", "concurrencyPolicy")
        if policy == "Forbid" and self._active:
            message = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._event("Normal", "JobAlreadyActive", message)
            return False
        if policy == "Replace":
            for raw in list(self._active):
                job = self._job(text(fields(raw).get("name")))
                if job is not None and not self._delete(job):
                    return False
        return True

    def _create(self, due: datetime, zone: str) -> None:
        obj = self._obj
        template = fields(dig(obj, "spec", "jobTemplate"))
        template_meta = fields(template.get("metadata"))
        local = due.astimezone(time_zone(zone) or UTC).isoformat(timespec="seconds")
        annotations: Object = {
            **fields(template_meta.get("annotations")),
            _SCHEDULED: local.replace("+00:00", "Z"),
        }
        meta: Object = {
            "name": self._name(due),
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
        except Denied as denied:
            if denied.code == 409:
                there = self._job(self._name(due))
                if there is None or controller_of(there).get("uid") != uid_of(obj):
                    return
                job = there
            else:
                if "because it is being terminated" not in denied.message:
                    self._event("Warning", "FailedCreate", f"Error creating job: {denied.message}")
                raise
        else:
            self._event("Normal", "SuccessfulCreate", f"Created job {name_of(job)}")
        self._active.append(_reference(job))
        self._status["lastScheduleTime"] = stamped(due)

    def _cleanup_finished_jobs(self, jobs: list[Object]) -> None:
        """Finished Jobs beyond the limits of the history go, the oldest first."""
        for end, key, usual in (
            ("Complete", "successfulJobsHistoryLimit", 3),
            ("Failed", "failedJobsHistoryLimit", 1),
        ):
            limit = integer(dig(self._obj, "spec", key), usual)
            ended = [job for job in jobs if _end_of(job) == end and not is_leaving(job)]
            ended.sort(key=lambda job: (text(dig(job, "status", "startTime"), "9"), name_of(job)))
            for job in ended[: max(len(ended) - limit, 0)]:
                self._delete(job)

    def _delete(self, job: Object) -> bool:
        try:
            self._client.delete(job)
        except Denied as denied:
            if denied.code != 404:
                self._event("Warning", "FailedDelete", f"Deleted job: {denied.message}")
                return False
        self._forget(uid_of(job))
        self._event("Normal", "SuccessfulDelete", f"Deleted job {name_of(job)}")
        return True

    def _write(self) -> None:
        status = {key: value for key, value in self._status.items() if key != "active"}
        new: Object = {"active": self._active, **status} if self._active else {**status}
        self._client.update_status(self._obj, new)

    def _forget(self, uid: str) -> None:
        self._active = [reference for reference in self._active if fields(reference).get("uid") != uid]

    def _job(self, name: str) -> Object | None:
        return self._client.get(JOBS, namespace_of(self._obj), name)

    def _name(self, due: datetime) -> str:
        return f"{name_of(self._obj)}-{int(due.timestamp()) // 60}"

    def _event(self, type: str, reason: str, message: str) -> None:
        self._client.event(self._obj, type, reason, message, _COMPONENT)


def _before(when: datetime, seconds: int) -> datetime:
    try:
        return when - timedelta(seconds=seconds)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _end_of(job: Object) -> str:
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


_NAMED: Final = {
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
        if rest not in _NAMED:
            raise BadSchedule(f"unrecognized descriptor: {rest}")
        rest = _NAMED[rest]
    lead = f"{head}{space}" if head else f"TZ={zone} " if zone else ""
    parsed = parse_schedule(lead + rest)
    return lambda moment: parsed.next_after(moment.astimezone(UTC))


def _every(text: str) -> timedelta:
    try:
        seconds = parse_nanoseconds(text) // 10**9
    except BadDuration as problem:
        raise BadSchedule(f"failed to parse duration {_EVERY}{text}: {problem}") from None
    return timedelta(seconds=max(seconds, 1))
