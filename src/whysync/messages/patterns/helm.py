"""Helm: templates that do not render, and charts that cannot be downloaded."""

from __future__ import annotations

import re

from whysync.messages.failure import Failure, Network
from whysync.messages.network import host_of, reason_of, url_in
from whysync.messages.pattern import Answer, Context, Pattern, compiled, fill, group_text, number
from whysync.messages.patterns.apply import KindNotServed
from whysync.messages.patterns.git import (
    AuthMethod,
    RepoAuthFailed,
    RepoUnreachable,
    RevisionNotFound,
    from_source,
    unresolved_revision,
)
from whysync.messages.patterns.manifests import InvalidYaml, SourceSpecInvalid, line_in
from whysync.messages.scope import Scope
from whysync.messages.wrappers import LayerKind


class HelmRender(Failure, frozen=True, kw_only=True):
    """`value_path` as in the template (`.Values.image.tag`).

    `function` is the template function that failed; `fail` if the chart itself refuses the values.
    """

    template: str = ""
    line: int | None = None
    column: int | None = None
    value_path: str = ""
    values_file: str = ""
    function: str = ""
    chart: str = ""
    detail: str = ""
    helm_version: str = ""

    @property
    def not_in_schema(self) -> str:
        """The key of `value_path` that the chart's schema does not permit; empty if it is another error."""
        match = _NOT_IN_SCHEMA.search(self.detail)
        return (match["key"] or match["first"]) if match is not None else ""

    @property
    def is_foreign(self) -> bool:
        """Is it no object of Helm, whose names start with a capital letter (`.Values`), and nil?

        Then the template is often meant for another program, and Helm evaluates it by mistake.
        """
        first = self.value_path.removeprefix("$").lstrip(".")[:1]
        return self.value_path[:1] == "." and first.islower() and "nil pointer" in self.detail

    @property
    def nil_map(self) -> str:
        """The map that is nil: `.Values.image`, if `tag` of `.Values.image.tag` cannot be read.

        In `nil pointer evaluating interface {}.tag` the value before `.tag` is nil, not `tag` itself.
        """
        unread = _UNREADABLE.search(self.detail)
        keys = self.value_path.removeprefix("$").split(".")
        if unread is None or unread["nil"] is None or unread["nil"] not in keys[3:]:
            return ""
        return ".".join(keys[: keys.index(unread["nil"], 3)])

    @property
    def not_a_map(self) -> str:
        """The value before the field that cannot be read: missing, or no map (`can't evaluate field tag`)."""
        unread = _UNREADABLE.search(self.detail)
        keys = self.value_path.removeprefix("$").split(".")
        if unread is None or unread["field"] is None or unread["field"] not in keys[3:]:
            return ""
        return ".".join(keys[: keys.index(unread["field"], 3)])


# The key that Go's templates cannot read, because the value before it is nil or no map.
_UNREADABLE = compiled(
    r"nil pointer evaluating \S{1,60} ?\{?\}?\.(?P<nil>[\w-]{1,100})"
    r"|can't evaluate field (?P<field>[\w-]{1,100}) in type"
)
# Two JSON schema libraries: Helm 3.18 replaced the first.
_NOT_IN_SCHEMA = compiled(
    r"Additional property (?P<key>[\w.-]{1,100}) is not allowed"
    r"|additional properties '(?P<first>[\w.-]{1,100})'(?:, '[^']{1,100}'){0,50} not allowed"
)
_ELLIPSIS = "..."


def complete_path(expression: str, detail: str) -> str:
    """A path that Go's templates shortened to 20 characters (`.Values.image.reposi...`), completed.

    The reason names the key that cannot be read (`can't evaluate field repository`). A path that it does not
    complete is unknown: the result is empty.
    """
    if not expression.endswith(_ELLIPSIS):
        return expression
    *keys, cut = expression.removesuffix(_ELLIPSIS).split(".")
    unread = _UNREADABLE.search(detail)
    key = (unread["nil"] or unread["field"]) if unread is not None else ""
    if not key:
        return ""
    if key in keys:
        return ".".join(keys[: keys.index(key) + 1])
    return ".".join((*keys, key)) if key.startswith(cut) else ""


