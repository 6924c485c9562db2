"""All commands that a report prints for its fixes."""

from __future__ import annotations

from collections.abc import Iterator

from whysync.diagnosis.report import Report
from whysync.errors import Refused
from whysync.fixes.follow_up import noteworthy_commands
from whysync.fixes.formats import as_commands
from whysync.fixes.patches import patch_text


def commands_of(report: Report) -> Iterator[str]:
    for app in report.apps:
        for finding in app.findings:
            for fix in finding.fixes:
                try:
                    yield from as_commands(fix, app.case)
                except Refused:  # it cannot be given as commands: then how to apply the patch is shown
                    yield from _how_to_apply(patch_text(fix, app.case))
                yield from noteworthy_commands(fix, app.case)


def _how_to_apply(patch: str) -> Iterator[str]:
    first = patch.partition("\n")[0]
    if first.startswith("# kubectl "):
        yield first.removeprefix("# ")
