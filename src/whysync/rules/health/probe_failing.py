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

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Set, Severity, SymptomKind, cite, rule
from whysync.diagnosis.owning_resource import row_over, symptoms_about
from whysync.diagnosis.pods import PodHistory
from whysync.diagnosis.words import one_line
from whysync.json_tree import Missing, dig, fields, items, text
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.pods import CrashLoop, ProbeFailed
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import on_object
from whysync.queries.group_failures import FailureGroup, grouped
from whysync.queries.previous_revision import with_way_back
from whysync.queries.probe_kills import killed_for_probe

CONTAINERS = "/spec/template/spec/containers"
_DOWN = "while it is down, it is not ready"
_EITHER = "killed for the probe, or failing it because it is down"


@rule(cause="probe-failing", since="0.1")
def probe_failing(case: Case) -> Iterator[Finding]:
    told: set[str] = set()
    groups = [
        (group, _about(case, group)) for group in grouped(case, ProbeFailed, by=lambda f: (f.probe, f.detail))
    ]
    killers = {about.key for group, about in groups if killed_for_probe(case, about, group.failure.probe)}
    for group, about in groups:
        ref, failure = group.ref, group.failure
        killing = killed_for_probe(case, about, failure.probe)
        if about.key in killers and killing is None:
            continue  # what is killed over and over is not ready either
        others = (
            id for other, same in groups if killing is not None and same == about for id in other.explains
        )
        explains = tuple(dict.fromkeys((*group.explains, *others, *symptoms_about(case, about))))
        told.update(explains)
        crashes = _crashes(case, about, explains)
        follows = crashes and failure.probe == "readiness"  # which kills nothing
        finding = Finding(
            about=about,
            explains=explains,
            because=explains if follows else (),
            severity=_severity(case, failure.probe),
            confidence=Confidence.MEDIUM if crashes and killing is None else Confidence.HIGH,
            verdict=f"the {failure.probe or 'health'} probe of {ref or about} fails"
            + (f": {one_line(failure.detail)}" if failure.detail else "")
            + ("; it is killed for that, and started again" if killing is not None else "")
            + (f"; it crashes too: {_DOWN if follows else _EITHER}" if crashes and killing is None else ""),
            root=one_line(failure.detail) or None,
            evidence=(
                *((killing,) if killing is not None else ()),
                *group.cited(says="the kubelet tells what the probe got"),
            ),
            fixes=(*_time_to_start(case, about, failure, killing), *_fixes(about)),
        )
        yield finding if follows else _at_its_port(case, finding, failure)
    if case.synced_recently:
        return
    for symptom in case.symptoms:
        if symptom.kind is not SymptomKind.UNHEALTHY or symptom.ref is None or symptom.id in told:
            continue
        for story in case.pods_of(symptom.ref):
            found = _runs_and_is_not_ready(story)
            if found is None:
                continue
            name, pointer, probe = found
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
            yield with_way_back(case, finding)
            break


def _about(case: Case, group: FailureGroup[ProbeFailed]) -> Ref:
    ref = group.ref
    return (row_over(case, ref) if ref is not None else None) or ref or case.application.ref


def _time_to_start(case: Case, about: Ref, failure: ProbeFailed, killing: Evidence | None) -> Iterator[Fix]:
    """A liveness probe that kills what does not listen yet: a startupProbe gives it five minutes."""
    declared = case.desired_of(about.key)
    if declared is None or killing is None or failure.probe != "liveness" or "refused" not in failure.detail:
        return
    for index, raw in enumerate(items(declared.at(CONTAINERS))):
        probe, own = fields(fields(raw).get("livenessProbe")), f"{CONTAINERS}/{index}/startupProbe"
        if not probe or not isinstance(declared.at(own), Missing):
            continue
        action = {
            key: value for key, value in probe.items() if key in ("httpGet", "tcpSocket", "grpc", "exec")
        }
        yield Fix.change(
            about,
            Set(pointer=own, value={**action, "periodSeconds": 10, "failureThreshold": 30}),
            title="If it only starts slowly: give it five minutes with a startupProbe, in Git",
        )


def _at_its_port(case: Case, finding: Finding, failure: ProbeFailed) -> Finding:
    """A probe that asks where the container declares no port: the port that it declares is likely meant."""
    declared, live = case.desired_of(finding.about.key), case.live_of(finding.about.key)
    if declared is None or live is None or "refused" not in failure.detail:
        return with_way_back(case, finding)
    for index, raw in enumerate(items(declared.at(CONTAINERS))):
        own = f"{CONTAINERS}/{index}/startupProbe"
        if not isinstance(declared.at(own), Missing) and isinstance(live.at(own), Missing):
            return replace(
                finding,
                already_fixed=sync_again(
                    case,
                    True,
                    "Git gives it time to start by now",
                    "Sync: Git has a startupProbe",
                    *finding.fixes,
                ),
            )
        ports = [fields(port) for port in items(fields(raw).get("ports"))]
        for action in ("httpGet", "tcpSocket"):
            pointer = f"{CONTAINERS}/{index}/{failure.probe}Probe/{action}/port"
            asked = declared.at(pointer)
            if isinstance(asked, Missing) or len(ports) != 1:
                continue
            known = ports[0].get("name"), ports[0].get("containerPort")
            if asked in known and live.at(pointer) not in known:
                return replace(
                    finding,
                    already_fixed=sync_again(
                        case,
                        True,
                        f"Git asks at port {asked} by now",
                        "Sync: Git asks at another port",
                        *finding.fixes,
                    ),
                )
            if asked not in known:
                port = known[0] or known[1]
                fix = Fix.change(
                    finding.about,
                    Set(pointer=pointer, value=port),
                    title=f"Let the probe ask at port {port}, the one that the container declares",
                )
                finding = replace(finding, field=pointer, fixes=(fix, *finding.fixes))
                return with_way_back(case, finding)
    return with_way_back(case, finding)


def _crashes(case: Case, about: Ref, explains: tuple[str, ...]) -> bool:
    """Does the same resource crash again and again? Which of the two came first, nothing tells."""
    if any(c.waiting == "CrashLoopBackOff" for story in case.pods_of(about) for c in story.containers):
        return True
    refs = {s.ref.key for s in case.symptoms if s.id in explains and s.ref is not None}
    return any(report.ref is not None and report.ref.key in refs for report in case.failures(CrashLoop))


def _severity(case: Case, probe: str) -> Severity:
    starting = case.synced_recently and probe in ("readiness", "startup")
    degraded = case.app.status.health.status == "Degraded"
    if starting and not degraded:
        return Severity.INFO
    return Severity.CRITICAL if degraded or probe == "liveness" else Severity.WARNING


def _runs_and_is_not_ready(story: PodHistory) -> tuple[str, str, str] | None:
    if story.failing:
        return None  # it does not run, or has ended before: that is the story
    probes = {
        text(fields(raw).get("name")): f"/spec/containers/{index}/readinessProbe"
        for index, raw in enumerate(items(story.pod.spec.get("containers")))
        if fields(raw).get("readinessProbe")
    }
    for index, raw in enumerate(items(story.pod.status.get("containerStatuses"))):
        status = fields(raw)
        name = text(status.get("name"))
        running = isinstance(dig(status, "state", "running"), dict)
        if running and status.get("ready") is False and name in probes:
            return name, f"/status/containerStatuses/{index}", probes[name]
    return None


def _fixes(ref: Ref) -> tuple[Fix, ...]:
    return (
        Fix.run(
            on_object("describe", ref),
            title="Compare port, path and timing of the probe with what the program does; correct it in Git",
        ),
    )
