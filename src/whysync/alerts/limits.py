"""Thresholds of the alerts and the apps they cover."""

from __future__ import annotations

import json
import re
from typing import Final

import msgspec


class AlertLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Thresholds of the alerts, times in seconds."""

    stuck: float = 30 * 60
    out_of_sync: float = 30 * 60
    waiting: float = 24 * 3600
    degraded: float = 15 * 60
    progressing: float = 3600
    unknown: float = 15 * 60
    window: float = 3600
    flaps: int = 8
    """Each deployment changes both statuses twice: four deployments within the window are not flapping."""
    syncs: int = 10
    failures: int = 0
    repo_failures: int = 3
    silent: float = 30 * 60


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """The apps that the alerts cover; empty means all.

    `namespace_label`: a scraper that sets its own `namespace` on every series (the Prometheus operator
    without `honorLabels`) renames Argo CD's label to `exported_namespace`.
    """

    namespaces: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    apps: tuple[tuple[str, str], ...] = ()  # namespace, name
    namespace_label: str = "namespace"

    @property
    def by(self) -> str:
        return f"{self.namespace_label}, name, project"

    def matchers(self, *more: str) -> str:
        """Label matchers, such as `{namespace="argocd",sync_status="OutOfSync"}`; empty without any."""
        spaces = self.namespaces or tuple(dict.fromkeys(space for space, _ in self.apps if space))
        names = tuple(dict.fromkeys(name for _, name in self.apps))
        matchers = [
            *(_one_of(label, values) for label, values in self._labels(spaces, names) if values),
            *more,
        ]
        return f"{{{','.join(matchers)}}}" if matchers else ""

    def _labels(
        self, spaces: tuple[str, ...], names: tuple[str, ...]
    ) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return (self.namespace_label, spaces), ("name", names), ("project", self.projects)


def _one_of(label: str, values: tuple[str, ...]) -> str:
    if len(values) == 1:
        return f"{label}={_quoted(values[0])}"
    return f"{label}=~{_quoted('|'.join(map(_literal, values)))}"


def _literal(value: str) -> str:
    """Escape text for a Prometheus regular expression, which has no escape for `-`."""
    return re.sub(r"[\\.+*?()|\[\]{}^$]", r"\\\g<0>", value)


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


_UNITS: Final = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def duration(seconds: float) -> str:
    """A duration as Prometheus writes it: `1h30m`."""
    remaining, text = max(round(seconds), 1), ""
    for unit, size in _UNITS:
        count, remaining = divmod(remaining, size)
        text += f"{count}{unit}" if count else ""
    return text
