"""Every verb takes time in proportion to its input: apps, resources, log lines, events, files, owners.

Calls are counted, not seconds. What is done once, such as loading rules, is the same for all sizes, so the
growth from one size to the next is compared.
"""

from __future__ import annotations

import cProfile
import json
import pstats
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from benchmarks.diagnose import application, row, write
from benchmarks.plan import repository as write_repository
from benchmarks.proofs import write as write_app
from benchmarks.sync import manifests_of
from tests.cli.running import Whysync
from whysync.cli.main import VERBS
from whysync.json_tree import Json, Object

SIZES = (8, 16, 32)
MOST = 1.6
"""The growth from the second size to the third, against that from the first to the second; 2 is quadratic."""


def apps(folder: Path, size: int) -> None:
    write(folder, size)


def resources(folder: Path, size: int) -> None:
    """Of one app, some of them changed by hand."""
    write_app(folder, size * 3)


def _workload(folder: Path, live: list[Object], **more: Json) -> None:
    """An app with one Deployment that is Degraded, and what belongs to it."""
    meta: Object = {"name": "web", "namespace": "shop", "uid": "u-web"}
    web: Object = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {}, "status": {}}
    line = row(web)
    line["health"] = {"status": "Degraded", "message": "it is broken"}
    body = application("shop", [line], broken=False, changed=False)
    for name, bodies in {"applications": [body], "live": [web, *live], "desired/shop": [web]}.items():
        path = folder / name / "all.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(bodies))
    for name, text in more.items():
        path = folder / name
        path.parent.mkdir(parents=True)
        path.write_text(str(text))


def _pod(name: str, kind: str, owner: str) -> Object:
    owners: Json = [{"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": f"u-{owner}"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": f"u-{name}", "ownerReferences": owners},
        "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        "status": {"phase": "Running"},
    }


def log_lines(folder: Path, size: int) -> None:
    text = "".join(
        f"2026-01-02T00:{n // 60:02}:{n % 60:02}Z error: connection {n} refused\n" for n in range(size)
    )
    _workload(folder, [_pod("web-1", "Deployment", "web")], **{"logs/shop/web-1/web.log": text})


def events(folder: Path, size: int) -> None:
    def event(number: int) -> Object:
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"e-{number}", "namespace": "shop"},
            "type": "Warning",
            "reason": "FailedMount",
            "message": f"MountVolume.SetUp failed for volume v-{number}",
            "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web-1"},
            "lastTimestamp": "2026-01-02T00:00:00Z",
        }

    _workload(folder, [_pod("web-1", "Deployment", "web"), *map(event, range(size))])


def owner_chain(folder: Path, size: int) -> None:
    """A Pod whose owner has an owner, and so on up to the Deployment."""

    def owned(number: int) -> Object:
        owner = f"w-{number - 1}" if number else "web"
        body = _pod(f"w-{number}", "ReplicaSet" if number else "Deployment", owner)
        return {**body, "kind": "ReplicaSet", "apiVersion": "apps/v1", "status": {}}

    _workload(folder, [*map(owned, range(size)), _pod("web-1", "ReplicaSet", f"w-{size - 1}")])


def files(folder: Path, size: int) -> None:
    for number in range(size):
        (folder / f"{number}.yaml").write_text(
            f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c-{number}}}\ndata: {{A: x, B: {number}}}\n"
        )


def repository(folder: Path, size: int) -> None:
    """A commit, and a change of every tenth Deployment."""
    write_repository(folder, manifests_of(size * 2))


def messages(folder: Path, size: int) -> None:
    """Error messages of several kinds."""
    lines = (
        f'deployments.apps "web-{n}" is forbidden: exceeded quota: compute, requested: cpu={n}'
        if n % 2
        else f"rpc error: code = Unknown desc = authentication required for https://git.example.com/{n}"
        for n in range(size)
    )
    (folder / "messages.txt").write_text("\n".join(lines) + "\n")


Input = Callable[[Path, int], None]
COMMANDS: dict[str, tuple[str, ...]] = {
    "list": ("list", "--bundle", "{}"),
    "diagnose": ("diagnose", "--no-proof", "-o", "json", "--bundle", "{}"),
    "get": ("get", "{app}", "--bundle", "{}"),
    "diff": ("diff", "{app}", "--bundle", "{}"),
    "fix": ("fix", "{app}", "--no-proof", "--bundle", "{}"),
    "health": ("health", "--bundle", "{}"),
    "audit": ("audit", "--bundle", "{}"),
    "lint": ("lint", "{}"),
    "collect": ("collect", "--bundle", "{}", "-o", "{}-{unique}"),
    "explain": ("explain", "-"),
    "plan": ("plan", "{}", "--base", "main", "--empty"),
}
WITHOUT_SIZE = frozenset(("lab", "alerts", "completion", "wait", "mcp", "serve"))
"""Verbs that read no input, one app, or what others read."""
MEASURED: tuple[tuple[str, Input], ...] = (
    *((verb, apps) for verb in ("list", "diagnose", "health", "audit", "collect")),
    *((verb, resources) for verb in ("list", "diagnose", "get", "diff", "fix", "health", "audit")),
    *(("diagnose", kind) for kind in (log_lines, events, owner_chain)),
    ("lint", files),
    ("explain", messages),
    ("plan", repository),
)


def test_every_verb_is_measured() -> None:
    assert {verb for verb, _ in MEASURED} | WITHOUT_SIZE == set(VERBS)


def test_only_proportional_growth_is_accepted() -> None:
    assert is_proportional(*(1000 + 70 * size for size in SIZES))
    assert not is_proportional(*(1000 + 70 * size + 7 * size**2 for size in SIZES))


@pytest.mark.parametrize(("verb", "make"), MEASURED, ids=lambda value: getattr(value, "__name__", str(value)))
def test_calls_grow_in_proportion(verb: str, make: Input, whysync: Whysync, tmp_path: Path) -> None:
    folders = [tmp_path / str(size) for size in SIZES]
    for folder, size in zip(folders, SIZES, strict=True):
        folder.mkdir()
        make(folder, size)
    app = "app-00003" if make is apps else "shop"

    calls: list[int] = []
    for turn in range(2):  # the first time, caches are filled and modules are loaded
        calls.clear()
        for folder in folders:
            command = [part.format(folder, app=app, unique=f"out-{turn}") for part in COMMANDS[verb]]
            stdin = (folder / "messages.txt").read_bytes() if make is messages else None
            calls.append(_calls(whysync, command, stdin))
    assert is_proportional(*calls), calls


def is_proportional(small: int, middle: int, large: int) -> bool:
    first, second = (middle - small) / (SIZES[1] - SIZES[0]), (large - middle) / (SIZES[2] - SIZES[1])
    return second <= max(first, 50) * MOST


def _calls(whysync: Whysync, arguments: list[str], stdin: bytes | None) -> int:
    profile = cProfile.Profile()
    profile.enable()
    result = whysync(*arguments, stdin=stdin)
    profile.disable()
    assert result.code in (0, 1, 3), result.err
    return cast("int", vars(pstats.Stats(profile))["total_calls"])
