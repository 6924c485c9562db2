"""Options of a diff, and the normalization of one side by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from whysync.argocd.diff.normalize import Normalizer, normalize
from whysync.argocd.diff.remarshal import remarshal, remarshalled
from whysync.argocd.diff.strategy import MANAGER, Strategy
from whysync.json_tree import Object

if TYPE_CHECKING:
    from whysync.kubernetes.merge.structured.schema import Schemas


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
