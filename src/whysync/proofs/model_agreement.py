"""Does the model see what Argo CD sees? Where it does not, what it says of a sync is no answer."""

from __future__ import annotations

from typing import Final

from whysync.json_tree import dig, items, text
from whysync.kubernetes.api.ref import Key
from whysync.proofs.world import SimulatedCase

_MOST: Final = 3


def no_comparison(world: SimulatedCase) -> str:
    """Why Argo CD could not compare the app in this world."""
    told = [text(dig(condition, "message")) for condition in items(world.status.get("conditions"))]
    return told[0] if told else "nothing tells why"


def disagreement(world: SimulatedCase) -> list[str]:
    """Each in a sentence; of a world that was only just looked at."""
    case = world.case
    found: list[str] = []
    for row in items(world.status.get("resources")):
        key = Key(*(text(dig(row, part)) for part in ("group", "kind", "namespace", "name")))
        before = case.rows.get(key)
        if before is None or before.hook:
            continue
        now = text(dig(row, "status"))
        if before.status == "OutOfSync" and now == "Synced":
            found.append(f"what differs in {before.ref} cannot be seen in the facts")
        elif before.status == "Synced" and now == "OutOfSync":
            found.append(f"the facts show a difference in {before.ref} that Argo CD does not see")
    if len(found) > _MOST:
        return [*found[: _MOST - 1], f"and {len(found) - _MOST + 1} resources more"]
    return found
