"""JSON patches, merge patches and strategic merge patches, with the API server's errors."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from whysync.golang.fmt import go_text
from whysync.json_tree import Json, Object, fields, json_kind, text
from whysync.kubernetes.api.ref import group_of, version_of
from whysync.kubernetes.apiserver.go_type_names import is_named_string
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.status_errors import Cause, Refused, bad_request, internal, invalid
from whysync.kubernetes.merge.json_patch import apply_json_patch
from whysync.kubernetes.merge.merge_patch import merge_patch
from whysync.kubernetes.merge.strategic import BadPatch, apply_patch
from whysync.kubernetes.schema import Type

_MAP = "map[string]interface {}"


def patched(current: Object, call: RequestContext, *, schema: Type | None) -> Object:
    """The current object with the patch applied, not decoded yet."""
    body = call.request.body
    match call.request.verb:
        case "json-patch":
            if not isinstance(body, list):
                raise _undecodable(body, "[]handlers.jsonPatchOp")
            for operation in body:
                if not isinstance(operation, dict) and operation is not None:
                    raise _undecodable(operation, "handlers.jsonPatchOp")
            return apply_json_patch(current, body)
        case "merge-patch":
            if not isinstance(body, dict):
                raise _undecodable(body, _MAP)
            return merge_patch(current, body)
        case _:
            if not isinstance(body, dict):
                raise _undecodable(body, _MAP, "")
            if schema is None:
                raise _unsupported()
            return _strategic(current, body, schema)


def _undecodable(body: Json, go_type: str, prefix: str = "error decoding patch: ") -> Refused:
    if body is None or isinstance(body, str):
        return bad_request("Invalid JSON Patch")
    return bad_request(f"{prefix}json: cannot unmarshal {json_kind(body)} into Go value of type {go_type}")


def _unsupported() -> Refused:
    media_types = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    return Refused(
        415,
        "UnsupportedMediaType",
        f"the body of the request was in an unknown format - accepted media types include: {media_types}",
    )


def _strategic(current: Object, patch: Object, schema: Type) -> Object:
    try:
        if any(key.startswith("$") for key in patch):
            return apply_patch(current, patch, schema)
        # Values that the patch does not touch stay identical to the live object's and are not decoded again.
        touched = {key: value for key, value in current.items() if key in patch}
        others = {key: value for key, value in current.items() if key not in patch}
        return {**others, **apply_patch(touched, patch, schema)}
    except BadPatch as problem:
        raise internal(str(problem)) from None


_UNMARSHAL: Final = re.compile(
    r"json: cannot unmarshal (?P<found>\w+)(?: (?P<number>\S+))? into Go "
    r"(?:struct field \S+|value) of type (?P<type>.+)"
)
_PLAIN: Final = re.compile(r"u?int\d*|float\d*|bool|string")


def undecodable(refusal: Refused, body: Object, call: RequestContext) -> Refused:
    """The error for a patched body that does not decode: it contains the whole body.

    A merge or JSON patch is decoded as JSON. A strategic one is converted from Go values, with the errors of
    `runtime.DefaultUnstructuredConverter`, Kubernetes 1.36. Differs: the keys in the dump of a built-in
    object are sorted; the server writes those that the patch did not touch in the order of the type.
    """
    return bad_patch(decoding_error(refusal), body, call)


def unconvertible(why: str, config: Object) -> Refused:
    """The error of the converter for the result of a server-side apply that does not decode."""
    meta, api_version = fields(config.get("metadata")), text(config.get("apiVersion"))
    kind = f"{group_of(api_version)}/{version_of(api_version)}, Kind={text(config.get('kind'))}"
    identity = f"{text(meta.get('namespace'))}/{text(meta.get('name'))}; {kind}"
    return internal(
        f"failed to convert new object ({identity}) to proper version: "
        f"unable to convert unstructured object to {kind}: {_converter_error(why)}"
    )


def decoding_error(refusal: Refused) -> str:
    return refusal.message.partition(" cannot be handled as a ")[2].partition(": ")[2] or refusal.message


def bad_patch(why: str, body: Object, call: RequestContext) -> Refused:
    if call.request.verb == "strategic-patch":
        patch_text, why = go_text(call.request.body), _converter_error(why)
    else:
        patch_text = msgspec.json.encode(body, order="sorted" if call.resource.custom else None).decode()
    quoted = msgspec.json.encode(patch_text).decode()
    return invalid("", "", "", [Cause("patch", f"Invalid value: {quoted}: {why}")])


def _converter_error(why: str) -> str:
    matched = _UNMARSHAL.fullmatch(why)
    if matched is None:
        return f"error decoding from json: {why}" if "base64" in why else why
    json_type, go_type = matched["found"], matched["type"]
    if json_type == "number":
        json_type = "float64" if re.search(r"[.eE]", matched["number"] or "") else "int64"
    kind = {"object": "map", "array": "slice"}.get(json_type, json_type)
    if go_type.startswith("map["):
        return f"cannot restore map from {kind}"
    if go_type.startswith("[]"):
        return f"cannot restore slice from {kind}"
    is_string = go_type == "string" or is_named_string(go_type)
    if not _PLAIN.fullmatch(go_type) and not is_string:
        return f"cannot restore struct from: {kind}"
    converts = (json_type == "int64" and is_string) or (json_type == "float64" and "int" in go_type)
    if converts:
        return f"cannot convert {json_type} to {go_type}"
    return f"unrecognized type: {'string' if is_string else go_type}"


def with_sorted_keys(value: Json) -> Json:
    """The value with sorted maps, which is the order of unknown fields of a patched object."""
    if isinstance(value, dict):
        return {key: with_sorted_keys(value[key]) for key in sorted(value)}
    return [with_sorted_keys(item) for item in value] if isinstance(value, list) else value


_LARGEST: Final = 1 << 63


def with_whole_numbers(value: Json) -> Json:
    """The value with `2` for `2.0`, as applied and strategically patched objects are read."""
    if isinstance(value, dict):
        return {key: with_whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST else value
