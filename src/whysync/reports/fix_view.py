"""`fix` in every output format: text for `git apply` or a shell, YAML for kubectl, and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.fix import Fix, FixKind, ProofStatus
from whysync.errors import Refused
from whysync.fixes.files import FileChange, shown_diff
from whysync.fixes.follow_up import noteworthy_commands
from whysync.fixes.formats import EMPTY_LIST, as_commands, as_patch, as_yaml
from whysync.fixes.patches import patch_text
from whysync.kubernetes.api.yaml import dump
from whysync.queries.commands import comment
from whysync.reports import output
from whysync.reports.diagnose_json import FixV1, fix_v1
from whysync.reports.json_yaml import as_json, yaml_text
from whysync.reports.output import Exact, Safe
from whysync.reports.proof_text import proof_sentence
from whysync.reports.terminal import one_line


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """The chosen fix of a finding; `number` counts from 1. `change` is the edit of a file in the checkout."""

    case: Case
    finding: Finding
    number: int
    fix: Fix
    change: FileChange | None = None
    written: bool = False
    note: str = ""
    """Why the fix is not shown against the checkout, or which apps it is for."""
    many: tuple[str, ...] = ()
    """The apps, if the fix is for several at once."""


class FileV1(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`diff` is empty if the file has the change already, and if it would show secrets.

    `place` names what to edit, with the line; `check` is what rendering the edited source showed.
    """

    path: str
    place: str
    check: str
    diff: str
    is_new: bool
    is_deleted: bool
    changes: bool
    written: bool


