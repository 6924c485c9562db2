"""`whysync plan`: what a commit would do, before it is merged."""

from __future__ import annotations

import argparse
import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING

from whysync.cli.exits import Exit
from whysync.cli.output_flags import add_output_files_flag, add_proof_flags, show, targets
from whysync.cli.source_flags import add_source_flags
from whysync.deadline import Deadline
from whysync.errors import NotFound, UsageError, WhysyncError
from whysync.reports.output import Safe
from whysync.reports.terminal import Terminal

if TYPE_CHECKING:  # --help does not load what a run needs
    from whysync import app
    from whysync.diagnosis.report import Report
    from whysync.facts.snapshot import Snapshot
    from whysync.plan.checkout import Checkout
    from whysync.plan.plan import AppPlan, Plan, Run
    from whysync.plan.trial import Trial

_SEVERAL = 2
_MOST_CAUSES = 3


FORMS = ("text", "wide", "json", "markdown", "html", "svg", "junit", "github")


def add_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "what",
        metavar="PATH|APP",
        nargs="?",
        default="",
        help="a folder or file of the checkout, or the name of an app; none means all apps",
    )
    add_output_files_flag(verb, FORMS, example="html=plan.html")
    verb.add_argument("--base", metavar="REV", default="", help="base revision (default: merge base)")
    verb.add_argument("--head", metavar="REV", default="", help="head revision (default: the working tree)")
    verb.add_argument("--app", metavar="FILE", default="", help="file of the checkout with the Application")
    verb.add_argument(
        "--live",
        metavar="BUNDLE",
        nargs="?",
        const="",
        default=None,
        help="also on the live cluster: a bundle, or the source given by the flags below",
    )
    verb.add_argument("--empty", action="store_true", help="only on an empty cluster")
    verb.add_argument("--network", action="store_true", help="allow fetching charts and other repositories")
    add_proof_flags(verb)
    verb.add_argument(
        "--exit-zero", action="store_true", help="exit 0 whatever is found (errors still exit 2)"
    )
    add_source_flags(verb, takes_local=False)
    verb.epilog = (
        "whysync plan apps/shop --base main -o markdown\n"
        "whysync plan --live --context prod -o html=plan.html\n\n"
        "a flag that names a place (--bundle, --server, --context, …) asks for --live\n\n"
        "exit codes: 0 would pass, 1 would fail, 2 an error, 3 unknown"
    )


def run(options: argparse.Namespace) -> int:
    from msgspec.structs import replace

    from whysync import app
    from whysync.argocd.repo_server.git import GitFailed
    from whysync.cli.sources import with_progress

    wanted = targets(options.output, FORMS, "plan")
    place = _place(options)
    live = with_progress(lambda progress: app.listing(place, progress=progress)) if place else None
    if live is not None and not live.applications:
        raise _no_apps(options)
    trials: dict[str, Trial] = {}
    gc.disable()  # a run of the model has no cycles worth looking for, and the process ends soon
    try:
        with _opened(options) as checkout:
            made = _planned(checkout, options, place, live, trials)
    except GitFailed as problem:
        raise WhysyncError(
            what=f"git failed: {problem.message}", why=problem.complaint, next="look at the repository"
        ) from problem
    finally:
        gc.enable()
    report = _diagnosed(made, trials, prove=not options.no_proof, deadline=options.deadline)
    made = replace(made, apps=tuple(_every_cause(app) for app in made.apps))
    show(wanted, lambda form, to: _shown(made, report, form, to), options.terminal)
    return Exit.OK if options.exit_zero else _exit(made)


def _place(options: argparse.Namespace) -> app.FactSource | None:
    """Where the cluster is looked at, if it is wanted; a flag that names a place asks for it, too."""
    from whysync.cli.sources import is_told, place_of

    if options.empty and options.live is not None:
        raise UsageError(
            what="--live and --empty exclude each other",
            why="with --live both clusters are shown; --empty is for the empty one alone",
            next="give one of them",
        )
    if options.empty or (options.live is None and not options.bundle and not is_told(options)):
        return None
    if options.live:
        options.bundle = [options.live, *options.bundle]
    return place_of(options)


