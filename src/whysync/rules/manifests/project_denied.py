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

from whysync.argocd.api.project import AppProject
from whysync.argocd.projects.permissions import Cluster, destination_verdict, kind_verdict, source_verdict
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import Layer, rule
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.decode import decode
from whysync.manifests.files import Part, finding
from whysync.manifests.tree import AppSpec, Tree

_HERE = "https://kubernetes.default.svc"


@rule(layer=Layer.ARGOCD, severity=Severity.CRITICAL, cause="project-denied", since="0.2")
def project_denied(tree: Tree) -> Iterator[Finding]:
    projects = _projects(tree)
    for app in tree.app_specs:
        project = projects.get(text(app.spec.get("project")))
        if project is None or app.is_template or app.item.file.part is not Part.MANIFESTS:
            continue
        yield from _sources(app, project)
        yield from _destination(app, project)
    for unit in tree.units:
        project = projects.get(text(unit.app.spec.get("project"))) if unit.app else None
        if project is None:
            continue
        for item in unit.items:
            ref, namespaced = item.ref, tree.is_namespaced(item.ref)
            if namespaced is None:
                continue
            if not kind_verdict(project, ref.group, ref.kind, ref.name, namespaced=namespaced).permitted:
                name = project.metadata.name
                said = f"resource {ref.group}:{ref.kind} is not permitted in project {name}"
                yield finding(item, said, field="/kind")


def _projects(tree: Tree) -> dict[str, AppProject]:
    """By name; of several with one name, nobody can tell which counts."""
    found: dict[str, list[AppProject]] = {}
    for item in tree.of_kind("AppProject"):
        project, _ = decode(item.body, AppProject)
        if project is not None and item.ref.group == "argoproj.io" and not item.kustomized:
            found.setdefault(item.ref.name, []).append(project)
    return {name: some[0] for name, some in found.items() if len(some) == 1}


def _sources(app: AppSpec, project: AppProject) -> Iterator[Finding]:
    single = [(fields(app.spec.get("source")), f"{app.at}/source")] if app.spec.get("source") else []
    many = [(fields(one), f"{app.at}/sources/{at}") for at, one in enumerate(items(app.spec.get("sources")))]
    for source, at in many or single:
        url = text(source.get("repoURL"))
        if url and "{" not in url and "$" not in url and not source_verdict(project, url).permitted:
            said = f"application repo {url} is not permitted in project '{project.metadata.name}'"
            yield finding(app.item, said, field=f"{at}/repoURL")


def _destination(app: AppSpec, project: AppProject) -> Iterator[Finding]:
    to = fields(app.spec.get("destination"))
    server, name, namespace = text(to.get("server")), text(to.get("name")), text(to.get("namespace"))
    if server.rstrip("/") == _HERE or name == "in-cluster":
        server, name = _HERE, "in-cluster"
    elif any(
        (destination.name and not name) or (destination.server and not server)
        for destination in project.spec.destinations
    ):
        return  # files do not tell which name belongs to which server
    if not (server or name) or any("{" in one or "$" in one for one in (server, name, namespace)):
        return
    if project.spec.permit_only_project_scoped_clusters:
        return
    if not destination_verdict(project, Cluster(server=server, name=name), namespace).permitted:
        where = text(to.get("name")) or server
        said = (
            f"application destination server '{where}' and namespace '{namespace}' do not match any of the "
            f"allowed destinations in project '{project.metadata.name}'"
        )
        yield finding(app.item, said, field=f"{app.at}/destination")
