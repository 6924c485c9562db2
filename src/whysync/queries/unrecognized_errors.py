"""Findings for error texts of which only the family is recognized: the step that failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple, cast

from msgspec.structs import replace

from whysync.diagnosis.evidence import cite
from whysync.diagnosis.finding import Confidence, Finding, Severity
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.owning_resource import owning_row
from whysync.diagnosis.sentences import one_line
from whysync.diagnosis.symptom import Side, SymptomId, SymptomKind
from whysync.kubernetes.api.ref import Ref
from whysync.messages.failed_step import Family
from whysync.messages.failure import Unknown
from whysync.messages.infer_family import Component, FamilyFailure
from whysync.messages.network import Network, reason_of, url_in
from whysync.messages.patterns.git import repository_url
from whysync.messages.wrappers import LayerKind
from whysync.queries.commands import (
    CONTROLLER,
    app_argument,
    argocd_namespace,
    hard_refresh,
    kubectl,
    on_object,
    refresh,
    restart,
    sync,
    with_comment,
)
from whysync.queries.group_failures import FailureGroup, grouped
from whysync.queries.named_objects import placed
from whysync.queries.sources import (
    failing_source,
    is_oci,
    is_of_source,
    oci_chart,
    references_in_git,
    rendering_tool,
    repository_address,
)

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case
    from whysync.diagnosis.failures import ReportedFailure

Group = FailureGroup[FamilyFailure]
_LONGEST_QUOTE = 300


class Explanation(NamedTuple):
    """`sentence` may name `{app}`, `{object}`, `{repo}` and `{cluster}`; `commands` come next."""

    cause: str
    sentence: str
    commands: Callable[[Case, Group], tuple[str, ...]]
    title: str


def family_findings(case: Case, side: Side) -> Iterator[Finding]:
    """One finding for each text on this side of which only the family is recognized."""
    for group in grouped(case, FamilyFailure, by=lambda failure: (failure.family, failure.words)):
        if _side_of(case, group) is side:
            yield _finding(case, group)
    if side is Side.COMPARE:
        yield from _of_rendering_tool(case)


def _of_rendering_tool(case: Case) -> Iterator[Finding]:
    """A finding for each error of a comparison without any sign, if the tool that renders is known.

    A chart fails with whatever words its author chose, and so do plugins and their scripts.
    """
    for group in grouped(case, Unknown, by=lambda failure: (type(failure), failure.text)):
        tool = rendering_tool(case, failing_source(case, group.message))
        if type(group.failure) is not Unknown or tool not in _TOOLS or not _is_of_rendering(group):
            continue
        family = FamilyFailure(
            text=group.failure.text,
            family=_TOOLS[tool],
            component=Component.REPO_SERVER,
            words=group.failure.text,
            by_words=True,
        )
        reports = tuple(
            cast("ReportedFailure[FamilyFailure]", replace(report, failure=family))
            for report in group.reports
        )
        yield _finding(
            case,
            Group(
                failure=family,
                reports=reports,
                explains=group.explains,
                resources=group.resources,
                hidden=group.hidden,
            ),
        )


_TOOLS = {"Helm": Family.HELM_TEMPLATE, "Kustomize": Family.KUSTOMIZE, "Plugin": Family.PLUGIN}
# Wrappers of a comparison that do not tell what failed.
_OF_ANY_STEP = frozenset(
    {
        LayerKind.COMPARISON_ERROR,
        LayerKind.INVALID_SPEC_ERROR,
        LayerKind.LOAD_TARGET_STATE,
        LayerKind.SOURCE_N_OF_M,
        LayerKind.GENERATE_MANIFESTS,
        LayerKind.RPC,
        LayerKind.CACHED,
    }
)
_OF_REPO_SERVER = frozenset({LayerKind.RPC, LayerKind.GENERATE_MANIFESTS, LayerKind.CACHED})


def _is_of_rendering(group: FailureGroup[Unknown]) -> bool:
    """Is it an error of the repo-server, or one of a comparison that was copied without its beginning?"""
    kinds = {layer.kind for layer in group.message.layers}
    of_condition = any(id.kind is SymptomKind.CONDITION for id in group.explains)
    unwrapped = kinds == {LayerKind.COMPARISON_ERROR}
    return of_condition and kinds <= _OF_ANY_STEP and (unwrapped or not kinds.isdisjoint(_OF_REPO_SERVER))


def _finding(case: Case, group: Group) -> Finding:
    explanation = _explanation(case, group)
    words = _quoted(group.failure)
    about = _about(case, group)
    names = {
        "app": case.application.ref,
        "object": "an object of this sync" if about == case.application.ref else about,
        "repo": _repository(case, group) or "the repository",
        "cluster": _cluster(case),
    }
    reported = {id.kind for id in group.explains}
    stops = not reported.isdisjoint({SymptomKind.CONDITION, SymptomKind.OPERATION, SymptomKind.RESULT})
    failed = _failed_result(case, group)
    evidence = group.cited(says="whysync does not recognize the exact reason")
    if failed is not None:
        at = f"/status/operationState/syncResult/resources/{failed}/message"
        evidence = (cite(case.application, at, says=f"the result of {about}"),)
    result = SymptomId.result(about.key)
    return Finding(
        about=about,
        explains=tuple(
            dict.fromkeys(
                (*group.explains, *_health_of(case, about), *((result,) if failed is not None else ()))
            )
        ),
        cause=explanation.cause,
        severity=Severity.CRITICAL if stops else Severity.WARNING,
        confidence=Confidence.LOW,
        verdict=explanation.sentence.format(**names) + (f": {words}" if words else ""),
        evidence=evidence,
        fixes=(Fix.run(*explanation.commands(case, group), title=explanation.title),),
    )


def _explanation(case: Case, group: Group) -> Explanation:
    """Words that only suggest a family are quoted: the sentence and the checks assert nothing else."""
    known = EXPLANATIONS[_family(group)]
    if group.failure.family is Family.UNWRAPPED:
        tool = rendering_tool(case, failing_source(case, group.message))
        return known._replace(cause=EXPLANATIONS[_TOOLS[tool]].cause) if tool in _TOOLS else known
    if not group.failure.by_words:
        return known
    if group.failure.component is Component.REPO_SERVER:
        return Explanation(known.cause, f"manifest generation fails with {_UNKNOWN}", _render, _READ_LOG)
    return Explanation(known.cause, f"the comparison fails with {_UNKNOWN}", _controller_log, _READ_LOG)


def _quoted(failure: FamilyFailure) -> str:
    words = one_line(failure.words) or (f"{failure.command} failed" if failure.command else "")
    return words if len(words) <= _LONGEST_QUOTE else f"{words[:_LONGEST_QUOTE]}…"


def _side_of(case: Case, group: Group) -> Side:
    sides = [symptom.side for symptom in case.symptoms if symptom.id in group.explains]
    for side in (Side.COMPARE, Side.APPLY, Side.HEALTH):
        if side in sides:
            return side
    return Side.COMPARE


def _about(case: Case, group: Group) -> Ref:
    failed = _failed_result(case, group)
    return group.ref or (case.results[failed].ref if failed is not None else case.application.ref)


def _failed_result(case: Case, group: Group) -> int | None:
    """The result that the operation's message repeats; that message names no object."""
    if group.ref is not None or all(id.kind is not SymptomKind.OPERATION for id in group.explains):
        return None
    repeated = [
        index
        for index, result in enumerate(case.results)
        if SymptomId.result(result.ref.key) in case.symptom_ids
        and result.message.strip()
        and result.message.strip() in group.message.text
    ]
    return repeated[0] if len(repeated) == 1 else None


