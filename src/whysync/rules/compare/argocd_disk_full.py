"""A volume of an Argo CD Pod is full.

## What happens
The repo-server keeps checkouts in `/tmp`, and the controller writes manifests to `/dev/shm` before it applies
them. If that volume is full, rendering or applying fails for every Application.

## How whysync knows
`no space left on device`, with the path.

## Fix
Restart the Pod, which empties such a volume. To prevent it from recurring, increase the size of the volume.

## When it is something else
If the disk of an application container is full, its own log reports it.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.messages.patterns.argocd import ArgocdDiskFull
from whysync.queries.commands import (
    CONTROLLER,
    REPO_SERVER,
    argocd_namespace,
    hard_refresh,
    kubectl,
    refresh,
    restart,
)
from whysync.queries.group_failures import grouped


@rule(cause="argocd-disk-full", since="0.1")
def argocd_disk_full(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ArgocdDiskFull, by=lambda failure: failure.path):
        path = group.failure.path
        component, volume = (CONTROLLER, "/dev/shm") if path.startswith("/dev/shm") else (REPO_SERVER, "/tmp")
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"no space left on the volume of {component.rpartition('/')[2]}"
            + (f": {path} cannot be written" if path else ""),
            evidence=group.cited(says="the disk is full"),
            fixes=(
                Fix.run(
                    kubectl("exec", component, "--", "df", "-h", volume, namespace=argocd_namespace(case)),
                    restart(case, component),
                    hard_refresh(case) if component == REPO_SERVER else refresh(case),
                    title="Restart it, which empties the volume; then increase its size (emptyDir sizeLimit)",
                    risk="interrupts its current work, which starts again",
                ),
            ),
        )
