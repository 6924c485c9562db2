"""Rook: Cassandra."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    absent,
    each,
    healthy,
    in_order,
    none_of,
    present,
    progressing,
    same,
    when,
)

GROUP: Final = "cassandra.rook.io"

_WAITING: Final = progressing("Waiting for Cassandra Cluster")

CHECKS: Final[dict[str, Check]] = {
    "Cluster": in_order(
        when(absent(".status?.racks"), then=_WAITING),
        each(
            ".status.racks",
            when(
                present("members"),
                present("readyMembers"),
                none_of(same("members", "readyMembers")),
                then=_WAITING,
            ),
            keyed=True,
        ),
        healthy(),
    )
}
