"""Texts that lost their quotes, changed their case, were cut off or wrapped by a log collector."""

from __future__ import annotations

import pytest

from whysync.messages.failure import Failure, Unknown
from whysync.messages.fuzzy_match import tolerant
from whysync.messages.log_line import parse_log_line
from whysync.messages.parse import Reading, understand
from whysync.messages.patterns import ALL
from whysync.messages.patterns.apply import (
    AnnotationTooLong,
    ImmutableField,
    KindNotServed,
    NamespaceMissing,
    NamespaceTerminating,
    QuotaExceeded,
    TooLarge,
)
from whysync.messages.patterns.argocd import ArgocdDiskFull
from whysync.messages.patterns.cluster import ApiServerFailing, ClusterNotRegistered, NamespaceNotManaged
from whysync.messages.patterns.git import RepoAuthFailed, RevisionNotFound, TlsUntrusted
from whysync.messages.patterns.manifests import JsonnetFailed
from whysync.messages.patterns.operations import AutosyncWipeRefused, DuplicateResource, SharedResource
from whysync.messages.patterns.pods import DependencyMissing, FailedMount
from whysync.messages.patterns.projects import ProjectDenied
from whysync.messages.patterns.rbac import Forbidden
from whysync.messages.patterns.schema import SchemaInvalid, SchemaProblem

NOT_FOUND = 'namespaces "shop" not found'


def _only(text: str) -> Failure:
    (failure,) = understand(text).failures
    return failure


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        (NOT_FOUND, Reading.EXACT),
        ("namespaces shop not found", Reading.FOLDED),
        ('Namespaces "shop" Not Found', Reading.FOLDED),
        ("Namespaces shop not found", Reading.FOLDED),
    ],
)
def test_case_and_quotes_do_not_count(text: str, reading: Reading) -> None:
    failure = _only(text)
    assert isinstance(failure, NamespaceMissing)
    assert failure.namespace == "shop"
    assert understand(text).reading is reading


def test_a_field_error_is_recognized_in_any_case() -> None:
    failure = _only("required value: name or generatename is required")
    assert isinstance(failure, SchemaInvalid)
    assert failure.problem is SchemaProblem.REQUIRED


def test_a_name_without_quotes_ends_where_its_word_ends() -> None:
    failure = _only("Unable to resolve feature/x to a commit SHA")
    assert isinstance(failure, RevisionNotFound)
    assert failure.revision == "feature/x"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('CustomResourceDefinition "x" is invalid: metadata.annotations: Too lon', AnnotationTooLong),
        ('CustomResourceDefinition "x" is invalid: metadata.anno', AnnotationTooLong),
        ("unable to find destination server: there are no clusters with", ClusterNotRegistered),
        ("grpc: received message larger", TooLarge),
        ("namespace shop is not permitted in", ProjectDenied),
        ('Deployment.apps "web" is invalid: spec.selector: Invalid value: v1.La', ImmutableField),
        ('Job.batch "db" is invalid: spec.template: Invalid value: core.Pod{Name:"a: b", ', ImmutableField),
        ('deployments.apps "a" is forbidden: unable to create new cont', NamespaceTerminating),
        ('pods "a" is forbidden: failed quota: compute-re', QuotaExceeded),
        ('pods "a" is forbidden: error looking up service ac', DependencyMissing),
        ("failed to get secretproviderclass shop/vault, err", DependencyMissing),
        ('Error from server (NotFound): namespaces "sho', NamespaceMissing),
        ('rpc error: code = NotFound desc = cluster "https://10.0.0', ClusterNotRegistered),
        ('Failed to load live state: Namespace "shop" for Service "we', NamespaceNotManaged),
        ("Namespace shop for Service web i", NamespaceNotManaged),
        ("InvalidSpecError: cluster https://10.0.0", ClusterNotRegistered),
        ("Failed to write manifest: write /dev/shm/862955259:", ArgocdDiskFull),
        ("error: unable to recogni", KindNotServed),
        ('Get "https://git.example.com/info/refs": x509', TlsUntrusted),
        ("Deployment/web is part of applicat", SharedResource),
        ('services is forbidden: User "system:serviceaccount:argocd:argo', Forbidden),
        ("Resource apps/Deployment/shop/web appea", DuplicateResource),
    ],
)
def test_a_text_that_ends_in_the_middle_of_a_known_phrase(text: str, kind: type[Failure]) -> None:
    assert isinstance(_only(text), kind)


