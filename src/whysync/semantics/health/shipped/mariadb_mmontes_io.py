"""MariaDB's operator, under the group of its first years."""

from __future__ import annotations

from whysync.semantics.health.shipped.k8s_mariadb_com import MARIADB
from whysync.semantics.health.shipped.vocabulary import Check

GROUP = "mariadb.mmontes.io"
CHECKS: dict[str, Check] = {"MariaDB": MARIADB}