def _health_of(case: Case, ref: Ref) -> Iterator[SymptomId]:
    """An event about a Pod or a claim also explains the health of the row that owns it."""
    live = case.live_named(ref.kind, ref.namespace, ref.name)
    owner = owning_row(case, live) if live is not None else None
    candidates = (
        SymptomId.unhealthy(ref.key),
        *((SymptomId.unhealthy(owner.key),) if owner is not None else ()),
    )
    yield from (id for id in candidates if id in case.symptom_ids)


# Kinds of Kubernetes whose controllers do not use these reasons themselves.
_WITH_PODS = frozenset({"Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"})
_OF_PODS = frozenset(
    {
        Family.CONTAINER_START,
        Family.CONTAINER_STOP,
        Family.CONTAINER_RESTARTS,
        Family.DEPENDENCY,
        Family.PROBE,
        Family.IMAGE,
    }
)


# Only a pull leaves the node: containers are created and started through a socket on it.
_OF_REGISTRIES = frozenset({Network.DNS, Network.REFUSED, Network.NO_ROUTE, Network.TLS})


def _family(group: Group) -> Family:
    """Controllers of other kinds use the kubelet's reasons, such as `Failed`, in their own sense.

    The kubelet reports a pull and the start of a container under the same reason, `Failed`.
    """
    family, ref, message = group.failure.family, group.ref, group.message.text
    if family in _OF_PODS and ref is not None and ref.kind not in _WITH_PODS:
        return Family.OPERATOR
    is_pull = group.failure.code == "Failed" and reason_of(message) in _OF_REGISTRIES
    return Family.IMAGE if family is Family.CONTAINER_START and is_pull and "unix" not in message else family