class ChosenV1(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`apps` are all apps that the fix is for."""

    app: str
    apps: tuple[str, ...]
    finding: str
    cause: str
    verdict: str
    number: int
    of: int
    fix: FixV1
    commands: tuple[str, ...]
    file: FileV1 | None


def render(fixes: Sequence[Chosen], *, format: str, exact: bool = False) -> Safe:
    """`exact`: lines of files are written byte for byte, as `git apply` needs them; not for a terminal."""
    match format:
        case "json":
            return as_json({"version": 1, "fixes": [_as_data(fix) for fix in fixes]})
        case "yaml":
            return yaml_text([_yaml(fix) for fix in fixes] or [dump(EMPTY_LIST)])
        case "commands":
            return output.text(line for fix in fixes for line in _commands(fix))
        case "patch":
            return output.text(line for fix in fixes for line in _patch(fix, exact=exact))
        case _:
            return output.text(_texts(fixes, exact=exact))


def _yaml(chosen: Chosen) -> str:
    """The object after the fix. Commands are comments of an empty List, which `kubectl apply` accepts."""
    commands = chosen.fix.commands
    lines = (chosen.fix.title, *_destroys(chosen.fix), *commands) if commands else _destroys(chosen.fix)
    return f"{output.text(map(comment, lines)) if lines else ''}{as_yaml(chosen.fix, chosen.case)}"


def _commands(chosen: Chosen) -> Iterator[str]:
    yield from map(comment, _destroys(chosen.fix))
    yield from as_commands(chosen.fix, chosen.case)


def _destroys(fix: Fix) -> tuple[str, ...]:
    return (f"destroys: {', '.join(fix.destroys)}",) if fix.destroys else ()


def _texts(fixes: Sequence[Chosen], *, exact: bool) -> Iterator[str]:
    """Comments and patches; `git apply`, `kubectl` and a shell ignore lines that begin with `#`."""
    for number, chosen in enumerate(fixes):
        yield from [""] if number else []
        yield from _head(chosen)
        if chosen.change is None:
            yield from _lines(patch_text(chosen.fix, chosen.case))
        elif chosen.change.changes:
            yield from _diff(chosen.change, exact=exact)


def _lines(text: str) -> list[str]:
    return text.split("\n")[:-1]


def _diff(change: FileChange, *, exact: bool) -> list[str]:
    lines = _lines(shown_diff(change))
    return [Exact(line) for line in lines] if exact else lines


def _afterwards(chosen: Chosen) -> Iterator[str]:
    """Steps to run after the change."""
    if chosen.change is None or chosen.change.changes:
        for step in noteworthy_commands(chosen.fix, chosen.case):
            yield f"# afterwards: {step.removeprefix('# ')}"


def _head(chosen: Chosen) -> Iterator[str]:
    fixes = chosen.finding.fixes
    about = f"{one_line(chosen.case.qualified_name)}: " if not chosen.many else ""
    yield f"# {about}{one_line(chosen.finding.verdict)}"
    yield f"# fix {chosen.number} of {len(fixes)}: {one_line(chosen.fix.title)}"
    if chosen.fix.proof.status is not ProofStatus.NOT_RUN and not chosen.fix.destroys:
        yield f"# {one_line(proof_sentence(chosen.fix))}"
    if chosen.fix.risk:
        yield f"# risk: {one_line(chosen.fix.risk)}"
    yield from (f"# {one_line(line)}" for line in _destroys(chosen.fix))
    for number, other in enumerate(fixes, start=1):
        if number != chosen.number:
            yield f"# alternative: --pick {number}: {one_line(other.title)}"
    yield from _afterwards(chosen)
    if chosen.note:
        yield f"# {one_line(chosen.note)}"
    change = chosen.change
    if change is not None and change.changes:
        yield from (f"# {one_line(text)}" for text in (change.place, change.check) if text)
    if change is not None and not change.changes:
        yield f"# {one_line(change.path)} has this change already"
    elif change is None and chosen.fix.kind is FixKind.MANIFEST and (chosen.fix.edits or chosen.fix.drops):
        yield "# --checkout DIR finds the file in Git and patches it"


def _patch(chosen: Chosen, *, exact: bool) -> list[str]:
    """The patch; `git apply` and `kubectl patch` ignore the comment."""
    comments = [comment(line) for line in _destroys(chosen.fix)]
    if chosen.change is not None:
        return [*comments, *_diff(chosen.change, exact=exact)] if chosen.change.changes else []
    return [*comments, *_lines(as_patch(chosen.fix, chosen.case))]


def written_text(chosen: Chosen, *, dry_run: bool, exact: bool = False) -> Safe:
    """What was written, and the next step."""
    change = chosen.change
    assert change is not None
    lines = list(_head(chosen))
    if change.changes:
        verb = "would write" if dry_run else "wrote"
        if change.after is None:
            verb = "would delete" if dry_run else "deleted"
        lines.append(f"# {verb} {'new file ' if change.before is None else ''}{one_line(change.path)}")
        try:
            lines += _diff(change, exact=exact)
        except Refused as problem:
            lines.append(f"# not shown: {problem.why}")
        if not dry_run:
            lines.append("# next: review it (git diff), commit, push, and refresh the app")
    return output.text(lines)


def _as_data(chosen: Chosen) -> ChosenV1:
    change, fix = chosen.change, fix_v1(chosen.fix, chosen.case)
    file: FileV1 | None = None
    if change is not None:
        try:
            diff = shown_diff(change) if change.changes else ""
        except Refused:
            diff = ""
        file = FileV1(
            path=change.path,
            place=change.place,
            check=change.check,
            diff=diff,
            is_new=change.before is None,
            is_deleted=change.after is None,
            changes=change.changes,
            written=chosen.written,
        )
    try:
        commands = as_commands(chosen.fix, chosen.case)
    except Refused:
        commands = ()
    return ChosenV1(
        app=chosen.case.qualified_name,
        apps=chosen.many or (chosen.case.qualified_name,),
        finding=chosen.finding.id,
        cause=chosen.finding.cause,
        verdict=chosen.finding.verdict,
        number=chosen.number,
        of=len(chosen.finding.fixes),
        fix=fix,
        commands=commands,
        file=file,
    )