@pytest.mark.parametrize(
    ("detail", "kind"),
    [
        ("secr", "Secret"),
        ('configmap "shop-conf', "ConfigMap"),
        ('secret "shop" not fo', "Secret"),
        ("timeout", ""),
        ('secret "shop" is being used', ""),
    ],
)
def test_a_mount_error_that_ends_in_front_of_not_found(detail: str, kind: str) -> None:
    failure = _only(f'MountVolume.SetUp failed for volume "config" : {detail}')
    assert isinstance(failure, FailedMount)
    assert failure.missing_kind == kind


@pytest.mark.parametrize(
    "text",
    [
        "rpc error: code = Unknown desc = auth",
        "rpc error: code = Unknown desc = unknown error: remote:",
        'Error: configmap "hub-stage-con',
        "environments/prod/plat",
    ],
)
def test_too_little_of_a_phrase_is_not_guessed(text: str) -> None:
    assert isinstance(_only(text), Unknown)


@pytest.mark.parametrize(
    "line",
    [
        r'time="2026-01-01T00:00:00Z" level=error msg="namespaces \"shop\" not found" application=argocd/web',
        r'{"level":"error","msg":"namespaces \"shop\" not found","application":"argocd/web"}',
        r'time=2026-01-01T00:00:00Z level=error msg="sync failed" error="namespaces \"shop\" not found" '
        "application=web",
        "time=2026-01-01T00:00:00Z level=error msg=sync failed: namespaces shop not found application=web",
    ],
)
@pytest.mark.parametrize("condition", ["", "ComparisonError: "])
def test_a_log_line_is_parsed_into_fields(line: str, condition: str) -> None:
    parsed = parse_log_line(line)
    assert (parsed.level, parsed.application, parsed.is_loud) == ("error", "web", True)
    failure = _only(f"{condition}{line}")
    assert isinstance(failure, NamespaceMissing)
    assert failure.namespace == "shop"
    assert failure.text in f"{condition}{line}"


@pytest.mark.parametrize(
    ("line", "level", "loud"),
    [
        ("FATA[0001] 3 resources require pruning", "fatal", True),
        ("E0101 00:00:00.123456       1 reflector.go:138] failed to list *v1.Pod", "e", True),
        ('time="x" level=info msg="no error at all"', "info", False),
        ('time="x" level=info msg="Unable to delete application resources: gone"', "info", True),
        ('time="x" level=info msg="skipping auto-sync: already attempted sync"', "info", True),
        ('time="x" level=info msg="synced" type=warning', "warning", False),
        ("Skipping auto-sync: already attempted sync", "", True),
        ("listening on :8080", "", False),
        ("{not json", "", False),
    ],
)
def test_the_level_of_a_line(line: str, level: str, loud: bool) -> None:
    parsed = parse_log_line(line)
    assert (parsed.level, parsed.is_loud) == (level, loud)


def test_capitals_that_identify_a_program_count() -> None:
    failure = _only("Recovered from panic: runtime error: invalid memory address or nil pointer dereference")
    assert not isinstance(failure, JsonnetFailed)


def test_a_database_that_refuses_a_password_is_no_repository() -> None:
    assert not isinstance(_only('password authentication failed for user "shop"'), RepoAuthFailed)


def test_every_pattern_has_a_tolerant_form() -> None:
    for pattern in ALL.patterns:
        tolerant(pattern.regex)


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("rpc error: code = Unknown desc = authen", RepoAuthFailed),
        ("Failed to sync cluster https://a:6443: the server was u", ApiServerFailing),
        ("Skipping sync attempt to 82e7838f: auto-", AutosyncWipeRefused),
    ],
)
def test_the_beginning_of_one_known_phrase_is_that_phrase(text: str, failure: type[Failure]) -> None:
    assert understand(text).reading is Reading.CUT
    assert isinstance(_only(text), failure)


@pytest.mark.parametrize(
    "text",
    [
        "the server",  # several phrases begin so
        "rpc error: code = Unknown desc = fail",
        "one or more objects failed to a",  # a wrapper without its end, not `failed to add helm repository`
        "Unable to generate manifests in app: rpc error: code = Unknown desc =",
        "authors are many",
    ],
)
def test_the_beginning_of_several_phrases_is_none_of_them(text: str) -> None:
    assert all(isinstance(failure, Unknown) for failure in understand(text).failures)


def test_escaped_quotes_in_a_field_of_klog() -> None:
    line = (
        r'E0101 00:00:00.123456       1 reflector.go:205] "Failed to watch" err="failed to list *v1.Pod: '
        r"pods is forbidden: User \"ctl\" cannot list resource \"pods\" in API group \"\" at the cluster "
        r'scope" type="*v1.Pod"'
    )
    (failure,) = understand(line, of_argocd_log=True).failures
    assert isinstance(failure, Forbidden)
    assert (failure.user, failure.verb, failure.resource) == ("ctl", "list", "pods")