_UNKNOWN_REPO = compiled(r"no repository definition for|no cached repo(?:sitory)? ")
_UNAVAILABLE = compiled(r"(?i)\b50[0234] |timeout|timed out|connection refused|no such host|connection reset")


class HelmDependency(Failure, frozen=True, kw_only=True):
    chart: str = ""
    repo: str = ""
    version: str = ""
    detail: str = ""

    @property
    def repo_is_unknown(self) -> bool:
        """Helm has no entry for the repository: Argo CD adds one for each that `Chart.yaml` names."""
        return _UNKNOWN_REPO.search(self.detail) is not None

    @property
    def repo_alias(self) -> str:
        """`internal` of `@internal` or `alias:internal`: the name of a repository instead of its URL."""
        alias = self.repo.removeprefix("alias:") if self.repo.startswith("alias:") else self.repo
        return alias.removeprefix("@").rstrip(".") if self.repo.startswith(("@", "alias:")) else ""

    @property
    def lock_is_stale(self) -> bool:
        """The lock file does not match the declared dependencies."""
        return "out of sync" in self.detail

    @property
    def lock_file(self) -> str:
        """Charts of Helm 2 have `requirements.lock`."""
        return "requirements.lock" if "requirements.lock" in self.detail else "Chart.lock"

    @property
    def repo_is_unavailable(self) -> bool:
        """The repository is configured but does not answer: another Chart.lock would not help."""
        return _UNAVAILABLE.search(self.detail) is not None


_EXECUTING = (
    r"(?P<template>[\w./@+-]{1,300}):(?P<line>\d{1,7}):(?P<column>\d{1,7}):?\s{1,8}"
    r"executing \"[^\"]{1,300}\" at <(?P<expr>[^>]{0,300})>:\s{1,8}"
)


def of_dependencies(context: Context) -> bool:
    """Is it about chart dependencies? Older versions of Argo CD run `helm2 dependency build`."""
    return context.within(LayerKind.HELM_DEPENDENCIES) or any(
        layer.command.startswith("helm") and layer.command.partition(" ")[2].startswith("dep")
        for layer in context.layers
    )


def of_helm(context: Context) -> bool:
    return context.command.startswith("helm") or context.within(LayerKind.HELM_TEMPLATE)


def template_error(match: re.Match[str], context: Context) -> Failure | None:
    """`template: <file>:<line>:<column>: executing "…" at <expr>: <detail>`, nested as includes are.

    The innermost `executing` is where it failed. Helm 4 puts the position, `executing` and the detail on
    three lines, and omits the word `template` and the colon after the position.
    """
    if context.scope is Scope.PLUGIN and "/" not in group_text(match, "template"):
        return None  # a file of a chart has a path: it is the plugin's own template
    last = match
    for nested in compiled(_EXECUTING).finditer(context.text[:8192]):
        last = nested
    detail = context.text[last.end() :].strip() if last is not match else group_text(match, "detail")
    expression = group_text(last, "expr")
    function = compiled(r"error calling (\w{1,60}):").search(context.text[last.start() : last.end() + 200])
    values = compiled(r"\$?\.Values(?:\.[\w-]{1,100}|\.\.\.){0,20}").search(expression) or compiled(
        r"(?<![\w\"])\.[A-Za-z_][\w.-]{0,200}"
    ).search(expression)
    position = compiled(
        r"execution error at \((?P<template>[^:()]{1,300}):(?P<line>\d{1,7}):(?P<column>\d{1,7})\): "
    ).search(context.text[last.start() : 8192])
    if position:
        detail = context.text[last.start() + position.end() :].strip()
    else:
        position = last
    return HelmRender(
        text=context.text,
        template=group_text(position, "template"),
        line=number(position, "line"),
        column=number(position, "column"),
        value_path=complete_path(values[0], detail) if values else "",
        function=function[1] if function else "",
        detail=_first_line(detail),
    )


def _first_line(detail: str) -> str:
    """The first line, with the second if the first ends in a colon: `error calling include:`."""
    lines = [line.strip() for line in detail.split("\n", 4)[:4] if line.strip()]
    joined = " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1])
    return joined.replace("Use --debug flag to render out invalid YAML", "").strip()


