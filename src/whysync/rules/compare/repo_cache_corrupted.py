"""The repo-server's checkout of the repository is locked or corrupted.

## What happens
The repo-server keeps a checkout of each repository. A killed process can leave a lock file or a corrupt
object; every later fetch of that repository then fails, for all its Applications. The repository itself is
fine.

## How whysync knows
Git reports `index.lock`, another process or a corrupt object in the repo-server's own folder.

## Fix
Restart the repo-server: its checkouts are deleted with the Pod and fetched again.

## When it is something else
If the Git host does not answer or rejects the credentials, a restart does not help.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.git import RepoCopyBroken
from whysync.queries.commands import REPO_SERVER, hard_refresh, restart
from whysync.queries.group_failures import grouped


@rule(cause="repo-server-down", since="0.1")
def repo_cache_corrupted(case: Case) -> Iterator[Finding]:
    for group in grouped(case, RepoCopyBroken):
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict="the repo-server's checkout of the repository is locked or corrupted: Git cannot fetch",
            root=one_line(group.failure.detail or group.failure.text),
            evidence=group.cited(says="Git's error"),
            fixes=(
                Fix.run(
                    restart(case, REPO_SERVER),
                    hard_refresh(case),
                    title="Restart the repo-server, which fetches the repository again; then hard refresh",
                    risk="interrupts renderings in progress, which start again",
                ),
            ),
        )
