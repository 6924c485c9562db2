"""Options of a diff, and the normalization of one side by them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whysync.argocd.diff.normalize import Normalizer, normalize
from whysync.argocd.diff.strategy import MANAGER, Strategy
from whysync.json_tree import Object
from whysync.kubernetes.schema.remarshal import remarshal, remarshalled

if TYPE_CHECKING:
    from whysync.kubernetes.merge.structured.schema import Schemas


def prepared(obj: Object, options: DiffOptions, *, with_rules: bool = True) -> Object:
    """Canonical, evened out, and (with rules) without what is to be ignored."""
    return _normalized(remarshal(obj), options, with_rules=with_rules)


def prepared_and_fits(obj: Object, options: DiffOptions) -> tuple[Object, bool]:
    """The same, and whether Go can surely read it; what moves data about is not sure."""
    canonical, fits = remarshalled(obj)
    return _normalized(canonical, options, with_rules=True), fits and obj.get("kind") != "Secret"


def _normalized(obj: Object, options: DiffOptions, *, with_rules: bool) -> Object:
    return normalize(
        obj,
        ignore_aggregated_roles=options.ignore_aggregated_roles,
        normalizer=options.normalizer if with_rules else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffOptions:
    """The strategy and what it needs.

    - `normalizer` brings ignore rules and known types; it gives back a new object, or the same one if it has
      nothing to do, and never changes its argument; a `ValueError` from it is
      logged and passed over.
    - `schemas` are the types of custom resources, for structured merge and for leaving out webhooks' changes.
    - `dry_run` answers what a server-side apply of the desired object would give.
    """

    strategy: Strategy = Strategy.LEGACY
    normalizer: Normalizer | None = None
    ignore_aggregated_roles: bool = False
    manager: str = MANAGER
    schemas: Schemas | None = None
    dry_run: Callable[[Object], Object] | None = None
    ignore_mutation_webhook: bool = True
