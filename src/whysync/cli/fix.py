"""`whysync fix`: print a fix, or write it to a checkout. Nothing else is written."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from whysync.cli.exits import Exit
from whysync.cli.filters import add_filter_flags, matching_columns, matching_labels
from whysync.cli.flag_types import count
from whysync.cli.output_flags import add_output_flag, add_proof_flags
from whysync.cli.source_flags import add_source_flags
from whysync.errors import NotFound, Refused, UsageError
from whysync.reports.output import err, out
from whysync.reports.terminal import one_line

if TYPE_CHECKING:  # --help does not load what a run needs
    from whysync.diagnosis.finding import Finding
    from whysync.diagnosis.report import AppReport, Report
    from whysync.facts.checkout import Checkout
    from whysync.reports.fix_view import Chosen

OUTPUTS = ("text", "patch", "yaml", "commands", "json")


def add_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("apps", metavar="APP", nargs="*", help="name or namespace/name; none means all")
    add_output_flag(verb, OUTPUTS)
    verb.add_argument(
        "--finding", metavar="ID", help="id, rule, cause or number of the finding (default: the first)"
    )
    verb.add_argument("--pick", metavar="N", type=count, default=1, help="number of the fix (default 1)")
    verb.add_argument(
        "--for-all", action="store_true", help="one fix for all apps that share a cause (see --cause)"
    )
    checkout = "checkout of the repository: patch manifests, Helm values or overlays"
    verb.add_argument("--checkout", "--local", metavar="DIR", help=checkout)
    verb.add_argument(
        "--file", metavar="PATH", default="", help="file in the checkout, if several are possible"
    )
    verb.add_argument("--write", action="store_true", help="edit or delete the file in the checkout")
    verb.add_argument("--dry-run", action="store_true", help="show what --write would change")
    verb.add_argument(
        "--apply", action="store_true", help="apply to a cluster: not supported in this version"
    )
    add_proof_flags(verb)
    add_filter_flags(verb)
    add_source_flags(verb, takes_local=False)
    verb.epilog = (
        "whysync fix APP --checkout . | git apply\n\n"
        "exit codes: 0 a fix was printed or written, or nothing is wrong; 1 no fix is available;\n"
        "2 an error, or the change was refused"
    )


def run(options: argparse.Namespace) -> int:
    from whysync import app
    from whysync.cli.sources import facts
    from whysync.facts.checkout import Checkout
    from whysync.reports.fix_view import render

    _check(options)
    cases = matching_labels(app.cases(facts(options), options.apps), options)
    report = app.diagnose(cases, prove=not options.no_proof, deadline=options.deadline)
    report = matching_columns(report, options)
    checkout = Checkout(options.checkout) if options.checkout else None
    fixes = _for_all(report) if options.for_all else _chosen(report, options)
    if not fixes:
        return _no_fix(report, options)
    if options.write or options.dry_run:
        if checkout is None or len(fixes) > 1:
            raise UsageError(
                what=f"--write needs a single app, but {len(fixes)} need a fix",
                why="each change should be reviewed and committed separately",
                next=f"pass the app: {', '.join(chosen.case.qualified_name for chosen in fixes[:5])}",
            )
        return _write(fixes[0], checkout, options)
    if checkout is not None:
        fixes = [_in_checkout(chosen, checkout, options.file) for chosen in fixes]
    out().put(render(fixes, format=options.output, exact=not out().is_terminal))
    return Exit.OK


def _check(options: argparse.Namespace) -> None:
    if options.apply:
        raise UsageError(
            what="--apply is not supported: this version does not write to clusters",
            why="a change to a cluster has to be proven and confirmed first",
            next="use -o commands to print commands, or --write to edit the files of a checkout",
        )
    if (options.write or options.dry_run) and not options.checkout:
        raise UsageError(
            what=f"{'--write' if options.write else '--dry-run'} requires --checkout",
            next="pass --checkout DIR with the local clone of the repository",
        )
    if options.file and not options.checkout:
        raise UsageError(what="--file requires --checkout", next="pass --checkout DIR")


def _chosen(report: Report, options: argparse.Namespace) -> list[Chosen]:
    from whysync.reports.fix_view import Chosen

    fixes: list[Chosen] = []
    for app_report in report.apps:
        finding = _finding(app_report, options.finding)
        if finding is None or not finding.fixes:
            continue
        if not 1 <= options.pick <= len(finding.fixes):
            raise NotFound(
                what=f"invalid --pick {options.pick}",
                why=f"{app_report.name} has {len(finding.fixes)} for this finding: "
                + "; ".join(f"{n} {one_line(f.title)}" for n, f in enumerate(finding.fixes, start=1)),
                next="choose one of these",
            )
        number: int = options.pick
        fixes.append(
            Chosen(case=app_report.case, finding=finding, number=number, fix=finding.fixes[number - 1])
        )
    if (
        options.finding
        and not fixes
        and not any(_finding(app_report, options.finding) for app_report in report.apps)
    ):
        ids = [finding.id for app_report in report.apps for finding in app_report.findings]
        raise NotFound(
            what=f"finding {options.finding!r} not found",
            why=f"findings: {', '.join(ids[:8])}" if ids else "there are no findings",
            next="pass an id from whysync diagnose -o json, a rule, a cause or a number",
        )
    return fixes


def _for_all(report: Report) -> list[Chosen]:
    """The shared fix of the largest group of apps that has one."""
    from msgspec.structs import replace

    from whysync.reports.fix_view import Chosen

    group = next((group for group in report.groups if group.fix is not None), None)
    if group is None or group.fix is None:
        return []
    first = next(app for app in report.apps if app.case.qualified_name in group.apps)
    assert first.first is not None
    checked = ", simulated for each of them" if group.checked else ""
    verdict = f"{len(group.apps)} apps, one cause: {group.what}"
    finding = replace(first.first, verdict=verdict, fixes=(group.fix,))
    note = f"one fix for {len(group.apps)} apps{checked}: {', '.join(group.apps[:5])}"
    note += f" and {len(group.apps) - 5} more" if len(group.apps) > 5 else ""
    return [Chosen(case=first.case, finding=finding, number=1, fix=group.fix, note=note, many=group.apps)]


def _finding(report: AppReport, name: str | None) -> Finding | None:
    """The finding with this id, rule, cause or number; by default the first with a fix."""
    if not name:
        return next((finding for finding in report.findings if finding.fixes), None)
    if name.isdecimal():
        return next(iter(report.findings[int(name[:9]) - 1 :]), None) if int(name[:9]) else None
    rule_or_cause = name.removeprefix("C-")
    exact = [finding for finding in report.findings if finding.id == name]
    return next(iter(exact or [f for f in report.findings if rule_or_cause in (f.rule, f.cause)]), None)


def _no_fix(report: Report, options: argparse.Namespace) -> int:
    """Report that there is no fix; JSON and YAML output is an empty list."""
    from whysync.reports.fix_view import render

    if options.output in ("json", "yaml"):
        out().put(render([], format=options.output))
    broken = [app for app in report.apps if app.findings or app.unexplained]
    if not broken:
        err().say("nothing to fix: no problem was found")
        return Exit.OK
    if options.for_all:
        err().say(
            "no fix for several apps at once: no two apps share a cause that one change fixes;"
            " run it without --for-all for a fix per app"
        )
        return Exit.FOUND
    first = broken[0]
    verdict = one_line(first.first.verdict) if first.first else "no rule explains it"
    err().say(f"no fix for {one_line(first.name)}: {verdict}")
    return Exit.FOUND


def _in_checkout(chosen: Chosen, checkout: Checkout, file: str) -> Chosen:
    """The fix as an edit of a file in the checkout; unchanged for commands and objects that are not in it."""
    from msgspec.structs import replace

    from whysync.diagnosis.fix import FixKind
    from whysync.fixes.files import file_change

    if chosen.fix.commands:
        return chosen
    try:
        return replace(chosen, change=file_change(chosen.fix, chosen.case, checkout, only=file))
    except Refused as problem:
        if chosen.fix.kind is FixKind.MANIFEST:
            raise
        note = f"{problem.what}: change the object itself"
        return replace(chosen, note=f"{note}; {chosen.note}" if chosen.note else note)


def _write(chosen: Chosen, checkout: Checkout, options: argparse.Namespace) -> int:
    from msgspec.structs import replace

    from whysync.fixes.files import file_change
    from whysync.reports.fix_view import render, written_text

    change = file_change(chosen.fix, chosen.case, checkout, only=options.file)
    if change.changes and not options.dry_run:
        change.write_to(checkout)
    chosen = replace(chosen, change=change, written=change.changes and not options.dry_run)
    exact = not out().is_terminal
    if options.output == "text":
        out().put(written_text(chosen, dry_run=options.dry_run, exact=exact))
    else:
        out().put(render([chosen], format=options.output, exact=exact))
    return Exit.OK
