"""The scope of a text: the program that reported it, inferred from its wrappers.

It selects the patterns: `permission denied` is Argo CD's RBAC in a response of its API server, an error about
a file in a text of the repo-server, and a refusal of Vault in the output of a plugin.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from whysync.lazy_pattern import lazy_pattern
from whysync.messages.wrappers import Layer, LayerKind


class Scope(StrEnum):
    ANY = "any"  # unknown
    GIT = "git"
    HELM = "helm"  # renders a chart
    HELM_DOWNLOAD = "helm-download"  # gets a chart, an index or dependencies
    KUSTOMIZE = "kustomize"
    PLUGIN = "plugin"
    REPO_SERVER = "repo-server"
    CONTROLLER = "controller"  # Argo CD itself, before it asks a repo-server or a cluster
    HYDRATOR = "hydrator"
    APPLICATION_SET = "application-set"  # the controller that generates Applications


_SHELL = lazy_pattern(r"(?:\S*/)?(?:ba|da|z)?sh (?:-[a-z]+ )*-[a-z]*c (?P<script>.+)", re.DOTALL)
_BETWEEN = lazy_pattern(r"&&|\|\||[;\n|]")
_TOOL = lazy_pattern(r"(?:git|helm|kustomize) \S")
_HELM_DOWNLOADS = ("dep", "pull", "fetch", "repo", "registry", "show", "inspect", "login")
_KINDS = {
    LayerKind.PLUGIN: Scope.PLUGIN,
    LayerKind.HELM_DEPENDENCIES: Scope.HELM_DOWNLOAD,
    LayerKind.CLUSTER: Scope.ANY,
    LayerKind.LOAD_KIND: Scope.ANY,
    LayerKind.WATCH: Scope.ANY,
    LayerKind.LOAD_LIVE_STATE: Scope.ANY,
    LayerKind.COMPARE_STATES: Scope.ANY,
    LayerKind.NORMALIZE: Scope.ANY,
    LayerKind.DIFF: Scope.ANY,
    LayerKind.APP_HEALTH: Scope.ANY,
    LayerKind.REPOSITORY: Scope.REPO_SERVER,
    LayerKind.FETCH: Scope.REPO_SERVER,
    LayerKind.RESOLVE_REVISION: Scope.REPO_SERVER,
    LayerKind.HELM_TEMPLATE: Scope.REPO_SERVER,
    LayerKind.GENERATE_MANIFESTS: Scope.REPO_SERVER,
    LayerKind.CACHED: Scope.REPO_SERVER,
    LayerKind.LOAD_TARGET_STATE: Scope.CONTROLLER,
    LayerKind.COMPARISON_ERROR: Scope.CONTROLLER,
    LayerKind.UNKNOWN_ERROR: Scope.CONTROLLER,
}
_OF_COMPARISON = frozenset(
    {
        LayerKind.COMPARISON_ERROR,
        LayerKind.UNKNOWN_ERROR,
        LayerKind.LOAD_TARGET_STATE,
        LayerKind.SOURCE_N_OF_M,
    }
)


def scope_of(layers: Sequence[Layer]) -> Scope:
    """The scope of the innermost wrapper that has one."""
    if any(layer.kind is LayerKind.APPLICATION_SET for layer in layers):
        return Scope.APPLICATION_SET  # whatever it asks, the set is what fails
    if any(layer.kind is LayerKind.HYDRATOR for layer in layers):
        return Scope.HYDRATOR
    compared = any(layer.kind in _OF_COMPARISON for layer in layers)
    plugin = any(layer.kind is LayerKind.PLUGIN for layer in layers)
    for layer in reversed(layers):
        if layer.kind is LayerKind.COMMAND_FAILED:
            scope = _scope_of_command(layer.command)
        elif layer.kind is LayerKind.RPC:
            # A comparison calls only the repo-server over gRPC.
            scope = Scope.REPO_SERVER if compared and layer.code != "PermissionDenied" else None
        else:
            scope = _KINDS.get(layer.kind)
        if scope is Scope.REPO_SERVER and plugin:
            return Scope.PLUGIN  # the sidecar wraps its errors as the repo-server does
        if scope is not None:
            return scope
    return Scope.ANY


def is_own_command(command: str) -> bool:
    """Does the repo-server run it by itself? Plugins run theirs in a container of their own."""
    return _scope_of_command(command) not in (None, Scope.PLUGIN)


def commands_in_shell(command: str) -> tuple[str, ...]:
    """`helm dependency build` and `helm template .` in `sh -c "helm dependency build && helm template ."`.

    Only those of the tools that Argo CD runs too: their errors are known.
    """
    script = _SHELL.match(command)
    parts = _BETWEEN.split(script["script"]) if script is not None else ()
    return tuple(part for part in (part.strip(" \"'") for part in parts) if _TOOL.match(part))


def is_only_command(command: str) -> bool:
    """Does the shell run one command of a known tool, and nothing else?"""
    script = _SHELL.match(command)
    return (
        script is not None and _BETWEEN.search(script["script"]) is None and bool(commands_in_shell(command))
    )


def _scope_of_command(command: str) -> Scope | None:
    tool, _, rest = command.partition(" ")
    tool = tool.rpartition("/")[2]
    if tool.startswith("helm"):
        return Scope.HELM_DOWNLOAD if rest.lstrip().startswith(_HELM_DOWNLOADS) else Scope.HELM
    if tool.startswith("kustomize"):
        return Scope.KUSTOMIZE
    if tool == "kubectl":
        return None  # what the API server answered decides
    return {"git": Scope.GIT, "gpg": Scope.REPO_SERVER}.get(tool, Scope.PLUGIN)
