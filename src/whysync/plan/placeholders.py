"""Placeholders in an Application, such as `${ENV}` or `<REPO_URL>`, that another program replaces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from whysync.json_tree import Object, dig, fields, items, text
from whysync.plan.checkout import Side, sources_of

_PLACEHOLDER: Final = re.compile(
    r"\{\{.*?\}\}|\$\{\w[^}\n]*\}|\$[A-Z][A-Z0-9_]{2,}\b|(?<!\$)\{[A-Z][A-Z0-9_]{2,}\}"
    r"|(?<=://)[A-Z0-9]+(?:_[A-Z0-9]+)+(?=[:/]|$)"  # no host name has underscores
    r"|<[A-Za-z][\w .-]*>|##\w[\w.-]*##|@@\w[\w.-]*@@|%%\w[\w.-]*%%|__[A-Z][A-Z0-9_]*__"
)
_BUILD_VARIABLE: Final = re.compile(r"\$\{?ARGOCD_(?:APP|ENV)_\w+\}?")
"""Argo CD replaces them in values files and parameters."""
NO_VALUE: Final = "<no value>"
"""What Go's templates write for a missing parameter."""
_SOURCE: Final = ("repoURL", "chart", "path", "targetRevision")


def placeholder_of(application: Object) -> str:
    """The first placeholder in a field that decides what is deployed where; empty if it has none."""
    for value in _deciding(application):
        found = _PLACEHOLDER.search(_BUILD_VARIABLE.sub("", value))
        if found is not None:
            return found.group()
    return ""


def has_placeholder(value: str) -> bool:
    return _PLACEHOLDER.search(_BUILD_VARIABLE.sub("", value)) is not None


def fixed_folder(path: str) -> str:
    """The part of a path before the first folder whose name is not known."""
    found = _PLACEHOLDER.search(path)
    return path if found is None else path[: found.start()].rpartition("/")[0]


def chart_of_template(file: str, side: Side) -> str | None:
    """The folder of the chart that a file is a template of; `None` if it is of none."""
    for parent in PurePosixPath(file).parents:
        if parent.name == "templates" and (side.tree.root / parent.parent / "Chart.yaml").is_file():
            return str(parent.parent)
    return None


def _deciding(application: Object) -> Iterator[str]:
    yield text(dig(application, "metadata", "name"))
    yield text(dig(application, "metadata", "namespace"))
    yield text(dig(application, "spec", "project"))
    yield from map(text, fields(dig(application, "spec", "destination")).values())
    for source in sources_of(application):
        yield from (text(source.get(key)) for key in _SOURCE)
        yield from map(text, items(dig(source, "helm", "valueFiles")))
