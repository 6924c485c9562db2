"""Every text in which Argo CD or Kubernetes reports a problem, with the place where it was read.

The place closest to the resource comes first: its own sync result, then conditions of the Application,
the operation's message, health messages, events, the states of live objects and their containers, and last
the logs of Argo CD and of failed containers. Nothing is judged here: `symptoms` decides what is current.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from whysync.diagnosis.current_health import proof_of_current_health
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.owning_resource import owning_row_of
from whysync.diagnosis.pods import log_root_cause, logs_below
from whysync.diagnosis.symptom import (
    APP_UNHEALTHY,
    HYDRATION,
    MESSAGE_OF_SUCCESS,
    OPERATION,
    SymptomId,
    SymptomKind,
)
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key, Ref
from whysync.messages.failed_step import EVENT_FAMILIES, Family
from whysync.messages.failure import Failure, Unknown
from whysync.messages.infer_family import Component, FamilyFailure
from whysync.messages.log_line import parse_log_line
from whysync.messages.logs import refused_requests
from whysync.messages.parse import Message, understand
from whysync.messages.patterns import apply, operations, pods
from whysync.messages.patterns.admission import AdmissionDenied, ConversionWebhookFailed, WebhookDown
from whysync.messages.patterns.apply import KindNotServed, LimitRange, NamespaceTerminating, QuotaExceeded
from whysync.messages.patterns.argocd import HealthScriptError, RepoServerDown
from whysync.messages.patterns.projects import ArgocdDenied
from whysync.messages.patterns.rbac import Forbidden
from whysync.messages.patterns.schema import SchemaInvalid

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

FAILED_PHASES = frozenset({"Failed", "Error"})
_MAX_LOG_LINES = 200
_OF_OBJECTS = frozenset({SymptomKind.EVENT, SymptomKind.STATE, SymptomKind.UNHEALTHY})
_ARGOCD_KINDS = frozenset({"Application", "ApplicationSet", "AppProject"})
# Failures that a controller may meet when it creates or updates what belongs to its object.
_OF_ANY_OBJECT = frozenset(
    {
        AdmissionDenied,
        ArgocdDenied,
        ConversionWebhookFailed,
        Forbidden,
        HealthScriptError,
        LimitRange,
        NamespaceTerminating,
        QuotaExceeded,
        SchemaInvalid,
        WebhookDown,
    }
)
_OF_SYNC_RESULTS = frozenset(module.__name__ for module in (apply, operations))
_FAMILIES_OF_OBJECTS = frozenset(
    {*EVENT_FAMILIES.values(), Family.ADMISSION, Family.DEPENDENCY, Family.HEALTH_CONVERSION}
)
_WORKLOADS = frozenset({"Deployment", "StatefulSet", "DaemonSet", "Pod"})
# The first is a condition of an ApplicationSet, in facts that were copied together.
_TYPES_THAT_TELL = frozenset({"ErrorOccurred", "ExcludedResourceWarning"})
# The namespace of events about cluster-scoped objects.
_EVENTS_OF_CLUSTER_OBJECTS = "default"


class ReportedText(msgspec.Struct, frozen=True, kw_only=True):
    """`ref` is the object that the text is about; `because` are symptoms with the same cause.

    `reason` is the reason next to a message: of an event, a condition or a container state. `quoted`: the
    output of a user's program, which is not parsed, because it is not a message of Argo CD or Kubernetes.
    """

    text: str
    symptom: SymptomId
    reason: str = ""
    ref: Ref | None = None
    because: tuple[SymptomId, ...] = ()
    manifest: Manifest | None = None
    pointer: str = ""
    log: Log | None = None
    line: int = 0
    quoted: bool = False

    @property
    def message(self) -> Message:
        if self.quoted:
            return Message(text=self.text, layers=(), failures=(Unknown(text=self.text),), rest=self.text)
        if not self._is_of_object:
            if self.symptom.kind is SymptomKind.RESULT:
                return _of_api_server(understand(self.text))
            return understand(self.text, of_argocd_log=self.log is not None and self.ref is None)
        message = understand(self.text, reason=self._family_reason)
        of_object = _may_be_health if self.symptom.kind is SymptomKind.UNHEALTHY else _is_of_object
        if all(of_object(f) and type(f) is not Unknown for f in message.failures):
            return message
        failures = (
            f if of_object(f) and type(f) is not Unknown else self._by_reason(f.text)
            for f in message.failures
        )
        return msgspec.structs.replace(message, failures=tuple(failures))

    @property
    def _is_of_object(self) -> bool:
        """Is it the text of a controller about its object, and not of Argo CD about a request of its own?"""
        of_argocd = (
            self.ref is not None and self.ref.group == "argoproj.io" and self.ref.kind in _ARGOCD_KINDS
        )
        return self.symptom.kind in _OF_OBJECTS and not of_argocd

    @property
    def _family_reason(self) -> str:
        """The reasons of events and of Pods are a closed set; conditions of other kinds may say anything."""
        is_pod = self.symptom.kind is SymptomKind.STATE and self.ref is not None and self.ref.kind == "Pod"
        return self.reason if is_pod or self.symptom.kind is SymptomKind.EVENT else ""

    @property
    def _is_of_operator(self) -> bool:
        """Whatever its reason, a Warning about a custom resource is one of the controller of its kind."""
        return self.ref is not None and "." in self.ref.group and not is_builtin(self.ref)

    def _by_reason(self, text: str) -> Failure:
        family = EVENT_FAMILIES.get(self._family_reason)
        if family is None and self.symptom.kind is SymptomKind.EVENT and self._is_of_operator:
            family = Family.OPERATOR
        if family is None:
            return Unknown(text=text)
        return FamilyFailure(
            text=text, family=family, component=Component.EVENT_SOURCE, code=self.reason, words=text
        )

    @property
    def is_understood(self) -> bool:
        return any(type(failure) is not Unknown for failure in self.message.failures)

    @property
    def is_exact(self) -> bool:
        """Is it known what it reports, and not only which step failed?"""
        return any(not isinstance(failure, Unknown) for failure in self.message.failures)

    @property
    def is_unread(self) -> bool:
        """Does it contain anything that whysync does not recognize? A harmless text does not."""
        return any(type(failure) is Unknown for failure in self.message.failures)


def _of_api_server(message: Message) -> Message:
    """The result of a task, which does not involve the repo-server: gRPC is then the API server's etcd."""
    if not any(isinstance(failure, RepoServerDown) for failure in message.failures):
        return message
    failures = tuple(
        FamilyFailure(
            text=failure.text, family=Family.API_SERVER, component=Component.API_SERVER, words=failure.text
        )
        if isinstance(failure, RepoServerDown)
        else failure
        for failure in message.failures
    )
    return msgspec.structs.replace(message, failures=failures)


