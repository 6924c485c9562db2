"""AppProjects and Argo CD's RBAC: what an Application or a person may not do."""

from __future__ import annotations

import re
from enum import StrEnum

from whysync.messages.failure import Failure
from whysync.messages.pattern import Context, Pattern, fill, group_text


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
    """`value` is what was refused: a repository, `<server> <namespace>`, `<group>:<Kind>`, a namespace."""

    what: ProjectRule
    value: str = ""
    project: str = ""
    group: str = ""
    kind: str = ""
    server: str = ""
    namespace: str = ""


def denied_kind(match: re.Match[str], context: Context) -> Failure:
    group, kind = group_text(match, "group"), group_text(match, "kind")
    return ProjectDenied(
        text=context.text,
        what=ProjectRule.KIND,
        value=f"{group}:{kind}",
        project=group_text(match, "project").rstrip("."),
        group=group,
        kind=kind,
    )


def denied(match: re.Match[str], context: Context, what: ProjectRule) -> Failure:
    server, namespace = group_text(match, "server"), group_text(match, "namespace")
    return ProjectDenied(
        text=context.text,
        what=what,
        value=group_text(match, "value") or f"{server} {namespace}".strip(),
        project=group_text(match, "project").rstrip("."),
        server=server,
        namespace=namespace,
    )


def hidden_app(match: re.Match[str], context: Context) -> Failure | None:
    """A bare refusal, which Argo CD also gives for an app that does not exist."""
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
            value=f"{group_text(m, 'group')}:{group_text(m, 'kind')}",
            group=group_text(m, "group"),
            kind=group_text(m, "kind"),
            namespace=group_text(m, "namespace"),
        ),
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
        r"permission denied: (?P<resource>[a-z-]{3,40}), "
        r"(?P<action>[\w/*.:-]{1,300}), (?P<object>[^\s,]{0,300})(?:, sub: "
        r"(?P<subject>[^,]{0,300}))?",
        fill(ArgocdDenied),
    ),
    Pattern("permission denied", r"^permission denied$", hidden_app),
)
