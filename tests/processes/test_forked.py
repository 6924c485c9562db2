"""Work that is spread over processes."""

from __future__ import annotations

import os

from whysync.processes.forked import all_of


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
