"""Run whysync as if it had been started some minutes later, and only comparisons had happened in between.

Usage: python -m suites.argocd.later SECONDS COMPARED ARGUMENTS…

A real run takes seconds where the scenario takes minutes, but what is stalled or stale depends on how long
ago it happened. COMPARED is the age of the last comparison, in seconds.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from functools import partial
from typing import Any

import msgspec

import whysync.app
import whysync.facts.bundle
from whysync.cli.main import main
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import copy_object, fields
from whysync.kubernetes.api.manifest import Manifest


def later(snapshot: Snapshot, seconds: float, compared: float) -> Snapshot:
    if snapshot.collected_at is None:
        return snapshot
    now = snapshot.collected_at + timedelta(seconds=seconds)
    compared_at = f"{now - timedelta(seconds=compared):%Y-%m-%dT%H:%M:%SZ}"
    applications = tuple(_compared_at(application, compared_at) for application in snapshot.applications)
    return msgspec.structs.replace(snapshot, collected_at=now, applications=applications)


def _compared_at(application: Manifest, when: str) -> Manifest:
    body = copy_object(application.body)
    status = fields(body.get("status"))
    if "reconciledAt" in status:
        status["reconciledAt"] = when
    return application.with_body(body)


def _run(seconds: float, compared: float, arguments: list[str]) -> int:
    move = partial(later, seconds=seconds, compared=compared)
    live, bundles = whysync.app.snapshot, whysync.facts.bundle.read_bundles

    def snapshot(*given: Any, **named: Any) -> Snapshot:
        return move(live(*given, **named))

    def read_bundles(*given: Any, **named: Any) -> tuple[Snapshot, ...]:
        return tuple(move(read) for read in bundles(*given, **named))

    whysync.app.snapshot, whysync.facts.bundle.read_bundles = snapshot, read_bundles
    return main(arguments)


if __name__ == "__main__":
    sys.exit(_run(float(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]))
