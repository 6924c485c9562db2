"""`whysync fix`: one fix as text, or written into a checkout. Nothing else is ever written."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from whysync.cli.exits import Exit
from whysync.cli.filters import add_filter_flags, chosen_by_column
from whysync.cli.filters import chosen as chosen_cases
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
        "--finding", metavar="ID", help="of this finding (id, rule, cause or number), not of the first"
    )
    verb.add_argument(
        "--pick", metavar="N", type=count, default=1, help="N-th fix of the finding (default 1)"
    )
    verb.add_argument(
        "--for-all", action="store_true", help="the one fix for all the apps that share a cause (see --cause)"
    )
    local = "a checkout of the repository: the diff is against its files"
    verb.add_argument("--checkout", "--local", metavar="DIR", help=local)
    verb.add_argument(
        "--file", metavar="PATH", default="", help="the file of the checkout, if there is a choice"
    )
    verb.add_argument("--write", action="store_true", help="edit the files in the checkout")
    verb.add_argument("--dry-run", action="store_true", help="show what --write would change")
    verb.add_argument(
        "--apply", action="store_true", help="apply to a cluster: not supported in this version"
    )
    add_proof_flags(verb)
    add_filter_flags(verb)
    add_source_flags(verb, takes_local=False)
    verb.epilog = (
        "whysync fix APP --checkout . | git apply\n\n"
        "exit codes: 0 a fix was shown or written, or nothing is wrong;\n"
        "1 something is wrong, and no fix is offered; 2 an error, or it was refused"
    )


def run(options: argparse.Namespace) -> int:
    from whysync import app
    from whysync.cli.sources import facts
    from whysync.facts.checkout import Checkout
    from whysync.reports.fix_view import render

    _check(options)
    cases = chosen_cases(app.cases(facts(options), options.apps), options)
    report = app.diagnose(cases, prove=not options.no_proof, deadline=options.deadline)
    report = chosen_by_column(report, options)
    checkout = Checkout(options.checkout) if options.checkout else None
    every = _for_all(report) if options.for_all else _chosen(report, options)
    if not every:
        return _nothing(report, options)
    if options.write or options.dry_run:
        if checkout is None or len(every) > 1:
            raise UsageError(
                what=f"--write takes one app at a time, and {len(every)} need a fix",
                why="each change should be read, and committed, for itself",
                next=f"name the app: {', '.join(one.case.app.qualified_name for one in every[:5])}",
            )
        return _write(every[0], checkout, options)
    if checkout is not None:
        every = [_seen_in(one, checkout, options.file) for one in every]
    out().put(render(every, format=options.output, exact=not out().is_terminal))
    return Exit.OK


def _check(options: argparse.Namespace) -> None:
    if options.apply:
        raise UsageError(
            what="--apply is not there yet: this version writes to no cluster",
            why="a change of a cluster wants to be proven and confirmed first; that comes later",
            next="-o commands prints what you can run yourself, --write edits the files of a checkout",
        )
    if (options.write or options.dry_run) and not options.checkout:
        raise UsageError(
            what=f"{'--write' if options.write else '--dry-run'} needs a checkout to write into",
            next="--checkout DIR names the folder into which the repository was cloned",
        )
    if options.file and not options.checkout:
        raise UsageError(what="--file names a file of a checkout", next="add --checkout DIR")


def _chosen(report: Report, options: argparse.Namespace) -> list[Chosen]:
    from whysync.reports.fix_view import Chosen

    found: list[Chosen] = []
    for app_report in report.apps:
        finding = _finding(app_report, options.finding)
        if finding is None or not finding.fixes:
            continue
        if not 1 <= options.pick <= len(finding.fixes):
            raise NotFound(
                what=f"--pick {options.pick}: there is no such fix",
                why=f"{app_report.name} has {len(finding.fixes)} for this finding: "
                + "; ".join(f"{n} {one_line(f.title)}" for n, f in enumerate(finding.fixes, start=1)),
                next="choose one of these",
            )
        picked: int = options.pick
        found.append(
            Chosen(case=app_report.case, finding=finding, number=picked, fix=finding.fixes[picked - 1])
        )
    if (
        options.finding
        and not found
        and not any(_finding(app_report, options.finding) for app_report in report.apps)
    ):
        known = [finding.id for app_report in report.apps for finding in app_report.findings]
        raise NotFound(
            what=f"there is no finding {options.finding!r}",
            why=f"found: {', '.join(known[:8])}" if known else "nothing was found",
            next="whysync diagnose -o json shows the ids; a rule, a cause or a number will do too",
        )
    return found


def _for_all(report: Report) -> list[Chosen]:
    """The shared fix of the largest group of apps that has one."""
    from msgspec.structs import replace

    from whysync.reports.fix_view import Chosen

    group = next((group for group in report.groups if group.fix is not None), None)
    if group is None or group.fix is None:
        return []
    first = next(app for app in report.apps if app.case.app.qualified_name in group.apps)
    assert first.first is not None
    tried = ", tried on each of them" if group.checked else ""
    verdict = f"{len(group.apps)} apps, one cause: {group.what}"
    finding = replace(first.first, verdict=verdict, fixes=(group.fix,))
    note = f"one fix for {len(group.apps)} apps{tried}: {', '.join(group.apps[:5])}"
    note += f" and {len(group.apps) - 5} more" if len(group.apps) > 5 else ""
    return [Chosen(case=first.case, finding=finding, number=1, fix=group.fix, note=note, many=group.apps)]


def _finding(report: AppReport, wanted: str | None) -> Finding | None:
    """By id, rule, cause or number; without a wish, the first that offers a fix."""
    if not wanted:
        return next((finding for finding in report.findings if finding.fixes), None)
    if wanted.isdecimal():
        return next(iter(report.findings[int(wanted[:9]) - 1 :]), None) if int(wanted[:9]) else None
    names = wanted.removeprefix("C-")
    exact = [finding for finding in report.findings if finding.id == wanted]
    return next(iter(exact or [f for f in report.findings if names in (f.rule, f.cause)]), None)


def _nothing(report: Report, options: argparse.Namespace) -> int:
    """JSON and YAML output is a document in any case: one without fixes, or a List without objects."""
    from whysync.reports.fix_view import render

    if options.output in ("json", "yaml"):
        out().put(render([], format=options.output))
    wrong = [app for app in report.apps if app.findings or app.unexplained]
    if not wrong:
        err().say("nothing to fix: nothing is wrong, as far as the facts reach")
        return Exit.OK
    if options.for_all:
        err().say(
            "no fix helps several apps at once: no two of them share a cause that one change fixes;"
            " without --for-all, each app gets its own fix"
        )
        return Exit.FOUND
    first = wrong[0]
    said = one_line(first.first.verdict) if first.first else "nothing that whysync knows explains it"
    err().say(f"no fix is offered for {one_line(first.name)}: {said}")
    return Exit.FOUND


def _seen_in(one: Chosen, checkout: Checkout, only: str) -> Chosen:
    """Commands, and objects that the checkout does not hold, are shown as they are without it."""
    from msgspec.structs import replace

    from whysync.diagnosis.fix import FixKind
    from whysync.fixes.files import file_change

    if one.fix.commands:
        return one
    try:
        return replace(one, change=file_change(one.fix, one.case, checkout, only=only))
    except Refused as problem:
        if one.fix.kind is FixKind.MANIFEST:
            raise
        return replace(
            one, note=f"{problem.what}: change the object itself" + (f"; {one.note}" if one.note else "")
        )


def _write(one: Chosen, checkout: Checkout, options: argparse.Namespace) -> int:
    from msgspec.structs import replace

    from whysync.fixes.files import file_change
    from whysync.reports.fix_view import render, written_text

    change = file_change(one.fix, one.case, checkout, only=options.file)
    if change.changes and not options.dry_run:
        checkout.write(change.path, change.before, change.after)
    one = replace(one, change=change, written=change.changes and not options.dry_run)
    exact = not out().is_terminal
    if options.output == "text":
        out().put(written_text(one, dry_run=options.dry_run, exact=exact))
    else:
        out().put(render([one], format=options.output, exact=exact))
    return Exit.OK
