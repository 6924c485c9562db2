"""yaml_scalars.jsonl: a YAML text posted to an API server, and the object that came of it."""

from __future__ import annotations

import json

from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api.yaml import Broken, Document, documents


def check(record: Object) -> list[str]:
    """What differs from the recorded answer: nothing when whysync reads the text as the server does."""
    if record.get("op") != "yaml-to-json":
        return [f"unknown op {record.get('op')!r}"]
    result = next(iter(documents(text(record.get("yaml")))), None)
    problem = _refusal(result, strict=record.get("fieldValidation") == "Strict")
    if record.get("expect") == "error":
        return [] if problem else [f"expected an error ({text(record.get('error'))}), got {_shown(result)}"]
    if problem or not isinstance(result, Document):
        return [f"expected {_shown(record.get('expect'))}, got the error {problem}"]
    return [
        *_body(record, fields(result.body)),
        *_metadata(record, fields(result.body)),
        *_warnings(record, result),
    ]


def _refusal(result: Document | Broken | None, *, strict: bool) -> str:
    """Why an API server would refuse the document, as far as the vectors cover it."""
    if isinstance(result, Broken):
        return str(result)
    body = fields(result.body) if result else {}
    if not text(body.get("kind")):
        return "Object 'Kind' is missing"
    for map_name in ("labels", "annotations"):
        for name, value in fields(fields(body.get("metadata")).get(map_name)).items():
            if not isinstance(value, str | None):
                return f"{map_name}.{name} is not text"
    return "; ".join(result.warnings) if result and strict else ""


def _body(record: Object, body: Object) -> list[str]:
    got: Json = {key: value for key, value in body.items() if key not in ("apiVersion", "kind", "metadata")}
    expected = items(record.get("expect_one_of")) or [record.get("expect")]
    if any(_same(got, item) for item in expected):
        return []
    return [f"expected {' or '.join(map(_shown, expected))}, got {_shown(got)}"]


def _metadata(record: Object, body: Object) -> list[str]:
    mismatches: list[str] = []
    metadata = fields(body.get("metadata"))
    for map_name, expected in fields(record.get("expect_metadata")).items():
        # A typed field of the server: text, where null is its empty value.
        got: Json = {key: value or "" for key, value in fields(metadata.get(map_name)).items()}
        if got != expected:
            mismatches.append(f"metadata.{map_name}: expected {_shown(expected)}, got {_shown(got)}")
    return mismatches


def _warnings(record: Object, result: Document) -> list[str]:
    if record.get("fieldValidation") == "Ignore":
        return []
    expected, got = items(record.get("warnings")), list(result.warnings)
    return [] if expected == got else [f"warnings: expected {expected}, got {got}"]


def _same(item: Json, other: Json) -> bool:
    """Equal with types; a number beyond 2^53 went through a float64, and is compared as one."""
    if isinstance(item, dict) and isinstance(other, dict):
        return item.keys() == other.keys() and all(_same(item[key], other[key]) for key in item)
    if isinstance(item, list) and isinstance(other, list):
        return len(item) == len(other) and all(map(_same, item, other))
    if isinstance(item, bool) or isinstance(other, bool):
        return item is other
    if isinstance(item, (int, float)) and isinstance(other, (int, float)):
        return item == other or (abs(item) > 2**53 and float(item) == float(other))
    return item == other


def _shown(value: Document | Broken | Json) -> str:
    if isinstance(value, Document):
        return json.dumps(value.body, ensure_ascii=False)
    return str(value) if isinstance(value, Broken) else json.dumps(value, ensure_ascii=False)
