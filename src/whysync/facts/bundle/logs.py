"""`logs/<namespace>/<pod>/<container>.log`, and `.previous.log` for the previous run."""

from __future__ import annotations

from whysync.facts.bundle.entries import Entry
from whysync.facts.bundle.limits import BundleLimits, size
from whysync.facts.bundle.roles import RoleInBundle
from whysync.facts.snapshot import Gap, GapKind
from whysync.kubernetes.api.container_log import Log


def read_log(entry: Entry, place: RoleInBundle, limits: BundleLimits) -> tuple[Log | None, Gap | None]:
    """The log, and a gap if only its end was kept; nothing if the path names no container."""
    if len(place.below) not in (2, 3):
        return None, None
    *cluster, namespace, pod = place.below
    container = place.file.removesuffix(".log")
    previous = container.endswith(".previous")
    lines = entry.data.decode("utf-8-sig", "replace").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    cut = entry.cut or len(lines) > limits.log_lines
    log = Log(
        namespace=namespace,
        pod=pod,
        container=container.removesuffix(".previous"),
        lines=tuple(line.removesuffix("\r") for line in lines[-limits.log_lines :]),
        previous=previous,
        origin=entry.name,
        cluster=cluster[0] if cluster else "",
    )
    if not cut:
        return log, None
    return log, Gap(
        kind=GapKind.TRUNCATED,
        what=f"the beginning of {entry.name}",
        why=f"only the last {limits.log_lines:,} lines and {size(limits.log_bytes)} of a log are read",
        how_to_get="cut the log to the part that matters",
    )
