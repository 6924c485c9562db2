"""What the status of a custom resource of any kind reports as a failure."""

from __future__ import annotations

import json

import pytest

from tests.shared import CONFORMANCE, needs_shared
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.status_failures import StatusFailure, status_failures, unrecognized_states
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.api.manifest import Manifest, Role


def condition(kind: str, status: str, reason: str = "", message: str = "", severity: str = "") -> Json:
    return {"type": kind, "status": status, "reason": reason, "message": message, "severity": severity}


def failures(status: Object) -> list[StatusFailure]:
    body: Object = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
        "status": status,
    }
    return list(status_failures(Manifest(body, role=Role.LIVE)))


@pytest.mark.parametrize(
    ("status", "pointer"),
    [
        ({"conditions": [condition("Ready", "False", "X", "no quota")]}, "/status/conditions/0/message"),
        ({"conditions": [condition("NotReady", "True", "X", "no quota")]}, "/status/conditions/0/message"),
        (
            {"conditions": [condition("SecretSynced", "False", "VaultClientError")]},
            "/status/conditions/0/reason",
        ),
        (
            {"conditions": [condition("Ready", "Unknown", "X", "triggers failed")]},
            "/status/conditions/0/message",
        ),
        ({"conditions": [condition("Complete", "True", "JobFailed", "no")]}, "/status/conditions/0/message"),
        (
            {"listeners": [{"conditions": [condition("ResolvedRefs", "False", "X", "no Secret")]}]},
            "/status/listeners/0/conditions/0/message",
        ),
        ({"phase": "FailedValidation", "validationErrors": ["no quota"]}, "/status/validationErrors/0"),
        ({"error": {"message": "no quota"}}, "/status/error/message"),
        ({"applied": False, "message": "no quota"}, "/status/message"),
        ({"phase": "Unable to create objects", "phaseReason": "no quota"}, "/status/phaseReason"),
        ({"applicationState": {"state": "FAILED"}}, "/status/applicationState/state"),
    ],
)
def test_a_failure_is_found_where_it_is_reported(status: Object, pointer: str) -> None:
    assert pointer in [failure.pointer for failure in failures(status)]


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"phase": "Running", "message": "all good"},
        {"conditions": [condition("Ready", "True", "Done", "all good")]},
        {"conditions": [condition("Ready", "False")]},
        {"conditions": [condition("Ready", "False", "X", "no quota", "Info")]},
        {"conditions": [condition("Paused", "False", "NotPaused", "it runs")]},
        {"conditions": [condition("Stalled", "False", "X", "it never failed")]},
        {"conditions": [condition("Ready", "False", "Suspended", "by a user")]},
        {"conditions": [condition("Ready", "True"), condition("BackupReady", "False", "None", "never made")]},
        {"ready": False},
    ],
)
def test_a_status_without_a_failure_has_none(status: Object) -> None:
    assert failures(status) == []


@needs_shared
def test_objects_that_argo_cd_calls_healthy_report_hardly_any_failure() -> None:
    """Three of the five are indeed wrong, and Argo CD's check does not read it."""
    wrong = [m.ref.kind for m in healthy_custom_resources() if any(status_failures(m))]
    assert len(wrong) <= 5, wrong


@needs_shared
def test_the_states_of_hardly_any_healthy_object_are_quoted() -> None:
    """As if Argo CD had no check for them; two of the four of some 230 have a problem indeed."""
    quoted = [m.ref.kind for m in healthy_custom_resources() if any(unrecognized_states(m))]
    assert len(quoted) <= 4, quoted


def healthy_custom_resources() -> list[Manifest]:
    lines = (CONFORMANCE / "health.jsonl").read_text("utf-8").splitlines()
    healthy = [entry["object"] for entry in map(json.loads, lines) if entry.get("status") == "Healthy"]
    manifests = [Manifest(fields(body), role=Role.LIVE) for body in healthy if fields(body)]
    return [manifest for manifest in manifests if not is_builtin(manifest.ref)]