def execution_error(match: re.Match[str], context: Context) -> Failure:
    """`execution error at (file:line:column): …`, the error of `required` and `fail`."""
    detail = _first_line(group_text(match, "detail"))
    path = compiled(r"\.?[vV]alues\.[\w.\-\[\]]{1,200}|\.Values\.[\w.-]{1,200}").search(detail)
    return HelmRender(
        text=context.text,
        template=group_text(match, "template"),
        line=number(match, "line"),
        column=number(match, "column"),
        value_path=path[0].rstrip(".") if path else "",
        function="fail",
        detail=detail,
    )


def parse_error(match: re.Match[str], context: Context) -> Failure | None:
    if context.scope is Scope.PLUGIN and "/" not in group_text(match, "template"):
        return None
    return HelmRender(
        text=context.text,
        template=group_text(match, "template"),
        line=number(match, "line"),
        chart=group_text(match, "chart"),
        detail=_first_line(group_text(match, "detail")) or match[0].strip(),
    )


def unrendered(match: re.Match[str], context: Context) -> Failure:
    return HelmRender(text=context.text, detail=_first_line(match[0]).removeprefix("Error: "))


def schema_mismatch(match: re.Match[str], context: Context) -> Failure:
    body = group_text(match, "detail")
    error = compiled(
        r"(?P<chart>[\w.-]{1,200}):\s+- (?:at '(?P<pointer>[^']{0,300})': |"
        r"(?P<path>[\w.\-\[\]() ]{1,200}): )?(?P<why>[^\n]{1,500})"
    ).search(body)
    if error is None:
        return HelmRender(text=context.text, detail=body)
    path = error["path"] or (error["pointer"] or "").strip("/").replace("/", ".")
    return HelmRender(
        text=context.text,
        chart=error["chart"],
        value_path=f".Values.{path}" if path and path != "(root)" else "",
        detail=error["why"].strip(),
    )


def values_file(match: re.Match[str], context: Context) -> Failure | None:
    file = group_text(match, "file")
    if not of_helm(context) and "helm" not in context.text and "value" not in match[0]:
        return None
    if of_dependencies(context):
        return None  # `helm dependency build` does not read values files
    if file.rpartition("/")[2] in ("Chart.yaml", "Chart.lock", "requirements.yaml", "requirements.lock"):
        return HelmRender(text=context.text, detail=match[0].strip())
    return HelmRender(text=context.text, values_file=file, detail=match[0].strip())


dependency = fill(HelmDependency, whole="detail")


def download(match: re.Match[str], context: Context) -> Failure | None:
    """Repository, chart and version are parsed from the URL: `https://charts.example.com/redis-17.3.2.tgz`."""
    if not of_dependencies(context) and "helm" not in context.text:
        return None
    archive = group_text(match, "repo")
    repo, _, file = archive.rpartition("/")
    chart = compiled(r"(?P<chart>[\w.-]{1,200}?)-(?P<version>v?\d[\w.+-]{0,60})\.tgz").fullmatch(file)
    return HelmDependency(
        text=context.text,
        chart=chart["chart"] if chart else "",
        repo=repo if chart else archive,
        version=chart["version"] if chart else "",
        detail=match[0].strip(),
    )


def chart_version(match: re.Match[str], context: Context) -> Answer:
    """Helm reports a dependency of the chart and the chart of the Application with the same messages."""
    if of_dependencies(context):
        return dependency(match, context)
    version = group_text(match, "version") or unresolved_revision(context)
    return RevisionNotFound(
        text=context.text,
        revision=version,
        constraint=group_text(match, "constraint"),
        chart=group_text(match, "chart"),
        repo=group_text(match, "repo") or url_in(context.text),
    )


