"""`git/heads.yaml`: the commit that each revision resolves to."""

from __future__ import annotations

from collections.abc import Iterator

from whysync.argocd.api.git_head import Head
from whysync.json_tree import Json, fields, items, text


def heads_in(document: Json) -> Iterator[Head]:
    """A list of `{repo, revision, commit}`, alone or under `heads`, or a single entry."""
    if isinstance(document, dict) and "heads" in document:
        document = document["heads"]
    for raw in [document] if isinstance(document, dict) else items(document):
        head = fields(raw)
        repo = text(head.get("repo")) or text(head.get("repoURL"))
        commit = text(head.get("commit")) or text(head.get("sha"))
        if repo and commit:
            yield Head(repo=repo, revision=text(head.get("revision")) or "HEAD", commit=commit)
