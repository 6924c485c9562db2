"""`GET /metrics`: the fleet as Prometheus metrics. No label has the name of an app.

The label of an Argo CD instance is `argocd`: Prometheus gives `instance` to the process that it reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from whysync import __version__
from whysync.history.history import History
from whysync.watch.fleet import Fleet, Histogram
from whysync.web.http import Response

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def metrics(fleet: Fleet, history: History) -> Response:
    lines = [
        *_fleet(fleet),
        *_sources(fleet),
        *_histogram(
            "whysync_diagnosis_duration_seconds",
            "Seconds that the diagnosis of one Application took.",
            fleet.diagnosis_times,
        ),
        *_incidents(history),
        *_histogram(
            "whysync_incident_duration_seconds",
            "Duration of the incidents that this process closed.",
            fleet.incident_times,
        ),
    ]
    return Response(body=("\n".join(lines) + "\n").encode(), content_type=CONTENT_TYPE)


def _family(name: str, kind: str, help: str) -> Iterator[str]:
    yield f"# HELP {name} {help}"
    yield f"# TYPE {name} {kind}"


def _sample(name: str, value: float, labels: Mapping[str, str] | None = None) -> str:
    pairs = ",".join(f'{key}="{_escaped(text)}"' for key, text in (labels or {}).items())
    # all digits: a counter beyond a million, or a time, must not be rounded
    return f"{name}{{{pairs}}} {value!r}" if pairs else f"{name} {value!r}"


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
    for (argocd, state), number in sorted(states.items()):
        yield _sample("whysync_apps", number, {"argocd": argocd, "state": state})
    causes = Counter(
        (state.key.instance, state.row.cause, state.row.severity or "warning")
        for state in apps
        if state.broken
    )
    yield from _family("whysync_broken_apps", "gauge", "Broken Applications by cause and severity.")
    for (argocd, cause, severity), number in sorted(causes.items()):
        labels = {"argocd": argocd, "cause": cause, "severity": severity}
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


def _histogram(name: str, help: str, times: Histogram) -> Iterator[str]:
    yield from _family(name, "histogram", help)
    for limit, count in times.buckets():
        yield _sample(f"{name}_bucket", count, {"le": f"{limit:g}"})
    yield _sample(f"{name}_bucket", times.count, {"le": "+Inf"})
    yield _sample(f"{name}_sum", times.total)
    yield _sample(f"{name}_count", times.count)


def _incidents(history: History) -> Iterator[str]:
    yield from _family("whysync_open_incidents", "gauge", "Open incidents by cause and severity.")
    for argocd, cause, severity, number in history.open_numbers():
        labels = {"argocd": argocd, "cause": cause, "severity": severity}
        yield _sample("whysync_open_incidents", number, labels)
    yield from _family("whysync_notifications_waiting", "gauge", "Notifications that have not been sent.")
    yield _sample("whysync_notifications_waiting", history.outbox.waiting())
