from __future__ import annotations

import pytest

from tests.conformance.project import is_included
from whysync.argocd import projects
from whysync.argocd.api.application import Destination, SelectedResource, Source, Spec
from whysync.argocd.api.project import AppProject
from whysync.argocd.projects import Cluster, PermissionResult
from whysync.argocd.repo_server.git_url import repository_key
from whysync.argocd.settings import GlobalProject
from whysync.argocd.sync.app_request import contains_sync_resource
from whysync.golang.regexp import matches_any, regex_match
from whysync.json_tree import Json
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.ref import Ref

HERE = Cluster(server="https://kubernetes.default.svc", name="in-cluster")


def project(name: str = "shop", **spec: Json) -> AppProject:
    decoded, problems = decode({"metadata": {"name": name}, "spec": spec}, AppProject)
    assert decoded is not None
    assert problems == ()
    return decoded


@pytest.mark.parametrize(
    ("patterns", "url", "verdict"),
    [
        (["*"], "git@github.com:org/repo.git", PermissionResult.PERMITTED),
        (["https://github.com/org/*"], "https://GitHub.com/org/repo.git", PermissionResult.PERMITTED),
        (
            ["https://github.com/*"],
            "https://github.com/org/repo",
            PermissionResult.NO_MATCH,
        ),  # a star stops at `/`
        (["https://github.com/**"], "https://github.com/org/repo", PermissionResult.PERMITTED),
        (["ssh://git@github.com/org/repo"], "git@github.com:org/repo.git", PermissionResult.PERMITTED),
        (["!https://github.com/org/secret"], "https://github.com/org/open", PermissionResult.PERMITTED),
        (
            ["*", "!https://github.com/org/secret"],
            "https://github.com/org/secret.git",
            PermissionResult.DENIED,
        ),
        (
            ["https://github.com/{a,b}/repo"],
            "https://github.com/a/repo",
            PermissionResult.NO_MATCH,
        ),  # escaped
        (["https://{a,b}.com/repo"], "https://a.com/repo", PermissionResult.NO_MATCH),  # no URL to Go
        ([], "https://github.com/org/repo", PermissionResult.NO_MATCH),
    ],
)
def test_sources(patterns: list[Json], url: str, verdict: PermissionResult) -> None:
    assert projects.source_verdict(project(sourceRepos=patterns), url) is verdict


@pytest.mark.parametrize(
    ("url", "normalized"),
    [
        ("git@host:org/repo.git", "git@host/org/repo"),
        ("ssh://git@host:22/org/repo", "git@host:22/org/repo"),
        ("https://host/org/repo.git ", "https://host/org/repo"),
        ("https://host:port/repo", ""),
        ("https://host/a b", "https://host/a%20b"),
        ("https://host/%zz", ""),
        ("oci://host/charts", "oci://host/charts"),
        ("plain", "plain"),
        ("\x01", ""),
        ("https://host/?x=1#frag", "https://host/?x=1#frag"),
        ("https://[::1]:80/x", "https://[::1]:80/x"),
    ],
)
def test_urls_as_go_reads_them(url: str, normalized: str) -> None:
    assert projects.normalize_git_url(url) == normalized


@pytest.mark.parametrize(
    ("destinations", "namespace", "verdict"),
    [
        ([{"server": HERE.server, "namespace": "shop-*"}], "shop-a", PermissionResult.PERMITTED),
        ([{"server": HERE.server, "namespace": "shop-*"}], "kube-system", PermissionResult.NO_MATCH),
        ([{"name": "in-cluster", "namespace": "*"}], "kube-system", PermissionResult.PERMITTED),
        ([{"server": "*", "namespace": "!kube-system"}], "kube-system", PermissionResult.DENIED),
        ([{"server": "*", "namespace": "!kube-system"}], "shop", PermissionResult.PERMITTED),
        ([{"server": "!https://other", "namespace": "*"}], "shop", PermissionResult.PERMITTED),
        ([{"server": f"!{HERE.server}", "namespace": "*"}], "shop", PermissionResult.DENIED),
    ],
)
def test_destinations(destinations: list[Json], namespace: str, verdict: PermissionResult) -> None:
    assert projects.destination_verdict(project(destinations=destinations), HERE, namespace) is verdict