def _no_apps(options: argparse.Namespace) -> NotFound:
    named = f"; --live {options.live} was read as a bundle" if options.live else ""
    return NotFound(
        what="there is no Application among the facts of --live",
        why=f"no object of kind Application (argoproj.io) was found{named}",
        next="a bundle is what whysync collect makes; for the cluster itself put --live behind the path",
    )


def _opened(options: argparse.Namespace) -> Checkout:
    from whysync.plan.checkout import open_checkout

    place = next((one for one in (options.what, options.app) if one and Path(one).exists()), ".")
    folder = place if Path(place).is_dir() else str(Path(place).parent)
    return open_checkout(folder, base=options.base, head=options.head, network=options.network)


def _planned(
    checkout: Checkout,
    options: argparse.Namespace,
    place: app.FactSource | None,
    live: Snapshot | None,
    trials: dict[str, Trial],
) -> Plan:
    from whysync import app
    from whysync.plan.planner import plan as planned

    what: str = options.what
    is_path = bool(what) and (Path(what).exists() or (checkout.head.tree.root / what).exists())
    path = _relative(what, checkout) if is_path else ""
    file = _relative(options.app, checkout) if options.app else ""
    if file and not (checkout.head.tree.root / file).is_file():
        raise UsageError(
            what=f"--app {options.app!r} is no file of the head",
            why=f"{checkout.head.revision} does not hold it",
            next="name a file of the checkout that holds an Application",
        )
    if is_path and (checkout.head.tree.root / path).is_file() and not file:
        file, path = path, ""
    return planned(
        checkout,
        path=path,
        name="" if is_path else what,
        file=file,
        live=live,
        closely=(lambda names: app.closely(place, names)) if place and not place.bundles else None,
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


def _diagnosed(made: Plan, trials: dict[str, Trial], *, prove: bool, deadline: Deadline) -> Report:
    """What failed on a cluster is a case like any other."""
    from msgspec.structs import replace

    from whysync import app
    from whysync.plan.simulations import case_in
    from whysync.plan.trial import with_trials

    cases = [
        case_in(run.snapshot, app.name)
        for app in made.apps
        if (run := app.decisive) is not None and not run.passed and run.snapshot is not None
    ]
    report = app.diagnose(cases, prove=prove, deadline=deadline)
    if not prove or len(report.apps) > app.MOST_PROVEN:
        return report
    apps = tuple(with_trials(app, trials.get(app.case.app.qualified_name)) for app in report.apps)
    return replace(report, apps=apps)


def _every_cause(one: AppPlan) -> AppPlan:
    """The other clusters on which it fails have causes of their own: they are named, too."""
    from msgspec.structs import replace

    if len([run for run in one.runs if not run.passed]) < _SEVERAL:
        return one
    runs = (run if run is one.decisive else _with_causes(run, one.name) for run in one.runs)
    return replace(one, runs=tuple(runs))


def _with_causes(run: Run, name: str) -> Run:
    from msgspec.structs import replace

    from whysync import app
    from whysync.plan.simulations import case_in

    if run.passed or run.snapshot is None:
        return run
    (report,) = app.diagnose([case_in(run.snapshot, name)], prove=False).apps
    roots = [
        finding.verdict
        for finding in report.findings
        if not finding.caused_by and finding.severity.weight > 0
    ]
    return replace(run, message="; ".join(roots[:_MOST_CAUSES])) if roots else run


def _shown(made: Plan, report: Report, form: str, terminal: Terminal) -> Safe:
    from whysync.reports import plan_html, plan_json, plan_markdown, plan_svg, plan_text
    from whysync.reports.annotations import github, junit
    from whysync.reports.annotations.plan_rows import app_rows, run_rows

    match form:
        case "html":
            return plan_html.render(made, report)
        case "svg":
            return plan_svg.render(made, report)
        case "junit":
            return junit.render("whysync plan", run_rows(made, report), empty="nothing changes")
        case "github":
            return github.render(app_rows(made, report))
        case "json":
            return plan_json.render(made, report)
        case "markdown":
            return plan_markdown.render(made, report)
        case _:
            return plan_text.render(made, report, terminal, wide=form == "wide")


def _exit(made: Plan) -> Exit:

    if not made.passed:
        return Exit.FOUND
    unsure = any(not app.runs or app.unseen for app in made.apps)
    return Exit.UNSURE if unsure else Exit.OK