def _is_of_object(failure: Failure) -> bool:
    """Can a controller report this failure of an object? Others are of Argo CD's own requests.

    If a controller reports rejected credentials, a conflict or a kind that is not served, these are its own.
    """
    if isinstance(failure, FamilyFailure):
        return failure.family in _FAMILIES_OF_OBJECTS
    kind = type(failure)
    return kind is Unknown or kind in _OF_ANY_OBJECT or kind.__module__ == pods.__name__


def _may_be_health(failure: Failure) -> bool:
    """Can it be in the health message of a row? Argo CD's own results get there too."""
    of_result = type(failure).__module__ in _OF_SYNC_RESULTS and not isinstance(failure, KindNotServed)
    return of_result or _is_of_object(failure)


def reported_texts_of(case: Case) -> Iterator[ReportedText]:
    yield from _results(case)
    yield from _conditions(case)
    yield from _hydration(case)
    yield from _operation(case)
    yield from _row_health(case)
    yield from _app_health(case)
    yield from _events(case)
    yield from _states(case)
    yield from _argocd_logs(case)
    yield from _container_logs(case)
    yield from _refused_requests(case)


def _results(case: Case) -> Iterator[ReportedText]:
    """Also of entries without a failed status: the message may be the only report of the failure."""
    for index, result in enumerate(case.results):
        if result.message:
            key = case.as_in_row(result.ref).key
            yield ReportedText(
                text=result.message,
                symptom=SymptomId.result(result.key),
                ref=case.as_in_row(result.ref),
                because=() if is_failed(result.status, result.hook_phase) else _symptoms_of_row(key),
                manifest=case.application,
                pointer=f"/status/operationState/syncResult/resources/{index}/message",
            )


