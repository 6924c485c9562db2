"""Where to change a manifest, from the spec of the Application: a file, values, a patch."""

from __future__ import annotations

from whysync.argocd.api.application import Source
from whysync.diagnosis.case import Case
from whysync.kubernetes.api.ref import Ref

_TOOLS = ("Directory", "Helm", "Kustomize", "Plugin")


def place_of(ref: Ref, case: Case) -> str:
    """`Deployment shop/web, in the file below apps/shop that declares it`."""
    sources = edited_sources(case)
    tools = {
        tool_reported(case, number) for number, source in enumerate(sources) if not _is_reference(source)
    }
    if len(tools) > 1:
        return f"{ref}, in the source that declares it"
    paths = {source.path.strip("/").removeprefix("./") for source in sources if not _is_reference(source)}
    path = paths.pop() if len(paths) == 1 else ""
    source = f" from {path}" if path not in ("", ".") else ""
    match tools.pop() if tools else "":
        case "Helm":
            charts = [source.chart for source in sources if source.chart]
            if len(charts) == 1 and not source:
                return (
                    f"{ref}, rendered from the Helm chart {charts[0]}: set it with the chart's values"
                    f"{_values_files(sources)}"
                )
            return f"{ref}, rendered by Helm{source}: change the values or the template that set it"
        case "Kustomize":
            return f"{ref}, rendered by Kustomize{source}: change the patch that sets it, or add one"
        case "Plugin":
            return f"{ref}, rendered by a plugin{source}: change what the plugin reads"
        case "Directory" if source:
            return f"{ref}, in the file below {path} that declares it"
        case _:
            return f"{ref}, declared in {path}" if source else f"{ref}, in the file that declares it"


def _values_files(sources: tuple[Source, ...]) -> str:
    """The values files that a chart of a registry gets from Git, the last one, which wins, first."""
    urls = {f"${source.ref}": source.repo_url for source in sources if source.ref}
    files = [
        file.partition("/")
        for source in sources
        if source.chart and source.helm is not None
        for file in source.helm.value_files
    ]
    named = [f"{path} of {urls[root]}" for root, _, path in reversed(files) if root in urls]
    return f", in {' or '.join(named[:2])}" if named else ""


def edited_sources(case: Case) -> tuple[Source, ...]:
    """The sources that people edit: with a hydrator, the dry source."""
    hydrator = case.app.spec.source_hydrator
    if hydrator is not None and not case.app.sources:
        dry = hydrator.dry_source
        return (Source(repo_url=dry.repo_url, path=dry.path, target_revision=dry.target_revision),)
    return case.app.sources


def tool_reported(case: Case, number: int) -> str:
    """The tool that Argo CD reports for a source, or that its spec implies; empty if unknown."""
    sources, status = edited_sources(case), case.app.status
    reported = status.source_types[number] if number < len(status.source_types) else ""
    reported = reported or (status.source_type if len(sources) == 1 else "")
    if reported in _TOOLS:
        return reported
    source = sources[number]
    return "Helm" if source.chart or source.helm is not None else ""


def _is_reference(source: Source) -> bool:
    """Does the source only provide values files for others?"""
    return bool(source.ref) and not source.path and not source.chart
