"""Argo CD's own parts, projects, permissions, and what it says of operations, hooks and health checks."""

from __future__ import annotations

import re

from whysync.semantics.messages.failures import (
    AppNamespaceNotPermitted,
    ArgocdCacheDown,
    ArgocdDenied,
    ArgocdDiskFull,
    AutosyncSkipped,
    AutosyncWipeRefused,
    Awaited,
    DuplicateResource,
    ExcludedResource,
    Failure,
    HealthScriptError,
    HookFailed,
    ImpersonationFailed,
    Named,
    NamespaceUnset,
    OperationInProgress,
    OperationTerminated,
    OrphanedResources,
    ProjectDenied,
    ProjectMissing,
    ProjectRule,
    PruneSkipped,
    RepoServerDown,
    ResourceVanished,
    SettingsMalformed,
    SharedResource,
    SyncWindowBlocked,
    Waiting,
)
from whysync.semantics.messages.layers import LayerKind
from whysync.semantics.messages.network import dialled, reason_of
from whysync.semantics.messages.pattern import Context, Pattern, compiled, fill, number, said

_AWAITED = {
    "healthy state": Awaited.HEALTH,
    "completion": Awaited.HOOK,
    "deletion": Awaited.DELETION,
    "pruning confirmation": Awaited.PRUNE_CONFIRMATION,
}


def waiting(match: re.Match[str], context: Context) -> Failure:
    return Waiting(
        text=context.text,
        what=_AWAITED[said(match, "what")],
        group=said(match, "group"),
        kind=said(match, "kind"),
        name=said(match, "name"),
        more=number(match, "more") or 0,
    )


def denied_kind(match: re.Match[str], context: Context) -> Failure:
    group, kind = said(match, "group"), said(match, "kind")
    return ProjectDenied(
        text=context.text,
        what=ProjectRule.KIND,
        value=f"{group}:{kind}",
        project=said(match, "project").rstrip("."),
        group=group,
        kind=kind,
    )


def denied(match: re.Match[str], context: Context, what: ProjectRule) -> Failure:
    server, namespace = said(match, "server"), said(match, "namespace")
    return ProjectDenied(
        text=context.text,
        what=what,
        value=said(match, "value") or f"{server} {namespace}".strip(),
        project=said(match, "project").rstrip("."),
        server=server,
        namespace=namespace,
    )


def health_script(match: re.Match[str], context: Context) -> Failure:
    named = compiled(
        r'health for "(?P<kind>\w{1,63})" with name "(?P<name>[^"]{1,253})" '
        r'in namespace "(?P<namespace>[^"]{0,253})"'
    ).search(context.text[:2000])
    line = compiled(r"<string>:(?P<line>\d{1,7}):").search(context.text[:4000])
    return HealthScriptError(
        text=context.text,
        kind=said(named, "kind") if named else "",
        name=said(named, "name") if named else "",
        namespace=said(named, "namespace") if named else "",
        line=number(line, "line") if line else None,
        detail=said(match, "detail") or match[0].strip(),
    )


def of_argocd(context: Context) -> bool:
    """Is this Argo CD's own trouble? Applications have a Redis and disks, too, but no such wrappers."""
    return bool(context.layers) or "argocd" in context.text[:2000]


def cache_down(match: re.Match[str], context: Context) -> Failure | None:
    if not of_argocd(context):
        return None
    host, _ = dialled(context.text)
    return ArgocdCacheDown(
        text=context.text, host=host, reason=reason_of(context.text), detail=match[0].strip()
    )


def disk_full(match: re.Match[str], context: Context) -> Failure | None:
    path = said(match, "path")
    if "pull" in context.text[:500] or not (of_argocd(context) or path.startswith(("/dev/shm", "/tmp"))):
        return None
    return ArgocdDiskFull(text=context.text, path=path)


def repo_server_down(match: re.Match[str], context: Context) -> Failure | None:
    """gRPC's `Unavailable` with a transport error: a comparison calls only `repo-server` that way."""
    host, port = dialled(context.text)
    if "unix:" in context.text or "csi" in context.text:  # a container runtime or a storage driver
        return None
    if "redis" in host or port in (6379, 26379):
        return cache_down(match, context)
    return RepoServerDown(text=context.text, host=host, reason=reason_of(context.text))


def unavailable(match: re.Match[str], context: Context) -> Failure | None:
    del match
    if not any(layer.code == "Unavailable" for layer in context.layers):
        return None
    if context.within(LayerKind.LOAD_LIVE_STATE, LayerKind.CLUSTER):
        return None
    return RepoServerDown(text=context.text, host=dialled(context.text)[0], reason=reason_of(context.text))


