"""project.jsonl: AppProject rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from tests.conformance.checks import contains, failed_checks, lacks_fragments, mismatch
from whysync.argocd import projects
from whysync.argocd.api.application import Destination, SelectedResource, Spec
from whysync.argocd.api.project import AppProject
from whysync.argocd.settings import GlobalProject, Settings
from whysync.argocd.sync.app_request import contains_sync_resource
from whysync.argocd.sync.results import augment_sync_msg
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.ref import Ref, ref_of

T = TypeVar("T")


def diff_user(
    project: AppProject,
    *,
    app_namespace: str,
    destination_namespace: str,
    cluster: projects.Cluster,
    enabled: bool,
    enforced: bool,
) -> str:
    """Mirrors `applyDiffImpersonationConfig`, Argo CD 3.6."""
    if not enabled:
        return ""
    user = projects.service_account_for(
        project, app_namespace=app_namespace, destination_namespace=destination_namespace, cluster=cluster
    )
    if not user and enforced:
        raise projects.NoServiceAccount(
            f"no matching service account found for destination server {cluster.server} "
            f"and namespace {destination_namespace}"
        )
    return user


def is_included(filters: Sequence[SelectedResource], ref: Ref) -> bool:
    """`--resource group:kind:ns/name` with `*`, and `!` to exclude; an exclusion wins."""
    expected = [item for item in filters if not item.exclude]
    if expected and not any(_fits(item, ref) for item in expected):
        return False
    return not any(_fits(item, ref) for item in filters if item.exclude)


def _fits(pattern: SelectedResource, ref: Ref) -> bool:
    return (
        pattern.group in ("*", ref.group)
        and pattern.kind in ("*", ref.kind)
        and pattern.name in ("*", ref.name)
        and pattern.namespace in ("*", "", ref.namespace)
    )


def check(record: Object) -> list[str]:
    return _OPS[text(record["op"])](record, fields(record["expect"]))


def _decoded(value: Json, into: type[T]) -> T:
    decoded, problems = decode(fields(value), into)
    assert decoded is not None
    assert not problems, problems
    return decoded


def _project(**spec: Json) -> AppProject:
    return _decoded({"metadata": {"name": "proj"}, "spec": spec}, AppProject)


def _cluster(value: Json) -> projects.Cluster | None:
    if value is None:
        return None
    raw = fields(value)
    return projects.Cluster(
        server=text(raw.get("server")), name=text(raw.get("name")), project=text(raw.get("project"))
    )


def _clusters(value: Json) -> list[projects.Cluster]:
    return [result for item in items(value) if (result := _cluster(item)) is not None]


def _ref(value: Json) -> Ref:
    raw = fields(value)
    return Ref(**{name: text(raw.get(name)) for name in ("group", "version", "kind", "namespace", "name")})


def _source(record: Object, expect: Object) -> list[str]:
    project = _project(sourceRepos=record["source_repos"])
    verdict = projects.source_verdict(project, text(record["repo_url"]))
    return mismatch("permitted", expect["permitted"], verdict.permitted)


def _destination(record: Object, expect: Object) -> list[str]:
    project = _project(
        destinations=record["destinations"],
        permitOnlyProjectScopedClusters=record.get("permit_only_project_scoped_clusters", False),
    )
    own = None if "project_clusters_error" in record else _clusters(record.get("project_clusters"))
    try:
        verdict = projects.destination_verdict(
            project, _cluster(record["cluster"]), text(record["namespace"]), own
        )
    except projects.ProjectClustersUnknown as problem:
        return lacks_fragments("error", expect.get("error_contains"), str(problem))
    return mismatch("permitted", expect["permitted"], verdict.permitted)


def _resource(record: Object, expect: Object) -> list[str]:
    verdict = projects.kind_verdict(
        _decoded({"spec": record["spec"]}, AppProject),
        text(record["group"]),
        text(record["kind"]),
        text(record["name"]),
        namespaced=record["namespaced"] is True,
    )
    return mismatch("permitted", expect["permitted"], verdict.permitted)


def _app_namespace(record: Object, expect: Object) -> list[str]:
    permitted = projects.app_namespace_permitted(
        _project(sourceNamespaces=record["source_namespaces"]),
        text(record["app_namespace"]),
        text(record["controller_namespace"]),
    )
    return mismatch("permitted", expect["permitted"], permitted)


def _sync_permitted(record: Object, expect: Object) -> list[str]:
    namespaced = record["namespaced"]
    problem = projects.sync_problem(
        _decoded(record["project"], AppProject),
        ref_of(fields(record["object"])),
        _cluster(record["cluster"]),
        namespaced=namespaced if isinstance(namespaced, bool) else None,
    )
    if "error_contains" in expect:
        return lacks_fragments("error", expect["error_contains"], problem)
    return mismatch("error", expect["error"], problem is not None)


def _glob(record: Object, expect: Object) -> list[str]:
    matched = projects.project_glob(
        text(record["pattern"]), text(record["value"]), negation=record["allow_negation"] is True
    )
    return mismatch("match", expect["match"], matched)


def _valid(problem: str | None, expect: Object) -> list[str]:
    failures = mismatch("valid", expect["valid"], problem is None)
    if "error_contains" in expect:
        failures += lacks_fragments("error", expect["error_contains"], problem)
    return failures


def _validate(record: Object, expect: Object) -> list[str]:
    return _valid(projects.project_problem(_decoded(record["project"], AppProject)), expect)


def _role_policy(record: Object, expect: Object) -> list[str]:
    problem = projects.policy_problem(text(record["project"]), text(record["role"]), text(record["policy"]))
    return _valid(problem, expect)


def _policy_object(record: Object, expect: Object) -> list[str]:
    valid = projects.is_policy_object(text(record["project"]), text(record["object"]))
    return mismatch("valid", expect["valid"], valid)


def _service_account(record: Object, expect: Object) -> list[str]:
    project = _project(destinationServiceAccounts=record["destination_service_accounts"])
    cluster = _cluster(record["cluster"])
    assert cluster is not None
    app_namespace = text(record["app_namespace"])
    namespace = text(dig(record, "destination", "namespace"))
    settings = Settings.from_config_maps({"data": fields(record.get("settings"))}, None)
    user, error = "", None
    try:
        if record["op"] == "diff-impersonation-user":
            user = diff_user(
                project,
                app_namespace=app_namespace,
                destination_namespace=namespace,
                cluster=cluster,
                enabled=settings.impersonation_enabled,
                enforced=settings.impersonation_enforced,
            )
        else:
            user = projects.service_account_for(
                project, app_namespace=app_namespace, destination_namespace=namespace, cluster=cluster
            )
    except projects.NoServiceAccount as problem:
        error = str(problem)
    failures = mismatch("user", expect["user"], user)
    if "error_contains" in expect:
        return failures + lacks_fragments("error", expect["error_contains"], error)
    return failures + mismatch("error", expect.get("error", False), error is not None)


def _app_spec(record: Object, expect: Object) -> list[str]:
    problems = projects.spec_problems(
        _decoded(record["spec"], Spec),
        _decoded(record["project"], AppProject),
        _clusters(record["clusters"]),
    )
    expected = [fields(item) for item in items(expect["conditions"])]
    failures = mismatch("conditions", len(expected), len(problems))
    for condition in expected:
        failures += mismatch("type", condition.get("type", "InvalidSpecError"), "InvalidSpecError")
        fragment = text(condition.get("message_contains"))
        if not any(fragment in problem for problem in problems):
            failures.append(f"lacks {fragment!r}: {problems}")
    return failures


def _destination_cluster(record: Object, expect: Object) -> list[str]:
    server, error = "", None
    try:
        result = projects.destination_cluster(
            _decoded(record["destination"], Destination),
            _clusters(record["clusters"]),
        )
        server = result.server
    except projects.NoCluster as problem:
        error = str(problem)
    if "error_contains" in expect:
        return lacks_fragments("error", expect["error_contains"], error)
    if "error" in expect:
        return mismatch("error", expect["error"], error)
    return mismatch("server", expect["server"], server)


def _global_projects(record: Object, expect: Object) -> list[str]:
    settings = [
        GlobalProject(
            name=text(fields(item).get("projectName")),
            label_selector=fields(fields(item).get("labelSelector")),
        )
        for item in items(record["global_projects_setting"])
    ]
    existing = {
        text(name): _decoded({"metadata": {"name": name}}, AppProject)
        for name in items(record["existing_projects"])
    }
    project = _decoded(record["project"], AppProject)
    global_projects = projects.global_projects_of(project, settings, existing)
    return mismatch(
        "global_projects", expect["global_projects"], [item.metadata.name for item in global_projects]
    )


def _merge_global(record: Object, expect: Object) -> list[str]:
    merged = projects.merged(
        _decoded(record["project"], AppProject), _decoded(record["global_project"], AppProject)
    )
    got: Object = msgspec.to_builtins(merged)
    failures: list[str] = []
    for name, value in expect.items():
        result = got if name in ("project", "merged") else got.get(name, fields(got["spec"]).get(name))
        if isinstance(value, list) and "path" in fields(next(iter(value), None)):
            failures += failed_checks(result, value)
        elif not contains(result, value):
            failures += mismatch(name, value, result)
    return failures


def _sync_filter(record: Object, expect: Object) -> list[str]:
    filters = [_decoded(item, SelectedResource) for item in items(record["filters"])]
    return mismatch("included", expect["included"], is_included(filters, _ref(record["resource"])))


def _sync_contains(record: Object, expect: Object) -> list[str]:
    selected = [_decoded(resource, SelectedResource) for resource in items(record["resources"])]
    return mismatch(
        "contains", expect["contains"], contains_sync_resource(selected, _ref(record["resource"]))
    )


def _sync_message(record: Object, expect: Object) -> list[str]:
    installed = [_ref(kind) for kind in items(record["installed_kinds"])]
    got = augment_sync_msg(text(record["message"]), _ref(record["resource"]), installed)
    return mismatch("message", expect["message"], got)


def _rbac_name(record: Object, expect: Object) -> list[str]:
    names = [text(record[name]) for name in ("project", "app_namespace", "app_name", "controller_namespace")]
    return mismatch("rbac_object", expect["rbac_object"], projects.rbac_object(*names))


_OPS: dict[str, Callable[[Object, Object], list[str]]] = {
    "source-permitted": _source,
    "destination-permitted": _destination,
    "resource-permitted": _resource,
    "app-namespace-permitted": _app_namespace,
    "sync-permitted": _sync_permitted,
    "glob": _glob,
    "validate-project": _validate,
    "validate-role-policy": _role_policy,
    "policy-object": _policy_object,
    "role-action": lambda record, expect: mismatch(
        "valid", expect["valid"], projects.is_role_action(text(record["action"]))
    ),
    "group-name": lambda record, expect: _valid(projects.group_problem(text(record["group"])), expect),
    "impersonation-user": _service_account,
    "diff-impersonation-user": _service_account,
    "validate-app-spec": _app_spec,
    "destination-cluster": _destination_cluster,
    "global-projects": _global_projects,
    "merge-global-project": _merge_global,
    "sync-resource-filter": _sync_filter,
    "sync-resource-contains": _sync_contains,
    "augment-sync-message": _sync_message,
    "rbac-object-name": _rbac_name,
}
