"""`GET /metrics`: the fleet as Prometheus metrics. No label has the name of an app."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Final

from whysync import __version__
from whysync.history.history import History
from whysync.watch.fleet import Fleet
from whysync.web.http import Response

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS: Final = (60, 300, 900, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600)


def metrics(fleet: Fleet, history: History) -> Response:
    lines = [*_fleet(fleet), *_sources(fleet), *_diagnoses(fleet), *_incidents(fleet, history)]
    return Response(body=("\n".join(lines) + "\n").encode(), content_type=CONTENT_TYPE)


def _family(name: str, kind: str, help: str) -> Iterator[str]:
    yield f"# HELP {name} {help}"
    yield f"# TYPE {name} {kind}"


def _sample(name: str, value: float, labels: Mapping[str, str] | None = None) -> str:
    pairs = ",".join(f'{key}="{_escaped(text)}"' for key, text in (labels or {}).items())
    return f"{name}{{{pairs}}} {value:g}" if pairs else f"{name} {value:g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _fleet(fleet: Fleet) -> Iterator[str]:
    yield from _family("whysync_build_info", "gauge", "The version of whysync.")
    yield _sample("whysync_build_info", 1, {"version": __version__})
    apps = fleet.apps()
    states = Counter(
        (state.key.instance, "broken" if state.broken else "in-progress" if state.in_progress else "fine")
        for state in apps
    )
    yield from _family("whysync_apps", "gauge", "Applications by state: broken, in-progress, fine.")
    for (instance, state), number in sorted(states.items()):
        yield _sample("whysync_apps", number, {"instance": instance, "state": state})
    causes = Counter(
        (state.key.instance, state.row.cause, state.row.severity or "warning")
        for state in apps
        if state.broken
    )
    yield from _family("whysync_broken_apps", "gauge", "Broken Applications by cause and severity.")
    for (instance, cause, severity), number in sorted(causes.items()):
        labels = {"instance": instance, "cause": cause, "severity": severity}
        yield _sample("whysync_broken_apps", number, labels)


def _sources(fleet: Fleet) -> Iterator[str]:
    sources = fleet.sources()
    yield from _family("whysync_source_up", "gauge", "Whether the last read of the source succeeded.")
    for source in sources:
        yield _sample("whysync_source_up", int(source.is_healthy), {"source": source.name})
    yield from _family(
        "whysync_source_last_read_timestamp_seconds", "gauge", "When the source was last read."
    )
    for source in sources:
        if source.read_at is not None:
            labels = {"source": source.name}
            yield _sample(
                "whysync_source_last_read_timestamp_seconds", round(source.read_at.timestamp()), labels
            )
    yield from _family("whysync_source_reads_total", "counter", "Reads of the source that succeeded.")
    for source in sources:
        yield _sample("whysync_source_reads_total", source.reads, {"source": source.name})
    yield from _family("whysync_source_failures_total", "counter", "Reads of the source that failed.")
    for source in sources:
        yield _sample("whysync_source_failures_total", source.failures, {"source": source.name})
    yield from _family("whysync_history_up", "gauge", "Whether the history could be written.")
    yield _sample("whysync_history_up", int(not fleet.database_problem))


def _diagnoses(fleet: Fleet) -> Iterator[str]:
    times = fleet.times
    name = "whysync_diagnosis_duration_seconds"
    yield from _family(name, "histogram", "Seconds that the diagnosis of one Application took.")
    for limit, count in zip(times.buckets, times.counts, strict=True):
        yield _sample(f"{name}_bucket", count, {"le": f"{limit:g}"})
    yield _sample(f"{name}_bucket", times.count, {"le": "+Inf"})
    yield _sample(f"{name}_sum", times.total)
    yield _sample(f"{name}_count", times.count)


def _incidents(fleet: Fleet, history: History) -> Iterator[str]:
    yield from _family("whysync_open_incidents", "gauge", "Open incidents by cause and severity.")
    for instance, cause, severity, number in history.open_numbers():
        labels = {"instance": instance, "cause": cause, "severity": severity}
        yield _sample("whysync_open_incidents", number, labels)
    counts, count, total = history.durations(fleet.now() - timedelta(days=30), _BUCKETS)
    name = "whysync_incident_duration_seconds"
    yield from _family(name, "histogram", "Duration of incidents that were closed in the last 30 days.")
    for limit, number in zip(_BUCKETS, counts, strict=True):
        yield _sample(f"{name}_bucket", number, {"le": str(limit)})
    yield _sample(f"{name}_bucket", count, {"le": "+Inf"})
    yield _sample(f"{name}_sum", total)
    yield _sample(f"{name}_count", count)
    yield from _family("whysync_notifications_waiting", "gauge", "Notifications that have not been sent.")
    yield _sample("whysync_notifications_waiting", history.outbox.waiting())
