"""A container, Pod or claim is larger or smaller than the namespace's LimitRange allows.

## What happens
A LimitRange sets bounds for single containers, Pods or claims. What lies outside is refused: at the
sync, or when a controller creates the Pods.

## How whysync knows
`maximum memory usage per Container is …`, with the bound and what was asked for.

## Fix
Ask for an amount within the bounds, or change the LimitRange if it is yours.

## When it is something else
The namespace as a whole has used up its share: quota.
"""

from collections.abc import Iterator

from whysync.contracts.manifest import Manifest
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.commands import kubectl, sync
from whysync.diagnosis.grouped import grouped
from whysync.diagnosis.resources import named_ref
from whysync.semantics.messages import LimitRange


@rule(cause="limit-range", since="0.1")
def limit_range_violated(case: Case) -> Iterator[Finding]:
    for group in grouped(case, LimitRange, by=lambda f: (f.bound, f.amount, f.per, f.limit)):
        failure = group.failure
        ref = named_ref(case, failure.resource, group.ref)
        namespace = ref.namespace or case.destination_namespace
        bound = f"the {failure.bound} {failure.amount} per {failure.per} in namespace {namespace}"
        asked = f", {failure.got} is asked for" if failure.got else ""
        yield Finding(
            about=ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{ref}{group.others}: {bound} is {failure.limit}{asked}",
            evidence=(*group.cited(says="the LimitRange refuses it"), *_ranges(case, namespace)),
            fixes=(
                Fix.run(
                    kubectl("describe", "limitrange", namespace=namespace),
                    sync(case),
                    title=f"Ask for an amount of {failure.amount} within the bounds, in Git, then sync",
                ),
                Fix.run(
                    kubectl("edit", "limitrange", namespace=namespace),
                    sync(case),
                    title="Or change the LimitRange, if it is yours",
                    risk="it holds for every new container of the namespace",
                ),
            ),
        )


def _ranges(case: Case, namespace: str) -> Iterator[Evidence]:
    ranges: list[Manifest] = [
        live
        for live in case.world.snapshot.live
        if live.ref.kind == "LimitRange" and live.ref.namespace == namespace
    ]
    for manifest in ranges[:2]:
        yield cite(manifest, "/spec/limits", says="the bounds of the namespace")
