"""Events about an object whatever its version: what is told again of it is counted, not told anew.

Mirrors how client-go finds an earlier event: the version of the object is no part of the key.
"""

from __future__ import annotations

from whysync.cluster.life.desk import Desk
from whysync.contracts.tree import Object, fields


def tell(
    desk: Desk,
    about: Object,
    type: str,
    reason: str,
    message: str,
    component: str,
    *,
    host: str = "",
    field_path: str = "",
) -> None:
    meta = fields(about.get("metadata"))
    known: Object = {key: meta[key] for key in ("namespace", "name", "uid") if key in meta}
    thing: Object = {"apiVersion": about.get("apiVersion"), "kind": about.get("kind"), "metadata": known}
    desk.event(thing, type, reason, message, component, host=host, field_path=field_path)
