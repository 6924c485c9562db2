"""One mistake is one finding, however many symptoms it has: what follows from it brings no second way out."""

from __future__ import annotations

import pytest

from tests.played import diagnosed
from whysync.diagnosis.finding import Severity


@pytest.mark.parametrize(
    ("scenario", "root", "follows"),
    [("resource-version-in-git", "object_modified_conflict", "server_fields_in_git")],
)
def test_one_mistake_is_one_finding(scenario: str, root: str, follows: str) -> None:
    (report,) = diagnosed(scenario).apps
    causes = [
        finding
        for finding in report.findings
        if not finding.caused_by and finding.severity is not Severity.INFO
    ]
    assert [cause.rule for cause in causes] == [root]
    assert [finding.caused_by for finding in report.findings if finding.rule == follows] == [(causes[0].id,)]
