"""The narrowest ignore rule for one field, paired with the option that makes a sync respect it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from whysync.diagnosis.fix import Add, Edit, Fix
from whysync.json_tree import MISSING, Json, Missing, Object, fields, text
from whysync.kubernetes.api.pointer import index_of, join, split
from whysync.kubernetes.api.ref import Ref
from whysync.queries.sync_options import has_option

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

RESPECT = "RespectIgnoreDifferences=true"
_REPLACE = "Replace=true"
_SERVER_SIDE = "ServerSideApply=true"


def ignore_field(case: Case, ref: Ref, *pointers: str, title: str = "", risk: str = "") -> Fix:
    """Named down to the object: never a whole kind, never a whole block.

    Without `RespectIgnoreDifferences=true` a sync still writes the value from Git: then whoever
    else writes the field and Argo CD go on fighting, unseen. What Git does not have, a sync does not write.
    """
    rule: Object = {"kind": ref.kind, "name": ref.name, **_paths(case, ref, pointers)}
    if ref.group:
        rule["group"] = ref.group
    if ref.namespace:
        rule["namespace"] = ref.namespace
    edits: list[Edit] = [Add(pointer="/spec/ignoreDifferences", value=rule)]
    written = any(_is_written(case, ref, pointer) for pointer in pointers)
    if written and not case.has_sync_option(RESPECT):
        edits.append(Add(pointer="/spec/syncPolicy/syncOptions", value=RESPECT))
    shown = ", ".join(pointers)
    return Fix.application(
        case.application.ref,
        *edits,
        title=title or f"Ignore {shown} of this one object" + (", also when syncing" if written else ""),
        risk=risk or "real drift in this field will not be seen any more",
    )


def _is_written(case: Case, ref: Ref, pointer: str) -> bool:
    """Would a sync write it? What Git declares, and elements of lists, which may be sent as a whole.

    A server-side apply also takes away what Argo CD once owned and Git declares no more.
    """
    desired = case.desired_of(ref.key)
    strong = (_REPLACE, _SERVER_SIDE)
    if desired is None or any(case.has_sync_option(o) or has_option(desired, o) for o in strong):
        return True
    in_list = any(index_of(part) is not None for part in split(pointer))
    return in_list or not isinstance(desired.at(pointer), Missing)


def _paths(case: Case, ref: Ref, pointers: tuple[str, ...]) -> Object:
    """A place in a list moves when something comes before it: where elements have names, those are used."""
    plain: list[Json] = []
    named: list[Json] = []
    for pointer in pointers:
        path = _by_name(case, ref, pointer)
        if path:
            named.append(path)
        else:
            plain.append(pointer)
    made: Object = {}
    if plain:
        made["jsonPointers"] = plain
    if named:
        made["jqPathExpressions"] = named
    return made


def _by_name(case: Case, ref: Ref, pointer: str) -> str:
    """`.spec.template.spec.containers[] | select(.name == "proxy") | .image`; empty where no names help."""
    parts = split(pointer)
    live = case.live_of(ref.key)
    if live is None or not any(index_of(part) is not None for part in parts):
        return ""
    desired = case.desired_of(ref.key)
    path = ""
    fresh = True  # at the start of a jq path
    for number, part in enumerate(parts):
        here = live.at(join(parts[:number]))
        if not isinstance(here, list):
            path += _key(part, first=fresh)
            fresh = False
            continue
        element = live.at(join(parts[: number + 1]))
        name = text(fields(element).get("name"))
        mine = desired.at(join(parts[: number + 1])) if desired is not None else MISSING
        other = text(fields(mine).get("name"))
        names = [text(fields(item).get("name")) for item in here]
        whole = number == len(parts) - 1
        if not name or names.count(name) != 1 or (other not in ("", name) and not whole):
            return ""
        path += f"[] | select(.name == {json.dumps(name)})"
        fresh = True
        if not whole:
            path += " | "
    return path


def _key(part: str, *, first: bool) -> str:
    if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", part):
        return f".{part}"
    return f"{'.' if first else ''}[{json.dumps(part)}]"
