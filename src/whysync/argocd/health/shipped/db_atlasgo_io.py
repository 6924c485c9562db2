"""Atlas: schemas and migrations of databases."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    Step,
    Test,
    conditions,
    degraded,
    healthy,
    in_order,
    is_,
    progressing,
    says,
    when,
)

GROUP: Final = "db.atlasgo.io"


def _ready(still_working: Test) -> Step:
    """The first Ready condition decides alone."""
    return in_order(
        conditions(
            says(
                "Ready",
                None,
                in_order(
                    when(is_("status", "True"), then=healthy("{reason}")),
                    when(still_working, then=progressing("{reason}")),
                    degraded("{reason}"),
                ),
            )
        ),
        progressing("Waiting for Atlas Operator"),
    )


CHECKS: Final[dict[str, Check]] = {
    "AtlasMigration": _ready(is_("reason", "Reconciling")),
    # Upstream looks at the message here, though these words are reasons.
    "AtlasSchema": _ready(is_("message", "Reconciling", "GettingDevDB")),
}
