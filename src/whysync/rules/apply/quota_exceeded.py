"""A ResourceQuota of the namespace is used up, or requires every container to set requests or limits.

## What happens
The quota limits what a namespace uses. What would exceed it is rejected: at the sync (an object), or later
(Pods that a controller cannot create, which are then missing). A quota on CPU or memory also rejects every
container that does not set them.

## How whysync knows
`exceeded quota: …` with requested, used and limited; or `failed quota: …: must specify …`.

## Fix
Request less, free something, or raise the quota. If some Pods run, that number of replicas fits; if the quota
is in the facts, whysync computes the required limit. If containers must set requests or limits, set them, or
let a LimitRange set defaults.

## When it is something else
A single container is too large or too small for the namespace: limit-range.
"""

from collections.abc import Iterator, Sequence

import msgspec

from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, cite_if, rule
from whysync.diagnosis.owning_resource import owning_row, row_named, symptoms_about
from whysync.diagnosis.sentences import counted, listed
from whysync.json_tree import Object, fields, integer
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import join
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.apply import QuotaExceeded
from whysync.queries.already_fixed import fixed_since_autosync_gave_up, proof_of_fix, sync_again
from whysync.queries.commands import comment, kubectl, on_object, sync, with_comment
from whysync.queries.group_failures import FailureGroup, grouped
from whysync.queries.named_objects import is_unnamed, named_ref, object_text
from whysync.queries.pod_creation import until_created
from whysync.queries.quotas import (
    AmountLeft,
    CountedResource,
    amounts_left,
    counted_resources,
    not_seen,
    ready_and_desired,
    required_hard_limits,
)

_MAKERS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "Rollout")


@rule(cause="quota", since="0.1")
def quota_exceeded(case: Case) -> Iterator[Finding]:
    for group in grouped(case, QuotaExceeded, by=lambda f: (f.quota, bool(f.must_specify))):
        failure = group.failure
        ref = _affected_row(case, group)
        namespace = "" if is_unnamed(case, ref) else ref.namespace
        namespace = namespace or case.destination_namespace
        if proof_of_fix(case, failure, namespace) is not None and fixed_since_autosync_gave_up(case):
            continue  # the quota has room now: autosync_gave_up reports why nothing happens
        quota = case.live_named("ResourceQuota", namespace, failure.quota)
        gaps = () if quota is not None else not_seen(case, "ResourceQuota", namespace, failure.quota)
        yield Finding(
            about=ref,
            explains=tuple(dict.fromkeys((*group.explains, *symptoms_about(case, ref)))),
            severity=Severity.CRITICAL,
            confidence=Confidence.MEDIUM if gaps else Confidence.HIGH,
            gaps=gaps,
            verdict=_verdict(object_text(case, ref), namespace, failure),
            evidence=(
                *group.cited(says="the quota rejects it"),
                *cite_if(quota, "/status", says="hard limits and current use"),
            ),
            fixes=tuple(_fixes(case, ref, quota, namespace, failure)),
            already_fixed=sync_again(
                case,
                "what Git requests fits now",
                "Sync: what Git requests fits now",
                when=_fits_in_git(case, ref, quota, failure),
            ),
        )


def _affected_row(case: Case, group: FailureGroup[QuotaExceeded]) -> Ref:
    """The row whose Pods are missing: events are about its ReplicaSet."""
    reported_on = group.ref
    if reported_on is None:
        return named_ref(case, group.failure.resource)
    live = case.live_named(reported_on.kind, reported_on.namespace, reported_on.name)
    return (
        (owning_row(case, live) if live is not None else None) or row_named(case, reported_on) or reported_on
    )


def _verdict(ref: str, namespace: str, failure: QuotaExceeded) -> str:
    quota = f"quota {failure.quota} of namespace {namespace}"
    if failure.must_specify:
        return f"{ref}: {quota} requires every container to set {', '.join(failure.must_specify)}"
    amounts = f"requested {failure.requested}, used {failure.used}, limited to {failure.limited}"
    return f"{ref}: {quota} would be exceeded: {amounts}"


