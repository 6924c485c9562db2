"""The Application's source is incomplete or contradictory.

## What happens
A source needs a repository and a path, a chart or a `ref`; a chart needs a version; values files of another
source (`$values/…`) need a source with that `ref`. Otherwise Argo CD rejects the source, and nothing is
compared.

## How whysync knows
Argo CD reports the missing field, or the two fields that contradict each other.

## Fix
Complete or correct the source in the Application.

A source that declares two tools at once (`helm` and `plugin`) has the cause of the tool that the rest is for:
a plugin reads no parameters of Helm or Kustomize.

## When it is something else
If the source is complete, its path, revision or repository does not exist.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.manifests import SourceSpecInvalid
from whysync.queries.commands import app_argument, refresh
from whysync.queries.group_failures import grouped
from whysync.queries.sources import source_flag


@rule(cause="path-not-found", since="0.1")
def source_invalid(case: Case) -> Iterator[Finding]:
    pointer = "/spec/sources" if case.app.spec.sources else "/spec/source"
    for group in grouped(case, SourceSpecInvalid, by=lambda failure: failure.detail):
        detail = group.failure.detail
        yield Finding(
            about=case.application.ref,
            field=pointer,
            cause=_cause(group.failure),
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"the Application's source is invalid: {one_line(detail)}",
            root=one_line(detail) or None,
            evidence=(
                *group.cited(says="reported by Argo CD"),
                cite(case.application, pointer, says="current source"),
            ),
            fixes=(_fix(case, group.failure),),
        )


_TOOLS = {"Plugin": "plugin", "Kustomize": "kustomize-build", "Directory": "", "Helm": "helm-render"}
"""The causes of the tools that a source can declare, in the order in which one makes the others invalid."""


def _cause(failure: SourceSpecInvalid) -> str:
    return next((cause for tool, cause in _TOOLS.items() if tool in failure.tools), "")


def _fix(case: Case, failure: SourceSpecInvalid) -> Fix:
    """Sets what the source lacks: its repository, or the path or chart in it."""
    source = case.app.sources[0] if len(case.app.sources) == 1 else None
    flags = [
        flag
        for flag, is_missing in (
            ("--repo URL", source is not None and not source.repo_url),
            ("--path PATH", source is not None and not (source.path or source.chart or source.ref)),
            ("--revision VERSION", source is not None and bool(source.chart) and not source.target_revision),
        )
        if is_missing
    ]
    if not flags:
        edit = f"argocd app edit {app_argument(case)}"
        title = "Correct the field that the message names in the source"
        if failure.tools:
            title = f"Keep one of {', '.join(failure.tools)} in the source, and remove the others"
        if failure.missing_ref:
            ref = failure.missing_ref
            title = f"Add a source with ref: {ref} to spec.sources, or correct ${ref} in helm.valueFiles"
        return Fix.run(edit, refresh(case), title=title)
    names = " and ".join(flag.partition(" ")[0].removeprefix("--") for flag in flags)
    return Fix.run(
        f"argocd app set {app_argument(case)}{source_flag(case, source)} {' '.join(flags)}",
        refresh(case),
        title=f"Set the {names} of the source, which is missing",
    )
