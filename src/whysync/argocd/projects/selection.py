"""Which resources a selective sync takes. Mirrors `IncludeResource` and its neighbours, Argo CD 3.6."""

from __future__ import annotations

from collections.abc import Sequence

from whysync.argocd.api.application import SelectedResource
from whysync.kubernetes.api.ref import Ref


def is_included(filters: Sequence[SelectedResource], ref: Ref) -> bool:
    """`--resource group:kind:ns/name` with `*`, and `!` to exclude; an exclusion wins."""
    wanted = [one for one in filters if not one.exclude]
    if wanted and not any(_fits(one, ref) for one in wanted):
        return False
    return not any(_fits(one, ref) for one in filters if one.exclude)


def is_selected(selected: Sequence[SelectedResource], ref: Ref) -> bool:
    """Is the object one of those that a partial sync was asked for? Names are exact here."""
    return any(
        (one.name, one.kind, one.group) == (ref.name, ref.kind, ref.group)
        and one.namespace in ("", ref.namespace)
        for one in selected
    )


def _fits(pattern: SelectedResource, ref: Ref) -> bool:
    return (
        pattern.group in ("*", ref.group)
        and pattern.kind in ("*", ref.kind)
        and pattern.name in ("*", ref.name)
        and pattern.namespace in ("*", "", ref.namespace)
    )
