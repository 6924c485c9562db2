"""Refusals of AppProjects and of Argo CD's RBAC."""

from __future__ import annotations

import re
from enum import StrEnum

from whysync.messages.failure import Failure
from whysync.messages.pattern import Builder, Context, Pattern, fill, group_text


class ProjectMissing(Failure, frozen=True, kw_only=True):
    project: str = ""


class AppNamespaceNotPermitted(Failure, frozen=True, kw_only=True):
    app: str = ""
    namespace: str = ""
    project: str = ""


class ArgocdDenied(Failure, frozen=True, kw_only=True):
    """`permission denied: <resource>, <action>, <object>`: Argo CD's own RBAC."""

    resource: str = ""
    action: str = ""
    object: str = ""
    subject: str = ""


class ProjectRule(StrEnum):
    SOURCE = "source"
    DESTINATION = "destination"
    KIND = "kind"
    NAMESPACE = "namespace"
    HELM_REPO = "helm-repo"


class ProjectDenied(Failure, frozen=True, kw_only=True):
    """`value` was refused: a repository, `<server> <namespace>`, `<group>:<Kind>` or a namespace."""

    what: ProjectRule
    value: str = ""
    project: str = ""
    group: str = ""
    kind: str = ""
    server: str = ""
    namespace: str = ""


def denied(what: ProjectRule) -> Builder:
    return fill(
        ProjectDenied,
        what=what,
        value=_value,
        project=lambda match, _: group_text(match, "project").rstrip("."),
    )


def _value(match: re.Match[str], _context: Context) -> str:
    if kind := group_text(match, "kind"):
        return f"{group_text(match, 'group')}:{kind}"
    destination = f"{group_text(match, 'server')} {group_text(match, 'namespace')}"
    return group_text(match, "value") or destination.strip()


def hidden_app(match: re.Match[str], context: Context) -> Failure | None:
    """A bare refusal, which Argo CD also returns for an app that does not exist."""
    del match
    refused = any(layer.code == "PermissionDenied" for layer in context.layers)
    return ArgocdDenied(text=context.text) if refused else None


FIRST: tuple[Pattern, ...] = (
    Pattern(
        " project ",
        r"[Aa]pplication referenc(?:ing|es) project (?P<project>\S{1,253}) which does not exist",
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
    # The API server of Argo CD creates Applications in its own namespace only.
    Pattern(
        "error creating application",
        r"error creating application: the namespace of the provided object does not match.*",
        fill(AppNamespaceNotPermitted),
    ),
    Pattern(
        "is not permitted in project",
        r"[Rr]esource (?P<group>[\w.-]{0,253}):"
        r"(?P<kind>\w{1,63}) is not permitted in project '?(?P<project>[\w.-]{1,253})",
        denied(ProjectRule.KIND),
    ),
    Pattern(
        "is not permitted in project",
        r"namespace '?(?P<namespace>[\w.-]{1,253})'? is not permitted in project '?"
        r"(?P<project>[\w.-]{1,253})",
        denied(ProjectRule.NAMESPACE),
    ),
    Pattern(
        "is not permitted in project",
        r"(?:application|sync source|destination) repo "
        r"(?P<value>\S{1,300}) is not permitted in project(?: '?"
        r"(?P<project>[\w.-]{1,253}))?",
        denied(ProjectRule.SOURCE),
    ),
    Pattern(
        "is not permitted in project",
        r"application destination \{(?P<server>[^\s}]{0,300}) (?P<namespace>[^\s}]{0,253})[^}]{0,253}\} "
        r"is not permitted in project '?(?P<project>[\w.-]{1,253})",
        denied(ProjectRule.DESTINATION),
    ),
    Pattern(
        "is not permitted in project",
        r"application source (?P<value>.{1,600}?) is not permitted in project '?(?P<project>[\w.-]{1,253})",
        denied(ProjectRule.SOURCE),
    ),
    Pattern(
        "is not permitted in project",
        r"(?P<value>\S{1,300}) is not permitted in project '?(?P<project>[\w.-]{1,253})",
        denied(ProjectRule.SOURCE),
    ),
    Pattern(
        "not permitted in project",
        r"repository '(?P<value>[^']{1,300})' not permitted in project '(?P<project>[^']{1,253})'",
        denied(ProjectRule.SOURCE),
    ),
    Pattern(
        "are not permitted in project",
        r"helm repos (?P<value>.{1,600}?) are not permitted in project '?(?P<project>[\w.-]{1,253})",
        denied(ProjectRule.HELM_REPO),
    ),
    Pattern(
        "allowed destinations in project",
        r"destination server '(?P<server>[^']{0,300})' and namespace '"
        r"(?P<namespace>[^']{0,253})' do not match any of the allowed destinations in "
        r"project '(?P<project>[^']{1,253})'",
        denied(ProjectRule.DESTINATION),
    ),
    Pattern(
        "is not permitted to manage",
        r"application is not permitted to manage (?P<group>[\w.-]{0,253})/"
        r"(?P<kind>\w{1,63})/\S{1,253} in (?P<namespace>\S{0,253})",
        denied(ProjectRule.KIND),
    ),
    Pattern(
        "is not allowed in project",
        r"app is not allowed in project \"(?P<project>[^\"]{1,253})\", or the project does not exist",
        fill(ProjectMissing),
    ),
)

ARGOCD_RBAC: tuple[Pattern, ...] = (
    Pattern(
        "permission denied: ",
        r"permission denied: (?P<resource>[a-z-]{3,40}), ?"
        r"(?P<action>[\w/*.:-]{1,300}), ?(?P<object>[^\s,]{0,300})(?:, sub: "
        r"(?P<subject>[^,]{0,300}))?",
        fill(ArgocdDenied),
    ),
    Pattern("permission denied", r"^permission denied$", hidden_app),
)
