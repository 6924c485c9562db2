"""Pasted text: what is decoration, and which part of it is a condition, an event, a state or a log line."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whysync.messages.pasted import Origin, PastedMessage, clean, loud_lines, possible_origins, read_paste

DESCRIBED_POD = """\
Name:             web-6c5d8-abcde
Namespace:        shop
Controlled By:    ReplicaSet/web-6c5d8
Containers:
  web:
    Image:          registry.example.com/web:1.2
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
  proxy:
    State:          Running
Events:
  Type     Reason     Age                From               Message
  ----     ------     ----               ----               -------
  Normal   Scheduled  10m                default-scheduler  Successfully assigned shop/web to node-1
  Warning  BackOff    1m (x20 over 9m)   kubelet            Back-off restarting failed container web
"""
APP_GET = """\
Name:               argocd/shop
Project:            default
Sync Policy:        Automated
Sync Status:        Unknown

CONDITION        MESSAGE                                 LAST TRANSITION
ComparisonError  rpc error: code = Unknown desc = no     2026-03-02 03:00:00 +0000 UTC

GROUP  KIND        NAMESPACE  NAME     STATUS      HEALTH    HOOK     MESSAGE
       Service     shop       web      Synced      Healthy            service/web unchanged
apps   Deployment  shop       web      Synced      Degraded           exceeded its progress deadline
       ConfigMap   shop       web      SyncFailed                     is invalid
batch  Job         shop       migrate  Failed                PreSync  BackoffLimitExceeded
"""


@pytest.mark.parametrize(
    "written",
    [
        "OOMKilled",
        "\x1b[31mOOM\x1b[0mKilled\r\n",
        "```\nOOMKilled\n```",
        "```text\n    OOMKilled\n```\n",
        "> OOMKilled\n",
        "`OOMKilled`",
        "\ufeffOOMKilled\x00",
        "\x1b]0;title\x07OOMKilled",
    ],
)
def test_decorations_are_removed(written: str) -> None:
    assert clean(written) == "OOMKilled"


def test_a_described_pod_gives_the_states_of_its_containers_and_its_warnings() -> None:
    parts = read_paste(DESCRIBED_POD).parts
    assert {(message.kind, message.namespace, message.name) for message in parts} == {
        ("Pod", "shop", "web-6c5d8-abcde")
    }
    assert [
        (message.origin, message.reason, message.text, message.container, message.exit_code)
        for message in parts
    ] == [
        (Origin.EVENT, "BackOff", "Back-off restarting failed container web", "", None),
        (Origin.CONTAINER, "CrashLoopBackOff", "", "web", None),
        (Origin.CONTAINER, "OOMKilled", "", "web", 137),
    ]


def test_indented_and_quoted_pastes_say_the_same() -> None:
    plain = read_paste(DESCRIBED_POD).parts
    assert read_paste(textwrap.indent(DESCRIBED_POD, "    ")).parts == plain
    assert read_paste(textwrap.indent(DESCRIBED_POD, "> ", lambda _: True)).parts == plain


def test_argocd_app_get_gives_conditions_and_the_rows_that_are_not_fine() -> None:
    pasted = read_paste(APP_GET)
    assert pasted.application == "shop"
    assert [
        (message.origin, message.reason, message.kind, message.name, message.text) for message in pasted.parts
    ] == [
        (Origin.CONDITION, "ComparisonError", "", "", "rpc error: code = Unknown desc = no"),
        (Origin.HEALTH, "Degraded", "Deployment", "web", "exceeded its progress deadline"),
        (Origin.RESULT, "SyncFailed", "ConfigMap", "web", "is invalid"),
        (Origin.RESULT, "Failed", "Job", "migrate", "BackoffLimitExceeded"),
    ]
    assert pasted.parts[-1].hook == "PreSync"


@pytest.mark.parametrize(
    "written",
    ["Operation: Sync\nPhase:  Failed\nMessage:  it broke\n", "PHASE\nFailed\nMESSAGE\nit broke\n"],
)
def test_the_operation_as_the_command_and_as_the_page_show_it(written: str) -> None:
    assert read_paste(written).parts == (
        PastedMessage(origin=Origin.OPERATION, reason="Failed", text="it broke"),
    )


def test_condition_with_its_type_on_its_own_line() -> None:
    parts = read_paste("ComparisonError\nrpc error: one\n\nSyncError: two\n").parts
    assert [(message.reason, message.text) for message in parts] == [
        ("ComparisonError", "rpc error: one"),
        ("SyncError", "two"),
    ]


def test_listed_events_name_their_object() -> None:
    listed = """\
    LAST SEEN   TYPE      REASON         OBJECT              MESSAGE
    5m          Warning   FailedCreate   replicaset/web-5d   exceeded quota
    5m          Normal    Pulled         pod/web-2           fine
    """
    expected = PastedMessage(
        origin=Origin.EVENT, reason="FailedCreate", kind="ReplicaSet", name="web-5d", text="exceeded quota"
    )
    assert read_paste(listed).parts == (expected,)


def test_listed_pods_give_the_state_of_those_that_do_not_run() -> None:
    listed = """\
    NAME   READY   STATUS              RESTARTS   AGE
    a-1    0/1     Init:ErrImagePull   0          5m
    b-1    1/1     Running             0          5m
    """
    expected = PastedMessage(origin=Origin.CONTAINER, reason="ErrImagePull", kind="Pod", name="a-1")
    assert read_paste(listed).parts == (expected,)


def test_log_lines_give_their_loud_messages_and_the_application() -> None:
    logged = (
        'time="2026-03-02T03:00:00Z" level=info msg="all is well" application=argocd/shop\n'
        'time="2026-03-02T03:00:01Z" level=error msg="it broke" application=argocd/shop\n'
        '{"level":"error","msg":"so did this"}\n'
    )
    pasted = read_paste(logged)
    assert [message.text for message in pasted.parts] == ["it broke", "so did this"]
    assert pasted.application == "shop"
    assert loud_lines(logged) == ("it broke", "so did this")


def test_only_a_program_can_log_some_failures() -> None:
    def origins(text: str) -> set[Origin]:
        return {message.origin for message in possible_origins(text)}

    assert Origin.CONTAINER_LOG in origins("dial tcp 10.0.0.1:5432: connect: connection refused")
    assert Origin.CONTAINER_LOG not in origins("rpc error: code = Unknown desc = sad")
    assert Origin.CONTAINER in origins("CrashLoopBackOff: back-off 5m0s")
    assert Origin.CONTAINER not in origins("something failed")


def test_the_middle_of_a_long_text_is_not_read() -> None:
    long = "first failed\n" + "x\n" * 200_000 + "last failed\n"
    pasted = read_paste(long)
    assert pasted.is_cut
    assert loud_lines(pasted.text) == ("first failed", "last failed")


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    pasted = read_paste(text)
    assert read_paste(pasted.text).text == pasted.text or pasted.text != clean(pasted.text)
    possible_origins(pasted.text)
