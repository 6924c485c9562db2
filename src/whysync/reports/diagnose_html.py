"""`diagnose -o html`: one page without scripts or requests, readable on a phone, the answer first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from whysync.diagnosis.report import AppReport, Group, Report
from whysync.fixes.patches import patch_text
from whysync.reports.diagnose_text import SyncVerdict, answer_of, is_shortened, state_of, sync_verdict
from whysync.reports.fleet import Entry, broken_apps, counts_of, every_app, gaps_of, is_broken
from whysync.reports.html_parts import finding_card, page_start
from whysync.reports.output import Safe
from whysync.reports.plan_style import FLEET
from whysync.reports.terminal import one_line
from whysync.reports.xml_text import Xml, document, joined, lines_of, tag

LARGEST: Final = 3_000_000
"""Characters; the apps that do not fit are named at the end."""
_MOST_FINDINGS: Final = 20
_MOST_ITEMS: Final = 20
_VERDICT_CLASSES: Final = {
    SyncVerdict.SAFE: "good",
    SyncVerdict.SAFE_BUT: "wait",
    SyncVerdict.UNSAFE: "bad",
    SyncVerdict.NOT_NOW: "wait",
    SyncVerdict.UNKNOWN: "wait",
}


def render(report: Report, *, fleet: bool = False) -> Safe:
    """`fleet`: only what is broken, the worst first, with the number of the other apps."""
    entries = broken_apps(report, lambda app: sync_verdict(app)[0]) if fleet else every_app(report)
    sections: list[Xml] = []
    omitted: list[Entry] = []
    used = 0
    for number, entry in enumerate(entries):
        section = Xml("") if omitted else joined(_app(entry, number), "\n")
        if omitted or used + len(section) > LARGEST:
            omitted.append(entry)
            continue
        used += len(section)
        sections.append(section)
    parts = [
        page_start(f"whysync: {_title(report, entries)}", FLEET),
        *_header(report, entries),
        Xml("<main>"),
        *sections,
        *_omitted(omitted),
        *shared_causes(report),
        *_unread(report, entries),
        Xml("</main>"),
        tag("footer", tag("p", "Created by whysync diagnose. Secrets are masked.")),
        Xml("</body>\n</html>\n"),
    ]
    return document(joined(parts, "\n"))


def _title(report: Report, entries: Sequence[Entry]) -> str:
    if len(report.apps) == 1 and entries:
        return f"{entries[0].name}: {one_line(answer_of(entries[0].app), 120)}"
    return str(counts_of(report))


def _header(report: Report, entries: Sequence[Entry]) -> Iterator[Xml]:
    yield Xml("<header>")
    if len(entries) == 1 and len(report.apps) == 1:
        yield tag("p", "whysync diagnose", class_="soft")
    else:
        yield tag("h1", str(counts_of(report)), class_=_verdict_class(report))
        if len(entries) > 1:
            rows = [
                tag(
                    "li",
                    tag("a", one_line(entry.name), href=f"#app-{number}"),
                    " ",
                    one_line(answer_of(entry.app)),
                )
                for number, entry in enumerate(entries[:200])
            ]
            yield tag("nav", tag("ul", *rows), aria_label="Applications")
    yield Xml("</header>")


def _verdict_class(report: Report) -> str:
    if any(map(is_broken, report.apps)):
        return "bad"
    return "wait" if any(app.is_unsure for app in report.apps) else "good"


def mark_of_app(report: AppReport) -> str:
    if is_broken(report):
        return "✗" if report.findings else "?"
    return "…" if report.findings else "?" if report.is_unsure else "✓"


def class_of_app(report: AppReport) -> str:
    if is_broken(report):
        return "bad"
    return "wait" if report.findings or report.is_unsure else "good"


def _app(entry: Entry, number: int) -> Iterator[Xml]:
    report = entry.app
    yield Xml(f'<section aria-labelledby="app-{number}">')
    mark = tag("span", mark_of_app(report), class_=class_of_app(report))
    yield tag("h2", mark, " ", one_line(entry.name), id=f"app-{number}")
    yield tag("p", state_of(report), class_="state soft")
    yield tag("p", one_line(answer_of(report), 800), class_="answer")
    if report.findings or report.unexplained:
        verdict, reasons = sync_verdict(report)
        badge = tag("span", verdict, class_=f"badge {_VERDICT_CLASSES[verdict]}")
        yield tag("p", "Sync now? ", badge, " ", reasons, class_="sync")
    if entry.same:
        same = ", ".join(map(one_line, entry.same))
        yield tag("p", f"The same in {len(entry.same)} more: ", one_line(same, 4_000))
    for finding in report.findings[:_MOST_FINDINGS]:
        yield finding_card(
            finding,
            [(fix, patch_text(fix, report.case)) for fix in finding.fixes],
            verdict=finding is not report.first or is_shortened(finding),
        )
    if len(report.findings) > _MOST_FINDINGS:
        yield tag("p", f"and {len(report.findings) - _MOST_FINDINGS} more findings (-o json)", class_="soft")
    yield from _list("Unexplained", [symptom.text for symptom in report.unexplained])
    yield from _list("Not readable", [f"{gap.what}: {gap.why}" for gap in report.gaps])
    yield from _list("Not checked", [f"rule {crash.rule} failed: {crash.error}" for crash in report.crashed])
    yield Xml("</section>")


def _list(title: str, items: Sequence[str]) -> Iterator[Xml]:
    if items:
        entries = [tag("li", one_line(item)) for item in items[:_MOST_ITEMS]]
        if len(items) > _MOST_ITEMS:
            entries.append(tag("li", f"and {len(items) - _MOST_ITEMS} more"))
        yield tag("h3", title)
        yield tag("ul", *entries)


def shared_causes(report: Report) -> Iterator[Xml]:
    """Causes of several apps, with the fix for all of them if there is one."""
    shared = [group for group in report.groups if len(group.apps) > 1][:_MOST_ITEMS]
    if shared:
        yield tag("h2", "Causes of several apps")
    for group in shared:
        yield tag("article", joined(_shared(group, report), "\n"), class_="card")


def _shared(group: Group, report: Report) -> Iterator[Xml]:
    yield tag("h4", f"{len(group.apps)} apps, one cause: {one_line(group.what, 600)}")
    yield tag("p", "Cause ", tag("code", one_line(group.cause)), ": ", one_line(", ".join(group.apps), 4_000))
    case = next((app.case for app in report.apps if app.case.qualified_name in group.apps), None)
    if group.fix is not None and case is not None:
        tried = ", simulated for each of them" if group.checked else ""
        yield tag("h4", f"One fix for all{tried}: {one_line(group.fix.title)}")
        if group.fix.risk:
            yield tag("p", f"Risk: {one_line(group.fix.risk)}")
        yield tag("pre", joined(lines_of(patch_text(group.fix, case)), "\n"))


def _omitted(omitted: Sequence[Entry]) -> Iterator[Xml]:
    if omitted:
        yield tag("h2", f"{len(omitted)} more apps, omitted because of the size of this page")
        yield tag("ul", *(tag("li", one_line(f"{name.name}: {answer_of(name.app)}")) for name in omitted))


def _unread(report: Report, entries: Sequence[Entry]) -> Iterator[Xml]:
    """What could not be read, if no section shows it."""
    if not entries:
        yield from _list("Not readable", [f"{gap.what}: {gap.why}" for gap in gaps_of(report.apps)])
