"""The texts in which Argo CD and Kubernetes say what went wrong, and where each of them stands.

The most telling place comes first: a resource's own result, then conditions, the operation's message,
health messages, events, and at last the logs of Argo CD itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from whysync.diagnosis.symptom import OPERATION, SymptomId, SymptomKind
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.parse import Message, understand

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

FAILED_PHASES = frozenset({"Failed", "Error"})
_ARGOCD_PODS = ("argocd-", "openshift-gitops-")
_LOUD = (
    "rror",
    "atal",
    "FATA[",
    "ERRO[",
    "level=warning",
    "ailed",
    "panic:",
    "Skipping auto-sync",
    "prevented",
)
_MOST_LOG_LINES = 200


class ReportedText(msgspec.Struct, frozen=True, kw_only=True):
    """`reason` is that of an event, empty for other texts."""

    text: str
    symptom: SymptomId
    reason: str = ""
    ref: Ref | None = None
    manifest: Manifest | None = None
    pointer: str = ""
    log: Log | None = None
    line: int = 0

    @property
    def message(self) -> Message:
        return understand(self.text, reason=self.reason)


def texts_of(case: Case) -> Iterator[ReportedText]:
    yield from _results(case)
    yield from _conditions(case)
    yield from _operation(case)
    yield from _row_health(case)
    yield from _events(case)
    yield from _refusals(case)
    yield from _argocd_logs(case)


def _results(case: Case) -> Iterator[ReportedText]:
    for index, result in enumerate(case.results):
        if result.message and (result.status == "SyncFailed" or result.hook_phase in FAILED_PHASES):
            yield ReportedText(
                text=result.message,
                symptom=SymptomId.result(result.key),
                ref=case.placed(result.ref),
                manifest=case.application,
                pointer=f"/status/operationState/syncResult/resources/{index}/message",
            )


def _conditions(case: Case) -> Iterator[ReportedText]:
    for index, condition in enumerate(case.app.status.conditions):
        if condition.message:
            yield ReportedText(
                text=_of_argocd(condition.type, condition.message),
                symptom=SymptomId.condition(condition.type, index),
                manifest=case.application,
                pointer=f"/status/conditions/{index}/message",
            )


def _of_argocd(type: str, message: str) -> str:
    """With the type in front, as Argo CD logs it: then a bare `dial tcp …:6379` is about its own Redis."""
    return message if message.startswith(type) or not type.endswith("Error") else f"{type}: {message}"


def _operation(case: Case) -> Iterator[ReportedText]:
    operation = case.operation
    if operation is not None and operation.message and operation.phase != "Succeeded":
        yield ReportedText(
            text=operation.message,
            symptom=OPERATION,
            manifest=case.application,
            pointer="/status/operationState/message",
        )


def _row_health(case: Case) -> Iterator[ReportedText]:
    for index, row in enumerate(case.app.status.resources):
        if row.health is not None and row.health.message and row.health.status != "Healthy":
            yield ReportedText(
                text=row.health.message,
                symptom=SymptomId.unhealthy(row.key),
                ref=row.ref,
                manifest=case.application,
                pointer=f"/status/resources/{index}/health/message",
            )


def _events(case: Case) -> Iterator[ReportedText]:
    namespaces = {case.destination_namespace, *(row.namespace for row in case.app.status.resources)}
    warnings = case.world.warnings_by_namespace
    for manifest, event in (found for name in sorted(namespaces) for found in warnings.get(name, ())):
        if not case.is_part(event.about):
            continue
        yield ReportedText(
            text=event.says,
            symptom=SymptomId(SymptomKind.EVENT, detail=manifest.ref.place),
            reason=event.reason,
            ref=event.about,
            manifest=manifest,
            pointer="/message" if event.message else "/note",
        )


def _refusals(case: Case) -> Iterator[ReportedText]:
    """Why a Deployment lacks Pods: events say it for an hour, its status for as long as it lasts."""
    for row in case.app.status.resources:
        live = case.live_of(row.key) if row.kind in ("Deployment", "ReplicaSet") else None
        for index, raw in enumerate(items(live.status.get("conditions")) if live is not None else ()):
            condition = fields(raw)
            if (condition.get("type"), condition.get("status")) == ("ReplicaFailure", "True"):
                yield ReportedText(
                    text=text(condition.get("message")),
                    symptom=SymptomId.unhealthy(row.key),
                    ref=row.ref,
                    manifest=live,
                    pointer=f"/status/conditions/{index}/message",
                )


def _argocd_logs(case: Case) -> Iterator[ReportedText]:
    """Only loud lines, and only those that do not name another Application."""
    for log in case.world.snapshot.logs:
        if not log.pod.startswith(_ARGOCD_PODS):
            continue
        loud = [
            (number, line)
            for number, line in enumerate(log.lines, start=1)
            if any(mark in line for mark in _LOUD) or len(log.lines) == 1
        ]
        for number, line in loud[-_MOST_LOG_LINES:]:
            if _names_another_app(line, case.app.name):
                continue
            symptom = SymptomId(SymptomKind.LOG, detail=f"{log.pod}/{log.container}", number=number)
            yield ReportedText(text=line, symptom=symptom, log=log, line=number)


def _names_another_app(line: str, name: str) -> bool:
    plain = line.replace('"', "")
    return "application=" in plain and f"application={name}" not in plain and f"/{name}" not in plain
