"""Requests of channels: a message as a generic webhook, Slack and Alertmanager expect it. Nothing is sent."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from whysync import __version__
from whysync.history.model import NoticeKind
from whysync.json_tree import Json, Object
from whysync.notifications.config import AlertmanagerSettings, Channel, SlackSettings, WebhookSettings
from whysync.notifications.message import Message
from whysync.notifications.secrets import SecretText, read_secret

VERSION: Final = 1


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A POST. The URL and the headers can be secrets: they are never logged."""

    url: SecretText
    headers: dict[str, str]
    body: bytes


def request_for(channel: Channel, message: Message, environ: Mapping[str, str]) -> Request:
    """The request that tells `channel` the message; its secrets are read now."""
    if channel.slack is not None:
        return _slack(channel.slack, message, environ)
    if channel.alertmanager is not None:
        return _alertmanager(channel.alertmanager, message, environ)
    assert channel.webhook is not None
    return _webhook(channel.webhook, message, environ)


def _request(url: str, body: Json, message: Message, token: str = "") -> Request:
    headers = {
        "Content-Type": "application/json",
        "Idempotency-Key": message.key,
        "User-Agent": f"whysync/{__version__}",
    }
    if token:
        headers["Authorization"] = f"Bearer {token}"
    return Request(url=SecretText(url), headers=headers, body=msgspec.json.encode(body))


# --- generic webhook -------------------------------------------------------------------------------


def _webhook(settings: WebhookSettings, message: Message, environ: Mapping[str, str]) -> Request:
    url = settings.url or (read_secret(settings.url_from, environ) if settings.url_from else "")
    token = read_secret(settings.token_from, environ) if settings.token_from else ""
    return _request(url, webhook_body(message), message, token)


def webhook_body(message: Message) -> Object:
    incident = message.incident
    return {
        "version": VERSION,
        "key": message.key,
        "event": message.kind.value,
        "at": _time(message.at),
        "what": message.what,
        "why": message.why,
        "fix": message.fix,
        "link": message.link,
        "cause": message.cause,
        "previousCause": message.previous_cause or None,
        "severity": message.severity,
        "apps": message.apps,
        "incident": {
            "id": incident.id,
            "outbreak": incident.outbreak,
            "app": {
                "instance": incident.app.instance,
                "namespace": incident.app.namespace,
                "name": incident.app.name,
            },
            "project": incident.project,
            "cluster": incident.cluster,
            "labels": dict[str, Json](incident.labels),
            "openedAt": _time(incident.opened_at),
            "closedAt": _time(incident.closed_at) if incident.closed_at else None,
        },
    }


# --- Slack -----------------------------------------------------------------------------------------


def _slack(settings: SlackSettings, message: Message, environ: Mapping[str, str]) -> Request:
    return _request(read_secret(settings.url_from, environ), slack_body(message), message)


def slack_body(message: Message) -> Object:
    """The body of an incoming webhook: blocks of plain text, in which Slack reads no links and mentions.

    `text` is what a phone shows. Slack does read `<!channel>` there, so its characters are escaped.
    """
    what, why, fix = map(slack_escaped, message.lines)
    blocks: list[Json] = [
        {"type": "header", "text": _plain(what, 150)},
        {"type": "section", "text": _plain(f"{why}\n{fix}", 2_900)},
    ]
    if message.link:
        link: Object = {"type": "mrkdwn", "text": f"<{message.link}|Open in whysync>"}
        blocks.append({"type": "context", "elements": [link]})
    return {"text": what, "unfurl_links": False, "unfurl_media": False, "blocks": blocks}


def _plain(text: str, longest: int) -> Object:
    shown = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return {"type": "plain_text", "emoji": False, "text": shown}


def slack_escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


# --- Alertmanager ----------------------------------------------------------------------------------


def _alertmanager(settings: AlertmanagerSettings, message: Message, environ: Mapping[str, str]) -> Request:
    token = read_secret(settings.token_from, environ) if settings.token_from else ""
    url = f"{settings.url.rstrip('/')}/api/v2/alerts"
    return _request(url, alertmanager_body(message, settings), message, token)


def alertmanager_body(message: Message, settings: AlertmanagerSettings) -> list[Json]:
    """Alerts as `POST /api/v2/alerts` takes them.

    The labels identify an alert. If the cause changes, the alert of the previous cause ends and another one
    begins. An outbreak has the labels of its oldest incident, also when another one is the last to end.
    `endsAt` is in the future while the incident is open: without it, Alertmanager would end the alert after
    its `resolve_timeout`.
    """
    ends = message.at + timedelta(hours=settings.resolve_after_hours)
    if message.kind is NoticeKind.CLOSED:
        return [_alert(message, settings, message.cause, message.severity, ends_at=message.at)]
    alerts: list[Json] = [_alert(message, settings, message.cause, message.severity, ends_at=ends)]
    if message.kind is NoticeKind.CAUSE_CHANGED and message.previous_cause:
        previous = (message.previous_cause, message.previous_severity)
        alerts.append(_alert(message, settings, *previous, ends_at=message.at))
    return alerts


def _alert(
    message: Message, settings: AlertmanagerSettings, cause: str, severity: str, *, ends_at: datetime
) -> Object:
    incident = message.oldest
    labels = {
        **settings.labels,
        "alertname": "ArgoAppBroken",
        "cause": cause,
        "severity": severity,
        "instance": incident.app.instance,
        "namespace": incident.app.namespace,
        "name": incident.app.name,
        "project": incident.project,
    }
    return {
        "labels": {name: value for name, value in labels.items() if value},
        "annotations": {"summary": message.what, "description": message.why, "fix": message.fix},
        "startsAt": _time(min(incident.opened_at, ends_at)),
        "endsAt": _time(ends_at),
        "generatorURL": message.link,
    }


def _time(instant: datetime) -> str:
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")
