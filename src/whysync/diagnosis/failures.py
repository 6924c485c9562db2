"""Reported failures: each once, with all the places that report it.

The same failure is in a condition, in the operation's message and in a resource's result. Rules
see it once; the place closest to the resource is cited.
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
from whysync.messages.parse import Message, Reading

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

F = TypeVar("F", covariant=True)


class ReportedFailure(msgspec.Struct, Generic[F], frozen=True, kw_only=True):
    """`ref` is the resource whose message it was, if any; `symptoms` are all that this failure explains.

    `confidence` is the most that a finding from this text may claim: less if it was recognized only by its
    family, without its quotes, or although it is cut off.
    """

    failure: F
    message: Message
    spoken: ReportedText
    ref: Ref | None
    symptoms: tuple[SymptomId, ...]
    confidence: Confidence

    def cite(self, *, says: str) -> Evidence:
        return cite_text(self.spoken, says=says)


def cite_text(spoken: ReportedText, *, says: str) -> Evidence:
    if spoken.log is not None:
        return cite_line(spoken.log, spoken.line, says=says)
    assert isinstance(spoken.manifest, Manifest)
    return cite(spoken.manifest, spoken.pointer, says=says)


class _Place(NamedTuple):
    failure: Failure
    message: Message
    spoken: ReportedText


def reported_failures_of(case: Case) -> tuple[ReportedFailure[Failure], ...]:
    merged: dict[tuple[Json | object, ...], list[_Place]] = {}
    for place in _places(case):
        merged.setdefault(_identity(place.failure), []).append(place)
    return tuple(_merge(places) for places in merged.values())


def _places(case: Case) -> Iterator[_Place]:
    for spoken in case.reported_texts:
        if spoken.symptom not in case.symptom_ids:
            continue  # history: nothing that is wrong now
        message = spoken.message
        for failure in message.failures:
            if is_recognized(failure):
                yield _Place(failure, message, spoken)


def is_recognized(failure: Failure) -> bool:
    """Is at least the family of the failure known?"""
    return not isinstance(failure, Unknown) or isinstance(failure, FamilyFailure)


_MOST = {Reading.EXACT: Confidence.HIGH, Reading.FOLDED: Confidence.MEDIUM, Reading.CUT: Confidence.MEDIUM}


def _confidence(place: _Place) -> Confidence:
    if isinstance(place.failure, FamilyFailure):
        return Confidence.LOW
    return _MOST.get(place.message.reading, Confidence.HIGH)


def _identity(failure: Failure) -> tuple[object, ...]:
    """All that it names; the words around it may differ from place to place."""
    named = (getattr(failure, name) for name in failure.__struct_fields__ if name != "text")
    return (type(failure), *named)


def _merge(places: list[_Place]) -> ReportedFailure[Failure]:
    """The most telling place comes first: a resource's own result before the operation's message."""
    first = places[0]
    symptoms = tuple(dict.fromkeys(place.spoken.symptom for place in places if place.spoken.symptom))
    ref = next((place.spoken.ref for place in places if place.spoken.ref is not None), None)
    return ReportedFailure(
        failure=first.failure,
        message=first.message,
        spoken=first.spoken,
        ref=ref,
        symptoms=symptoms,
        confidence=max(map(_confidence, places), key=lambda confidence: confidence.weight),
    )
