"""Helm cannot render the chart with these values.

## What happens
`helm template` fails, so there are no manifests to compare. The sync status is Unknown; workloads in the
cluster are not affected. Typical causes: a value that a template needs is not set in any values file, a
values file is missing, or a new chart version needs other values.

## How whysync knows
Helm's error in the condition: the template with line and column, the value path that is nil, the message of
`required` or `fail`, the schema that the values violate, or the missing values file.

## Fix
Set the value in the values file of this environment, or go back to the previous chart version. The command
shown reproduces the error on your machine.

## When it is something else
If a chart or dependency cannot be downloaded: helm-dependency. If the rendered output is not valid YAML:
invalid-yaml.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import Source
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.helm import HelmRender
from whysync.queries.commands import comment, hard_refresh
from whysync.queries.group_failures import grouped
from whysync.queries.sources import failing_source, source_pointer


@rule(cause="helm-render", since="0.1")
def helm_template_failed(case: Case) -> Iterator[Finding]:
    for group in grouped(
        case, HelmRender, by=lambda f: (f.template, f.line, f.value_path, f.values_file, f.detail)
    ):
        failure = group.failure
        source = failing_source(case, group.message)
        yield Finding(
            about=case.application.ref,
            field=source_pointer(case, source) if source else None,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=_verdict(failure),
            root=one_line(failure.detail) or None,
            evidence=(*group.cited(says="Helm's error"), *_values(case, source)),
            fixes=tuple(_fixes(case, failure, source)),
        )


def place_of(failure: HelmRender) -> str:
    """`templates/deployment.yaml:17`, as far as Helm reports it."""
    if not failure.template:
        return f"chart {failure.chart}" if failure.chart else "the chart"
    return failure.template if failure.line is None else f"{failure.template}:{failure.line}"


def _verdict(failure: HelmRender) -> str:
    if failure.values_file:
        return f"Helm cannot render {place_of(failure)}: the values file {failure.values_file} does not exist"
    if failure.value_path and failure.function == "required":
        return f"Helm cannot render {place_of(failure)}: {failure.value_path} is required but not set"
    if failure.value_path:
        return f"Helm cannot render {place_of(failure)}: {failure.value_path} has no usable value"
    return f"Helm cannot render {place_of(failure)}" + (
        f": {one_line(failure.detail)}" if failure.detail else ""
    )


def _values(case: Case, source: Source | None) -> Iterator[Evidence]:
    """The Helm values in the Application: where the value could be set."""
    if source is None:
        return
    helm = source_pointer(case, source) + "/helm"
    for name, says in (
        ("valueFiles", "values files of the Application"),
        ("parameters", "Helm parameters of the Application"),
        ("valuesObject", "Helm values of the Application"),
        ("values", "Helm values of the Application"),
    ):
        if case.application.at(f"{helm}/{name}"):
            yield cite(case.application, f"{helm}/{name}", says=says)


def _fixes(case: Case, failure: HelmRender, source: Source | None) -> Iterator[Fix]:
    files = source.helm.value_files if source and source.helm else ()
    if failure.values_file:
        yield Fix.run(
            f"git ls-files | grep {quote(failure.values_file.rpartition('/')[2])}   # was it moved?",
            hard_refresh(case),
            title=f"Commit {failure.values_file}, or correct its name in helm.valueFiles of the Application",
        )
    elif failure.value_path.startswith(".Values."):
        name = failure.value_path.removeprefix(".Values.")
        where = files[-1] if files else "values.yaml"
        yield Fix.run(
            comment(f"in {where}:"),
            *_as_yaml(name),
            hard_refresh(case),
            title=f"Set {name} in {where}, commit, then hard refresh",
        )
    yield Fix.run(
        _reproduction(case, source, files),
        title="Reproduce the error on your machine, fix the chart or its values, commit",
    )


def _as_yaml(path: str) -> Iterator[str]:
    keys = " ".join(path.split()).split(".")
    for depth, key in enumerate(keys):
        last = depth == len(keys) - 1
        yield f"#   {'  ' * depth}{key}:{' THE_VALUE' if last else ''}"


def _reproduction(case: Case, source: Source | None, files: tuple[str, ...]) -> str:
    """The `helm template` command of Argo CD; paths of values files are relative to the chart."""
    release = quote((source.helm.release_name if source and source.helm else "") or case.app.name)
    if source and source.chart:
        version = quote(source.target_revision)
        chart = f"{quote(source.chart)} --repo {quote(source.repo_url)} --version {version}"
        words = [f"helm template {release} {chart}"]
    else:
        folder = quote(source.path) if source and source.path else "CHART_FOLDER"
        words = [f"cd {folder} && helm template {release} ."]
    words += [f"-f {quote(file)}" for file in files]
    if case.destination_namespace:
        words.append(f"-n {quote(case.destination_namespace)}")
    return " ".join([*words, "--debug"])
