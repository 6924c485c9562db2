"""`whysync get`: how healthy each resource is, also where the Application does not keep that."""

from __future__ import annotations

from tests.played import diagnosed
from whysync.reports import get_view
from whysync.reports.terminal import Terminal


def shown(scenario: str) -> dict[str, list[str]]:
    text = get_view.render(
        [app.case for app in diagnosed(scenario).apps],
        Terminal(width=200),
        format="text",
        show_operation=False,
    )
    return {parts[1]: parts for line in text.splitlines() if len(parts := line.split()) > 4}


def test_health_of_each_resource() -> None:
    case = diagnosed("limit-range").apps[0].case
    assert all(row.health is None for row in case.rows.values()), "Argo CD 3 keeps it elsewhere"
    assert "Degraded" in shown("limit-range")["Deployment"]
    assert "Healthy" in shown("waits-for-a-sync")["Deployment"]
