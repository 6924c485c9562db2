"""SARIF 2.1.0, for GitHub code scanning and other viewers."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from whysync import __version__
from whysync.diagnosis.finding import Severity
from whysync.diagnosis.rule import AnyRule
from whysync.json_tree import Json, Object
from whysync.manifests.files import Note
from whysync.reports.annotations.annotation import Annotation
from whysync.reports.json_yaml import as_json
from whysync.reports.output import Safe
from whysync.reports.terminal import one_line

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.CRITICAL: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render(rows: Iterable[Annotation], rules: Iterable[AnyRule], notes: Iterable[Note]) -> Safe:
    listed = sorted(rules, key=lambda rule: rule.id)
    index = {rule.id: number for number, rule in enumerate(listed)}
    results: list[Json] = [_result(row, row.severity, index) for row in rows if row.severity is not None]
    notifications: list[Json] = [
        {
            "level": "warning" if note.matters else "note",
            "message": {"text": one_line(f"{note.path}: {note.why}" if note.path else note.why, 1_000)},
        }
        for note in notes
    ]
    driver: Object = {
        "name": "whysync",
        "semanticVersion": __version__,
        "rules": [_rule(rule) for rule in listed],
    }
    run: Object = {
        "tool": {"driver": driver},
        "results": results,
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notifications}],
        "columnKind": "unicodeCodePoints",
    }
    return as_json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(rule: AnyRule) -> Object:
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.id.split("_")),
        "shortDescription": {"text": f"{rule.title}."},
        "fullDescription": {"text": f"{rule.title}."},
        "help": {"text": rule.docs, "markdown": rule.docs},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {
            "tags": [rule.layer.value] if rule.layer else [],
            "problem.severity": _LEVELS[rule.severity],
        },
    }


def _result(row: Annotation, severity: Severity, index: dict[str, int]) -> Object:
    help = f" ({one_line(row.help, 300)})" if row.help else ""
    region: Object = {"startLine": max(row.line or 0, 1)}
    result: Object = {
        "ruleId": row.rule,
        "level": _LEVELS[severity],
        "message": {"text": f"{one_line(row.message, 1_000)}{help}"},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(row.file)}, "region": region}}],
        "partialFingerprints": {"whysync/v1": row.fingerprint},
        "properties": {"severity": severity.value},
    }
    if row.rule in index:
        result["ruleIndex"] = index[row.rule]
    if row.skipped is not None:
        reason = one_line(row.skipped, 1_000)
        result["suppressions"] = [{"kind": "inSource", "status": "accepted", "justification": reason}]
    return result


def _uri(path: str) -> str:
    """Relative to the root of the repository, with `/`."""
    return quote(path.removeprefix("./") or ".", safe="/~!$&'()*+,;=@", errors="replace")
