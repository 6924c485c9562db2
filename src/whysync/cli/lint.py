"""`whysync lint`: check manifests in files, and report problems in the formats of CI systems."""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from whysync.cli.exits import Exit
from whysync.cli.flag_types import Append
from whysync.cli.output_flags import add_fail_on_flags, add_output_files_flag, show, targets, write
from whysync.errors import NotFound, Refused, Unreadable, UsageError
from whysync.files import check_editable, read_file, write_file
from whysync.reports.output import Safe, err, out
from whysync.reports.terminal import Terminal

if TYPE_CHECKING:  # --help does not load what a run needs
    from whysync.diagnosis.finding import Finding, Severity
    from whysync.diagnosis.rule import Rule
    from whysync.lint.outcome import Outcome
    from whysync.manifests.configuration import Configuration
    from whysync.manifests.files import File
    from whysync.manifests.tree import Tree

FORMATS = ("text", "wide", "json", "sarif", "junit", "github", "gitlab", "markdown")


def add_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "paths", metavar="PATH", nargs="*", help="files and folders (default: the current folder)"
    )
    add_output_files_flag(verb, FORMATS, example="sarif=out.sarif")
    verb.add_argument(
        "--lint-config",
        metavar="FILE",
        default="",
        help="configuration file (default: .whysync.yaml here or in a parent folder)",
    )
    verb.add_argument(
        "--crds", metavar="PATH", action=Append, default=[], help="CRDs that are not in the tree (repeatable)"
    )
    verb.add_argument(
        "--kubernetes-version",
        metavar="X.Y",
        default="",
        help="Kubernetes version of the cluster, 1.25 to 1.37 (default 1.36)",
    )
    verb.add_argument(
        "--check", metavar="CHECK", action=Append, default=[], help="run only this check (repeatable)"
    )
    verb.add_argument(
        "--skip", metavar="CHECK", action=Append, default=[], help="do not run this check (repeatable)"
    )
    verb.add_argument(
        "--outside",
        metavar="KIND/NAME",
        action=Append,
        default=[],
        help="object that exists outside of these files, with globs (repeatable)",
    )
    verb.add_argument(
        "--baseline", metavar="FILE", default="", help="baseline file: hide findings recorded in it"
    )
    verb.add_argument(
        "--write-baseline",
        metavar="FILE",
        default="",
        help="record the current findings in this file and exit 0",
    )
    verb.add_argument("--fix", action="store_true", help="apply fixes that do not change the meaning")
    verb.add_argument("--no-render", action="store_true", help="do not render charts and kustomizations")
    verb.add_argument(
        "--explain", metavar="CHECK", nargs="?", const="", help="describe a check, or list all checks"
    )
    add_fail_on_flags(verb)


def run(options: argparse.Namespace) -> int:
    import msgspec

    from whysync.cli.progress import with_progress
    from whysync.diagnosis.finding import Severity
    from whysync.lint import baseline
    from whysync.lint.check_tree import lint_rules
    from whysync.lint.lint import lint as linted

    rules_by_id = {rule.id: rule for rule in lint_rules()}
    if options.explain is not None:
        out().say(*_explained(options.explain, rules_by_id))
        return Exit.OK
    outputs = targets(options.output, FORMATS, "lint")
    rules = _chosen(options, rules_by_id)
    paths: list[str] = options.paths or ["."]
    configuration = _configuration(options, paths, rules_by_id)

    def checked() -> tuple[Outcome, Tree]:
        return with_progress(
            lambda line: linted(
                paths, configuration, rules=rules, render=not options.no_render, progress=line
            ),
            lambda doing, _, __: doing,
        )

    outcome, tree = checked()
    if options.fix and _fix(outcome, tree):
        outcome, tree = checked()
    if options.write_baseline:
        write(options.write_baseline, baseline.baseline_text(outcome.findings))
        err().say(f"recorded {len(outcome.findings)} findings in {options.write_baseline}")
        return Exit.OK
    if options.baseline:
        new, old = baseline.without_known(outcome.findings, _read(options.baseline), options.baseline)
        outcome = msgspec.structs.replace(outcome, findings=tuple(new), in_baseline=old)
    fail_on = Severity(options.fail_on)
    show(
        outputs,
        lambda format, terminal: _rendered(format, outcome, rules, terminal, fail_on),
        options.terminal,
    )
    return Exit.OK if options.exit_zero else exit_of(outcome, fail_on)


def exit_of(outcome: Outcome, fail_on: Severity) -> Exit:
    """The exit code of lint."""
    if any(finding.severity.weight >= fail_on.weight for finding in outcome.findings):
        return Exit.FOUND
    return Exit.UNSURE if any(note.matters for note in outcome.notes) else Exit.OK


