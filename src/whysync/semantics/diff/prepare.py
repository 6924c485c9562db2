"""One side of a comparison, made ready for it."""

from __future__ import annotations

from whysync.contracts.tree import Object
from whysync.semantics.diff.compare_options import DiffOptions
from whysync.semantics.diff.normalize import normalize
from whysync.semantics.diff.remarshal import remarshal


def prepared(obj: Object, options: DiffOptions, *, with_rules: bool = True) -> Object:
    """Canonical, evened out, and (with rules) without what is to be ignored."""
    return normalize(
        remarshal(obj),
        ignore_aggregated_roles=options.ignore_aggregated_roles,
        normalizer=options.normalizer if with_rules else None,
    )
