"""A container is killed because it exceeds its memory limit.

## What happens
The kernel kills a container that exceeds its memory limit (`OOMKilled`, exit code 137). It is restarted and
killed again. It looks like a crash loop, but its log ends abruptly.

## How whysync knows
The container's last state has the reason `OOMKilled`, or an event reports it.

## Fix
If a lower limit or a new version caused it, and the previous version still runs: revert to that. Otherwise
raise the limit in Git (and the request with it), or make the program use less. `kubectl top` shows how much
it uses while it runs.

## When it is something else
Exit code 137 without `OOMKilled` is another kill: a failing liveness probe, or a node under pressure.
"""

from collections.abc import Iterator
from shlex import quote

from msgspec.structs import replace

from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, SymptomKind, cite, rule
from whysync.diagnosis.owning_resource import owning_row_of, symptoms_about
from whysync.diagnosis.pods import ContainerHistory, PodHistory
from whysync.diagnosis.symptom import SymptomId
from whysync.golang.quantity import quantity_value
from whysync.json_tree import dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.pods import CrashLoop, OomKilled
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import kubectl
from whysync.queries.group_failures import pod_symptoms
from whysync.queries.previous_revision import with_revert

UNKNOWN = "CONTAINER"
CONTAINERS = "/spec/template/spec/containers"


@rule(cause="oom", since="0.1")
def container_oom_killed(case: Case) -> Iterator[Finding]:
    explained: set[str] = set()
    for symptom in case.symptoms:
        if symptom.kind is not SymptomKind.UNHEALTHY or symptom.ref is None:
            continue
        for history in case.pods_of(symptom.ref):
            killed = next((c for c in history.containers if c.exit_reason == "OOMKilled"), None)
            if killed is not None:
                explains = (symptom.id, *pod_symptoms(case, symptom.ref, OomKilled, CrashLoop))
                explained.update(explains)
                yield _from_pod(case, symptom.ref, tuple(dict.fromkeys(explains)), history, killed)
                break
    for report in case.failures(OomKilled):
        if report.ref is None or not explained.isdisjoint(report.symptoms):
            continue
        about = owning_row_of(case, report.ref) or report.ref
        explains = tuple(dict.fromkeys((*symptoms_about(case, about), *report.symptoms)))
        if not explained.isdisjoint(explains):
            continue
        explained.update(explains)
        yield Finding(
            about=about,
            explains=explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"a container of {report.ref} is OOM killed",
            root="OOMKilled",
            evidence=(report.cite(says="the reported reason"),),
            fixes=(_inspect(report.ref, report.failure.container or UNKNOWN),),
        )


def _from_pod(
    case: Case, ref: Ref, explains: tuple[SymptomId, ...], history: PodHistory, killed: ContainerHistory
) -> Finding:
    limit = _limit(history.pod, "/spec/containers", killed.name)
    look = _inspect(history.pod.ref, killed.name, limit)
    finding = Finding(
        about=ref,
        explains=explains,
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        verdict=f"container {killed.name} of {history.pod.ref} is OOM killed"
        + (f": its memory limit is {limit}" if limit else ""),
        root="OOMKilled",
        evidence=(cite(history.pod, killed.pointer, says=f"killed, restarted {killed.restarts} times"),),
        fixes=(look,),
    )
    declared = case.desired_of(ref.key)
    declared_limit = _limit(declared, CONTAINERS, killed.name) if declared is not None else ""
    if not limit or not declared_limit:
        return with_revert(case, finding)
    if (quantity_value(declared_limit) or 0) > (quantity_value(limit) or 0):
        return replace(
            finding,
            already_fixed=sync_again(
                case, f"Git raises the limit to {declared_limit}", "Sync: Git raises the memory limit", look
            ),
        )
    return with_revert(case, replace(finding, fixes=(*_more(case, ref, killed.name, limit), look)))


def _limit(manifest: Manifest, containers: str, name: str) -> str:
    for raw in items(manifest.at(containers)):
        if text(fields(raw).get("name")) == name:
            return text(dig(raw, "resources", "limits", "memory"))
    return ""


def _more(case: Case, ref: Ref, container: str, limit: str) -> Iterator[Fix]:
    """Doubles the memory limit: the amount that it needs is unknown."""
    declared = case.desired_of(ref.key)
    amount = limit.rstrip("KMGTPEi")
    if declared is None or not amount.isdecimal() or _limit(declared, CONTAINERS, container) != limit:
        return
    doubled = f"{2 * int(amount)}{limit[len(amount) :]}"
    for index, raw in enumerate(items(declared.at(CONTAINERS))):
        if text(fields(raw).get("name")) == container:
            yield Fix.change(
                ref,
                Set(pointer=f"{CONTAINERS}/{index}/resources/limits/memory", value=doubled),
                title=f"Double its memory limit in Git, to {doubled}",
                risk="if the program leaks memory, it only takes longer until the next kill",
            )


def _inspect(ref: Ref, container: str, limit: str = "") -> Fix:
    now = f" (now {limit})" if limit else ""
    return Fix.run(
        kubectl("top", "pod", "--containers", namespace=ref.namespace or "default")
        + f" | grep {quote(container)}",
        title=f"Raise resources.limits.memory of container {container} in Git{now}, or reduce its memory use"
        if container != UNKNOWN
        else "Raise resources.limits.memory of the container in Git, or reduce its memory use",
        then_commit=True,
    )
