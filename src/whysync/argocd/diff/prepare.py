"""One side of a comparison, made ready for it."""

from __future__ import annotations

from whysync.argocd.diff.compare_options import DiffOptions
from whysync.argocd.diff.normalize import normalize
from whysync.json_tree import Object
from whysync.kubernetes.schema.remarshal import remarshal, remarshalled


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
