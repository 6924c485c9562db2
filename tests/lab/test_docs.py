"""The page of the lab: its example plays, and it names every field that a scenario may have."""

from __future__ import annotations

from tests.cli.running import Whysync
from tests.situations import ROOT
from whysync import app
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.lab import cluster_setup as grounds
from whysync.lab import commits
from whysync.lab import parse as reading
from whysync.lab.expectations import differences
from whysync.lab.parse import scenario_from
from whysync.lab.player import play

PAGE = (ROOT / "docs/lab.md").read_text()


def test_the_example_of_the_page_comes_out_as_it_says() -> None:
    text = PAGE.partition("```yaml\n")[2].partition("```")[0]
    scenario = scenario_from(text, name="mine", origin="docs/lab.md")
    assert scenario.expects
    assert differences(scenario, app.diagnose(app.cases(SnapshotIndex(play(scenario).snapshot())))) == []


def test_every_field_has_its_word() -> None:
    fields = {
        *reading.KEYS,
        *reading.EXPECTED,
        *reading.EXPECTED_FIX,
        *commits.COMMIT_KEYS,
        *reading.KINDS,
        *grounds.CLUSTER,
        *grounds.POD,
        *grounds.WEBHOOK,
    }
    assert sorted(field for field in fields if f"`{field}`" not in PAGE and f"\n{field}:" not in PAGE) == []


def test_every_scenario_stands_on_the_page(whysync: Whysync) -> None:
    assert whysync("lab", "list", "-o", "markdown").out in PAGE, "paste it anew into docs/lab.md"