def test_a_project_can_ask_for_clusters_of_its_own() -> None:
    own = project(destinations=[{"server": "*", "namespace": "*"}], permitOnlyProjectScopedClusters=True)
    assert projects.destination_verdict(own, HERE, "shop") is PermissionResult.NOT_PROJECT_SCOPED
    assert projects.destination_verdict(own, HERE, "shop", [HERE]) is PermissionResult.PERMITTED
    with pytest.raises(projects.ProjectClustersUnknown):
        projects.destination_verdict(own, HERE, "shop", None)


def test_no_list_and_an_empty_list_of_kinds_differ() -> None:
    def namespaced(app_project: AppProject) -> PermissionResult:
        return projects.kind_verdict(app_project, "apps", "Deployment", "web", namespaced=True)

    assert namespaced(project()) is PermissionResult.PERMITTED
    assert namespaced(project(namespaceResourceWhitelist=[])) is PermissionResult.NO_MATCH
    assert (
        namespaced(project(namespaceResourceBlacklist=[{"group": "*", "kind": "Dep*"}]))
        is PermissionResult.DENIED
    )


def test_cluster_kinds_must_be_listed_and_may_be_listed_by_name() -> None:
    def cluster_scoped(app_project: AppProject) -> PermissionResult:
        return projects.kind_verdict(app_project, "", "Namespace", "shop", namespaced=False)

    assert cluster_scoped(project()) is PermissionResult.NO_MATCH
    matching: list[Json] = [{"group": "", "kind": "Namespace", "name": "shop*"}]
    assert cluster_scoped(project(clusterResourceWhitelist=matching)) is PermissionResult.PERMITTED
    others: list[Json] = [{"group": "", "kind": "Namespace", "name": "other"}]
    assert cluster_scoped(project(clusterResourceWhitelist=others)) is PermissionResult.NO_MATCH


def test_why_a_sync_may_not_apply_an_object() -> None:
    ref = Ref(group="apps", kind="Deployment", namespace="kube-system", name="web")
    shop = project(destinations=[{"server": "*", "namespace": "shop"}])
    result = projects.sync_problem(shop, ref, HERE, namespaced=True)
    assert result == "namespace kube-system is not permitted in project 'shop'"
    assert projects.sync_problem(shop, ref, HERE, namespaced=None) is not None
    assert projects.live_verdict(shop, ref, HERE) is PermissionResult.NO_MATCH


@pytest.mark.parametrize(
    ("pattern", "namespace", "matches"),
    [
        ("team-*", "team-a", True),
        ("/^team-[ab]$/", "team-b", True),
        ("/^team-[ab]$/", "team-c", False),
        ("/eam/", "team", True),
        ("/(/", "team", False),
        ("/", "/", True),
        ("/^(?<name>team)$/", "team", True),
    ],
)
def test_namespaces_are_globs_or_expressions(pattern: str, namespace: str, *, matches: bool) -> None:
    assert matches_any([pattern], namespace) is matches
    shop = project(sourceNamespaces=[pattern])
    assert projects.app_namespace_permitted(shop, namespace, "argocd") is matches
    assert projects.app_namespace_permitted(shop, "argocd", "argocd")


def test_an_expression_cannot_hang() -> None:
    assert regex_match("^(a+)+$", "a" * 20)
    assert not regex_match("^(a+)+$", "a" * 60 + "b")


def test_destination_and_source_problems_are_told_together() -> None:
    spec = Spec(source=Source(repo_url="https://x/y", path="a"), destination=Destination(name="nowhere"))
    assert projects.spec_problems(spec, project(), [HERE]) == (
        "application repo https://x/y is not permitted in project 'shop'",
        "there are no clusters with this name: nowhere",
    )
    assert projects.spec_problems(Spec(), project(), []) == (
        "spec.source.repoURL and either spec.source.path or spec.source.chart are required",
    )


def test_a_source_that_is_not_complete_ends_the_search() -> None:
    sources = (Source(repo_url="https://x/y", ref="a"), Source(repo_url="https://x/z"), Source())
    result = projects.spec_problems(Spec(sources=sources), project(), [HERE])
    assert result[0] == "application repo https://x/y is not permitted in project 'shop'"
    assert result[1].endswith("source.ref are required for source https://x/z")
    assert len(result) == 2


