"""A sync window that is invalid, matches no Application, or is overridden by others.

## Why
One window that cannot be read blocks all syncs of the Applications that it selects. An allow window inside a
deny window never lets anything through.

## Bad
```yaml
syncWindows:
  - {kind: allow, schedule: "0 22 * * *", duration: 1h, applications: ["*"]}
  - {kind: deny, schedule: "0 20 * * *", duration: 12h, applications: ["*"]}
```

## Good
```yaml
syncWindows:
  - {kind: allow, schedule: "0 22 * * *", duration: 1h, applications: ["*"]}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from whysync.argocd.api.project import SyncWindow
from whysync.argocd.sync_windows.windows import BadWindow, has_known_zone, next_allowed, read_window
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.golang.cron import parse_schedule
from whysync.json_tree import fields, items
from whysync.kubernetes.api.decode import decode
from whysync.manifests.files import Item, finding
from whysync.manifests.tree import Tree

# Windows come round within a year or so: when one looks does not matter, the answer must stay the same.
_FROM = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


@rule(layer=Layer.ARGOCD, severity=Severity.WARNING, cause="sync-window", since="0.2")
def sync_window_without_effect(tree: Tree) -> Iterator[Finding]:
    for item in tree.of_kind("AppProject"):
        if item.ref.group != "argoproj.io":
            continue
        windows: list[tuple[int, SyncWindow]] = []
        readable = True
        for number, raw in enumerate(items(item.spec.get("syncWindows"))):
            window, _ = decode(fields(raw), SyncWindow)
            if window is None:
                continue
            at = f"/spec/syncWindows/{number}"
            try:
                read_window(window)
            except BadWindow as problem:
                readable = False
                said = f"{problem}: it blocks every sync of the apps that it selects"
                yield finding(item, said, field=at)
            else:
                yield from _alone(item, window, at)
            windows.append((number, window))
        if readable:
            yield from _together(item, windows)


def _alone(item: Item, window: SyncWindow, at: str) -> Iterator[Finding]:
    if window.kind not in ("allow", "deny"):
        said = f"a window of kind {window.kind!r} neither allows nor denies"
        yield finding(item, said, field=f"{at}/kind")
    if not (window.applications or window.namespaces or window.clusters):
        said = "this window selects nothing: it has no applications, namespaces or clusters"
        yield finding(item, said, field=at)
    if not has_known_zone(window):
        said = f"time zone {window.time_zone} is not known: Argo CD takes the times for UTC"
        yield finding(item, said, field=f"{at}/timeZone")
    if parse_schedule(window.schedule).next_after(_FROM) is None:
        said = f"schedule {window.schedule} is never due: Argo CD takes such a window for always open"
        yield finding(item, said, field=f"{at}/schedule")


def _together(item: Item, windows: list[tuple[int, SyncWindow]]) -> Iterator[Finding]:
    """Windows that select the same apps, asked whether a sync may ever run."""
    groups: dict[tuple[object, ...], list[tuple[int, SyncWindow]]] = {}
    for number, window in windows:
        key = window.applications, window.namespaces, window.clusters, window.and_operator
        if any(key[:3]):
            groups.setdefault(key, []).append((number, window))
    for alike in groups.values():
        kinds = {window.kind for _, window in alike}
        if "deny" not in kinds:
            continue
        if next_allowed([window for _, window in alike], _FROM, manual=False) is None:
            number = next(number for number, window in alike if window.kind == "deny")
            both = (
                "allow and deny windows cancel each other" if "allow" in kinds else "deny windows never close"
            )
            yield finding(
                item,
                f"{both}: no automated sync of these apps ever runs",
                field=f"/spec/syncWindows/{number}",
            )