def _fixes(
    case: Case, ref: Ref, quota: Manifest | None, namespace: str, failure: QuotaExceeded
) -> Iterator[Fix]:
    if failure.must_specify:
        yield Fix.run(
            comment(f"resources of each container must set: {', '.join(failure.must_specify)}"),
            sync(case),
            title="Set requests and limits of the containers in Git",
        )
        yield Fix.new(
            _defaults(namespace),
            title="Or let a LimitRange set defaults for containers",
            risk="applies to every new container of the namespace",
        )
        return
    replicas = ready_and_desired(case, ref)
    reduce = _what_fits(case, ref, replicas) if replicas is not None else None
    counted_objects = tuple(counted_resources(failure.requested)) if reduce is None else ()
    if counted_objects:
        yield from _other_type(case, ref, counted_objects)
    else:
        yield reduce or _request_less(case, ref, namespace, failure)
    # During a rollout the required amount is unknown: old Pods may or may not free their share.
    is_countable = replicas is not None or ref.kind not in _MAKERS
    missing_replicas = replicas[1] - replicas[0] if replicas is not None else 1
    hard_limits = (
        required_hard_limits(quota.body, failure.requested, missing_replicas)
        if quota is not None and is_countable
        else None
    )
    if quota is not None and hard_limits:
        yield _raised(case, ref, quota, hard_limits)
    else:
        edit = kubectl("edit", "resourcequota", failure.quota, namespace=namespace)
        needed = ", ".join(f"{amount.name} {amount.needed}" for amount in _left(failure))
        yield Fix.run(
            with_comment(edit, f"spec.hard: at least {needed}") if needed and is_countable else edit,
            *until_created(case, ref),
            title="Or raise the quota, if you own it"
            if not counted_objects
            else "Raise the quota, if you own it",
        )
    yield from _free_one(case, namespace, counted_objects)


def _left(failure: QuotaExceeded) -> tuple[AmountLeft, ...]:
    return amounts_left(failure.requested, failure.used, failure.limited)


def _request_less(case: Case, ref: Ref, namespace: str, failure: QuotaExceeded) -> Fix:
    """What is left for a new Pod or claim, and what uses the rest. A Pod always counts as one."""
    of_claims = ref.kind == "PersistentVolumeClaim"
    left = [amount for amount in _left(failure) if amount.name.rpartition("/")[2] != "pods"]
    if not left or any(amount.is_empty for amount in left):
        full = listed([amount.name for amount in _left(failure) if amount.is_empty])
        return Fix.run(
            kubectl("describe", "resourcequota", failure.quota, namespace=namespace),
            *_users(namespace, left, of_claims=of_claims),
            comment("remove what is not needed where it is declared: Argo CD recreates what Git still has"),
            *until_created(case, ref),
            title=f"Free {full} in the namespace: nothing is left"
            if full
            else "Free some of it, or request less",
        )
    at_most = ", ".join(f"{amount.field} at most {amount.left}" for amount in left)
    counted_for = "the claim" if of_claims else "all containers of one Pod together"
    return Fix.run(
        *_users(namespace, left, of_claims=of_claims),
        comment(f"in Git: {at_most} for {counted_for}; commit and push, then"),
        sync(case),
        title=f"Request less: {listed([f'{amount.left} of {amount.name}' for amount in left])} is left",
    )


def _users(namespace: str, left: Sequence[AmountLeft], *, of_claims: bool) -> Iterator[str]:
    path = ".spec." if of_claims else ".spec.containers[*]."
    columns = [f"{amount.name}:{path}{amount.field}" for amount in left if "/" not in amount.name]
    if columns:
        show = f"custom-columns={','.join(('NAME:.metadata.name', *columns))}"
        kind = "persistentvolumeclaims" if of_claims else "pods"
        yield with_comment(kubectl("get", kind, "-o", show, namespace=namespace), "what uses the quota")


