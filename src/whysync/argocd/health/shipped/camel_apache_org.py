"""Camel K."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import Check, in_order, progressing, true_or_false

GROUP: Final = "camel.apache.org"

CHECKS: Final[dict[str, Check]] = {
    "Integration": in_order(true_or_false("Ready"), progressing("Waiting for Integration"))
}
