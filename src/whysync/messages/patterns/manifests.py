"""Manifest generation with Kustomize, Jsonnet, plugins and plain directories, and the hydrator."""

from __future__ import annotations

import re

import msgspec

from whysync.messages.failure import Failure, Lookup, Network
from whysync.messages.network import lookup_in, reason_of, url_in
from whysync.messages.pattern import Context, Pattern, compiled, fill, group_text, number, quoted
from whysync.messages.patterns.git import PathNotFound, from_source
from whysync.messages.scope import Scope
from whysync.messages.wrappers import LayerKind


class SourceSpecInvalid(Failure, frozen=True, kw_only=True):
    """The source of the Application is invalid; `tools` are those that it declares at once."""

    detail: str = ""
    tools: tuple[str, ...] = ()

    @property
    def missing_ref(self) -> str:
        """The `ref` that values files use, but that no source has."""
        match = compiled(r"source referenced \"(?P<ref>[^\"]{1,100})\", but").search(self.detail)
        return match["ref"] if match else ""


class DestinationSpecInvalid(Failure, frozen=True, kw_only=True):
    """The destination of the Application has no cluster, or both a name and a server."""

    detail: str = ""


_OF_OPTIONS = (
    r"unknown (?:shorthand )?flag|specify one path to kustomization|invalid argument .{1,100} for .{0,20}--|"
    r"flag needs an argument|must specify --enable-|plugins? disabled|unable to find plugin root"
)


class KustomizeBuild(Failure, frozen=True, kw_only=True):
    path: str = ""
    missing_file: str = ""
    patch_target: str = ""
    duplicate_id: str = ""
    remote: str = ""
    detail: str = ""

    @property
    def cannot_decrypt(self) -> bool:
        """The repo-server has no access to the key of an encrypted file; on other machines it may build."""
        return compiled(r"\bdecrypt(?:ing|ed)?\b(?![-./\w])").search(self.detail) is not None

    @property
    def refuses_options(self) -> bool:
        """It stopped at its command line, which Argo CD builds from `kustomize.buildOptions`."""
        return compiled(_OF_OPTIONS).search(self.detail) is not None

    @property
    def lacks_option(self) -> bool:
        """It asks for an option that `kustomize.buildOptions` does not contain."""
        return "must specify" in self.detail or "disabled" in self.detail


class PluginFailed(Failure, frozen=True, kw_only=True):
    """`killed` is the command that a signal ended: its container ran out of memory.

    `unknown`: the repo-server has no plugin of that name, or none that supports the source.
    """

    plugin: str = ""
    killed: str = ""
    detail: str = ""
    unknown: bool = False

    @property
    def vault(self) -> VaultRefusal | None:
        """The request that Vault refused, as its client prints it; `None` if it is another error."""
        text = " ".join(self.text.split())
        found = compiled(
            r"URL: [A-Z]{3,6} (?P<server>https?://[^/\s]{1,300})/v1/(?P<path>\S{1,300}) Code: (?P<code>\d{3})"
        ).search(text)
        if found is None or found["code"] not in ("400", "403"):
            return None
        login = compiled(r"auth/(?P<mount>[\w/-]{1,100}?)/login(?:/.{1,200})?").fullmatch(found["path"])
        mount = login["mount"] if login else ""
        return VaultRefusal(server=found["server"], path=found["path"], mount=mount)


class VaultRefusal(msgspec.Struct, frozen=True, kw_only=True):
    """`mount` is the auth method that refused the login; empty if the login worked and `path` was refused."""

    server: str
    path: str
    mount: str = ""


class JsonnetFailed(Failure, frozen=True, kw_only=True):
    file: str = ""
    line: int | None = None
    detail: str = ""

    @property
    def missing_import(self) -> str:
        """The library that is in no library path; empty if it is another error."""
        match = compiled(r"couldn't open import \"(?P<name>[^\"]{1,300})\"").search(self.detail)
        return match["name"] if match is not None else ""


