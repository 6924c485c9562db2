"""Jsonnet cannot be evaluated.

## What happens
The source contains Jsonnet, and its evaluation fails: a syntax error, a missing import or variable, or an
explicit `error`. Nothing can be compared.

## How whysync knows
Jsonnet's error, with the file and line.

## Fix
Evaluate the file on your machine with the same variables and library paths, fix it and commit.

## When it is something else
If the result is not a Kubernetes object: invalid-yaml.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.manifests import JsonnetFailed
from whysync.queries.commands import hard_refresh
from whysync.queries.group_failures import grouped
from whysync.queries.revert import revert_commit
from whysync.queries.sources import failing_source


@rule(cause="jsonnet", since="0.1")
def jsonnet_evaluation_failed(case: Case) -> Iterator[Finding]:
    for group in grouped(
        case, JsonnetFailed, by=lambda failure: (failure.file, failure.line, failure.detail)
    ):
        failure = group.failure
        place = failure.file or "a Jsonnet file"
        line = f":{failure.line}" if failure.line is not None and failure.file else ""
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{place}{line} cannot be evaluated"
            + (f": {one_line(failure.detail)}" if failure.detail else ""),
            root=one_line(failure.detail) or None,
            evidence=group.cited(says="Jsonnet's error"),
            fixes=(
                Fix.run(
                    f"jsonnet {quote(failure.file) if failure.file else 'FILE'}"
                    "   # add -J, --tla-str and --ext-str as the Application does",
                    hard_refresh(case),
                    title=f"Correct {place}{line}, evaluate it on your machine, commit, then hard refresh",
                ),
                *revert_commit(case, failing_source(case, group.message)),
            ),
        )
