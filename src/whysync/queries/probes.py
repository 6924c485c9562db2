"""Probes: which container is not ready or restarted because of one, and the probe that Git should declare."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from whysync.diagnosis import Case, Evidence, Fix, Set, cite
from whysync.diagnosis.pods import PodHistory
from whysync.diagnosis.symptom import SymptomId
from whysync.json_tree import Json, Missing, dig, fields, items, text
from whysync.kubernetes.api.ref import Ref
from whysync.messages.parse import understand
from whysync.messages.patterns.pods import CrashLoop, ProbeFailed

_CONTAINERS = "/spec/template/spec/containers"


class ProbeCorrection(msgspec.Struct, frozen=True, kw_only=True):
    """The correction of a probe; `synced` is false if Git already has it and the cluster does not."""

    title: str
    verdict: str = ""
    pointer: str = ""
    value: Json = None
    synced: bool = True


def startup_probes(case: Case, ref: Ref, failure: ProbeFailed) -> Iterator[Fix]:
    """A startupProbe of five minutes for a container that the liveness probe kills before it listens."""
    declared = case.desired_of(ref.key)
    if declared is None or failure.probe != "liveness" or not failure.is_refused:
        return
    for index, raw in enumerate(items(declared.at(_CONTAINERS))):
        probe, pointer = fields(fields(raw).get("livenessProbe")), f"{_CONTAINERS}/{index}/startupProbe"
        if not probe or not isinstance(declared.at(pointer), Missing):
            continue
        action = {
            key: value for key, value in probe.items() if key in ("httpGet", "tcpSocket", "grpc", "exec")
        }
        yield Fix.change(
            ref,
            Set(pointer=pointer, value={**action, "periodSeconds": 10, "failureThreshold": 30}),
            title="If it only starts slowly: add a startupProbe of five minutes in Git",
        )


def probe_in_git(case: Case, ref: Ref, failure: ProbeFailed) -> ProbeCorrection | None:
    """The correction of a probe whose connection is refused: the declared port, or a startupProbe."""
    declared, live = case.desired_of(ref.key), case.live_of(ref.key)
    if declared is None or live is None or not failure.is_refused:
        return None
    for index, raw in enumerate(items(declared.at(_CONTAINERS))):
        startup = f"{_CONTAINERS}/{index}/startupProbe"
        if not isinstance(declared.at(startup), Missing) and isinstance(live.at(startup), Missing):
            return ProbeCorrection(
                title="Sync: Git has a startupProbe",
                verdict="Git adds a startupProbe",
                synced=False,
            )
        ports = [fields(port) for port in items(fields(raw).get("ports"))]
        for action in ("httpGet", "tcpSocket"):
            pointer = f"{_CONTAINERS}/{index}/{failure.probe}Probe/{action}/port"
            probe_port = declared.at(pointer)
            if isinstance(probe_port, Missing) or len(ports) != 1:
                continue
            container_port = ports[0].get("name"), ports[0].get("containerPort")
            if probe_port in container_port and live.at(pointer) not in container_port:
                return ProbeCorrection(
                    title="Sync: Git changes the port of the probe",
                    verdict=f"Git probes port {probe_port} now",
                    synced=False,
                )
            if probe_port not in container_port:
                port = container_port[0] or container_port[1]
                return ProbeCorrection(
                    title=f"Probe port {port}, which the container declares",
                    pointer=pointer,
                    value=port,
                )
    return None


def also_crashes(case: Case, about: Ref, explains: tuple[SymptomId, ...]) -> bool:
    """Does the same resource crash repeatedly? Which of the two came first is unknown."""
    if any(c.waiting == "CrashLoopBackOff" for history in case.pods_of(about) for c in history.containers):
        return True
    refs = {s.ref.key for s in case.symptoms if s.id in explains and s.ref is not None}
    return any(report.ref is not None and report.ref.key in refs for report in case.failures(CrashLoop))


def running_but_not_ready(history: PodHistory) -> tuple[str, str, str] | None:
    if history.failing:
        return None  # it does not run or has crashed: another rule reports that
    probes = {
        text(fields(raw).get("name")): f"/spec/containers/{index}/readinessProbe"
        for index, raw in enumerate(items(history.pod.spec.get("containers")))
        if fields(raw).get("readinessProbe")
    }
    for index, raw in enumerate(items(history.pod.status.get("containerStatuses"))):
        status = fields(raw)
        name = text(status.get("name"))
        running = isinstance(dig(status, "state", "running"), dict)
        if running and status.get("ready") is False and name in probes:
            return name, f"/status/containerStatuses/{index}", probes[name]
    return None


def killed_by_probe(case: Case, workload: Ref, probe: str = "") -> Evidence | None:
    """The kubelet's event that a container was restarted because of that probe (or any that restarts)."""
    kinds = (probe,) if probe else ("liveness", "startup")
    for history in case.pods_of(workload):
        for manifest, event in case.events_about(history.pod.ref):
            failed = understand(event.says).first(ProbeFailed)
            if failed is not None and failed.restarts and failed.probe in kinds:
                return cite(manifest, "/message", says="the kubelet restarts it because of the probe")
    return None
