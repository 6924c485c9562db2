"""All tables in order of precedence: what is more exact, or wraps another error, comes first."""

from __future__ import annotations

from whysync.messages.pattern import Table
from whysync.messages.patterns import (
    admission,
    apply,
    argocd,
    cluster,
    diffs,
    git,
    helm,
    invalid,
    manifests,
    operations,
    pods,
    projects,
    rbac,
    schema,
)

ALL = Table(
    *diffs.FIRST,
    *admission.FIRST,
    *argocd.FIRST,
    *projects.FIRST,
    *operations.FIRST,
    *rbac.TABLE,
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
