"""Evidence keys: what findings of several Applications must share to be called one cause.

A rule and a cause alone say how something failed. The key says what it failed on: this webhook, this
repository, this address. Findings with different keys are different problems, even if one rule found both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from whysync.argocd.repo_server.git_url import repository_key
from whysync.diagnosis.drift.mechanism import Mechanism
from whysync.diagnosis.finding import EvidenceKey, KeyKind
from whysync.diagnosis.symptom import Side
from whysync.kubernetes.api.pointer import without_indexes
from whysync.kubernetes.field_writers import WriterKind
from whysync.messages.failure import Failure, Network, Peer
from whysync.messages.patterns.admission import AdmissionDenied, ConversionWebhookFailed, WebhookDown
from whysync.messages.patterns.apply import (
    KindNotServed,
    LimitRange,
    NamespaceMissing,
    NamespaceTerminating,
    QuotaExceeded,
)
from whysync.messages.patterns.argocd import (
    ArgocdCacheDown,
    ArgocdDiskFull,
    HealthScriptError,
    RepoServerDown,
    SettingsMalformed,
)
from whysync.messages.patterns.cluster import (
    ApiServerFailing,
    ClusterNotRegistered,
    ClusterUnreachable,
    ConnectionFailed,
)
from whysync.messages.patterns.diffs import OpenApiError
from whysync.messages.patterns.git import (
    RepoAuthFailed,
    RepoCopyBroken,
    RepoUnreachable,
    RevisionNotFound,
    TlsUntrusted,
)
from whysync.messages.patterns.helm import HelmDependency
from whysync.messages.patterns.manifests import PluginFailed
from whysync.messages.patterns.operations import ImpersonationFailed
from whysync.messages.patterns.pods import DependencyMissing, ImagePull, PullProblem
from whysync.messages.patterns.projects import (
    AppNamespaceNotPermitted,
    ArgocdDenied,
    ProjectDenied,
    ProjectMissing,
)
from whysync.messages.patterns.rbac import ClusterAuth, Forbidden

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case
    from whysync.diagnosis.finding import Finding
    from whysync.kubernetes.api.ref import Ref


def evidence_key(finding: Finding, case: Case) -> EvidenceKey:
    """The key that the rule set, else what the cited failure names, else the object of the finding."""
    key = finding.key or _of_field(finding, case) or _of_texts(finding, case) or _of_object(finding, case)
    instance = case.instance
    return msgspec.structs.replace(key, scope=f"{instance} {key.scope}".strip()) if instance else key


# --- fields that differ --------------------------------------------------------------------------------

# What a program or the API server does to every such object. Edits and mistakes in Git concern one object.
_SHARED = (
    Mechanism.BY_CONTROLLER,
    Mechanism.AUTOSCALED,
    Mechanism.INJECTED,
    Mechanism.API_DEFAULT,
    Mechanism.CRD_DEFAULT,
    Mechanism.AGGREGATED,
    Mechanism.CLOUD_ANNOTATION,
    Mechanism.TIMESTAMP,
    Mechanism.SAME_VALUE,
    Mechanism.REORDERED,
    Mechanism.CONVERTED,
    Mechanism.OMITTED_IN_CRD,
    Mechanism.DROPPED,
    Mechanism.OLD_API,
    Mechanism.LAST_APPLIED,
)


def _of_field(finding: Finding, case: Case) -> EvidenceKey | None:
    """Who writes which field; without a writer, the field of the kind."""
    if finding.side is not Side.DRIFT or not finding.field:
        return None
    place = (finding.about.key, finding.field)
    drifts = (drift for mechanism in _SHARED for drift in case.drifts_by(mechanism))
    if not any((drift.key, drift.pointer) == place for drift in drifts):
        return None
    writer, about = finding.writer, finding.about
    field = without_indexes(finding.field)
    if writer is not None and writer.kind is not WriterKind.ARGOCD:
        return EvidenceKey(kind=KeyKind.WRITER, name=f"{writer.manager} {field}")
    return EvidenceKey(kind=KeyKind.WRITER, name=f"{about.kind} {field}", detail=about.group)


# --- failures that the finding cites -------------------------------------------------------------------


def _of_texts(finding: Finding, case: Case) -> EvidenceKey | None:
    """The subject of the first cited failure that has one."""
    cited = {(one.ref, one.pointer) for one in finding.evidence}
    for reported in case.reported_failures:
        place = reported.cite(says="")
        if (place.ref, place.pointer) not in cited:
            continue
        key = key_of_failure(reported.failure, case, reported.ref or finding.about)
        if key is not None:
            return key
    return None


def key_of_failure(failure: Failure, case: Case, about: Ref) -> EvidenceKey | None:  # noqa: C901, PLR0912, PLR0915  (a table)
    """What the failure names that several apps can share; `None` for what concerns one object only."""
    cluster = _cluster(case)
    is_in_cluster = about.kind != case.application.ref.kind and bool(about.namespace)
    namespace = about.namespace if is_in_cluster else case.destination_namespace
    match failure:
        case AdmissionDenied(inner=Failure() as inner):
            return key_of_failure(inner, case, about)
        case AdmissionDenied(policy=policy, rule=rule) if policy:
            name = f"{policy}/{rule}" if rule else policy
            return EvidenceKey(kind=KeyKind.POLICY, name=name, scope=cluster, detail=failure.engine)
        case AdmissionDenied(webhook=webhook) if webhook:
            return EvidenceKey(kind=KeyKind.WEBHOOK, name=webhook, scope=cluster, detail=failure.reason)
        case WebhookDown():
            name = failure.webhook or failure.url or _place(failure.namespace, failure.service)
            return _key(KeyKind.WEBHOOK, name, cluster, failure.reason)
        case ConversionWebhookFailed():
            name = _place(failure.namespace, failure.service) or failure.url
            return _key(KeyKind.WEBHOOK, name, cluster, failure.reason)
        case RepoAuthFailed():
            return _key(KeyKind.REPOSITORY, _repository(failure.url, case))
        case RepoUnreachable(reason=Network.NOT_FOUND):
            return _key(KeyKind.REPOSITORY, _repository(failure.url, case))
        case RepoUnreachable():
            host = failure.host or _host(failure.url or _repository("", case))
            return _key(KeyKind.HOST, host, detail=failure.reason)
        case TlsUntrusted():
            host = failure.host or (_host(_repository("", case)) if failure.peer is Peer.REPOSITORY else "")
            return _key(KeyKind.HOST, host, detail=failure.reason)
        case RevisionNotFound():
            name = _repository(failure.repo, case)
            return _key(
                KeyKind.REPOSITORY, name, detail=f"{failure.chart} {failure.revision} {failure.constraint}"
            )
        case RepoCopyBroken():
            return _key(KeyKind.REPOSITORY, _repository("", case))
        case HelmDependency() if failure.repo:
            return _key(KeyKind.REPOSITORY, failure.repo, detail=f"{failure.chart} {failure.version}")
        case ConnectionFailed() if failure.host:
            port = f":{failure.port}" if failure.port is not None else ""
            return _key(KeyKind.ADDRESS, f"{failure.host}{port}", detail=failure.reason)
        case ClusterUnreachable() | ApiServerFailing():
            return _key(
                KeyKind.CLUSTER, failure.server or cluster, detail=f"{failure.reason} {failure.loading}"
            )
        case ClusterAuth():
            return _key(KeyKind.CLUSTER, failure.server or cluster)
        case ClusterNotRegistered():
            return _key(KeyKind.CLUSTER, failure.server or failure.name)
        case OpenApiError() if failure.group_version:
            return _key(KeyKind.API, failure.group_version, cluster)
        case KindNotServed():
            api = "/".join(part for part in (failure.group, failure.version) if part)
            return _key(KeyKind.API, f"{api} {failure.kind}".strip(), cluster)
        case NamespaceMissing() | NamespaceTerminating():
            return _key(KeyKind.NAMESPACE, failure.namespace, cluster)
        case QuotaExceeded():
            name = _place(namespace, failure.quota) if failure.quota else ""
            return _key(KeyKind.QUOTA, name, cluster, failure.limited or ",".join(failure.must_specify))
        case LimitRange():
            detail = f"{failure.bound} {failure.amount} {failure.per} {failure.limit}"
            return _key(KeyKind.LIMIT, namespace, cluster, detail)
        case Forbidden() if failure.user:
            asked = f"{failure.verb} {failure.resource}.{failure.group} {failure.namespace} {failure.detail}"
            return _key(KeyKind.ACCOUNT, failure.user, cluster, asked)
        case ImpersonationFailed():
            return _key(KeyKind.PROJECT, case.app.project, failure.server, failure.namespace)
        case ArgocdDenied() if failure.subject:
            return _key(KeyKind.ACCOUNT, failure.subject, detail=f"{failure.action} {failure.resource}")
        case ProjectMissing():
            return _key(KeyKind.PROJECT, failure.project or case.app.project)
        case ProjectDenied():
            value = failure.value or f"{failure.group} {failure.kind} {failure.server} {failure.namespace}"
            return _key(
                KeyKind.PROJECT, failure.project or case.app.project, detail=f"{failure.what} {value}"
            )
        case AppNamespaceNotPermitted():
            return _key(KeyKind.PROJECT, failure.project or case.app.project, detail=failure.namespace)
        case RepoServerDown():
            reason = "killed" if failure.killed else failure.reason
            return _key(KeyKind.COMPONENT, "repo-server", detail=reason)
        case ArgocdCacheDown():
            return _key(KeyKind.COMPONENT, "Redis", detail=failure.reason or failure.detail)
        case ArgocdDiskFull():
            return _key(KeyKind.COMPONENT, "disk of the repo-server")
        case PluginFailed():
            return _key(KeyKind.COMPONENT, failure.plugin, detail=failure.detail)
        case SettingsMalformed():
            return _key(KeyKind.SETTING, failure.key, detail=failure.detail)
        case HealthScriptError():
            return _key(KeyKind.API, failure.kind, detail=f"{failure.line} {failure.detail}")
        case ImagePull():
            return image_key(case, failure.image, failure.reason)
        case DependencyMissing() if failure.name:
            name = f"{failure.kind} {_place(failure.namespace or namespace, failure.name)}"
            return _key(KeyKind.OBJECT, name, cluster, failure.key)
        case _:
            return None


def _key(kind: KeyKind, name: str, scope: str = "", detail: str = "") -> EvidenceKey | None:
    return EvidenceKey(kind=kind, name=name, scope=scope, detail=detail.strip()) if name else None


# What the registry answers whatever the image is; the other problems are those of one image.
_OF_REGISTRY = frozenset({PullProblem.TOO_MANY_REQUESTS, PullProblem.UNREACHABLE, PullProblem.TLS})


def image_key(
    case: Case, image: str, reason: PullProblem, secrets: tuple[str, ...] = ()
) -> EvidenceKey | None:
    """The registry if it refuses every image, or rejects these imagePullSecrets; else the image."""
    cluster = _cluster(case)
    if image and (reason in _OF_REGISTRY or (reason is PullProblem.UNAUTHORIZED and secrets)):
        used = " ".join((reason, *secrets)) if reason is PullProblem.UNAUTHORIZED else reason
        return _key(KeyKind.REGISTRY, registry_of(image), cluster, used)
    return _key(KeyKind.IMAGE, image, cluster, reason)


def registry_of(image: str) -> str:
    """The host of an image: Docker Hub if its first part is not a host name, as in container runtimes."""
    host, slash, _ = image.partition("/")
    is_host = bool(slash) and ("." in host or ":" in host or host == "localhost")
    return host if is_host else "docker.io"


def _repository(url: str, case: Case) -> str:
    """The repository that the text names, else the app's own if it has only one."""
    if url:
        return repository_key(url)
    urls = {repository_key(source.repo_url) for source in case.app.sources if source.repo_url}
    return urls.pop() if len(urls) == 1 else ""


def _host(url: str) -> str:
    host = urlsplit(url if "//" in url else f"//{url}").netloc.rpartition("@")[2]
    return host.lower()


def _place(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace and name else name


def _cluster(case: Case) -> str:
    destination = case.app.spec.destination
    return destination.server or destination.name


# --- the object itself ---------------------------------------------------------------------------------


def _of_object(finding: Finding, case: Case) -> EvidenceKey:
    """Objects of Argo CD are in its own cluster, all others in the cluster that the app deploys to."""
    about = finding.about
    settings = {manifest.ref.key for manifest in case.index.snapshot.settings}
    is_argocds = about.key in settings or about.kind in ("Application", "ApplicationSet", "AppProject")
    scope = "" if is_argocds else about.cluster or _cluster(case)
    name = f"{about} {finding.field}" if finding.field else str(about)
    return EvidenceKey(kind=KeyKind.OBJECT, name=name, scope=scope, detail=about.group)
