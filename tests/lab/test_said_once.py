"""One mistake is one finding, however many symptoms it has: what follows from it brings no second way out."""

from __future__ import annotations

import pytest

from tests.played import diagnosed
from whysync.diagnosis.finding import Severity


@pytest.mark.parametrize(
    ("scenario", "root", "follows"),
    [("resource-version-in-git", "object_changed_meanwhile", "server_fields_committed_to_git")],
)
def test_one_mistake_is_one_finding(scenario: str, root: str, follows: str) -> None:
    (report,) = diagnosed(scenario).apps
    causes = [one for one in report.findings if not one.caused_by and one.severity is not Severity.INFO]
    assert [one.rule for one in causes] == [root]
    assert [one.caused_by for one in report.findings if one.rule == follows] == [(causes[0].id,)]
