"""The messages of real cases: what they name must fit the cause that the people there found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from tests.shared import CORPUS, needs_shared
from whysync.contracts.tree import Json, fields, items, text
from whysync.semantics import messages
from whysync.semantics.messages import Awaited, Failure, LogReason, Waiting, log_failure, understand, within

# Which causes a failure may stand for. A text seldom tells more than its mechanism: waiting for a hook may be
# any of the reasons why hooks hang.
CAUSES: dict[type[Failure], set[str]] = {
    messages.RepoAuthFailed: {"repo-auth"},
    messages.RepoUnreachable: {"repo-unreachable"},
    messages.TlsUntrusted: {"tls-trust"},
    messages.RevisionNotFound: {"revision-not-found"},
    messages.PathNotFound: {"path-not-found"},
    messages.HelmRender: {"helm-render"},
    messages.HelmDependency: {"helm-dependency"},
    messages.KustomizeBuild: {"kustomize-build"},
    messages.PluginFailed: {"plugin"},
    messages.InvalidYaml: {"invalid-yaml"},
    messages.GenerationTimeout: {"generation-timeout"},
    messages.RepoServerDown: {"repo-server-down"},
    messages.ArgocdCacheDown: {"argocd-cache-down"},
    messages.ArgocdDiskFull: {"argocd-disk-full"},
    messages.ClusterUnreachable: {"cluster-unreachable"},
    messages.ClusterAuth: {"cluster-auth"},
    messages.ClusterNotRegistered: {"cluster-not-registered"},
    messages.NamespaceNotManaged: {"namespace-not-managed"},
    messages.ProjectMissing: {"project-missing"},
    messages.AppNamespaceNotPermitted: {"app-namespace-disabled"},
    messages.DiffSchemaError: {"diff-schema-error"},
    messages.OpenApiError: {"openapi-error"},
    messages.ConversionWebhookFailed: {"conversion-webhook-failed"},
    messages.TooLarge: {"resource-too-large"},
    messages.ImmutableField: {"immutable-field"},
    messages.KindNotServed: {"missing-crd", "deprecated-api"},
    messages.AdmissionDenied: {"admission-denied"},
    messages.WebhookDown: {"webhook-down"},
    messages.Forbidden: {"k8s-rbac"},
    messages.ArgocdDenied: {"argocd-rbac"},
    messages.ProjectDenied: {"project-denied"},
    messages.NamespaceMissing: {"namespace-missing"},
    messages.NamespaceTerminating: {"namespace-terminating"},
    messages.QuotaExceeded: {"quota"},
    messages.LimitRange: {"limit-range"},
    messages.DependencyMissing: {"dependency-missing"},
    messages.SchemaInvalid: {"schema-invalid"},
    messages.AnnotationTooLong: {"annotation-too-long"},
    messages.SsaConflict: {"ssa-conflict"},
    messages.ConflictModified: {"conflict-modified", "last-applied"},
    messages.SharedResource: {"shared-resource", "shared-resource-fail", "tracking-conflict"},
    messages.DuplicateResource: {"duplicate-resource"},
    messages.ExcludedResource: {"excluded-resource"},
    messages.SyncWindowBlocked: {"sync-window"},
    messages.AutosyncSkipped: {"autosync-given-up"},
    messages.PruneSkipped: {"pending-prune"},
    messages.HealthScriptError: {"health-script-error"},
    messages.SecretEncoding: {"secret-encoding"},
    messages.FinalizerStuck: {"finalizer-stuck"},
    messages.ImagePull: {"image-pull"},
    messages.CrashLoop: {"crashloop"},
    messages.ProbeFailed: {"probe-failing", "crashloop"},
    messages.BackoffLimitExceeded: {"hook-failed"},
    messages.ProgressDeadline: {"degraded-workload"},
    messages.VolumePending: {"pvc-pending"},
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
            said = [
                evidence.get("condition"),
                evidence.get("operation"),
                *items(evidence.get("events")),
                *items(evidence.get("resources")),
            ]
            texts = tuple(message for one in said if (message := text(fields(one).get("message"))))
            causes = {text(body.get("cause")), *map(text, items(body.get("also_acceptable")))}
            yield Case(text(body.get("id")), causes, texts, text(evidence.get("logs")))


def causes_of(case: Case) -> set[str]:
    found: set[str] = set()
    for message in (*case.texts, case.log):
        for failure in understand(message).failures:
            for one in within(failure):
                found |= WAITS[one.what] if isinstance(one, Waiting) else CAUSES.get(type(one), set())
    line = log_failure(case.log.split("\n"))
    if line and line.reason is not LogReason.ERROR:
        found |= OF_LOGS
    return found


@needs_shared
def test_failures_fit_the_causes_that_people_found() -> None:
    named = [(case, causes_of(case)) for case in cases()]
    spoken = [(case, found) for case, found in named if found]
    wrong = [
        (case.id, sorted(case.causes), sorted(found)) for case, found in spoken if not case.causes & found
    ]
    assert len(spoken) >= 130
    assert not wrong


@needs_shared
def test_few_messages_of_conditions_and_operations_stay_unknown() -> None:
    texts = [message for case in cases() for message in case.texts]
    unknown = [
        message
        for message in texts
        if any(isinstance(failure, messages.Unknown) for failure in understand(message).failures)
    ]
    assert len(unknown) <= 0.03 * len(texts), unknown
