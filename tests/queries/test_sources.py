"""What changed since the last sync: a command that Git takes, whatever the Application tracks."""

from __future__ import annotations

import pytest

from tests.situations import REVISION, application, case_of
from whysync.json_tree import Object
from whysync.queries.sources import commits_since_last_sync, is_pinned, repository_of_web_page

SINCE = f"git log --oneline {REVISION[:8]}.."
WHY = "   # changes since the last sync"


def commits(source: Object, revision: str = REVISION) -> tuple[str, ...]:
    case = case_of(
        application(
            spec={"source": {"repoURL": "https://git.example.com/shop.git", **source}},
            status={"history": [{"id": 1, "revision": revision}]},
        )
    )
    return commits_since_last_sync(case, case.app.sources[0])


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"path": "deploy", "targetRevision": "main"}, "main -- deploy"),
        ({"path": "a b", "targetRevision": "release/1.2"}, "release/1.2 -- 'a b'"),
        ({"path": "deploy"}, "HEAD -- deploy"),
        ({"path": "deploy", "targetRevision": "v1.*"}, "HEAD -- deploy"),  # only Argo CD resolves these
        ({"path": "deploy", "targetRevision": ">=1.2 <2"}, "HEAD -- deploy"),
        ({"path": "deploy", "targetRevision": "--output=x"}, "HEAD -- deploy"),
    ],
)
def test_commits_since_the_last_sync(source: Object, expected: str) -> None:
    assert commits(source) == (f"{SINCE}{expected}{WHY}",)


@pytest.mark.parametrize(
    ("source", "revision"), [({"chart": "shop", "targetRevision": "1.2.3"}, "1.2.3"), ({"path": "a"}, "main")]
)
def test_nothing_where_no_commit_is_known(source: Object, revision: str) -> None:
    assert commits(source, revision) == ()


@pytest.mark.parametrize(
    ("source", "pinned"),
    [
        ({"chart": "redis", "targetRevision": "0.5"}, True),
        ({"chart": "redis", "targetRevision": "v1.2.3-rc.1+build"}, True),
        ({"chart": "redis", "targetRevision": "0.5.*"}, False),
        ({"chart": "redis", "targetRevision": "~1.2"}, False),
        ({"path": "deploy", "targetRevision": "main"}, False),
        ({"path": "deploy", "targetRevision": "1.2"}, False),  # a branch or a tag
        ({"path": "deploy", "targetRevision": REVISION}, True),
    ],
)
def test_a_pinned_source_changes_only_when_it_is_edited(source: Object, pinned: bool) -> None:
    case = case_of(application(spec={"source": {"repoURL": "https://git.example.com/shop.git", **source}}))
    assert is_pinned(case.app.sources[0]) is pinned


@pytest.mark.parametrize(
    ("url", "repository"),
    [
        ("https://bitbucket.org/team/deploy/src/master/", "https://bitbucket.org/team/deploy.git"),
        ("https://github.com/team/deploy/tree/main/apps", "https://github.com/team/deploy.git"),
        ("https://gitlab.example.com/a/b/c/-/tree/main", "https://gitlab.example.com/a/b/c.git"),
        ("https://gitea.example.com/a/b/src/branch/main", "https://gitea.example.com/a/b.git"),
        ("https://github.com/team/deploy.git", ""),
        ("https://gitlab.example.com/team/src/deploy", ""),
        ("git@github.com:team/tree/main", ""),
    ],
)
def test_the_repository_of_a_web_page(url: str, repository: str) -> None:
    assert repository_of_web_page(url) == repository
