"""`kill -9` at any statement loses no incident and no notification, and doubles none.

A process is killed at its first, second, third … statement; the next one continues with the apps as they
are then. In the end the history is that of a process that was not killed, and the receiver has got every key.
Only the delivery during which the process died may have arrived twice, with the same key.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from tests.history.killed_writer import STEPS
from tests.situations import ROOT
from whysync.history.history import History, IncidentFilter
from whysync.history.model import EventKind


def received_in(folder: Path) -> Counter[str]:
    """The keys with ids replaced by their order: a sequence of PostgreSQL leaves out those of a rollback."""
    keys = (folder / "received").read_text().split()
    parts = [re.fullmatch(r"(\w+)-(\d+)/(.+)", key) for key in keys]
    ids = [(part[1], int(part[2]), part[3]) for part in parts if part is not None]
    assert len(ids) == len(keys)
    order = {pair: number for number, pair in enumerate(sorted({(kind, id) for kind, id, _ in ids}))}
    return Counter(f"{kind}-{order[kind, id]}/{rest}" for kind, id, rest in ids)


def story_of(history: History) -> list[object]:
    """The incidents with their timelines, without the times at which notices were sent and without ids."""
    incidents = history.incidents(IncidentFilter())
    outbreaks = sorted({incident.outbreak for incident in incidents})
    events = [
        [
            (event.at if event.kind is not EventKind.NOTIFIED else None, event.kind, event.detail)
            for event in part
        ]
        for part in (history.timeline_of_incident(incident.id) for incident in incidents)
    ]
    assert history.outbox.waiting() == 0
    history.close()
    without_ids = [replace(one, id=0, outbreak=outbreaks.index(one.outbreak)) for one in incidents]
    return [without_ids, [sorted(part, key=str) for part in events]]


def run_killed_writers(folder: Path, *url: str) -> list[Path]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.history.killed_writer", str(folder), *url],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    folders = sorted(folder.iterdir(), key=lambda part: int(part.name))
    assert len(folders) > 20 * len(STEPS), "each step has many statements"
    return folders


def compare_with_the_first(folders: list[Path], opened: Callable[[Path], History]) -> None:
    """The histories and the receivers of processes that were killed with those of one that was not."""
    whole, expected = story_of(opened(folders[0])), received_in(folders[0])
    assert set(expected.values()) == {1}
    for folder in folders[1:]:
        assert story_of(opened(folder)) == whole, f"killed at statement {folder.name}"
        received = received_in(folder)
        assert received.keys() == expected.keys(), f"killed at statement {folder.name}"
        assert received.total() <= expected.total() + 1


def test_a_process_killed_at_any_statement_loses_and_doubles_nothing(tmp_path: Path) -> None:
    folders = run_killed_writers(tmp_path)
    compare_with_the_first(folders, lambda folder: History.open(str(folder / "whysync.db")))
