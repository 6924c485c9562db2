"""The configuration file: instances, links, channels, routes, the hook of Argo CD, retention.

Secrets are not in the file: it names files or environment variables that contain them.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from whysync.history.model import NoticeKind, Retention
from whysync.json_tree import Object

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_CLOCK: Final = "^([01][0-9]|2[0-3]):[0-5][0-9]$"
_NAME: Final = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
_URL: Final = "^https?://[^\\s]+$"
PATTERNS: Final = {
    _CLOCK: "a time of the 24-hour clock in quotes, such as '22:00'",
    _NAME: "a name of letters a-z, digits and -",
    _URL: "an http or https URL",
}
"""What the patterns of values mean."""
Clock = Annotated[str, msgspec.Meta(pattern=_CLOCK, description=PATTERNS[_CLOCK])]
Name = Annotated[str, msgspec.Meta(pattern=_NAME, description=PATTERNS[_NAME])]
Url = Annotated[str, msgspec.Meta(pattern=_URL, description=PATTERNS[_URL])]
Pattern = Annotated[str, msgspec.Meta(min_length=1, description="a name, or a pattern with *")]
Severity = Literal["info", "warning", "critical"]


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A section of the configuration file."""


class SecretSource(Settings, frozen=True, kw_only=True):
    """Where a secret is: `file` is read each time it is used, `env` is an environment variable."""

    file: str = ""
    env: str = ""


class WebhookSettings(Settings, frozen=True, kw_only=True):
    """A POST of JSON to `url`, or to the URL in `urlFrom` if the URL is a secret."""

    url: Url | None = None
    url_from: SecretSource | None = None
    token_from: SecretSource | None = None


class SlackSettings(Settings, frozen=True, kw_only=True):
    """An incoming webhook of Slack, whose URL is a secret."""

    url_from: SecretSource


class AlertmanagerSettings(Settings, frozen=True, kw_only=True):
    """Alerts for `url`, the address of an Alertmanager without `/api/v2/alerts`.

    `labels` are added to every alert. An alert ends after `resolveAfterHours` if its end is never reported.
    """

    url: Url
    token_from: SecretSource | None = None
    labels: dict[str, str] = {}
    resolve_after_hours: Annotated[int, msgspec.Meta(ge=1, le=24 * 365)] = 24 * 7


class InstanceSettings(Settings, frozen=True, kw_only=True):
    """An Argo CD instance to watch: by `server`, or by `kubeconfig`, `context` or `inCluster`, or `bundle`.

    With `server` and a cluster, both are read. `name` is on the pages and identifies it in the history.
    """

    name: Name
    server: str = ""
    token_from: SecretSource | None = None
    ca_file: str = ""
    insecure: bool = False
    plaintext: bool = False
    root_path: str = ""
    kubeconfig: str = ""
    context: str = ""
    in_cluster: bool = False
    argocd_namespace: str = ""
    app_namespaces: tuple[str, ...] = ()
    use_cluster_secrets: bool = False
    bundle: str = ""


class Channel(Settings, frozen=True, kw_only=True):
    """A receiver of notifications: exactly one of `webhook`, `slack` and `alertmanager`."""

    name: Name
    webhook: WebhookSettings | None = None
    slack: SlackSettings | None = None
    alertmanager: AlertmanagerSettings | None = None


class Match(Settings, frozen=True, kw_only=True):
    """Which incidents: every list that is given must contain a matching pattern. All `labels` must match."""

    instance: tuple[Pattern, ...] = ()
    project: tuple[Pattern, ...] = ()
    cause: tuple[Pattern, ...] = ()
    severity: tuple[Severity, ...] = ()
    labels: dict[str, Pattern] = {}


class QuietHours(Settings, frozen=True, kw_only=True):
    """No notification between `from` and `to`: it is sent at the end, unless the incident is over by then.

    Incidents of the severities in `urgent` are sent at once.
    """

    from_: Clock = msgspec.field(name="from")
    to: Clock
    timezone: str = "UTC"
    days: tuple[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"], ...] = DAYS
    urgent: tuple[Severity, ...] = ("critical",)


class Route(Settings, frozen=True, kw_only=True):
    """The first route that matches decides, unless it has `continue: true`."""

    channels: Annotated[tuple[Name, ...], msgspec.Meta(min_length=1)]
    match: Match = Match()
    events: tuple[NoticeKind, ...] = tuple(NoticeKind)
    quiet_hours: QuietHours | None = None
    continue_: bool = msgspec.field(name="continue", default=False)


class Notifications(Settings, frozen=True, kw_only=True):
    channels: tuple[Channel, ...] = ()
    routes: tuple[Route, ...] = ()


class ArgocdHook(Settings, frozen=True, kw_only=True):
    """`POST /api/v1/hooks/argocd`: Argo CD sends the secret as a bearer token."""

    secret_from: SecretSource


class Hooks(Settings, frozen=True, kw_only=True):
    argocd: ArgocdHook | None = None


class RetentionSettings(Settings, frozen=True, kw_only=True):
    """How many days the history keeps closed incidents and the entries of timelines."""

    incident_days: Annotated[int, msgspec.Meta(ge=1, le=36_500)] = 365
    timeline_days: Annotated[int, msgspec.Meta(ge=1, le=36_500)] = 90


class Config(Settings, frozen=True, kw_only=True):
    """The configuration file of `whysync serve`. `link` is the address of its page, for links in messages."""

    version: Literal[1]
    link: Url | None = None
    instances: tuple[InstanceSettings, ...] = ()
    notifications: Notifications = Notifications()
    hooks: Hooks = Hooks()
    retention: RetentionSettings = RetentionSettings()

    @property
    def kept(self) -> Retention:
        from datetime import timedelta

        return Retention(
            incidents=timedelta(days=self.retention.incident_days),
            timeline=timedelta(days=self.retention.timeline_days),
        )


def schema() -> Object:
    """The published schema of the configuration file."""
    generated = msgspec.json.schema(Config)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "whysync configuration",
        **generated,
    }
