"""Real commits behind the engine's repo-server: no tool is needed for plain manifests."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.argocd.app_controller.world import START, application
from tests.argocd.app_controller.world import URL as TEAM
from tests.argocd.repo_server.git.conftest import GitCheckout
from whysync.argocd.api.git_head import Head
from whysync.argocd.repo_server.git import open_repo, tree_of_folder
from whysync.argocd.repo_server.git_sources import GitSources
from whysync.argocd.repo_server.render import RenderOptions
from whysync.argocd.repo_server.repository import RepoProblem, Repository
from whysync.argocd.simulation.simulation import Simulation
from whysync.argocd.simulation.world import World
from whysync.json_tree import Object, fields, items
from whysync.kubernetes.clock import Clock

URL = "https://example.org/shop.git"
CM = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"


def app(*sources: Object, name: str = "shop", namespace: str = "argocd") -> Object:
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"destination": {"namespace": "prod"}, "sources": [*sources]},
    }


@pytest.fixture
def shop(tmp_path: Path) -> GitCheckout:
    return GitCheckout(tmp_path / "shop")


@pytest.fixture
def sources(shop: GitCheckout) -> Iterator[GitSources]:
    with GitSources([open_repo(str(shop.folder), url=URL)]) as opened:
        yield opened


def test_a_branch_is_resolved_and_rendered(shop: GitCheckout, sources: GitSources) -> None:
    first = shop.commit({"app/a.yaml": CM % "a"})
    repository: Repository = sources
    source: Object = {"repoURL": "https://example.org/shop", "path": "app", "targetRevision": "main"}
    commit = repository.resolve(source, "main")
    assert commit == first
    rendered = repository.render(app(source), source, commit)
    assert [manifest["kind"] for manifest in rendered.manifests] == ["ConfigMap"]
    assert rendered.source_type == "Directory"
    assert repository.heads() == (Head(repo="https://example.org/shop", revision="main", commit=first),)
    detailed = sources.rendered(app(source), source, commit)
    assert str(detailed.objects[0].origin) == "app/a.yaml:1"
    assert sources.rendered(app(source), source, commit) is detailed


def test_what_a_branch_would_be_after_a_merge(shop: GitCheckout) -> None:
    shop.commit({"app/a.yaml": CM % "old"})
    shop.git("checkout", "-q", "-b", "feature")
    head = shop.commit({"app/a.yaml": CM % "new"})
    source: Object = {"repoURL": URL, "path": "app", "targetRevision": "main"}
    repo = open_repo(str(shop.folder), url=URL)
    merged = {(URL, "main"): head}
    with GitSources([repo], commit_override=lambda url, revision: merged.get((url, revision), "")) as planned:
        commit = planned.resolve(source, "main")
        (manifest,) = planned.render(app(source), source, commit).manifests
        assert manifest["metadata"] == {"name": "new"}


def test_files_that_are_in_no_commit(shop: GitCheckout) -> None:
    shop.commit({"app/a.yaml": CM % "old"})
    (shop.folder / "app/a.yaml").write_text(CM % "edited")
    source: Object = {"repoURL": URL, "path": "app"}
    with tree_of_folder(shop.folder) as tree:
        name = tree.identity[:40]
        planned = GitSources(commit_override=lambda url, _: name if url == URL else "")
        planned.add_tree(URL, name, tree)
        (manifest,) = planned.render(app(source), source, planned.resolve(source, "")).manifests
        assert manifest["metadata"] == {"name": "edited"}
    assert not tree.root.exists()


def problem_of(sources: GitSources, application: Object, source: Object, revision: str = "main") -> str:
    with pytest.raises(RepoProblem) as problem:
        sources.render(application, source, sources.resolve(source, revision))
    return problem.value.message


def test_problems_are_those_of_the_repo_server(shop: GitCheckout, sources: GitSources) -> None:
    shop.commit({"app/a.yaml": f"{CM % 'a'}---\nfoo: bar\n"})
    source: Object = {"repoURL": URL, "path": "app"}
    assert problem_of(sources, app(source), source).startswith('Failed to unmarshal "a.yaml": ')
    assert problem_of(sources, app(source), {**source, "path": "no"}) == "no: app path does not exist"
    with pytest.raises(RepoProblem, match=r"unable to resolve 'nope' to a commit SHA: revision not found"):
        sources.resolve(source, "nope")
    assert sources.unavailable == {}


def test_a_tool_missing_on_this_machine_is_a_gap(shop: GitCheckout, sources: GitSources) -> None:
    shop.commit({"app/a.yaml": CM % "a"})
    plugin: Object = {"repoURL": URL, "path": "app", "plugin": {"name": "avp"}}
    assert "plugin 'avp'" in problem_of(sources, app(plugin), plugin)
    assert "avp" in sources.unavailable["argocd/shop"].what
    with pytest.raises(RepoProblem) as problem:
        sources.resolve({"repoURL": "https://u:t0ken@example.org/other", "path": "."}, "main")
    assert "t0ken" not in problem.value.message
    with pytest.raises(RepoProblem, match=r"the chart x of oci://example\.org is not fetched"):
        sources.tree({"repoURL": "oci://example.org/x", "path": "."}, "1.0.0")
    with pytest.raises(RepoProblem, match=r"the chart redis of https://example\.org is not fetched"):
        sources.resolve({"repoURL": "https://example.org", "chart": "redis"}, "1.x")


@pytest.mark.parametrize(
    ("refs", "text"),
    [
        (
            [{"repoURL": URL, "ref": "a", "targetRevision": "old"}],
            "cannot reference a different revision of the same repository",
        ),
        (
            [
                {"repoURL": "https://example.org/v", "ref": "a", "targetRevision": "main"},
                {"repoURL": "https://example.org/v.git", "ref": "b", "targetRevision": "old"},
            ],
            "cannot reference multiple revisions for the same repository",
        ),
        (
            [{"repoURL": URL, "ref": "a"}, {"repoURL": URL, "ref": "a"}],
            "multiple sources had the same `ref` key",
        ),
        ([{"repoURL": URL, "ref": "a/b"}], "sources.ref a/b cannot contain any special characters"),
        (
            [{"repoURL": "https://example.org/v", "ref": "a", "targetRevision": "no"}],
            "failed to get git client",
        ),
        ([], "source referenced \"$a\", but no source has a 'ref' field defined"),
    ],
)
def test_refs_that_cannot_be(shop: GitCheckout, tmp_path: Path, refs: list[Object], text: str) -> None:
    other = GitCheckout(tmp_path / "values")
    for item in (shop, other):
        item.commit({"values.yaml": "a: 1\n", "app/Chart.yaml": "name: x\n"})
        item.git("branch", "old")
        item.commit({"values.yaml": "a: 2\n"})
    repos = [
        open_repo(str(shop.folder), url=URL),
        open_repo(str(other.folder), url="https://example.org/v"),
    ]
    source: Object = {
        "repoURL": URL,
        "path": "app",
        "helm": {"valueFiles": ["$a/values.yaml", "$b/values.yaml"]},
    }
    with GitSources(repos) as sources:
        assert text in problem_of(sources, app(source, *refs), source)


def test_an_app_of_another_namespace_has_a_longer_name(shop: GitCheckout, tmp_path: Path) -> None:
    shop.commit({"app/a.yaml": CM % "a", "app/.argocd-source-team_shop.yaml": "directory: {include: none}\n"})
    source: Object = {"repoURL": URL, "path": "app"}
    repo = open_repo(str(shop.folder), url=URL)
    with GitSources([repo], options=RenderOptions(cache=tmp_path / "cache")) as sources:
        commit = sources.resolve(source, "main")
        assert len(sources.render(app(source), source, commit).manifests) == 1
        assert len(sources.render(app(source, namespace="team"), source, commit).manifests) == 0


def test_a_whole_sync_from_real_commits(shop: GitCheckout) -> None:
    first = shop.commit({"apps/shop/a.yaml": CM % "a"})
    repo = open_repo(str(shop.folder), url=TEAM)
    with GitSources([repo]) as sources:
        world = Simulation(
            World(clock=Clock(START), repository=sources, applications=(application(automated={}),))
        )
        world.run(timedelta(minutes=5))
        assert world.argocd.sync_and_health("shop") == ("Synced", "Healthy")
        assert fields(world.argocd.status("shop").get("sync")).get("revision") == first
        shop.commit({"apps/shop/a.yaml": f"{CM % 'a'} bad: [\n"})
        sources.refresh()
        world.run(timedelta(minutes=10))
        (condition,) = items(world.argocd.status("shop").get("conditions"))
        message = str(fields(condition).get("message"))
        assert message.startswith(
            "Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = "
        )
        assert message.endswith(
            'Failed to unmarshal "a.yaml": failed to unmarshal manifest: '
            "error converting YAML to JSON: yaml: line 3: did not find expected key"
        )
        world.run(timedelta(minutes=10))
        (condition,) = items(world.argocd.status("shop").get("conditions"))
        cached = (
            "desc = Manifest generation error (cached): rpc error: code = FailedPrecondition desc = Failed to"
        )
        assert cached in str(fields(condition).get("message"))
