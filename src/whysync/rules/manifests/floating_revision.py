"""A source with a floating version: a chart without a version or with a range, a Git source at HEAD.

## Why
What runs changes without a commit to this repository: nobody reviewed it, and a rollback in Git does not
bring the old state back.

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


@rule(layer=Layer.ARGOCD, severity=Severity.WARNING, cause="floating-version", since="0.2")
def floating_revision(tree: Tree) -> Iterator[Finding]:
    for app in tree.app_specs:
        yield from _of(app)


def _of(app: AppSpec) -> Iterator[Finding]:
    single = [(fields(app.spec.get("source")), f"{app.at}/source")] if "source" in app.spec else []
    many = [(fields(one), f"{app.at}/sources/{at}") for at, one in enumerate(items(app.spec.get("sources")))]
    for source, at in (*single, *many):
        revision, chart = text(source.get("targetRevision")), text(source.get("chart"))
        if "{{" in revision or "{{" in chart:
            continue
        if chart and (not revision or _RANGE.search(revision)):
            said = f"chart {chart} has version {revision or 'none'}: what runs changes without a commit here"
            yield finding(app.item, said, field=f"{at}/targetRevision", hint="name one version")
        elif not chart and revision in ("", "HEAD") and source.get("repoURL") and not dig(source, "ref"):
            said = "this source follows whatever the default branch is"
            yield finding(
                app.item,
                said,
                field=f"{at}/targetRevision",
                hint="name a branch or a tag",
                severity=Severity.INFO,
            )
