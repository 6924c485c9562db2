"""A ResourceQuota of the namespace is used up, or wants every Pod to state what it needs.

## What happens
The quota counts what the namespace uses. What would go over it is refused, at the sync (an object)
or later (Pods that a controller wants to create, which then are simply missing). A quota on CPU or
memory also refuses every container that does not state them.

## How whysync knows
`exceeded quota: …` with requested, used and limited; or `failed quota: …: must specify …`.

## Fix
Ask for less, free something, or raise the quota. Where some of the Pods run, as many as these fit; where the
quota is at hand, what it would have to allow is counted. Where containers must state their needs, state
them, or let a LimitRange fill them in.

## When it is something else
A single container that is too large or too small for the namespace: limit-range.
"""

from collections.abc import Iterator

import msgspec

from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, cite, rule
from whysync.diagnosis.owning_resource import owning_row, row_named, symptoms_about
from whysync.diagnosis.sentences import counted
from whysync.json_tree import Object, integer
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import join
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.apply import QuotaExceeded
from whysync.queries.already_fixed import fixed_since_autosync_gave_up, proof_of_fix, sync_again
from whysync.queries.commands import comment, kubectl, on_object, sync
from whysync.queries.group_failures import FailureGroup, grouped
from whysync.queries.named_objects import named_ref
from whysync.queries.quotas import ready_and_desired, required_hard_limits

_MAKERS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "Rollout")


@rule(cause="quota", since="0.1")
def quota_exceeded(case: Case) -> Iterator[Finding]:
    for group in grouped(case, QuotaExceeded, by=lambda f: (f.quota, bool(f.must_specify))):
        failure = group.failure
        ref = _held_back(case, group)
        namespace = ref.namespace or case.destination_namespace
        if proof_of_fix(case, failure, namespace) is not None and fixed_since_autosync_gave_up(case):
            continue  # there is room by now: autosync_gave_up tells why nothing happens
        quota = case.live_named("ResourceQuota", namespace, failure.quota)
        yield Finding(
            about=ref,
            explains=tuple(dict.fromkeys((*group.explains, *symptoms_about(case, ref)))),
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=_verdict(ref, namespace, failure),
            evidence=(
                *group.cited(says="the quota refuses it"),
                *((cite(quota, "/status", says="the quota: hard limit, and what is used"),) if quota else ()),
            ),
            fixes=tuple(_fixes(case, ref, quota, namespace, failure)),
            already_fixed=sync_again(
                case,
                _fits_in_git(case, ref, quota, failure),
                "in Git it fits by now",
                "Sync: what Git asks for fits",
            ),
        )


def _held_back(case: Case, group: FailureGroup[QuotaExceeded]) -> Ref:
    """The row that lacks its Pods: events speak of the ReplicaSet below it."""
    reported_on = group.ref
    if reported_on is None:
        return named_ref(case, group.failure.resource)
    live = case.live_named(reported_on.kind, reported_on.namespace, reported_on.name)
    return (
        (owning_row(case, live) if live is not None else None) or row_named(case, reported_on) or reported_on
    )


def _verdict(ref: Ref, namespace: str, failure: QuotaExceeded) -> str:
    quota = f"quota {failure.quota} of namespace {namespace}"
    if failure.must_specify:
        return f"{ref}: {quota} wants every container to state {', '.join(failure.must_specify)}"
    amounts = f"{failure.requested} asked, {failure.used} used, {failure.limited} allowed"
    return f"{ref}: {quota} is used up: {amounts}"


def _fixes(
    case: Case, ref: Ref, quota: Manifest | None, namespace: str, failure: QuotaExceeded
) -> Iterator[Fix]:
    describe = kubectl("describe", "resourcequota", failure.quota, namespace=namespace)
    if failure.must_specify:
        yield Fix.run(
            comment(f"resources of each container must state: {', '.join(failure.must_specify)}"),
            sync(case),
            title="State what the containers need, in Git",
        )
        yield Fix.new(
            _defaults(namespace),
            title="Or let a LimitRange fill in what containers do not state",
            risk="it holds for every new container of the namespace",
        )
        return
    replicas = ready_and_desired(case, ref)
    reduce = _what_fits(case, ref, replicas) if replicas is not None else None
    yield reduce or Fix.run(
        describe, sync(case), title="Ask for less, or remove what is not needed there, then sync"
    )
    # In the middle of a rollout nobody can say how much more it takes: old Pods make room, or do not.
    is_countable = replicas is not None or ref.kind not in _MAKERS
    missing_replicas = replicas[1] - replicas[0] if replicas is not None else 1
    hard_limits = (
        required_hard_limits(quota, failure.requested, missing_replicas)
        if quota is not None and is_countable
        else None
    )
    if quota is not None and hard_limits:
        yield _raised(case, quota, hard_limits)
        return
    yield Fix.run(
        describe,
        kubectl("edit", "resourcequota", failure.quota, namespace=namespace),
        sync(case),
        title="Or raise the quota, if it is yours to raise",
    )


def _fits_in_git(case: Case, ref: Ref, quota: Manifest | None, failure: QuotaExceeded) -> bool:
    """Does what Git asks for now fit into the quota?"""
    replicas, desired = ready_and_desired(case, ref), case.desired_of(ref.key)
    declared_replicas = integer(desired.spec.get("replicas")) if desired is not None else 0
    if replicas is not None and 0 < declared_replicas <= replicas[0]:
        return True
    declared_quota = case.desired_of(quota.key) if quota is not None else None
    if quota is None or declared_quota is None or not failure.requested:
        return False
    raised = quota.with_body({**quota.body, "spec": declared_quota.spec})
    return (
        required_hard_limits(
            raised, failure.requested, replicas[1] - replicas[0] if replicas is not None else 1
        )
        == {}
    )


def _what_fits(case: Case, ref: Ref, replicas: tuple[int, int]) -> Fix | None:
    """As many as run now, where Git and nobody else says how many there are to be."""
    ready, desired_replicas = replicas
    desired = case.desired_of(ref.key)
    if (
        not ready
        or desired is None
        or desired.spec.get("replicas") != desired_replicas
        or case.autoscaler_of(ref)
    ):
        return None
    return Fix.change(
        ref,
        Set(pointer="/spec/replicas", value=ready),
        title=f"Ask for what fits: {counted(ready, 'replica')} instead of"
        f" {desired_replicas}, as many as run now",
        risk="it stays at that until there is room for more",
    )


def _raised(case: Case, quota: Manifest, hard: dict[str, str]) -> Fix:
    changes = ", ".join(
        f"{name} {value} ({quota.at(join(('spec', 'hard', name)))} now)" for name, value in hard.items()
    )
    title = f"Or raise the quota, if it is yours to raise: {changes}"
    desired = case.desired_of(quota.key)
    if desired is not None:
        edits = (Set(pointer=join(("spec", "hard", name)), value=value) for name, value in hard.items())
        return Fix.change(quota.ref, *edits, title=title)
    patch = msgspec.json.encode({"spec": {"hard": hard}}).decode()
    return Fix.run(on_object("patch", quota.ref, "--type=merge", "-p", patch), sync(case), title=title)


def _defaults(namespace: str) -> Object:
    amounts: Object = {"cpu": "100m", "memory": "128Mi"}
    limits: Object = {"cpu": "500m", "memory": "256Mi"}
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "container-defaults", "namespace": namespace},
        "spec": {"limits": [{"type": "Container", "defaultRequest": amounts, "default": limits}]},
    }