def hidden_app(match: re.Match[str], context: Context) -> Failure | None:
    """A bare refusal, which Argo CD also gives for an app that does not exist."""
    del match
    refused = any(layer.code == "PermissionDenied" for layer in context.layers)
    return ArgocdDenied(text=context.text) if refused else None


def shared(match: re.Match[str], context: Context) -> Failure:
    place, _, name = said(match, "name").rpartition("/")
    return SharedResource(
        text=context.text,
        resource=Named(kind=said(match, "kind"), namespace=place, name=name),
        apps=(said(match, "one"), said(match, "other").rstrip(".")),
        refused="Shared resource found" in context.text,
    )


def autosync(match: re.Match[str], context: Context) -> Failure:
    detail = said(match, "detail")
    revision = compiled(r"(?:to|for) \[?([0-9a-f]{7,64})\b").search(detail)
    return AutosyncSkipped(
        text=context.text,
        detail=detail,
        revision=revision[1] if revision else "",
        already_tried="already" in detail or "previous sync attempt" in detail,
    )


FIRST: tuple[Pattern, ...] = (
    Pattern(
        "o space left on device",
        r"(?:(?:write|open|mkdir|create) (?P<path>/\S{1,300}?): )?[Nn]o space left on device",
        disk_full,
    ),
    Pattern("NOAUTH", r"NOAUTH Authentication required\.?", cache_down),
    Pattern("WRONGPASS", r"WRONGPASS .*", cache_down),
    Pattern("MISCONF", r"MISCONF .*", cache_down),
    Pattern("READONLY You can't write", r"READONLY You can't write.*", cache_down),
    Pattern("LOADING Redis", r"LOADING Redis.*", cache_down),
    Pattern("OOM command not allowed", r"OOM command not allowed.*", cache_down),
    Pattern("cache: key is missing", r"cache: key is missing", cache_down),
    Pattern(
        "redis",
        r"lookup [\w.-]{0,200}redis[\w.-]{0,200}.{0,100}|redis: .{1,300}"
        r"|redis[\w.-]{0,200}:\d{4,5}: (?:connect|i/o|EOF|read|write).*",
        cache_down,
    ),
    Pattern(":6379", r"dial tcp [^\s]{1,253}:6379: .*", cache_down),
    Pattern(":26379", r"dial tcp [^\s]{1,253}:26379: .*", cache_down),
    Pattern("transport: ", r"transport: .*", repo_server_down),
    Pattern("error reading server preface", r"error reading server preface.*", repo_server_down),
    Pattern("failed to connect to repo server", r"failed to connect to repo server.*", repo_server_down),
    Pattern(
        "argocd-repo-server",
        r"lookup argocd-repo-server.*|argocd-repo-server\S{0,200}:\d{2,5}: .*",
        repo_server_down,
    ),
    # Projects.
    Pattern(
        "referencing project",
        r"[Aa]pplication referencing project (?P<project>\S{1,253}) which does not exist",
        fill(ProjectMissing),
    ),
    Pattern(
        'argoproj.io "',
        r"[Aa]pp[Pp]rojects?\.argoproj\.io \"(?P<project>[^\"]{1,253})\" not found",
        fill(ProjectMissing),
    ),
    Pattern(
        "to use project",
        r"application '(?P<app>[^']{1,253})' in namespace '"
        r"(?P<namespace>[^']{0,253})' is not (?:permitted|allowed) to use project '?"
        r"(?P<project>[\w.-]{1,253})",
        fill(AppNamespaceNotPermitted),
    ),
    Pattern(
        "is not permitted in project",
        r"[Rr]esource (?P<group>[\w.-]{0,253}):"
        r"(?P<kind>\w{1,63}) is not permitted in project '?(?P<project>[\w.-]{1,253})",
        denied_kind,
    ),
    Pattern(
        "is not permitted in project",
        r"namespace '?(?P<namespace>[\w.-]{1,253})'? is not permitted in project '?"
        r"(?P<project>[\w.-]{1,253})",
        lambda m, c: denied(m, c, ProjectRule.NAMESPACE),
    ),
    Pattern(
        "is not permitted in project",
        r"(?:application|sync source|destination) repo "
        r"(?P<value>\S{1,300}) is not permitted in project(?: '?"
        r"(?P<project>[\w.-]{1,253}))?",
        lambda m, c: denied(m, c, ProjectRule.SOURCE),
    ),
    Pattern(
        "is not permitted in project",
        r"application destination \{(?P<server>[^\s}]{0,300}) (?P<namespace>[^\s}]{0,253})[^}]{0,253}\} "
        r"is not permitted in project '?(?P<project>[\w.-]{1,253})",
        lambda m, c: denied(m, c, ProjectRule.DESTINATION),
    ),
    Pattern(
        "is not permitted in project",
        r"application source (?P<value>.{1,600}?) is not permitted in project '?(?P<project>[\w.-]{1,253})",
        lambda m, c: denied(m, c, ProjectRule.SOURCE),
    ),
    Pattern(
        "is not permitted in project",
        r"(?P<value>\S{1,300}) is not permitted in project '?(?P<project>[\w.-]{1,253})",
        lambda m, c: denied(m, c, ProjectRule.SOURCE),
    ),
    Pattern(
        "are not permitted in project",
        r"helm repos (?P<value>.{1,600}?) are not permitted in project '?(?P<project>[\w.-]{1,253})",
        lambda m, c: denied(m, c, ProjectRule.HELM_REPO),
    ),
    Pattern(
        "allowed destinations in project",
        r"destination server '(?P<server>[^']{0,300})' and namespace '"
        r"(?P<namespace>[^']{0,253})' do not match any of the allowed destinations in "
        r"project '(?P<project>[^']{1,253})'",
        lambda m, c: denied(m, c, ProjectRule.DESTINATION),
    ),
    Pattern(
        "is not permitted to manage",
        r"application is not permitted to manage (?P<group>[\w.-]{0,253})/"
        r"(?P<kind>\w{1,63})/\S{1,253} in (?P<namespace>\S{0,253})",
        lambda m, c: ProjectDenied(
            text=c.text,
            what=ProjectRule.KIND,
            value=f"{said(m, 'group')}:{said(m, 'kind')}",
            group=said(m, "group"),
            kind=said(m, "kind"),
            namespace=said(m, "namespace"),
        ),
    ),
    Pattern(
        "is not allowed in project",
        r"app is not allowed in project \"(?P<project>[^\"]{1,253})\", or the project does not exist",
        fill(ProjectMissing),
    ),
    Pattern(
        "permission denied: ",
        r"permission denied: (?P<resource>[a-z-]{3,40}), "
        r"(?P<action>[\w/*.:-]{1,300}), (?P<object>[^\s,]{0,300})(?:, sub: "
        r"(?P<subject>[^,]{0,300}))?",
        fill(ArgocdDenied),
    ),
    Pattern("permission denied", r"^permission denied$", hidden_app),
    # Health checks in Lua.
    Pattern("<string>:", r"<string>:\d+: (?P<detail>.{1,300}?)(?:\s+stack traceback|$)", health_script),
    Pattern("a non-table object", r"attempt to index a non-table object.*", health_script),
    Pattern(
        "failed to get resource health for",
        r"failed to get resource health for \"[^\"]{1,63}\" with name .{1,600}?: (?P<detail>.*)",
        health_script,
    ),
    Pattern(
        "health.HealthStatus",
        r"cannot unmarshal \w+ into Go (?:value|struct field) (?:of type )?.*health\.HealthStatus.*",
        health_script,
    ),
    Pattern("table output from Lua", r"expect table output from Lua script.*", health_script),
    Pattern("invalid health status", r"Lua returned an invalid health status", health_script),
    Pattern(
        "attempt to ",
        r"attempt to (?:call|index|compare|perform arithmetic|concatenate) .{0,60}(?:nil|"
        r"a nil value|table|boolean|number|string|function).*",
        lambda m, c: health_script(m, c) if c.within(LayerKind.APP_HEALTH) or "[G]" in c.text else None,
    ),
    # What Argo CD warns of.
    Pattern(
        "times among application resources",
        r"Resource (?P<group>[\w.-]{0,253})/(?P<kind>\w{1,63})/"
        r"(?P<namespace>[\w.-]{0,253})/(?P<name>[^\s]{1,253}) appeared "
        r"(?P<times>\d{1,9}) times",
        lambda m, c: DuplicateResource(
            text=c.text,
            resource=Named(
                group=said(m, "group"),
                kind=said(m, "kind"),
                namespace=said(m, "namespace"),
                name=said(m, "name"),
            ),
            times=number(m, "times") or 0,
        ),
    ),
    Pattern(
        "is part of applications",
        r"(?P<kind>\w{1,63})/(?P<name>\S{1,500}) is part of applications "
        r"(?P<one>\S{1,500}) and (?P<other>\S{1,500})",
        shared,
    ),
    Pattern(
        "is part of a different application",
        r"(?P<kind>\w{1,63})/(?P<name>\S{1,500}) is part of a different application: (?P<other>\S{1,500})",
        shared,
    ),
    Pattern(
        "is excluded in the settings",
        r"Resource (?P<group>[\w.-]{0,253})/(?P<kind>\w{1,63}) "
        r"(?P<name>\S{1,253}) is excluded in the settings",
        lambda m, c: ExcludedResource(
            text=c.text, resource=Named(group=said(m, "group"), kind=said(m, "kind"), name=said(m, "name"))
        ),
    ),
    Pattern(
        "orphaned resources",
        r"Application has (?P<count>\d{1,9}) orphaned resources",
        fill(OrphanedResources),
    ),
    Pattern(
        "Namespace for ",
        r"Namespace for (?P<name>\S{1,253}) (?P<gvk>.{1,300}?) is missing\.",
        lambda m, c: NamespaceUnset(
            text=c.text, resource=Named(name=said(m, "name"), kind=said(m, "gvk").rpartition("Kind=")[2])
        ),
    ),
    # Operations.
    Pattern(
        "waiting for ",
        r"waiting for (?P<what>healthy state|completion|deletion|"
        r"pruning confirmation) of (?:hook )?(?P<group>[\w.-]{0,253})/"
        r"(?P<kind>\w{1,63})/(?P<name>[^\s]{1,253})(?: and "
        r"(?P<more>\d{1,9}) more (?:hooks|resources))?",
        waiting,
    ),
    Pattern(
        "sync window",
        r"blocked by sync window(?:: (?P<invalid>.*))?|[Ss]ync prevented by sync window|"
        r"invalid sync windows?: (?P<bad>.*)",
        lambda m, c: SyncWindowBlocked(text=c.text, invalid=said(m, "invalid") or said(m, "bad")),
    ),
    Pattern(
        "wipe out all resources",
        r"auto-sync will wipe out all resources",
        lambda _, c: AutosyncWipeRefused(text=c.text, revision=_revision(c)),
    ),
    Pattern("Skipping auto-sync", r"Skipping auto-sync: (?P<detail>.*)", autosync),
    Pattern(
        "peration terminated",
        r"[Oo]peration terminated(?P<timeout>, triggered by controller sync timeout)?",
        lambda m, c: OperationTerminated(text=c.text, by_timeout=bool(said(m, "timeout"))),
    ),
    Pattern(
        "peration is terminating",
        r"[Oo]peration is terminating(?P<timeout> due to timeout)?",
        lambda m, c: OperationTerminated(text=c.text, by_timeout=bool(said(m, "timeout")), still_ending=True),
    ),
    Pattern(
        "peration termination had errors",
        r"[Oo]peration termination had errors",
        fill(OperationTerminated),
    ),
    Pattern(
        "another operation is already in progress",
        r"another operation is already in progress",
        fill(OperationInProgress),
    ),
    Pattern(
        "impersonate",
        r"failed to derive service account to impersonate.*",
        fill(ImpersonationFailed, whole="detail"),
    ),
    Pattern(
        "no matching service account found",
        r"no matching service account found for destination server "
        r"(?P<server>\S{1,300}) and namespace (?P<namespace>\S{0,253})",
        fill(ImpersonationFailed, whole="detail"),
    ),
    Pattern(
        "prun",
        r"^ignored \((?P<why>requires pruning|no prune)\)|\(requires pruning\)|"
        r"deleted from Kubernetes if the prune option is enabled",
        lambda m, c: PruneSkipped(text=c.text, forbidden_by_option=said(m, "why") == "no prune"),
    ),
    Pattern(
        "hook(s) failed",
        r"(?P<phase>PreDelete|PostDelete) hook\(s\) failed: (?P<hook>.*)",
        fill(HookFailed),
    ),
    Pattern(
        "it might have been deleted",
        r"Resource (?P<group>[\w.-]{0,253})/(?P<kind>\w{1,63})/"
        r"(?P<name>\S{1,253}) is missing, it might have been deleted",
        lambda m, c: ResourceVanished(
            text=c.text, resource=Named(group=said(m, "group"), kind=said(m, "kind"), name=said(m, "name"))
        ),
    ),
    Pattern(
        "ailed to load resource overrides",
        r"[Ff]ailed to load resource overrides: (?P<detail>.*)",
        lambda m, c: SettingsMalformed(text=c.text, key="resource.customizations", detail=said(m, "detail")),
    ),
    Pattern("is missing", r"^(?P<key>server\.secretkey) is missing", fill(SettingsMalformed, whole="detail")),
    Pattern(
        "resource.customizations",
        r"(?P<key>resource\.customizations(?:\.[\w.]{0,100})?)[ :\"'].{0,60}(?:invalid|error|unmarshal|"
        r"unsupported|does not have).*",
        fill(SettingsMalformed, whole="detail"),
    ),
)


LAST: tuple[Pattern, ...] = (Pattern("", r"^.+", unavailable),)


def _revision(context: Context) -> str:
    return next((layer.revision for layer in context.layers if layer.revision), "")
