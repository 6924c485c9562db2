"""Atomic writes, and reading of regular files only."""

from __future__ import annotations

import os
import socket
import stat
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.faults import Calls, Fault, every_fault, files_below, temporary_files
from whysync import files
from whysync.errors import Refused
from whysync.files import (
    NotRegular,
    append_line,
    check_editable,
    is_git_name,
    is_in_git_folder,
    read_file,
    write_file,
    write_output,
)

OLD, NEW = b"old content\n" * 100, b"new content\n" * 5_000


@pytest.mark.parametrize("exists", [True, False])
def test_each_failing_call_leaves_the_old_file_or_the_new_one(tmp_path: Path, *, exists: bool) -> None:
    target = tmp_path / "a.yaml"

    def reset() -> None:
        for path in tmp_path.iterdir():
            path.unlink()
        if exists:
            target.write_bytes(OLD)

    def check(calls: Calls) -> None:
        old = {"a.yaml": OLD} if exists else {}
        assert files_below(tmp_path) in (old, {"a.yaml": NEW}), (calls.at, calls.fault)
        left = temporary_files(tmp_path)
        assert len(left) <= (calls.fault is Fault.KILLED), (calls.at, calls.fault, left)

    assert every_fault(lambda: write_file(target, NEW), check, reset) >= 7


def test_a_signal_at_any_line_leaves_no_temporary_file(tmp_path: Path) -> None:
    target = tmp_path / "a.yaml"

    def interrupted(at: int) -> bool:
        """Write with a KeyboardInterrupt at the n-th line of the module; was there such a line?"""
        seen = 0

        def trace(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal seen
            if frame.f_code.co_filename != files.__file__:
                return trace
            if event == "line":
                seen += 1
                if seen == at + 1:
                    sys.settrace(None)
                    raise KeyboardInterrupt
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            write_file(target, NEW)
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(before)
        return seen > at

    lines = 0
    while True:
        target.write_bytes(OLD)
        more = interrupted(lines)
        assert files_below(tmp_path) in ({"a.yaml": OLD}, {"a.yaml": NEW})
        assert temporary_files(tmp_path) == [], lines
        if not more:
            break
        lines += 1
    assert lines > 20


def test_the_mode_and_the_owner_stay(tmp_path: Path) -> None:
    target = tmp_path / "a.sh"
    target.write_bytes(OLD)
    target.chmod(0o751)
    if os.geteuid() == 0:
        os.chown(target, 1234, 1235)
    before = target.stat()
    write_file(target, NEW, mode=0o600)
    after = target.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino


def test_an_owner_that_cannot_be_kept_takes_no_setuid_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a.sh"
    target.write_bytes(OLD)
    target.chmod(0o4755)
    real = os.fstat

    def foreign(handle: int) -> os.stat_result:
        seen = list(real(handle))
        seen[stat.ST_UID] += 1
        return os.stat_result(seen)

    def refuse(*_: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "fstat", foreign)
    monkeypatch.setattr(os, "fchown", refuse)
    write_file(target, NEW)
    assert stat.S_IMODE(target.stat().st_mode) == 0o755


def test_the_umask_applies_to_a_new_file(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "a", NEW)
        write_file(tmp_path / "b", NEW, mode=0o600)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "folder", "socket"])
def test_only_a_regular_file_is_replaced(tmp_path: Path, kind: str) -> None:
    target, victim = tmp_path / "a", tmp_path / "victim"
    victim.write_bytes(OLD)
    opened = socket.socket(socket.AF_UNIX)
    match kind:
        case "link":
            target.symlink_to("victim")
        case "dangling":
            target.symlink_to("nowhere")
        case "pipe":
            os.mkfifo(target)
        case "folder":
            target.mkdir()
        case _:
            opened.bind(str(target))
    with pytest.raises(NotRegular):
        write_file(target, NEW)
    opened.close()
    assert victim.read_bytes() == OLD
    assert not (tmp_path / "nowhere").exists()
    assert temporary_files(tmp_path) == []


