"""Argo CD's own Pods, where they are among the live objects: what a diagnosis of Argo CD itself cites."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from whysync.diagnosis.evidence import Evidence, cite
from whysync.diagnosis.pods import pod_histories
from whysync.queries.commands import argocd_namespace

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case


def pods_named(case: Case, *components: str) -> Iterator[Evidence]:
    """How the Pods of a part of Argo CD are (`repo-server`, `redis`): those that fail, else their phase."""
    for pod in case.index.snapshot.live:
        if pod.ref.kind != "Pod" or pod.ref.namespace != argocd_namespace(case):
            continue
        if any(component in pod.ref.name for component in components):
            failing = [c for story in pod_histories(case, pod.ref) for c in story.failing]
            for container in failing:
                yield cite(pod, container.pointer, says="its own Pod is in trouble")
            if not failing:
                yield cite(pod, "/status/phase", says="its own Pod")