class InvalidYaml(Failure, frozen=True, kw_only=True):
    """Without a `file`, Argo CD parsed the output of Helm, Kustomize or a plugin."""

    file: str = ""
    line: int | None = None
    detail: str = ""

    @property
    def has_reason(self) -> bool:
        """Argo CD prints `<nil>` where the parser returned no error."""
        return bool(self.detail) and not self.detail.endswith("<nil>")

    @property
    def lacks_kind(self) -> bool:
        """Is it YAML or JSON, but no Kubernetes object at all?"""
        return "'Kind' is missing" in self.detail

    @property
    def is_syntax(self) -> bool:
        """Is it not even YAML? The parser names a line; an error of a type begins with `unmarshal errors`."""
        return compiled(r"(?:^|: )yaml: (?!unmarshal)").search(self.detail) is not None


class GenerationTimeout(Failure, frozen=True, kw_only=True):
    """`command` is the tool that timed out; empty if only the call to the repo-server timed out."""

    command: str = ""
    after: str = ""


class HydratorFailed(Failure, frozen=True, kw_only=True):
    """`unreachable`: why the commit-server, which pushes the manifests, does not answer."""

    app: str = ""
    branch: str = ""
    detail: str = ""
    unreachable: Network | None = None
    lookup: Lookup | None = None  # set if the name of the commit-server could not be resolved


def of_kustomize(context: Context) -> bool:
    return any(layer.command.startswith("kustomize") for layer in context.layers)


def kustomize(match: re.Match[str], context: Context) -> Failure | None:
    """Words that other programs use as well: only in the output of `kustomize`."""
    return only_kustomize(match, context) if of_kustomize(context) or "ustomiz" in match[0] else None


def only_kustomize(match: re.Match[str], context: Context) -> Failure:
    """Words that no other program prints; old releases of Argo CD do not report the command."""
    del match
    text = context.text[:8192]
    missing = compiled(
        r"(?:lstat|open|stat) (?P<lstat>(?:<path to cached source>)?[^\s'\"]{1,300}): no such file|'"
        r"(?P<quoted>[^']{1,300})' doesn't exist|evalsymlink failure on '"
        r"(?P<link>[^']{1,300})'"
    )
    files = [match_["lstat"] or match_["quoted"] or match_["link"] for match_ in missing.finditer(text)]
    resources = compiled(r"accumulating resources from '(?P<file>[^']{1,300})'").findall(text)
    remote = next(
        (
            name
            for name in resources
            if compiled(r"^(?:https?://|git@|ssh://|github\.com/)|\?ref=").search(name)
        ),
        "",
    )
    target = compiled(
        r"no matches for (?:Id|OriginalId|target) "
        r"(?P<id>[^;\n]{1,300})|failed to find unique target for patch "
        r"(?P<patch>[^\n]{1,300})|no resource matches strategic merge patch \""
        r"(?P<name>[^\"]{1,300})\""
    ).search(text)
    twice = compiled(r"may not add resource with an already registered id: (?P<id>[^\s'\"]{1,300})").search(
        text
    )
    return KustomizeBuild(
        text=context.text,
        path=_built(context),
        missing_file=(resources if resources and not remote else files)[-1] if files else "",
        patch_target=(target["id"] or target["patch"] or target["name"]).strip() if target else "",
        duplicate_id=twice["id"] if twice else "",
        remote=remote,
        detail=_without_warnings(text),
    )


def json_patch(match: re.Match[str], context: Context) -> Failure | None:
    """Argo CD applies JSON patches for ignore rules, too, but only logs their errors."""
    of_condition = context.within(LayerKind.COMPARISON_ERROR)
    return only_kustomize(match, context) if of_condition or from_source(context) else None


def _without_warnings(text: str) -> str:
    """The error without the `# Warning: …` lines that Kustomize also writes to stderr."""
    lines = [line for line in text.splitlines() if not line.startswith("# Warning:")]
    return "\n".join(lines).strip().removeprefix("Error: ") or text.strip()


