"""Jobs and CronJobs: done, failed, late, put off, cleaned up."""

from __future__ import annotations

import pytest

from tests.kubernetes.controllers.playground import Playground
from tests.kubernetes.controllers.workloads import condition, counts, cron_job, job, owned, patched, pods_of
from whysync.golang.cron import BadSchedule
from whysync.json_tree import Json, Object, dig, items, text
from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.controllers.behavior import PodBehavior
from whysync.kubernetes.controllers.conditions import parse_time
from whysync.kubernetes.controllers.cronjob import parse_standard
from whysync.kubernetes.controllers.job_pods import format_indexes, parse_indexes

FAILS = PodBehavior(runs_seconds=1, exit_code=3, pull_seconds=0, start_seconds=0)
HANGS = PodBehavior(runs_seconds=100_000)
PATH = "/apis/batch/v1/namespaces/shop/jobs/migrate"


def live_job(play: Playground, name: str = "migrate") -> Object:
    return play.get("jobs", name, group="batch")


def health(play: Playground, name: str = "migrate") -> str:
    return play.health("jobs", name, group="batch")


def test_a_job_completes() -> None:
    play = Playground()
    play.create(job())
    play.run(1)
    assert counts(live_job(play), "active") == (1,)
    (pod,) = pods_of(play, "migrate")
    assert items(dig(pod, "metadata", "finalizers")) == ["batch.kubernetes.io/job-tracking"]
    assert health(play) == "Progressing"
    play.run(60)
    why = ("True", "CompletionsReached", "Reached expected number of succeeded pods")
    assert condition(live_job(play), "SuccessCriteriaMet") == why
    assert condition(live_job(play), "Complete") == why
    assert counts(live_job(play), "succeeded", "failed", "active", "ready") == (1, 0, 0, 0)
    assert dig(live_job(play), "status", "completionTime")
    (pod,) = pods_of(play, "migrate")
    assert not dig(pod, "metadata", "finalizers")
    assert health(play) == "Healthy"
    assert [reason for _, reason, _ in play.events("migrate")] == ["SuccessfulCreate", "Completed"]


def test_a_failing_job_tries_again_ever_later_and_gives_up() -> None:
    play = Playground(FAILS)
    play.create(job(backoffLimit=2))
    play.run(600)
    why = ("True", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    assert condition(live_job(play), "FailureTarget") == why
    assert condition(live_job(play), "Failed") == why
    assert counts(live_job(play), "failed", "succeeded") == (3, 0)
    born = sorted(
        moment.timestamp()
        for pod in pods_of(play, "migrate")
        if (moment := parse_time(text(dig(pod, "metadata", "creationTimestamp")))) is not None
    )
    first, second = born[1] - born[0], born[2] - born[1]
    assert 10 <= first <= 13
    assert 20 <= second <= 23
    assert health(play) == "Degraded"


def test_a_deadline_ends_a_job_that_hangs() -> None:
    play = Playground(HANGS)
    play.create(job(activeDeadlineSeconds=60))
    play.run(59)
    assert health(play) == "Progressing"
    play.run(120)
    why = ("True", "DeadlineExceeded", "Job was active longer than specified deadline")
    assert condition(live_job(play), "Failed") == why
    assert counts(live_job(play), "active") == (0,)
    assert health(play) == "Degraded"


def test_a_finished_job_goes_after_its_time() -> None:
    play = Playground()
    play.create(job(ttlSecondsAfterFinished=100))
    play.run(60)
    assert live_job(play)
    play.run(120)
    assert play.find("jobs", "migrate", group="batch") is None
    assert pods_of(play, "migrate") == []


def test_a_suspended_job_waits() -> None:
    play = Playground()
    play.create(job(suspend=True))
    play.run(60)
    assert pods_of(play, "migrate") == []
    assert condition(live_job(play), "Suspended")[:2] == ("True", "JobSuspended")
    assert health(play) == "Suspended"
    patched(play, PATH, {"spec": {"suspend": False}})
    play.run(60)
    assert condition(live_job(play), "Suspended")[:2] == ("False", "JobResumed")
    assert health(play) == "Healthy"


def test_completions_in_parallel() -> None:
    play = Playground()
    play.create(job(completions=5, parallelism=2))
    most = 0
    for _ in range(60):
        play.run(1)
        most = max(most, *counts(live_job(play), "active"))
    assert most == 2
    assert counts(live_job(play), "succeeded") == (5,)
    assert len(pods_of(play, "migrate")) == 5


def test_an_indexed_job_numbers_its_pods() -> None:
    play = Playground()
    play.create(job(completions=3, parallelism=3, completionMode="Indexed"))
    play.run(60)
    assert dig(live_job(play), "status", "completedIndexes") == "0-2"
    hosts = {text(dig(pod, "spec", "hostname")) for pod in pods_of(play, "migrate")}
    assert hosts == {"migrate-0", "migrate-1", "migrate-2"}
    assert health(play) == "Healthy"


def test_a_policy_ends_the_job_at_once() -> None:
    rules: list[Json] = [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [3]}}]
    play = Playground(FAILS)
    play.create(job(podFailurePolicy={"rules": rules}))
    play.run(60)
    status, reason, message = condition(live_job(play), "Failed")
    assert (status, reason) == ("True", "PodFailurePolicy")
    assert message.endswith("failed with exit code 3 matching FailJob rule at index 0")
    assert counts(live_job(play), "failed") == (1,)


