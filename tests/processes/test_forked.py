"""Work that is spread over processes."""

from __future__ import annotations

import os

import pytest

from whysync.processes import forked
from whysync.processes.forked import all_of, in_background


def test_results_are_in_order_and_counted() -> None:
    counted: list[int] = []
    assert all_of(lambda item: item * item, 9, many=2, done=counted.append) == [n * n for n in range(9)]
    assert counted == list(range(1, 10))


def test_what_a_killed_process_leaves_out_is_done_here() -> None:
    own = os.getpid()

    def work(item: int) -> int:
        if item == 4 and os.getpid() != own:
            os._exit(9)
        return item

    assert all_of(work, 9, many=2) == list(range(9))


def test_work_in_the_background_is_done_by_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked, "cores", lambda: 2)
    with in_background(lambda: (os.getpid(), "x" * 200_000), if_worth_it=True) as result:
        pid, text = result()
    assert pid != os.getpid()
    assert len(text) == 200_000
    with in_background(os.getpid, if_worth_it=False) as result:
        assert result() == os.getpid()


def test_the_caller_does_what_failed_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked, "cores", lambda: 2)
    own = os.getpid()

    def work() -> int:
        if os.getpid() != own:
            raise MemoryError
        return own

    with in_background(work, if_worth_it=True) as result:
        assert result() == own


def test_nobody_waits_for_a_result_that_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked, "cores", lambda: 2)
    with pytest.raises(KeyboardInterrupt), in_background(lambda: os.read(0, 1), if_worth_it=True):  # waits
        raise KeyboardInterrupt
