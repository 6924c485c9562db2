"""The Application's source does not say what to take, or its parts do not fit together.

## What happens
A source needs a repository and a path, a chart or a `ref`; a chart needs a version; values files of another
source (`$values/…`) need a source with that `ref`. Where that does not hold, Argo CD refuses to render, and
nothing is compared.

## How whysync knows
Argo CD names the field that is missing, or the two that contradict each other.

## Fix
Complete or correct the source in the Application.

## When it is something else
All is named, and what it names is not there: then the path, the revision or the repository is not found.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.manifests import SourceSpecInvalid
from whysync.queries.commands import app_argument, refresh
from whysync.queries.group_failures import grouped


@rule(cause="path-not-found", since="0.1")
def source_invalid(case: Case) -> Iterator[Finding]:
    pointer = "/spec/sources" if case.app.spec.sources else "/spec/source"
    for group in grouped(case, SourceSpecInvalid, by=lambda failure: failure.detail):
        detail = group.failure.detail
        if "estination" in detail:
            continue
        yield Finding(
            about=case.application.ref,
            field=pointer,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"the Application's source cannot be used as it is written: {one_line(detail)}",
            root=one_line(detail) or None,
            evidence=(
                *group.cited(says="Argo CD refuses it"),
                cite(case.application, pointer, says="the source as it is"),
            ),
            fixes=(
                Fix.run(
                    f"argocd app edit {app_argument(case)}",
                    refresh(case),
                    title="Complete or correct the source of the Application",
                ),
            ),
        )