def chart_repository(match: re.Match[str], context: Context) -> Answer:
    if of_dependencies(context):
        return dependency(match, context)
    url = group_text(match, "repo")
    if url.startswith("oci://") and "object required" in match[0]:
        # `helm pull --repo` is for repositories over HTTP: a registry is named without the scheme
        return SourceSpecInvalid(text=context.text, detail=f"repoURL {url} must not have oci:// with a chart")
    if compiled(r" : 40[13] ").search(match[0]):
        return RepoAuthFailed(text=context.text, url=url, helm=True, detail=match[0].strip())
    reason = Network.NOT_FOUND if "404" in match[0] else reason_of(match[0])
    return RepoUnreachable(
        text=context.text, host=host_of(url), url=url, reason=reason, detail=match[0].strip()
    )


def not_a_chart(match: re.Match[str], context: Context) -> Answer:
    """The registry has something else under this tag: an image, or a chart of another media type."""
    if of_dependencies(context):
        return dependency(match, context)
    url = url_in(context.text) or url_in(context.command)
    return RepoUnreachable(
        text=context.text, host=host_of(url), url=url, reason=Network.NOT_A_CHART, detail=match[0].strip()
    )


def any_dependency(match: re.Match[str], context: Context) -> Failure | None:
    return (
        HelmDependency(text=context.text, repo=url_in(context.text), detail=match[0].strip())
        if of_dependencies(context)
        else None
    )


def any_helm(match: re.Match[str], context: Context) -> Failure | None:
    """Helm failed with an error that no other pattern matches."""
    if not of_helm(context):
        return None
    if context.command.startswith("helm registry login"):
        url = url_in(context.text) or url_in(context.command)
        return RepoAuthFailed(text=context.text, url=url, method=AuthMethod.HTTPS, helm=True, detail=match[0])
    if context.scope is Scope.HELM_DOWNLOAD:
        return None  # the chart was not downloaded, so nothing was rendered
    return HelmRender(text=context.text, detail=_first_line(match[0].strip()).removeprefix("Error: "))


invalid_chart = fill(HelmRender, whole="detail")


def not_installed(match: re.Match[str], context: Context) -> Answer:
    """`helm install` asks the cluster for each kind; a command of Argo CD only renders."""
    inner = None if from_source(context) else context.read(group_text(match, "why").lstrip("["))
    return inner if isinstance(inner, KindNotServed) else invalid_chart(match, context)


_DEPENDENCIES: tuple[Pattern, ...] = (
    Pattern(
        "missing in charts/ directory",
        r"found in (?:Chart|requirements)\.yaml, but missing in charts/ directory: "
        r"(?P<chart>[\w./, -]{1,300})",
        dependency,
    ),
    Pattern(
        "no repository definition for",
        r"no repository definition for (?P<repo>[^\s,]{1,300}?)(?:[,.]\s|$)",
        dependency,
    ),
    Pattern(
        "failed to add helm repository", r"failed to add helm repository (?P<repo>\S{1,300})", dependency
    ),
    Pattern(
        "out of sync with the dependencies file",
        r"the lock file \(Chart\.lock\) is out of sync with the dependencies file.*",
        dependency,
    ),
    Pattern("no cached repo found", r"no cached repo found.*|no cached repository for .*", dependency),
    Pattern("no cached repository for", r"no cached repository for .*", dependency),
    Pattern(
        "can't get a valid version for",
        r"can't get a valid version for (?:repositories|dependency|"
        r"\d+ subchart\(s\):?) \"?(?P<chart>[\w./, -]{1,300})\"?.*",
        dependency,
    ),
    Pattern(
        "error unpacking ",
        r"error unpacking (?:subchart )?(?P<chart>[\w.+-]{1,253})(?: in \S{1,253})?: .*",
        dependency,
    ),
    Pattern("did you set 'repository'", r"dependency \"(?P<chart>[^\"]{1,200})\" .*", dependency),
)

