"""The words that rules of this side share: how long is long, and how a log line reads in a sentence."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whysync.diagnosis.sentences import counted, one_line
from whysync.kubernetes.api.ref import Ref
from whysync.messages.log_patterns import LogReason
from whysync.messages.logs import LogFailure
from whysync.messages.patterns.operations import Awaited
from whysync.queries.commands import comment, kubectl, with_comment
from whysync.queries.log_lines import log_line_text, root_cause_text
from whysync.queries.timestamps import age_text
from whysync.queries.waiting_on import AwaitedObject


def _wait(age: int, slowest: int | None = None) -> AwaitedObject:
    return AwaitedObject(
        what=Awaited.HOOK,
        ref=Ref(kind="Job", name="migrate"),
        others=0,
        age=timedelta(minutes=age),
        slowest_sync=None if slowest is None else timedelta(minutes=slowest),
    )


def test_ten_minutes_are_long_unless_earlier_syncs_took_longer() -> None:
    assert not _wait(9).is_long
    assert _wait(10).is_long
    assert not _wait(50, slowest=20).is_long
    assert _wait(60, slowest=20).is_long


@pytest.mark.parametrize(
    ("age", "expected"), [(0, "0 s"), (119, "119 min"), (120, "2 h"), (2879, "47 h"), (2880, "2 days")]
)
def test_ages_are_as_exact_as_a_person_needs(age: int, expected: str) -> None:
    assert age_text(timedelta(minutes=age)) == expected


def test_a_root_names_address_and_port() -> None:
    line = 'connection to server at "10.0.1.45", port 5432 failed: Connection refused'
    failure = LogFailure(line=1, text=line, reason=LogReason.CONNECTION_REFUSED, subject="10.0.1.45")
    assert root_cause_text(failure) == "connection refused to 10.0.1.45:5432"


def test_a_line_loses_its_time_and_level() -> None:
    assert log_line_text("2026-03-01T10:00:21Z ERROR no such table: users") == "no such table: users"
    assert log_line_text("[2026-03-01 10:00:21,123] [error] it broke") == "it broke"
    assert log_line_text("plain words") == "plain words"


def test_counts() -> None:
    assert (counted(1, "resource"), counted(3, "resource")) == ("1 resource", "3 resources")


@given(st.text())
def test_foreign_words_stay_on_their_line(message: str) -> None:
    for line in (one_line(message), comment(message), with_comment("kubectl get pods", message)):
        assert len(line.splitlines()) <= 1


@given(st.text(min_size=1).filter(lambda text: "\0" not in text))
def test_every_word_of_a_command_survives_a_shell(argument: str) -> None:
    import shlex

    assert shlex.split(kubectl("get", argument)) == ["kubectl", "get", argument]
