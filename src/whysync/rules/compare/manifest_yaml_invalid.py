"""A manifest in the source is not valid YAML, or not a Kubernetes object.

## What happens
One invalid document stops the whole Application: Argo CD reads all manifests of a source or none. The sync
status is Unknown. Typical causes: tabs, wrong indentation, an unclosed quote, merge conflict markers, a
repeated key, a document without `kind`, a list instead of a map, template syntax in a plain file.

## How whysync knows
The parser's error in the condition, with the line (and often the file).

## Fix
Correct the file at that line and commit. Lines are counted from the document's `---`; for a Helm chart, in
the rendered output, not in the template.

## When it is something else
Valid YAML with an unknown field fails during the sync: schema-invalid.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import Source
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.manifests import InvalidYaml
from whysync.queries.commands import hard_refresh
from whysync.queries.group_failures import grouped
from whysync.queries.sources import commits_since_last_sync, failing_source, source_pointer


@rule(cause="invalid-yaml", since="0.1")
def manifest_yaml_invalid(case: Case) -> Iterator[Finding]:
    for group in grouped(case, InvalidYaml, by=lambda failure: (failure.file, failure.line, failure.detail)):
        failure = group.failure
        source = failing_source(case, group.message)
        error = one_line(failure.detail) or "invalid YAML"
        file = failure.file or "a manifest of the source"
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{file} is not a valid Kubernetes object: {error}",
            root=one_line(failure.detail) or None,
            evidence=(*group.cited(says="error of the parser"), *_where(case, source)),
            fixes=(_fix(case, failure, source),),
        )


def _where(case: Case, source: Source | None) -> Iterator[Evidence]:
    if source is not None and (source.path or source.chart):
        name = "path" if source.path else "chart"
        yield cite(case.application, f"{source_pointer(case, source)}/{name}", says="source of the manifests")


def _fix(case: Case, failure: InvalidYaml, source: Source | None) -> Fix:
    path = quote(source.path if source and source.path else ".")
    if failure.file:
        # Argo CD names the file without its folders
        name = quote(failure.file.rpartition("/")[2])
        return Fix.run(
            *commits_since_last_sync(case, source),
            f"find {path} -name {name} -exec kubectl apply --dry-run=client -f {{}} ';'",
            hard_refresh(case),
            title=f"Correct {failure.file} and commit, then hard refresh",
        )
    find = f"kubectl apply --dry-run=client -R -f {path}   # names the invalid file"
    return Fix.run(
        *commits_since_last_sync(case, source),
        find,
        hard_refresh(case),
        title="Find the file, correct it and commit, then hard refresh",
    )
