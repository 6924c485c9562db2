"""Gloo: proxies and upstreams."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.gateway_solo_io import VALIDATED
from whysync.argocd.health.shipped.vocabulary import Check

GROUP: Final = "gloo.solo.io"

CHECKS: Final[dict[str, Check]] = {
    "Proxy": VALIDATED,
    "Settings": VALIDATED,
    "Upstream": VALIDATED,
    "UpstreamGroup": VALIDATED,
}
