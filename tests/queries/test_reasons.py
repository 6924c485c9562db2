"""The reason that an object reports, of kinds that nobody knows here too."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.queries.reasons import is_ready, reason_of


def widget(**status: Json) -> Object:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "blue", "namespace": "shop"},
        "status": status,
    }


def condition(type: str, status: str, message: str = "", **more: Json) -> Object:
    return {"type": type, "status": status, "message": message, **more}


def warning(message: str, *, reason: str = "UpdateFailed", type: str = "Warning") -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"blue.{len(message)}", "namespace": "shop"},
        "type": type,
        "reason": reason,
        "message": message,
        "involvedObject": {"kind": "Widget", "name": "blue", "namespace": "shop"},
    }


def reason(body: Object, *events: Object) -> str | None:
    case = case_of(application(), body, *events)
    manifest = Manifest(body, role=Role.LIVE)
    result = reason_of(case, manifest.ref, manifest)
    return result.text if result is not None else None


def ready(body: Object) -> bool:
    return is_ready(case_of(application(), body), Manifest(body, role=Role.LIVE))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (widget(conditions=[condition("Ready", "False", "no such bucket")]), "no such bucket"),
        (widget(conditions=[condition("Ready", "Unknown", "still looking")]), "still looking"),
        (widget(conditions=[condition("Stalled", "True", "quota reached")]), "quota reached"),
        (widget(conditions=[condition("BackupFailed", "True", "disk full")]), "disk full"),
        (widget(conditions=[condition("Ready", "False", reason="NoBucket")]), "NoBucket"),
        (widget(conditions=[condition("DNSConfigured", "False", "no zone")]), "no zone"),
        (widget(phase="Failed", message="bad spec"), "bad spec"),
        (widget(phase="Failed", reason="Evicted", message="out of disk"), "Evicted: out of disk"),
        (widget(phase="Failed"), "phase is Failed"),
        (widget(state="pending", reason="wrong status code 404"), "wrong status code 404"),
        (widget(lastError="connection refused"), "connection refused"),
        (
            widget(
                phase="Failed", metrics=[{"name": "errors", "phase": "Failed", "message": "5 % is over 1 %"}]
            ),
            "errors: 5 % is over 1 %",
        ),
        (
            widget(
                phase="Error",
                nodes={"a": {"displayName": "build", "phase": "Error", "message": "exit code 2"}},
            ),
            "build: exit code 2",
        ),
    ],
)
def test_an_object_that_is_not_ready_reports_why(body: Object, expected: str) -> None:
    assert reason(body) == expected
    assert not ready(body)


@pytest.mark.parametrize(
    "body",
    [
        widget(),
        widget(conditions=[condition("Ready", "True", "all is well")]),
        widget(conditions=[condition("Stalled", "False", "no trouble")]),
        widget(conditions=[condition("Reconciling", "False", "done")]),
        widget(conditions=[condition("Progressing", "False", "nothing to do", reason="AsExpected")]),
        widget(conditions=[condition("Active", "False", "no traffic")]),
        widget(conditions=[condition("Ready", "False", "not now", severity="Info")]),
        widget(phase="Running", message="3 of 3 members"),
        widget(state="valid"),
    ],
)
def test_an_object_that_is_ready_reports_nothing(body: Object) -> None:
    assert ready(body)
    assert reason(body, warning("an old quarrel")) is None


def test_a_phase_on_the_way_is_not_ready_and_is_no_reason() -> None:
    assert not ready(widget(phase="Creating"))
    assert reason(widget(phase="Creating")) is None


def test_the_event_that_says_more_than_the_condition_counts() -> None:
    body = widget(conditions=[condition("Ready", "False", "could not update")])
    assert reason(body, warning("could not update: access denied to bucket blue")) == (
        "could not update: access denied to bucket blue"
    )
    assert reason(body, warning("Back-off again and again", reason="BackOff")) == "could not update"
    assert reason(body, warning("nothing is wrong here at all", type="Normal")) == "could not update"
