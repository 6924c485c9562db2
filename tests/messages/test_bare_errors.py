"""Errors that came without their object, their field or their beginning."""

from __future__ import annotations

import pytest

from whysync.messages.failure import Failure
from whysync.messages.log_line import parse_log_line
from whysync.messages.parse import understand
from whysync.messages.patterns.application_sets import ApplicationSetFailed
from whysync.messages.patterns.apply import AnnotationTooLong, ImmutableField, TooLarge
from whysync.messages.patterns.argocd import ArgocdCacheDown
from whysync.messages.patterns.diffs import OpenApiError
from whysync.messages.patterns.pods import OomKilled
from whysync.messages.patterns.schema import SchemaInvalid


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Too long: must have at most 262144 bytes", AnnotationTooLong),
        ("Too long: may not be more than 1048576 bytes", TooLarge),
        ("Forbidden: updates to provisioner are forbidden.", ImmutableField),
        ("Required value: pathType must be specified", SchemaInvalid),
    ],
)
def test_a_field_error_without_its_field(text: str, kind: type[Failure]) -> None:
    assert [type(failure) for failure in understand(text).failures] == [kind]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            'level=error msg="warning loading openapi schema" error="error creating gvk parser: duplicate '
            'entry for /v1, Kind=APIGroup" server="https://10.0.0.1"',
            OpenApiError,
        ),
        ("panic: unrecognized option: missingkey=fail [recovered]", ApplicationSetFailed),
        ("1:S 02 Mar 2026 03:04:05.678 # Timeout connecting to the MASTER...", ArgocdCacheDown),
        (
            "FATA[0000] rpc error: code = Unknown desc = v1alpha1.ApplicationList.Items: "
            '[]v1alpha1.Application: v1alpha1.HelmParameter.Value: ReadString: expects " or n, but found t, '
            'error found in #10 byte of ...|,"value":true},|..., bigger context ...|"value":true},|...',
            SchemaInvalid,
        ),
    ],
)
def test_a_line_of_a_component_alone(text: str, kind: type[Failure]) -> None:
    assert [type(failure) for failure in understand(text).failures] == [kind]


@pytest.mark.parametrize(
    ("line", "loud"),
    [
        ('"redis-1","1:X 02 Mar 2026 03:04:05.678 # -sdown slave 10.0.0.7:6379"', True),
        ("1:S 02 Mar 2026 03:04:05.678 * Connecting to MASTER 10.0.0.7:6379", False),
    ],
)
def test_redis_marks_its_warnings(line: str, *, loud: bool) -> None:
    assert parse_log_line(line).is_loud is loud


def test_an_http_status_is_no_field() -> None:
    failures = understand("error running the syncing routine: api error 400: Invalid value").failures
    assert not any(isinstance(failure, SchemaInvalid) for failure in failures)


@pytest.mark.parametrize(
    "text",
    [
        'failed to prepare subPath for volumeMount "conf" of container "api"',
        'The container name "/api" is already in use',
    ],
)
def test_words_of_an_optional_part_do_not_make_a_truncated_text(text: str) -> None:
    assert understand(text).first(OomKilled) is None
