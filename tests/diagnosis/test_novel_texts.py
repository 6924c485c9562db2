"""A text that nobody has seen before, in each place of the facts: it is quoted under its object."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.situations import REVISION, application, case_of, row
from whysync.cli.exits import Exit, exit_of
from whysync.diagnosis.report import Report
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose
from whysync.json_tree import Json, Object
from whysync.reports import diagnose_text
from whysync.reports.terminal import Terminal

NOVEL = "the flux capacitor went sideways"
Facts = tuple[Object, ...]

DEPLOYMENT: Object = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "generation": 1},
    "spec": {"replicas": 1},
    "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1},
}


def available_since(time: str) -> Object:
    condition: Object = {"type": "Available", "status": "True", "lastTransitionTime": time}
    status: Object = {
        "observedGeneration": 1,
        "replicas": 1,
        "updatedReplicas": 1,
        "readyReplicas": 1,
        "availableReplicas": 1,
        "conditions": [condition],
    }
    return {**DEPLOYMENT, "status": status}


HEALTHY = available_since("2026-03-02T03:00:00Z")


def operation(phase: str, message: str = "", results: list[Json] | None = None) -> Object:
    ended: Object = {} if phase == "Running" else {"finishedAt": "2026-03-02T03:05:00Z"}
    return {
        "phase": phase,
        "message": message,
        "startedAt": "2026-03-02T03:04:00Z",
        "syncResult": {"revision": REVISION, "resources": results or []},
        **ended,
    }


def report_of(facts: Facts) -> Report:
    return Report(apps=(diagnose(case_of(*facts), diagnosis_rules()),), groups=())


def shown(facts: Facts) -> str:
    text = diagnose_text.render(report_of(facts), Terminal(width=300))
    return " ".join(text.split())


def condition(type: str) -> Facts:
    return (application(status={"conditions": [{"type": type, "message": NOVEL}]}),)


def of_operation(phase: str) -> Facts:
    return (application(status={"operationState": operation(phase, NOVEL)}),)


def result(status: str, phase: str) -> Facts:
    entry: Object = {
        "version": "v1",
        "kind": "ConfigMap",
        "namespace": "shop",
        "name": "settings",
        "message": NOVEL,
        "syncPhase": "Sync",
        **({"status": status} if status else {}),
    }
    status_of_app: Object = {
        "resources": [row("ConfigMap", "settings")],
        "operationState": operation(phase, "", [entry]),
    }
    return (application(status=status_of_app),)


def hook(phase: str) -> Facts:
    entry: Object = {
        "group": "batch",
        "version": "v1",
        "kind": "Job",
        "namespace": "shop",
        "name": "migrate",
        "message": NOVEL,
        "syncPhase": "PreSync",
        "hookType": "PreSync",
        "hookPhase": phase,
    }
    ended = "Failed" if phase in ("Failed", "Error") else "Running"
    return (application(sync="OutOfSync", status={"operationState": operation(ended, "", [entry])}),)


def health(code: str) -> Facts:
    rows: list[Json] = [
        row(
            "Deployment",
            "web",
            "OutOfSync" if code == "Missing" else "Synced",
            health={"status": code, "message": NOVEL},
        )
    ]
    return (application(sync="OutOfSync", health=code, status={"resources": rows}),)


def event(about: Object, *facts: Object, reason: str = "Odd", message: str = NOVEL, **more: Json) -> Facts:
    namespace = about.get("namespace") or "default"
    rows: list[Json] = [row("Deployment", "web", health={"status": "Healthy"})]
    sent: Object = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "odd.1", "namespace": namespace},
        "type": "Warning",
        "reason": reason,
        "message": message,
        "lastTimestamp": "2026-03-02T03:09:00Z",
        "involvedObject": about,
        **more,
    }
    return (application(status={"resources": rows}), *facts, sent)


WEB: Object = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"}


def pod(**status: Json) -> Facts:
    rows: list[Json] = [row("Deployment", "web", health={"status": "Degraded"})]
    owner: Object = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "1"}
    body: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web-1", "namespace": "shop", "ownerReferences": [owner]},
        "status": {**status},
    }
    return application(health="Degraded", status={"resources": rows}), DEPLOYMENT, body


def container(group: str, run: str, state: str, **more: Json) -> Facts:
    report: Object = {"reason": "Odd", "message": NOVEL, **more}
    states: Object = {state: report}
    container_status: Object = {"name": "web", "ready": False, run: states}
    statuses: list[Json] = [container_status]
    return pod(**{group: statuses})


def live(kind: str, code: str, *, api: str = "example.com/v1", **status: Json) -> Facts:
    group = api.partition("/")[0] if "/" in api else ""
    health: Object = {"health": {"status": code}} if code else {}
    rows: list[Json] = [{**row(kind, "w", group=group), **health}]
    body: Object = {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": "w", "namespace": "shop", "generation": 1},
        "status": {**status},
    }
    return application(health=code or "Healthy", status={"resources": rows}), body


def conditions(type: str, status: str) -> list[Json]:
    return [{"type": type, "status": status, "reason": "Odd", "message": NOVEL}]


PLACES: dict[str, tuple[str, Callable[[], Facts]]] = {
    **{
        f"condition {type}": ("Application argocd/shop", lambda type=type: condition(type))
        for type in (
            "ComparisonError",
            "InvalidSpecError",
            "SyncError",
            "DeletionError",
            "SomethingNewWarning",
        )
    },
    **{
        f"operation {phase}": ("Application argocd/shop", lambda phase=phase: of_operation(phase))
        for phase in ("Failed", "Error", "Running", "Terminating", "Succeeded")
    },
    **{
        f"result {status or 'without status'} of a sync {phase}": (
            "ConfigMap shop/settings",
            lambda status=status, phase=phase: result(status, phase),
        )
        for status in ("Synced", "SyncFailed", "Pruned", "PruneSkipped", "")
        for phase in ("Failed", "Running", "Succeeded")
    },
    **{
        f"hook {phase}": ("Job shop/migrate", lambda phase=phase: hook(phase))
        for phase in ("Running", "Failed", "Error")
    },
    **{
        f"health {code}": ("Deployment shop/web", lambda code=code: health(code))
        for code in ("Degraded", "Missing", "Progressing", "Unknown")
    },
    "event of a healthy object": ("Deployment shop/web", lambda: event(WEB, HEALTHY)),
    "event without the object": ("Deployment shop/web", lambda: event(WEB)),
    "event of the newer API": (
        "Deployment shop/web",
        lambda: event(
            WEB, HEALTHY, lastTimestamp=None, series={"count": 3, "lastObservedTime": "2026-03-02T03:09:00Z"}
        ),
    ),
    "event of the Application": (
        "Application argocd/shop",
        lambda: event(
            {
                "apiVersion": "argoproj.io/v1alpha1",
                "kind": "Application",
                "namespace": "argocd",
                "name": "shop",
            }
        ),
    ),
    "reason of an event": (
        "Deployment shop/web",
        lambda: event(WEB, HEALTHY, reason=f"Odd: {NOVEL}", message=""),
    ),
    **{
        f"{group} {run} {state}": (
            "Pod shop/web-1",
            lambda group=group, run=run, state=state: container(
                group, run, state, **({"exitCode": 3} if state == "terminated" else {})
            ),
        )
        for group in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
        for run in ("state", "lastState")
        for state in ("waiting", "terminated")
    },
    "last words of a container that ended well": (
        "Pod shop/web-1",
        lambda: container("containerStatuses", "state", "terminated", exitCode=0),
    ),
    "Pod status": ("Pod shop/web-1", lambda: pod(phase="Failed", reason="Odd", message=NOVEL)),
    "condition of a Pod": ("Pod shop/web-1", lambda: pod(conditions=conditions("PodScheduled", "False"))),
    "readiness gate": (
        "Pod shop/web-1",
        lambda: pod(conditions=conditions("example.com/registered", "False")),
    ),
    "Ready False": ("Widget shop/w", lambda: live("Widget", "", conditions=conditions("Ready", "False"))),
    "Ready Unknown": ("Widget shop/w", lambda: live("Widget", "", conditions=conditions("Ready", "Unknown"))),
    "Stalled": ("Widget shop/w", lambda: live("Widget", "", conditions=conditions("Stalled", "True"))),
    "unknown condition of a Degraded object": (
        "Widget shop/w",
        lambda: live("Widget", "Degraded", conditions=conditions("FluxAligned", "False")),
    ),
    **{
        f"unknown condition {status}": (
            "Widget shop/w",
            lambda status=status: live("Widget", "", conditions=conditions("FluxAligned", status)),
        )
        for status in ("False", "Unknown")
    },
    "unknown condition True": (
        "Widget shop/w",
        lambda: live("Widget", "", conditions=conditions("FluxLost", "True")),
    ),
    "unknown phase": ("Widget shop/w", lambda: live("Widget", "", phase="Sideways", message=NOVEL)),
    "phase": ("Widget shop/w", lambda: live("Widget", "", phase="Failed", message=NOVEL)),
    "error field": ("Widget shop/w", lambda: live("Widget", "", error=NOVEL)),
    "listener of a Gateway": (
        "Gateway shop/w",
        lambda: live(
            "Gateway",
            "",
            api="gateway.networking.k8s.io/v1",
            listeners=[{"name": "http", "conditions": conditions("ResolvedRefs", "False")}],
        ),
    ),
    "claim that cannot be resized": (
        "PersistentVolumeClaim shop/w",
        lambda: live(
            "PersistentVolumeClaim",
            "Healthy",
            api="v1",
            phase="Bound",
            conditions=conditions("NodeResizeError", "True"),
        ),
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_novel_text_is_quoted_under_its_object(place: str) -> None:
    about, facts = PLACES[place]
    text = shown(facts())
    assert NOVEL in text
    assert about in text
    assert exit_of(report_of(facts()), fail_on="warning") is Exit.FOUND


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(health("Healthy"), id="health message of a Healthy resource"),
        pytest.param(hook("Succeeded"), id="health message of a hook that succeeded"),
        pytest.param(
            event(WEB, available_since("2026-03-02T03:09:30Z")),
            id="event before the object became available",
        ),
        pytest.param(event(WEB, HEALTHY, lastTimestamp="2026-03-02T02:00:00Z"), id="event of another hour"),
    ],
)
def test_what_is_over_or_reports_success_is_not(facts: Facts) -> None:
    assert NOVEL not in shown(facts)


def test_a_health_message_about_progress_does_not_stop_the_advice_to_wait() -> None:
    rows: list[Json] = [
        row("Deployment", "web", health={"status": "Progressing", "message": "Provisioning the disk"})
    ]
    status: Object = {"resources": rows, "operationState": operation("Succeeded")}
    report = report_of((application(health="Progressing", status=status),))
    assert [finding.rule for finding in report.apps[0].findings] == ["rollout_in_progress"]
    assert report.apps[0].not_understood == ()
    assert exit_of(report, fail_on="warning") is Exit.OK


def test_a_novel_health_message_does() -> None:
    rows: list[Json] = [row("Deployment", "web", health={"status": "Progressing", "message": NOVEL})]
    status: Object = {"resources": rows, "operationState": operation("Succeeded")}
    report = report_of((application(health="Progressing", status=status),))
    assert report.apps[0].findings == ()
