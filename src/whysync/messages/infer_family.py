"""Infer the family of a failure that no pattern matches: the component and the step that failed.

The signs are the command that failed, an HTTP status, the class of a Go error, the reason of a Kubernetes
status or an event, a gRPC code, and the wrappers around the text. The first sign found is used, from the most
specific to the least. A text without any sign has no family.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from whysync.lazy_pattern import lazy_pattern
from whysync.messages.failed_step import EVENT_FAMILIES, Family
from whysync.messages.failure import Unknown
from whysync.messages.network import is_to_argocd
from whysync.messages.pattern import SEARCHED, Context
from whysync.messages.patterns.git import from_source
from whysync.messages.scope import Scope, commands_in_shell
from whysync.messages.wrappers import LayerKind


class Component(StrEnum):
    """The program that reported the failure, if the text identifies it."""

    REPO_SERVER = "repo-server"
    CONTROLLER = "application-controller"
    API_SERVER = "API server"
    EVENT_SOURCE = "event"
    UNKNOWN = ""


class FamilyFailure(Unknown, frozen=True, kw_only=True):
    """`command` is the program that failed, `code` a gRPC code, an HTTP status or a reason.

    `by_words`: only words of the text suggest the family. They do not show what failed, or how.
    """

    family: Family
    component: Component = Component.UNKNOWN
    command: str = ""
    code: str = ""
    words: str = ""  # the text without the wrappers
    by_words: bool = False


def family_of(context: Context) -> FamilyFailure | None:
    """The family of a text, or `None` if it has no sign."""
    sign = _sign_of(context)
    if sign is None:
        return None
    text = context.text or next((layer.text for layer in reversed(context.layers) if layer.text), "")
    return FamilyFailure(
        text=text,
        family=sign.family,
        component=_component(context),
        command=context.command,
        code=sign.code,
        words=context.text,
        by_words=sign.by_words,
    )


class _Sign(NamedTuple):
    family: Family
    code: str = ""
    by_words: bool = False


def _sign_of(context: Context) -> _Sign | None:
    for find in (
        _command,
        _signature,
        _http_status,
        _error_class,
        _status_reason,
        _event_reason,
        _rpc_code,
        _wrapper,
        _logged_step,
        _vocabulary,
        _cached,
    ):
        sign = find(context)
        if sign is not None:
            return sign
    return None


def _component(context: Context) -> Component:
    if context.reason:
        return Component.EVENT_SOURCE
    if _of_cluster(context):
        return Component.API_SERVER
    if _of_source(context):
        return Component.REPO_SERVER
    if context.within(LayerKind.KUBECTL, *_APPLYING):
        return Component.API_SERVER
    return Component.CONTROLLER if context.layers else Component.UNKNOWN


_APPLYING = (
    LayerKind.OBJECTS_FAILED_TO_APPLY,
    LayerKind.TASKS_UNSUCCESSFUL,
    LayerKind.TASKS_NOT_VALID,
    LayerKind.NAMESPACE_FAILED_TO_APPLY,
    LayerKind.SYNC_ERROR,
    LayerKind.SYNC_ATTEMPT,
    LayerKind.OPERATION,
)


def _of_cluster(context: Context) -> bool:
    return context.within(LayerKind.LOAD_LIVE_STATE, LayerKind.CLUSTER, LayerKind.LOAD_KIND, LayerKind.WATCH)


def _of_source(context: Context) -> bool:
    """Only the repo-server is called over gRPC during a comparison."""
    return not _of_cluster(context) and (from_source(context) or context.within(LayerKind.RPC))


def _of_settings(context: Context) -> bool:
    """Did Argo CD fail before it asked a repo-server or a cluster?"""
    if {layer.kind for layer in context.layers} == {LayerKind.COMPARISON_ERROR, LayerKind.LOAD_TARGET_STATE}:
        return True  # settings and Secrets are read before the request to the repo-server
    return context.within(LayerKind.COMPARISON_ERROR, LayerKind.UNKNOWN_ERROR) and not (
        _of_cluster(context)
        or _of_source(context)
        or context.within(LayerKind.DIFF, LayerKind.NORMALIZE, LayerKind.COMPARE_STATES)
    )


def _is_unwrapped(context: Context) -> bool:
    """A ComparisonError without the words that Argo CD puts in front of every error.

    Settings that cannot be read are no condition: `CompareAppState` of Argo CD 3.6 logs them, or puts
    `Failed to load target state: ` in front. So the beginning was not copied, and most errors are those of
    the tool that renders the source.
    """
    kinds = {layer.kind for layer in context.layers}
    return LayerKind.COMPARISON_ERROR in kinds and kinds <= _NO_ORIGIN


_NO_ORIGIN = frozenset(
    {LayerKind.COMPARISON_ERROR, LayerKind.LOG, LayerKind.RETRIED, LayerKind.RETRYING, LayerKind.SYNC_ATTEMPT}
)


# --- the command that failed

_GIT_STEPS = {
    "submodule": Family.SUBMODULE,
    "checkout": Family.REVISION,
    "rev-parse": Family.REVISION,
    "rev-list": Family.REVISION,
    "merge-base": Family.REVISION,
    "diff": Family.REVISION,
    "log": Family.REVISION,
    "show": Family.REVISION,
    "init": Family.REPO_COPY,
    "clean": Family.REPO_COPY,
    "reset": Family.REPO_COPY,
    "config": Family.REPO_COPY,
    "gc": Family.REPO_COPY,
    "verify-commit": Family.SIGNATURE,
    "verify-tag": Family.SIGNATURE,
    "push": Family.HYDRATOR,
    "commit": Family.HYDRATOR,
}
_HELM_STEPS = {
    "template": Family.HELM_TEMPLATE,
    "dependency": Family.HELM_DEPENDENCY,
    "dep": Family.HELM_DEPENDENCY,
    "pull": Family.REPOSITORY,
    "fetch": Family.REPOSITORY,
    "show": Family.REPOSITORY,
    "repo": Family.HELM_DEPENDENCY,  # added only for the dependencies of a chart
    "registry": Family.REPOSITORY_ACCESS,
}
_TOOLS = {
    "kustomize": Family.KUSTOMIZE,
    "jsonnet": Family.JSONNET,
    "jb": Family.JSONNET,
    "tk": Family.JSONNET,
    # Argo CD runs it only to manage its keyring; Git verifies signatures.
    "gpg": Family.KEYRING,
    "gpg-wrapper.sh": Family.KEYRING,
    "sh": Family.PLUGIN,
    "bash": Family.PLUGIN,
}


def _command(context: Context) -> _Sign | None:
    layer = next((layer for layer in reversed(context.layers) if layer.command), None)
    if layer is None:
        return _cut_command(context)
    inside = commands_in_shell(layer.command)
    tool, _, rest = (inside[0] if len(inside) == 1 else layer.command).partition(" ")
    code = "" if layer.exit_code is None else f"exit status {layer.exit_code}"
    if tool == "git":
        step = next((word for word in rest.split() if not word.startswith("-")), "")
        return (
            _http_status(context)
            or _first_class(_GIT_CLASSES, context)
            or _Sign(_GIT_STEPS.get(step, Family.GIT), code)
        )
    if tool in ("helm", "helm2", "helm3"):
        step = rest.partition(" ")[0]
        return _Sign(_HELM_STEPS.get(step, Family.HELM_TEMPLATE), code)
    if tool == "kubectl":
        # otherwise what the API server answered decides
        return _Sign(Family.OWN_KUBECTL, "signal: killed") if "signal: killed" in layer.text else None
    return _Sign(_TOOLS.get(tool, Family.PLUGIN), code)


def _cut_command(context: Context) -> _Sign | None:
    """The command of a text that ends inside it: "`helm depe"."""
    match = _CUT_COMMAND.fullmatch(context.text)
    if match is None:
        return None
    steps = {"git": _GIT_STEPS, "helm": _HELM_STEPS}.get(match["tool"], {})
    started = {family for step, family in steps.items() if match["step"] and step.startswith(match["step"])}
    if len(started) == 1:
        return _Sign(next(iter(started)))
    whole = {"git": Family.GIT, "kustomize": Family.KUSTOMIZE}.get(match["tool"])
    return _Sign(whole) if whole is not None else None


_CUT_COMMAND = lazy_pattern(r"`(?P<tool>git|helm|kustomize) (?P<step>[a-z-]*)[^`]*")


# --- classes of errors, by their words


_LOCAL_FILES = (
    r"permission denied(?! \()|read-only file system|operation not permitted|input/output error|"
    r"device or resource busy|text file busy"
)
"""Errors of the operating system about files: those of the program that reports them."""


_OWN_TOOLS = r"(?:git|helm|kustomize|gpg|ssh|argocd|kubectl|tar)"
"""The beginnings of the programs that Argo CD starts by itself."""


class _Class(NamedTuple):
    """Lower-case `words`: a regex that the folded text must contain; `where`: only in such a place.

    `by_words`: the words name a subject, not an error.
    """

    family: Family
    words: str
    where: Callable[[Context], bool] = lambda _: True
    by_words: bool = False


def _not_of_source(context: Context) -> bool:
    return not _of_source(context)


def _begins_path_of_source(context: Context) -> bool:
    """Is the text the beginning of the folder that a wrapper names?"""
    folders = (layer.subject for layer in context.layers if layer.kind is LayerKind.GENERATE_MANIFESTS)
    return any(folder.startswith(context.text) for folder in folders)


def _of_watch(context: Context) -> bool:
    return context.within(LayerKind.WATCH)


def _of_repo_server(context: Context) -> bool:
    return context.scope is Scope.REPO_SERVER


def _of_login(context: Context) -> bool:
    """Is it a line of Argo CD's API server, of Dex or of the `argocd` command? Plugins log in elsewhere.

    Only the API server answers that a caller is not authenticated.
    """
    is_answer = any(layer.code == "Unauthenticated" for layer in context.layers)
    is_line = context.within(LayerKind.LOG) and context.scope is not Scope.PLUGIN
    return (is_answer or is_line) and not from_source(context)


def _of_rendering_or_log(context: Context) -> bool:
    return _of_rendering(context) or context.scope is Scope.PLUGIN or context.within(LayerKind.LOG)


def _of_rendering(context: Context) -> bool:
    return _of_repo_server(context) or _is_unwrapped(context)


def _of_controller(context: Context) -> bool:
    return context.scope is Scope.CONTROLLER


def _of_controller_itself(context: Context) -> bool:
    return _of_controller(context) and not _is_unwrapped(context)


def _of_controller_or_repository(context: Context) -> bool:
    return _of_controller(context) or context.within(LayerKind.REPOSITORY)


def _applying(context: Context) -> bool:
    return context.within(LayerKind.KUBECTL, *_APPLYING)


# Refused connections, which start with FATAL as the errors of Git do.
_OF_POSTGRESQL = (
    r"(?:the )?database |role \"|password authentication|no pg_hba\.conf|sorry, too many clients|"
    r"remaining connection slots|terminating connection"
)
_CLASSES: tuple[_Class, ...] = (
    # the cluster answers, but this replica of the controller leaves it to another one
    _Class(Family.SHARDS, r"configured to ignore cluster|cluster sharding is not configured"),
    # the end of a watch, without a reason
    _Class(
        Family.WATCH,
        r"^unknown\b|context canceled",
        _of_watch,
    ),
    _Class(
        Family.HEALTH_CONVERSION,
        r"failed to convert (?:\*?unstructured\S{0,40}|unstructured \w{1,40}) to (?:typed|\*\w)",
    ),
    _Class(
        Family.SCHEME,
        r"no kind \S{1,100} is registered for|not registered in scheme|"
        r"converting \(\S{1,200}\) to \(\S{1,200}\): ",
    ),
    _Class(
        Family.CLUSTER_CONFIG,
        r"in-cluster config|kubernetes_service_host|invalid configuration: no configuration|"
        r"no auth provider found|getting credentials: |exec plugin|k8s rest config|unmarshal cluster config|"
        r"root certificates file with the insecure flag",
    ),
    _Class(Family.CRD_HANDLER, r"error resolving resource$", _not_of_source),
    _Class(
        Family.AGGREGATED_API,
        r"metrics\.k8s\.io|apiservice|stale groupversion discovery|complete list of server apis",
        _not_of_source,
    ),
    _Class(
        Family.API_SERVER,
        r"etcdserver: |raft proposal dropped|storage is (?:re)?initializing|apiserver (?:is shutting|not)|"
        r"when reading response body|unable to return a response|too many requests|client rate limiter|"
        r"unable to handle the request|leader changed|request timed out|timeout: request did not complete|"
        r"too old (?:resource version|to display)|parameter is too old|continue parameter is too old|"
        r"server is (?:overloaded|not ready|currently unable)|http2: |unexpected error when reading",
        _not_of_source,
    ),
    _Class(
        Family.ADMISSION,
        r"admission (?:webhook|control|plugin|policy)|denied the request|validatingadmissionpolicy|"
        r"violates podsecurity|unable to validate against any security context constraint",
    ),
    _Class(Family.PRUNING, r"requires? pruning"),
    _Class(
        Family.SETTINGS,
        r"error unmarshall?ing (?:(?:ex|in)cluded resources|global project settings|deep links)",
    ),
    _Class(
        Family.LOGIN,
        r"failed to query provider|/\.well-known/openid-configuration|\boauth2: |\binvalid session\b|"
        r"no session information|failed to verify (?:id token|signature|token)|^failed to authenticate: |"
        r"invalid redirect url|/[a-z]{3,30}\.\w{2,60}service/\w{2,60}\b.{0,40}\b40[13]\b",
        _of_login,
    ),
    _Class(Family.REPO_RATE_LIMIT, r"rate limit|toomanyrequests|too many requests", _of_source),
    _Class(Family.REPOSITORY_ACCESS, r"failed to initialize github installation transport", _of_source),
    _Class(Family.SPEC_URL, r"repository .{0,300} cannot be initialized[,:]"),
    _Class(Family.SPEC_URL, r"invalid reference: invalid (?:registry|repository)", _of_source),
    _Class(
        Family.REVISION,
        r"invalid revision|unknown revision|ambiguous argument|revision .{0,200}(?:not found|does not exist|"
        r"invalid)|(?:resolve|get|find).{0,60} revision|(?:tag|branch|digest|ref(?:erence)?|commit) .{0,200}"
        r"(?:not found|does not exist|unknown|invalid)|manifest unknown|invalid (?:tag|reference|semver|"
        r"semantic version)|improper constraint|no matching version",
        _of_source,
    ),
    _Class(
        Family.REPOSITORY_ACCESS,
        r"unauthori[sz]ed|permission denied \(|access denied|not authorized",
        _of_source,
    ),
    _Class(Family.REPOSITORY_ACCESS, r"authentication|credentials?\b", _of_source, by_words=True),
    # The repo-server itself runs no other programs: what else cannot be started, a plugin has configured.
    _Class(
        Family.PLUGIN,
        r"(?:fork/exec (?:[\w.-]{0,60}/){0,20}|\bexec: )(?!" + _OWN_TOOLS + r")[\w.-]{1,100}: "
        r"(?:no such file|permission denied|exec format|executable file not found|not a directory)",
        _of_rendering_or_log,
    ),
    _Class(
        Family.OWN_PROCESS,
        r"fork/exec|executable file not found|too many open files|signal: |cannot allocate memory|"
        r"resource temporarily unavailable",
    ),
    # tini, the init process of Argo CD's image
    _Class(Family.OWN_PROCESS, r"\bexec \S{0,100}argocd-repo-server failed: "),
    # the init containers of the repo-server and of Dex, which copy Argo CD's program for another container
    _Class(
        Family.OWN_INIT, r"^(?:/\w{1,10}/){0,2}(?:cp|ln|mv): .{0,300}(?:/shared/|/var/run/argocd|argocd-)"
    ),
    _Class(Family.OWN_START, r"\bexec \S{0,100}argocd-[\w-]{1,60} failed: "),
    _Class(Family.REPO_SERVER_PANIC, r"^(?:panic: )?runtime error: ", _of_source),
    _Class(Family.OWN_PROCESS, _LOCAL_FILES, _of_repo_server),
    # cut off after the path, with which Argo CD begins what it reports about the path of a source
    _Class(Family.SOURCE_FILES, r"^(?:l?stat /)?[\w.@-]+(?:/[\w.@-]*)+$", _of_repo_server),
    _Class(Family.SOURCE_FILES, r"^[\w.@-]+$", _begins_path_of_source),
    _Class(Family.OWN_PROCESS, r"failed to initialize the repo service|could not serve: "),
    _Class(Family.CREDENTIAL_SECRET, r"^secrets? \S{1,253} not found$", _of_controller),
    _Class(
        Family.SETTINGS,
        r"(?:ex|in)cluded resources|resource overrides|\bresource\.\w{1,40}\b|argocd-(?:cm|rbac-cm|secret)\b|"
        r"compare options|\bsettings\b|\b(?:dex|oidc)\.config|\bpolicy\.csv|"
        r"^time: (?:invalid|unknown|missing)",
        _is_unwrapped,
    ),
    _Class(
        Family.UNWRAPPED,
        r"\b(?:secret|configmap)s? .{1,253} not found|^yaml: |json: cannot unmarshal|"
        r"error (?:unmarshaling json|converting yaml)|unexpected end of json|"
        r"invalid character .{1,20} looking for|error parsing regexp|"
        r"strconv\.(?!parsebool)\w{1,30}: parsing",  # templates parse numbers, Secrets of Argo CD have flags
        _is_unwrapped,
    ),
    _Class(
        Family.CREDENTIAL_SECRET,
        r"\bsecrets? \S{1,253} not found",
        _of_controller_or_repository,
    ),
    _Class(
        Family.SECRET_MALFORMED,
        r"strconv\.\w{1,30}: parsing|illegal base64 data|base64: |failed to find any pem data|asn1: ",
        _of_settings,
    ),
    _Class(
        Family.SETTINGS,
        r"^yaml: |json: cannot unmarshal|error (?:unmarshaling json|converting yaml)|unexpected end of json|"
        r"invalid character .{1,20} looking for|configmap .{0,100} (?:not found|missing|invalid)|"
        r"time: (?:invalid|unknown|missing)|error parsing regexp|server\.secretkey",
        _of_settings,
    ),
    _Class(
        Family.INVALID_MANIFEST,
        r"json: (?:cannot unmarshal|unknown field)|strict decoding|validationerror|error validating|"
        r"unknown field|invalid value|is invalid|cannot be handled as a|unable to decode|required value|"
        r"must be (?:nil|a|an|one|no)\b|unsupported value|does not match the namespace",
        _applying,
    ),
    _Class(
        Family.PERMISSION,
        r"forbidden|cannot \w{1,20} resource|not allowed to|unable to impersonate",
        _applying,
    ),
    # the name of the account is missing: the text is cut off
    _Class(Family.PERMISSION, r"\w is forbidden: user\b", _of_cluster),
    _Class(
        Family.SPEC_URL,
        r"net/url: |unsupported protocol scheme|unsupported repo(?:sitory)? (?:type|url)|"
        r"parse \S{1,300}: (?:first path segment|invalid (?:port|control|character|url)|missing protocol)",
    ),
    _Class(
        Family.REPOSITORY_NETWORK,
        r"proxyconnect|dial |lookup |connection (?:refused|reset|timed)|no route to host|unexpected eof|"
        r"broken pipe|tls: |unexpected client error|unexpected status|invalid response",
        _of_source,
    ),
    _Class(Family.GENERATION_TIMEOUT, r"context (?:canceled|deadline exceeded)|timed? ?out", _of_source),
    _Class(Family.GENERATION_TIMEOUT, r"^context (?:canceled|deadline exceeded)$", _is_unwrapped),
    _Class(
        Family.REPOSITORY_ACCESS,
        r"^(?:invalid credentials?|authentication failed|bad credentials|access denied)\.?$",
        _is_unwrapped,
    ),
    _Class(
        Family.CLUSTER,
        r"dial |lookup |connection (?:refused|reset|timed)|no route to host|unexpected eof|broken pipe|"
        r"context (?:canceled|deadline exceeded)|i/o timeout",
        _of_cluster,
    ),
)


def _first_class(classes: tuple[_Class, ...], context: Context) -> _Sign | None:
    text = context.text[:SEARCHED].lower().replace('"', "").replace("'", "")
    return next(
        (
            _Sign(known.family, by_words=known.by_words)
            for known in classes
            if re.search(known.words, text) and known.where(context)
        ),
        None,
    )


def _error_class(context: Context) -> _Sign | None:
    return _first_class(_CLASSES, context)


_GIT_CLASSES: tuple[_Class, ...] = (
    # go-git keeps the first line of the answer; GitLab leaves it empty when it denies access over SSH
    _Class(Family.REPOSITORY_ACCESS, r"unknown error: remote:$"),
    _Class(
        Family.REPOSITORY_ACCESS,
        r"saml sso|authenticat|access denied|publickey|credentials|passphrase|not authorized|unauthorized",
    ),
    _Class(Family.REPOSITORY, r"remote repository is empty"),
    _Class(
        Family.OWN_PROCESS,
        r"cannot allocate memory|out of memory|malloc failed|resource temporarily unavailable|"
        r"unable to create thread|cannot fork|too many open files",
    ),
    _Class(Family.GIT, r"\blfs\b"),
    _Class(
        Family.REPO_COPY,
        r"dubious ownership|corrupt|bad object|is empty|insufficient permission|not a git repository|"
        r"unable to (?:create|write|open|unlink|append|read)|could not (?:write|open|lock|set)|"
        r"cannot (?:lock|update|open)|bad (?:index|signature)|index file|packfile|missing (?:blob|tree)|"
        r"shallow file|" + _LOCAL_FILES,
    ),
)


# --- words that only one tool writes, in texts without the wrapper that names the tool


def _has_no_step(context: Context) -> bool:
    """Did Argo CD report it, in a condition or its log, without the step that failed?"""
    kinds = {layer.kind for layer in context.layers}
    return bool(kinds) and kinds <= _OF_ANY_STEP


_OF_ANY_STEP = _NO_ORIGIN | {LayerKind.INVALID_SPEC_ERROR, LayerKind.UNKNOWN_ERROR, LayerKind.RPC}

_SIGNATURES: tuple[_Class, ...] = (
    _Class(
        Family.KUSTOMIZE,
        r"accumulat\w{1,6} (?:resources|components|err)|kustomiz|\[no(?:ns|ver|grp)\]|\|~[xp]\|"
        r"evalsymlink failure|loading kv pairs|merging from generator|resid\.resid|candidate root|"
        r"trouble (?:configuring|pulling|inflating|merging)|for path \S{1,200} in replacement|"
        r"(?:add|remove|replace) operation does not apply|hit \w{1,10} timeout running \S{0,40}git",
    ),
    _Class(
        Family.HELM_TEMPLATE,
        r"\berror calling \w{1,40}: |\bcoalesce\.go:|table with non[ -]table|\.values\.\w|in template$|"
        r"release manifest|rendered manifests contain|\bhelm (?:template|install|upgrade)\b|chart\.metadata|"
        r"[\w-]{1,60}/templates/[\w./-]{1,200}|--set(?:-string|-file)?\b|\bvalues[\w.-]{0,60}\.ya?ml\b|"
        # errors of Go's templates
        r"wrong type for value; expected|can.?t evaluate field|nil pointer evaluating|"
        r"incompatible types for comparison|wrong number of args for|range can.?t iterate over",
    ),
    _Class(
        Family.HELM_DEPENDENCY,
        r"\bchart\.(?:yaml|lock)\b|\bdependency (?:build|update)\b|protocol handler for: ",
    ),
    _Class(Family.REPOSITORY, r"could not download (?:oci|https?)://"),
    _Class(
        Family.PLUGIN,
        r"^(?:/bin/|/usr/bin/)?(?:ba|da|z)?sh: |\bsops\b|\bvault\b|\bavp\b|helmfile|config management",
    ),
    _Class(
        Family.GIT,
        rf"^fatal: (?!{_OF_POSTGRESQL})|^remote: |unknown error: remote|"
        r"(?:fetch|index|upload)-pack|rpc failed; curl|kex_exchange|"
        r"loose object|"
        r"cannot lock ref|\brefs/(?:heads|remotes|tags)/|publickey|\bgit (?:fetch|clone|submodule)\b|"
        r"\bssh: |info/refs|\S\.git\b|early eof|ssh_auth_sock|remote repository|dial tcp \S{1,253}:22\b|"
        r"unsupported scheme|saml sso|the key you are authenticating",
    ),
    _Class(
        Family.REPOSITORY,
        r"\bindex\.yaml\b|\S\.tgz\b|\boci://|/v2/\S{1,300}(?:manifests|blobs|tags)|chart repository|"
        r"oauth token|registry",
    ),
)
_ACCESS = _Class(
    Family.REPOSITORY_ACCESS,
    r"unauthori[sz]ed|forbidden|denied|authenticat|credential|authorize|saml sso|password|passphrase|"
    r"no key found",
)
_NETWORK = _Class(
    Family.REPOSITORY_NETWORK,
    r"proxyconnect|dial tcp|lookup |connection (?:refused|reset|timed|closed)|no route to host|\beof\b|"
    r"deadline exceeded|timed? ?out|broken pipe|hung up|tls: ",
)


def _signature(context: Context) -> _Sign | None:
    """The tool by its own words. What a repository answers comes before the request for it."""
    sign = _first_class(_SIGNATURES, context) if _has_no_step(context) else None
    if sign is None or sign.family not in (Family.GIT, Family.REPOSITORY):
        return sign
    match = _STATUS.search(context.text[:SEARCHED])
    code = (match["code"] or match["named"]) if match is not None else ""
    if code:
        return _Sign(_SOURCE_STATUS.get(code, Family.REPOSITORY_NETWORK), code)
    return (
        (_first_class(_GIT_CLASSES, context) if sign.family is Family.GIT else None)
        or _first_class((_ACCESS, _NETWORK), context)
        or sign
    )


# --- codes

_STATUS = lazy_pattern(
    r"(?i:(?:status|code|http(?:/\d(?:\.\d)?)?|error|response)\W{1,3}(?P<code>[45]\d\d)\b)"
    r"|\b(?P<named>[45]\d\d):? (?i:unauthorized|forbidden|not found|proxy authentication|request timeout|"
    r"too many requests|internal server|bad gateway|service (?:temporarily )?unavailable|gateway time)"
)
_SOURCE_STATUS = {
    "401": Family.REPOSITORY_ACCESS,
    "403": Family.REPOSITORY_ACCESS,
    "404": Family.REPOSITORY,
    "429": Family.REPO_RATE_LIMIT,
}
_CLUSTER_STATUS = {"401": Family.CLUSTER_LOGIN, "403": Family.PERMISSION, "429": Family.API_SERVER}


def _http_status(context: Context) -> _Sign | None:
    match = _STATUS.search(context.text[:SEARCHED])
    if match is None or is_to_argocd(context.text):
        return None
    code = match["code"] or match["named"]
    if _of_source(context):
        return _Sign(_SOURCE_STATUS.get(code, Family.REPOSITORY_NETWORK), code)
    if _of_cluster(context) or _applying(context):
        family = Family.API_SERVER if code.startswith("5") else _CLUSTER_STATUS.get(code)
        return _Sign(family, code) if family is not None else None
    return None


_STATUS_REASONS = {
    "Unauthorized": Family.CLUSTER_LOGIN,
    "Forbidden": Family.PERMISSION,
    "Invalid": Family.INVALID_MANIFEST,
    "BadRequest": Family.INVALID_MANIFEST,
    "UnsupportedMediaType": Family.INVALID_MANIFEST,
    "RequestEntityTooLarge": Family.TOO_LARGE,
    "Conflict": Family.CONFLICT,
    "Timeout": Family.API_SERVER,
    "ServerTimeout": Family.API_SERVER,
    "ServiceUnavailable": Family.API_SERVER,
    "TooManyRequests": Family.API_SERVER,
    "InternalError": Family.API_SERVER,
    "Expired": Family.API_SERVER,
    "Gone": Family.API_SERVER,
}
"""The reasons of a Kubernetes Status that mean one thing; NotFound and AlreadyExists mean several."""


def _status_reason(context: Context) -> _Sign | None:
    reason = next((layer.subject for layer in context.layers if layer.kind is LayerKind.KUBECTL), "")
    family = _STATUS_REASONS.get(reason)
    return _Sign(family, reason) if family is not None else None


# The kubelet writes a kind in the singular only if the object does not exist.
_DEPENDENCY = lazy_pattern(r"(?i:error: )?(?:configmap|secret) \"")
_PULLING = _Class(
    Family.IMAGE,
    r"\bhttps?\b|\btls\b|x509: |\bregistry\b|manifest unknown|\bpull|dial tcp|no such host|i/o timeout|"
    r"unauthorized|toomanyrequests",
)
"""Of the steps that the kubelet reports with the reason `Failed`, only the pull of an image is a request."""


def _event_reason(context: Context) -> _Sign | None:
    family = EVENT_FAMILIES.get(context.reason)
    if context.reason == "Failed" and _first_class((_PULLING,), context) is not None:
        family = Family.IMAGE
    if context.reason == "Failed" and _DEPENDENCY.match(context.text):
        family = Family.DEPENDENCY
    return _Sign(family, context.reason) if family is not None else None


_RPC_CODES = {
    "Canceled": Family.GENERATION_TIMEOUT,
    "DeadlineExceeded": Family.GENERATION_TIMEOUT,
    "Unavailable": Family.OWN_PROCESS,
    "ResourceExhausted": Family.OWN_PROCESS,
    "PermissionDenied": Family.ARGOCD_PERMISSION,
}


def _rpc_code(context: Context) -> _Sign | None:
    codes = [layer.code for layer in context.layers if layer.kind is LayerKind.RPC]
    family = _RPC_CODES.get(codes[-1]) if codes else None
    if family is None or _of_cluster(context):
        return None
    if context.within(LayerKind.OBJECTS_FAILED_TO_APPLY):
        family = Family.API_SERVER  # the error of etcd, which it passes on
    return _Sign(family, codes[-1])


# --- the wrappers alone

_WRAPPERS: tuple[tuple[LayerKind, Family], ...] = (
    (LayerKind.PLUGIN, Family.PLUGIN),
    (LayerKind.HYDRATOR, Family.HYDRATOR),
    (LayerKind.HELM_DEPENDENCIES, Family.HELM_DEPENDENCY),
    (LayerKind.HELM_TEMPLATE, Family.HELM_TEMPLATE),
    (LayerKind.FETCH, Family.REPOSITORY),
    (LayerKind.RESOLVE_REVISION, Family.REVISION),
    (LayerKind.REPOSITORY, Family.REPOSITORY),
    (LayerKind.LOAD_KIND, Family.AGGREGATED_API),
    (LayerKind.WATCH, Family.WATCH),
    (LayerKind.CLUSTER, Family.CLUSTER),
    (LayerKind.APP_HEALTH, Family.HEALTH_CONVERSION),
    (LayerKind.DELETION, Family.DELETION),
    (LayerKind.DELETION_ERROR, Family.DELETION),
)


def _wrapper(context: Context) -> _Sign | None:
    if not context.text and context.within(LayerKind.TASKS_NOT_VALID):
        return _Sign(Family.VALIDATION)  # the reasons are in the results
    return next((_Sign(family) for kind, family in _WRAPPERS if context.within(kind)), None)


def _cached(context: Context) -> _Sign | None:
    return _Sign(Family.CACHED) if context.within(LayerKind.CACHED) else None


# --- the words of the step that failed, in texts of Argo CD's own components

_VOCABULARY: tuple[_Class, ...] = (
    _Class(
        Family.PLUGIN, r"\bcmp\b|cmp-server|plugin|parameters? announcement|match repository", _of_rendering
    ),
    _Class(
        Family.SIGNATURE,
        r"\b(?:gpg|pgp)\b|gnupg|keyring|(?:commit|tag|revision|git)\b.{0,80}\b(?:signature|signing|signed)\b",
        _of_repo_server,
    ),
    _Class(Family.KUSTOMIZE, r"kustomiz", _of_rendering),
    _Class(Family.JSONNET, r"jsonnet", _of_rendering),
    _Class(Family.HELM_TEMPLATE, r"\bhelm\b|\bchart\b|values? files?\b|set-file", _of_rendering),
    _Class(
        Family.SOURCE_FILES,
        r"symlink|repository root|repo root|app ?path|\bglob\b|resolve path|\bpaths?\b",
        _of_repo_server,
    ),
    _Class(
        Family.OWN_PROCESS,
        r"temp(?:orary)? ?(?:dir|file)|work ?dir|\bt(?:gz|ar)\b|\bstream|checksum|hasher|buffer|"
        r"creating (?:file|nested)|director|lock\b|client cert",
        _of_repo_server,
    ),
    _Class(
        Family.REPOSITORY_ACCESS,
        r"\bcreds?\b|\btokens?\b|username|password|\bjwt\b|challenge|private key|github app|"
        r"app (?:info|installation|user)",
        _of_repo_server,
    ),
    _Class(Family.HYDRATOR, r"\bpush|hydrat|\bnotes?\b|orphan", _of_repo_server),
    _Class(Family.REVISION, r"changed files (?:for|in) repo"),
    _Class(Family.REVISION, r"revision|commit sha|semver|constraint|nable to resolve", _of_repo_server),
    _Class(
        Family.REPOSITORY,
        r"\bgit\b|\brepo(?:sitory)?\b|\boci\b|\bdigest|\blayers?\b|\btags?\b|registry|\bindex\b|checkout|"
        r"\bbranch|\burl\b|redirect|proxy",
        _of_repo_server,
    ),
    _Class(Family.MANIFESTS, r"manifest|\byaml\b|resource list", _of_repo_server),
    _Class(
        Family.DIFF,
        r"normaliz|\bdiff|typed|managed ?fields|predicted|live (?:state|resource|json)|unstructured|\bjq\b",
        _of_controller,
    ),
    _Class(Family.CLUSTER, r"\bclusters?\b|rest ?config|api resource|watch", _of_controller),
    _Class(
        Family.OWN_STATE,
        r"settings?\b|argocd-|overrides?\b|tracking ?method|installation id|label key|"
        r"compare options|customization|source types",
        _of_controller,
    ),
    _Class(
        Family.OWN_STATE,
        r"config ?map|\bsecrets?\b|credentials?\b|\bproject|repositor|\brepos?\b",
        _of_controller_itself,
    ),
)


# --- the step that a log line of Argo CD names, whatever its error


def _in_log(context: Context) -> bool:
    return context.within(LayerKind.LOG)


_LOGGED_STEPS: tuple[_Class, ...] = (
    _Class(Family.OWN_PANIC, r"^recovered from panic: |^panic: |^observed a panic", _in_log),
    _Class(
        Family.OWN_STATUS,
        r"(?:constructing app (?:status|spec) patch|persisting normalized application|"
        r"patching application with operation state|merging operation state patch|update informer store|"
        r"set application condition|retrieve latest application state|update finalizers|"
        r"requeue application|request app refresh|waiting for (?:project )?caches? to sync)",
        _in_log,
    ),
    _Class(
        Family.OWN_CACHE,
        r"failed to (?:cache (?:app resources|resources tree)|set app (?:managed )?resources? tree)|"
        r"^(?:manifest|app details|revision metadata|getconnectionstate) cache (?:set |get )?error|"
        r"^cache set error|git references (?:from|to) cache|invalidating cache|"
        r"cached app (?:state|resources)|reconnect to redis|"
        r"failed to save clusters? info|(?:error caching|updating cached) (?:git|revision)",
        _in_log,
    ),
    _Class(Family.REFRESH, r"application refresh deadline exceeded", _in_log),
    _Class(
        Family.GIT_WEBHOOK,
        r"^webhook processing failed|^unknown webhook event|unable to init the \w{1,20} ?\w{0,10} webhook|"
        r"discarding webhook payload",
        _in_log,
    ),
    _Class(Family.WAITED, r"timed out \(\d{1,9}s\) waiting for app .{1,253} match desired state", _in_log),
    _Class(Family.HEALTH_CHANGE, r"health state has transitioned from \w{1,20} to degraded", _in_log),
    _Class(
        Family.SHARDS,
        r"(?:no assigned|cluster|init|calculated) shard|shard(?:ing|s? mapping| number)",
        _in_log,
    ),
    _Class(
        Family.APPLICATION_SET,
        r"nested (?:matrix|merge) generator|generator with other generator|\bapplicationsets?\b|"
        r"parsing (?:branches|repositories|pull request) response|scmrootcapath",
        _in_log,
    ),
    _Class(
        Family.OWN_STATE,
        r"updated settings|options from configmap|installation id|tracking ?method|instance ?label ?key|"
        r"global project settings|feature flag|kustomize version|in configmap|"
        r"(?:parsing|unmarshal) .{0,40}\b(?:cluster|repository) secret",
        _in_log,
    ),
    _Class(Family.CLUSTER, r"destination cluster|clusters? (?:list|labels|servers)", _in_log),
    _Class(Family.SIGNATURE, r"verifying (?:commit )?signature", _in_log),
    _Class(
        Family.KEYRING,
        r"keyring|gnupghome|/gpg/(?:keys|source)\b|\bpgp keys\b|could not create canary",
        _in_log,
    ),
)


def _logged_step(context: Context) -> _Sign | None:
    return _first_class(_LOGGED_STEPS, context)


def _vocabulary(context: Context) -> _Sign | None:
    sign = _first_class(_VOCABULARY, context)
    return None if sign is None else sign._replace(by_words=True)
