"""Argo CD's last connection to a repository of the app failed.

## Why
Argo CD uses cached manifests for a while. After the cache has expired, the app cannot be compared.

## Fix
Check the address and the credentials of the repository in Argo CD's settings.
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Confidence, Finding, Severity
from whysync.diagnosis.rule import Topic, rule
from whysync.json_tree import dig, items, text


@rule(topic=Topic.EXPIRY, severity=Severity.WARNING, cause="repo-unreachable", since="0.1")
def repository_connection_failed(case: Case) -> Iterator[Finding]:
    used = {source.repo_url.rstrip("/").removesuffix(".git") for source in case.app.sources}
    for fact in case.index.snapshot.facts:
        for repo in items(fact.body.get("items")) if fact.name == "repositories" else ():
            url = text(dig(repo, "repo"))
            status = text(dig(repo, "connectionState", "status"))
            if status != "Failed" or url.rstrip("/").removesuffix(".git") not in used:
                continue
            why = text(dig(repo, "connectionState", "message"))
            yield Finding(
                about=case.application.ref,
                verdict=f"Argo CD's last connection to {url} failed" + (f": {why}" if why else ""),
                confidence=Confidence.HIGH,
                severity=Severity.WARNING,
            )
