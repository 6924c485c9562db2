"""compare.jsonl: application status. Each `op` is answered beside the code that it is about."""

from __future__ import annotations

from tests.conformance import compare_app, compare_health, compare_parts
from whysync.json_tree import Object, fields, text


def check(record: Object) -> list[str] | None:
    op = text(record["op"])
    if op in compare_parts.CHECKS:
        return compare_parts.CHECKS[op](record, fields(record["expect"]))
    return (compare_health.CHECKS | compare_app.CHECKS)[op](record)
