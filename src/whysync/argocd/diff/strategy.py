"""The diff strategy of a resource: legacy, structured merge or server-side.

Mirrors `controller/state.go` (`CompareAppState`) and gitops-engine `Diff`, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from whysync.json_tree import Json, Object, fields

COMPARE_OPTIONS: Final = "argocd.argoproj.io/compare-options"
SYNC_OPTIONS: Final = "argocd.argoproj.io/sync-options"
MANAGER: Final = "argocd-controller"


class Strategy(StrEnum):
    """`LEGACY` is a three-way diff if the live object has a last-applied annotation, otherwise two-way."""

    LEGACY = "legacy"
    STRUCTURED_MERGE = "structured-merge"
    SERVER_SIDE = "server-side"


def strategy_for(
    app_annotations: Mapping[str, Json],
    sync_options: Iterable[str] = (),
    *,
    server_side_diff: bool = False,
    target_annotations: Mapping[str, Json] | None = None,
) -> Strategy:
    """`server_side_diff` is the controller's default, which the Application's compare options override."""
    options = option_tokens(app_annotations, COMPARE_OPTIONS)
    server_side = server_side_diff or "ServerSideDiff=true" in options
    if server_side and "ServerSideDiff=false" not in options:
        return Strategy.SERVER_SIDE
    if "ServerSideApply=true" in set(sync_options):
        return Strategy.STRUCTURED_MERGE
    if "ServerSideApply=true" in option_tokens(target_annotations or {}, SYNC_OPTIONS):
        return Strategy.STRUCTURED_MERGE
    return Strategy.LEGACY


def ignores_mutation_webhooks(app_annotations: Mapping[str, Json]) -> bool:
    """A server-side diff ignores changes of webhooks, unless the Application includes them."""
    return "IncludeMutationWebhook=true" not in option_tokens(app_annotations, COMPARE_OPTIONS)


def asks_for_server_side_apply(target: Object) -> bool:
    annotations = fields(fields(target.get("metadata")).get("annotations"))
    return SYNC_OPTIONS in annotations and "ServerSideApply=true" in option_tokens(annotations, SYNC_OPTIONS)


def option_tokens(annotations: Mapping[str, Json], key: str) -> frozenset[str]:
    value = annotations.get(key)
    return frozenset(token.strip() for token in value.split(",")) if isinstance(value, str) else frozenset()
