"""The Application names an AppProject that does not exist.

## What happens
Every Application belongs to a project. Without it Argo CD does not compare or sync the Application, and its
status is Unknown. The project was deleted or renamed, is created later (app of apps), or is in another
namespace than Argo CD.

## How whysync knows
`Application referencing project … which does not exist`.

## Fix
Create the project with the permissions that this Application needs, or use an existing project. Change the
Application in Git or with kubectl: while its project is missing, `argocd app` commands are refused.

## When it is something else
If the project exists but does not permit the source or destination: project-denied.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.json_tree import Json, Object
from whysync.messages.patterns.projects import ProjectMissing
from whysync.queries.already_fixed import refresh_again
from whysync.queries.commands import argocd_namespace, on_object, with_comment
from whysync.queries.group_failures import grouped


@rule(cause="project-missing", since="0.1")
def project_missing(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ProjectMissing, by=lambda failure: failure.project):
        name = group.failure.project or case.app.project
        yield Finding(
            about=case.application.ref,
            field="/spec/project",
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"AppProject {name} does not exist, so Argo CD does not compare or sync this Application",
            evidence=(
                *group.cited(says="reported by Argo CD"),
                cite(case.application, "/spec/project", says="project of the Application"),
            ),
            fixes=(
                Fix.new(
                    _project(case, name),
                    title=f"Create AppProject {name} with the permissions this Application needs",
                ),
                Fix.run(
                    "argocd proj list",
                    with_comment(
                        on_object(
                            "patch",
                            case.application.ref,
                            "--type=merge",
                            "-p",
                            '{"spec":{"project":"OTHER_PROJECT"}}',
                        ),
                        "argocd app set is refused while the project is missing",
                    ),
                    title="Use an existing project",
                ),
            ),
            already_fixed=refresh_again(
                case,
                f"the Application already uses project {case.app.project}",
                "Refresh: the project has been corrected",
                when=bool(group.failure.project) and group.failure.project != case.app.project,
            ),
        )


def _project(case: Case, name: str) -> Object:
    destination = case.app.spec.destination
    by: Object = {"server": destination.server} if destination.server else {"name": destination.name}
    repos: list[Json] = list(dict.fromkeys(source.repo_url for source in case.app.sources if source.repo_url))
    spec: Object = {"sourceRepos": repos, "destinations": [{**by, "namespace": destination.namespace}]}
    cluster_scoped = _cluster_scoped_kinds(case)
    if cluster_scoped:
        spec["clusterResourceWhitelist"] = cluster_scoped
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": name, "namespace": argocd_namespace(case)},
        "spec": spec,
    }


def _cluster_scoped_kinds(case: Case) -> list[Json]:
    """The cluster-scoped kinds of the app, which the project must permit."""
    kinds = {(row.group, row.kind) for row in case.app.status.resources if not row.namespace}
    if case.has_sync_option("CreateNamespace=true"):
        kinds.add(("", "Namespace"))
    return [{"group": group, "kind": kind} for group, kind in sorted(kinds)]
