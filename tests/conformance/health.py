"""health.jsonl: how healthy Argo CD finds an object, and what it says of it."""

from __future__ import annotations

from tests.conformance.checks import mismatch
from whysync.contracts.tree import Object, fields
from whysync.semantics.health.assess import health_of

# Vectors stand still; a script that asks for the time gets the day of the release.
_NOW = 1_780_000_000.0


def check_status(record: Object) -> list[str]:
    verdict = health_of(fields(record.get("object")), now=_NOW)
    code = None if verdict is None else verdict.code
    return mismatch("status", record.get("status"), None if code is None else str(code))


def check_message(record: Object) -> list[str] | None:
    if record.get("message") is None:
        return None
    verdict = health_of(fields(record.get("object")), now=_NOW)
    return mismatch("message", record["message"], None if verdict is None else verdict.message)
