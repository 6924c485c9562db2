"""Error wrappers of Argo CD, gRPC, kubectl and shells, and functions that remove them from a message.

`Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown
desc = Manifest generation error (cached): …` has four wrappers in front of the actual error. All wrappers in
front of an error that begin with the same letter are alternatives of one regex, so each is removed by one
match.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache

import msgspec

from whysync.lazy_pattern import lazy_pattern
from whysync.messages.fuzzy_match import tolerant


class LayerKind(StrEnum):
    COMPARISON_ERROR = "comparison-error"
    INVALID_SPEC_ERROR = "invalid-spec-error"
    UNKNOWN_ERROR = "unknown-error"
    SYNC_ERROR = "sync-error"
    DELETION_ERROR = "deletion-error"
    LOAD_TARGET_STATE = "load-target-state"
    LOAD_LIVE_STATE = "load-live-state"
    COMPARE_STATES = "compare-states"
    NORMALIZE = "normalize"
    SOURCE_N_OF_M = "source-n-of-m"
    GENERATE_MANIFESTS = "generate-manifests"
    RPC = "rpc"
    CACHED = "cached"
    RESOLVE_REVISION = "resolve-revision"
    REPOSITORY = "repository"
    FETCH = "fetch"
    HELM_TEMPLATE = "helm-template"
    HELM_DEPENDENCIES = "helm-dependencies"
    PLUGIN = "plugin"
    HYDRATOR = "hydrator"
    CLUSTER = "cluster"
    LOAD_KIND = "load-kind"
    WATCH = "watch"
    DIFF = "diff"
    APP_HEALTH = "app-health"
    OPERATION = "operation"
    SYNC_ATTEMPT = "sync-attempt"
    OBJECTS_FAILED_TO_APPLY = "objects-failed-to-apply"
    TASKS_UNSUCCESSFUL = "tasks-unsuccessful"
    TASKS_NOT_VALID = "tasks-not-valid"
    NAMESPACE_FAILED_TO_APPLY = "namespace-failed-to-apply"
    SYNC_FAIL_HOOKS = "sync-fail-hooks"
    DELETION = "deletion"
    DELETE_RESOURCE = "delete-resource"
    KUBECTL = "kubectl"
    AUTH_RECONCILE = "auth-reconcile"
    INTERNAL_ERROR = "internal-error"
    COMMAND_FAILED = "command-failed"
    APPLICATION_SET = "application-set"
    RETRYING = "retrying"
    RETRIED = "retried"
    LOG = "log"


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """A wrapper: its text and its values; values that a kind does not have are empty."""

    kind: LayerKind
    text: str
    code: str = ""  # RPC: Unknown, Unavailable, …; LOG: error, fatal, …
    index: int | None = None  # SOURCE_N_OF_M
    revision: str = ""  # SYNC_ATTEMPT, OPERATION
    attempt: int | None = None  # RETRIED: how often; RETRYING: which attempt comes next
    command: str = ""  # COMMAND_FAILED
    exit_code: int | None = None
    timeout: str = ""
    server: str = ""  # CLUSTER
    # GENERATE_MANIFESTS: the folder; LOAD_KIND: the kind; REPOSITORY: the URL;
    # RESOLVE_REVISION: the revision; KUBECTL: the reason; LOG: `argocd`, if the command wrote the line
    subject: str = ""


_URL = r"[^\s\"']{1,300}"

# A longer wording comes before a wording that is its beginning.
_FRONT: dict[LayerKind, tuple[str, ...]] = {
    LayerKind.LOG: (
        r"(?:FATA|ERRO|WARN|INFO)\[\d{4}\] ",
        r"finished (?:unary |streaming )?call with code \w{1,40}: ",
        r"Unable to parse updated settings: ",
        r"Reconciler error: ",
        r"Unable to (?:load data|get app details|save changes|(?:create|deploy|sync|delete) application|"
        r"connect (?:HTTPS|SSH|GitHub App|Google Cloud Source|Azure Workload Identity)? ?repository): ",
        r"user tried to get application which they do not have access to: ",
    ),
    LayerKind.OPERATION: (r"(?:Partial )?[Ss]ync operation to (?P<synced>\S{0,200}) ?failed: ",),
    LayerKind.COMPARISON_ERROR: (r"ComparisonError: ",),
    LayerKind.INVALID_SPEC_ERROR: (
        r"InvalidSpecError: ",
        r"application (?:destination )?spec (?:for \S{1,200} )?is invalid: ",
        r"unable to find destination server: ",
    ),
    LayerKind.UNKNOWN_ERROR: (r"UnknownError: ",),
    LayerKind.SYNC_ERROR: (r"SyncError: ",),
    LayerKind.DELETION_ERROR: (r"DeletionError: ",),
    LayerKind.SYNC_ATTEMPT: (
        r"(?:Failed (?:last )?|Skipping )sync attempt to (?P<revision>\[[^\]]{0,500}\]|[^:\s]{0,200}): ",
    ),
    LayerKind.LOAD_TARGET_STATE: (
        r"Failed to load target state: ",
        r"failed to get ref sources: ",
        r"failed to get repo objects: ",
        r"failed to evaluate app revisions changes: ",
        r"failed to evaluate revision changes for source \d+ of \d+: ",
    ),
    LayerKind.LOAD_LIVE_STATE: (r"Failed to load live state: ",),
    LayerKind.COMPARE_STATES: (r"Failed to compare desired state to live state: ",),
    LayerKind.NORMALIZE: (
        r"Failed to normalize target (?:state|resources): ",
        r"failed to perform pre-diff normalization: ",
        r"preDiffNormalize error: ",
    ),
    LayerKind.SOURCE_N_OF_M: (
        r"failed to (?:generate manifest|unmarshal manifests|compare revisions) for source "
        r"(?P<index>\d{1,4}) of \d{1,4}: ",
    ),
    LayerKind.GENERATE_MANIFESTS: (
        r"Unable to generate manifests in (?P<folder>[^:\n]{0,300}): ",
        r"failed to generate manifests?: ",
        r"error generating manifests?: ",
        r"failed to get manifests: ",
        # of a command that is not in the text
        r"failed exit status \d{1,3}: ",
    ),
    LayerKind.RPC: (r"rpc error: code = (?P<code>\w{1,40}) desc = ",),
    LayerKind.CACHED: (r"Manifest generation error \(cached\): ",),
    LayerKind.RESOLVE_REVISION: (
        r"[Uu]nable to resolve '(?P<unresolved>[^']{0,253})' to a commit SHA: (?=\S)",
        r"failed to resolve revision \"(?P<unresolved2>[^\"]{1,253})\": (?=\S)",
        r"cannot get digest for revision \"?(?P<unresolved3>[^\s\":]{1,253})\"?: (?=\S)",
    ),
    LayerKind.REPOSITORY: (
        r"failed to get repo \"(?P<repo>[^\"]{0,300})\": ",
        r"failed to initialize repository resources: ",
        r"error (?:testing|connecting to) repository(?: connectivity)?: ",
        r"repositor(?:y|ies) not accessible: ",
        r"Unable to get repository: ",
        r"repo client error while testing repository: ",
        r"unable to ls-remote HEAD on repository: ",
        r"unable to enrich repository \"[^\"]{0,300}\" info with credentials: ",
        r"failed to get git client for repo (?P<repo2>\S{1,300}): ",
        r"failed to resolve git revision: ",
    ),
    LayerKind.FETCH: (
        r"[Ff]ailed to (?:fetch|checkout) (?:default|FETCH_HEAD|git repo|revision [^:\s]{1,200}|"
        r"[0-9a-f]{7,64}): ",
        r"[Ff]ailed to initialize git repo: ",
        r"failed to list refs: ",
        r"failed to update submodules: ",
        r"failed to (?:checkout|list) LFS files: ",
        r"error pulling OCI chart: ",
        r"failed to pull OCI chart: ",
        r"error fetching chart: ",
        r"failed to fetch chart: ",
        r"failed to get index: ",
        r"unable to get tags: ",
        r"failed to get tags: ",
        r"unable to resolve git revision : ",
    ),
    LayerKind.HELM_DEPENDENCIES: (
        r"error building helm chart dependencies: ",
        r"failed to build (?:helm )?dependencies: ",
    ),
    LayerKind.HELM_TEMPLATE: (
        r"failed to execute helm template command: ",
        r"failed to get command args to log: ",
        r"failed running helm: ",
        r"error getting helm repos: ",
        r"helm client error: ",
    ),
    LayerKind.PLUGIN: (
        r"plugin sidecar failed\. ",
        r"error generating manifests in cmp: ",
        r"CMP processing failed for application \"[^\"]{0,200}\": ",
    ),
    LayerKind.HYDRATOR: (
        r"failed to commit hydrated manifests: ",
        r"[Ff]ailed to hydrate(?: app)?: ",
        r"failed to validate hydration app: ",
    ),
    LayerKind.APPLICATION_SET: (
        r"ErrorOccurred: ",
        r"error generating (?:application from )?params(?: from (?:git|apps))?: ",
        r"child generator returned an error on parameter generation: ",
        r"(?:error )?failed to get params for (?:first|second) generator in (?:the )?matrix generator: ",
        r"error getting param sets (?:from generators|by merge key): ",
        r"error getting params from generator \d{1,4} of \d{1,4}: ",
        r"error (?:getting directories|retrieving Git (?:Directories|files)) ?(?:from repo)?: ",
        r"error getting plugin from generator: ",
        r"error occurred during application (?:generation|validation): ",
        r"validation error found during application validation: ",
        r"unable to generate applications: ",
        r"failed to perform progressive sync reconciliation for application set: ",
        r"failed to select pull request service provider: ",
    ),
    LayerKind.CLUSTER: (
        rf"failed to get cluster (?:info|version) for (?:cluster )?\"(?P<server>{_URL})\": ",
        r"error synchronizing cache state : ",
        rf"[Ff]ailed to sync cluster (?P<server2>{_URL}): ",
        r"[Ff]ailed to get destination cluster: ",
        r"error getting cluster: ",
        r"Unable to (?:get|connect to) cluster: ",
        rf"error getting cluster by (?:server|name) \"(?P<server3>{_URL})\": ",
        r"failed to get server version: ",
        r"failed to get (?:api resources|APIResources): ",
        r"error getting (?:cluster REST config|k8s server version|API resources): ",
    ),
    LayerKind.LOAD_KIND: (r"failed to load initial state of resource (?P<kind>[^:\s]{1,300}): ",),
    LayerKind.WATCH: (
        rf"[Ff]ailed to watch \S{{1,253}}(?: resources)? on (?P<server4>{_URL}?): ",
        r"[Ff]ailed to watch(?: \*?[\w.]{1,200}| app resources)?: ",
        r"Watch failed: ",
    ),
    LayerKind.DIFF: (
        r"failed to calculate diff(?: from cache)?: ",
        r"error calculating structured merge diff: ",
        r"error calculating server side diff: ",
        r"serverSideDiff error: ",
        r"error calculating diff: ",
        r"error normalizing resource: ",
        r"error building typed results: ",
    ),
    LayerKind.APP_HEALTH: (r"error setting app health: ",),
    LayerKind.OBJECTS_FAILED_TO_APPLY: (
        r"one or more objects failed to apply(?: \(dry run\))?(?:, reason:\s*|\.?$|(?=[.] R| \())",
    ),
    LayerKind.TASKS_UNSUCCESSFUL: (
        r"one or more synchronization tasks completed unsuccessfully(?:, reason:\s*|\.?$|(?=\n))",
    ),
    LayerKind.TASKS_NOT_VALID: (
        r"one or more synchronization tasks are not valid(?:: |, reason: | due to [^.:]{0,200}: |\.?$)",
    ),
    LayerKind.NAMESPACE_FAILED_TO_APPLY: (
        r"the namespace failed to apply(?:, reason:\s*|\.?$)",
        r"namespace auto creation failed: ",
        r"namespaceModifier error: ",
    ),
    LayerKind.SYNC_FAIL_HOOKS: (r"one or more SyncFail hooks failed(?:, reason:\s*|\.?$)",),
    LayerKind.DELETION: (
        r"[Uu]nable to delete application resources: ",
        r"error executing (?:pre|post)-delete hooks: ",
    ),
    LayerKind.DELETE_RESOURCE: (
        r"[Ff]ailed to delete(?: resource)?: ",
        r"[Ff]ailed to (?:get live resource|remove hook finalizer): ",
    ),
    LayerKind.AUTH_RECONCILE: (r"error running rbacReconcile: ", r"error running kubectl auth reconcile: "),
    LayerKind.INTERNAL_ERROR: (r"Internal error occurred: (?=\S)",),
    LayerKind.KUBECTL: (
        r"(?:error: )?error when (?:patching|replacing|creating|updating|deleting) \"[^\"]{0,300}\": ",
        r"error when updating: ",
        r"error validating data: failed to check CRD: (?:failed to list CRDs: )?",
        r"(?:error: )?error validating \"[^\"]{0,300}\": (?=error validating data)",
        r"Error from server \((?P<status>\w{1,40})\): (?:error when \w{1,20} \"[^\"]{0,300}\": )?",
        r"kubectl failed exit status \d+: ",
        r"error: (?=\S)",
    ),
}
_MOST = 30
_COMMAND = lazy_pattern(
    r"(?P<cause>exit status (?P<exit>\d{1,9})|(?:fatal )?timeout after "
    r"(?P<timeout>\w{1,20}(?:\.\d{1,9}\w{1,5})?)|signal: \w{1,20})?(?:\s*:\s*|[.\s]*$)"
)
# A command whose closing quote was lost when it was copied.
_UNQUOTED_END = lazy_pattern(r"`[^`\n]{1,400}?(?= failed (?:exit status|signal: |timeout after))")
_BARE_COMMAND = (
    r"'?(?P<command>(?:git|helm|kustomize|kubectl|sh|"
    r"bash) [^\n`]{1,400}?)'? ?failed (?=exit status|timeout after|fatal timeout)"
)
_BACK = (
    r"(?P<retried>\s*\(retried (?P<times>\d{1,6}) times?\)\.?\s*$)"
    r"|(?P<retrying>[.\s]*Retrying attempt #(?P<next>\d{1,6})(?: at [^.\n]{1,40})?\.?\s*$)"
    r"|(?P<unparsable>\s*\(failed to retry: [^()\n]{0,200}\)\s*$)"
)
_BEGIN = lazy_pattern(r"\s*Retrying operation(?: with latest revisions)?\. Attempt #(?P<next>\d{1,6})\s*$")


@cache
def _front(first: str) -> re.Pattern[str]:
    """The wrappers that may begin with this character: to compile all of them takes 10 ms."""
    wordings_by_kind = {
        kind: [wording for wording in wordings if wording[0] == first or not wording[0].isalpha()]
        for kind, wordings in _FRONT.items()
    }
    return re.compile(_any_of({kind: wordings for kind, wordings in wordings_by_kind.items() if wordings}))


def _first_letter(text: str) -> str:
    """Empty if no wrapper begins with it."""
    is_first = any(wording[0] == text[:1] for wordings in _FRONT.values() for wording in wordings)
    return text[:1] if is_first else ""


def _any_of(wordings_by_kind: Mapping[LayerKind, Sequence[str]]) -> str:
    kinds = [
        f"(?P<{kind.name}>{'|'.join(map(_or_cut, wordings))})" for kind, wordings in wordings_by_kind.items()
    ]
    return "|".join([*kinds, f"(?P<BARE>{_BARE_COMMAND})"])


def _or_cut(wording: str) -> str:
    """Also match a wrapper at the end of a truncated text."""
    return f"{wording[:-2]}(?:: |:?$)" if wording.endswith(": ") else wording


@cache
def _folded_front() -> re.Pattern[str]:
    return tolerant(_any_of(_FRONT))


@cache
def _back() -> re.Pattern[str]:
    return re.compile(_BACK)


def peel_front(text: str, *, folded: bool = False) -> tuple[tuple[Layer, ...], str]:
    """The wrappers in front of `text`, outermost first, and the rest; `folded` ignores case and quotes."""
    layers: list[Layer] = []
    while len(layers) < _MOST:
        text = text.lstrip()
        if text.startswith("`"):
            layer, rest = _command(text)
        else:
            layer, rest = _wrapper(text, _folded_front() if folded else _front(_first_letter(text)))
        if layer is None:
            break
        layers.append(layer)
        text = rest
    return tuple(layers), text.strip()


def peel_back(text: str) -> tuple[tuple[Layer, ...], str]:
    """The text that the retry logic appended, searched in the last few hundred characters."""
    begins = _BEGIN.match(text[:200]) if text.lstrip().startswith("Retrying") else None
    if begins:
        return (Layer(kind=LayerKind.RETRYING, text=text, attempt=int(begins["next"])),), ""
    if "etr" not in text[-200:]:  # Retrying, retried, retry
        return (), text
    start = max(0, len(text) - 300)
    match = _back().search(text, start)
    if match is None:
        return (), text
    rest = text[: match.start()]
    if match["retried"]:
        layer = Layer(kind=LayerKind.RETRIED, text=match[0].strip(), attempt=int(match["times"]))
    elif match["retrying"]:
        layer = Layer(kind=LayerKind.RETRYING, text=match[0].strip(), attempt=int(match["next"]))
    else:
        layer = Layer(kind=LayerKind.RETRYING, text=match[0].strip())
    return (layer,), rest


def _wrapper(text: str, front: re.Pattern[str]) -> tuple[Layer | None, str]:
    match = front.match(text)
    if match is None or match.lastgroup is None:
        return None, text
    if match.lastgroup == LayerKind.KUBECTL.name and match[0].startswith("Error: "):
        return None, text  # kubectl writes `error: `; Helm, Kustomize and plugins write it with a capital
    if match.lastgroup == "BARE":
        return _failed_command(text, command=match["command"], end=match.end() - len(" failed "))
    kind = LayerKind[match.lastgroup]
    parts = match.groupdict()
    wrapper = match[0].strip()
    rest = text[match.end() :]
    match kind:
        case LayerKind.RPC:
            layer = Layer(kind=kind, text=wrapper, code=match["code"])
        case LayerKind.SOURCE_N_OF_M:
            layer = Layer(kind=kind, text=wrapper, index=int(match["index"]))
        case LayerKind.SYNC_ATTEMPT:
            layer = Layer(kind=kind, text=wrapper, revision=match["revision"].strip("[]"))
        case LayerKind.OPERATION:
            layer = Layer(kind=kind, text=wrapper, revision=match["synced"])
        case LayerKind.CLUSTER:
            server = parts.get("server") or parts.get("server2") or parts.get("server3") or ""
            layer = Layer(kind=kind, text=wrapper, server=server)
        case LayerKind.WATCH:
            layer = Layer(kind=kind, text=wrapper, server=match["server4"] or "")
        case LayerKind.REPOSITORY:
            layer = Layer(kind=kind, text=wrapper, subject=parts.get("repo") or parts.get("repo2") or "")
        case LayerKind.RESOLVE_REVISION:
            revision = parts.get("unresolved") or parts.get("unresolved2") or parts.get("unresolved3") or ""
            layer = Layer(kind=kind, text=wrapper, subject=revision)
        case LayerKind.LOAD_KIND:
            layer = Layer(kind=kind, text=wrapper, subject=match["kind"])
        case LayerKind.GENERATE_MANIFESTS:
            layer = Layer(kind=kind, text=wrapper, subject=parts.get("folder") or "")
        case LayerKind.KUBECTL:
            layer = Layer(kind=kind, text=wrapper, subject=parts.get("status") or "")
        case _:
            layer = Layer(kind=kind, text=wrapper)
    return layer, rest


def _command(text: str) -> tuple[Layer | None, str]:
    """A failed command in the format of Argo CD's `util/exec`: "`command` failed cause: stderr"."""
    end = text.find("` failed")
    if end < 0:
        unquoted = _UNQUOTED_END.match(text)
        end = unquoted.end() if unquoted is not None else 0
        return _failed_command(text, command=text[1:end], end=end) if end else (None, text)
    return _failed_command(text, command=text[1:end], end=end + 1)


def _failed_command(text: str, *, command: str, end: int) -> tuple[Layer | None, str]:
    after = end + len(" failed")
    while after < len(text) and text[after] == " ":
        after += 1
    match = _COMMAND.match(text, after)
    if match is None:
        return None, text
    code = match["exit"]
    layer = Layer(
        kind=LayerKind.COMMAND_FAILED,
        text=text[: match.end()].strip(),
        command=command,
        exit_code=int(code) if code else None,
        timeout=match["timeout"] or "",
    )
    return layer, text[match.end() :]
