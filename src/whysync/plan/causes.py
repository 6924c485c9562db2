"""Why an app would fail, in the files of the checkout: the line of each cause, and fixes as diffs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from whysync.diagnosis.case import Case
from whysync.diagnosis.file_location import FileLocation
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.report import AppReport
from whysync.diagnosis.symptom import Side
from whysync.errors import WhysyncError
from whysync.facts.checkout import Checkout as Files
from whysync.fixes.diffs import lines
from whysync.fixes.files import context_of, file_change, location_of_change
from whysync.fixes.follow_up import is_in_git
from whysync.json_tree import MISSING, Json, Missing, Object, text
from whysync.kubernetes.api.pointer import resolve
from whysync.kubernetes.api.ref import ref_of
from whysync.plan.checkout import Checkout, sources_of
from whysync.plan.find_applications import values_files
from whysync.plan.plan import AppPlan, Cause, PlannedFix, Verdict
from whysync.plan.source_lines import SourceLines
from whysync.plan.try_fix import Trial

_VALUE: Final = re.compile(
    r"""\s*(?:- +)?(?P<key>[^\s:#][^:]*):\s+["']?(?P<value>[^"'#]+?)["']?(?:\s+#.*)?"""
)
"""A line of a values file."""
_MOST_CAUSES: Final = 5
_MOST_FIXES: Final = 3


class CheckoutPlaces:
    """Finds causes, fixes and deletions in the head of a checkout."""

    def __init__(self, checkout: Checkout) -> None:
        self._checkout = checkout
        self._lines = SourceLines(checkout.head.tree.root)

    def with_causes(self, app: AppPlan, report: AppReport, trial: Trial | None) -> AppPlan:
        """The app with the root causes of its failure; what only follows from them is left out."""
        roots = [finding for finding in report.findings if not finding.caused_by]
        serious = [finding for finding in roots if finding.severity.weight > 0]
        distinct = {
            (finding.rule, finding.about, finding.field, finding.verdict): finding
            for finding in reversed(serious)
        }
        first = list(reversed(distinct.values()))[:_MOST_CAUSES]
        return replace(app, causes=tuple(self._cause(finding, app, report.case, trial) for finding in first))

    def _cause(self, finding: Finding, app: AppPlan, case: Case, trial: Trial | None) -> Cause:
        fixes = tuple(self._fixes(finding, case))
        location = self._location_of(finding, app, case, trial)
        planned = replace(finding, location=location, fixes=tuple(fix.fix for fix in fixes))
        return Cause(finding=planned, fixes=fixes)

    def with_location(self, app: AppPlan, trial: Trial | None = None) -> AppPlan:
        """The app with the line that its verdict is about, for annotations of the changed files."""
        candidates = [cause.finding.location for cause in app.causes]
        candidates += [fix.location for cause in app.causes[:1] for fix in cause.fixes]
        if trial is not None:
            candidates += [self._changed_value(cause.finding, trial) for cause in app.causes[:1]]
        if app.verdict is Verdict.DELETE:
            candidates = [
                self._after_removal(change.origin)
                for change in app.changes
                if change.is_harmful or change.users
            ]
        known = [location for location in candidates if location is not None]
        changed = (location for location in known if self._is_changed(location))
        location = next(changed, known[0] if known else self._lines.of_application(app))
        return replace(app, location=location)

    def _location_of(
        self, finding: Finding, app: AppPlan, case: Case, trial: Trial | None
    ) -> FileLocation | None:
        location = None
        if trial is not None:
            location = self._lines.of_object(
                finding.about, finding.field or "", trial.head, trial.origins, trial.application
            )
        elif finding.side is Side.COMPARE:  # its source cannot be rendered
            location = self._lines.of_source(case.application.body)
        is_own = (finding.about.kind, finding.about.name) == ("Application", app.name.partition("/")[2])
        return location or self._lines.of_application(app, (finding.field or "") if is_own else "")

    def _changed_value(self, finding: Finding, trial: Trial) -> FileLocation | None:
        """The line of a values file that the commit changes to the value of the field."""
        found = set(map(str, _scalars(self._field_in(trial.head, finding))))
        found -= set(map(str, _scalars(self._field_in(trial.known, finding))))
        for source in sources_of(trial.application):
            defaults = f"{text(source.get('path')).strip('/').removeprefix('./')}/values.yaml"
            for path in (*values_files(source), defaults):
                numbers = self._changed_lines(path) if path in self._checkout.changed_paths() else ()
                for number in sorted(numbers):
                    value = _VALUE.fullmatch(self._head_lines(path)[number - 1].rstrip())
                    if value is not None and value["value"] in found:
                        return FileLocation(path=path, line=number, column=value.start("key") + 1)
        return None

    def _field_in(self, objects: Iterable[Object], finding: Finding) -> Json | Missing:
        """The value of the field that a finding is about."""
        about = finding.about
        for obj in objects:
            ref = ref_of(obj)
            if (ref.group, ref.kind, ref.name) == (about.group, about.kind, about.name):
                return resolve(obj, finding.field or "")
        return MISSING

    def _fixes(self, finding: Finding, case: Case) -> list[PlannedFix]:
        """Fixes that change files; commands are for a sync that runs, and none does."""
        planned = (self._in_files(fix, case) for fix in finding.fixes[:_MOST_FIXES] if not fix.commands)
        return [fix for fix in planned if fix is not None]

    def _in_files(self, fix: Fix, case: Case) -> PlannedFix | None:
        try:
            change = file_change(fix, case, Files(str(self._checkout.head.tree.root)))
            context = context_of(change)
        except WhysyncError as problem:
            if not is_in_git(fix):
                return None
            hint = f"{problem.what}: {problem.next}" if problem.next else problem.what
            return PlannedFix(fix=fix, hint=hint)
        if not change.changes:
            return None
        return PlannedFix(fix=fix, change=change, context=context, location=location_of_change(change))

    def _after_removal(self, origin: str) -> FileLocation | None:
        """Where something was removed from a file that still exists."""
        path, _, line = origin.partition(":")
        if not path or not (self._checkout.head.tree.root / path).is_file():
            return None
        number = int(line) if line.isdecimal() else 1
        return FileLocation(path=path, line=min(number, max(len(self._head_lines(path)), 1)))

    def _is_changed(self, location: FileLocation) -> bool:
        if location.path not in self._checkout.changed_paths():
            return False
        return location.line in self._changed_lines(location.path)

    @lru_cache(maxsize=256)  # noqa: B019  (one object per run)
    def _changed_lines(self, path: str) -> frozenset[int]:
        """Lines of the head that the commit adds or changes, from 1."""
        before = _text(self._checkout.base.tree.root / path)
        matcher = difflib.SequenceMatcher(None, lines(before), self._head_lines(path), autojunk=False)
        changed: set[int] = set()
        for tag, _, _, begin, end in matcher.get_opcodes():
            if tag != "equal":
                changed.update(range(begin + 1, end + 1))
        return frozenset(changed)

    def _head_lines(self, path: str) -> list[str]:
        return lines(_text(self._checkout.head.tree.root / path))


def _scalars(value: Json | Missing) -> Iterator[str | int | float]:
    """All texts and numbers in a value."""
    if isinstance(value, dict):
        for below in value.values():
            yield from _scalars(below)
    elif isinstance(value, list):
        for below in value:
            yield from _scalars(below)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""
    except OSError:
        return ""
