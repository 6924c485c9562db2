"""Failures of Argo CD's own components: Redis, repo-server, disks, settings, and health checks in Lua."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import partial

from whysync.messages.failure import Failure, Lookup, Network
from whysync.messages.network import dialled, lookup_in, reason_of
from whysync.messages.pattern import Builder, Context, Pattern, compiled, fill, group_text, number
from whysync.messages.scope import Scope
from whysync.messages.wrappers import LayerKind


class RepoServerDown(Failure, frozen=True, kw_only=True):
    """`killed` is the command that a signal ended: the repo-server answered, but ran out of memory."""

    host: str = ""
    reason: Network = Network.UNKNOWN
    lookup: Lookup | None = None  # set if its name could not be resolved
    killed: str = ""


class CacheProblem(StrEnum):
    UNREACHABLE = "unreachable"
    PASSWORD = "password"
    KEY_MISSING = "key-missing"  # Redis answered
    ERROR = "error"


class ArgocdCacheDown(Failure, frozen=True, kw_only=True):
    """Redis is unreachable or answers with an error (`detail`)."""

    problem: CacheProblem = CacheProblem.UNREACHABLE
    host: str = ""
    reason: Network = Network.UNKNOWN
    lookup: Lookup | None = None  # set if its name could not be resolved
    detail: str = ""


class ArgocdDiskFull(Failure, frozen=True, kw_only=True):
    path: str = ""


NOTIFICATIONS = "argocd-notifications-cm"


class SettingsMalformed(Failure, frozen=True, kw_only=True):
    """`recipient`: the notification that could not be sent to it, with a setting that itself is valid."""

    key: str = ""
    recipient: str = ""
    detail: str = ""
    config_map: str = "argocd-cm"


class SettingsMissing(Failure, frozen=True, kw_only=True):
    """A ConfigMap or Secret that Argo CD itself needs does not exist."""

    kind: str = ""
    name: str = ""


class ImageUpdateFailed(Failure, frozen=True, kw_only=True):
    """Argo CD Image Updater cannot read a registry, or cannot write the new image."""

    image: str = ""
    denied: bool = False
    detail: str = ""


class ScriptProblem(StrEnum):
    LIBRARY = "library"
    """It uses a standard library that Argo CD does not open."""
    NIL = "nil"
    """It uses a field that the object does not have."""
    NOT_A_TABLE = "not-a-table"
    """It reads a field of a text, number or boolean."""
    NOT_A_FUNCTION = "not-a-function"
    RESULT = "result"
    """It returns no table, or no known status."""
    OTHER = "other"


# Functions of the libraries string, math, io, debug and coroutine.
_LIBRARY_FUNCTIONS = frozenset(
    {
        *("byte", "char", "find", "format", "gmatch", "gsub", "len", "lower", "match", "rep", "reverse"),
        *("sub", "upper", "abs", "ceil", "floor", "fmod", "huge", "log", "max", "min", "modf", "pow"),
        *("random", "sqrt", "lines", "popen", "traceback", "getinfo"),
    }
)


class HealthScriptError(Failure, frozen=True, kw_only=True):
    kind: str = ""
    name: str = ""
    namespace: str = ""
    line: int | None = None
    detail: str = ""

    @property
    def problem(self) -> ScriptProblem:
        """What the error text of gopher-lua means in a script of Argo CD."""
        indexed = compiled(r"non-table object\((?P<type>\w{1,20})\) with key '(?P<key>[^']{0,200})'").search(
            self.detail
        )
        if indexed is not None:
            # Argo CD opens only package, base, table and a part of os, so that `string` itself is nil, and a
            # string has no methods. Mirrors `runLua` in util/lua/lua.go, Argo CD 3.6.
            of_library = indexed["type"] in ("nil", "string") and indexed["key"] in _LIBRARY_FUNCTIONS
            if of_library:
                return ScriptProblem.LIBRARY
            return ScriptProblem.NIL if indexed["type"] == "nil" else ScriptProblem.NOT_A_TABLE
        if "non-function object" in self.detail:
            return ScriptProblem.NOT_A_FUNCTION
        if compiled(r"attempt to compare|cannot perform \w{1,20} operation").search(self.detail):
            return ScriptProblem.NIL if "nil" in self.detail else ScriptProblem.OTHER
        if "__len undefined" in self.detail:
            return ScriptProblem.NIL
        if compiled(r"health\.HealthStatus|output from Lua|invalid health status").search(self.detail):
            return ScriptProblem.RESULT
        return ScriptProblem.OTHER


def health_script(match: re.Match[str], context: Context) -> Failure:
    subject = compiled(
        r'health for "(?P<kind>\w{1,63})" with name "(?P<name>[^"]{1,253})" '
        r'in namespace "(?P<namespace>[^"]{0,253})"'
    ).search(context.text[:2000])
    line = compiled(r"<string>:(?P<line>\d{1,7}):").search(context.text[:4000])
    return HealthScriptError(
        text=context.text,
        kind=subject["kind"] if subject else "",
        name=subject["name"] if subject else "",
        namespace=subject["namespace"] if subject else "",
        line=number(line, "line") if line else None,
        detail=group_text(match, "detail") or match[0].strip(),
    )


def of_argocd(context: Context) -> bool:
    """Is this a failure of Argo CD itself? Applications have a Redis and disks, too, but no such wrappers.

    Its own logs are structured lines; these tables are not used for the logs of an app's containers.
    """
    return bool(context.layers) or "argocd" in context.text[:2000]


def cache_down(
    match: re.Match[str], context: Context, problem: CacheProblem = CacheProblem.UNREACHABLE
) -> Failure | None:
    if not of_argocd(context):
        return None
    host, _ = dialled(context.text)
    lookup = lookup_in(context.text)
    return ArgocdCacheDown(
        text=context.text,
        problem=problem,
        host=host,
        reason=Network.DNS if lookup is not None else reason_of(context.text),
        lookup=lookup,
        detail=match[0].strip(),
    )


_wrong_password = partial(cache_down, problem=CacheProblem.PASSWORD)
_cache_error = partial(cache_down, problem=CacheProblem.ERROR)
_cache_miss = partial(cache_down, problem=CacheProblem.KEY_MISSING)


def redis_log(match: re.Match[str], context: Context) -> Failure:
    """A warning in the log of Redis or of one of its sentinels."""
    return ArgocdCacheDown(text=context.text, detail=group_text(match, "detail").strip())


def disk_full(match: re.Match[str], context: Context) -> Failure | None:
    path = group_text(match, "path")
    if "pull" in context.text[:500] or not (of_argocd(context) or path.startswith(("/dev/shm", "/tmp"))):
        return None
    return ArgocdDiskFull(text=context.text, path=path)


def notifications(setting: str) -> Builder:
    """An entry of argocd-notifications-cm: `trigger.on-deployed`."""

    def key(match: re.Match[str], _: Context) -> str:
        name = match.groupdict().get(setting)
        return f"{setting}.{name}" if name else ""

    return fill(SettingsMalformed, whole="detail", key=key, config_map=NOTIFICATIONS)


def repo_server_unreachable(context: Context) -> Failure:
    lookup = lookup_in(context.text)
    return RepoServerDown(
        text=context.text,
        host=dialled(context.text)[0],
        reason=Network.DNS if lookup is not None else reason_of(context.text),
        lookup=lookup,
    )


def repo_server_down(match: re.Match[str], context: Context) -> Failure | None:
    """gRPC's `Unavailable` with a transport error: a comparison calls only `repo-server` that way."""
    host, port = dialled(context.text)
    if "unix:" in context.text or "csi" in context.text:  # a container runtime or a storage driver
        return None
    if _is_to_commit_server(context):
        return None
    if "redis" in host or port in (6379, 26379):
        return cache_down(match, context)
    if "x509: " in context.text:
        return None  # it answered, with a certificate that is not trusted
    return repo_server_unreachable(context)


