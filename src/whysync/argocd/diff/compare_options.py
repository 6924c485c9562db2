"""How to compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whysync.argocd.diff.normalize import Normalizer
from whysync.argocd.diff.strategy import MANAGER, Strategy
from whysync.json_tree import Object

if TYPE_CHECKING:
    from whysync.kubernetes.merge.structured.schema import Schemas


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
