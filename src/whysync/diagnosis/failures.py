"""Reported failures: each once, with all texts that report it.

The same failure can be in a condition, in the operation's message and in a resource's sync result. Rules
get it once; the text closest to the resource is cited.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import msgspec

from whysync.diagnosis.evidence import Evidence, cite, cite_line
from whysync.diagnosis.finding import Confidence
from whysync.diagnosis.reported_texts import ReportedText
from whysync.diagnosis.symptom import SymptomId
from whysync.json_tree import Json
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.failure import Failure, Unknown
from whysync.messages.infer_family import FamilyFailure
from whysync.messages.operator_errors import operator_error
from whysync.messages.parse import Message, Reading

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

F = TypeVar("F", covariant=True)


class ReportedFailure(msgspec.Struct, Generic[F], frozen=True, kw_only=True):
    """`ref` is the resource that the message is about, if any; `symptoms` are those that the failure
    explains.

    `confidence` is the upper limit for findings from this text: lower if it was recognized only by its
    family, without its quotes, or although it is cut off.
    """

    failure: F
    message: Message
    reported_text: ReportedText
    ref: Ref | None
    symptoms: tuple[SymptomId, ...]
    confidence: Confidence

    def cite(self, *, says: str) -> Evidence:
        return cite_text(self.reported_text, says=says)


def cite_text(reported_text: ReportedText, *, says: str) -> Evidence:
    if reported_text.log is not None:
        return cite_line(reported_text.log, reported_text.line, says=says)
    assert isinstance(reported_text.manifest, Manifest)
    return cite(reported_text.manifest, reported_text.pointer, says=says)


class _Occurrence(NamedTuple):
    failure: Failure
    message: Message
    reported_text: ReportedText


def reported_failures_of(case: Case) -> tuple[ReportedFailure[Failure], ...]:
    merged: dict[tuple[Json | object, ...], list[_Occurrence]] = {}
    for occurrence in _occurrences(case):
        merged.setdefault(_identity(occurrence.failure), []).append(occurrence)
    return tuple(_merge(occurrences) for occurrences in merged.values())


def _occurrences(case: Case) -> Iterator[_Occurrence]:
    for reported_text in case.reported_texts:
        if reported_text.symptom not in case.symptom_ids:
            continue  # no current symptom
        message = reported_text.message
        for failure in message.failures:
            if is_recognized(failure):
                yield _Occurrence(failure, message, reported_text)


def is_recognized(failure: Failure) -> bool:
    """Is at least the family of the failure known?"""
    return not isinstance(failure, Unknown) or isinstance(failure, FamilyFailure)


_MAX_CONFIDENCE = {
    Reading.EXACT: Confidence.HIGH,
    Reading.FOLDED: Confidence.MEDIUM,
    Reading.CUT: Confidence.MEDIUM,
}


def _confidence(occurrence: _Occurrence) -> Confidence:
    failure = occurrence.failure
    if isinstance(failure, FamilyFailure):  # the demand of an operator is understood, whoever reports it
        return Confidence.MEDIUM if operator_error(failure.text) is not None else Confidence.LOW
    return _MAX_CONFIDENCE.get(occurrence.message.reading, Confidence.HIGH)


def _identity(failure: Failure) -> tuple[object, ...]:
    """The failure's type and fields without its text, which may differ between occurrences."""
    named = (getattr(failure, name) for name in failure.__struct_fields__ if name != "text")
    return (type(failure), *named)


def _merge(occurrences: list[_Occurrence]) -> ReportedFailure[Failure]:
    """The first occurrence is cited: a resource's sync result before the operation's message."""
    first = occurrences[0]
    symptoms = tuple(
        dict.fromkeys(
            occurrence.reported_text.symptom for occurrence in occurrences if occurrence.reported_text.symptom
        )
    )
    ref = next(
        (
            occurrence.reported_text.ref
            for occurrence in occurrences
            if occurrence.reported_text.ref is not None
        ),
        None,
    )
    return ReportedFailure(
        failure=first.failure,
        message=first.message,
        reported_text=first.reported_text,
        ref=ref,
        symptoms=symptoms,
        confidence=max(map(_confidence, occurrences), key=lambda confidence: confidence.weight),
    )
