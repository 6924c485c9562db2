"""A probe fails, so the container does not count as ready or is killed.

## What happens
Kubernetes asks the container whether it is ready, alive or started. A readiness probe that fails keeps the
Pod out of its Service, and the rollout waits; a liveness or startup probe that fails has the container killed
and started again.

## How whysync knows
The kubelet's events name the probe and its answer, and say so where it killed the container for it. Without
events: the container runs, is not ready long after the sync, and has a readiness probe.

## Fix
Look at the answer: a wrong port or path is mended in the manifest, a slow start needs a `startupProbe` or a
longer `initialDelaySeconds`, a 500 is the program's own trouble and stands in its log.

## When it is something else
In the first minutes after a start, readiness probes may fail: that is what they are for.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, SymptomKind, cite, rule
from whysync.diagnosis.owning_resource import owning_row_of, symptoms_about
from whysync.diagnosis.sentences import one_line
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.pods import ProbeFailed
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import on_object
from whysync.queries.group_failures import FailureGroup, grouped
from whysync.queries.previous_revision import with_revert
from whysync.queries.probes import (
    also_crashes,
    killed_by_probe,
    probe_in_git,
    running_but_not_ready,
    startup_probes,
)

_DOWN = "while it is down, it is not ready"
_EITHER = "killed for the probe, or failing it because it is down"


@rule(cause="probe-failing", since="0.1")
def probe_failing(case: Case) -> Iterator[Finding]:
    explained: set[str] = set()
    groups = [
        (group, _about(case, group)) for group in grouped(case, ProbeFailed, by=lambda f: (f.probe, f.detail))
    ]
    killed = {about.key for group, about in groups if killed_by_probe(case, about, group.failure.probe)}
    for group, about in groups:
        ref, failure = group.ref, group.failure
        kill = killed_by_probe(case, about, failure.probe)
        if about.key in killed and kill is None:
            continue  # what is killed over and over is not ready either
        others = (id for other, same in groups if kill is not None and same == about for id in other.explains)
        explains = tuple(dict.fromkeys((*group.explains, *others, *symptoms_about(case, about))))
        explained.update(explains)
        crashes = also_crashes(case, about, explains)
        is_consequence = crashes and failure.probe == "readiness"  # which kills nothing
        finding = Finding(
            about=about,
            explains=explains,
            because=explains if is_consequence else (),
            severity=_severity(case, failure.probe),
            confidence=Confidence.MEDIUM if crashes and kill is None else Confidence.HIGH,
            verdict=f"the {failure.probe or 'health'} probe of {ref or about} fails"
            + (f": {one_line(failure.detail)}" if failure.detail else "")
            + ("; it is killed for that, and started again" if kill is not None else "")
            + (
                f"; it crashes too: {_DOWN if is_consequence else _EITHER}"
                if crashes and kill is None
                else ""
            ),
            root=one_line(failure.detail) or None,
            evidence=(
                *((kill,) if kill is not None else ()),
                *group.cited(says="the kubelet tells what the probe got"),
            ),
            fixes=(*(startup_probes(case, about, failure) if kill is not None else ()), *_fixes(about)),
        )
        yield finding if is_consequence else _at_its_port(case, finding, failure)
    if case.synced_recently:
        return
    for symptom in case.symptoms:
        if symptom.kind is not SymptomKind.UNHEALTHY or symptom.ref is None or symptom.id in explained:
            continue
        for story in case.pods_of(symptom.ref):
            not_ready = running_but_not_ready(story)
            if not_ready is None:
                continue
            name, pointer, probe = not_ready
            finding = Finding(
                about=symptom.ref,
                explains=(symptom.id,),
                severity=Severity.WARNING,
                confidence=Confidence.MEDIUM,
                verdict=f"container {name} of {story.pod.ref} runs, and its readiness probe fails",
                evidence=(
                    cite(story.pod, pointer, says="running, and not ready"),
                    cite(story.pod, probe, says="what it is asked"),
                ),
                fixes=_fixes(story.pod.ref),
            )
            yield with_revert(case, finding)
            break


def _about(case: Case, group: FailureGroup[ProbeFailed]) -> Ref:
    ref = group.ref
    return (owning_row_of(case, ref) if ref is not None else None) or ref or case.application.ref


def _at_its_port(case: Case, finding: Finding, failure: ProbeFailed) -> Finding:
    """With the port that the container declares, where the probe asks at another; or Git already has it."""
    correction = probe_in_git(case, finding.about, failure)
    if correction is None:
        return with_revert(case, finding)
    if correction.synced is False:
        return replace(
            finding,
            already_fixed=sync_again(case, True, correction.verdict, correction.title, *finding.fixes),
        )
    fix = Fix.change(
        finding.about, Set(pointer=correction.pointer, value=correction.value), title=correction.title
    )
    return with_revert(case, replace(finding, field=correction.pointer, fixes=(fix, *finding.fixes)))


def _severity(case: Case, probe: str) -> Severity:
    starting = case.synced_recently and probe in ("readiness", "startup")
    degraded = case.app.status.health.status == "Degraded"
    if starting and not degraded:
        return Severity.INFO
    return Severity.CRITICAL if degraded or probe == "liveness" else Severity.WARNING


def _fixes(ref: Ref) -> tuple[Fix, ...]:
    return (
        Fix.run(
            on_object("describe", ref),
            title="Compare port, path and timing of the probe with what the program does; correct it in Git",
        ),
    )
