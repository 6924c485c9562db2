"""`health`: the status and the reason of each object, and who judged it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.standalone import StandaloneHealth
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
    """The codes that make the answer a bad one."""
    unread: tuple[Gap, ...] = ()

    @property
    def failed(self) -> tuple[JudgedObject, ...]:
        return tuple(obj for obj in self.objects if obj.code in self.failing)


def worst_first(objects: Sequence[JudgedObject]) -> tuple[JudgedObject, ...]:
    def key(one: JudgedObject) -> tuple[int, str, str, str, str]:
        rank = -_RANK[one.code] if one.code else 1
        return rank, one.ref.kind, one.ref.namespace, one.ref.name, one.ref.group

    return tuple(sorted(objects, key=key))


def render(report: HealthReport, terminal: Terminal, *, form: str) -> Safe:
    match form:
        case "json":
            return as_json(as_object(report))
        case "yaml":
            return as_yaml(as_object(report))
        case "name":
            return output.text(_kubectl_name(one.ref) for one in report.failed)
        case _:
            return output.text(_text(report, terminal, wide=form == "wide"))


def as_object(report: HealthReport) -> Object:
    return {
        "version": 1,
        "failed": len(report.failed),
        "objects": [_object(obj) for obj in report.objects],
        "unread": [{"what": gap.what, "why": gap.why} for gap in report.unread],
    }


def _object(one: JudgedObject) -> Object:
    ref = one.ref
    return {
        "group": ref.group,
        "version": ref.version,
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "health": None if one.code is None else {"status": str(one.code), "message": one.message},
        "judgedBy": str(one.judged.by),
        "origin": one.origin,
    }


def _text(report: HealthReport, terminal: Terminal, *, wide: bool) -> list[str]:
    lines = [_answer(report, terminal), ""]
    judge = ("JUDGED BY",) if wide else ()
    rows: list[tuple[str, ...]] = [("KIND", "NAMESPACE/NAME", "HEALTH", *judge, "MESSAGE")]
    for obj in report.objects:
        by = (str(obj.judged.by),) if wide else ()
        kind = f"{obj.ref.kind}.{obj.ref.group}" if wide and obj.ref.group else obj.ref.kind
        place = obj.ref.place or "(no name)"
        rows.append((kind, place, obj.word, *by, one_line(obj.message, 2_000) or "-"))
    lines += _colored(table(rows, terminal, most=None if wide else max(terminal.width, 60)), report, terminal)
    for gap in report.unread:
        lines += ["", *terminal.wrap(f"not read: {one_line(gap.what)}: {one_line(gap.why)}", indent=0)]
    return lines


def _answer(report: HealthReport, terminal: Terminal) -> str:
    counts = Counter(obj.word for obj in report.objects)
    words = [f"{counts[str(code)]} {code}" for code in reversed(HealthCode) if counts[str(code)]]
    if counts["-"]:
        words.append(f"{counts['-']} without a health check")
    told = ", ".join(words)
    total = len(report.objects)
    failed = len(report.failed)
    if not failed:
        mark = terminal.paint(terminal.mark("good"), "green")
        return f"{mark} {_objects(total)}: {told}"
    first = report.failed[0]
    mark = terminal.paint(terminal.mark("bad"), "red")
    more = "" if failed == 1 else f" and {failed - 1} more"
    return f"{mark} {one_line(str(first.ref))} is {first.word}{more}; {_objects(total)}: {told}"


def _objects(count: int) -> str:
    return f"{count} object{'' if count == 1 else 's'}"


def _colored(lines: list[str], report: HealthReport, terminal: Terminal) -> list[str]:
    """The line of an object in the colour of its health; the first line is the heading."""
    if not terminal.color:
        return lines
    painted = lines[:1]
    for line, one in zip(lines[1:], report.objects, strict=True):
        color = _COLORS[one.code] if one.code in report.failing and one.code else None
        painted.append(terminal.paint(line, color) if color else line)
    return painted


def _kubectl_name(ref: Ref) -> str:
    kind = f"{ref.kind.lower()}.{ref.group}" if ref.group else ref.kind.lower()
    return f"{kind}/{ref.place}"
