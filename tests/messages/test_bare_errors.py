"""Errors that came without their object, their field or their beginning."""

from __future__ import annotations

import pytest

from whysync.messages.failure import Failure
from whysync.messages.parse import understand
from whysync.messages.patterns.apply import AnnotationTooLong, ImmutableField, TooLarge
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
