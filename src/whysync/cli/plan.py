"""`whysync plan`: what a commit would change, before it is merged."""

from __future__ import annotations

import argparse
import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING

from whysync.cli.exits import Exit
from whysync.cli.output_flags import add_output_files_flag, add_proof_flags, show, targets
from whysync.cli.source_flags import add_source_flags
from whysync.errors import NotFound, UsageError, WhysyncError
from whysync.reports.output import Safe
from whysync.reports.terminal import Terminal

if TYPE_CHECKING:  # --help does not load what a run needs
    from whysync import app
    from whysync.diagnosis.report import Report
    from whysync.json_tree import Object
    from whysync.plan.checkout import Checkout
    from whysync.plan.plan import Plan

_VERDICTS = ("fail", "delete", "unknown")
FORMATS = ("text", "wide", "json", "markdown", "html", "svg", "junit", "github")


def add_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "what",
        metavar="PATH|APP",
        nargs="?",
        default="",
        help="folder or file of the checkout, or app (default: all)",
    )
    add_output_files_flag(verb, FORMATS, example="html=plan.html")
    verb.add_argument("--base", metavar="REV", default="", help="base revision (default: merge base)")
    verb.add_argument("--head", metavar="REV", default="", help="head revision (default: the working tree)")
    verb.add_argument(
        "--app", metavar="FILE", default="", help="file with the Application, in the checkout or elsewhere"
    )
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
    verb.add_argument(
        "--clusters",
        metavar="FILE",
        default="",
        help="cluster Secrets, or argocd cluster list -o json",
    )
    verb.add_argument(
        "--generator-values",
        metavar="FILE",
        default="",
        help="recorded answers for scmProvider, pullRequest, plugin and clusterDecisionResource generators",
    )
    verb.add_argument(
        "--settings", metavar="FILE", default="", help="argocd-cm, for kustomize.buildOptions and similar"
    )
    add_proof_flags(verb)
    verb.add_argument(
        "--fail-on-verdict",
        metavar="LIST",
        type=_verdicts,
        default=_verdicts("fail,delete"),
        help="verdicts that exit 1, of fail, delete, unknown (default: fail,delete)",
    )
    verb.add_argument(
        "--exit-zero", action="store_true", help="exit 0 whatever is found (errors still exit 2)"
    )
    add_source_flags(verb, takes_local=False, takes_git=False)
    verb.epilog = (
        "whysync plan apps/shop --base main -o markdown\n"
        "whysync plan --context prod -o html=plan.html   # a flag that names a source implies --live\n\n"
        "exit codes: 0 would pass, 1 would fail or delete, 2 an error, 3 unknown"
    )


def run(options: argparse.Namespace) -> int:
    from whysync import app
    from whysync.argocd.repo_server.git import GitFailed
    from whysync.cli import progress
    from whysync.cli.sources import with_progress

    outputs = targets(options.output, FORMATS, "plan")
    source = _source(options)
    live = (
        with_progress(lambda progress: app.applications_snapshot(source, progress=progress))
        if source
        else None
    )
    if live is not None and not live.applications:
        raise _no_apps(options)
    gc.disable()  # the simulation creates few cycles, and the process ends soon
    try:
        with _opened(options) as checkout:
            _add_files(checkout, options)
            scope = _scope(checkout, options)
            plan, report = progress.with_progress(
                lambda line: app.plan(
                    checkout,
                    scope,
                    source=source,
                    live=live,
                    prove=not options.no_proof,
                    deadline=options.deadline,
                    progress=line,
                ),
                lambda doing, _, __: doing,
            )
    except GitFailed as problem:
        raise WhysyncError(
            what=f"git failed: {problem.message}", why=problem.complaint, next="check the repository"
        ) from problem
    finally:
        gc.enable()
    show(outputs, lambda format, terminal: _rendered(plan, report, format, terminal), options.terminal)
    return Exit.OK if options.exit_zero else _exit(plan, options.fail_on_verdict)


def _source(options: argparse.Namespace) -> app.FactSource | None:
    """The live source, if `--live` or a flag that names a source is given."""
    from whysync.cli.sources import names_live_source, source_of

    if options.empty and options.live is not None:
        raise UsageError(
            what="--live and --empty are mutually exclusive",
            why="--live adds the live cluster; --empty plans on an empty cluster only",
            next="use one of them",
        )
    if options.empty or (options.live is None and not options.bundle and not names_live_source(options)):
        return None
    if options.live:
        options.bundle = [options.live, *options.bundle]
    return source_of(options)


def _no_apps(options: argparse.Namespace) -> NotFound:
    as_bundle = f"; --live {options.live} was read as a bundle" if options.live else ""
    return NotFound(
        what="no Application found in the source of --live",
        why=f"it has no object of kind Application (argoproj.io){as_bundle}",
        next="pass a bundle from whysync collect; for the live cluster put --live after the path",
    )


