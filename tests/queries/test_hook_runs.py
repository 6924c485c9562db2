"""Hooks: what their settings lack."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of
from whysync.json_tree import Object
from whysync.kubernetes.api.ref import Ref
from whysync.queries.hook_runs import missing_safeguards

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
