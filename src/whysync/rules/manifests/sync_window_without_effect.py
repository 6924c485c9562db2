"""A sync window that is invalid, matches no Application, or is overridden by others.

## Why
One invalid window blocks all syncs of the Applications that it selects. An allow window inside a deny
window never allows a sync.

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

# A fixed start, so that the result does not depend on the time of the run: windows recur within a year.
_START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


@rule(layer=Layer.ARGOCD, severity=Severity.WARNING, cause="sync-window", since="0.1")
def sync_window_without_effect(tree: Tree) -> Iterator[Finding]:
    for item in tree.of_kind("AppProject"):
        if item.ref.group != "argoproj.io":
            continue
        windows: list[tuple[int, SyncWindow]] = []
        all_valid = True
        for number, raw in enumerate(items(item.spec.get("syncWindows"))):
            window, _ = decode(fields(raw), SyncWindow)
            if window is None:
                continue
            at = f"/spec/syncWindows/{number}"
            try:
                read_window(window)
            except BadWindow as problem:
                all_valid = False
                message = f"{problem}: it blocks every sync of the selected apps"
                yield finding(item, message, field=at)
            else:
                yield from _single_window(item, window, at)
            windows.append((number, window))
        if all_valid:
            yield from _combined_windows(item, windows)


def _single_window(item: Item, window: SyncWindow, at: str) -> Iterator[Finding]:
    if window.kind not in ("allow", "deny"):
        message = f"a window of kind {window.kind!r} neither allows nor denies"
        yield finding(item, message, field=f"{at}/kind")
    if not (window.applications or window.namespaces or window.clusters):
        message = "the window selects nothing: it has no applications, namespaces or clusters"
        yield finding(item, message, field=at)
    if not has_known_zone(window):
        message = f"unknown time zone {window.time_zone}: Argo CD uses UTC"
        yield finding(item, message, field=f"{at}/timeZone")
    if parse_schedule(window.schedule).next_after(_START) is None:
        message = f"schedule {window.schedule} never matches: Argo CD treats the window as always open"
        yield finding(item, message, field=f"{at}/schedule")


def _combined_windows(item: Item, windows: list[tuple[int, SyncWindow]]) -> Iterator[Finding]:
    """Windows that select the same apps and never allow a sync."""
    groups: dict[tuple[object, ...], list[tuple[int, SyncWindow]]] = {}
    for number, window in windows:
        key = window.applications, window.namespaces, window.clusters, window.and_operator
        if any(key[:3]):
            groups.setdefault(key, []).append((number, window))
    for group in groups.values():
        kinds = {window.kind for _, window in group}
        if "deny" not in kinds:
            continue
        if next_allowed([window for _, window in group], _START) is None:
            number = next(number for number, window in group if window.kind == "deny")
            reason = (
                "allow and deny windows cancel each other" if "allow" in kinds else "deny windows never close"
            )
            yield finding(
                item,
                f"{reason}: no automated sync of these apps ever runs",
                field=f"/spec/syncWindows/{number}",
            )