def test_a_global_project_hands_its_lists_down() -> None:
    child = project()
    parent = project("base", namespaceResourceBlacklist=[{"group": "", "kind": "Secret"}], sourceRepos=["x"])
    everyone = [GlobalProject(name="base")]
    effective = projects.effective_project(child, everyone, {"base": parent})
    assert effective.spec.source_repos == ("x",)
    assert effective.spec.namespace_resource_whitelist is None
    assert projects.kind_verdict(effective, "", "Secret", "a", namespaced=True) is PermissionResult.DENIED
    assert projects.effective_project(parent, everyone, {"base": parent}) == parent
    assert projects.effective_project(child, everyone, {}) == child


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ({}, True),
        ({"matchLabels": {"team": "a"}}, True),
        ({"matchLabels": {"team": "b"}}, False),
        ({"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]}, True),
        ({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "Is"}]}, None),
        (
            {"matchLabels": {"team": "b"}, "matchExpressions": [{"key": "tier", "operator": "Is"}]},
            None,
        ),
        ({"matchLabels": {"team": "b c"}}, None),
        ({"matchExpressions": [{"key": "my tier", "operator": "Exists"}]}, None),
    ],
)
def test_label_selectors(selector: dict[str, Json], *, matches: bool | None) -> None:
    assert projects.selects(selector, {"team": "a"}) is matches


def test_projects_are_judged_with_the_first_problem() -> None:
    assert projects.project_problem(project()) is None
    twice: Json = {"server": "a", "namespace": "b"}
    assert projects.project_problem(project(destinations=[twice, twice])) == "destination 'a/b' already added"
    window: Json = {"kind": "allow", "schedule": "* * * * *", "duration": "1h"}
    problem = projects.project_problem(project(syncWindows=[window]))
    assert problem == "window 'allow':'* * * * *':'1h' requires one of application, cluster or namespace"
    policy = "p, proj:shop:dev, applications, sync, shop/*, permit"
    problem = projects.project_problem(project(roles=[{"name": "dev", "policies": [policy]}]))
    assert problem == f"invalid policy rule '{policy}': effect must be: 'allow' or 'deny'"


def test_impersonation() -> None:
    accounts: list[Json] = [
        {"server": "*", "namespace": "a", "defaultServiceAccount": "ns:robot"},
        {"server": "*", "namespace": "*", "defaultServiceAccount": "robot"},
    ]
    shop = project(destinationServiceAccounts=accounts)

    def user(namespace: str) -> str:
        return projects.service_account_for(
            shop, app_namespace="argocd", destination_namespace=namespace, cluster=HERE
        )

    assert user("a") == "system:serviceaccount:ns:robot"
    assert user("b") == "system:serviceaccount:b:robot"
    assert user("") == "system:serviceaccount:argocd:robot"


def test_selective_syncs() -> None:
    ref = Ref(group="apps", kind="Deployment", namespace="shop", name="web")
    only = SelectedResource(group="apps", kind="Deployment", name="web")
    all_but = SelectedResource(group="*", kind="*", name="web", exclude=True)
    assert is_included([], ref)
    assert is_included([only], ref)
    assert not is_included([only, all_but], ref)
    assert contains_sync_resource([only], ref)
    assert not contains_sync_resource([SelectedResource(group="*", kind="*", name="*")], ref)


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example.com/Org/x.git",
        "https://git.example.com/org/x/",
        "https://me@git.example.com/org/x",
        "https://me:token@git.example.com/org/x.git",
    ],
)
def test_one_key_for_all_addresses_of_a_repository(url: str) -> None:
    assert repository_key(url) == "https://git.example.com/org/x"


def test_addresses_of_ssh_have_one_key() -> None:
    urls = ("git@git.example.com:org/x.git", "ssh://git@git.example.com/org/x", "ssh://git.example.com/org/x")
    assert {repository_key(url) for url in urls} == {"git.example.com/org/x"}


def test_what_is_no_address_is_its_own_key() -> None:
    assert repository_key("/Some/Where") == "/some/where"
    assert repository_key("https://{a}/x") != repository_key("https://{b}/x")
