"""A container is killed because it uses more memory than it may.

## What happens
The kernel kills a container that goes beyond its memory limit (`OOMKilled`, exit code 137). It is started
again and killed again. It looks like a crash loop, but its log ends in the middle of a sentence.

## How whysync knows
The container's last state says `OOMKilled`, or an event does.

## Fix
Give it a higher limit in Git (and a request to match), or make the program use less.

## When it is something else
Exit code 137 without `OOMKilled` is somebody else's kill: a failing liveness probe, a node under pressure.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.contracts.manifest import Manifest
from whysync.contracts.tree import dig, fields, items, text
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, SymptomKind, cite, rule
from whysync.diagnosis.commands import kubectl
from whysync.semantics.messages import OomKilled


@rule(cause="oom", since="0.1")
def killed_for_lack_of_memory(case: Case) -> Iterator[Finding]:
    told: set[str] = set()
    for symptom in case.symptoms:
        if symptom.kind is not SymptomKind.UNHEALTHY or symptom.ref is None:
            continue
        for story in case.pods_of(symptom.ref):
            killed = next((c for c in story.containers if c.exit_reason == "OOMKilled"), None)
            if killed is None:
                continue
            told.add(symptom.id)
            limit = _limit(story.pod, killed.name)
            yield Finding(
                about=symptom.ref,
                explains=(symptom.id,),
                severity=Severity.CRITICAL,
                confidence=Confidence.HIGH,
                verdict=f"container {killed.name} of {story.pod.ref} is killed for memory"
                + (f": its limit is {limit}" if limit else ""),
                root="OOMKilled",
                evidence=(
                    cite(story.pod, killed.pointer, says=f"killed, restarted {killed.restarts} times"),
                ),
                fixes=(_raise(case, killed.name),),
            )
            break
    for report in case.failures(OomKilled):
        if report.ref is not None and told.isdisjoint(report.symptoms):
            yield Finding(
                about=report.ref,
                explains=report.symptoms,
                severity=Severity.CRITICAL,
                confidence=Confidence.HIGH,
                verdict=f"a container of {report.ref} is killed for memory",
                root="OOMKilled",
                evidence=(report.cite(says="the node says so"),),
                fixes=(_raise(case, report.failure.container or "CONTAINER"),),
            )


def _limit(pod: Manifest, container: str) -> str:
    for raw in items(pod.spec.get("containers")):
        if text(fields(raw).get("name")) == container:
            return text(dig(fields(raw), "resources", "limits", "memory"))
    return ""


def _raise(case: Case, container: str) -> Fix:
    return Fix.run(
        kubectl("top", "pod", "--containers", namespace=case.destination_namespace or "default")
        + f" | grep {quote(container)}",
        title="Raise resources.limits.memory of the container in Git, or make the program use less",
    )
