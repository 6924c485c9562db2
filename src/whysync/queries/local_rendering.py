"""Commands that render a source on the user's machine, as Argo CD's repo-server does: Helm and Kustomize."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import normpath
from shlex import quote
from typing import TYPE_CHECKING

from whysync.argocd.api.application import Source
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.ref import Ref
from whysync.messages.parse import Message
from whysync.messages.wrappers import LayerKind
from whysync.queries.commands import app_argument, comment, kubectl, with_comment
from whysync.queries.sources import is_oci, oci_chart, source_pointer

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_RENDERED = "rendered.yaml"
_APP_VALUES = "app-values.yaml"
_INLINE_VALUES = ("valuesObject", "values")
_MOST_PARAMETERS = 12


def folder_of(message: Message, source: Source | None) -> str:
    """The folder that the error names, else the path of the source; empty for a chart of a registry."""
    layer = message.layer(LayerKind.GENERATE_MANIFESTS)
    return (layer.subject if layer is not None else "") or (source.path if source is not None else "")


def tool_of(case: Case, source: Source | None) -> str:
    """`Helm`, `Kustomize`, `Directory` or `Plugin`, from status or spec; empty if neither shows it."""
    if source is None:
        return ""
    status = case.app.status
    several = case.app.spec.sources
    index = several.index(source) if source in several else 0
    types = status.source_types if several else (status.source_type,)
    if index < len(types) and types[index]:
        return types[index]
    if source.chart:
        return "Helm"
    spec = fields(case.application.at(source_pointer(case, source)))
    names = (name for name in ("helm", "kustomize", "directory", "plugin") if fields(spec.get(name)))
    return next(names, "").capitalize()


def render_to_file(case: Case, source: Source | None, folder: str) -> Iterator[str]:
    """Render the source into a file, and let kubectl find the document in it that is no object."""
    tool = tool_of(case, source)
    path = quote(folder or ".")
    if tool in ("Helm", ""):
        *before, helm = helm_template(case, source, folder)
        yield from before
        yield f"{helm} > {_RENDERED}" + ("" if tool else "   # a Helm chart")
    if tool in ("Kustomize", ""):
        yield f"kustomize build {path} > {_RENDERED}" + ("" if tool else "   # or a kustomization")
    if tool in ("Helm", "Kustomize", ""):
        check = f"kubectl apply --dry-run=client -f {_RENDERED}"
        yield with_comment(check, "prints the objects up to the invalid document")
    else:
        yield with_comment(
            f"kubectl apply --dry-run=client -R -f {path}", "prints the invalid document's error"
        )


def render_twice(case: Case) -> tuple[str, ...]:
    """Render the app's source twice and compare. `argocd app manifests` masks every value of a Secret."""
    source = case.app.sources[0] if len(case.app.sources) == 1 else None
    tool = tool_of(case, source)
    if source is not None and tool == "Helm":
        *before, helm = helm_template(case, source)
        where = () if source.chart else (comment(f"in a checkout of {source.repo_url}"),)
        return (*before, *where, f"{helm} > one.yaml", f"{helm} | diff one.yaml -")
    if source is not None and tool == "Kustomize":
        build = f"kustomize build --enable-helm {quote(source.path or '.')}"
        where = f"in a checkout of {source.repo_url}"
        return (with_comment(f"{build} > one.yaml", where), f"{build} | diff one.yaml -")
    app = app_argument(case)
    return (
        f"argocd app manifests {app} --source git > one.yaml",
        f"argocd app get {app} --hard-refresh > /dev/null",
        with_comment(
            f"argocd app manifests {app} --source git | diff one.yaml -",
            "not of Secrets: it masks their values, so they are always equal here",
        ),
    )


def helm_template(case: Case, source: Source | None, folder: str = "", *flags: str) -> Iterator[str]:
    """The `helm template` command of Argo CD for a checkout; values of the Application are read first.

    Argo CD passes the values files first, then the values of the Application, then its parameters.
    """
    folder = folder or (source.path if source is not None else "")
    helm = source.helm if source is not None else None
    release = (helm.release_name if helm is not None else "") or case.app.name
    arguments = ["helm", "template", release]
    if source is not None and source.chart:
        version = ["--version", source.target_revision] if source.target_revision else []
        if is_oci(source.repo_url):
            arguments += [oci_chart(source.repo_url, source.chart), *version]
        else:
            arguments += [source.chart, "--repo", source.repo_url, *version]
    else:
        arguments.append(folder or "CHART_FOLDER")
    for file in helm.value_files if helm is not None else ():
        arguments += ["-f", values_path(source, folder, file)]
    for name in _inline_values(case, source):
        assert source is not None
        path = f"{source_pointer(case, source)}/helm/{name}".replace("/", ".")
        yield f"{_get_application(case, _jsonpath(path))} > {_APP_VALUES}"
        arguments += ["-f", _APP_VALUES]
    arguments += _parameters(case, source)
    if case.destination_namespace:
        arguments += ["-n", case.destination_namespace]
    yield " ".join(map(quote, (*arguments, *flags)))


def values_path(source: Source | None, folder: str, file: str) -> str:
    """The path of a values file in a checkout: relative to the chart, or to the root of its repository."""
    if "://" in file:
        return file
    if file.startswith("$"):
        ref, _, rest = file[1:].partition("/")
        return f"{ref.upper().replace('-', '_')}_CHECKOUT/{rest}"
    if file.startswith("/"):
        return file[1:]
    if source is not None and source.chart:
        return file
    return normpath(f"{folder}/{file}") if folder else file


def _inline_values(case: Case, source: Source | None) -> tuple[str, ...]:
    """`valuesObject` or `values`: the first one wins, as in Argo CD."""
    if source is None:
        return ()
    helm = fields(case.application.at(f"{source_pointer(case, source)}/helm"))
    return tuple(name for name in _INLINE_VALUES if helm.get(name))[:1]


def _parameters(case: Case, source: Source | None) -> list[str]:
    if source is None:
        return []
    arguments: list[str] = []
    for raw in items(case.application.at(f"{source_pointer(case, source)}/helm/parameters"))[
        :_MOST_PARAMETERS
    ]:
        parameter = fields(raw)
        flag = "--set-string" if parameter.get("forceString") else "--set"
        arguments += [flag, f"{text(parameter.get('name'))}={text(parameter.get('value'))}"]
    return arguments


def _jsonpath(path: str) -> str:
    indexed = ".".join(f"[{part}]" if part.isdigit() else part for part in path.split("."))
    return f"jsonpath={{{indexed.replace('.[', '[')}}}"


def _get_application(case: Case, output: str) -> str:
    ref: Ref = case.application.ref
    return kubectl("get", "application.argoproj.io", ref.name, "-o", output, namespace=ref.namespace)
