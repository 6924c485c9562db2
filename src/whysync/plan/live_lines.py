"""The lines in Git of what a diagnosis found, if whysync rendered the manifests itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from whysync.argocd.repo_server.git import GitFailed, Tree, cached_repo, open_repo
from whysync.argocd.repo_server.render.options import Origin
from whysync.diagnosis.case import Case
from whysync.diagnosis.file_location import FileLocation
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.report import AppReport
from whysync.errors import WhysyncError
from whysync.facts.checkout import Checkout as Files
from whysync.facts.snapshot import SourceFiles
from whysync.fixes.files import file_change, location_of_change
from whysync.plan.source_lines import SourceLines

_MOST_FINDINGS: Final = 10
_MOST_FIXES: Final = 3
"""A change of a Helm value renders the chart again, so only the first fixes are located."""


class _Source:
    """The files of one source of an Application, at the commit that Argo CD compared."""

    def __init__(self, source: SourceFiles, tree: Tree) -> None:
        self._lines = SourceLines(tree.root)
        self._files = Files(str(tree.root))
        self._origins = {
            key: Origin(path=file.path, line=file.line, made_by=file.made_by)
            for key, file in source.files.items()
        }

    def of_finding(self, finding: Finding, case: Case) -> FileLocation | None:
        objects = (manifest.body for manifest in case.desired)
        return self._lines.of_object(
            finding.about, finding.field or "", objects, self._origins, case.application.body
        )

    def of_fix(self, fix: Fix, case: Case) -> FileLocation | None:
        if fix.commands:
            return None
        with suppress(WhysyncError):
            change = file_change(fix, case, self._files)
            return location_of_change(change) if change.changes else None
        return None


def with_lines(report: AppReport) -> AppReport:
    """The report with file and line of its findings and of their first fixes."""
    case = report.case
    rendering = case.rendering
    if rendering is None or not report.findings:
        return report
    with ExitStack() as stack:
        sources = [
            _Source(source, stack.enter_context(tree))
            for source in rendering.files
            if (tree := _tree_of(source)) is not None
        ]
        first, rest = report.findings[:_MOST_FINDINGS], report.findings[_MOST_FINDINGS:]
        located = (_located(finding, case, sources) for finding in first)
        return replace(report, findings=(*located, *rest))


def _tree_of(source: SourceFiles) -> Tree | None:
    with suppress(WhysyncError, GitFailed):
        if Path(source.location).is_dir():
            return open_repo(source.location).tree(source.commit)
        cached = cached_repo(source.location)
        return cached.tree(source.commit) if cached is not None else None
    return None


def _located(finding: Finding, case: Case, sources: list[_Source]) -> Finding:
    fixes = (
        replace(fix, location=next(_locations(fix, case, sources), None))
        for fix in finding.fixes[:_MOST_FIXES]
    )
    found = (location for source in sources if (location := source.of_finding(finding, case)) is not None)
    return replace(finding, location=next(found, None), fixes=(*fixes, *finding.fixes[_MOST_FIXES:]))


def _locations(fix: Fix, case: Case, sources: list[_Source]) -> Iterator[FileLocation]:
    for source in sources:
        location = source.of_fix(fix, case)
        if location is not None:
            yield location
