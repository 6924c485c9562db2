"""Helm cannot render the chart with these values.

## What happens
`helm template` fails, so there are no manifests to compare. The sync status is Unknown; workloads in the
cluster are not affected. Typical causes: a value that a template needs is not set in any values file, a
values file is missing, or a new chart version needs other values.

## How whysync knows
Helm's error in the condition: the template with line and column, the value path that cannot be read, the
message of `required` or `fail`, the schema that the values violate, or the missing values file. In
`nil pointer evaluating interface {}.tag` the map that should contain `tag` is nil.

## Fix
Set the value in the values file of this environment, or revert the commit that removed it. If a map is nil,
restore the whole map: with one key only, the chart may render but deploy something else. The command shown
renders the chart on your machine.

## When it is something else
If a chart or dependency cannot be downloaded: helm-dependency. If the rendered output is not valid YAML:
invalid-yaml.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import Source
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Remove, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.json_tree import fields, items, text
from whysync.messages.parse import Message
from whysync.messages.patterns.helm import HelmRender
from whysync.queries.already_fixed import render_again
from whysync.queries.commands import app_argument, comment, hard_refresh, with_comment
from whysync.queries.group_failures import grouped
from whysync.queries.local_rendering import folder_of, helm_template, values_path
from whysync.queries.revert import revert_commit
from whysync.queries.sources import commits_since_last_sync, failing_source, source_pointer, synced_commit


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
            evidence=(
                *group.cited(says="Argo CD's error" if failure.helm_version else "Helm's error"),
                *_values(case, source),
            ),
            fixes=tuple(_fixes(case, group.message, failure, source)),
            already_fixed=render_again(
                case,
                "the Application already has another version",
                "Hard refresh: helm.version has been corrected",
                when=bool(failure.helm_version) and _helm_version(case, source) != failure.helm_version,
            ),
        )


def _helm_version(case: Case, source: Source | None) -> str:
    return text(case.application.at(f"{source_pointer(case, source)}/helm/version")) if source else ""


def place_of(failure: HelmRender) -> str:
    """`templates/deployment.yaml:17`, as far as Helm reports it."""
    if not failure.template:
        return f"chart {failure.chart}" if failure.chart else "the chart"
    return failure.template if failure.line is None else f"{failure.template}:{failure.line}"


def _verdict(failure: HelmRender) -> str:
    if failure.helm_version:
        return f"Argo CD does not know helm.version '{failure.helm_version}' of the Application, only v3"
    if failure.not_in_schema:
        return (
            f"Helm cannot render {place_of(failure)}: its schema does not permit the value"
            f" {_unwanted(failure)}"
        )
    if failure.values_file:
        return f"Helm cannot render {place_of(failure)}: the values file {failure.values_file} does not exist"
    if failure.value_path and failure.function == "required":
        return f"Helm cannot render {place_of(failure)}: {failure.value_path} is required but not set"
    if failure.nil_map:
        return (
            f"Helm cannot render {place_of(failure)}: {failure.nil_map} is nil (not set, or set to null),"
            f" so {failure.value_path} cannot be read"
        )
    if failure.not_a_map:
        return (
            f"Helm cannot render {place_of(failure)}: {failure.not_a_map} is missing or not a map,"
            f" so {failure.value_path} cannot be read"
        )
    if failure.value_path and failure.detail:
        return f"Helm cannot render {place_of(failure)} at {failure.value_path}: {one_line(failure.detail)}"
    if failure.value_path:
        return f"Helm cannot render {place_of(failure)}: {failure.value_path} has no usable value"
    return f"Helm cannot render {place_of(failure)}" + (
        f": {one_line(failure.detail)}" if failure.detail else ""
    )


def _unwanted(failure: HelmRender) -> str:
    """`networkPolicy.egress`."""
    return f"{failure.value_path}.{failure.not_in_schema}".removeprefix(".Values").removeprefix(".")


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


def _fixes(case: Case, message: Message, failure: HelmRender, source: Source | None) -> Iterator[Fix]:
    folder = folder_of(message, source)
    path = failure.nil_map or failure.not_a_map or failure.value_path
    if failure.helm_version:
        yield from _without_version(case, source)
        return
    if failure.not_in_schema:
        where, _file = _values_place(case, source, folder, _unwanted(failure))
        yield Fix.run(
            *commits_since_last_sync(case, source),
            *helm_template(case, source, folder),
            hard_refresh(case),
            title=f"Remove {_unwanted(failure)} from {where}, or write it as this version of the chart names"
            " it (values.schema.json); commit, then hard refresh",
        )
    elif failure.values_file:
        yield Fix.run(
            *commits_since_last_sync(case, source),
            f"git ls-files | grep {quote(failure.values_file.rpartition('/')[2])}   # was it moved?",
            hard_refresh(case),
            title=f"Commit {failure.values_file}, or correct its name in helm.valueFiles of the Application",
        )
    elif path.startswith(".Values."):
        yield _set_value(case, failure, source, folder)
    elif failure.function == "fail" and failure.detail:
        where, file = _values_place(case, source, folder)
        overrides = _parameters_win(case, source)
        done = "commit and push" if file else "where the Application is declared"
        yield Fix.run(
            *_template_line(failure, source, folder),
            comment(f"set or correct the value that it reads in {where}{overrides}, {done}"),
            hard_refresh(case),
            title=f"Set or correct what the chart checks in {where} ({one_line(failure.detail)}),"
            " then hard refresh",
        )
    elif failure.is_foreign and not _chart(source):
        yield Fix.run(
            *_template_line(failure, source, folder),
            comment(f"escape the braces in {failure.template}: {{{{`{{{{ {failure.value_path} }}}}`}}}}"),
            comment("or move the text out of templates/ and include it with .Files.Get; commit and push"),
            hard_refresh(case),
            title=f"If {failure.value_path} is for another program (Argo CD's notifications): escape it",
        )
    yield from revert_commit(case, source)
    if failure.not_in_schema:
        return
    yield Fix.run(
        *(() if failure.function == "fail" else _template_line(failure, source, folder)),
        *helm_template(case, source, folder, "--debug"),
        title="Render it on your machine to see the whole error; fix the chart or its values, commit",
    )


def _without_version(case: Case, source: Source | None) -> Iterator[Fix]:
    """Argo CD 3.6: `v3` and no version are the same."""
    pointer = f"{source_pointer(case, source)}/helm/version" if source is not None else ""
    if pointer and case.application.at(pointer):
        yield Fix.application(
            case.application.ref,
            Remove(pointer=pointer),
            title="Remove helm.version from the source: Argo CD then uses its own Helm",
        )
        return
    yield Fix.run(
        f"argocd app edit {app_argument(case)}",
        hard_refresh(case),
        title="Remove helm.version from the source: Argo CD then uses its own Helm",
    )


def _template_line(failure: HelmRender, source: Source | None, folder: str) -> Iterator[str]:
    """The line of a template with its commits; Helm writes the name of the chart in front of the path."""
    _, slash, path = failure.template.partition("/")
    if failure.line and slash and folder and path.startswith("templates/") and not _chart(source):
        lines = f"-L {max(failure.line - 3, 1)},+7"
        yield with_comment(
            f"git blame {lines} {quote(f'{folder}/{path}')}", "who changed these lines, and when"
        )


def _set_value(case: Case, failure: HelmRender, source: Source | None, folder: str) -> Fix:
    name = failure.value_path.removeprefix(".Values.")
    where, file = _values_place(case, source, folder, name)
    map_path = failure.nil_map or failure.not_a_map
    parent = map_path.removeprefix(".Values.")
    good = synced_commit(case, source)
    removed = f"git log -p --oneline {good[:8]}.. -- {quote(file)}" if good and file else ""
    history = (with_comment(removed, "what the values file lost since the last sync"),) if removed else ()
    edit = (comment(f"in {where}:"), *_as_yaml(name))
    if not parent:
        verb = "Correct" if failure.chart and failure.detail else "Set"
        title = f"{verb} {name} in {where}, commit, then hard refresh"
        return Fix.run(*history, *edit, hard_refresh(case), title=title)
    templates = quote(f"{folder}/templates" if folder else "templates")
    reads = f"grep -rnF {quote(map_path)} {templates}"
    return Fix.run(
        *history,
        *((with_comment(reads, f"all keys of {parent} that it reads"),) if not _chart(source) else ()),
        *edit,
        f"#   {'  ' * (parent.count('.') + 1)}# and the other keys of {parent}",
        hard_refresh(case),
        title=f"Set {parent} in {where}, with all its keys, commit, then hard refresh",
        risk=f"with {name} only, the chart may render but deploy wrong values for the other keys of {parent}",
    )


def _chart(source: Source | None) -> str:
    return source.chart if source is not None else ""


def _parameter_names(case: Case, source: Source | None) -> tuple[str, ...]:
    if source is None:
        return ()
    parameters = items(case.application.at(f"{source_pointer(case, source)}/helm/parameters"))
    return tuple(text(fields(parameter).get("name")) for parameter in parameters)


def _parameters_win(case: Case, source: Source | None) -> str:
    names = _parameter_names(case, source)
    return f", or in helm.parameters, which override it ({', '.join(names[:3])})" if names else ""


def _values_place(case: Case, source: Source | None, folder: str, value: str = "") -> tuple[str, str]:
    """Where to set a value, and the file in the repository of the chart; empty if it is not a file there.

    Mirrors Argo CD 3.6: `parameters` override the rest; `values` is not read if there is a `valuesObject`.
    """
    if value and value in _parameter_names(case, source):
        return f"helm.parameters ({value}) of the Application", ""
    files = source.helm.value_files if source is not None and source.helm is not None else ()
    if files:
        name = values_path(source, folder, files[-1])
        return files[-1], "" if files[-1].startswith("$") or "://" in name else name
    pointer = f"{source_pointer(case, source)}/helm" if source is not None else ""
    inline = next(
        (name for name in ("valuesObject", "values") if case.application.at(f"{pointer}/{name}")), ""
    )
    if inline or _chart(source):
        return f"helm.{inline or 'valuesObject'} of the Application", ""
    file = f"{folder}/values.yaml" if folder else "values.yaml"
    return file, file


def _as_yaml(path: str) -> Iterator[str]:
    keys = " ".join(path.split()).split(".")
    for depth, key in enumerate(keys):
        last = depth == len(keys) - 1
        yield f"#   {'  ' * depth}{key}:{' THE_VALUE' if last else ''}"
