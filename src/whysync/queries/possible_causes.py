"""Possible causes of a pasted text: the rules' findings for every possible origin of the text.

A text without context is tried with each origin that Argo CD and Kubernetes have. Findings that the
rules report there for any text are left out: they follow from the origin, not from the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Confidence, Finding, Severity
from whysync.diagnosis.report import AppReport
from whysync.diagnosis.symptom import Side, Symptom
from whysync.messages.failure import Failure, Unknown
from whysync.messages.parse import understand
from whysync.messages.pasted import Origin, Pasted, PastedMessage, loud_lines, possible_origins, read_paste
from whysync.messages.patterns.operations import PruneSkipped
from whysync.messages.patterns.pods import (
    AnalysisFailed,
    BudgetWithoutDisruptions,
    DefinitionNotEstablished,
    MetricsUnavailable,
    ProgressDeadline,
    RolloutUnfinished,
    SandboxFailed,
)
from whysync.messages.wrappers import LayerKind
from whysync.queries.pasted_case import case_of_parts

Diagnose = Callable[[Case], AppReport]

_UNKNOWN_TEXT = "zzyzx"
_SHORT = 500
_MOST_QUOTED = 3
_SIDE_OF_ORIGIN = {
    Origin.CONDITION: Side.COMPARE,
    Origin.ARGOCD_LOG: Side.COMPARE,
    Origin.OPERATION: Side.APPLY,
    Origin.LONG_OPERATION: Side.APPLY,
    Origin.RESULT: Side.APPLY,
    Origin.EVENT: Side.HEALTH,
    Origin.CONTAINER: Side.HEALTH,
    Origin.HEALTH: Side.HEALTH,
    Origin.CONTAINER_LOG: Side.HEALTH,
}
# Wrappers that any program prints; all others are Argo CD's.
_GENERIC_LAYERS = frozenset(
    {
        LayerKind.LOG,
        LayerKind.RPC,
        LayerKind.INTERNAL_ERROR,
        LayerKind.KUBECTL,
        LayerKind.RETRIED,
        LayerKind.RETRYING,
    }
)
_SYNC_LAYERS = frozenset(
    {
        LayerKind.SYNC_ERROR,
        LayerKind.DELETION_ERROR,
        LayerKind.OPERATION,
        LayerKind.SYNC_ATTEMPT,
        LayerKind.OBJECTS_FAILED_TO_APPLY,
        LayerKind.TASKS_UNSUCCESSFUL,
        LayerKind.TASKS_NOT_VALID,
        LayerKind.NAMESPACE_FAILED_TO_APPLY,
        LayerKind.SYNC_FAIL_HOOKS,
        LayerKind.DELETION,
        LayerKind.AUTH_RECONCILE,
    }
)


# Messages that have no rule of their own: the kind that usually reports them, and its health.
_WORKLOAD_MESSAGES: dict[type[Failure], tuple[str, str, str]] = {
    AnalysisFailed: ("argoproj.io", "Rollout", "Degraded"),
    BudgetWithoutDisruptions: ("policy", "PodDisruptionBudget", "Degraded"),
    DefinitionNotEstablished: ("apiextensions.k8s.io", "CustomResourceDefinition", "Degraded"),
    MetricsUnavailable: ("autoscaling", "HorizontalPodAutoscaler", "Degraded"),
    ProgressDeadline: ("apps", "Deployment", "Degraded"),
    RolloutUnfinished: ("apps", "Deployment", "Progressing"),
    SandboxFailed: ("", "Pod", "Degraded"),
}


class PossibleCause(msgspec.Struct, frozen=True, kw_only=True):
    """A finding, the Case it was found in, and the origins of the text that have this cause."""

    finding: Finding
    case: Case
    origins: tuple[Origin, ...]


class NotUnderstood(msgspec.Struct, frozen=True, kw_only=True):
    """A text that no rule explains.

    `reported_by` is the recognized wrapper around it, `family` the class of the error. A text without a
    reason only reports that something failed.
    """

    text: str
    case: Case
    side: Side
    reported_by: str
    family: str
    has_reason: bool


class TextAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """`is_cut`: the text was too long, and its middle was not read.

    `is_guess`: no known message is in the text, and the causes are what such a text usually means.
    """

    causes: tuple[PossibleCause, ...]
    not_understood: tuple[NotUnderstood, ...]
    is_cut: bool
    is_guess: bool


class _Reading(msgspec.Struct, frozen=True, kw_only=True):
    parts: tuple[PastedMessage, ...]
    report: AppReport


def possible_causes(text: str, diagnose: Diagnose) -> TextAnswer:
    """`diagnose` runs the rules on a Case; `text` is masked."""
    pasted = read_paste(text)
    reader = _Reader(pasted, diagnose)
    causes, unknown = reader.with_known_places()
    if not causes:
        causes = reader.anywhere(pasted.text)
    if not causes:
        lines = loud_lines(pasted.text)
        line_causes = (cause for line in lines if line != pasted.text for cause in reader.anywhere(line))
        causes = _distinct(line_causes)
    if not causes and not unknown:
        quoted = (pasted.text,) if len(pasted.text) <= _SHORT else loud_lines(pasted.text)[-_MOST_QUOTED:]
        unknown = tuple(map(reader.not_understood, quoted or (pasted.text,)))
    is_low = all(cause.finding.confidence is Confidence.LOW for cause in causes)
    return TextAnswer(
        causes=causes,
        not_understood=unknown,
        is_cut=pasted.is_cut,
        is_guess=is_low and not _is_understood(pasted.text),
    )


class _Reader:
    def __init__(self, pasted: Pasted, diagnose: Diagnose) -> None:
        self._pasted = pasted
        self._diagnose = diagnose

    def with_known_places(self) -> tuple[tuple[PossibleCause, ...], tuple[NotUnderstood, ...]]:
        """Findings for the parts of the paste whose origin is known: conditions, events, container states."""
        if not self._pasted.parts:
            return (), ()
        reading = self._read(self._pasted.parts)
        events = (part for part in self._pasted.parts if part.origin is Origin.EVENT)
        control = self._read(tuple(replace(part, text=_UNKNOWN_TEXT, reason="") for part in events))
        always = {_without("", finding) for finding in control.report.findings}
        findings = [finding for finding in reading.report.findings if _without("", finding) not in always]
        roots = [finding for finding in findings if not finding.caused_by] or findings
        causes = tuple(_cause(finding, reading) for finding in roots)
        unknown = tuple(
            self.not_understood(part.text, part)
            for part in self._pasted.parts
            if part.text and _is_reported(part, reading.report.unexplained)
        )
        return _distinct(causes), unknown

    def anywhere(self, text: str) -> tuple[PossibleCause, ...]:
        """Findings for a text without context; the most likely origin first."""
        side, certain = _side_of(text)
        causes: list[PossibleCause] = []
        for part in possible_origins(text):
            if certain and _SIDE_OF_ORIGIN[part.origin] is not side:
                continue
            if part.origin is Origin.CONTAINER_LOG and any(c.finding.side is Side.HEALTH for c in causes):
                continue  # a text that Kubernetes reports is not a program's log
            causes += self._because_of(part)
        if not causes:
            causes += self._reported_by_a_workload(text)
        return _weighed(_distinct(sorted(causes, key=_rank)), is_understood=_is_understood(text))

    def _reported_by_a_workload(self, text: str) -> Iterator[PossibleCause]:
        """Findings for the messages that controllers write about a workload which is not ready."""
        failures = understand(text).failures
        for failure_type, (group, kind, health) in _WORKLOAD_MESSAGES.items():
            if any(isinstance(failure, failure_type) for failure in failures):
                part = PastedMessage(origin=Origin.HEALTH, reason=health, text=text, group=group, kind=kind)
                yield from self._all_of(part)
        if any(isinstance(failure, PruneSkipped) for failure in failures):
            yield from self._all_of(PastedMessage(origin=Origin.RESULT, reason="PruneSkipped", text=text))

    def _all_of(self, part: PastedMessage) -> Iterator[PossibleCause]:
        reading = self._read((part,))
        yield from (_cause(finding, reading) for finding in reading.report.findings)

    def _because_of(self, part: PastedMessage) -> Iterator[PossibleCause]:
        reading = self._read((part,))
        if not reading.report.findings:
            return
        control_reason = "" if part.origin in (Origin.EVENT, Origin.CONTAINER) else part.reason
        control = self._read((replace(part, text=_UNKNOWN_TEXT, reason=control_reason, exit_code=None),))
        always = {_without(_UNKNOWN_TEXT, finding) for finding in control.report.findings}
        rules = {finding.rule for finding in control.report.findings}
        for finding in reading.report.findings:
            vague = finding.rule in rules and finding.confidence is Confidence.LOW
            if not vague and _without(part.text, finding) not in always:
                yield _cause(finding, reading)

    def not_understood(self, text: str, part: PastedMessage | None = None) -> NotUnderstood:
        message = understand(text)
        side, certain = _side_of(text)
        if part is not None and not certain:
            side = _SIDE_OF_ORIGIN[part.origin]
        layers = [layer for layer in message.layers if layer.kind is not LayerKind.LOG]
        known = next((failure for failure in message.failures if not isinstance(failure, Unknown)), None)
        return NotUnderstood(
            text=text,
            side=side,
            reported_by=layers[-1].text.rstrip(": ") if layers else "",
            family=_type_text(known) if known is not None else "",
            has_reason=bool(message.failures),
            case=case_of_parts((part,) if part is not None else (), application=self._pasted.application),
        )

    def _read(self, parts: tuple[PastedMessage, ...]) -> _Reading:
        case = case_of_parts(parts, application=self._pasted.application)
        return _Reading(parts=parts, report=self._diagnose(case))


def _without(text: str, finding: Finding) -> tuple[str, ...]:
    """The finding without the text itself, to compare findings of different texts."""
    return (finding.rule, finding.verdict.replace(text, ""), (finding.root or "").replace(text, ""))


def _rank(cause: PossibleCause) -> tuple[bool, bool]:
    """Problems before information; then the origin that such a cause usually has."""
    finding = cause.finding
    return finding.severity is Severity.INFO, finding.side is not _SIDE_OF_ORIGIN[cause.origins[0]]


def _cause(finding: Finding, reading: _Reading) -> PossibleCause:
    cited = [str(evidence.value) for evidence in finding.evidence]
    parts = [part for part in reading.parts if part.text and any(part.text in value for value in cited)]
    origins = dict.fromkeys(part.origin for part in parts or reading.parts)
    return PossibleCause(finding=finding, case=reading.report.case, origins=tuple(origins))


def _side_of(text: str) -> tuple[Side, bool]:
    """The side that Argo CD's wrappers around a text show, and whether there are any."""
    kinds = {layer.kind for layer in understand(text).layers}
    if kinds & _SYNC_LAYERS:
        return Side.APPLY, True
    return (Side.COMPARE, True) if kinds - _GENERIC_LAYERS else (Side.NONE, False)


