"""A container, Pod or claim violates the namespace's LimitRange.

## What happens
A LimitRange sets a minimum and maximum for single containers, Pods or claims. What is outside is rejected: at
the sync, or when a controller creates the Pods.

## How whysync knows
`maximum memory usage per Container is …`, with the bound and the requested amount, for the resource itself or
for the Pods that its controller cannot create.

## Fix
Request an amount within the bounds, or change the LimitRange if it is yours. If the previous version still
runs, reverting to it is safe.

## When it is something else
The namespace as a whole has used up its quota: quota.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Set, Severity, cite, rule
from whysync.diagnosis.owning_resource import owning_row_of, symptoms_about
from whysync.diagnosis.sentences import and_more
from whysync.golang.quantity import quantity_value
from whysync.json_tree import Missing, items
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.apply import LimitRange
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import kubectl, sync
from whysync.queries.group_failures import FailureGroup, grouped
from whysync.queries.named_objects import is_unnamed, named_ref, object_text
from whysync.queries.pod_creation import until_created
from whysync.queries.previous_revision import with_revert
from whysync.queries.quotas import not_seen

_CONTAINERS = ("/spec/template/spec/containers", "/spec/containers")
# The third bound, the ratio between limit and request, is not an amount.
_BOUNDS = {
    "minimum": "the minimum that the LimitRange allows",
    "maximum": "the maximum that the LimitRange allows",
}


@rule(cause="limit-range", since="0.1")
def limit_range_violated(case: Case) -> Iterator[Finding]:
    for group in grouped(case, LimitRange, by=lambda f: (f.bound, f.amount, f.per, f.limit)):
        failure = group.failure
        ref = _affected_row(case, group)
        namespace = ("" if is_unnamed(case, ref) else ref.namespace) or case.destination_namespace
        bound_kind = failure.bound or "maximum limit/request ratio of"
        bound = f"the {bound_kind} {failure.amount} per {failure.per} in namespace {namespace}"
        requested = _violation(failure)
        ranges = tuple(_ranges(case, namespace))
        gaps = () if ranges else not_seen(case, "LimitRange", namespace)
        finding = Finding(
            about=ref,
            explains=tuple(dict.fromkeys((*group.explains, *symptoms_about(case, ref)))),
            severity=Severity.CRITICAL,
            confidence=Confidence.MEDIUM if gaps else Confidence.HIGH,
            gaps=gaps,
            verdict=f"{object_text(case, ref)}{_others(case, group)}: {bound} is {failure.limit}{requested}",
            evidence=(*group.cited(says="the LimitRange rejects it"), *ranges),
            fixes=tuple(_fixes(case, ref, namespace, failure)),
        )
        yield _within_bounds(case, finding, failure)


def _violation(failure: LimitRange) -> str:
    """`, but its limit is 4Gi`: the limit and the request have bounds of the same name."""
    if failure.got:
        return f", but its {failure.side or 'limit/request ratio'} is {failure.got}"
    return f", but no {failure.side} is set" if failure.side else ""


def _affected_row(case: Case, group: FailureGroup[LimitRange]) -> Ref:
    """The row whose Pods are missing: events are about its ReplicaSet."""
    reported_on = group.ref
    owner = (
        owning_row_of(case, reported_on) if reported_on is not None and reported_on.kind != "Pod" else None
    )
    return owner or named_ref(case, group.failure.resource, reported_on)


def _others(case: Case, group: FailureGroup[LimitRange]) -> str:
    rows = {owning_row_of(case, ref) or ref for ref in group.resources if ref.kind not in ("pods", "Pod")}
    return and_more(len(rows) - 1)


def _within_bounds(case: Case, finding: Finding, failure: LimitRange) -> Finding:
    """Adds the allowed amount as an edit of Git, if it is clear which field violates the bound."""
    declared, live = case.desired_of(finding.about.key), case.live_of(finding.about.key)
    if declared is None or failure.per != "Container" or failure.bound not in _BOUNDS or not failure.limit:
        return with_revert(case, finding)
    pointers = list(_amounts(declared, failure))
    matching = [
        pointer for pointer in pointers if quantity_value(declared.at(pointer)) == quantity_value(failure.got)
    ]
    if len(matching) == 1:
        fix = Fix.change(
            finding.about,
            Set(pointer=matching[0], value=failure.limit),
            title=f"Set {failure.amount} to {failure.limit} in Git, {_BOUNDS[failure.bound]}",
        )
        return with_revert(case, replace(finding, field=matching[0], fixes=(fix, *finding.fixes[1:])))
    corrected = any(
        quantity_value(declared.at(pointer)) == quantity_value(failure.limit)
        and (live is None or quantity_value(live.at(pointer)) == quantity_value(failure.got))
        for pointer in pointers
    )
    if corrected and not matching:
        return replace(
            finding,
            already_fixed=sync_again(
                case,
                f"Git has {failure.limit} now",
                "Sync: Git is within the bounds now",
                *finding.fixes,
            ),
        )
    return with_revert(case, finding)


def _amounts(declared: Manifest, failure: LimitRange) -> Iterator[str]:
    """Pointers to the requests and limits of the resource that the bound is about."""
    for containers in _CONTAINERS:
        for index in range(len(items(declared.at(containers)))):
            for side in (f"{failure.side}s",) if failure.side else ("limits", "requests"):
                pointer = f"{containers}/{index}/resources/{side}/{failure.amount}"
                if not isinstance(declared.at(pointer), Missing):
                    yield pointer


def _fixes(case: Case, ref: Ref, namespace: str, failure: LimitRange) -> Iterator[Fix]:
    yield Fix.run(
        kubectl("describe", "limitrange", namespace=namespace),
        sync(case),
        title=f"Set {failure.amount} in Git to {failure.limit}, {_BOUNDS[failure.bound]}, then sync"
        if failure.limit and failure.bound in _BOUNDS
        else f"Set {failure.amount} within the bounds in Git, then sync",
    )
    yield Fix.run(
        kubectl("edit", "limitrange", namespace=namespace),
        *until_created(case, ref),
        title="Or change the LimitRange, if it is yours",
        risk="applies to every new container of the namespace",
    )


def _ranges(case: Case, namespace: str) -> Iterator[Evidence]:
    ranges = [live for live in case.live_of_kind("LimitRange") if live.ref.namespace == namespace]
    for manifest in ranges[:2]:
        yield cite(manifest, "/spec/limits", says="the LimitRange of the namespace")
