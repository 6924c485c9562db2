"""The messages of real cases: what they name must fit the cause that the people there found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from tests.shared import CORPUS, needs_shared
from whysync.json_tree import Json, fields, items, text
from whysync.messages.failure import Failure, Unknown
from whysync.messages.log_patterns import LogReason
from whysync.messages.logs import log_failure
from whysync.messages.parse import understand, within
from whysync.messages.patterns.admission import AdmissionDenied, ConversionWebhookFailed, WebhookDown
from whysync.messages.patterns.apply import (
    AnnotationTooLong,
    ConflictModified,
    FinalizerStuck,
    ImmutableField,
    KindNotServed,
    LimitRange,
    NamespaceMissing,
    NamespaceTerminating,
    QuotaExceeded,
    SsaConflict,
    TooLarge,
)
from whysync.messages.patterns.argocd import (
    ArgocdCacheDown,
    ArgocdDiskFull,
    HealthScriptError,
    RepoServerDown,
)
from whysync.messages.patterns.cluster import ClusterNotRegistered, ClusterUnreachable, NamespaceNotManaged
from whysync.messages.patterns.diffs import DiffSchemaError, OpenApiError
from whysync.messages.patterns.git import (
    PathNotFound,
    RepoAuthFailed,
    RepoUnreachable,
    RevisionNotFound,
    TlsUntrusted,
)
from whysync.messages.patterns.helm import HelmDependency, HelmRender
from whysync.messages.patterns.manifests import GenerationTimeout, InvalidYaml, KustomizeBuild, PluginFailed
from whysync.messages.patterns.operations import (
    AutosyncSkipped,
    Awaited,
    DuplicateResource,
    ExcludedResource,
    PruneSkipped,
    SharedResource,
    SyncWindowBlocked,
    Waiting,
)
from whysync.messages.patterns.pods import (
    BackoffLimitExceeded,
    CrashLoop,
    DependencyMissing,
    ImagePull,
    ProbeFailed,
    ProgressDeadline,
    VolumePending,
)
from whysync.messages.patterns.projects import (
    AppNamespaceNotPermitted,
    ArgocdDenied,
    ProjectDenied,
    ProjectMissing,
)
from whysync.messages.patterns.rbac import ClusterAuth, Forbidden
from whysync.messages.patterns.schema import SchemaInvalid, SecretEncoding

# Which causes a failure may stand for. A text seldom tells more than its mechanism: waiting for a hook may be
# any of the reasons why hooks hang.
CAUSES: dict[type[Failure], set[str]] = {
    RepoAuthFailed: {"repo-auth"},
    RepoUnreachable: {"repo-unreachable"},
    TlsUntrusted: {"tls-trust"},
    RevisionNotFound: {"revision-not-found"},
    PathNotFound: {"path-not-found"},
    HelmRender: {"helm-render"},
    HelmDependency: {"helm-dependency"},
    KustomizeBuild: {"kustomize-build"},
    PluginFailed: {"plugin"},
    InvalidYaml: {"invalid-yaml"},
    GenerationTimeout: {"generation-timeout"},
    RepoServerDown: {"repo-server-down"},
    ArgocdCacheDown: {"argocd-cache-down"},
    ArgocdDiskFull: {"argocd-disk-full"},
    ClusterUnreachable: {"cluster-unreachable"},
    ClusterAuth: {"cluster-auth"},
    ClusterNotRegistered: {"cluster-not-registered"},
    NamespaceNotManaged: {"namespace-not-managed"},
    ProjectMissing: {"project-missing"},
    AppNamespaceNotPermitted: {"app-namespace-disabled"},
    DiffSchemaError: {"diff-schema-error"},
    OpenApiError: {"openapi-error"},
    ConversionWebhookFailed: {"conversion-webhook-failed"},
    TooLarge: {"resource-too-large"},
    ImmutableField: {"immutable-field"},
    KindNotServed: {"missing-crd", "deprecated-api"},
    AdmissionDenied: {"admission-denied"},
    WebhookDown: {"webhook-down"},
    Forbidden: {"k8s-rbac"},
    ArgocdDenied: {"argocd-rbac"},
    ProjectDenied: {"project-denied"},
    NamespaceMissing: {"namespace-missing"},
    NamespaceTerminating: {"namespace-terminating"},
    QuotaExceeded: {"quota"},
    LimitRange: {"limit-range"},
    DependencyMissing: {"dependency-missing"},
    SchemaInvalid: {"schema-invalid"},
    AnnotationTooLong: {"annotation-too-long"},
    SsaConflict: {"ssa-conflict"},
    ConflictModified: {"conflict-modified", "last-applied"},
    SharedResource: {"shared-resource", "shared-resource-fail", "tracking-conflict"},
    DuplicateResource: {"duplicate-resource"},
    ExcludedResource: {"excluded-resource"},
    SyncWindowBlocked: {"sync-window"},
    AutosyncSkipped: {"autosync-given-up"},
    PruneSkipped: {"pending-prune"},
    HealthScriptError: {"health-script-error"},
    SecretEncoding: {"secret-encoding"},
    FinalizerStuck: {"finalizer-stuck"},
    ImagePull: {"image-pull"},
    CrashLoop: {"crashloop"},
    ProbeFailed: {"probe-failing", "crashloop"},
    BackoffLimitExceeded: {"hook-failed"},
    ProgressDeadline: {"degraded-workload"},
    VolumePending: {"pvc-pending"},
}
WAITS = {
    Awaited.HOOK: {"hook-stuck"},
    Awaited.HEALTH: {"wave-stalled", "suspended", "lb-pending", "pvc-pending", "no-health-check"},
    Awaited.DELETION: {"finalizer-stuck", "prune-blocked"},
    Awaited.PRUNE_CONFIRMATION: {"prune-blocked"},
}
OF_LOGS = {"hook-failed", "crashloop"}


class Case(NamedTuple):
    id: str
    causes: set[str]
    texts: tuple[str, ...]
    log: str


def cases() -> Iterator[Case]:
    with (CORPUS / "cases.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            case: Json = json.loads(line)
            body = fields(case)
            evidence = fields(body.get("evidence"))
            all_reported = [
                evidence.get("condition"),
                evidence.get("operation"),
                *items(evidence.get("events")),
                *items(evidence.get("resources")),
            ]
            texts = tuple(
                message for reported in all_reported if (message := text(fields(reported).get("message")))
            )
            causes = {text(body.get("cause")), *map(text, items(body.get("also_acceptable")))}
            yield Case(text(body.get("id")), causes, texts, text(evidence.get("logs")))


def causes_of(case: Case) -> set[str]:
    causes: set[str] = set()
    for message in (*case.texts, case.log):
        for failure in understand(message).failures:
            for inner in within(failure):
                causes |= WAITS[inner.what] if isinstance(inner, Waiting) else CAUSES.get(type(inner), set())
    line = log_failure(case.log.split("\n"))
    if line and line.reason is not LogReason.ERROR:
        causes |= OF_LOGS
    return causes


@needs_shared
def test_failures_fit_the_causes_that_people_found() -> None:
    causes_by_case = [(case, causes_of(case)) for case in cases()]
    classified = [(case, causes) for case, causes in causes_by_case if causes]
    wrong = [
        (case.id, sorted(case.causes), sorted(causes))
        for case, causes in classified
        if not case.causes & causes
    ]
    assert len(classified) >= 130
    assert not wrong


@needs_shared
def test_few_messages_of_conditions_and_operations_stay_unknown() -> None:
    texts = [message for case in cases() for message in case.texts]
    unknown = [
        message
        for message in texts
        if any(isinstance(failure, Unknown) for failure in understand(message).failures)
    ]
    assert len(unknown) <= 0.03 * len(texts), unknown
