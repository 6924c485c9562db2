"""Request bodies as text: parsed as the API server does, with its errors for invalid JSON and YAML."""

from __future__ import annotations

import json
from typing import cast

from whysync.json_tree import Json, Object, json_kind
from whysync.kubernetes.api.yaml import Broken, documents
from whysync.kubernetes.apiserver.status_errors import Refused, bad_request

_TYPE_META = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


class _KeyValues(list[tuple[str, object]]):
    """The keys and values of a JSON object, including duplicate keys."""


def parse_object(raw: str, content: str, kind: str) -> tuple[Object, list[str]]:
    """The object in the body of a create or update, and the strict decoding errors of its text."""
    if "yaml" in content:
        return _from_yaml(raw, kind)
    if content and "json" not in content:
        accepted = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
        why = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
        raise Refused(415, "UnsupportedMediaType", why)
    try:
        tree = cast(object, json.loads(raw, object_pairs_hook=_KeyValues))
    except (ValueError, RecursionError):
        why = f"couldn't get version/kind; json parse error: {json_error(raw)} ({raw})"
        raise bad_request(f"the object provided is unrecognized (must be of type {kind}): {why}") from None
    if tree is None:
        return {}, []
    if not isinstance(tree, _KeyValues):
        error = f"json: cannot unmarshal {json_kind(tree)} into Go value of type {_TYPE_META}"
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind}): "
            f"couldn't get version/kind; json parse error: {error} ({raw.encode().hex()})"
        )
    repeated: list[str] = []
    body = _to_json(tree, "", repeated)
    assert isinstance(body, dict)
    return body, repeated


def parse_patch(raw: str) -> Json:
    """A JSON patch body; raises `Refused` with Go's error."""
    try:
        return cast(Json, json.loads(raw))
    except (ValueError, RecursionError):
        raise bad_request(f"error decoding patch: {json_error(raw)}") from None


def _to_json(value: object, path: str, repeated: list[str]) -> Json:
    if isinstance(value, _KeyValues):
        decoded: Object = {}
        for key, item in value:
            key_path = f"{path}.{key}" if path else key
            if key in decoded:
                repeated.append(f'duplicate field "{key_path}"')
            decoded[key] = _to_json(item, key_path, repeated)
        return decoded
    if isinstance(value, list):
        listed = cast("list[object]", value)
        return [_to_json(item, f"{path}[{index}]", repeated) for index, item in enumerate(listed)]
    return cast(Json, value)


def _from_yaml(raw: str, kind: str) -> tuple[Object, list[str]]:
    document = next(iter(documents(raw)), None)
    if document is None:
        return {}, []
    if isinstance(document, Broken):
        why = f"yaml: {document} ({raw.encode().hex()})"
        raise bad_request(f"the object provided is unrecognized (must be of type {kind}): {why}")
    body = document.body if isinstance(document.body, dict) else {}
    repeated = [f"yaml: unmarshal errors:\n  {warning}" for warning in document.warnings]
    return body, repeated


def json_error(raw: str) -> str:
    """The error of Go's JSON decoder, for common mistakes."""
    text = raw.strip()
    if not text:
        return "unexpected end of JSON input"
    try:
        json.loads(raw)
    except json.JSONDecodeError as problem:
        if problem.pos >= len(raw):
            return "unexpected end of JSON input"
        letter = raw[problem.pos]
        if "property name" in problem.msg:
            return f"invalid character '{letter}' looking for beginning of object key string"
        return f"invalid character '{letter}' looking for beginning of value"
    except RecursionError:
        return "exceeded max depth"
    return ""
