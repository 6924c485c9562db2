"""An Application, or one of its objects, that its AppProject does not permit.

## Why
Argo CD reports InvalidSpecError, or rejects the object during the sync. Only projects in the files are
checked.

## Bad
```yaml
kind: AppProject
metadata: {name: shop}
spec:
  sourceRepos: [https://git.example.com/shop.git]
---
kind: Application
spec:
  project: shop
  source: {repoURL: https://git.example.com/other.git}
```

## Good
```yaml
  source: {repoURL: https://git.example.com/shop.git}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import text
from whysync.manifests.files import Part, finding
from whysync.manifests.projects import (
    declared_projects,
    denied_destinations,
    denied_sources,
    is_kind_permitted,
)
from whysync.manifests.tree import Tree


@rule(layer=Layer.ARGOCD, severity=Severity.CRITICAL, cause="project-denied", since="0.1")
def project_denied(tree: Tree) -> Iterator[Finding]:
    projects = declared_projects(tree)
    for app in tree.app_specs:
        project = projects.get(text(app.spec.get("project")))
        if project is None or app.is_template or app.item.file.part is not Part.MANIFESTS:
            continue
        for denial in (*denied_sources(app, project), *denied_destinations(app, project)):
            yield finding(app.item, denial.message, field=denial.field)
    for unit in tree.units:
        project = projects.get(text(unit.app.spec.get("project"))) if unit.app else None
        if project is None:
            continue
        for item in unit.items:
            if not is_kind_permitted(tree, item, project):
                kind = f"{item.ref.group}:{item.ref.kind}"
                message = f"resource {kind} is not permitted in project {project.metadata.name}"
                yield finding(item, message, field="/kind")
