"""What a Secret's row shows: values masked, and the difference judged on the masked objects.

Mirrors the part of `hideSecretData` about managed resources, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from tests.conformance.unreached.secret_masking import mask_secrets
from whysync.argocd.diff.diff import diff
from whysync.argocd.diff.options import DiffOptions
from whysync.json_tree import Object


class ShownDiff(msgspec.Struct, frozen=True, kw_only=True):
    modified: bool
    target: Object | None
    live: Object | None
    normalized_live: Object | None
    predicted_live: Object | None


def masked_row(
    target: Object | None,
    live: Object | None,
    *,
    options: DiffOptions,
    hide_annotations: Collection[str] = (),
    server_side: ShownDiff | None = None,
) -> ShownDiff:
    """The row of a Secret. `server_side`: what a server-side diff said, which is kept where both sides exist.

    Otherwise masked objects are compared again, with `options`, which are not those of the app: upstream
    takes the plain strategy there whatever the app uses, so that a row and its difference may disagree.
    """
    shown_target, shown_live = mask_secrets(target, live, hide_annotations=hide_annotations)
    if server_side is not None and target is not None and live is not None:
        predicted, normalized = mask_secrets(
            server_side.predicted_live, server_side.normalized_live, hide_annotations=hide_annotations
        )
        modified = server_side.modified
    else:
        result = diff(shown_target, shown_live, options)
        predicted, normalized, modified = result.predicted_live, result.normalized_live, result.modified
    return ShownDiff(
        modified=modified,
        target=shown_target,
        live=shown_live,
        normalized_live=normalized,
        predicted_live=predicted,
    )
