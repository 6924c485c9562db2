"""A volume of a scheduled Pod cannot be attached or mounted.

## What happens
The Pod stays in ContainerCreating: its volume is still attached to another node (a volume for one node, and
the old Pod still exists), the storage driver does not answer, or the file server rejects the mount. Argo CD
reports the workload as Progressing, later Degraded.

## How whysync knows
Warning events of the Pod: `Multi-Attach error`, `AttachVolume.Attach failed`, `MountVolume… failed`,
`Unable to attach or mount volumes`.

The claim of a volume that is attached elsewhere is bound, so this is a problem of the workload: two Pods use
one volume.

## Fix
Release the volume: delete the old Pod, or remove the dead node. A Deployment with such a volume needs the
strategy `Recreate`, because a rolling update runs both Pods at once.

## When it is something else
A claim without a volume is not bound yet. A Secret or ConfigMap that does not exist is a missing dependency.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, rule
from whysync.diagnosis.owning_resource import owning_row_of, symptoms_about
from whysync.diagnosis.sentences import one_line
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.pods import DependencyMissing, FailedMount
from whysync.queries.commands import comment, kubectl, on_object, sync
from whysync.queries.group_failures import FailureGroup, grouped

ELSEWHERE = "Multi-Attach"


@rule(cause="pvc-pending", since="0.1")
def volume_mount_failed(case: Case) -> Iterator[Finding]:
    with_missing_object = {_row(case, report.ref) for report in case.failures(DependencyMissing)}
    rows: dict[Ref, list[FailureGroup[FailedMount]]] = {}
    for group in grouped(case, FailedMount, by=lambda failure: failure.volume):
        about = _row(case, group.ref)
        if group.failure.waits_for_cache:
            continue
        if (
            about not in with_missing_object
        ):  # the kubelet also lists volumes that wait for another with a missing Secret
            rows.setdefault(about, []).append(group)
    for about, groups in rows.items():
        yield _finding(case, about, sorted(groups, key=_is_summary))


def _is_summary(group: FailureGroup[FailedMount]) -> bool:
    """Is it the kubelet's list of pending volumes? The reason is then in another event, if any."""
    return group.failure.detail.startswith(",")


def _finding(case: Case, about: Ref, groups: list[FailureGroup[FailedMount]]) -> Finding:
    ref, failure = groups[0].ref, groups[0].failure
    attached_elsewhere = ELSEWHERE in failure.text
    why = one_line(failure.detail.lstrip(", ")) or "the event has no reason"
    reported = tuple(id for group in groups for id in group.explains)
    return Finding(
        about=about,
        cause="degraded-workload" if attached_elsewhere else "",
        explains=tuple(dict.fromkeys((*reported, *symptoms_about(case, about)))),
        severity=Severity.WARNING if case.synced_recently else Severity.CRITICAL,
        confidence=Confidence.HIGH if attached_elsewhere else Confidence.MEDIUM,
        verdict=f"volume {failure.volume or '(not named)'} of {ref or about} cannot be mounted: "
        + (f"it is still attached to another node: {why}" if attached_elsewhere else why),
        root=one_line(failure.detail) or None,
        evidence=tuple(
            evidence
            for group in reversed(groups)
            for evidence in group.cited(says="the event with the reason")
        ),
        fixes=(
            *_recreate(case, about, attached_elsewhere=attached_elsewhere),
            _fix(ref or about, attached_elsewhere=attached_elsewhere),
        ),
    )


def _row(case: Case, ref: Ref | None) -> Ref:
    return (owning_row_of(case, ref) if ref is not None else None) or ref or case.application.ref


def _recreate(case: Case, about: Ref, *, attached_elsewhere: bool) -> Iterator[Fix]:
    """A rolling update starts the new Pod before the old one has released the volume."""
    workload = case.desired_of(about.key) or case.live_of(about.key)
    if not attached_elsewhere or about.kind != "Deployment":
        return
    if workload is not None and workload.at("/spec/strategy/type") == "Recreate":
        return
    title = "Use the strategy Recreate: a rolling update needs the volume on two nodes at once"
    risk = "the app is down while its Pod moves"
    if case.desired_of(about.key) is not None:
        yield Fix.change(
            about, Set(pointer="/spec/strategy", value={"type": "Recreate"}), title=title, risk=risk
        )
        return
    yield Fix.run(
        comment(f"spec.strategy of {about} in Git: type Recreate, without rollingUpdate; commit"),
        sync(case),
        title=title,
        risk=risk,
    )


def _fix(pod: Ref, *, attached_elsewhere: bool) -> Fix:
    commands = (on_object("describe", pod), kubectl("get", "volumeattachments"))
    if attached_elsewhere:
        return Fix.run(
            *commands,
            kubectl("get", "pods", "-o", "wide", namespace=pod.namespace or "default"),
            title="Delete the Pod that still uses the volume, or remove its dead node",
            risk="data that the old Pod has not written yet is lost",
        )
    return Fix.run(*commands, title="Read the storage driver's error, and fix it")
