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
from whysync.diagnosis.finding import Severity
from whysync.golang.cron import parse_schedule
from whysync.json_tree import fields, items
from whysync.kubernetes.api.decode import decode
from whysync.manifests.check import Found, Layer, check
from whysync.manifests.remark import Remark
from whysync.manifests.tree import Tree

# Windows come round within a year or so: when one looks does not matter, the answer must stay the same.
_FROM = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


@check(Layer.ARGOCD, Severity.WARNING)
def sync_window_without_effect(tree: Tree) -> Found:
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
            for remark, bad in _alone(window, at):
                readable = readable and not bad
                yield item, remark
            windows.append((number, window))
        if readable:
            yield from ((item, remark) for remark in _together(windows))


def _alone(window: SyncWindow, at: str) -> Iterator[tuple[Remark, bool]]:
    try:
        read_window(window)
    except BadWindow as problem:
        said = f"{problem}: it blocks every sync of the apps that it selects"
        yield Remark(message=said, field=at), True
        return
    if window.kind not in ("allow", "deny"):
        yield (
            Remark(message=f"a window of kind {window.kind!r} neither allows nor denies", field=f"{at}/kind"),
            False,
        )
    if not (window.applications or window.namespaces or window.clusters):
        said = "this window selects nothing: it has no applications, namespaces or clusters"
        yield Remark(message=said, field=at), False
    if not has_known_zone(window):
        said = f"time zone {window.time_zone} is not known: Argo CD takes the times for UTC"
        yield Remark(message=said, field=f"{at}/timeZone"), False
    if parse_schedule(window.schedule).next_after(_FROM) is None:
        said = f"schedule {window.schedule} is never due: Argo CD takes such a window for always open"
        yield Remark(message=said, field=f"{at}/schedule"), False


def _together(windows: list[tuple[int, SyncWindow]]) -> Iterator[Remark]:
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
            yield Remark(
                message=f"{both}: no automated sync of these apps ever runs",
                field=f"/spec/syncWindows/{number}",
            )