def _opened(options: argparse.Namespace) -> Checkout:
    from whysync.plan.checkout import open_checkout

    here = Path.cwd()
    is_in_git = any((folder / ".git").exists() for folder in (here, *here.parents))
    named = (options.what, "" if is_in_git else options.app)
    path = next((path for path in named if path and Path(path).exists()), ".")
    folder = path if Path(path).is_dir() else str(Path(path).parent)
    return open_checkout(folder, base=options.base, head=options.head, network=options.network)


def _add_files(checkout: Checkout, options: argparse.Namespace) -> None:
    """The files of `--clusters`, `--generator-values` and `--settings`."""
    from whysync.cli.health import config_map_in
    from whysync.plan.generator_inputs import GeneratorFiles, clusters_in, recorded_in

    checkout.generator_files = GeneratorFiles(
        clusters=clusters_in(options.clusters) if options.clusters else None,
        recorded=recorded_in(options.generator_values) if options.generator_values else {},
    )
    if options.settings:
        checkout.argocd_cm = config_map_in(options.settings)


def _scope(checkout: Checkout, options: argparse.Namespace) -> app.PlanScope:
    """What to plan: a path, a file with an Application, or the name of an app."""
    from whysync import app

    target: str = options.what
    is_path = bool(target) and (Path(target).exists() or (checkout.head.tree.root / target).exists())
    path = _relative(target, checkout) if is_path else ""
    given = _applications_elsewhere(options.app, checkout)
    file = _relative(options.app, checkout) if options.app and not given else ""
    if file and not (checkout.head.tree.root / file).is_file():
        raise UsageError(
            what=f"--app {options.app!r}: no such file in the head revision",
            why=f"{checkout.head.revision} does not contain it",
            next="pass a file of the checkout with an Application",
        )
    if is_path and (checkout.head.tree.root / path).is_file() and not file:
        file, path = path, ""
    return app.PlanScope(
        path=path,
        name="" if is_path else target,
        file=file,
        given=given,
        only_on_empty_cluster=options.empty,
    )


def _applications_elsewhere(file: str, checkout: Checkout) -> tuple[Object, ...]:
    """The Applications of a file outside of the checkout, such as a root that is applied by hand."""
    from whysync.argocd.repo_server.render.decode import NotAnObject, objects_in
    from whysync.errors import Unreadable
    from whysync.files import read_file
    from whysync.plan.find_applications import is_application

    path = Path(file)
    if not file or not path.is_file() or path.resolve().is_relative_to(checkout.root):
        return ()
    try:
        found = tuple(obj.body for obj in objects_in(read_file(path)) if is_application(obj.body))
    except (OSError, NotAnObject) as problem:
        raise Unreadable(
            what=f"--app {file} cannot be read", why=str(problem), next="pass a YAML file"
        ) from problem
    if not found:
        raise Unreadable(
            what=f"--app {file} contains no Application",
            why="no object of kind Application (argoproj.io) is in it",
            next="pass the output of argocd app get NAME -o yaml",
        )
    return found


def _relative(path: str, checkout: Checkout) -> str:
    """The path relative to the root of the checkout; it may exist in the head revision only."""
    local = Path(path)
    if not local.exists():
        return os.path.normpath(path).removeprefix("./")
    try:
        relative = os.path.relpath(local.absolute().resolve(), checkout.root)
    except ValueError:
        relative = ".."
    if relative.startswith(".."):
        raise UsageError(
            what=f"{path!r} is outside of the checkout",
            why=f"the checkout is {checkout.root}",
            next="pass a path inside of it",
        )
    return "" if relative == "." else relative


def _rendered(plan: Plan, report: Report, format: str, terminal: Terminal) -> Safe:
    from whysync.reports import plan_html, plan_json, plan_markdown, plan_svg, plan_text
    from whysync.reports.annotations import github, junit
    from whysync.reports.annotations.plan_rows import app_rows, run_rows

    match format:
        case "html":
            return plan_html.render(plan)
        case "svg":
            return plan_svg.render(plan)
        case "junit":
            return junit.render("whysync plan", run_rows(plan), empty="nothing changes")
        case "github":
            return github.render(app_rows(plan))
        case "json":
            return plan_json.render(plan, report)
        case "markdown":
            return plan_markdown.render(plan)
        case _:
            return plan_text.render(plan, terminal, wide=format == "wide")


def _exit(plan: Plan, fail_on: frozenset[str]) -> Exit:
    problems = {verdict.value for verdict in plan.problems}
    if problems & fail_on:
        return Exit.FOUND
    return Exit.UNSURE if "unknown" in problems else Exit.OK


def _verdicts(value: str) -> frozenset[str]:
    verdicts = frozenset(part.strip().lower() for part in value.split(",") if part.strip())
    unknown = sorted(verdicts - set(_VERDICTS))
    if unknown or not verdicts:
        raise argparse.ArgumentTypeError(
            f"{value!r} is no list of verdicts: choose from {', '.join(_VERDICTS)}"
        )
    return verdicts