def is_failed(status: str, phase: str) -> bool:
    return status == "SyncFailed" or phase in FAILED_PHASES


def _conditions(case: Case) -> Iterator[ReportedText]:
    for index, condition in enumerate(case.app.status.conditions):
        if condition.message:
            yield ReportedText(
                text=_with_type(condition.type, condition.message),
                symptom=SymptomId.condition(condition.type, index),
                manifest=case.application,
                pointer=f"/status/conditions/{index}/message",
            )


def _with_type(type: str, message: str) -> str:
    """Prefixed with the type, as Argo CD logs it: a bare `dial tcp …:6379` is then its own Redis."""
    is_told_by_type = type.endswith("Error") or type in _TYPES_THAT_TELL
    return f"{type}: {message}" if is_told_by_type and not message.startswith(type) else message


def _hydration(case: Case) -> Iterator[ReportedText]:
    hydrator = case.app.status.source_hydrator
    last = hydrator.current_operation if hydrator is not None else None
    if last is not None and last.phase == "Failed" and last.message:
        yield ReportedText(
            text=last.message,
            symptom=HYDRATION,
            manifest=case.application,
            pointer="/status/sourceHydrator/currentOperation/message",
        )


def _operation(case: Case) -> Iterator[ReportedText]:
    operation = case.operation
    if operation is not None and operation.message:
        succeeded = operation.phase == "Succeeded"
        yield ReportedText(
            text=operation.message,
            symptom=MESSAGE_OF_SUCCESS if succeeded else OPERATION,
            manifest=case.application,
            pointer="/status/operationState/message",
        )


def _row_health(case: Case) -> Iterator[ReportedText]:
    for index, row in enumerate(case.app.status.resources):
        if row.health is not None and row.health.message and row.health.status != "Healthy":
            if proof_of_current_health(case, row) is not None:
                continue  # the message is out of date
            absent = row.health.status == "Missing"
            yield ReportedText(
                text=row.health.message,
                symptom=SymptomId.missing(row.key) if absent else SymptomId.unhealthy(row.key),
                ref=row.ref,
                manifest=case.application,
                pointer=f"/status/resources/{index}/health/message",
            )


def _app_health(case: Case) -> Iterator[ReportedText]:
    health = case.app.status.health
    if health.message and health.status not in ("", "Healthy"):
        yield ReportedText(
            text=health.message,
            symptom=APP_UNHEALTHY,
            manifest=case.application,
            pointer="/status/health/message",
        )


def _events(case: Case) -> Iterator[ReportedText]:
    namespaces = {case.destination_namespace, *(row.namespace for row in case.app.status.resources)}
    if "" in namespaces:
        namespaces.add(_EVENTS_OF_CLUSTER_OBJECTS)
    namespaces.add(case.application.ref.namespace)  # events about the Application itself
    by_namespace = case.index.trouble_events_by_namespace
    seen: set[tuple[Ref, str, str]] = set()
    for manifest, event in (pair for name in sorted(namespaces) for pair in by_namespace.get(name, ())):
        same = (event.about, event.reason, event.says)
        if same in seen or not case.concerns(event.about):
            continue
        seen.add(same)
        yield ReportedText(
            text=event.says or event.reason,
            symptom=SymptomId(SymptomKind.EVENT, detail=manifest.ref.place),
            ref=event.about,
            reason=event.reason,
            because=_owner_symptoms(case, event.about),
            manifest=manifest,
            pointer="/message" if event.message else "/note" if event.note else "/reason",
        )