def test_restarts_in_place_count_too() -> None:
    play = Playground(FAILS)
    play.create(job(restart="OnFailure", backoffLimit=2))
    play.run(900)
    assert condition(live_job(play), "Failed")[1] == "BackoffLimitExceeded"
    assert pods_of(play, "migrate") == []


def test_pods_of_a_deleted_job_are_deleted() -> None:
    play = Playground(HANGS)
    play.create(job())
    play.run(30)
    served = "/apis/batch/v1/namespaces/shop/jobs/migrate"
    body: Object = {"propagationPolicy": "Background"}
    assert play.api_server.send(Request(verb="delete", path=served, body=body)).ok
    play.run(120)
    assert [obj for _, obj in play.api_server.store.within(("", "pods"))] == []


def jobs_of(play: Playground) -> list[Object]:
    return owned(play, "batch", "jobs", "nightly")


def test_a_cron_job_starts_a_job_at_its_time() -> None:
    play = Playground()
    play.create(cron_job())
    play.run(299)
    assert jobs_of(play) == []
    play.run(2)
    (created,) = jobs_of(play)
    minute = int(play.api_server.clock.now.timestamp()) // 60
    assert dig(created, "metadata", "name") == f"nightly-{minute}"
    nightly = play.get("cronjobs", "nightly", group="batch")
    assert len(items(dig(nightly, "status", "active"))) == 1
    play.run(60)
    nightly = play.get("cronjobs", "nightly", group="batch")
    assert not items(dig(nightly, "status", "active"))
    assert dig(nightly, "status", "lastSuccessfulTime")
    play.run(3600)
    assert len(jobs_of(play)) == 3


def test_failed_jobs_are_kept_once() -> None:
    play = Playground(FAILS)
    body = cron_job()
    play.create(body)
    patched(
        play,
        "/apis/batch/v1/namespaces/shop/cronjobs/nightly",
        {"spec": {"jobTemplate": {"spec": {"backoffLimit": 0}}}},
    )
    play.run(1900)
    assert len(jobs_of(play)) == 1
    assert condition(jobs_of(play)[0], "Failed")[0] == "True"


@pytest.mark.parametrize(("policy", "count"), [("Allow", 3), ("Forbid", 1), ("Replace", 1)])
def test_jobs_that_still_run(policy: str, count: int) -> None:
    play = Playground(HANGS)
    play.create(cron_job(concurrencyPolicy=policy))
    play.run(1000)
    assert len(jobs_of(play)) == count
    reasons = {reason for _, reason, _ in play.events("nightly")}
    assert ("JobAlreadyActive" in reasons) == (policy == "Forbid")


def test_a_suspended_cron_job_starts_nothing() -> None:
    play = Playground()
    play.create(cron_job(suspend=True))
    play.run(1000)
    assert jobs_of(play) == []


def test_short_names_of_schedules() -> None:
    start = parse_time("2026-01-01T00:00:30Z")
    assert start is not None
    assert parse_standard("@hourly", "")(start) == parse_time("2026-01-01T01:00:00Z")
    assert parse_standard("@every 1h30m", "")(start) == parse_time("2026-01-01T01:30:30Z")
    assert parse_standard("0 9 * * *", "Europe/Berlin")(start) == parse_time("2026-01-01T08:00:00Z")
    for bad in ("@sometimes", "@every soon", "* * *"):
        with pytest.raises(BadSchedule):
            parse_standard(bad, "")


def test_indexes_are_written_as_ranges() -> None:
    assert format_indexes({0, 1, 2, 5, 7, 8}) == "0-2,5,7,8"
    assert parse_indexes("0-2,5,7,8") == {0, 1, 2, 5, 7, 8}
