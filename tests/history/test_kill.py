"""`kill -9` at any statement loses no incident and no notification, and doubles none.

A process is killed at its first, second, third … statement; the next one continues with the apps as they
are then. In the end the history is that of a process that was not killed, and the receiver has got every key.
Only the delivery during which the process died may have arrived twice, with the same key.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.history.killed_writer import STEPS
from tests.situations import ROOT
from whysync.history.history import History, IncidentFilter
from whysync.history.model import EventKind


def _received(folder: Path) -> Counter[str]:
    return Counter((folder / "received").read_text().split())


def _story(folder: Path) -> list[object]:
    """The incidents with their timelines, without the times at which notices were sent."""
    history = History.open(str(folder / "whysync.db"))
    incidents = history.incidents(IncidentFilter())
    events = [
        [
            (event.at if event.kind is not EventKind.NOTIFIED else None, event.kind, event.detail)
            for event in part
        ]
        for part in (history.timeline_of_incident(incident.id) for incident in incidents)
    ]
    assert history.outbox.waiting() == 0
    history.close()
    return [incidents, [sorted(part, key=str) for part in events]]


def test_a_process_killed_at_any_statement_loses_and_doubles_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.history.killed_writer", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    folders = sorted(tmp_path.iterdir(), key=lambda folder: int(folder.name))
    assert len(folders) > 20 * len(STEPS), "each step has many statements"
    whole, expected = _story(folders[0]), _received(folders[0])
    assert set(expected.values()) == {1}
    for folder in folders[1:]:
        assert _story(folder) == whole, f"killed at statement {folder.name}"
        received = _received(folder)
        assert received.keys() == expected.keys(), f"killed at statement {folder.name}"
        assert received.total() <= expected.total() + 1
