"""The commit is not signed as the project requires.

## What happens
The AppProject requires signed commits. The commit is unsigned, or signed with a key that is not allowed or
not known to Argo CD. Argo CD neither compares nor syncs it, as configured.

## How whysync knows
Argo CD reports the revision and the problem with its signature.

## Fix
Sign the commit with an allowed key. Or, if the key is trusted but unknown, add it to Argo CD and to the
project. First find out who created the commit.

## When it is something else
If the revision does not exist: revision-not-found.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.git import SourceIntegrity
from whysync.queries.commands import hard_refresh
from whysync.queries.group_failures import grouped


@rule(cause="source-integrity", since="0.1")
def source_integrity_check_failed(case: Case) -> Iterator[Finding]:
    for group in grouped(case, SourceIntegrity, by=lambda failure: failure.revision):
        failure = group.failure
        revision = failure.revision or case.app.status.sync.revision or "HEAD"
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"commit {revision[:8]} is not signed as project {case.app.project} requires",
            root=one_line(failure.detail) or None,
            evidence=group.cited(says="problem with the signature"),
            fixes=(
                Fix.run(
                    f"git verify-commit {quote(revision)}   # who signed it, and with which key",
                    "git commit --amend --no-edit -S && git push --force-with-lease",
                    hard_refresh(case),
                    title="Sign the commit with an allowed key, then hard refresh",
                    risk="rewrites the last commit; on a protected branch add a signed commit instead",
                ),
                Fix.run(
                    "argocd gpg add --from KEY.asc",
                    *_allow_key(case),
                    hard_refresh(case),
                    title="Allow the key if you trust its owner",
                    risk="everything signed with this key can then be deployed",
                ),
            ),
        )


def _allow_key(case: Case) -> tuple[str, ...]:
    """Since Argo CD 3.5, keys belong to policies of the project."""
    project = quote(case.app.project)
    if () < case.argocd_release < (3, 5):
        return (f"argocd proj add-signature-key {project} KEY_ID",)
    policies = "argocd proj source-integrity git policies"
    return (
        f"{policies} list {project}   # POLICY_ID of the one that refused",
        f"{policies} update {project} POLICY_ID --add-gpg-key KEY_ID",
    )
