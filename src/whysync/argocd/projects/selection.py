"""Which resources a selective sync takes. Mirrors `IncludeResource` and its neighbours, Argo CD 3.6."""

from __future__ import annotations

from collections.abc import Sequence

from whysync.argocd.api.application import SelectedResource
from whysync.kubernetes.api.ref import Ref


def is_selected(selected: Sequence[SelectedResource], ref: Ref) -> bool:
    """Is the object one of those that a partial sync was asked for? Names are exact here."""
    return any(
        (one.name, one.kind, one.group) == (ref.name, ref.kind, ref.group)
        and one.namespace in ("", ref.namespace)
        for one in selected
    )