def test_a_name_that_is_taken_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody guessed the name of the temporary file."""
    monkeypatch.setattr(os, "urandom", bytes)
    guessed = tmp_path / f".whysync-{'0' * 16}.tmp"
    (tmp_path / "victim").write_bytes(OLD)
    guessed.symlink_to("victim")
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "a", NEW)
    assert guessed.is_symlink()
    assert (tmp_path / "victim").read_bytes() == OLD


def test_a_file_that_must_be_new(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(OLD)
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "a", NEW, must_be_new=True)
    assert (tmp_path / "a").read_bytes() == OLD


def test_a_write_protected_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(OLD)

    def denied(*_: object) -> bool:
        return False

    monkeypatch.setattr(os, "access", denied)  # root may write everything
    with pytest.raises(PermissionError):
        write_file(tmp_path / "a", NEW)
    assert (tmp_path / "a").read_bytes() == OLD


def test_lines_are_appended_to_regular_files_only(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"one\n")
    append_line(log, b"two")
    assert log.read_bytes() == b"one\ntwo\n"
    (tmp_path / "link").symlink_to(log)
    with pytest.raises(OSError, match="ymbolic"):
        append_line(tmp_path / "link", b"three")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device"):
        append_line(tmp_path / "pipe", b"three")
    assert log.read_bytes() == b"one\ntwo\n"


class TestReading:
    @pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
    def test_no_pipes_devices_and_folders(self, tmp_path: Path, kind: str) -> None:
        path = tmp_path / "a"
        match kind:
            case "pipe":
                os.mkfifo(path)
            case "device":
                path = Path("/dev/zero")
            case _:
                path.mkdir()
        with pytest.raises(NotRegular, match=kind):
            read_file(path)

    def test_a_link_is_followed_unless_it_must_not_be(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(OLD)
        (tmp_path / "link").symlink_to("a")
        assert read_file(tmp_path / "link") == OLD
        with pytest.raises(NotRegular, match="link"):
            read_file(tmp_path / "link", follow=False)

    def test_a_pipe_of_the_shell_is_read_to_its_end(self) -> None:
        ours, theirs = os.pipe()
        writer = threading.Thread(target=lambda: (os.write(theirs, NEW), os.close(theirs)))
        writer.start()
        assert read_file(f"/dev/fd/{ours}") == NEW
        writer.join()
        os.close(ours)

    def test_a_limit(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(OLD)
        assert read_file(tmp_path / "a", most=len(OLD)) == OLD
        with pytest.raises(OSError, match="larger"):
            read_file(tmp_path / "a", most=len(OLD) - 1)


class TestOutput:
    def test_the_null_device_stays_what_it_is(self) -> None:
        write_output(Path("/dev/null"), NEW)
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)

    def test_a_pipe_of_the_shell(self) -> None:
        ours, theirs = os.pipe()
        write_output(Path(f"/dev/fd/{theirs}"), OLD)
        os.close(theirs)
        assert os.read(ours, 1 << 16) == OLD
        os.close(ours)

    def test_a_descriptor_of_a_file_is_appended_to(self, tmp_path: Path) -> None:
        with (tmp_path / "a").open("wb") as file:
            write_output(Path(f"/dev/fd/{file.fileno()}"), b"one\n")
            write_output(Path(f"/dev/fd/{file.fileno()}"), b"two\n")
        assert (tmp_path / "a").read_bytes() == b"one\ntwo\n"

    def test_a_pipe_that_nobody_reads_is_an_error(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="No such device"):
            write_output(tmp_path / "pipe", NEW)

    def test_a_link_is_not_written_through(self, tmp_path: Path) -> None:
        (tmp_path / "victim").write_bytes(OLD)
        (tmp_path / "link").symlink_to("victim")
        with pytest.raises(NotRegular):
            write_output(tmp_path / "link", NEW)
        assert (tmp_path / "victim").read_bytes() == OLD


class TestEditing:
    def test_links_and_hard_links_are_refused(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(OLD)
        check_editable(tmp_path / "a")
        (tmp_path / "link").symlink_to("a")
        with pytest.raises(Refused, match="is a symbolic link") as refused:
            check_editable(tmp_path / "link")
        assert str(tmp_path / "a") in refused.value.next
        os.link(tmp_path / "a", tmp_path / "b")
        with pytest.raises(Refused, match="2 hard links"):
            check_editable(tmp_path / "a")

    @pytest.mark.parametrize(
        "name", [".git", ".GIT", ".Git", ".git.", ".git ", ".git::$INDEX_ALLOCATION", "GIT~1", ".g\u200cit"]
    )
    def test_names_that_file_systems_take_for_git(self, name: str) -> None:
        assert is_git_name(name)

    @pytest.mark.parametrize("name", [".github", ".gitignore", "git", "a.git", ".git2"])
    def test_other_names(self, name: str) -> None:
        assert not is_git_name(name)

    def test_what_is_in_a_git_folder(self, tmp_path: Path) -> None:
        for name in ("bare/objects", "bare/refs", "apps"):
            (tmp_path / name).mkdir(parents=True)
        (tmp_path / "bare/HEAD").write_text("ref: refs/heads/main\n")
        (tmp_path / "link").symlink_to("bare")
        inside = (".git", ".git/a.yaml", "sub/.GIT/hooks/a.yaml", "bare/a.yaml", "bare/refs/a", "link/a.yaml")
        assert all(is_in_git_folder(tmp_path / name) for name in inside)
        assert not is_in_git_folder(tmp_path / "apps/a.yaml")


def test_nothing_is_written_after_the_block(tmp_path: Path) -> None:
    """The number of the descriptor may belong to another file by then."""
    with files.replacing(tmp_path / "first") as output:
        output.write(b"first")
    with files.replacing(tmp_path / "second") as other:
        with pytest.raises(ValueError, match="closed"):
            output.write(b"late")
        other.write(b"second")
    assert (tmp_path / "second").read_bytes() == b"second"