def _repository(case: Case, group: Group) -> str:
    """The repository in the text, else that of the source, which also reads others: dependencies."""
    source, url = failing_source(case, group.message), repository_url(url_in(group.failure.text))
    return repository_address(url, source) or (source.repo_url if source is not None else "")


def _cluster(case: Case) -> str:
    destination = case.app.spec.destination
    return destination.server or destination.name or "the destination cluster"


def _logs(case: Case, component: str) -> str:
    return with_comment(
        f"kubectl -n {argocd_namespace(case)} logs -l app.kubernetes.io/name={component} --tail=200"
        f" | grep -i {app_argument(case)}",
        "the log around the error",
    )


def _read_source(case: Case, group: Group) -> tuple[str, ...]:
    source, repo = failing_source(case, group.message), _repository(case, group)
    if source is not None and not is_of_source(repo, source):
        return (*references_in_git(source, repo), _logs(case, "argocd-repo-server"), hard_refresh(case))
    probe = "git ls-remote URL"
    if source is not None and source.chart:
        probe = (
            f"helm show chart {quote(oci_chart(source.repo_url, source.chart))}"
            if is_oci(source.repo_url)
            else f"helm show chart --repo {quote(source.repo_url)} {quote(source.chart)}"
        )
    elif source is not None:
        probe = f"git ls-remote {quote(source.repo_url)} {quote(source.target_revision or 'HEAD')}"
    inside = f"kubectl -n {argocd_namespace(case)} exec deploy/argocd-repo-server --"
    return (
        with_comment(f"{inside} {probe}", "the same request, from the repo-server"),
        _logs(case, "argocd-repo-server"),
        hard_refresh(case),
    )


def _read_submodule(case: Case, group: Group) -> tuple[str, ...]:
    del group
    return (
        with_comment("git submodule status; cat .gitmodules", "in a checkout: every path needs a url"),
        with_comment(
            "git rm --cached PATH", "a folder that was committed as a submodule by mistake; then commit"
        ),
        hard_refresh(case),
    )


def _credentials(case: Case, group: Group) -> tuple[str, ...]:
    repo = _repository(case, group)
    return (f"argocd repo get {quote(repo)}" if repo else "argocd repo list", *_read_source(case, group))


def _render(case: Case, group: Group) -> tuple[str, ...]:
    del group
    return (
        with_comment(f"argocd app manifests {app_argument(case)} --source git", "renders again"),
        _logs(case, "argocd-repo-server"),
        hard_refresh(case),
    )


def _repo_server(case: Case, group: Group) -> tuple[str, ...]:
    del group
    label = "app.kubernetes.io/name=argocd-repo-server"
    namespace = argocd_namespace(case)
    return (
        kubectl("describe", "pods", "-l", label, namespace=namespace),
        _logs(case, "argocd-repo-server"),
        refresh(case),
    )


