"""An Application with a missing or contradictory source or destination.

## Why
Argo CD reports InvalidSpecError, and the sync status is Unknown.

## Bad
```yaml
destination:
  name: prod
  server: https://kubernetes.default.svc
```

## Good
```yaml
destination:
  name: prod
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import Object, fields, items, text
from whysync.manifests.files import Part, finding
from whysync.manifests.tree import Tree


@rule(layer=Layer.ARGOCD, severity=Severity.CRITICAL, cause="path-not-found", since="0.1")
def application_source_invalid(tree: Tree) -> Iterator[Finding]:
    for app in tree.app_specs:
        # Patches and templates of ApplicationSets are not complete specs.
        if app.item.file.part is not Part.MANIFESTS or app.is_template or app.item.kustomized:
            continue
        for where, message in _problems(app.spec):
            yield finding(app.item, message, field=app.at + where)


def _problems(spec: Object) -> Iterator[tuple[str, str]]:
    destination = fields(spec.get("destination"))
    if destination.get("name") and destination.get("server"):
        yield "/destination", "the destination has both a name and a server: Argo CD accepts only one of them"
    elif destination and not destination.get("name") and not destination.get("server"):
        yield "/destination", "the destination names no cluster: it needs a server or a name"
    sources = [fields(spec.get("source"))] if spec.get("source") else []
    sources += [fields(source) for source in items(spec.get("sources"))]
    if not sources and not spec.get("sourceHydrator"):
        yield "", "there is no source: Argo CD has nothing to deploy"
    for source in sources:
        if not source.get("repoURL"):
            continue  # reported by the schema check
        if not source.get("path") and not source.get("chart") and not source.get("ref"):
            yield "/source", f"source {text(source.get('repoURL'))} has neither a path nor a chart"
        elif source.get("path") and source.get("chart"):
            yield "/source", "a source has either a path or a chart, not both"
