"""MariaDB's operator, under the group of its first years."""

from __future__ import annotations

from whysync.argocd.health.shipped.k8s_mariadb_com import MARIADB
from whysync.argocd.health.shipped.vocabulary import Check

GROUP = "mariadb.mmontes.io"
CHECKS: dict[str, Check] = {"MariaDB": MARIADB}
