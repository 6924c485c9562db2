"""The repositories of a simulated world: revisions and addresses as Argo CD resolves them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from whysync.argocd.simulation.sources import repositories_of
from whysync.json_tree import Object
from whysync.kubernetes.clock import Clock

COMMIT = "a" * 40
OBJECT: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}


@pytest.mark.parametrize("revision", ["HEAD", "", "main", "refs/heads/main"])
def test_the_revision_that_an_app_tracks_is_there(revision: str) -> None:
    source: Object = {"repoURL": "https://bot@git.example.com/x", "path": "p", "targetRevision": revision}
    application: Object = {"spec": {"source": source}, "status": {"sync": {"revision": COMMIT}}}
    repositories = repositories_of(application, [OBJECT], Clock(datetime(2026, 1, 1, tzinfo=UTC)))
    assert repositories.resolve(source, revision) == COMMIT
    assert repositories.render(application, source, COMMIT).manifests == (OBJECT,)
    assert {(head.revision, head.commit) for head in repositories.heads()} == {
        ("HEAD", COMMIT),
        ("main", COMMIT),
    }


def test_two_spellings_of_one_repository() -> None:
    first: Object = {"repoURL": "https://git.example.com/x", "path": "p", "targetRevision": "HEAD"}
    other: Object = {"repoURL": "https://git.example.com/x.git", "path": "q", "targetRevision": "main"}
    application: Object = {
        "spec": {"sources": [first, other]},
        "status": {"sync": {"revisions": [COMMIT, COMMIT]}},
    }
    repositories = repositories_of(application, [OBJECT], Clock(datetime(2026, 1, 1, tzinfo=UTC)))
    for source in (first, other):
        assert repositories.resolve(source, str(source["targetRevision"])) == COMMIT
        repositories.render(application, source, COMMIT)
