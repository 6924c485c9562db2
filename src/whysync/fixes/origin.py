"""Which folders of a checkout an Application's manifests come from, and which tool renders them."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from whysync.diagnosis.case import Case
from whysync.errors import Refused
from whysync.facts.checkout import Checkout
from whysync.fixes.places import edited_sources

_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")


class Tool(StrEnum):
    """The tool that renders files to manifests. Only in a plain directory are the files the manifests."""

    FOLDER = "Directory"
    HELM = "Helm"
    KUSTOMIZE = "Kustomize"
    PLUGIN = "Plugin"


class Folder(NamedTuple):
    """`path` is the source's path, or the whole checkout (`""`) if the checkout does not contain it."""

    path: str
    tool: Tool


def folders_of(case: Case, checkout: Checkout) -> list[Folder]:
    """Sources whose folders are in this checkout; without any, the checkout may be the folder itself."""
    folders: list[Folder] = []
    types = case.app.status.source_types or ((case.app.status.source_type,) if case.app.sources else ())
    sources = edited_sources(case)
    for number, source in enumerate(sources):
        if source.chart or not source.path:
            continue
        path = _clean(source.path)
        reported = types[number] if number < len(types) else ""
        if checkout.has_folder(path):
            folders.append(Folder(path, tool_of(checkout, path, reported)))
    if folders:
        return list(dict.fromkeys(folders))
    reported = types[0] if len(sources) == 1 and types else ""
    if sources and all(source.chart for source in sources):
        return [Folder("", Tool.HELM)]
    return [Folder("", tool_of(checkout, "", reported))]


def _clean(path: str) -> str:
    """A source's path as Argo CD interprets it; a path that leaves the repository is ignored."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise Refused(
            what=f"the source's path {path!r} is outside the repository",
            why="whysync does not read or write outside the checkout",
            next="correct spec.source.path of the Application",
        )
    return "/".join(parts)


def tool_of(checkout: Checkout, path: str, reported: str) -> Tool:
    """The tool that Argo CD reports, or detected from the files as Argo CD does."""
    if reported in tuple(map(str, Tool)):
        return Tool(reported)
    below = f"{path}/" if path else ""
    if checkout.has_file(f"{below}Chart.yaml"):
        return Tool.HELM
    if any(checkout.has_file(below + name) for name in _KUSTOMIZATIONS):
        return Tool.KUSTOMIZE
    return Tool.FOLDER
