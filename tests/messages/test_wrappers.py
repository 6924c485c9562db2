"""Wrappers come off in order, and several reasons come apart."""

from __future__ import annotations

import pytest

from whysync.messages.failure import Unknown
from whysync.messages.parse import understand
from whysync.messages.patterns.admission import AdmissionDenied
from whysync.messages.patterns.apply import ImmutableField, KindNotServed, NamespaceMissing, QuotaExceeded
from whysync.messages.patterns.git import PathNotFound
from whysync.messages.patterns.projects import ProjectDenied, ProjectMissing
from whysync.messages.patterns.schema import SchemaInvalid
from whysync.messages.wrappers import LayerKind


def test_wrappers_come_off_outermost_first() -> None:
    message = understand(
        "ComparisonError: Failed to load target state: failed to generate manifest for source 2 of "
        "3: rpc error: code = Unknown "
        "desc = Manifest generation error (cached): `kustomize build /x` failed exit status 1: "
        "Error: nonsense"
    )
    assert [layer.kind for layer in message.layers] == [
        LayerKind.COMPARISON_ERROR,
        LayerKind.LOAD_TARGET_STATE,
        LayerKind.SOURCE_N_OF_M,
        LayerKind.RPC,
        LayerKind.CACHED,
        LayerKind.COMMAND_FAILED,
    ]
    _, _, source, rpc, _, command = message.layers
    assert source.index == 2
    assert rpc.code == "Unknown"
    assert (command.command, command.exit_code) == ("kustomize build /x", 1)
    assert message.cached
    assert message.rest == "Error: nonsense"


@pytest.mark.parametrize(
    ("text", "revision"),
    [
        ("Failed last sync attempt to [4b825dc]: one or more objects failed to apply", "4b825dc"),
        ("Failed sync attempt to 4b825dc: one or more objects failed to apply", "4b825dc"),
        ("Failed sync attempt to : one or more objects failed to apply", None),
        ("Sync operation to 4b825dc failed: one or more objects failed to apply (dry run)", "4b825dc"),
        ("one or more objects failed to apply", None),
    ],
)
def test_the_revision_of_a_failed_sync(text: str, revision: str | None) -> None:
    message = understand(text)
    assert message.revision == revision
    assert message.failures == ()


@pytest.mark.parametrize(
    ("text", "retries", "rest"),
    [
        ('namespaces "x" not found (retried 5 times).', 5, 'namespaces "x" not found'),
        ('namespaces "x" not found. Retrying attempt #2 at 9:41AM.', 2, 'namespaces "x" not found'),
        ("Retrying operation. Attempt #3", 3, ""),
        ("one or more objects failed to apply, reason: ... Retrying attempt #4", 4, ""),
        ('namespaces "x" not found', None, 'namespaces "x" not found'),
    ],
)
def test_retries(text: str, retries: int | None, rest: str) -> None:
    message = understand(text)
    assert (message.retries, message.rest) == (retries, rest)


def test_retrying_keeps_the_time() -> None:
    layer = understand("one or more objects failed to apply. Retrying attempt #2 at 9:41AM.").layers[-1]
    assert (layer.kind, layer.attempt) == (LayerKind.RETRYING, 2)


def test_reasons_joined_by_commas_come_apart() -> None:
    message = understand(
        'one or more objects failed to apply, reason: Deployment.apps "a" is invalid: spec.selector: '
        "Invalid value: v1.Label"
        'Selector{A:"b", C:"d"}: field is immutable,admission webhook "w" denied the request: no, '
        'really, not,namespaces "n" not '
        'found,namespaces "n" not found (retried 2 times).'
    )
    assert [type(failure) for failure in message.failures] == [
        ImmutableField,
        AdmissionDenied,
        NamespaceMissing,
    ]
    denied = message.first(AdmissionDenied)
    assert denied is not None
    assert denied.reason == "no, really, not"
    assert message.retries == 2


def test_a_comma_inside_a_reason_separates_nothing() -> None:
    (failure,) = understand(
        'one or more objects failed to apply, reason: pods "p" is forbidden: failed quota: q: must '
        "specify limits.cpu,"
        "limits.memory"
    ).failures
    assert isinstance(failure, QuotaExceeded)
    assert failure.must_specify == ("limits.cpu", "limits.memory")


def test_tasks_that_are_not_valid() -> None:
    failures = understand(
        "one or more synchronization tasks are not valid: resource :Namespace is not permitted in "
        "project p; the server could "
        "not find the requested resource"
    ).failures
    assert [type(failure) for failure in failures] == [ProjectDenied, KindNotServed]


def test_conditions_in_one_operation_message() -> None:
    message = understand(
        "ComparisonError: Failed to load target state: rpc error: code = Unknown desc = a/b: app "
        "path does not exist;"
        "InvalidSpecError: Application referencing project p which does not exist"
    )
    assert [type(failure) for failure in message.failures] == [PathNotFound, ProjectMissing]
    assert LayerKind.INVALID_SPEC_ERROR in [layer.kind for layer in message.layers]


def test_a_second_line_of_sync_fail_hooks() -> None:
    message = understand(
        'one or more objects failed to apply, reason: namespaces "n" not found\none or more SyncFail '
        "hooks failed, reason: "
        'Job.batch "j" is invalid: spec.template: Required value'
    )
    assert [type(failure) for failure in message.failures] == [NamespaceMissing, SchemaInvalid]
    assert LayerKind.SYNC_FAIL_HOOKS in [layer.kind for layer in message.layers]


def test_escaped_quotes_of_a_log_are_read_and_cited_as_written() -> None:
    text = r'level=error msg="namespaces \"shop\" not found"'
    (failure,) = understand(text).failures
    assert isinstance(failure, NamespaceMissing)
    assert failure.namespace == "shop"
    assert failure.text in text


def test_what_is_not_understood_is_said_so() -> None:
    (failure,) = understand("rpc error: code = Unknown desc = the moon is in the wrong house").failures
    assert failure == Unknown(text="the moon is in the wrong house")
