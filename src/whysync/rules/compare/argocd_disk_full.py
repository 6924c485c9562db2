"""A Pod of Argo CD has no space left on its disk.

## What happens
The repo-server keeps checkouts under `/tmp`, the controller writes manifests to `/dev/shm` before
it applies them. When that volume is full, rendering or applying fails for every Application.

## How whysync knows
`no space left on device`, with the path.

## Fix
Restarting the Pod empties such a volume at once. To keep it from coming back, give the volume more
room.

## When it is something else
A container of your own whose disk is full says so in its own log.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.messages.patterns.argocd import ArgocdDiskFull
from whysync.queries.commands import CONTROLLER, REPO_SERVER, argocd_namespace, kubectl, refresh, restart
from whysync.queries.group_failures import grouped


@rule(cause="argocd-disk-full", since="0.1")
def argocd_disk_full(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ArgocdDiskFull, by=lambda failure: failure.path):
        path = group.failure.path
        part, volume = (CONTROLLER, "/dev/shm") if path.startswith("/dev/shm") else (REPO_SERVER, "/tmp")
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"no space left in {part.rpartition('/')[2]}"
            + (f": {path} cannot be written" if path else ""),
            evidence=group.cited(says="the disk is full"),
            fixes=(
                Fix.run(
                    kubectl("exec", part, "--", "df", "-h", volume, namespace=argocd_namespace(case)),
                    restart(case, part),
                    refresh(case),
                    title="Restart it, which empties the volume; then give it more room (emptyDir sizeLimit)",
                    risk="what it does now is done again",
                ),
            ),
        )
