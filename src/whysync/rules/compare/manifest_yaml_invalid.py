"""A manifest in the source is not valid YAML, or not a Kubernetes object.

## What happens
One invalid document stops the whole Application: Argo CD reads all manifests of a source or none. The sync
status is Unknown. Typical causes: tabs, wrong indentation, an unclosed quote, merge conflict markers, a
repeated key, a document without `kind`, a list instead of a map, template syntax in a plain file.

## How whysync knows
The parser's error in the condition, with the line. For a plain directory Argo CD names the file. Without a
file name it parsed the output of Helm, Kustomize or a plugin.

## Fix
Correct the file and commit. Without a file name, render the folder on your machine and find the invalid
document in the output: lines are counted from the document's `---` in the output, not in a template.

## When it is something else
Valid YAML with an unknown field fails during the sync: schema-invalid.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import Source
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.manifests import InvalidYaml
from whysync.queries.commands import app_argument, hard_refresh, with_comment
from whysync.queries.group_failures import grouped
from whysync.queries.local_rendering import folder_of, render_to_file, tool_of
from whysync.queries.revert import revert_commit
from whysync.queries.sources import commits_since_last_sync, failing_source, source_flag, source_pointer


@rule(cause="invalid-yaml", since="0.1")
def manifest_yaml_invalid(case: Case) -> Iterator[Finding]:
    for group in grouped(case, InvalidYaml, by=lambda failure: (failure.file, failure.line, failure.detail)):
        failure = group.failure
        source = failing_source(case, group.message)
        folder = folder_of(group.message, source)
        error = one_line(failure.detail) if failure.has_reason else "Argo CD prints no reason"
        what = failure.file or _output(case, source, folder)
        expected = "valid YAML" if failure.is_syntax else "a valid Kubernetes object"
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{what} is not {expected}: {error}",
            root=one_line(failure.detail) if failure.has_reason else None,
            evidence=(*group.cited(says="error of the parser"), *_where(case, source, folder)),
            fixes=(
                *_exclude(case, failure, source),
                _fix(case, failure, source, folder),
                *revert_commit(case, source),
            ),
        )


def _output(case: Case, source: Source | None, folder: str) -> str:
    """Only errors in a plain directory name the file: otherwise a tool has produced the document."""
    chart = source.chart if source is not None else ""
    if tool_of(case, source) == "Directory":
        return f"a document in {folder or 'the source'}"
    return f"a document in the rendered output of {folder or chart or 'the source'}"


def _where(case: Case, source: Source | None, folder: str) -> Iterator[Evidence]:
    if source is not None and (source.chart or (source.path and source.path == folder)):
        name = "path" if source.path else "chart"
        yield cite(case.application, f"{source_pointer(case, source)}/{name}", says="source of the manifests")


def _exclude(case: Case, failure: InvalidYaml, source: Source | None) -> Iterator[Fix]:
    """A file of a plain directory that is no manifest: Argo CD reads every YAML and JSON file there."""
    name, app = failure.file.rpartition("/")[2], app_argument(case)
    if not name or not failure.lacks_kind:
        return
    yield Fix.run(
        with_comment(
            f"argocd app set {app}{source_flag(case, source)} --directory-exclude {quote(name)}",
            "an existing pattern: {old,new}",
        ),
        hard_refresh(case),
        title=f"If {name} is no manifest: exclude it from the source, or move it to another folder",
    )


def _fix(case: Case, failure: InvalidYaml, source: Source | None, folder: str) -> Fix:
    if failure.file:
        # Argo CD names the file without its folders
        name = quote(failure.file.rpartition("/")[2])
        return Fix.run(
            *commits_since_last_sync(case, source),
            f"find {quote(folder or '.')} -name {name} -exec kubectl apply --dry-run=client -f {{}} ';'",
            hard_refresh(case),
            title=f"Correct {failure.file} and commit, then hard refresh",
        )
    return Fix.run(
        *commits_since_last_sync(case, source),
        *render_to_file(case, source, folder),
        hard_refresh(case),
        title="Render it on your machine, correct the invalid document's source, commit, then hard refresh",
    )
