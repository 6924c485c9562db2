"""The message of a notification: three lines (what, why, fix) and a link."""

from __future__ import annotations

from datetime import datetime

import msgspec

from whysync.history.model import AppKey, Incident, Notice, NoticeKind, Outbreak
from whysync.reports.output import one_safe_line
from whysync.reports.terminal import one_line, short_age

_LONGEST = 400
_USUAL = ("", "argocd", "openshift-gitops")


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """What people are told, and the values that channels send as fields of their own.

    `key` identifies it: a receiver that has seen it ignores a copy. `apps`: the number of broken apps.
    """

    key: str
    kind: NoticeKind
    what: str
    why: str
    fix: str
    link: str
    at: datetime
    cause: str
    previous_cause: str
    severity: str
    previous_severity: str
    apps: int
    incident: Incident
    oldest: Incident
    """The first incident of the outbreak; often the same."""

    @property
    def lines(self) -> tuple[str, str, str]:
        return self.what, f"why: {self.why}", f"fix: {self.fix}"


def message_of(
    notice: Notice,
    incident: Incident,
    outbreak: Outbreak | None,
    *,
    key: str,
    link: str = "",
    oldest: Incident | None = None,
    before: Outbreak | None = None,
) -> Message:
    """`before`: the outbreak of the previous cause, if the cause changed."""
    problem = incident.problem
    # A closed outbreak has no open apps; the message is then about all that it had.
    apps = 1 if outbreak is None else max(outbreak.open_apps or outbreak.total_apps, 1)
    severity = outbreak.severity if outbreak is not None and outbreak.severity else problem.severity
    return Message(
        key=key,
        kind=notice.kind,
        what=_what(notice, incident, apps, severity),
        why=_line(problem.root if _adds(problem.root, problem.verdict) else problem.verdict)
        if apps == 1 or outbreak is None
        else _line(outbreak.what or problem.verdict),
        fix="none needed" if notice.kind is NoticeKind.CLOSED else _line(problem.fix) or "none known",
        link=f"{link.rstrip('/')}/incidents/{incident.id}" if link else "",
        at=notice.at,
        cause=problem.cause,
        previous_cause=notice.previous_cause,
        severity=severity,
        previous_severity=before.severity if before is not None else severity,
        apps=apps,
        incident=incident,
        oldest=oldest or incident,
    )


def _what(notice: Notice, incident: Incident, apps: int, severity: str) -> str:
    """The first line; it contains the cause."""
    name = _line(shown_name(incident.app))
    subject = name if apps == 1 else f"{apps} apps"
    cause = incident.problem.cause
    match notice.kind:
        case NoticeKind.OPENED:
            return f"{subject} {'is' if apps == 1 else 'are'} broken: {cause} ({severity})"
        case NoticeKind.CAUSE_CHANGED:
            return f"{subject}: the cause changed from {notice.previous_cause} to {cause} ({severity})"
        case NoticeKind.CLOSED:
            lasted = short_age(incident.duration(notice.at))
            return f"{subject} {'has' if apps == 1 else 'have'} recovered after {lasted}: {cause}"


def shown_name(app: AppKey) -> str:
    """The name, with the namespace and the instance unless they are the usual ones of Argo CD."""
    parts = [part for part in (app.instance, app.namespace) if part not in _USUAL]
    return "/".join((*parts, app.name))


def _adds(root: str, verdict: str) -> bool:
    return bool(root) and root not in verdict


def _line(text: str) -> str:
    """One line of limited length, without control characters: the text can come from a cluster."""
    return one_safe_line(one_line(text, _LONGEST))
