"""kubectl's errors, cleaned as Argo CD cleans them."""

from __future__ import annotations

import pytest

from whysync.argocd.sync.kubectl.client import message_of
from whysync.argocd.sync.kubectl.output import clean_kubectl_output, join_kubectl_output
from whysync.kubernetes.apiserver.protocol import Answer


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (' error when creating "/tmp/1": pods "x" is forbidden ', 'pods "x" is forbidden'),
        ('error: error validating "STDIN": error validating data: x', "error validating data: x"),
        (
            "data is bad; if you choose to ignore these errors, turn validation off with --validate=false",
            "data is bad",
        ),
        ('error when applying patch:\n{}\nto:\nResource\nfor: "/tmp/1": is invalid', "is invalid"),
        ('error when patching "/tmp/1": "map[a:b c:map[]]": bad', 'error when patching "/tmp/1": "": bad'),
        ('error when deleting "/tmp/1": not found', 'error when deleting "/tmp/1": not found'),
        ("first line map[a:\nsecond] line", "first line map[a:\nsecond] line"),
    ],
)
def test_what_goes_and_what_stays(error: str, shown: str) -> None:
    assert clean_kubectl_output(error) == shown


def test_warnings_stand_behind_what_was_printed() -> None:
    assert join_kubectl_output("x created\n") == "x created"
    assert join_kubectl_output("x created\n", "Warning: y\n") == "x created. Warning: y"
    assert join_kubectl_output("", "Warning: y\n") == "Warning: y"


def test_answers_that_are_no_status() -> None:
    assert message_of(Answer(code=404, text="404 page not found\n")) == (
        "the server could not find the requested resource"
    )
    assert message_of(Answer(code=401)) == "the server has asked for the client to provide credentials"
    assert message_of(Answer(code=502, text="bad gateway")) == (
        'an error on the server ("bad gateway") has prevented the request from succeeding'
    )
