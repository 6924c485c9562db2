"""Options of a diff, and the normalization of one side by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

from whysync.argocd.diff.normalize import Normalizer, normalize
from whysync.argocd.diff.remarshal import remarshal, remarshalled
from whysync.json_tree import Json, Object, fields

if TYPE_CHECKING:
    from whysync.kubernetes.merge.structured.schema import Schemas


# The diff strategy of a resource: legacy, structured merge or server-side.
#
# Mirrors `controller/state.go` (`CompareAppState`) and gitops-engine `Diff`, Argo CD 3.6.


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


def prepared(obj: Object, options: DiffOptions, *, with_rules: bool = True) -> Object:
    """The canonical, normalized object; with rules, without ignored fields."""
    return _normalized(remarshal(obj), options, with_rules=with_rules)


def prepared_and_fits(obj: Object, options: DiffOptions) -> tuple[Object, bool]:
    """The same, and whether it is certain that Go can decode it."""
    canonical, fits = remarshalled(obj)
    return _normalized(canonical, options, with_rules=True), fits and obj.get("kind") != "Secret"


def _normalized(obj: Object, options: DiffOptions, *, with_rules: bool) -> Object:
    return normalize(
        obj,
        ignore_aggregated_roles=options.ignore_aggregated_roles,
        normalizer=options.normalizer if with_rules else None,
    )


class DiffOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The strategy and what it needs.

    - `normalizer` applies ignore rules and known types; it returns a new object, or the same one if nothing
      changes, and never changes its argument; a `ValueError` is ignored.
    - `schemas` are the types of custom resources, for structured merge and for leaving out webhooks' changes.
    - `dry_run` returns the result of a server-side apply of the desired object.
    """

    strategy: Strategy = Strategy.LEGACY
    normalizer: Normalizer | None = None
    ignore_aggregated_roles: bool = False
    manager: str = MANAGER
    schemas: Schemas | None = None
    dry_run: Callable[[Object], Object] | None = None
    ignore_mutation_webhook: bool = True