def _built(context: Context) -> str:
    """The directory of `kustomize build`; the repo-server replaces the path of its copy of the repository."""
    command = next((layer.command for layer in context.layers if layer.command.startswith("kustomize")), "")
    path = compiled(r"kustomize build ((?:<path to cached source>)?\S{1,300})").search(command)
    return path[1] if path else ""


def plugin(match: re.Match[str], context: Context) -> Failure:
    name = group_text(match, "plugin") or _program(context)
    return PluginFailed(text=context.text, plugin=name, detail=_last_line(match[0]))


def unknown_plugin(match: re.Match[str], context: Context) -> Failure:
    name = group_text(match, "plugin") or _program(context)
    return PluginFailed(text=context.text, plugin=name, detail=_last_line(match[0]), unknown=True)


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def any_plugin(match: re.Match[str], context: Context) -> Failure | None:
    if context.scope is not Scope.PLUGIN:
        return None
    return PluginFailed(text=context.text, plugin=_program(context), detail=_last_line(match[0]))


def _program(context: Context) -> str:
    """The plugin that a shell was told to run: `argocd-vault-plugin`."""
    commands = (context.command, *(layer.command for layer in context.layers))
    found = (compiled(r"\bargocd-[\w-]{1,60}-plugin\b").search(command) for command in commands)
    return next((match[0] for match in found if match), "")


_OWN_PROGRAMS = frozenset({"argocd", "git", "gpg", "helm", "kubectl", "kustomize", "ssh", "tini"})


def not_executable(match: re.Match[str], context: Context) -> Failure | None:
    """The repo-server could not start a program that is not one of its own: the command of a plugin."""
    program = re.split(r"[\d_.]", group_text(match, "program").rpartition("/")[2])[0]  # kustomize_4_5, helm3
    if context.within(LayerKind.CLUSTER, LayerKind.LOAD_LIVE_STATE) or program in _OWN_PROGRAMS:
        return None
    if not (from_source(context) or context.scope is Scope.PLUGIN):
        return None
    return PluginFailed(text=context.text, detail=match[0].strip())


def jsonnet(match: re.Match[str], context: Context) -> Failure:
    position = compiled(r"(?P<file>[\w./-]{1,300}\.(?:jsonnet|libsonnet)):(?P<line>\d{1,7})").search(
        context.text[:8192]
    )
    return JsonnetFailed(
        text=context.text,
        file=group_text(position or match, "file"),
        line=number(position, "line") if position else None,
        detail=group_text(match, "detail").partition("\n")[0],  # the stack follows, one line each
    )


_OF_ARGOCD = (
    r"cluster config|(?:ex|in)cluded resources|\b(?:dex|oidc)\.config|argocd-(?:cm|rbac-cm|secret)\b|"
    r"comparison settings|(?:cluster|repository) secret"
)


def yaml_error(match: re.Match[str], context: Context) -> Failure | None:
    names_manifest = compiled(r"[Uu]nmarshal manifests?\b|invalid manifest file").search(context.text[:200])
    per_source = names_manifest or context.within(LayerKind.SOURCE_N_OF_M)
    if context.scope is Scope.CONTROLLER and not per_source:
        return None  # the controller parses settings itself, and manifests only per source
    if context.within(LayerKind.CLUSTER) or compiled(_OF_ARGOCD).search(context.text[: match.end()]):
        return None  # a Secret or a setting of Argo CD was parsed
    text = context.text[:8192]
    path = compiled(
        r"(?:[Ff]ailed to unmarshal|invalid manifest file|file) \""
        r"(?P<file>[^\"]{1,300})\"|MalformedYAMLError: yaml: .{0,200}? in File: "
        r"(?P<kfile>\S{1,300})|(?:parse|parsing|decode) (?P<bare>[\w./-]{1,300}\.ya?ml)"
    ).search(text)
    file = (path["file"] or path["kfile"] or path["bare"] or "") if path else ""
    return InvalidYaml(text=context.text, file=file.rstrip(":"), line=line_in(text), detail=match[0].strip())


def line_in(text: str) -> int | None:
    match = compiled(r"line (?P<line>\d{1,9})").search(text)
    return int(match["line"]) if match else None


