"""Altinity's ClickHouse operator: the keeper."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.clickhouse_altinity_com import installation
from whysync.argocd.health.shipped.vocabulary import Check

GROUP: Final = "clickhouse-keeper.altinity.com"

CHECKS: Final[dict[str, Check]] = {"ClickHouseKeeperInstallation": installation("ClickHouseKeeper")}
