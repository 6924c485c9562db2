"""`whysync plan`: what a commit would do, before it is merged."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from pathlib import Path

from msgspec.structs import replace

from whysync import app
from whysync.cli.exits import Exit
from whysync.contracts.snapshot import Snapshot
from whysync.diagnosis.report import Report
from whysync.errors import UsageError, WhysyncError
from whysync.planning.checkout import Checkout, open_checkout
from whysync.planning.plan import Plan
from whysync.planning.planning import plan as planned
from whysync.planning.trial import Trial, with_trials
from whysync.planning.worlds import case_in
from whysync.reports.screen import Screen
from whysync.sources.git import GitFailed


def plan(options: argparse.Namespace, screen: Screen) -> int:
    if options.live and options.empty:
        raise UsageError(
            what="--live and --empty exclude each other",
            why="with --live both clusters are shown; --empty is for the empty one alone",
            next="give one of them",
        )
    live = app.snapshot(app.Place(bundles=(options.live,), stdin=sys.stdin.buffer)) if options.live else None
    trials: dict[str, Trial] = {}
    gc.disable()  # a run of the model has no cycles worth looking for, and the process ends soon
    try:
        with _opened(options) as checkout:
            made = _planned(checkout, options, live, trials)
    except GitFailed as problem:
        raise WhysyncError(
            what=f"git failed: {problem.message}", why=problem.complaint, next="look at the repository"
        ) from problem
    finally:
        gc.enable()
    report = _diagnosed(made, trials, prove=not options.no_proof)
    sys.stdout.write(_shown(made, report, options.output, screen))
    return Exit.OK if options.exit_zero else _exit(made)


def _opened(options: argparse.Namespace) -> Checkout:
    place = next((one for one in (options.what, options.app) if one and Path(one).exists()), ".")
    folder = place if Path(place).is_dir() else str(Path(place).parent)
    return open_checkout(folder, base=options.base, head=options.head, network=options.network)


def _planned(
    checkout: Checkout, options: argparse.Namespace, live: Snapshot | None, trials: dict[str, Trial]
) -> Plan:
    what: str = options.what
    is_path = bool(what) and (Path(what).exists() or (checkout.head.tree.root / what).exists())
    path = _relative(what, checkout) if is_path else ""
    file = _relative(options.app, checkout) if options.app else ""
    if file and not (checkout.head.tree.root / file).is_file():
        raise UsageError(
            what=f"--app {options.app!r} is no file of the head",
            why=f"{checkout.head.told} does not hold it",
            next="name a file of the checkout that holds an Application",
        )
    if is_path and (checkout.head.tree.root / path).is_file() and not file:
        file, path = path, ""
    return planned(
        checkout,
        path=path,
        name="" if is_path else what,
        file=file,
        live=None if options.empty else live,
        on_base=not options.empty,
        trials=trials,
    )


def _relative(place: str, checkout: Checkout) -> str:
    """As the repository names it; a path that exists only in the head is taken as that."""
    found = Path(place)
    if not found.exists():
        return os.path.normpath(place).removeprefix("./")
    try:
        told = os.path.relpath(found.absolute().resolve(), checkout.root)
    except ValueError:
        told = ".."
    if told.startswith(".."):
        raise UsageError(
            what=f"{place!r} lies outside of the checkout",
            why=f"the checkout is {checkout.root}",
            next="name a path inside of it",
        )
    return "" if told == "." else told


def _diagnosed(made: Plan, trials: dict[str, Trial], *, prove: bool) -> Report:
    """What failed on a cluster is a case like any other."""
    cases = [
        case_in(run.snapshot, one.name)
        for one in made.apps
        if (run := one.decisive) is not None and not run.passed and run.snapshot is not None
    ]
    report = app.diagnose(cases, prove=prove)
    if not prove or len(report.apps) > app.MOST_PROVEN:
        return report
    apps = tuple(with_trials(one, trials.get(one.case.app.qualified_name)) for one in report.apps)
    return replace(report, apps=apps)


def _shown(made: Plan, report: Report, form: str, screen: Screen) -> str:
    from whysync.reports import plan_json, plan_markdown, plan_view

    match form:
        case "json":
            return plan_json.render(made, report)
        case "markdown":
            return plan_markdown.render(made, report)
        case _:
            return plan_view.render(made, report, screen, wide=form == "wide")


def _exit(made: Plan) -> Exit:
    if not made.passed:
        return Exit.FOUND
    return Exit.UNSURE if any(not one.runs for one in made.apps) else Exit.OK