def rpc_timeout(match: re.Match[str], context: Context) -> Failure | None:
    del match
    if context.within(LayerKind.LOAD_LIVE_STATE, LayerKind.CLUSTER):
        return None
    if not context.within(
        LayerKind.RPC, LayerKind.LOAD_TARGET_STATE, LayerKind.SOURCE_N_OF_M, LayerKind.GENERATE_MANIFESTS
    ):
        return None
    return GenerationTimeout(text=context.text)


hydrator = fill(HydratorFailed, whole="detail")
spec = fill(SourceSpecInvalid, whole="detail")
destination = fill(DestinationSpecInvalid, whole="detail")


def symlink(match: re.Match[str], context: Context) -> Failure:
    names = quoted(match[0])
    return PathNotFound(
        text=context.text,
        path=group_text(match, "file") or (names[0] if names else ""),
        detail=match[0].strip(),
    )


def no_file(match: re.Match[str], context: Context) -> Failure | None:
    file = group_text(match, "file")
    if not from_source(context) or of_kustomize(context) or context.within(LayerKind.PLUGIN):
        return None
    if file.rpartition("/")[2] in ("kustomization.yaml", "kustomization.yml", "Kustomization"):
        return KustomizeBuild(text=context.text, missing_file=file, detail=match[0].strip())
    return PathNotFound(text=context.text, path=file, detail=match[0].strip())


KUSTOMIZE: tuple[Pattern, ...] = (
    Pattern("kustomization file not found", r"kustomization file not found in the path.*", only_kustomize),
    Pattern("unable to find one of", r"unable to find one of .*", kustomize),
    Pattern("accumulat", r"accumulat(?:ing|ion|e) .*", only_kustomize),
    Pattern("AccumulateTarget", r"AccumulateTarget.*", only_kustomize),
    Pattern("already registered id", r"may not add resource with an already registered id.*", only_kustomize),
    Pattern("no matches for ", r"no matches for (?:Id|OriginalId) .*", only_kustomize),
    Pattern("no matches for ", r"no matches for target .*", kustomize),
    Pattern("unique target for patch", r"failed to find unique target for patch.*", only_kustomize),
    Pattern("strategic merge patch", r"no resource matches strategic merge patch.*", only_kustomize),
    Pattern("invalid Kustomization", r"invalid Kustomization: .*", only_kustomize),
    # Argo CD itself writes the patches of the Application into it.
    Pattern(
        "kustomization.yaml",
        r"(?:failed to (?:load|unmarshal|marshal|open|stat|write)|expected .{1,60} in) kustomization\.yaml.*",
        only_kustomize,
    ),
    Pattern("kustomize components require", r"kustomize components require.*", only_kustomize),
    Pattern("is not in or below", r"security; file .{1,300} is not in or below.*", only_kustomize),
    Pattern("load restriction", r".*load restriction.*", kustomize),
    Pattern("trouble configuring builtin", r"trouble configuring builtin.*", only_kustomize),
    Pattern("--enable-helm", r"must specify --enable-helm.*", only_kustomize),
    Pattern(
        "plugin",
        r"(?:external plugins disabled|unable to (?:load external plugin|find plugin root)).*",
        only_kustomize,
    ),
    Pattern(
        "behavior must be merge or replace", r".{0,300}behavior must be merge or replace", only_kustomize
    ),
    Pattern("rawResources failed to read", r"rawResources failed to read.*", only_kustomize),
    Pattern("couldn't execute function", r"couldn't execute function.*", only_kustomize),
    Pattern("produces ID conflict", r"namespace transformation produces ID conflict.*", only_kustomize),
    Pattern("wrong node kind", r"wrong node kind: expected.*", only_kustomize),
    Pattern("fieldSpec '", r"fieldSpec '.*", only_kustomize),
    Pattern("fieldspec", r"considering field '.{0,200}' of object .*", only_kustomize),
    Pattern(
        "eplacement",
        r"(?:unable to find field .{1,200} in replacement (?:source|target)|"
        r"couldn't find target .{1,300} for replacement|nothing selected by .{1,300} for replacement).*",
        only_kustomize,
    ),
    # JSON patches of a kustomization; those of an ApplicationSet name its templatePatch.
    Pattern(
        "operation does not apply",
        r"(?:add|replace|remove|test|copy|move) operation does not apply: .*",
        json_patch,
    ),
    Pattern("test failed", r"testing value \S{1,300} failed: test failed.*", json_patch),
    Pattern("json patch", r"(?:failed to (?:apply|decode)|error applying) json patch.*", json_patch),
    # A field of kustomization.yaml that this release does not know.
    Pattern(
        "json: unknown field",
        r"json: unknown field \"[^\"]{1,100}\".*",
        lambda m, c: only_kustomize(m, c) if c.scope is Scope.REPO_SERVER else None,
    ),
    # Releases before 3 report the chain of loaders.
    Pattern("loadResMapFrom", r"loadResMapFrom\w{1,60}: .*", only_kustomize),
    Pattern("make target for", r"couldn't make target for .*", only_kustomize),
    Pattern("is not registered", r"kustomize version \S{1,60} is not registered", only_kustomize),
)