def _rendered(
    format: str, outcome: Outcome, rules: list[Rule[Tree]], terminal: Terminal, fail_on: Severity
) -> Safe:
    from whysync.reports import lint_json, lint_markdown, lint_text
    from whysync.reports.annotations import github, gitlab, junit, sarif
    from whysync.reports.annotations.lint_rows import lint_rows

    match format:
        case "json":
            return lint_json.render(outcome)
        case "sarif":
            return sarif.render(lint_rows(outcome), rules, outcome.notes)
        case "junit":
            return junit.render("whysync lint", lint_rows(outcome), fail_on=fail_on)
        case "github":
            return github.render(lint_rows(outcome))
        case "gitlab":
            return gitlab.render(lint_rows(outcome))
        case "markdown":
            return lint_markdown.render(outcome)
        case _:
            return lint_text.render(outcome, terminal, wide=format == "wide")


def _chosen(options: argparse.Namespace, rules_by_id: dict[str, Rule[Tree]]) -> list[Rule[Tree]]:
    only: list[str] = options.check
    skipped: list[str] = options.skip
    for name in (*only, *skipped):
        if name not in rules_by_id:
            raise UsageError(what=f"unknown check {name!r}", next="whysync lint --explain lists all checks")
    return [rule for id, rule in rules_by_id.items() if (not only or id in only) and id not in skipped]


def _configuration(
    options: argparse.Namespace, paths: list[str], rules_by_id: dict[str, Rule[Tree]]
) -> Configuration:
    import msgspec

    from whysync.manifests.configuration import Configuration, Outside, check_version, read_configuration

    path = options.lint_config or _find_configuration(paths)
    configuration = Configuration()
    if path:
        configuration = read_configuration(_read(path), path, rules_by_id)
        folder = Path(path).parent
        crds = tuple(str(folder / crd) for crd in configuration.crds)
        configuration = msgspec.structs.replace(configuration, crds=crds)
    outside = list(configuration.outside)
    for value in options.outside:
        kind, _, name = value.partition("/")
        outside.append(Outside(kind=kind, name=name or "*"))
    check_version(options.kubernetes_version, "--kubernetes-version")
    return msgspec.structs.replace(
        configuration,
        crds=(*configuration.crds, *options.crds),
        kubernetes=options.kubernetes_version or configuration.kubernetes,
        outside=tuple(outside),
    )


def _find_configuration(paths: list[str]) -> str:
    """The configuration file next to the first path or in a parent folder, up to the repository root."""
    from whysync.manifests.configuration import NAME

    start = Path(paths[0])
    base = (start if start.is_dir() else start.parent).absolute()
    for folder in (base, *base.parents):
        if (folder / NAME).is_file():
            return os.path.relpath(folder / NAME)
        if (folder / ".git").exists():
            break
    return ""


def _explained(name: str, rules_by_id: dict[str, Rule[Tree]]) -> list[str]:
    if not name:
        width = max(map(len, rules_by_id))
        return [f"{id:<{width}}  {rule.severity.value:<8}  {rule.title}" for id, rule in rules_by_id.items()]
    if name not in rules_by_id:
        raise UsageError(what=f"unknown check {name!r}", next="whysync lint --explain lists all checks")
    rule = rules_by_id[name]
    return [f"# {name} ({rule.severity.value}, {rule.layer})", "", *rule.docs.split("\n")]


def _fix(outcome: Outcome, tree: Tree) -> bool:
    """Write the files that `--fix` changes, and report each change. Returns whether there is any."""
    from whysync.lint.autofix import fixed

    by_file: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in outcome.findings:
        if finding.fixes:
            by_file[finding.path].append(finding)
    changed = False
    for file in tree.files:
        after, fixed_findings = fixed(file, by_file[file.path]) if file.path in by_file else (file.text, [])
        if after == file.text:
            continue
        try:
            _edit(file, after)
        except Refused as problem:
            why = f" ({problem.why})" if problem.why else ""
            err().say(f"not fixed {file.path}: {problem.what}{why}")
            continue
        changed = True
        for finding in fixed_findings:
            err().say(f"fixed {finding.place} {finding.rule}: {finding.fixes[0].title}")
    return changed


def _edit(file: File, after: str) -> None:
    """Replace a file; refused for symbolic links, hard links and files changed since they were read."""
    from whysync.kubernetes.api.yaml import Invalid
    from whysync.kubernetes.api.yaml.load import decoded, encoded_like

    path = Path(file.path)
    try:
        check_editable(path)
        current = read_file(path, follow=False)
        if decoded(current) != file.text:
            raise Refused(what=f"{path} has changed since it was read", next="run it again")
        write_file(path, encoded_like(current, after))
    except (OSError, Invalid) as problem:
        why = problem.strerror if isinstance(problem, OSError) else problem.problem
        raise UsageError(
            what=f"{path} cannot be written",
            why=why or str(problem),
            next="the file is unchanged; files reported as fixed before it are written",
        ) from problem


def _read(path: str) -> str:
    try:
        return read_file(path).decode("utf-8")
    except FileNotFoundError as problem:
        raise NotFound(what=f"file {path!r} does not exist", next="check the path") from problem
    except OSError as problem:
        raise Unreadable(what=f"{path} cannot be read", why=problem.strerror or str(problem)) from problem
    except UnicodeDecodeError as problem:
        raise Unreadable(what=f"{path} cannot be read", why=str(problem)) from problem
