"""Values of rendering: errors, origins of manifests, options (limits, settings, facts about the cluster)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from whysync.argocd.repo_server.git.tree import Tree
from whysync.errors import SourceError
from whysync.json_tree import Object, fields, text
from whysync.processes.children import Bounds

# Errors of rendering: of the source, as in Argo CD, or of this machine.


CACHED_SOURCE: Final = "<path to cached source>"
"""The repo-server's replacement for the path of a repository in messages."""


class RenderProblem(Exception):
    """Argo CD cannot render this source either; the text is the repo-server's.

    `code` is the gRPC code: mostly `Unknown`, `FailedPrecondition` for unreadable files.
    """

    def __init__(self, text: str, *, code: str = "Unknown") -> None:
        super().__init__(text)
        self.text = text
        self.code = code


class CannotRender(SourceError):
    """Only this machine cannot render the source: a tool, the network or a plugin is missing.

    `part` is what is missing of this source, and `shared` why, in words that other sources share: a plan
    states a reason once for all apps.
    """

    def __init__(self, *, what: str, why: str = "", next: str = "", part: str = "", shared: str = "") -> None:
        super().__init__(what=what, why=why, next=next)
        self.part = part
        self.shared = shared


class ToolMissing(CannotRender):
    """Helm or Kustomize is not installed."""


# The file that a rendered object comes from.


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the repository; `line` is the first line of the object, 0 if a tool generated the object."""

    path: str = ""
    line: int = 0
    made_by: str = ""
    """`template`, `overlay`, `generator`, `crds`, `jsonnet`; empty for a plain manifest."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


class RenderedObject(msgspec.Struct, frozen=True, kw_only=True):
    """Contains the values of Secrets: never put it into a report without masking."""

    body: Object
    origin: Origin = Origin()

    def __repr__(self) -> str:
        return f"<rendered {self.body.get('kind')} from {self.origin}>"


TEN_MEGABYTES: Final = 10_000_000
# The timeout of the repo-server; Go programs reserve much more address space than memory.
USUAL: Final = Bounds(seconds=90.0, memory=4 << 30, output=64 << 20)
_SWITCHES: Final = {"kustomize.enable": "Kustomize", "helm.enable": "Helm", "jsonnet.enable": "Directory"}
_BUILD: Final = "kustomize.buildOptions"


class RefSource(msgspec.Struct, frozen=True, kw_only=True):
    """Another source of the same Application, which values files refer to as `$ref/…`.

    Without `tree`, using it is an error with Argo CD's message.
    """

    repo: str
    target_revision: str = ""
    chart: str = ""
    tree: Tree | None = None


class RenderOptions(msgspec.Struct, frozen=True, kw_only=True):
    kube_version: str = ""
    """The version of the destination cluster; if empty, Helm uses its default."""
    api_versions: tuple[str, ...] = ()
    instance: str = ""
    """The instance name of the app: `namespace_name` outside of Argo CD's namespace."""
    refs: Mapping[str, RefSource] = msgspec.field(default_factory=dict[str, RefSource])
    """By `$name`."""
    network: bool = False
    """May charts, bases and remote values be fetched?"""
    network_flag: str = "--network"
    """The flag that allows it, for messages."""
    disabled_tools: frozenset[str] = frozenset()
    """The tools that `argocd-cm` disables: `Helm`, `Kustomize`, `Directory` (Jsonnet)."""
    knows_settings: bool = False
    """Are the fields from `argocd-cm` below known? Otherwise they are Argo CD's defaults."""
    kustomize_build_options: str = ""
    kustomize_versions: frozenset[str] | None = None
    """The versions that `argocd-cm` registers; `None` if unknown."""
    value_schemes: tuple[str, ...] = ("https", "http")
    most_manifest_bytes: int = TEN_MEGABYTES
    bounds: Bounds = USUAL
    tools: Path | None = None
    """The folder of the tools, if not the default cache."""
    cache: Path | None = None
    """The folder of the render cache; without it, nothing is cached."""


def with_settings(options: RenderOptions, argocd_cm: Object) -> RenderOptions:
    """Mirrors `GetEnabledSourceTypes`, `GetKustomizeSettings` and `GetHelmSettings`, Argo CD 3.6."""
    data = fields(argocd_cm.get("data"))
    versions = {
        key.removeprefix(prefix)
        for key in data
        for prefix in ("kustomize.version.", "kustomize.path.")
        if key.startswith(prefix)
    }
    schemes = options.value_schemes
    if "helm.valuesFileSchemes" in data:
        configured = text(data["helm.valuesFileSchemes"]).split(",")
        schemes = tuple(scheme.strip() for scheme in configured if scheme.strip())
    return replace(
        options,
        disabled_tools=frozenset(
            kind for key, kind in _SWITCHES.items() if text(data.get(key)) not in ("", "true")
        ),
        knows_settings=True,
        kustomize_build_options=text(data.get(_BUILD)),
        kustomize_versions=frozenset(versions),
        value_schemes=schemes,
    )