HYDRATOR: tuple[Pattern, ...] = (
    Pattern(
        "cannot hydrate because",
        r"cannot hydrate because (?:application (?P<app>\S{1,253}) has an error|.*).*",
        hydrator,
    ),
    Pattern(
        "waiting for an external process to update",
        r"waiting for an external process to update (?P<branch>\S{1,253}) from .*",
        hydrator,
    ),
    Pattern(
        "ydrat",
        r"(?:app is configured to hydrate to the repository root|app "
        r"(?P<app>\S{1,253}) hydrator uses the same destination|"
        r"failed to get hydrator credentials|[Ff]ailed to (?:commit|push) hydrated|"
        r"failed to (?:create|encode|retrieve|write) (?:top-level )?hydrator metadata|"
        r"failed to get (?:hydrated (?:commit|readme)|hydrator commit|sourceHydrator)).*",
        hydrator,
    ),
)

PLUGINS: tuple[Pattern, ...] = (
    Pattern(
        "cmp-server plugin with name",
        r"find cmp-server plugin with name \"(?P<plugin>[^\"]{1,200})\".*",
        unknown_plugin,
    ),
    Pattern(
        "error dialing to cmp-server",
        r"error dialing to cmp-server for plugin (?P<plugin>\S{1,200}).*",
        plugin,
    ),
    Pattern(
        "plugin",
        r"could ?n[o']t find (?:any |cmp-server )?plugin"
        r"(?: supporting (?:the given )?repository|: \S{1,200}).*",
        unknown_plugin,
    ),
    Pattern(
        "plugin not supported. plugin name",
        r"plugin not supported\. plugin name (?P<plugin>[\w.-]{1,200})",
        unknown_plugin,
    ),
    Pattern(
        "onfig management plugin",
        r"[Cc]onfig management plugin with name '?(?P<plugin>[\w.-]{1,200}).{0,20}not supported.*",
        unknown_plugin,
    ),
    Pattern("cmp-server", r"error calling cmp-server .*", plugin),
    Pattern("cmp-server/config", r"(?:open|read|stat) \S{0,200}cmp-server/config\S{0,200}: .*", plugin),
    Pattern(
        "fork/exec",
        r"fork/exec (?P<program>\S{1,300}?): (?:permission denied|no such file or directory|"
        r"exec format error|not a directory|is a directory)",
        not_executable,
    ),
    Pattern(
        "executable file not found",
        r"exec: \"(?P<program>[^\"]{1,300})\": executable file not found in \$PATH",
        not_executable,
    ),
    Pattern("detect CMP", r"failed to detect CMP for app.*", plugin),
    Pattern("no files to send", r"no files to send(?:\(.*)?", plugin),
    Pattern("is not the match because", r"repository \S{1,300} is not the match because .*", plugin),
    Pattern("invalid plugin configuration file", r"invalid plugin configuration file.*", plugin),
    Pattern("initializing plugin service", r"error initializing plugin service.*", plugin),
    Pattern("illegal appPath", r"illegal appPath: out of workDir bound", plugin),
    Pattern("failed to convert CMP manifests", r"failed to convert CMP manifests.*", plugin),
    Pattern("argocd-vault-plugin", r"argocd-vault-plugin.*", plugin),
    Pattern("ould not find ", r"[Cc]ould not find (?:secrets|a secret) at path.*", plugin),
    Pattern("AVP configuration error", r"AVP configuration error.*", plugin),
    Pattern("Must provide a supported ", r"Must provide a supported (?:Vault|Authentication) Type.*", plugin),
    Pattern("replace all placeholders", r"(?:Error: )?Replace: could not replace all placeholders.*", plugin),
    Pattern("Error making API request", r"Error making API request\.\s.{0,200}/v1/.*", plugin),
    # helmfile, which no tool of Argo CD runs; it prints the arguments of the program that failed.
    Pattern("helmfile", r"\bhelmfile\b.{0,2000}exited with non-zero status.*", plugin),
    Pattern("in ./helmfile", r"in \./helmfile\S{0,200}: .*", plugin),
    # sops, which Helm, Kustomize or a plugin of the repo-server runs.
    Pattern("to decrypt the SOPS file", r"Failed to get the data key required to decrypt.*", plugin),
    Pattern("rror getting data key", r"[Ee]rror getting data key: .*", plugin),
    Pattern(
        "sops",
        r"(?:sops metadata not found|[Ff]ailed to decrypt .{0,200}\bsops\b|"
        r"\bsops\b.{0,200}[Ff]ailed to decrypt).*",
        plugin,
    ),
)