def _own_pods(case: Case, group: Group) -> tuple[str, ...]:
    del group
    return (
        kubectl(
            "describe", "pods", "-l", "app.kubernetes.io/part-of=argocd", namespace=argocd_namespace(case)
        ),
    )


def _settings(case: Case, group: Group) -> tuple[str, ...]:
    del group
    namespace = argocd_namespace(case)
    return (
        _logs(case, "argocd-application-controller"),
        kubectl("get", "configmap", "argocd-cm", "-o", "yaml", namespace=namespace),
        kubectl("get", "secret", "-l", "argocd.argoproj.io/secret-type", namespace=namespace),
        refresh(case),
    )


def _reach_cluster(case: Case, group: Group) -> tuple[str, ...]:
    del group
    return (
        with_comment("argocd cluster list", "is it this cluster only?"),
        _logs(case, "argocd-application-controller"),
        refresh(case),
    )


def _controller_log(case: Case, group: Group) -> tuple[str, ...]:
    del group
    return _logs(case, "argocd-application-controller"), refresh(case)


def _controller_pods(case: Case, group: Group) -> tuple[str, ...]:
    del group
    label = "app.kubernetes.io/name=argocd-application-controller"
    return (
        kubectl("describe", "pods", "-l", label, namespace=argocd_namespace(case)),
        refresh(case),
    )


def _webhook(case: Case, group: Group) -> tuple[str, ...]:
    del group
    namespace = argocd_namespace(case)
    logs = kubectl("logs", "-l", "app.kubernetes.io/name=argocd-server", "--tail=500", namespace=namespace)
    return (
        f"{logs} | grep -i webhook",
        with_comment(
            kubectl("describe", "secret", "argocd-secret", namespace=namespace), "its keys webhook.*"
        ),
        refresh(case),
    )


def _waited(case: Case, group: Group) -> tuple[str, ...]:
    del group
    return (
        f"argocd app get {app_argument(case)} --show-operation",
        f"argocd app resources {app_argument(case)}",
    )


def _watches(case: Case, group: Group) -> tuple[str, ...]:
    del group
    logs = kubectl(
        "logs",
        "-l",
        "app.kubernetes.io/name=argocd-application-controller",
        "--since=10m",
        namespace=argocd_namespace(case),
    )
    return (
        with_comment(f"{logs} | grep -ic watch", "does it repeat?"),
        refresh(case),
        with_comment(restart(case, CONTROLLER), "only if the refresh has no effect"),
    )


def _redis(case: Case, group: Group) -> tuple[str, ...]:
    del group
    return f"kubectl -n {argocd_namespace(case)} get pods,endpointslices | grep -i redis", refresh(case)


def _application_sets(case: Case, group: Group) -> tuple[str, ...]:
    del group
    return (
        kubectl("get", "applicationsets", "-A"),
        _logs(case, "argocd-applicationset-controller"),
    )


def _check_api_server(case: Case, group: Group) -> tuple[str, ...]:
    del group
    return (with_comment("kubectl get --raw '/readyz?verbose'", "on the destination cluster"), sync(case))


def _api_services(case: Case, group: Group) -> tuple[str, ...]:
    del group
    return (
        with_comment("kubectl get apiservice | grep -v True", "on the destination cluster"),
        refresh(case),
    )


def _crds(case: Case, group: Group) -> tuple[str, ...]:
    del group
    service = ".spec.conversion.webhook.clientConfig.service.name"
    columns = f"NAME:.metadata.name,CONVERSION:.spec.conversion.strategy,SERVICE:{service}"
    return (
        with_comment(
            f"kubectl get crd -o custom-columns={columns} | grep Webhook", "on the destination cluster"
        ),
        refresh(case),
    )


def _permission(case: Case, group: Group) -> tuple[str, ...]:
    del group
    account = f"system:serviceaccount:{argocd_namespace(case)}:argocd-application-controller"
    return (
        f"kubectl auth can-i --list --as={account} -n {quote(case.destination_namespace or 'NAMESPACE')}",
        sync(case),
    )


