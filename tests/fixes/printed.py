"""All commands that a report prints: of its fixes, of recent changes, and to get missing facts."""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.report import Report
from whysync.errors import Refused
from whysync.fixes.follow_up import noteworthy_commands
from whysync.fixes.formats import as_commands
from whysync.fixes.patches import patch_text
from whysync.queries.recent_changes import recent_changes

_PROGRAMS = ("argocd ", "git ", "helm ", "kubectl ")


def commands_of(report: Report) -> Iterator[str]:
    for app in report.apps:
        for finding in app.findings:
            for fix in finding.fixes:
                try:
                    yield from as_commands(fix, app.case)
                except Refused:  # it cannot be given as commands: then how to apply the patch is shown
                    yield from _how_to_apply(patch_text(fix, app.case))
                yield from noteworthy_commands(fix, app.case)
        changes = recent_changes(app.case)
        made = changes.changes if changes is not None else ()
        yield from (change.command for change in made if change.command)
        gaps = (*app.gaps, *(changes.gaps if changes is not None else ()))
        yield from (gap.how_to_get for gap in gaps if gap.how_to_get.startswith(_PROGRAMS))


def _how_to_apply(patch: str) -> Iterator[str]:
    first = patch.partition("\n")[0]
    if first.startswith("# kubectl "):
        yield first.removeprefix("# ")


def shown_in(text: str) -> Iterator[str]:
    """The calls of whysync itself in a report as text."""
    for line in text.splitlines():
        command = line.strip().removeprefix("apply").strip()
        if command.startswith("whysync "):
            yield command
