"""Argo CD cannot parse one of its settings.

## What happens
One malformed entry of `argocd-cm` (a health check, an ignore rule, a list of exclusions) can fail every
comparison: sync and health become Unknown, often for all Applications at once. An entry of
`argocd-notifications-cm` that is missing or wrong only stops notifications.

## How whysync knows
Argo CD names the entry that it cannot parse, or reports that one of its own ConfigMaps or Secrets
(`argocd-cm`, `argocd-secret`) does not exist. Or it reports nothing: sync and health are Unknown, without
resources and conditions; whysync then parses `argocd-cm` as Argo CD does.

## Fix
Correct the entry, or restore the object with its labels. Argo CD reloads its settings automatically.

## When it is something else
If a Lua health check is loaded but fails: health-script-error.
"""

import json
from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.diagnosis.symptom import APP_UNHEALTHY, NO_CONDITION
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import child
from whysync.messages.patterns.argocd import NOTIFICATIONS, SettingsMalformed, SettingsMissing
from whysync.queries.commands import argocd_namespace, kubectl, refresh, with_comment
from whysync.queries.group_failures import FailureGroup, grouped


@rule(cause="settings-malformed", since="0.1")
def settings_malformed(case: Case) -> Iterator[Finding]:
    yield from _unreported(case)
    yield from _missing(case)
    for group in grouped(case, SettingsMalformed, by=lambda failure: (failure.key, failure.recipient)):
        failure = group.failure
        name = failure.config_map
        settings = case.settings(name)
        if failure.recipient:
            yield _not_sent(case, group)
            continue
        yield Finding(
            about=settings.ref if settings else case.application.ref,
            field=child("/data", failure.key) if failure.key and settings else None,
            explains=group.explains,
            severity=Severity.WARNING if name == NOTIFICATIONS else Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"Argo CD cannot {'use' if name == NOTIFICATIONS else 'parse'} its setting "
            f"{failure.key or f'in {name}'}" + (f": {one_line(failure.detail)}" if failure.detail else ""),
            root=one_line(failure.detail) or None,
            evidence=(*group.cited(says="error of the parser"), *_entry(settings, failure.key)),
            fixes=(
                Fix.run(
                    with_comment(f"kubectl -n {argocd_namespace(case)} edit configmap {name}", failure.key),
                    refresh(case),
                    title=f"Correct {failure.key or 'the entry'} in {name}; Argo CD reloads it by itself",
                ),
                *_remove_entry(case, failure.key if settings and name != NOTIFICATIONS else ""),
            ),
        )


def _not_sent(case: Case, group: FailureGroup[SettingsMalformed]) -> Finding:
    """The service answered, or was not reached: its token, the channel, the network."""
    failure, namespace = group.failure, argocd_namespace(case)
    return Finding(
        about=case.application.ref,
        explains=group.explains,
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        verdict=f"Argo CD cannot send a notification to {failure.recipient}: {one_line(failure.detail)}",
        root=one_line(failure.detail),
        evidence=group.cited(says="error of the notifications controller"),
        fixes=(
            Fix.run(
                with_comment(
                    kubectl("get", "configmap", NOTIFICATIONS, "-o", "yaml", namespace=namespace),
                    "the service; its token is in Secret argocd-notifications-secret",
                ),
                kubectl(
                    "logs",
                    "-l",
                    "app.kubernetes.io/name=argocd-notifications-controller",
                    "--tail=100",
                    namespace=namespace,
                ),
                title="Correct what the service reports: its token, the recipient, or the template",
            ),
        ),
    )


def _missing(case: Case) -> Iterator[Finding]:
    for group in grouped(case, SettingsMissing, by=lambda failure: (failure.kind, failure.name)):
        kind, name = group.failure.kind, group.failure.name
        namespace = argocd_namespace(case)
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{kind} {name}, which Argo CD needs, does not exist in its namespace",
            evidence=group.cited(says="reported by Argo CD"),
            fixes=(
                Fix.run(
                    with_comment(
                        kubectl("get", kind.lower(), name, namespace=namespace),
                        "missing, or in another namespace?",
                    ),
                    with_comment(
                        kubectl(
                            "get", kind.lower(), "-l", "app.kubernetes.io/part-of=argocd", namespace=namespace
                        ),
                        "Argo CD reads only objects with this label",
                    ),
                    title=f"Restore {name} from the manifests that installed Argo CD, with its labels",
                ),
            ),
        )


def _unreported(case: Case) -> Iterator[Finding]:
    """If Argo CD cannot parse its settings, it may compare nothing and write no condition."""
    status = case.app.status
    if NO_CONDITION not in case.symptom_ids or status.resources or status.health.status != "Unknown":
        return
    settings, problem = case.settings("argocd-cm"), case.argocd.comparison_problem
    if settings is not None and problem is None:
        return  # they are valid: already fixed, or another cause
    unknown = (NO_CONDITION, APP_UNHEALTHY) if APP_UNHEALTHY in case.symptom_ids else (NO_CONDITION,)
    yield Finding(
        about=settings.ref if settings is not None else case.application.ref,
        field=child("/data", problem.key) if problem is not None and problem.key else None,
        explains=unknown,
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH if problem is not None else Confidence.MEDIUM,
        verdict=f"Argo CD cannot parse its setting {problem.key}: {one_line(problem.message)}"
        if problem is not None
        else "sync and health are Unknown without a condition: Argo CD probably cannot parse argocd-cm",
        root=one_line(problem.message) if problem is not None else None,
        evidence=(
            cite(case.application, "/status/sync/status", says="not compared"),
            cite(case.application, "/status/conditions", says="no condition reports the reason"),
            *_entry(settings, problem.key if problem is not None else ""),
        ),
        fixes=(
            Fix.run(
                with_comment(
                    f"kubectl -n {argocd_namespace(case)} edit configmap argocd-cm",
                    problem.key if problem is not None else "every entry must be valid YAML",
                ),
                refresh(case),
                title=f"Correct {problem.key if problem is not None else 'the invalid entry'} in argocd-cm;"
                " Argo CD reloads it by itself",
            ),
            *_remove_entry(case, problem.key if settings is not None and problem is not None else ""),
        ),
    )


def _remove_entry(case: Case, key: str) -> Iterator[Fix]:
    """Usually the entry was just added: removing it restores the previous state."""
    if key:
        patch = json.dumps([{"op": "remove", "path": child("/data", key)}])
        yield Fix.run(
            kubectl("patch", "configmap", "argocd-cm", "--type=json", "-p", patch,
                    namespace=argocd_namespace(case)),
            refresh(case),
            title="For now, remove the entry: Argo CD then works without this setting",
            risk="the setting has no effect until it is corrected",
        )  # fmt: skip


def _entry(settings: Manifest | None, key: str) -> Iterator[Evidence]:
    if settings is not None and key:
        yield cite(settings, child("/data", key), says="current entry")