def _is_to_commit_server(context: Context) -> bool:
    """The hydrator asks the repo-server for manifests, and the commit-server to push them."""
    return "commit-server" in context.text or any(
        layer.kind is LayerKind.HYDRATOR and layer.text.startswith("failed to commit")
        for layer in context.layers
    )


def unavailable(match: re.Match[str], context: Context) -> Failure | None:
    del match
    if not any(layer.code == "Unavailable" for layer in context.layers):
        return None
    if context.within(LayerKind.LOAD_LIVE_STATE, LayerKind.CLUSTER, LayerKind.OBJECTS_FAILED_TO_APPLY):
        return None  # etcd's error, which the API server passes on
    return repo_server_unreachable(context)


def own_object_missing(match: re.Match[str], context: Context) -> Failure | None:
    if context.scope is not Scope.CONTROLLER and not context.within(LayerKind.LOG):
        return None
    kind = {"configmap": "ConfigMap", "secret": "Secret"}[group_text(match, "kind").lower()]
    return SettingsMissing(text=context.text, kind=kind, name=group_text(match, "name"))


_DENIED = r"(?i)denied|unauthorized|authentication|forbidden|\b40[13]\b|credentials"

OWN_OBJECTS: tuple[Pattern, ...] = (
    Pattern(
        " not found",
        r"(?P<kind>[Cc]onfig[Mm]ap|[Ss]ecret)s? "
        r"\"(?P<name>argocd-(?:[\w-]{1,60}-)?(?:cm|secret))\" not found",
        own_object_missing,
    ),
)

