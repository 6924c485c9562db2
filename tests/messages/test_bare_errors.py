"""Errors that came without their object, their field or their beginning."""

from __future__ import annotations

import pytest

from whysync.messages.failed_step import Family
from whysync.messages.failure import Failure
from whysync.messages.infer_family import FamilyFailure
from whysync.messages.log_line import parse_log_line
from whysync.messages.parse import understand
from whysync.messages.patterns.admission import WebhookDown
from whysync.messages.patterns.application_sets import ApplicationSetFailed
from whysync.messages.patterns.apply import AnnotationTooLong, ImmutableField, TooLarge
from whysync.messages.patterns.argocd import ArgocdCacheDown
from whysync.messages.patterns.diffs import OpenApiError
from whysync.messages.patterns.git import RepoUnreachable
from whysync.messages.patterns.pods import CrashLoop, FailedMount, OomKilled
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


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            "Internal error occurred: failed calling webhook vet.example.com: failed to call webhook: the"
            " server could not find the requested resource",
            WebhookDown,
        ),
        (
            "failed calling webhook vet.example.com: failed to call webhook: Post https://vet.web.svc:443/vet:"
            " tls: failed to verify certificate: x509: certificate signed by unknown authority",
            WebhookDown,
        ),
        (
            "fatal: unable to access https://git.example.com/web/: Failed to connect to git.example.com port"
            " 443 after 130 ms: Connection refused",
            RepoUnreachable,
        ),
    ],
)
def test_a_text_that_lost_its_quotes_keeps_its_subject(text: str, kind: type[Failure]) -> None:
    assert understand(text).first(kind) is not None


def test_a_program_that_the_kernel_cannot_run_crashes_its_container() -> None:
    message = understand("standard_init_linux.go:228: exec user process caused: exec format error")
    assert message.first(CrashLoop) is not None


@pytest.mark.parametrize(
    ("detail", "kind"),
    [
        ("configmap not found", "ConfigMap"),
        ("references non-existent secret key: tls.key", "Secret"),
        ("mount failed: exit status 32", ""),
    ],
)
def test_the_object_that_a_volume_lacks(detail: str, kind: str) -> None:
    assert FailedMount(text=detail, volume="conf", detail=detail).missing_kind == kind


@pytest.mark.parametrize(
    ("line", "loud"),
    [
        (
            'level=info msg="finished unary call" error="the spec is invalid" grpc.code=InvalidArgument',
            True,
        ),
        ('level=info msg="finished unary call" error="app not found" grpc.code=NotFound', False),
        ('level=info msg="Basic comparison settings cannot be loaded, using unknown comparison: yaml"', True),
        ('level=info msg="Comparing app state"', False),
        ('level=debug msg="Failed to execute condition of trigger on-sync: it is not configured"', True),
        (
            'level=info msg="finished call" error="invalid session: Failed to query provider"'
            " grpc.code=Unauthenticated",
            True,
        ),
        ('level=warning msg="ApplicationSet previews contains unrecognized generators: pullRequest"', True),
    ],
)
def test_failures_that_argocd_logs_at_level_info(line: str, *, loud: bool) -> None:
    assert parse_log_line(line).is_loud is loud


def test_a_capital_error_is_not_kubectls() -> None:
    text = "ComparisonError: Error: failed to fetch https://charts.example.com/index.yaml : 403 Forbidden"
    (failure,) = understand(text).failures
    assert isinstance(failure, FamilyFailure)
    assert failure.family is Family.REPOSITORY_ACCESS
