"""Group reported failures: a webhook that is down and breaks forty resources is one finding, not forty."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar, cast

import msgspec

from whysync.diagnosis.evidence import Evidence
from whysync.diagnosis.failures import ReportedFailure
from whysync.diagnosis.owning_resource import owning_row_of
from whysync.diagnosis.sentences import and_more
from whysync.diagnosis.symptom import SymptomId, SymptomKind
from whysync.kubernetes.api.ref import Ref
from whysync.messages.failure import Failure
from whysync.messages.parse import Message, within

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

F = TypeVar("F", bound=Failure)


class FailureGroup(msgspec.Struct, Generic[F], frozen=True, kw_only=True):
    """Reports of one problem: `failure` is the first, `resources` are the objects it was reported for.

    `hidden`: it was found inside another failure (an immutable field inside a server-side diff error).
    """

    failure: F
    reports: tuple[ReportedFailure[F], ...]
    explains: tuple[SymptomId, ...]
    resources: tuple[Ref, ...]
    hidden: bool

    @property
    def first(self) -> ReportedFailure[F]:
        return self.reports[0]

    @property
    def message(self) -> Message:
        return self.reports[0].message

    @property
    def ref(self) -> Ref | None:
        return self.resources[0] if self.resources else self.reports[0].ref

    @property
    def others(self) -> str:
        """` and 3 more`, for a sentence that names the first resource only."""
        return and_more(len(self.resources) - 1)

    @property
    def applied(self) -> str:
        """`Deployment shop/api and 2 more`: the objects whose results in a sync report it; empty if none."""
        keys = {id.key for id in self.explains if id.kind is SymptomKind.RESULT}
        objects = [ref for ref in self.resources if ref.key in keys]
        return f"{objects[0]}{and_more(len(objects) - 1)}" if objects else ""

    def cited(self, *, says: str) -> tuple[Evidence, ...]:
        """Evidence of the first three reports."""
        return tuple(report.cite(says=says) for report in self.reports[:3])


def grouped(
    case: Case, kind: type[F], *, by: Callable[[F], object] = lambda _: ""
) -> Iterator[FailureGroup[F]]:
    """Failures of one type, also inside others, grouped by what `by` returns.

    A failure for which `by` returns nothing joins the first group. A failure that no current symptom reports
    (an event about a Pod that is ready again) is left out.
    """
    groups: dict[object, list[tuple[ReportedFailure[F], bool]]] = {}
    for report, hidden in _reports(case, kind):
        groups.setdefault(by(report.failure), []).append((report, hidden))
    if not groups:
        return
    unnamed = [key for key in groups if _is_empty_key(key)]
    named = [key for key in groups if not _is_empty_key(key)]
    if named:
        for key in unnamed:
            groups[named[0]] += groups.pop(key)
    by_id = {symptom.id: symptom for symptom in case.symptoms}
    for group in groups.values():
        reports = tuple(report for report, _ in group)
        ids = dict.fromkeys(id for report in reports for id in report.symptoms if id in by_id)
        if not ids:
            continue
        refs = dict.fromkeys(ref for id in ids if (ref := by_id[id].ref) is not None)
        yield FailureGroup(
            failure=reports[0].failure,
            reports=reports,
            explains=tuple(ids),
            resources=tuple(refs),
            hidden=all(hidden for _, hidden in group),
        )


def pod_symptoms(case: Case, row: Ref, *kinds: type[Failure]) -> tuple[SymptomId, ...]:
    """Symptoms of such failures that were reported for Pods of a row."""
    reports = (
        report
        for kind in kinds
        for report in case.failures(kind)
        if report.ref is not None and owning_row_of(case, report.ref) == row
    )
    return tuple(dict.fromkeys(id for report in reports for id in report.symptoms if id in case.symptom_ids))


def _reports(case: Case, kind: type[F]) -> Iterator[tuple[ReportedFailure[F], bool]]:
    for report in case.reported_failures:
        for depth, failure in enumerate(within(report.failure)):
            if isinstance(failure, kind):
                yield cast("ReportedFailure[F]", msgspec.structs.replace(report, failure=failure)), depth > 0


def _is_empty_key(key: object) -> bool:
    return not any(cast("tuple[object, ...]", key)) if isinstance(key, tuple) else not key
