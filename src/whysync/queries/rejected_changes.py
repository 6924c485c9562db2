"""Changes in Git that the API server rejects as immutable, for a failed sync of which no reason is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from whysync.diagnosis.drift import Drift
from whysync.diagnosis.failures import is_recognized
from whysync.diagnosis.reported_texts import FAILED_PHASES
from whysync.diagnosis.symptom import OPERATION, SymptomKind
from whysync.json_tree import Json, Missing, Object, fields
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.validation import FieldProblem, problems_on_update
from whysync.messages.parse import understand
from whysync.messages.patterns.apply import ImmutableField

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_OF_SYNC = frozenset({SymptomKind.OPERATION, SymptomKind.RESULT})


class RejectedChange(NamedTuple):
    """`failure` is the answer of a Kubernetes 1.36 API server; `drifts` are what the sync would change."""

    ref: Ref
    failure: ImmutableField
    drifts: tuple[Drift, ...]


def rejected_changes(case: Case) -> Iterator[RejectedChange]:
    """The first rejected field of each object, if the sync failed without a reason in the facts."""
    operation = case.operation
    if operation is None or operation.phase not in FAILED_PHASES or OPERATION not in case.symptom_ids:
        return
    if _has_reason(case):
        return
    by_ref: dict[Ref, list[Drift]] = {}
    for drift in case.drifts:
        if drift.hidden_by is None and not drift.only_live:
            by_ref.setdefault(drift.ref, []).append(drift)
    for ref, drifts in by_ref.items():
        failure = _rejection(ref, drifts)
        if failure is not None:
            yield RejectedChange(ref, failure, tuple(drifts))


def _has_reason(case: Case) -> bool:
    """Does any text of the sync say more than that it failed?"""
    return any(
        reported.symptom.kind in _OF_SYNC
        and any(is_recognized(failure) or failure.text for failure in reported.message.failures)
        for reported in case.reported_texts
    )


def _rejection(ref: Ref, drifts: list[Drift]) -> ImmutableField | None:
    live = drifts[0].live.body
    changed = live
    for drift in drifts:
        value = drift.desired_value
        if not isinstance(value, Missing):
            changed = fields(_with(changed, pointers.split(drift.pointer), value))
    kind = f"{ref.kind}.{ref.group}" if ref.group else ref.kind
    for problem in _new_problems(live, changed):
        message = understand(f'{kind} "{ref.name}" is invalid: {problem.path}: {problem.body}')
        failure = message.first(ImmutableField)
        if failure is not None:
            return failure
    return None


def _new_problems(live: Object, changed: Object) -> Iterator[FieldProblem]:
    """Problems of the change, without those that the facts have anyway, such as of an incomplete object."""
    known = set(problems_on_update(live, live))
    yield from (problem for problem in problems_on_update(live, changed) if problem not in known)


def _with(tree: Json, parts: tuple[str, ...], value: Json) -> Json:
    first, rest = parts[0], parts[1:]
    if isinstance(tree, list):
        at = pointers.index_of(first)
        if at is None or at >= len(tree):
            return tree
        return [*tree[:at], _with(tree[at], rest, value) if rest else value, *tree[at + 1 :]]
    below = fields(tree)
    return {**below, first: _with(below.get(first), rest, value) if rest else value}
