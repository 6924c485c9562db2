"""Argo CD's own Pods as evidence, if they are in the facts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from whysync.diagnosis.evidence import Evidence, cite
from whysync.diagnosis.pods import pod_histories
from whysync.queries.commands import argocd_namespace

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case


def pods_named(case: Case, *components: str) -> Iterator[Evidence]:
    """Failing containers of the Pods of a component (`repo-server`, `redis`), else the phase of the Pods."""
    for pod in case.index.snapshot.live:
        if pod.ref.kind != "Pod" or pod.ref.namespace != argocd_namespace(case):
            continue
        if any(component in pod.ref.name for component in components):
            failing = [c for history in pod_histories(case, pod.ref) for c in history.failing]
            for container in failing:
                yield cite(pod, container.pointer, says="its Pod is failing")
            if not failing:
                yield cite(pod, "/status/phase", says="its Pod")
