"""Backup and restore of an SQLite history as docs/serve.md describes them, while a process writes to it."""

from __future__ import annotations

import shutil
import subprocess
import threading
from pathlib import Path

from suites.history.test_postgresql import play
from tests.history.looks import OOM, after, look
from tests.history.test_kill import story_of
from tests.situations import ROOT
from whysync.history.history import History, IncidentFilter

_BACKUP = ["sqlite3", "whysync.db", ".backup copy.db"]
_ALL = IncidentFilter(limit=100_000)


def test_the_docs_name_the_command_that_is_tried() -> None:
    page = (ROOT / "docs/serve.md").read_text()
    assert f'{_BACKUP[0]} {_BACKUP[1]} "{_BACKUP[2]}"' in page
    assert "whysync.db-wal" in page
    assert "whysync.db-shm" in page


def test_a_backup_taken_while_it_is_written_is_a_complete_history(tmp_path: Path) -> None:
    history = History.open(str(tmp_path / "whysync.db"))
    play(history)
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            history.record([look(OOM, app=f"late-{number}", minutes=100)])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(3):
            subprocess.run(_BACKUP, cwd=tmp_path, check=True, timeout=60)
    finally:
        stop.set()
        writer.join()
    written = history.incidents(_ALL)
    history.close()
    copy = History.open(str(tmp_path / "copy.db"))
    copied = copy.incidents(_ALL)
    copy.close()
    assert 5 < len(copied) <= len(written)
    assert copied == written[-len(copied) :], "it has all that was recorded before some moment"


def test_a_restored_history_is_that_of_the_backup_and_goes_on(tmp_path: Path) -> None:
    place = tmp_path / "whysync.db"
    history = History.open(str(place))
    play(history)
    subprocess.run(_BACKUP, cwd=tmp_path, check=True, timeout=60)
    expected = story_of(History.open(str(tmp_path / "copy.db")))
    # what came after the backup is still in the write-ahead log, as after a crash
    history.record([look(OOM, app="lost", minutes=100)])
    assert (tmp_path / "whysync.db-wal").stat().st_size
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for name in ("whysync.db", "whysync.db-wal", "whysync.db-shm"):
        shutil.copy(tmp_path / name, crashed)
    history.close()
    shutil.copy(tmp_path / "copy.db", crashed / "whysync.db")
    for name in ("whysync.db-wal", "whysync.db-shm"):
        (crashed / name).unlink()
    assert story_of(History.open(str(crashed / "whysync.db"))) == expected
    restored = History.open(str(crashed / "whysync.db"))
    [id] = restored.record([look(OOM, app="next", minutes=200)])
    incident = restored.incident(id)
    assert incident is not None
    assert incident.opened_at == after(200)
    restored.close()
