"""The copy of the repository that the repo-server keeps is locked or damaged.

## What happens
The repo-server keeps a checkout of each repository. A process that was killed in the middle can
leave a lock file or a broken object behind; every further fetch of that repository then fails in
the same way, for all its Applications. The repository itself is fine.

## How whysync knows
Git complains about `index.lock`, another process, or a broken object, in the repo-server's own
folder.

## Fix
Restart the repo-server: its copies go with its Pod, and are fetched anew.

## When it is something else
The Git host itself does not answer, or rejects the login: then a restart does not help.
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
            verdict="the repo-server's copy of the repository is locked or damaged: nothing can be fetched",
            root=one_line(group.failure.detail or group.failure.text),
            evidence=group.cited(says="Git complains about its own folder"),
            fixes=(
                Fix.run(
                    restart(case, REPO_SERVER),
                    hard_refresh(case),
                    title="Restart the repo-server, which fetches the repository anew; then refresh hard",
                    risk="what is being rendered now is rendered again",
                ),
            ),
        )