TEMPLATES: tuple[Pattern, ...] = (
    Pattern(
        "execution error at",
        r"execution error at \((?P<template>[^:()]{1,300}):(?P<line>\d{1,7}):"
        r"(?P<column>\d{1,7})\): (?P<detail>.*)",
        execution_error,
    ),
    Pattern("executing ", _EXECUTING + r"(?P<detail>.*)", template_error),
    Pattern(
        "parse error at",
        r"parse error at \((?P<template>[^:()]{1,300}):(?P<line>\d{1,7})\): (?P<detail>.*)",
        parse_error,
    ),
    Pattern(
        "parse error in",
        r"parse error in \"(?P<template>[^\"]{1,300})\": (?:template: [^\s:]{1,300}:"
        r"(?P<line>\d{1,7}): )?(?P<detail>.*)",
        parse_error,
    ),
    Pattern(
        "YAML parse error on",
        r"YAML parse error on (?P<template>[^\s:]{1,300}): (?P<detail>.*)",
        # Its line is one of the rendered text, not of the template.
        fill(HelmRender, detail=lambda match, _: _first_line(group_text(match, "detail"))),
    ),
    Pattern(
        "template: ",
        r"template: (?P<template>[\w./@+-]{1,300}):(?P<line>\d{1,7})(?::\d+)?: (?P<detail>.*)",
        parse_error,
    ),
    Pattern(
        "meet the specifications of the schema",
        r"values don't meet the specifications of the schema\(s\) in the following "
        r"chart\(s\):\s*(?P<detail>.*)",
        schema_mismatch,
    ),
    # The end of an error of Go's templates, in a text without its beginning.
    Pattern(
        "at <",
        # A value or a call: `at <anonymous>:` is of a stack trace of JavaScript.
        r"(?:^|\s)at <(?P<value_path>(?:[.$(]|[a-z]\w{0,60} )[^>]{1,300})>: (?P<detail>.{1,2000})",
        fill(
            HelmRender,
            detail=lambda match, _: _first_line(group_text(match, "detail")),
            value_path=lambda match, _: complete_path(
                group_text(match, "value_path"), group_text(match, "detail")
            ),
        ),
    ),
    Pattern(
        "Use --debug flag to render", r".{0,1000}Use --debug flag to render out invalid YAML", unrendered
    ),
)