DISK: tuple[Pattern, ...] = (
    Pattern(
        "o space left on device",
        r"(?:(?:write|open|mkdir|create) (?P<path>/\S{1,300}?): )?[Nn]o space left on device",
        disk_full,
    ),
    # cut off: a write to an open file hardly ever fails for another reason
    Pattern("write /", r"\bwrite (?P<path>/[^\s:]{1,300}): ?$", disk_full),
)

_COMPONENTS: tuple[Pattern, ...] = (
    Pattern(
        "Could not get tags from registry",
        r"Could not get tags from registry: (?P<detail>.*)",
        fill(ImageUpdateFailed, denied=lambda match, _: compiled(_DENIED).search(match[0]) is not None),
    ),
    Pattern("NOAUTH", r"NOAUTH Authentication required\.?", _wrong_password),
    Pattern("WRONGPASS", r"WRONGPASS .*", _wrong_password),
    Pattern("MISCONF", r"MISCONF .*", _cache_error),
    Pattern("READONLY You can't write", r"READONLY You can't write.*", _cache_error),
    Pattern("LOADING Redis", r"LOADING Redis.*", _cache_error),
    Pattern("NOREPLICAS", r"NOREPLICAS .*", _cache_error),
    Pattern("MASTERDOWN", r"MASTERDOWN .*", _cache_error),
    Pattern("OOM command not allowed", r"OOM command not allowed.*", _cache_error),
    Pattern(
        " # ",
        r"(?<![\w.:])\d{1,9}:[MSXC] \d\d? \w{3} \d{4} [\d:.]{12} # (?P<detail>(?:"
        r"Timeout connecting|[+-][so]down|Disconnecting timedout|MASTER (?:timeout|aborted)|"
        r"Connection with (?:master|replica|slave) lost|Error condition on socket|"
        r"Failed |Unable to |Can't |Cannot |-failover-abort).{0,300})",
        redis_log,
    ),
    Pattern("key is missing", r"(?:cache: |^)key is missing", _cache_miss),
    Pattern(
        "redis",
        r"lookup [\w.-]{0,200}redis[\w.-]{0,200}.{0,100}|(?<![\w./-])redis: .{1,300}"
        r"|redis[\w.-]{0,200}:\d{4,5}: (?:connect|i/o|EOF|read|write).*",
        cache_down,
    ),
    Pattern(":6379", r"dial tcp [^\s]{1,253}:6379: .*", cache_down),
    Pattern(":26379", r"dial tcp [^\s]{1,253}:26379: .*", cache_down),
    Pattern("transport: ", r"(?:^|desc = \"?)transport: .*", repo_server_down),
    Pattern("error reading server preface", r"error reading server preface.*", repo_server_down),
    Pattern("failed to connect to repo server", r"failed to connect to repo server.*", repo_server_down),
    Pattern(
        "repository.RepoServerService",
        r"unknown (?:method \w{1,100} for )?service repository\.RepoServerService",
        repo_server_down,
    ),
    Pattern(
        "argocd-repo-server",
        r"lookup argocd-repo-server.*|(?<![\w/.-])argocd-repo-server(?:\.[\w.-]{1,200})?:\d{2,5}: .*",
        repo_server_down,
    ),
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
    # Argo CD returns an error for manifests that it cannot parse; it exits only because of its settings.
    Pattern(
        "JSON: ",
        r"^error (?:converting YAML to JSON|unmarshaling JSON): .{0,300}",
        lambda m, c: SettingsMalformed(text=c.text, detail=m[0]) if c.log_level == "fatal" else None,
    ),
    Pattern(
        "comparison settings cannot be loaded",
        r"comparison settings cannot be loaded, using unknown comparison: (?P<detail>.*)",
        fill(SettingsMalformed),
    ),
    # The notifications controller: triggers, templates and services.
    Pattern(
        "trigger",
        r"(?:Failed to execute condition of trigger .{1,253}?: )?"
        r"trigger '(?P<trigger>[^']{1,253})' is not configured.*",
        notifications("trigger"),
    ),
    Pattern(
        "template '", r"template '(?P<template>[^']{1,253})' is not supported.*", notifications("template")
    ),
    Pattern(
        "service '",
        r"notification service '(?P<service>[^']{1,253})' is not supported.*",
        notifications("service"),
    ),
    Pattern(
        " condition",
        r"[Ff]ailed to execute (?:oncePer condition|condition of trigger (?P<trigger>[^\s:]{1,253})): .*",
        notifications("trigger"),
    ),
    Pattern(
        "Failed to notify recipient",
        r"Failed to notify recipient \{?(?P<recipient>[^\s}:]{1,60}[ :][^\s}]{1,200})\}?"
        r"(?: defined in \S{1,60} [^\s:]{1,300})?: (?P<detail>.+)",
        fill(SettingsMalformed, config_map=NOTIFICATIONS),
    ),
    Pattern(
        "policy",
        r"(?:malformed|invalid) policy rule.*|(?:failed to load|invalid) RBAC policy.*",
        fill(SettingsMalformed, whole="detail", key="policy.csv"),
    ),
    Pattern(
        "Dex configuration",
        r"malformed Dex configuration found",
        fill(SettingsMalformed, whole="detail", key="dex.config"),
    ),
    Pattern(
        "but key does not exist in secret",
        r"config referenced '(?P<reference>[^']{1,253})', but key does not exist in secret",
        fill(SettingsMalformed, whole="detail"),
    ),
    Pattern(
        "invalid ",
        r"invalid (?P<provider>dex yaml|oidc) config: (?P<detail>.*)",
        fill(
            SettingsMalformed,
            key=lambda match, _: f"{group_text(match, 'provider').partition(' ')[0]}.config",
        ),
    ),
    Pattern(
        "policy syntax error",
        r"policy syntax error: (?P<detail>.*)",
        fill(SettingsMalformed, key="policy.csv", config_map="argocd-rbac-cm"),
    ),
    Pattern(
        "unmarshal dex.config",
        r"failed to unmarshal dex\.config from configmap: (?P<detail>.*)",
        fill(SettingsMalformed, key="dex.config"),
    ),
    Pattern(
        "ailed to load resource overrides",
        r"[Ff]ailed to load resource overrides: (?P<detail>.*)",
        fill(SettingsMalformed, key="resource.customizations"),
    ),
    Pattern(
        "uplicate kustomize version",
        r"found duplicate kustomize version: .*",
        fill(SettingsMalformed, whole="detail", key="kustomize.versions"),
    ),
    Pattern(
        "resource customization type",
        r"resource customization type (?P<customization>\S{1,60}) not supported",
        fill(
            SettingsMalformed,
            whole="detail",
            key=lambda match, _: f"resource.customizations.{group_text(match, 'customization')}",
        ),
    ),
    Pattern(
        "is missing", r"(?<!\S)(?P<key>server\.secretkey) is missing", fill(SettingsMalformed, whole="detail")
    ),
    Pattern(
        "resource.customizations",
        r"(?P<key>resource\.customizations(?:\.[\w.]{0,100})?)[ :\"'].{0,60}(?:invalid|error|unmarshal|"
        r"unsupported|does not have).*",
        fill(SettingsMalformed, whole="detail"),
    ),
    Pattern(
        "resource overrides: ",
        r"(?:error getting|(?:failed|unable) to get) resource overrides: (?P<detail>.*)",
        fill(SettingsMalformed, key="resource.customizations"),
    ),
)

FIRST: tuple[Pattern, ...] = (*DISK, *_COMPONENTS)

LAST: tuple[Pattern, ...] = (Pattern("", r"^.+", unavailable),)
