"""Errors of the ApplicationSet controller: generators, templates, and the Applications that it writes."""

from __future__ import annotations

import re

from whysync.messages.failure import Failure
from whysync.messages.pattern import Context, Pattern, group_text
from whysync.messages.wrappers import LayerKind

_NO_ENTRY = re.compile(
    r"at <(?P<expression>[^>\n]{1,200})>: map has no entry for key \"(?P<key>[^\"]{1,253})\""
)
"""With `missingkey=error`: the template uses a parameter that the generators do not give."""


class ApplicationSetFailed(Failure, frozen=True, kw_only=True):
    """`name` is the set, if the text or the log line names it; `missing_parameter` what no generator gave."""

    name: str = ""
    detail: str = ""
    missing_parameter: str = ""


def failed(match: re.Match[str], context: Context) -> Failure:
    named = (layer.subject for layer in context.layers if layer.kind is LayerKind.APPLICATION_SET)
    name = group_text(match, "name") or next(filter(None, named), "")
    detail = match[0].strip().removeprefix(f"ApplicationSet {name} ")
    return ApplicationSetFailed(
        text=context.text, name=name, detail=detail, missing_parameter=_missing_parameter(detail)
    )


def _missing_parameter(detail: str) -> str:
    """`metadata.labels.region`. Go cuts long expressions (`<.metadata.labels.reg...>`); the key is whole."""
    match = _NO_ENTRY.search(detail)
    if match is None:
        return ""
    parents, key = match["expression"].removesuffix("...").rpartition(".")[0], match["key"]
    return f"{parents}.{key}".lstrip(".") if _is_whole(match["expression"], key) else key


def _is_whole(expression: str, key: str) -> bool:
    """Does the expression name the parents of the key as they are?"""
    last = expression.removesuffix("...").rpartition(".")[2]
    return expression.startswith(".") and (
        key == last or (expression.endswith("...") and key.startswith(last))
    )


TABLE: tuple[Pattern, ...] = (
    Pattern(
        "ApplicationSet ",
        r"ApplicationSet (?P<name>[\w.-]{1,253}) contains (?:applications with duplicate name|"
        r"an application with no name|unrecognized generators).*",
        failed,
    ),
    # Generators that combine others.
    Pattern("child generator", r"child generator (?:returned an error|generated no parameters).*", failed),
    Pattern(
        "generator",
        r"(?:failed to (?:get|merge) params (?:for|from) (?:the )?(?:first|second) generator|"
        r"found (?:less|more) than (?:one|two) generators?|failed to replace parameters in generator|"
        r"error getting params from generator|failed to combine string maps with merging params|"
        r"the parameters from a generator were not unique by the given mergeKeys).*",
        failed,
    ),
    Pattern("no merge keys were specified", r"no merge keys were specified.*", failed),
    Pattern(
        "with different value, a: ",
        r"found duplicate key \S{1,253} with different value, a: .*",
        failed,
    ),
    # Requests to a Git host about repositories, branches and pull requests.
    Pattern(
        "error listing ",
        r"error listing (?:repos|branches|repositories|pull requests|merge requests|projects|params)\b.*",
        failed,
    ),
    Pattern(
        "provider",
        r"(?:scm provider(?: not allowed)?: .*|scm providers are disabled|"
        r"no (?:SCM|Pull Request) provider implementation configured)",
        failed,
    ),
    Pattern(
        "error fetching ",
        r"error fetching (?:Git[Hh]ub (?:app secret|token)|Gitlab token|Gitea token|Azure Devops access "
        r"token|Bitbucket cloud appPassword|Secret (?:Bearer )?token|CA certificates from ConfigMap)\b.*",
        failed,
    ),
    Pattern("is not a valid SCM creds secret", r"secret \S{1,500} is not a valid SCM creds secret.*", failed),
    Pattern(
        "default branch",
        r"(?:got 404 while getting|could not get) default branch .*",
        failed,
    ),
    # The Git generator, through the repo-server.
    Pattern("from repository '", r"unable to process file '[^']{1,300}' from repository '.*", failed),
    Pattern("rror in GetRepository", r"[Ee]rror in GetRepository.*", failed),
    # The cluster and cluster decision generators.
    Pattern("error getting cluster secrets", r"error getting cluster secrets.*", failed),
    Pattern(
        "lusterDecisionResource",
        r"(?:no clusterDecisionResources found|there is a problem with the definition of the "
        r"ClusterDecisionResource generator).*",
        failed,
    ),
    # Templates. Those of Helm name a file where these have an empty name or the template itself.
    Pattern("failed to execute go template", r"failed to execute go template .*", failed),
    Pattern("template: :", r"template: :\d{1,6}(?::\d{1,6})?: .*", failed),
    Pattern("failed to parse template", r"failed to parse template .*", failed),
    Pattern(
        "emplatePatch", r"(?:error (?:replacing values in|while applying)|invalid) templatePatch.*", failed
    ),
    # `goTemplateOptions` is the only place where users set options of a Go template.
    Pattern("unrecognized option: ", r"panic: unrecognized option: (?P<option>\S{1,100}).*", failed),
    Pattern("to JSON field", r"failed to (?:marshal templated|unmarshal) JSON field.*", failed),
    # Progressive syncs.
    Pattern(
        "AppSet",
        r"(?:failed to (?:set|clear|update) (?:previous )?AppSet app|skipping AppSet rollingUpdate step|"
        r"AppSet (?:\S{1,253} )?has a invalid).*",
        failed,
    ),
    Pattern(
        "application set ",
        r"(?:unable to set|failed to update resources status for) application set (?:condition|status)?.*",
        failed,
    ),
)

LAST: tuple[Pattern, ...] = (
    Pattern("", r"^.+", lambda m, c: failed(m, c) if c.within(LayerKind.APPLICATION_SET) else None),
)