_CHARTS: tuple[Pattern, ...] = (
    Pattern("failed to parse --set", r"failed to parse --set.*", invalid_chart),
    Pattern("values file glob", r"values file glob \"(?P<file>[^\"]{1,300})\" matched no files", values_file),
    # Argo CD's `ResolveValueFilePathOrUrl`, for schemes that helm.valuesFileSchemes does not list.
    Pattern(
        "the URL scheme", r"the URL scheme '[^']{1,100}' is not allowed", fill(HelmRender, whole="detail")
    ),
    Pattern(
        "error resolving helm value files", r"error resolving helm value files: (?P<detail>.*)", values_file
    ),
    Pattern(
        "no such file or directory",
        r"open (?P<file>(?:<path to cached source>)?\S{1,300}?): no such file or directory",
        values_file,
    ),
    Pattern(
        "not found in",
        r"chart \"(?P<chart>[^\"]{1,200})\" (?:version \""
        r"(?P<version>[^\"]{0,100})\" |matching "
        r"(?P<constraint>\S{0,100}) )?not found in (?P<repo>\S{1,300})",
        chart_version,
    ),
    Pattern("not found in index", r"chart '(?P<chart>[^']{1,200})' not found in index", chart_version),
    Pattern(
        "no chart version found for",
        r"no chart version found for (?P<chart>[\w./-]{1,200})-(?P<version>[\w.<>=^~*|, -]{0,100})",
        chart_version,
    ),
    Pattern("no chart name found", r"no chart name found", chart_version),
    Pattern(
        "constraint not found in",
        r"(?:version matching )?constraint not found in (?:\d{1,9} )?(?:tags|versions|index)",
        chart_version,
    ),
    Pattern(
        "version for constraint",
        r"(?:[Cc]ould not locate a|[Uu]nable to locate any tags|"
        r"find) .{0,80}version for constraint (?P<constraint>\S{1,100})",
        chart_version,
    ),
    Pattern(
        "matching constraint",
        r"could not (?:find|locate) .{0,60}matching constraint (?P<constraint>\S{1,100})",
        chart_version,
    ),
    Pattern(
        "no version for constraint", r"no version for constraint (?P<constraint>\S{1,100})", chart_version
    ),
    Pattern("improper constraint", r"improper constraint: (?P<constraint>\S{1,100})", chart_version),
    Pattern("invalid revision", r"invalid revision:? .{0,20}[\"'](?P<version>[^\"']{1,100})", chart_version),
    Pattern(
        "failed to resolve revision",
        r"failed to resolve revision \"(?P<version>[^\"]{1,200})\"",
        chart_version,
    ),
    Pattern(
        "cannot get digest for revision",
        r"cannot get digest for revision \"?(?P<version>[^\s\":]{1,200})",
        chart_version,
    ),
    Pattern(
        "is not a valid chart repository",
        r"looks like \"(?P<repo>[^\"]{1,300})\" is not a valid chart repository.*",
        chart_repository,
    ),
    Pattern(
        "not found",
        r"(?:^|Error: )(?P<chart>[\w.-]{1,253}(?::\d{1,5})?/[\w./-]{1,253}):"
        r"(?P<version>[\w.+-]{1,128})(?:: | \.\.\. )not found",
        chart_version,
    ),
    Pattern(
        "manifest does not contain",
        r"manifest does not contain (?:minimum number of descriptors|a layer with media ?type) .*",
        not_a_chart,
    ),
    Pattern(
        "media type", r"(?:media type \"[^\"]{1,200}\" is not allowed|unsupported media type).*", not_a_chart
    ),
    Pattern(
        "could not download",
        r"could not download (?P<repo>\S{1,300}?): .*",
        download,
    ),
    Pattern(
        "could not retrieve list of tags",
        r"could not retrieve list of tags for repository (?P<repo>\S{1,300}): .*",
        dependency,
    ),
    Pattern('failed to download "', r"failed to download \"(?P<repo>[^\"]{1,300})\".*", chart_repository),
    Pattern("directory charts/", r"directory (?P<repo>charts/\S{1,300}) not found", dependency),
    # Argo CD itself refuses `helm.version` of the Application: it has one version of Helm.
    Pattern(
        "is not supported",
        r"helm (?:chart )?version '(?P<version>[^']{0,60})' is not supported",
        fill(HelmRender, whole="detail", helm_version=lambda match, _: group_text(match, "version")),
    ),
    Pattern("could not parse kubernetes version", r"could not parse kubernetes version .*", invalid_chart),
    Pattern("is not valid. The value must be", r"apiVersion '[^']{0,60}' is not valid\..*", invalid_chart),
    Pattern("cannot load Chart.yaml", r"cannot load Chart\.yaml: .*", invalid_chart),
    Pattern("exited with error", r"plugin \"[^\"]{1,200}\" exited with error", invalid_chart),
    Pattern("Chart.yaml file is missing", r"Chart\.yaml file is missing", invalid_chart),
    Pattern("validation: chart", r"validation: chart\.metadata\..*", invalid_chart),
    Pattern("incompatible with Kubernetes", r"chart requires kubeVersion: .*", invalid_chart),
    Pattern(
        "gzip",
        r"(?:file \S{0,300} ?does not appear to be a gzipped archive|gzip: invalid header).*",
        lambda m, c: invalid_chart(m, c) if from_source(c) else None,
    ),
    Pattern("cannot load values.yaml", r"cannot load values\.yaml: .*", invalid_chart),
    Pattern("failed parsing --set", r"failed parsing --set.*", invalid_chart),
    Pattern(
        "unable to build kubernetes objects",
        r"unable to build kubernetes objects from release manifest: (?P<why>.*)",
        not_installed,
    ),
    Pattern('function "', r"function \"[^\"]{1,100}\" not defined", invalid_chart),
    Pattern("nil pointer evaluating", r"nil pointer evaluating (?P<expr>\S{1,200})", invalid_chart),
    Pattern(
        "failed to parse ",
        r"failed to parse (?P<file>[^\s:]{1,300}): "
        r"(?P<detail>(?:error (?:converting|unmarshaling)|yaml: ).*)",
        fill(InvalidYaml, line=lambda match, _: line_in(match[0])),
    ),
)

TABLE: tuple[Pattern, ...] = (*_DEPENDENCIES, *TEMPLATES, *_CHARTS)

LAST: tuple[Pattern, ...] = (
    Pattern("", r"^.+", any_dependency),
    Pattern("", r"^.+", any_helm),
)