def _account(case: Case, group: Group) -> tuple[str, ...]:
    del group
    return ("argocd account get-user-info", f"argocd account can-i sync applications '{case.app.project}/*'")


def _login(case: Case, group: Group) -> tuple[str, ...]:
    del group
    namespace = argocd_namespace(case)
    return (
        "argocd account get-user-info",
        kubectl("get", "configmap", "argocd-cm", "-o", "yaml", namespace=namespace),
        kubectl("logs", "-l", "app.kubernetes.io/name=argocd-server", "--tail=200", namespace=namespace),
    )


def _dry_run(case: Case, group: Group) -> tuple[str, ...]:
    del group
    return (
        with_comment(
            f"argocd app manifests {app_argument(case)} | kubectl apply --dry-run=server -f -", "all errors"
        ),
        sync(case),
    )


def _describe(case: Case, group: Group) -> tuple[str, ...]:
    ref = placed(case, _about(case, group))
    return (on_object("describe", ref), kubectl("get", "events", namespace=ref.namespace))


def _deletion(case: Case, group: Group) -> tuple[str, ...]:
    del group
    return (f"argocd app resources {app_argument(case)}", _logs(case, "argocd-application-controller"))


def _results(case: Case, group: Group) -> tuple[str, ...]:
    del group
    return (
        with_comment(f"argocd app get {app_argument(case)} --show-operation", "the reason of each object"),
    )


def _prune(case: Case, group: Group) -> tuple[str, ...]:
    del group
    return (
        f"argocd app sync {app_argument(case)} --prune --dry-run",
        f"argocd app diff {app_argument(case)}",
    )


_SOURCE = "Run the same request in the repo-server, fix its error, then hard refresh"
_UNKNOWN = "an error that whysync does not know"
_READ_LOG = "Find the step that fails in the log, fix its error, then refresh"
_RENDER = "Render again, fix the error in Git, then hard refresh"
_DESCRIBE = "Read the object's conditions and events"

