"""Where the parameters of an ApplicationSet's template come from, and which source lacks one of them."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

import msgspec

from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.queries.commands import comment, kubectl, with_comment

_COMBINING = ("matrix", "merge")
_CLUSTER_METADATA = ("metadata.labels", "metadata.annotations")
_CLUSTER_SECRETS = "argocd.argoproj.io/secret-type=cluster"


class ParameterSource(msgspec.Struct, frozen=True, kw_only=True):
    """A generator that could give the parameter: what lacks it, and the commands that find and add it."""

    lacks: str
    """`a file envs/*/config.yaml of URL`: the subject of `… has no KEY`."""
    steps: tuple[str, ...]
    risk: str = ""


def sources_without(application_set: Manifest, parameter: str) -> tuple[ParameterSource, ...]:
    """The generators of the set that can give `parameter` (`env`, `metadata.labels.region`)."""
    generators = items(application_set.spec.get("generators"))
    return tuple(_sources(generators, "spec.generators", parameter, application_set.ref.namespace))


def _sources(generators: list[Json], path: str, parameter: str, namespace: str) -> Iterator[ParameterSource]:
    for number, generator in enumerate(map(fields, generators)):
        place = f"{path}[{number}]"
        for kind in _COMBINING:
            nested = items(fields(generator.get(kind)).get("generators"))
            yield from _sources(nested, f"{place}.{kind}.generators", parameter, namespace)
        yield from _files(fields(generator.get("git")), parameter)
        yield from _elements(fields(generator.get("list")), f"{place}.list.elements", parameter)
        if "clusters" in generator:
            yield from _clusters(parameter, namespace)


def _files(git: Object, parameter: str) -> Iterator[ParameterSource]:
    paths = [
        text(entry.get("path")) for entry in map(fields, items(git.get("files"))) if not entry.get("exclude")
    ]
    if not paths or parameter.partition(".")[0] in ("path", "values"):
        return
    key, url, revision = parameter.rpartition(".")[2], text(git.get("repoURL")), text(git.get("revision"))
    where = f"{url} at {revision}" if revision else url
    pattern = quote(f'(^|[^[:alnum:]_.-]){key}"?[[:space:]]*:')
    pathspecs = " ".join(quote(f":(glob){path}") for path in paths)
    yield ParameterSource(
        lacks=f"a file {' or '.join(paths)} of {url}",
        steps=(
            with_comment(
                f"git grep -L -E {pattern} -- {pathspecs}",
                f"in a checkout of {where}: the files without {key}",
            ),
            comment(f"add {parameter} to these files, or delete them; commit and push"),
        ),
        risk="a deleted file removes the Applications that it generates",
    )


def _elements(generator: Object, place: str, parameter: str) -> Iterator[ParameterSource]:
    elements = items(generator.get("elements"))
    without = [index for index, element in enumerate(elements) if not _has(element, parameter.split("."))]
    if without:
        yield ParameterSource(
            lacks=" and ".join(f"{place}[{index}]" for index in without[:3]),
            steps=(comment(f"set {parameter} in it, where the ApplicationSet is declared"),),
        )


def _has(value: Json, path: list[str]) -> bool:
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return True


def _clusters(parameter: str, namespace: str) -> Iterator[ParameterSource]:
    kind, _, key = parameter.rpartition(".")
    if not parameter.startswith(_CLUSTER_METADATA):
        return
    if kind == "metadata.labels":
        show = kubectl("get", "secret", "-l", _CLUSTER_SECRETS, "-L", key, namespace=namespace)
        change = kubectl("label", "secret", "NAME", f"{key}=VALUE", namespace=namespace)
    else:
        show = kubectl("get", "secret", "-l", _CLUSTER_SECRETS, "-o", "yaml", namespace=namespace)
        change = kubectl("annotate", "secret", "NAME", f"{key}=VALUE", namespace=namespace)
    yield ParameterSource(
        lacks="a cluster that it selects",
        steps=(
            with_comment(show, f"the clusters; which has no {key}?"),
            with_comment(change, "its Secret; the cluster that Argo CD runs in may have none"),
        ),
    )
