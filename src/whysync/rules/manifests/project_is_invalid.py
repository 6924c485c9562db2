"""An AppProject that Argo CD's API rejects.

## Why
A project from Git is applied nevertheless, because only Argo CD's API validates it. Afterwards `argocd proj`
and the UI fail with this message whenever they change the project.

## Bad
```yaml
roles:
  - name: ci
    policies: ["p, ci, applications, sync, shop/*, allow"]
```

## Good
```yaml
roles:
  - name: ci
    policies: ["p, proj:shop:ci, applications, sync, shop/*, allow"]
```
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.argocd.api.project import AppProject
from whysync.argocd.projects.validation import project_problem
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.kubernetes.api.decode import decode
from whysync.manifests.files import Part, finding
from whysync.manifests.tree import Tree


@rule(layer=Layer.ARGOCD, severity=Severity.WARNING, cause="project-invalid", since="0.1")
def project_is_invalid(tree: Tree) -> Iterator[Finding]:
    for item in tree.of_kind("AppProject"):
        if item.ref.group != "argoproj.io" or item.file.part is not Part.MANIFESTS:
            continue
        project, _ = decode(item.body, AppProject)
        problem = project_problem(project) if project is not None else None
        if problem and "{{" not in problem:
            yield finding(item, f"Argo CD's API rejects this project: {problem}", field="/spec")
