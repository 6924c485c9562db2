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
from whysync.messages.parse import Message
from whysync.messages.patterns.manifests import JsonnetFailed
from whysync.queries.commands import comment, hard_refresh, with_comment
from whysync.queries.group_failures import grouped
from whysync.queries.revert import revert_commit
from whysync.queries.sources import failing_source, source_pointer


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
                *_library(case, group.message, failure),
                Fix.run(
                    f"jsonnet {quote(failure.file) if failure.file else 'FILE'}"
                    "   # add -J, --tla-str and --ext-str as the Application does",
                    hard_refresh(case),
                    title=f"{'Or correct' if failure.missing_import else 'Correct'} {place}{line},"
                    " evaluate it on your machine, commit, then hard refresh",
                ),
                *revert_commit(case, failing_source(case, group.message)),
            ),
        )


def _library(case: Case, message: Message, failure: JsonnetFailed) -> Iterator[Fix]:
    """Argo CD evaluates Jsonnet without jsonnet-bundler: libraries must be in Git, and their folder named.

    Mirrors `makeJsonnetVm`, Argo CD 3.6: `libs` are relative to the root of the repository.
    """
    if not failure.missing_import:
        return
    source = failing_source(case, message)
    pointer = source_pointer(case, source)[1:].replace("/", ".") if source is not None else "spec.source"
    name = failure.missing_import.rpartition("/")[2]
    yield Fix.run(
        with_comment(f"git ls-files | grep -F {quote(name)}", "is it in Git, and in which folder?"),
        comment("not there: commit the folder that jsonnet-bundler fills (vendor)"),
        comment(f"{pointer}.directory.jsonnet.libs: [vendor], relative to the root of the repository"),
        hard_refresh(case),
        title=f"Commit {failure.missing_import}, and name its folder in {pointer}.directory.jsonnet.libs",
    )
