"""`whysync health FILE…`: the health that Argo CD reports for the objects in files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from whysync.cli.exits import Exit
from whysync.cli.flag_types import Append
from whysync.cli.output_flags import add_output_flag
from whysync.cli.source_flags import add_source_flags
from whysync.errors import NotFound, Unreadable, UsageError
from whysync.reports.output import out

if TYPE_CHECKING:  # --help does not load what a run needs
    from whysync.argocd.api.application import HealthCode
    from whysync.argocd.settings import Settings
    from whysync.facts.snapshot import Snapshot
    from whysync.json_tree import Object
    from whysync.kubernetes.api.manifest import Manifest


def add_flags(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="YAML or JSON file with objects or Lists, folder, archive, or - for standard input",
    )
    add_output_flag(
        verb,
        ("text", "wide", "json", "yaml", "name"),
        help="output format (wide adds the health check, name lists failing objects)",
    )
    verb.add_argument("--settings", metavar="FILE", help="argocd-cm with custom health checks")
    verb.add_argument(
        "--fail-on",
        choices=("degraded", "progressing", "suspended"),
        default="degraded",
        metavar="HEALTH",
        help="exit 1 on this health or worse: degraded (default), progressing, suspended",
    )
    verb.add_argument(
        "--app",
        dest="apps",
        metavar="APP",
        action=Append,
        default=[],
        help="live objects of this app (repeatable)",
    )
    add_source_flags(verb)
    verb.epilog = "exit codes: 0 healthy, 1 unhealthy (see --fail-on), 2 the input cannot be read"


def run(options: argparse.Namespace) -> int:
    from whysync.argocd.health.assess import standalone_health
    from whysync.reports.health_view import HealthReport, JudgedObject, render, worst_first

    snapshot = _snapshot(options)
    overrides = _settings(options.settings, snapshot).overrides
    now = _seconds(snapshot.collected_at)
    objects = worst_first(
        [
            JudgedObject(
                ref=obj.ref, origin=obj.origin, judged=standalone_health(obj.body, overrides, now=now)
            )
            for obj in _objects(snapshot)
        ]
    )
    if not objects:
        raise NotFound(
            what="no objects found",
            why="the input has only settings or events",
            next="pass the output of kubectl get … -o yaml",
        )
    report = HealthReport(objects=objects, failing=_failing(options.fail_on), unread=snapshot.gaps)
    out().put(render(report, options.terminal, format=options.output))
    if report.failed:
        return Exit.FOUND
    return Exit.ERROR if report.unread else Exit.OK


def _failing(fail_on: str) -> frozenset[HealthCode]:
    from whysync.argocd.api.application import HealthCode

    degraded = frozenset({HealthCode.DEGRADED, HealthCode.MISSING, HealthCode.UNKNOWN})
    return {
        "degraded": degraded,
        "progressing": degraded | {HealthCode.PROGRESSING},
        "suspended": degraded | {HealthCode.PROGRESSING, HealthCode.SUSPENDED},
    }[fail_on]


def _snapshot(options: argparse.Namespace) -> Snapshot:
    """The objects in files, or of a bundle or a live source if one is given."""
    from msgspec.structs import replace

    from whysync.cli.sources import names_live_source
    from whysync.facts.snapshot import GapKind

    if options.files or not (options.bundle or options.apps or names_live_source(options)):
        return _read(options.files)
    from whysync import app
    from whysync.cli.sources import source_of, with_progress

    source = source_of(options)
    snapshot = with_progress(lambda progress: app.snapshot(source, progress=progress), source.bundles)
    # Manifests in Git have no health, so it does not matter if they are missing.
    gaps = tuple(gap for gap in snapshot.gaps if gap.kind is not GapKind.NOT_RENDERED)
    return replace(snapshot, desired={}, projects=(), gaps=gaps)


def _read(files: Sequence[str]) -> Snapshot:
    from whysync.facts.bundle import read_bundle

    if not files and sys.stdin.isatty():
        raise UsageError(
            what="no file is given, and standard input is a terminal",
            next="pass files, or pipe: kubectl get all -o yaml | whysync health",
        )
    return read_bundle(files or ["-"], stdin=sys.stdin.buffer)


def _objects(snapshot: Snapshot) -> Iterator[Manifest]:
    """All objects except Events and Argo CD's settings."""
    yield from snapshot.live
    yield from snapshot.applications
    yield from snapshot.projects
    for manifests in snapshot.desired.values():
        yield from manifests


def _settings(path: str | None, snapshot: Snapshot) -> Settings:
    """Settings from `--settings`, else from an argocd-cm in the input, else Argo CD's defaults."""
    from whysync.argocd.settings import Settings

    config_map = config_map_in(path) if path else _named("argocd-cm", snapshot)
    settings = Settings.from_config_maps(config_map, None)
    problem = settings.comparison_problem
    if problem is not None:
        raise Unreadable(
            what=f"invalid {problem.key} in argocd-cm",
            why=problem.message,
            next="correct it; until then Argo CD reports every app as Unknown",
        )
    return settings


def config_map_in(path: str) -> Object:
    """The argocd-cm of a file. Raises `NotFound`."""
    from whysync.facts.bundle import read_bundle

    config_map = _named("argocd-cm", read_bundle([path]))
    if config_map is None:
        raise NotFound(
            what=f"argocd-cm not found in {path}",
            why="it has no ConfigMap of that name",
            next="pass the output of kubectl -n argocd get configmap argocd-cm -o yaml",
        )
    return config_map


def _named(name: str, snapshot: Snapshot) -> Object | None:
    return next((setting.body for setting in snapshot.settings if setting.ref.name == name), None)


def _seconds(instant: datetime | None) -> float | None:
    return None if instant is None else instant.timestamp()
