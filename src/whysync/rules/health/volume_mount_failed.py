"""A volume of a scheduled Pod cannot be attached or mounted.

## What happens
The Pod stays in ContainerCreating: its volume is still attached to another node (a volume for one node, and
the old Pod still exists), the storage driver does not answer, or the file server rejects the mount. Argo CD
reports the workload as Progressing, later Degraded.

## How whysync knows
Warning events of the Pod: `Multi-Attach error`, `AttachVolume.Attach failed`, `MountVolume… failed`,
`Unable to attach or mount volumes`. If the event says that a ConfigMap or Secret does not exist, but not
which one, the finding has the cause dependency-missing.

The claim of a volume that is attached elsewhere is bound, so this is a problem of the workload: two Pods use
one volume.

## Fix
A Deployment with such a volume needs one replica and the strategy `Recreate`: a rolling update runs both
Pods at once. Several Pods need a volume each (a StatefulSet) or a `ReadWriteMany` claim. To release the
volume now, delete the old Pod, or remove the dead node.

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

REPLICAS = "/spec/replicas"
STRATEGY = "/spec/strategy"


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
        yield _finding(case, about, sorted(groups, key=lambda group: group.failure.is_summary))


def _finding(case: Case, about: Ref, groups: list[FailureGroup[FailedMount]]) -> Finding:
    ref, failure = groups[0].ref, groups[0].failure
    attached_elsewhere = failure.attached_elsewhere
    missing = failure.missing_kind
    why = one_line(failure.detail.lstrip(", ")) or "the event has no reason"
    reported = tuple(id for group in groups for id in group.explains)
    return Finding(
        about=about,
        cause="degraded-workload" if attached_elsewhere else "dependency-missing" if missing else "",
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
            *(_one_user(case, about) if attached_elsewhere else ()),
            _fix(ref or about, failure, attached_elsewhere=attached_elsewhere),
        ),
    )


def _row(case: Case, ref: Ref | None) -> Ref:
    return (owning_row_of(case, ref) if ref is not None else None) or ref or case.application.ref


def _one_user(case: Case, about: Ref) -> Iterator[Fix]:
    """A volume for one node has room for one Pod: of one replica, and not for two versions at once."""
    declared = case.desired_of(about.key)
    workload = declared or case.live_of(about.key)
    if about.kind != "Deployment" or workload is None:
        return
    edits: list[Set] = []
    texts: list[str] = []
    replicas = workload.at(REPLICAS)
    if isinstance(replicas, int) and replicas > 1:
        edits.append(Set(pointer=REPLICAS, value=1))
        texts.append("replicas: 1")
    if workload.at("/spec/strategy/type") != "Recreate":
        edits.append(Set(pointer=STRATEGY, value={"type": "Recreate"}))
        texts.append("strategy Recreate")
    if not edits:
        return
    several = isinstance(replicas, int) and replicas > 1
    title = (
        f"Run one Pod at a time ({', '.join(texts)}): the volume can be attached to one node only"
        if several
        else "Use the strategy Recreate: a rolling update needs the volume on two nodes at once"
    )
    risk = "the app is down while its Pod moves" + (f"; {replicas} Pods become one" if several else "")
    if declared is not None:
        yield Fix.change(about, *edits, title=title, risk=risk)
    else:
        yield Fix.run(
            comment(f"in the spec of {about} in Git: {', '.join(texts)}, without rollingUpdate; commit"),
            sync(case),
            title=title,
            risk=risk,
        )
    if several:
        yield Fix.run(
            comment(f"instead of {about}: a StatefulSet with volumeClaimTemplates, one volume for each Pod"),
            comment("or a new claim with accessModes: [ReadWriteMany], if its storage class supports it"),
            sync(case),
            title="If several Pods are needed: one volume for each (a StatefulSet), or a ReadWriteMany claim",
            risk="the data has to be copied: neither change can be made to the existing claim",
        )


def _fix(pod: Ref, failure: FailedMount, *, attached_elsewhere: bool) -> Fix:
    commands = (on_object("describe", pod), kubectl("get", "volumeattachments"))
    if attached_elsewhere:
        user = failure.used_by
        return Fix.run(
            kubectl("get", "pods", "-o", "wide", namespace=pod.namespace or "default"),
            kubectl("get", "volumeattachments"),
            kubectl("delete", "pod", user or "POD", namespace=pod.namespace or "default"),
            title=f"To get it running now: delete Pod {user}, which still uses the volume"
            if user
            else "To get it running now: delete the Pod that still uses the volume, or remove its dead node",
            risk="data that the old Pod has not written yet is lost; its workload may start it again",
        )
    if failure.missing_kind:
        return Fix.run(
            on_object("describe", pod),
            kubectl("get", f"{failure.missing_kind.lower()}s", namespace=pod.namespace or "default"),
            title=f"Create the {failure.missing_kind} of the volume, or correct its name in the Pod template",
        )
    why = one_line(failure.detail.lstrip(", "))
    return Fix.run(
        *commands,
        title=f"Solve what the storage driver reports: {why}" if why else "Find the storage driver's error",
    )
