"""AppProjects: permissions, inheritance and validation."""

from whysync.argocd.projects.app_spec import NoCluster, destination_cluster, spec_problems
from whysync.argocd.projects.inherited import effective_project, global_projects_of, merged, selects
from whysync.argocd.projects.permissions import (
    Cluster,
    PermissionResult,
    ProjectClustersUnknown,
    app_namespace_permitted,
    destination_verdict,
    kind_verdict,
    live_verdict,
    project_glob,
    rbac_object,
    source_verdict,
    sync_problem,
)
from whysync.argocd.projects.validation import (
    NoServiceAccount,
    group_problem,
    is_policy_object,
    is_role_action,
    policy_problem,
    project_problem,
    service_account_for,
)
from whysync.argocd.repo_server.git_url import normalize_git_url, repository_key

__all__ = [
    "Cluster",
    "NoCluster",
    "NoServiceAccount",
    "PermissionResult",
    "ProjectClustersUnknown",
    "app_namespace_permitted",
    "destination_cluster",
    "destination_verdict",
    "effective_project",
    "global_projects_of",
    "group_problem",
    "is_policy_object",
    "is_role_action",
    "kind_verdict",
    "live_verdict",
    "merged",
    "normalize_git_url",
    "policy_problem",
    "project_glob",
    "project_problem",
    "rbac_object",
    "repository_key",
    "selects",
    "service_account_for",
    "source_verdict",
    "spec_problems",
    "sync_problem",
]
