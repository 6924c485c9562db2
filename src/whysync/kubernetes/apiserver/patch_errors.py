"""Patches that lead to what cannot be decoded: refused as invalid, with the whole of it in the text.

A merge or JSON patch is decoded as JSON is. A strategic one works on Go's own values, and complains as the
converter of those does (`runtime.DefaultUnstructuredConverter`, Kubernetes 1.36). Differs: the keys of the
dump of a built-in object are sorted; the server has those that no patch has touched in the order of its type.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from whysync.golang.fmt import go_text
from whysync.json_tree import Json, Object, fields, text
from whysync.kubernetes.apiserver.go_type_names import is_named_string
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.status_errors import Cause, Refused, internal, invalid

_UNMARSHAL: Final = re.compile(
    r"json: cannot unmarshal (?P<found>\w+)(?: (?P<number>\S+))? into Go "
    r"(?:struct field \S+|value) of type (?P<type>.+)"
)
_PLAIN: Final = re.compile(r"u?int\d*|float\d*|bool|string")


def undecodable(refusal: Refused, body: Object, call: RequestContext) -> Refused:
    """What becomes of a body that the patch made and that does not decode."""
    return bad_patch(_why(refusal), body, call)


def unconvertible(refusal: Refused, obj: Object, call: RequestContext) -> Refused:
    """A server-side apply is typed before it is decoded: what still does not fit is told by the converter."""
    resource, meta = call.resource, fields(obj.get("metadata"))
    kind = f"{resource.group}/{resource.version}, Kind={resource.kind}"
    where = f"{text(meta.get('namespace'))}/{text(meta.get('name'))}; {kind}"
    return internal(
        f"failed to convert new object ({where}) to proper version: "
        f"unable to convert unstructured object to {kind}: {_as_converter(_why(refusal))}"
    )


def _why(refusal: Refused) -> str:
    return refusal.message.partition(" cannot be handled as a ")[2].partition(": ")[2] or refusal.message


def bad_patch(why: str, body: Object, call: RequestContext) -> Refused:
    if call.request.verb == "strategic-patch":
        shown, why = go_text(call.request.body), _as_converter(why)
    else:
        shown = msgspec.json.encode(body, order="sorted" if call.resource.custom else None).decode()
    quoted = msgspec.json.encode(shown).decode()
    return invalid("", "", "", [Cause("patch", f"Invalid value: {quoted}: {why}")])


def _as_converter(why: str) -> str:
    told = _UNMARSHAL.fullmatch(why)
    if told is None:
        return f"error decoding from json: {why}" if "base64" in why else why
    found, wanted = told["found"], told["type"]
    if found == "number":
        found = "float64" if re.search(r"[.eE]", told["number"] or "") else "int64"
    kind = {"object": "map", "array": "slice"}.get(found, found)
    if wanted.startswith("map["):
        return f"cannot restore map from {kind}"
    if wanted.startswith("[]"):
        return f"cannot restore slice from {kind}"
    is_string = wanted == "string" or is_named_string(wanted)
    if not _PLAIN.fullmatch(wanted) and not is_string:
        return f"cannot restore struct from: {kind}"
    converts = (found == "int64" and is_string) or (found == "float64" and "int" in wanted)
    if converts:
        return f"cannot convert {found} to {wanted}"
    return f"unrecognized type: {'string' if is_string else wanted}"


def in_order(value: Json) -> Json:
    """With the keys of all maps sorted: so a patched object is read, and so its strangers are told."""
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    return [in_order(item) for item in value] if isinstance(value, list) else value