def _other_type(case: Case, ref: Ref, objects: tuple[CountedResource, ...]) -> Iterator[Fix]:
    """An object cannot count for less than one; a Service can be of a type that does not count."""
    types = {"LoadBalancer": "ClusterIP behind an Ingress or Gateway", "NodePort": "ClusterIP"}
    for resource in objects:
        if resource.service_type and ref.kind == "Service":
            yield Fix.run(
                comment(f"spec.type of {ref} in Git: {types[resource.service_type]}; commit, push, then"),
                sync(case),
                title=f"Make {ref} another type than {resource.service_type}, which the quota counts",
                risk="it is then reachable only in the cluster, and through that Ingress or Gateway",
            )


def _free_one(case: Case, namespace: str, objects: tuple[CountedResource, ...]) -> Iterator[Fix]:
    for resource in objects:
        listing = kubectl("get", resource.kind, namespace=namespace)
        only = f" | grep {resource.service_type}" if resource.service_type else ""
        yield Fix.run(
            with_comment(listing + only, "the objects that use it"),
            comment("delete one where it is declared: Argo CD recreates what Git still has"),
            sync(case),
            title=f"Or delete one of the {resource.kind} that use {resource.name}, if it is not needed",
            destroys=(f"that object: {resource.loss}",),
        )


def _fits_in_git(case: Case, ref: Ref, quota: Manifest | None, failure: QuotaExceeded) -> bool:
    """Does what Git requests now fit into the quota?"""
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
            raised.body, failure.requested, replicas[1] - replicas[0] if replicas is not None else 1
        )
        == {}
    )


def _what_fits(case: Case, ref: Ref, replicas: tuple[int, int]) -> Fix | None:
    """Reduces the replicas to those that run now, if Git alone sets their number."""
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
        title=f"Reduce to what fits: {counted(ready, 'replica')} instead of"
        f" {desired_replicas}, as many as run now",
        risk=f"raise it again when the quota has room{_next_rollout(desired, ready)}",
    )


def _next_rollout(workload: Manifest, replicas: int) -> str:
    """A rolling update that may not stop an old Pod first needs room for its additional Pods."""
    if workload.ref.kind != "Deployment" or workload.at("/spec/strategy/type") == "Recreate":
        return ""
    spec: Object = {**workload.spec, "replicas": replicas}
    # only with a finding: it loads the controllers of the model
    from whysync.kubernetes.controllers.deployment import resolve_fenceposts

    strategy = fields(spec.get("strategy"))
    limits: Object = {"maxSurge": "25%", "maxUnavailable": "25%", **fields(strategy.get("rollingUpdate"))}
    spec["strategy"] = {**strategy, "rollingUpdate": limits}
    surge, unavailable = resolve_fenceposts({**workload.body, "spec": spec})
    if unavailable:
        return ""
    room = f"room for {counted(surge, 'more Pod')}"
    return f"; the next rollout needs {room}, or maxSurge: 0 and maxUnavailable: 1"


def _raised(case: Case, ref: Ref, quota: Manifest, hard: dict[str, str]) -> Fix:
    changes = ", ".join(
        f"{name} {value} ({quota.at(join(('spec', 'hard', name)))} now)" for name, value in hard.items()
    )
    title = f"Or raise the quota, if you own it: {changes}"
    desired = case.desired_of(quota.key)
    if desired is not None:
        edits = (Set(pointer=join(("spec", "hard", name)), value=value) for name, value in hard.items())
        return Fix.change(quota.ref, *edits, title=title)
    patch = msgspec.json.encode({"spec": {"hard": hard}}).decode()
    change = on_object("patch", quota.ref, "--type=merge", "-p", patch)
    return Fix.run(change, *until_created(case, ref), title=title)


def _defaults(namespace: str) -> Object:
    amounts: Object = {"cpu": "100m", "memory": "128Mi"}
    limits: Object = {"cpu": "500m", "memory": "256Mi"}
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "container-defaults", "namespace": namespace},
        "spec": {"limits": [{"type": "Container", "defaultRequest": amounts, "default": limits}]},
    }