JSONNET: tuple[Pattern, ...] = (
    Pattern(
        "aluate jsonnet",
        r"[Ff]ailed to evaluate jsonnet \"?(?P<file>[^\":]{1,300})\"?: (?P<detail>.*)",
        jsonnet,
    ),
    Pattern("RUNTIME ERROR", r"RUNTIME ERROR: (?P<detail>.*)", jsonnet),
    Pattern("STATIC ERROR", r"STATIC ERROR: (?P<detail>.*)", jsonnet),
    Pattern(
        "unmarshal generated json",
        r"[Ff]ailed to unmarshal generated json \"(?P<file>[^\"]{1,300})\": (?P<detail>.*)",
        jsonnet,
    ),
)

_FILES: tuple[Pattern, ...] = (
    Pattern("MalformedYAMLError", r"MalformedYAMLError: .*", yaml_error),
    Pattern("error converting YAML to JSON", r"error converting YAML to JSON: .*", yaml_error),
    Pattern("Object 'Kind' is missing", r"Object 'Kind' is missing(?: in.*)?", yaml_error),
    Pattern("Object 'apiVersion' is missing", r"Object 'apiVersion' is missing(?: in.*)?", yaml_error),
    Pattern("already defined at line", r"mapping key .{1,300} already defined at line \d{1,9}", yaml_error),
    Pattern("already set in map", r"key .{1,300} already set in map", yaml_error),
    Pattern(
        "found character that cannot start any token",
        r"found character that cannot start any token",
        yaml_error,
    ),
    Pattern("Only single objects are allowed", r"Found multiple objects in \"[^\"]{1,300}\".*", yaml_error),
    Pattern("nmarshal manifest", r"[Ff]ailed to unmarshal manifest:? .*", yaml_error),
    Pattern('ailed to unmarshal "', r"[Ff]ailed to unmarshal \"(?P<file>[^\"]{1,300})\": .*", yaml_error),
    Pattern("invalid manifest file", r"invalid manifest file \"[^\"]{1,300}\": .*", yaml_error),
    Pattern(
        "yaml: ",
        r"yaml: (?:line \d|unmarshal errors|mapping|did not find|unknown anchor|invalid).*",
        yaml_error,
    ),
    Pattern("apiVersion not set", r"(?:apiVersion|kind) not set.*", yaml_error),
    Pattern("kind not set", r"kind not set.*", yaml_error),
    Pattern("out-of-bounds symlink", r"contains out-of-bounds symlinks\. file: (?P<file>\S{1,300})", symlink),
    Pattern(
        "destination of symlink", r"destination of symlink \"(?P<file>[^\"]{1,300})\" is missing", symlink
    ),
    Pattern(
        "illegal filepath in symlink", r"illegal filepath in symlink at \"(?P<file>[^\"]{1,300})\".*", symlink
    ),
    Pattern(
        "resolved to outside repository root",
        r"file '(?P<file>[^']{1,300})' resolved to outside repository root",
        symlink,
    ),
    Pattern("sources.ref ", r"sources\.ref \S{1,200} cannot contain any special characters.*", spec),
    Pattern(
        "OCI Helm repository URL", r"OCI Helm repository URL should include hostname and port only", spec
    ),
    # An artifact without manifests, most often an image.
    Pattern("oci layer media type", r"oci layer media type \S{1,200} is not in the list of allowed.*", spec),
    Pattern("oci content layer", r"expected only a single oci content layer, got \d{1,9}", spec),
    Pattern("unsupported repository type", r"unsupported repository type \"[^\"]{0,100}\"", spec),
    Pattern("source referenced", r"source referenced \"[^\"]{1,200}\", (?:but|which) .*", spec),
    Pattern("cannot reference ", r"cannot reference (?:a different|multiple) revisions? .*", spec),
    Pattern("'chart' field defined", r"source has a 'chart' field defined.*", spec),
    Pattern("same `ref` key", r"multiple sources had the same `ref` key.*", spec),
    Pattern(
        "multiple application sources defined",
        r"multiple application sources defined: (?P<found>[\w, ]{1,100})",
        lambda m, c: SourceSpecInvalid(
            text=c.text, detail=m[0].strip(), tools=tuple(re.split(r"[, ]+", group_text(m, "found")))
        ),
    ),
    Pattern("are required", r"spec\.source.{0,40} (?:and either|are required|is required).*", spec),
    Pattern("targetRevision is required", r"spec\.source\.targetRevision is required.*", spec),
    Pattern("is required", r"spec\.sourceHydrator\.\S{1,80} is required", spec),
    Pattern(
        "both name and server defined",
        r"application destination can't have both name and server defined.*",
        destination,
    ),
    Pattern("Destination server missing", r"Destination server missing from app spec.*", destination),
    Pattern(
        "no such file or directory",
        r"(?:lstat|stat|open) (?P<file>(?:<path to cached source>)?\S{1,300}?): no such file or directory",
        no_file,
    ),
    Pattern("deadline exceeded", r"context deadline exceeded", rpc_timeout),
    Pattern("DeadlineExceeded", r"DeadlineExceeded", rpc_timeout),
)

TABLE: tuple[Pattern, ...] = (*HYDRATOR, *PLUGINS, *JSONNET, *_FILES)


def any_kustomize(match: re.Match[str], context: Context) -> Failure | None:
    del match
    if not of_kustomize(context) or not context.text:
        return None
    return KustomizeBuild(
        text=context.text,
        path=_built(context),
        remote=url_in(context.text),
        detail=_without_warnings(context.text),
    )


def any_hydration(match: re.Match[str], context: Context) -> Failure | None:
    if not context.within(LayerKind.HYDRATOR):
        return None
    to_commit_server = "transport: " in context.text or any(
        layer.code == "Unavailable" for layer in context.layers
    )
    return HydratorFailed(
        text=context.text,
        detail=match[0].strip(),
        unreachable=reason_of(context.text) if to_commit_server else None,
        lookup=lookup_in(context.text) if to_commit_server else None,
    )


LAST: tuple[Pattern, ...] = (
    Pattern("", r"^.+", any_hydration),
    Pattern("", r"^.+", any_kustomize),
    Pattern("", r"^.+", any_plugin),
)
