"""Long values of which only the ends differ are shown from where they part."""

from __future__ import annotations

import pytest

from tests.cli.running import Whysync


@pytest.mark.parametrize(
    ("scenario", "expected"),
    [
        ("waits-for-a-sync", "Git …/invoices:2.8.0 → live …/invoices:2.7.3"),
        ("scaled-by-hand", "Git 3 → live 5"),
    ],
)
def test_what_differs_can_be_seen(scenario: str, expected: str, whysync: Whysync) -> None:
    assert expected in whysync("lab", "run", scenario, COLUMNS="200").out
