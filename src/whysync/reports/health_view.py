"""`health` in every output format: status, message and health check of each object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.assess import StandaloneHealth
from whysync.facts.snapshot import Gap
from whysync.json_tree import Object
from whysync.kubernetes.api.ref import Ref
from whysync.reports import output
from whysync.reports.json_yaml import as_json, as_yaml
from whysync.reports.output import Safe
from whysync.reports.terminal import Terminal, one_line, table

_RANK: Final = {code: rank for rank, code in enumerate(HealthCode)}
_COLORS: Final = {
    HealthCode.HEALTHY: "green",
    HealthCode.SUSPENDED: "cyan",
    HealthCode.PROGRESSING: "yellow",
    HealthCode.MISSING: "red",
    HealthCode.DEGRADED: "red",
    HealthCode.UNKNOWN: "red",
}


class JudgedObject(msgspec.Struct, frozen=True, kw_only=True):
    ref: Ref
    origin: str
    judged: StandaloneHealth

    @property
    def code(self) -> HealthCode | None:
        return self.judged.verdict.code if self.judged.verdict else None

    @property
    def message(self) -> str:
        return self.judged.verdict.message if self.judged.verdict else ""

    @property
    def word(self) -> str:
        return str(self.code) if self.code else "-"


class HealthReport(msgspec.Struct, frozen=True, kw_only=True):
    objects: tuple[JudgedObject, ...]
    failing: frozenset[HealthCode]
    """The statuses that make the command exit 1."""
    unread: tuple[Gap, ...] = ()

    @property
    def failed(self) -> tuple[JudgedObject, ...]:
        return tuple(obj for obj in self.objects if obj.code in self.failing)


def worst_first(objects: Sequence[JudgedObject]) -> tuple[JudgedObject, ...]:
    def key(obj: JudgedObject) -> tuple[int, str, str, str, str]:
        rank = -_RANK[obj.code] if obj.code else 1
        return rank, obj.ref.kind, obj.ref.namespace, obj.ref.name, obj.ref.group

    return tuple(sorted(objects, key=key))


def render(report: HealthReport, terminal: Terminal, *, format: str) -> Safe:
    match format:
        case "json":
            return as_json(as_object(report))
        case "yaml":
            return as_yaml(as_object(report))
        case "name":
            return output.text(_kubectl_name(obj.ref) for obj in report.failed)
        case _:
            return output.text(_text(report, terminal, wide=format == "wide"))


def as_object(report: HealthReport) -> Object:
    return {
        "version": 1,
        "failed": len(report.failed),
        "objects": [_object(obj) for obj in report.objects],
        "unread": [{"what": gap.what, "why": gap.why} for gap in report.unread],
    }


def _object(obj: JudgedObject) -> Object:
    ref = obj.ref
    return {
        "group": ref.group,
        "version": ref.version,
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "health": None if obj.code is None else {"status": str(obj.code), "message": obj.message},
        "judgedBy": str(obj.judged.by),
        "origin": obj.origin,
    }


def _text(report: HealthReport, terminal: Terminal, *, wide: bool) -> list[str]:
    lines = [_answer(report, terminal), ""]
    judge = ("JUDGED BY",) if wide else ()
    rows: list[tuple[str, ...]] = [("KIND", "NAMESPACE/NAME", "HEALTH", *judge, "MESSAGE")]
    for obj in report.objects:
        by = (str(obj.judged.by),) if wide else ()
        kind = f"{obj.ref.kind}.{obj.ref.group}" if wide and obj.ref.group else obj.ref.kind
        name = obj.ref.place or "(no name)"
        rows.append((kind, name, obj.word, *by, one_line(obj.message, 2_000) or "-"))
    lines += _colored(
        table(rows, terminal, most=None if wide or terminal.piped else max(terminal.width, 60)),
        report,
        terminal,
    )
    for gap in report.unread:
        lines += ["", *terminal.wrap(f"not read: {one_line(gap.what)}: {one_line(gap.why)}", indent=0)]
    return lines


def _answer(report: HealthReport, terminal: Terminal) -> str:
    counts = Counter(obj.word for obj in report.objects)
    count_texts = [f"{counts[str(code)]} {code}" for code in reversed(HealthCode) if counts[str(code)]]
    if counts["-"]:
        count_texts.append(f"{counts['-']} without a health check")
    summary = ", ".join(count_texts)
    total = len(report.objects)
    failed = len(report.failed)
    if not failed:
        mark = terminal.paint(terminal.mark("good"), "green")
        return f"{mark} {_objects(total)}: {summary}"
    first = report.failed[0]
    mark = terminal.paint(terminal.mark("bad"), "red")
    more = "" if failed == 1 else f" and {failed - 1} more"
    return f"{mark} {one_line(str(first.ref))} is {first.word}{more}; {_objects(total)}: {summary}"


def _objects(count: int) -> str:
    return f"{count} object{'' if count == 1 else 's'}"


def _colored(lines: list[str], report: HealthReport, terminal: Terminal) -> list[str]:
    """The table with failing objects in color; the first line is the heading."""
    if not terminal.color:
        return lines
    painted = lines[:1]
    for line, obj in zip(lines[1:], report.objects, strict=True):
        color = _COLORS[obj.code] if obj.code in report.failing and obj.code else None
        painted.append(terminal.paint(line, color) if color else line)
    return painted


def _kubectl_name(ref: Ref) -> str:
    kind = f"{ref.kind.lower()}.{ref.group}" if ref.group else ref.kind.lower()
    return f"{kind}/{ref.place}"
