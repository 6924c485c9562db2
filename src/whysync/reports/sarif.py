"""Findings as SARIF 2.1.0, for GitHub code scanning and other viewers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from urllib.parse import quote

from whysync import __version__
from whysync.diagnosis.finding import Severity
from whysync.json_tree import Json, Object
from whysync.lint.check import Check
from whysync.lint.remark import Outcome, Remark, Suppressed
from whysync.reports.json_yaml import as_json
from whysync.reports.output import Safe
from whysync.reports.screen import one_line

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.CRITICAL: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render(outcome: Outcome, checks: Iterable[Check]) -> Safe:
    every = sorted(checks, key=lambda check: check.id)
    index = {check.id: number for number, check in enumerate(every)}
    seen: Counter[tuple[str, ...]] = Counter()
    results: list[Json] = []
    for remark in outcome.remarks:
        results.append(_result(remark, index, seen))
    for one in outcome.suppressed:
        results.append({**_result(one.remark, index, seen), "suppressions": [_suppression(one)]})
    run: Object = {
        "tool": {
            "driver": {
                "name": "whysync",
                "semanticVersion": __version__,
                "rules": [_rule(check) for check in every],
            }
        },
        "results": results,
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [
                    {
                        "level": "warning" if note.matters else "note",
                        "message": {"text": _told(note.path, note.why)},
                    }
                    for note in outcome.notes
                ],
            }
        ],
        "columnKind": "unicodeCodePoints",
    }
    log: Object = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return as_json(log)


def _rule(check: Check) -> Object:
    return {
        "id": check.id,
        "name": "".join(part.capitalize() for part in check.id.split("_")),
        "shortDescription": {"text": f"{check.title}."},
        "fullDescription": {"text": f"{check.title}."},
        "help": {"text": check.docs, "markdown": check.docs},
        "defaultConfiguration": {"level": _LEVELS[check.severity]},
        "properties": {"tags": [check.layer.value], "problem.severity": _LEVELS[check.severity]},
    }


def _result(remark: Remark, index: dict[str, int], seen: Counter[tuple[str, ...]]) -> Object:
    seen[remark.key] += 1
    region: Object = {"startLine": max(remark.line, 1)}
    result: Object = {
        "ruleId": remark.check,
        "level": _LEVELS[remark.severity],
        "message": {"text": _said(remark)},
        "locations": [
            {"physicalLocation": {"artifactLocation": {"uri": as_uri(remark.path)}, "region": region}}
        ],
        "partialFingerprints": {"whysync/v1": fingerprint(remark, seen[remark.key])},
        "properties": {"severity": remark.severity.value},
    }
    if remark.check in index:
        result["ruleIndex"] = index[remark.check]
    return result


def _suppression(one: Suppressed) -> Object:
    return {"kind": "inSource", "status": "accepted", "justification": one_line(one.reason, 1_000)}


def _said(remark: Remark) -> str:
    hint = f" ({one_line(remark.hint, 300)})" if remark.hint else ""
    return f"{one_line(remark.message, 1_000)}{hint}"


def _told(path: str, why: str) -> str:
    return one_line(f"{path}: {why}" if path else why, 1_000)


def as_uri(path: str) -> str:
    """Relative to the root of the repository, with `/`."""
    return quote(path.removeprefix("./") or ".", safe="/~!$&'()*+,;=@", errors="replace")


def fingerprint(remark: Remark, nth: int) -> str:
    """The same for the same trouble on another line; equal ones are numbered."""
    return sha256("\x00".join((*remark.key, str(nth))).encode("utf-8", "replace")).hexdigest()
