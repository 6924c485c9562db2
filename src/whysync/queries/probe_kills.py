"""Who killed a container: the kubelet says so in an event, where a probe was the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whysync.diagnosis.evidence import Evidence, cite
from whysync.kubernetes.api.ref import Ref

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case


def killed_for_probe(case: Case, workload: Ref, probe: str = "") -> Evidence | None:
    """Of its Pods, one whose container failed that probe (or any that kills) and was restarted for it."""
    kinds = (probe,) if probe else ("liveness", "startup")
    for story in case.pods_of(workload):
        for manifest, event in case.events_about(story.pod.ref):
            if any(f"failed {kind} probe, will be restarted" in event.says for kind in kinds if kind):
                return cite(manifest, "/message", says="the kubelet kills it for the probe")
    return None
