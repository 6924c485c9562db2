"""JSON patches, merge patches and strategic merge patches, with the API server's complaints."""

from __future__ import annotations

from whysync.json_tree import Json, Object, json_kind
from whysync.kubernetes.apiserver.raw_body import parsed_patch
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.status_errors import Refused, bad_request, internal
from whysync.kubernetes.merge.json_patch import apply_json_patch
from whysync.kubernetes.merge.merge_patch import merge_patch
from whysync.kubernetes.merge.strategic import BadPatch, apply_patch
from whysync.kubernetes.schema import Type

_MAP = "map[string]interface {}"


def patched(current: Object, call: RequestContext, *, schema: Type | None) -> Object:
    """The object that the patch makes of the current one, not decoded yet."""
    raw = call.request.raw
    body = call.request.body if raw is None else parsed_patch(raw)
    match call.request.verb:
        case "json-patch":
            if not isinstance(body, list):
                raise _undecodable(body, "[]handlers.jsonPatchOp")
            for one in body:
                if not isinstance(one, dict) and one is not None:
                    raise _undecodable(one, "handlers.jsonPatchOp")
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


def _undecodable(body: Json, wanted: str, before: str = "error decoding patch: ") -> Refused:
    if body is None or isinstance(body, str):
        return bad_request("Invalid JSON Patch")
    return bad_request(f"{before}json: cannot unmarshal {json_kind(body)} into Go value of type {wanted}")


def _unsupported() -> Refused:
    known = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    return Refused(
        415,
        "UnsupportedMediaType",
        f"the body of the request was in an unknown format - accepted media types include: {known}",
    )


def _strategic(current: Object, patch: Object, schema: Type) -> Object:
    try:
        if any(key.startswith("$") for key in patch):
            return apply_patch(current, patch, schema)
        # What the patch does not name stays the live object's own: nobody has to look at it again.
        touched = {key: value for key, value in current.items() if key in patch}
        others = {key: value for key, value in current.items() if key not in patch}
        return {**others, **apply_patch(touched, patch, schema)}
    except BadPatch as problem:
        raise internal(str(problem)) from None
