"""Hooks: what their settings lack."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of
from whysync.argocd.api.application import ResourceResult
from whysync.json_tree import Object
from whysync.kubernetes.api.ref import Ref
from whysync.queries.hook_runs import missing_safeguards, was_never_created

MIGRATE = Ref(group="batch", version="v1", kind="Job", namespace="shop", name="migrate")


@pytest.mark.parametrize(
    ("spec", "title"),
    [
        ({}, "Prevention: set a deadline"),
        ({"ttlSecondsAfterFinished": 60}, "Prevention: set a deadline and remove ttlSecondsAfterFinished"),
        (
            {"ttlSecondsAfterFinished": 60, "activeDeadlineSeconds": 600},
            "Prevention: remove ttlSecondsAfterFinished",
        ),
    ],
)
def test_the_title_names_what_the_fix_changes(spec: Object, title: str) -> None:
    job: Object = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "migrate",
            "namespace": "shop",
            "annotations": {"whysync.dev/role": "desired"},
        },
        "spec": spec,
    }
    found = missing_safeguards(case_of(application(), job), MIGRATE)
    assert found is not None
    fix = found.fix()
    assert fix.title == title
    assert bool(fix.risk) is ("deadline" in title)


@pytest.mark.parametrize(
    ("message", "never_created"),
    [
        (
            'Job.batch "migrate" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added'
            " if the object is being deleted, found new finalizers"
            ' []string{"argocd.argoproj.io/hook-finalizer"}',
            True,
        ),
        (
            'jobs.batch "migrate" is forbidden: exceeded quota: jobs, requested: count/jobs.batch=1, used:'
            " count/jobs.batch=5, limited: count/jobs.batch=5",
            True,
        ),
        ("metadata.annotations: Too long: must have at most 262144 bytes", True),
        ("Job has reached the specified backoff limit", False),
    ],
)
def test_a_refused_hook_never_ran(message: str, *, never_created: bool) -> None:
    result = ResourceResult(kind="Job", name="migrate", namespace="shop", message=message)
    assert was_never_created(result) is never_created