EXPLANATIONS: dict[Family, Explanation] = {
    Family.GIT: Explanation("repo-unreachable", "Git cannot read {repo}", _read_source, _SOURCE),
    Family.SUBMODULE: Explanation(
        "repo-unreachable", "Git cannot check out a submodule of {repo}", _read_submodule,
        "Correct the submodule in Git; or set ARGOCD_GIT_MODULES_ENABLED=false for the repo-server, if"
        " Argo CD does not need it",
    ),
    Family.REVISION: Explanation(
        "revision-not-found", "the step that resolves or checks out the revision in {repo} fails",
        _read_source, _SOURCE,
    ),
    Family.REPO_COPY: Explanation(
        "repo-server-down", "Git fails in the repo-server's local copy of {repo}", _repo_server,
        "Check the repo-server's Pods and volumes; after a restart it fetches the repository again",
    ),
    Family.SIGNATURE: Explanation(
        "source-integrity", "the step that verifies the signature of the revision fails", _read_source,
        _SOURCE,
    ),
    Family.REPOSITORY: Explanation("repo-unreachable", "Argo CD cannot read {repo}", _read_source, _SOURCE),
    Family.REPOSITORY_ACCESS: Explanation(
        "repo-auth", "{repo} most likely rejects Argo CD's credentials", _credentials,
        "Check which credential is used, renew it, then hard refresh",
    ),
    Family.REPOSITORY_NETWORK: Explanation(
        "repo-unreachable", "the request to {repo} failed", _read_source, _SOURCE
    ),
    Family.REPO_RATE_LIMIT: Explanation(
        "repo-unreachable", "the host of {repo} limits the rate of Argo CD's requests", _credentials,
        "Use a credential with a higher limit, or poll less often (timeout.reconciliation, webhooks)",
    ),
    Family.HELM_TEMPLATE: Explanation("helm-render", "Helm cannot render the chart", _render, _RENDER),
    Family.HELM_DEPENDENCY: Explanation(
        "helm-dependency", "Helm cannot fetch the chart's dependencies", _render, _RENDER
    ),
    Family.KUSTOMIZE: Explanation("kustomize-build", "Kustomize cannot build the overlay", _render, _RENDER),
    Family.JSONNET: Explanation("jsonnet", "Jsonnet cannot evaluate the source", _render, _RENDER),
    Family.PLUGIN: Explanation(
        "plugin", "the command that generates the manifests failed", _render, _RENDER
    ),
    Family.HYDRATOR: Explanation(
        "hydrator-failed", "the step that writes the hydrated manifests fails", _read_source, _SOURCE
    ),
    Family.CACHED: Explanation(
        "cached-error", "Argo CD reports a cached error of an earlier rendering", _render, _RENDER
    ),
    Family.GENERATION_TIMEOUT: Explanation(
        "generation-timeout", "generating the manifests was canceled or timed out", _repo_server,
        "Find out what is slow in the repo-server, then refresh",
    ),
    Family.SPEC_URL: Explanation(
        "repo-unreachable", "an address in the source of {app} is malformed", _credentials,
        "Correct the address in the Application or in the repository's Secret",
    ),
    Family.SOURCE_FILES: Explanation(
        "path-not-found", "Argo CD cannot use a path or link in the source", _render, _RENDER
    ),
    Family.MANIFESTS: Explanation(
        "invalid-yaml", "Argo CD cannot parse a file of the source", _render, _RENDER
    ),
    Family.UNWRAPPED: Explanation(
        "invalid-yaml",
        "Argo CD most likely cannot render the source of {app} (if the error begins with these words,"
        " a setting of Argo CD may be malformed)", _render, _RENDER,
    ),
    Family.DIFF: Explanation(
        "diff-schema-error", "Argo CD cannot compute the difference between Git and the cluster",
        _reach_cluster, "Find the error in the controller's log, fix it, then refresh",
    ),
    Family.OWN_STATUS: Explanation(
        "controller-stale", "Argo CD cannot update its own record of {app}, which may be out of date",
        _controller_log, _READ_LOG,
    ),
    Family.OWN_PANIC: Explanation(
        "controller-stale", "a component of Argo CD panics while it processes its work", _controller_log,
        "Find the panic in the log; most are bugs of this release: correct what it names, or upgrade Argo CD",
    ),
    Family.REPO_SERVER_PANIC: Explanation(
        "repo-server-down", "the repo-server panics when it renders the source of {app}", _render,
        "Find the panic in the repo-server's log; most are bugs of this release that a wrong or left-over"
        " field of the source triggers: compare spec.source with the tool it uses, or upgrade Argo CD",
    ),
    Family.OWN_START: Explanation(
        "crashloop", "a component of Argo CD cannot be started", _own_pods,
        "Compare its command and image with the manifests of this Argo CD release",
    ),
    Family.OWN_KUBECTL: Explanation(
        "oom", "the application controller's kubectl was killed, most likely because its Pod ran out of"
        " memory", _controller_pods,
        "Compare the memory limit of the controller with its last state, raise the limit, then sync",
    ),
    Family.OWN_INIT: Explanation(
        "crashloop", "an init container of Argo CD cannot copy its program, so the Pod does not start",
        _own_pods,
        "Delete that Pod: its volume still has the files of an earlier run, and a new Pod has an empty"
        " one; newer manifests of Argo CD overwrite the files",
    ),
    Family.KEYRING: Explanation(
        "repo-server-down", "the repo-server cannot set up its GnuPG keyring, so it does not start",
        _repo_server,
        "Check the volumes of the repo-server's Pods (gpg-keyring, gpg-keys), get them running, then refresh;"
        " without signed commits, ARGOCD_GPG_ENABLED=false skips the keyring",
    ),
    Family.REFRESH: Explanation(
        "controller-stale", "the controller does not refresh an app in time: it is overloaded or not running",
        _controller_pods, "Get the controller's Pods running, and look for a long queue in its metrics",
    ),
    Family.GIT_WEBHOOK: Explanation(
        "polling-lag", "Argo CD cannot process a webhook of the Git host: new commits wait for the next poll",
        _webhook, "Compare the webhook's secret and its events with webhook.* in argocd-secret",
    ),
    Family.WAITED: Explanation(
        "sync-timeout", "the argocd command stopped waiting: the app did not become as requested in time",
        _waited, "Read what the app waits for, or wait longer (--timeout)",
    ),
    Family.HEALTH_CHANGE: Explanation(
        "degraded-workload", "the argocd command stopped waiting: a resource of the app became Degraded",
        _waited, "Read the health of the app's resources",
    ),
    Family.SHARDS: Explanation(
        "controller-stale", "the clusters are not distributed over the controller's replicas as configured",
        _controller_log, "Compare the replicas and the shard settings of the controller, then refresh",
    ),
    Family.OWN_CACHE: Explanation(
        "argocd-cache-down", "Argo CD cannot read or write its cache (Redis)", _redis,
        "Get Redis running, then refresh",
    ),
    Family.APPLICATION_SET: Explanation(
        "appset-error", "the ApplicationSet controller reports an error", _application_sets,
        "Correct the ApplicationSet that the log names",
    ),
    Family.OWN_PROCESS: Explanation(
        "repo-server-down", "the repo-server failed to process the request", _repo_server,
        "Check the repo-server's Pods, get them running, then refresh",
    ),
    Family.SETTINGS: Explanation(
        "settings-malformed", "a setting of Argo CD cannot be parsed", _settings,
        "Find the entry in the controller's log, correct it, then refresh",
    ),
    Family.OWN_STATE: Explanation(
        "settings-malformed", "Argo CD cannot read its own settings, projects or Secrets", _settings,
        "Find the object in the controller's log, correct it, then refresh",
    ),
    Family.CREDENTIAL_SECRET: Explanation(
        "repo-auth", "a Secret with credentials of a repository or cluster does not exist", _settings,
        "Create the Secret in Argo CD's namespace, or remove the reference to it, then refresh",
    ),
    Family.SECRET_MALFORMED: Explanation(
        "secret-encoding", "a value in a Secret or setting of Argo CD cannot be decoded", _settings,
        "Find the Secret (cluster, repository or argocd-secret) whose value is encoded twice or has a"
        " line break, correct it, then refresh",
    ),
    Family.ARGOCD_PERMISSION: Explanation(
        "argocd-rbac", "Argo CD's RBAC does not allow the request", _account,
        "Compare the account's permissions with policy.csv",
    ),
    Family.LOGIN: Explanation(
        "argocd-login", "a login to Argo CD fails, so the request of that user was not processed", _login,
        "Log in again; if all users fail, correct the login provider in argocd-cm (url, oidc.config,"
        " dex.config)",
    ),
    Family.HEALTH_CONVERSION: Explanation(
        "health-quirk", "Argo CD's built-in health check cannot read an object", _reach_cluster,
        "Use an Argo CD release that supports this apiVersion, or one that it supports in Git",
    ),
    Family.SCHEME: Explanation(
        "deprecated-api", "Argo CD has no type for the apiVersion of an object", _reach_cluster,
        "Declare an apiVersion that both the cluster and this Argo CD release support",
    ),
    Family.CLUSTER: Explanation(
        "cluster-unreachable", "Argo CD cannot read the state of {cluster}", _reach_cluster,
        "Find the error in the controller's log, fix it, then refresh",
    ),
    Family.CLUSTER_CONFIG: Explanation(
        "cluster-auth", "Argo CD cannot build a client configuration for {cluster}", _reach_cluster,
        "Register the cluster again with a working credential, then refresh",
    ),
    Family.CLUSTER_LOGIN: Explanation(
        "cluster-auth", "{cluster} most likely rejects Argo CD's credentials", _reach_cluster,
        "Register the cluster again with a working credential, then refresh",
    ),
    Family.API_SERVER: Explanation(
        "cluster-unreachable", "the API server of {cluster} failed to process a request", _check_api_server,
        "Sync again; if it recurs, check the load of the API server and etcd",
    ),
    Family.AGGREGATED_API: Explanation(
        "openapi-error", "an API of {cluster} cannot be listed", _api_services,
        "Find the API that is not available, get its backend running, then refresh",
    ),
    Family.CRD_HANDLER: Explanation(
        "conversion-webhook-failed",
        "the API server of {cluster} cannot serve a kind: the conversion webhook or schema of its CRD fails",
        _crds, "Find the CRD whose conversion fails, get its webhook running or correct it, then refresh",
    ),
    Family.WATCH: Explanation(
        "controller-stale",
        "a watch of Argo CD on {cluster} ended with an error; if that repeats, Argo CD does not see changes",
        _watches, "If the app is no longer reconciled, restart the controller; its watches start again",
    ),
    Family.ADMISSION: Explanation(
        "admission-denied", "admission control does not accept {object}", _dry_run,
        "Change the manifest as the policy requires, then sync",
    ),
    Family.INVALID_MANIFEST: Explanation(
        "schema-invalid", "the API server rejects {object} as invalid", _dry_run,
        "Correct the manifest in Git, then sync",
    ),
    Family.PERMISSION: Explanation(
        "k8s-rbac", "Kubernetes RBAC does not permit the request", _permission,
        "Grant Argo CD's account the permission, then sync",
    ),
    Family.CONFLICT: Explanation(
        "conflict-modified", "{object} was modified at the same time", _check_api_server, "Sync again"
    ),
    Family.TOO_LARGE: Explanation(
        "resource-too-large", "{object} is larger than the API server accepts", _dry_run,
        "Make the object smaller, then sync",
    ),
    Family.DELETION: Explanation(
        "finalizer-stuck", "the resources of {app} cannot be deleted", _deletion,
        "Find the resource that cannot be deleted and fix it; the deletion then continues",
    ),
    Family.PRUNING: Explanation(
        "pending-prune", "resources of {app} are no longer in Git, but were not pruned", _prune,
        "Check what would be deleted, then sync with --prune",
    ),
    Family.VALIDATION: Explanation(
        "missing-crd",
        "the sync ended before anything was applied: the cluster does not serve the kind of an object, or the"
        " project does not permit it",
        _results, "Read the result of each object: it names the kind or the project's rule",
    ),
    Family.SCHEDULING: Explanation("unschedulable", "{object} cannot be scheduled", _describe, _DESCRIBE),
    Family.VOLUME: Explanation("pvc-pending", "a volume of {object} is not available", _describe, _DESCRIBE),
    Family.IMAGE: Explanation("image-pull", "an image of {object} cannot be pulled", _describe, _DESCRIBE),
    Family.CONTAINER_START: Explanation(
        "config-error", "a container of {object} cannot be started", _describe, _DESCRIBE
    ),
    Family.DEPENDENCY: Explanation(
        "dependency-missing", "{object} needs a ConfigMap or Secret that does not exist", _describe, _DESCRIBE
    ),
    Family.CONTAINER_STOP: Explanation(
        "degraded-workload", "a container of {object} does not stop as it should", _describe, _DESCRIBE
    ),
    Family.CONTAINER_RESTARTS: Explanation(
        "crashloop", "a container of {object} fails repeatedly", _describe, _DESCRIBE
    ),
    Family.PROBE: Explanation("probe-failing", "a probe of {object} fails", _describe, _DESCRIBE),
    Family.MEMORY: Explanation("oom", "{object} ran out of memory", _describe, _DESCRIBE),
    Family.WORKLOAD: Explanation(
        "degraded-workload", "the controller of {object} reports an error", _describe, _DESCRIBE
    ),
    Family.LOAD_BALANCER: Explanation(
        "lb-pending", "the load balancer of {object} cannot be set up", _describe, _DESCRIBE
    ),
    Family.INGRESS: Explanation(
        "ingress-pending", "the ingress controller does not accept {object}", _describe, _DESCRIBE
    ),
    Family.OPERATOR: Explanation(
        "degraded-workload", "the controller of {object} reports an error", _describe, _DESCRIBE
    ),
}  # fmt: skip
"""Every family has one: `tests/queries/test_families.py` asserts it."""
