"""A probe fails, so the container is not ready or is restarted.

## What happens
Kubernetes probes whether the container is ready, alive or started. A failing readiness probe keeps the Pod
out of its Service, and the rollout waits; after a failing liveness or startup probe the kubelet kills and
restarts the container.

## How whysync knows
The kubelet's events name the probe and its result, and report when it killed the container. Without events:
the container runs, is not ready long after the sync, and has a readiness probe.

## Fix
Look at the result: correct a wrong port or path in the manifest; a slow start needs a `startupProbe` or a
longer `initialDelaySeconds`; a 500 is an error of the program, which its log shows.

## When it is something else
In the first minutes after a start, failing readiness probes are normal.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Set, Severity, SymptomKind, cite, rule
from whysync.diagnosis.owning_resource import owning_row_of, symptoms_about
from whysync.diagnosis.sentences import one_line
from whysync.json_tree import text
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.pods import ProbeFailed
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import kubectl, on_object, with_comment
from whysync.queries.group_failures import FailureGroup, grouped
from whysync.queries.log_lines import last_log_line
from whysync.queries.previous_revision import with_revert
from whysync.queries.probes import (
    also_crashes,
    killed_by_probe,
    probe_in_git,
    running_but_not_ready,
    startup_probes,
)

NOT_FOUND = 404
NO_LOGIN = (401, 403)
SERVER_ERROR = 500
_COMPARE = "Compare port, path and timing of the probe with the program, and correct it in Git"
_DOWN = "while it restarts, it is not ready"
_EITHER = "either it is killed because of the probe, or the probe fails because it is down"


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
            continue  # a container that is killed repeatedly is not ready either
        others = (id for other, same in groups if kill is not None and same == about for id in other.explains)
        explains = tuple(dict.fromkeys((*group.explains, *others, *symptoms_about(case, about))))
        explained.update(explains)
        crashes = also_crashes(case, about, explains)
        log_line = last_log_line(case, about, killed=True) if kill is not None else None
        is_consequence = crashes and failure.probe == "readiness"  # a readiness probe restarts nothing
        finding = Finding(
            about=about,
            explains=explains,
            because=explains if is_consequence else (),
            severity=_severity(case, failure.probe),
            confidence=Confidence.MEDIUM if crashes and kill is None else Confidence.HIGH,
            verdict=f"the {failure.probe or 'health'} probe of {ref or about} fails"
            + (f": {one_line(failure.detail)}" if failure.detail else "")
            + ("; the kubelet restarts the container because of it" if kill is not None else "")
            + (
                f"; the container also crashes: {_DOWN if is_consequence else _EITHER}"
                if crashes and kill is None
                else ""
            ),
            root=one_line(failure.detail) or None,
            evidence=(
                *((kill,) if kill is not None else ()),
                *((log_line,) if log_line is not None else ()),
                *group.cited(says="the result of the probe"),
            ),
            fixes=(
                *(startup_probes(case, about, failure) if kill is not None else ()),
                *_fixes(about, ref, failure, starting=_is_starting(case, failure.probe)),
            ),
        )
        if kill is not None and log_line is not None and failure.is_refused:
            finding = _still_starting(finding, ref or about, log_line)
        yield finding if is_consequence else _with_port_fix(case, finding, failure)
    if case.synced_recently:
        return
    for symptom in case.symptoms:
        if symptom.kind is not SymptomKind.UNHEALTHY or symptom.ref is None or symptom.id in explained:
            continue
        for history in case.pods_of(symptom.ref):
            not_ready = running_but_not_ready(history)
            if not_ready is None:
                continue
            name, pointer, probe = not_ready
            finding = Finding(
                about=symptom.ref,
                explains=(symptom.id,),
                severity=Severity.WARNING,
                confidence=Confidence.MEDIUM,
                verdict=f"container {name} of {history.pod.ref} runs, but its readiness probe fails",
                evidence=(
                    cite(history.pod, pointer, says="running but not ready"),
                    cite(history.pod, probe, says="its readiness probe"),
                ),
                fixes=_fixes(symptom.ref, history.pod.ref),
            )
            yield with_revert(case, finding)
            break


def _still_starting(finding: Finding, ref: Ref, log_line: Evidence) -> Finding:
    """It does not listen yet, and what it does instead is in its log: the refused probe is a symptom."""
    line = one_line(text(log_line.value))
    last = [item for item in finding.evidence if item == log_line]
    return replace(
        finding,
        verdict=f"the kubelet restarts a container of {ref} because its liveness probe fails before the"
        f" program listens; its last log line is {line!r}",
        root=line,
        evidence=(*(item for item in finding.evidence if item != log_line), *last),
    )


def _about(case: Case, group: FailureGroup[ProbeFailed]) -> Ref:
    ref = group.ref
    return (owning_row_of(case, ref) if ref is not None else None) or ref or case.application.ref


def _with_port_fix(case: Case, finding: Finding, failure: ProbeFailed) -> Finding:
    """Adds the port that the container declares, if the probe uses another; or reports that Git has it."""
    correction = probe_in_git(case, finding.about, failure)
    if correction is None:
        return with_revert(case, finding, first=not _starts_slowly(finding))
    if correction.synced is False:
        return replace(
            finding,
            already_fixed=sync_again(case, correction.verdict, correction.title, *finding.fixes),
        )
    fix = Fix.change(
        finding.about, Set(pointer=correction.pointer, value=correction.value), title=correction.title
    )
    return with_revert(case, replace(finding, field=correction.pointer, fixes=(fix, *finding.fixes)))


def _starts_slowly(finding: Finding) -> bool:
    """Is a startupProbe the first fix? The old version need not come back then."""
    first = next(iter(finding.fixes), None)
    pointers = [edit.pointer for edit in first.edits] if first is not None else []
    return any(pointer.endswith("/startupProbe") for pointer in pointers)


def _severity(case: Case, probe: str) -> Severity:
    degraded = case.app.status.health.status == "Degraded"
    if _is_starting(case, probe):
        return Severity.INFO
    return Severity.CRITICAL if degraded or probe == "liveness" else Severity.WARNING


def _is_starting(case: Case, probe: str) -> bool:
    """Does the probe fail because the program has just been started? Then nothing is wrong yet."""
    is_degraded = case.app.status.health.status == "Degraded"
    return case.synced_recently and probe in ("readiness", "startup") and not is_degraded


def _fixes(
    about: Ref, pod: Ref | None, failure: ProbeFailed | None = None, *, starting: bool = False
) -> tuple[Fix, ...]:
    named = pod if pod is not None and pod.kind == "Pod" else about
    title = _title(failure)
    target = named.name if named.kind == "Pod" else f"{named.kind.lower()}/{named.name}"
    return (
        Fix.run(
            on_object("describe", about),
            with_comment(
                kubectl("logs", target, "--tail=50", namespace=named.namespace or "default"),
                "what the program says, and where it listens",
            ),
            title=f"If it does not become ready in its usual time: {title[:1].lower()}{title[1:]}"
            if starting
            else title,
            then_commit=not starting,
        ),
    )


def _title(failure: ProbeFailed | None) -> str:
    if failure is None:
        return _COMPARE
    if failure.status == NOT_FOUND:
        return "Correct the path of the probe in Git: the program has no such path (404)"
    if failure.status in NO_LOGIN:
        return f"Probe a path that needs no login, in Git: the program answers {failure.status}"
    if failure.status >= SERVER_ERROR:
        return f"Correct what the program's log shows: it answers {failure.status} to the probe"
    if failure.is_slow:
        return "Raise timeoutSeconds of the probe in Git, or find out in the log why the program is slow"
    if failure.is_refused:
        return "Probe the port that the program listens on, in Git; if it does not listen, its log shows why"
    return _COMPARE if failure.detail else "Run the probe's command in the container, and read the log"
