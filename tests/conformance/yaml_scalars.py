"""yaml_scalars.jsonl: a YAML text posted to an API server, and the object that came of it."""

from __future__ import annotations

import json

from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api.yaml import Broken, Document, documents


def check(record: Object) -> list[str]:
    """What differs from the recorded answer: nothing when whysync reads the text as the server does."""
    if record.get("op") != "yaml-to-json":
        return [f"unknown op {record.get('op')!r}"]
    found = next(iter(documents(text(record.get("yaml")))), None)
    problem = _refusal(found, strict=record.get("fieldValidation") == "Strict")
    if record.get("expect") == "error":
        return [] if problem else [f"expected an error ({text(record.get('error'))}), got {_shown(found)}"]
    if problem or not isinstance(found, Document):
        return [f"expected {_shown(record.get('expect'))}, got the error {problem}"]
    return [
        *_body(record, fields(found.body)),
        *_metadata(record, fields(found.body)),
        *_warnings(record, found),
    ]


def _refusal(found: Document | Broken | None, *, strict: bool) -> str:
    """What a server would refuse the document for, beyond YAML only as far as the vectors go."""
    if isinstance(found, Broken):
        return str(found)
    body = fields(found.body) if found else {}
    if not text(body.get("kind")):
        return "Object 'Kind' is missing"
    for place in ("labels", "annotations"):
        for name, value in fields(fields(body.get("metadata")).get(place)).items():
            if not isinstance(value, str | None):
                return f"{place}.{name} is not text"
    return "; ".join(found.warnings) if found and strict else ""


def _body(record: Object, body: Object) -> list[str]:
    got: Json = {key: value for key, value in body.items() if key not in ("apiVersion", "kind", "metadata")}
    wanted = items(record.get("expect_one_of")) or [record.get("expect")]
    if any(_same(got, one) for one in wanted):
        return []
    return [f"expected {' or '.join(map(_shown, wanted))}, got {_shown(got)}"]


def _metadata(record: Object, body: Object) -> list[str]:
    mismatches: list[str] = []
    metadata = fields(body.get("metadata"))
    for place, wanted in fields(record.get("expect_metadata")).items():
        # A typed field of the server: text, where null is its empty value.
        got: Json = {key: value or "" for key, value in fields(metadata.get(place)).items()}
        if got != wanted:
            mismatches.append(f"metadata.{place}: expected {_shown(wanted)}, got {_shown(got)}")
    return mismatches


def _warnings(record: Object, found: Document) -> list[str]:
    if record.get("fieldValidation") == "Ignore":
        return []
    wanted, got = items(record.get("warnings")), list(found.warnings)
    return [] if wanted == got else [f"warnings: expected {wanted}, got {got}"]


def _same(one: Json, other: Json) -> bool:
    """Equal with types; a number beyond 2^53 went through a float64, and is compared as one."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return one == other or (abs(one) > 2**53 and float(one) == float(other))
    return one == other


def _shown(value: Document | Broken | Json) -> str:
    if isinstance(value, Document):
        return json.dumps(value.body, ensure_ascii=False)
    return str(value) if isinstance(value, Broken) else json.dumps(value, ensure_ascii=False)
