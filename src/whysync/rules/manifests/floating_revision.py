"""A source with a floating version: a chart without a version or with a range, or a Git source at HEAD.

## Why
The deployed version changes without a commit in this repository: nobody reviews the change, and reverting a
commit does not restore the old state.

## Bad
```yaml
source:
  chart: redis
  targetRevision: "*"
```

## Good
```yaml
source:
  chart: redis
  targetRevision: 19.6.4
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import dig, fields, items, text
from whysync.manifests.files import finding
from whysync.manifests.tree import AppSpec, Tree

_RANGE = re.compile(r"[*^~<>|,]|\bx\b|^v?\d+(?:\.\d+)?$|\s-\s", re.IGNORECASE)


@rule(layer=Layer.ARGOCD, severity=Severity.WARNING, cause="floating-version", since="0.1")
def floating_revision(tree: Tree) -> Iterator[Finding]:
    for app in tree.app_specs:
        yield from _floating_sources(app)


def _floating_sources(app: AppSpec) -> Iterator[Finding]:
    single = [(fields(app.spec.get("source")), f"{app.at}/source")] if "source" in app.spec else []
    many = [
        (fields(raw), f"{app.at}/sources/{index}") for index, raw in enumerate(items(app.spec.get("sources")))
    ]
    for source, at in (*single, *many):
        revision, chart = text(source.get("targetRevision")), text(source.get("chart"))
        if "{{" in revision or "{{" in chart:
            continue
        if chart and (not revision or _RANGE.search(revision)):
            message = (
                f"chart {chart} has {f'version range {revision}' if revision else 'no version'}:"
                " the deployed version changes without a commit"
            )
            yield finding(app.item, message, field=f"{at}/targetRevision", hint="set one version")
        elif not chart and revision in ("", "HEAD") and source.get("repoURL") and not dig(source, "ref"):
            message = "the source tracks the default branch (HEAD)"
            yield finding(
                app.item,
                message,
                field=f"{at}/targetRevision",
                hint="set a branch or a tag",
                severity=Severity.INFO,
            )