def _is_understood(text: str) -> bool:
    return any(not isinstance(failure, Unknown) for failure in understand(text).failures)


def _type_text(failure: Failure) -> str:
    """`ProgressDeadline` as `progress deadline`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(failure).__name__).lower()


def _is_reported(part: PastedMessage, unexplained: Sequence[Symptom]) -> bool:
    return any(part.text in symptom.text for symptom in unexplained)


def _distinct(causes: Iterator[PossibleCause] | Sequence[PossibleCause]) -> tuple[PossibleCause, ...]:
    """One per rule and object, with all origins of the text that have it."""
    by_rule: dict[str, PossibleCause] = {}
    for cause in causes:
        known = by_rule.get(cause.finding.rule)
        if known is None:
            by_rule[cause.finding.rule] = cause
        else:
            origins = tuple(dict.fromkeys((*known.origins, *cause.origins)))
            by_rule[cause.finding.rule] = replace(known, origins=origins)
    return tuple(by_rule.values())


def _weighed(causes: tuple[PossibleCause, ...], *, is_understood: bool) -> tuple[PossibleCause, ...]:
    """Lowers the confidence if the origin is a guess: several origins, or a container that may not crash.

    Any line can be in the log of a program, so one that is not understood shows nothing about its container.
    """
    several = len({cause.origins[0] for cause in causes}) > 1
    return tuple(
        replace(cause, finding=replace(cause.finding, confidence=confidence))
        for cause in causes
        for confidence in (_confidence(cause, several=several, is_understood=is_understood),)
    )


def _confidence(cause: PossibleCause, *, several: bool, is_understood: bool) -> Confidence:
    in_log = cause.origins[0] is Origin.CONTAINER_LOG
    if in_log and not is_understood:
        return Confidence.LOW
    is_guess = several or in_log
    return (
        Confidence.MEDIUM
        if is_guess and cause.finding.confidence is Confidence.HIGH
        else cause.finding.confidence
    )
