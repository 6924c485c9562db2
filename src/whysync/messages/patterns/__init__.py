"""The tables in order of precedence: what is more exact, or wraps another error, comes first.

`TABLES` has the patterns that may answer for a text of each scope.
"""

from __future__ import annotations

from whysync.messages.pattern import Pattern, Table
from whysync.messages.patterns import (
    admission,
    application_sets,
    apply,
    argocd,
    cluster,
    diffs,
    git,
    helm,
    invalid,
    logins,
    manifests,
    operations,
    pods,
    projects,
    rbac,
    schema,
)
from whysync.messages.scope import Scope

_SOURCES: tuple[Pattern, ...] = (
    *manifests.KUSTOMIZE,
    *cluster.REGISTRATION,
    *git.TABLE,
    *helm.TABLE,
    *manifests.TABLE,
    *cluster.CONNECTION,
    *argocd.LAST,
    *helm.LAST,
    *manifests.LAST,
)

ALL = Table(
    *argocd.OWN_OBJECTS,
    *diffs.FIRST,
    *rbac.TABLE,
    *diffs.OPENAPI,
    *admission.FIRST,
    *logins.TABLE,
    *argocd.FIRST,
    *projects.FIRST,
    *projects.ARGOCD_RBAC,
    *application_sets.TABLE,
    *operations.FIRST,
    *apply.FIRST,
    *pods.FIRST,
    *manifests.KUSTOMIZE,
    *invalid.TABLE,
    *cluster.REGISTRATION,
    *git.TABLE,
    *helm.TABLE,
    *manifests.TABLE,
    *pods.TABLE,
    *cluster.CONNECTION,
    *argocd.LAST,
    *helm.LAST,
    *manifests.LAST,
    *schema.TABLE,
    *apply.TABLE,
    *diffs.TABLE,
    *apply.LAST,
)

TABLES: dict[Scope, Table] = {
    Scope.ANY: ALL,
    Scope.GIT: Table(*argocd.DISK, *git.TABLE, *cluster.CONNECTION),
    Scope.HELM: Table(*argocd.DISK, *helm.TABLE, *helm.LAST),
    Scope.HELM_DOWNLOAD: Table(*argocd.DISK, *git.TABLE, *helm.TABLE, *cluster.CONNECTION, *helm.LAST),
    Scope.KUSTOMIZE: Table(*argocd.DISK, *manifests.KUSTOMIZE, *manifests.LAST),
    Scope.PLUGIN: Table(
        *argocd.DISK,
        *manifests.PLUGINS,
        *manifests.KUSTOMIZE,
        *helm.TEMPLATES,
        *manifests.JSONNET,
        *manifests.LAST,
    ),
    # Its own errors name what fails; those that name an object to correct are more exact.
    Scope.APPLICATION_SET: Table(
        *argocd.OWN_OBJECTS,
        *rbac.TABLE,
        *argocd.FIRST,
        *projects.FIRST,
        *cluster.REGISTRATION,
        *application_sets.TABLE,
        *application_sets.LAST,
    ),
    Scope.HYDRATOR: Table(*argocd.FIRST, *manifests.HYDRATOR, *manifests.LAST),
    Scope.REPO_SERVER: Table(
        *diffs.OPENAPI,
        *argocd.FIRST,
        *projects.FIRST,
        *operations.FIRST,
        *_SOURCES,
        *apply.SIZES,
    ),
    Scope.CONTROLLER: Table(
        *argocd.OWN_OBJECTS,
        *diffs.FIRST,
        *rbac.TABLE,
        *diffs.OPENAPI,
        *admission.FIRST,
        *argocd.FIRST,
        *projects.FIRST,
        *projects.ARGOCD_RBAC,
        *application_sets.TABLE,
        *operations.FIRST,
        *apply.FIRST,
        *invalid.TABLE,
        *_SOURCES,
        *schema.TABLE,
        *apply.TABLE,
        *diffs.TABLE,
        *apply.LAST,
    ),
}