def _states(case: Case) -> Iterator[ReportedText]:
    for state in case.object_states:
        yield ReportedText(
            text=state.text,
            symptom=state.symptom,
            ref=state.manifest.ref,
            reason=state.reason,
            because=_owner_symptoms(case, state.manifest.ref),
            manifest=state.manifest,
            pointer=state.pointer,
            quoted=state.quoted,
        )


def _argocd_logs(case: Case) -> Iterator[ReportedText]:
    """Log lines that report a failure of this app or of no specific app; the latest of equal ones."""
    lines = case.index.argocd_log_lines
    concerning = [line for name in ("", case.app.name) for line in lines.get(name, ())]
    latest = {log_line.line.text: log_line for log_line in concerning}
    for log_line in list(latest.values())[-_MAX_LOG_LINES:]:
        log = log_line.log
        yield ReportedText(
            text=log.lines[log_line.number - 1],
            symptom=SymptomId(SymptomKind.LOG, detail=f"{log.pod}/{log.container}", number=log_line.number),
            log=log,
            line=log_line.number,
        )


def _container_logs(case: Case) -> Iterator[ReportedText]:
    """The log line with the root cause of each failed hook and each Degraded workload."""
    for ref, symptom in _failed_workloads(case) if case.index.snapshot.logs else ():
        root = log_root_cause(logs_below(case, ref))
        if root is not None:
            place = f"{root.log.pod}/{root.log.container}"
            yield ReportedText(
                text=root.failure.text.strip(),
                symptom=SymptomId(SymptomKind.LOG, detail=place, number=root.failure.line),
                ref=ref,
                because=(symptom,),
                log=root.log,
                line=root.failure.line,
                quoted=True,
            )


def _refused_requests(case: Case) -> Iterator[ReportedText]:
    """Requests of the app's own controllers that the API server cannot serve, from the logs of their Pods.

    A controller repeats them, often without being unhealthy. The latest line of each failure is used.
    """
    for row in case.app.status.resources if case.index.snapshot.logs else ():
        if row.kind not in _WORKLOADS:
            continue
        latest: dict[Failure, tuple[Log, int]] = {}
        for log in logs_below(case, row.ref):
            for number, raw in list(enumerate(log.lines, start=1))[-_MAX_LOG_LINES:]:
                latest |= dict.fromkeys(refused_requests(raw), (log, number))
        for log, number in dict.fromkeys(latest.values()):
            yield ReportedText(
                text=parse_log_line(log.lines[number - 1]).text,
                symptom=SymptomId(SymptomKind.LOG, detail=f"{log.pod}/{log.container}", number=number),
                ref=row.ref,
                because=(SymptomId.unhealthy(row.key),),
                log=log,
                line=number,
            )


def _failed_workloads(case: Case) -> Iterator[tuple[Ref, SymptomId]]:
    for result in case.results:
        if result.hook_phase in FAILED_PHASES:
            yield case.as_in_row(result.ref), SymptomId.result(result.key)
    for row in case.app.status.resources:
        if row.health is not None and row.health.status == "Degraded":
            yield row.ref, SymptomId.unhealthy(row.key)


def _symptoms_of_row(key: Key) -> tuple[SymptomId, ...]:
    return (SymptomId.unhealthy(key), SymptomId.missing(key), SymptomId.extra(key), SymptomId.differs(key))


def _owner_symptoms(case: Case, ref: Ref) -> tuple[SymptomId, ...]:
    """The health symptoms of the object, and of the resource or hook of the app that owns it."""
    owner = owning_row_of(case, ref)
    symptoms = (SymptomId.unhealthy(ref.key),)
    if owner is None:
        return symptoms
    return tuple(dict.fromkeys((*symptoms, SymptomId.unhealthy(owner.key), SymptomId.result(owner.key))))
