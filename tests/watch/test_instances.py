"""Several Argo CD instances in one `whysync serve`: each has its own apps, source and history."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from tests.cli.running import small_environment
from tests.facts.argocd_api.server import TOKEN, ArgoCD, Fault
from tests.situations import ROOT
from tests.web.sites import NOW
from whysync.app import FactSource
from whysync.facts.bundle import read_bundle
from whysync.history.history import History, IncidentFilter
from whysync.history.model import AppKey
from whysync.watch.fleet import Fleet
from whysync.watch.sources import BundleSource
from whysync.watch.watcher import Recorder, Watcher

EXAMPLES = ROOT / "examples"
LOOP = EXAMPLES / "autoscaler-loop"


@contextmanager
def _serving(folder: Path, config: str) -> Generator[str]:
    (folder / "whysync.yaml").write_text(config)
    arguments = ("--no-proof", "--interval", "1s", "--listen", "127.0.0.1:0", "--db", str(folder / "h.db"))
    process = subprocess.Popen(
        [sys.executable, "-m", "whysync", "serve", "--config", str(folder / "whysync.yaml"), *arguments],
        cwd=ROOT,
        env=small_environment({"PROD_TOKEN": TOKEN, "ARGOCD_SERVER": "other.example.com:1"}),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert found, line + process.stderr.read()
        yield found[0]
    finally:
        process.terminate()
        process.wait(30)
        process.stderr.close()


def _until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.2)


def test_two_servers_and_a_bundle_are_one_fleet_and_one_that_is_away_does_not_stop_the_others(
    tmp_path: Path,
) -> None:
    loop = read_bundle((str(LOOP),))
    migration = read_bundle((str(EXAMPLES / "migration-cannot-reach-database"),))
    with ArgoCD(migration) as prod, ArgoCD(loop) as edge:
        (tmp_path / "token").write_text(TOKEN)
        config = f"""
version: 1
instances:
- {{name: prod, server: '{prod.url}', plaintext: true, tokenFrom: {{env: PROD_TOKEN}}}}
- {{name: edge, server: '{edge.url}', plaintext: true, tokenFrom: {{file: {tmp_path / "token"}}}}}
- {{name: files, bundle: {LOOP}}}
"""
        with _serving(tmp_path, config) as url:

            def keys() -> list[tuple[str, str]]:
                apps = httpx2.get(f"{url}/api/v1/apps").json()["apps"]
                return [(app["instance"], app["name"]) for app in apps]

            _until(lambda: len(keys()) == 3)
            assert [instance for instance, _ in keys()] == ["edge", "files", "prod"]
            incidents = httpx2.get(f"{url}/api/v1/incidents").json()["incidents"]
            assert {incident["instance"] for incident in incidents} == {"edge", "files", "prod"}
            edge.fault("", Fault.RESET)
            _until(lambda: "edge has not been read" in httpx2.get(url).text)
            page = httpx2.get(url).text
            assert "prod has not been read" not in page
            assert len(keys()) == 3, "the last known state"
            metrics = httpx2.get(f"{url}/metrics").text
            assert 'whysync_source_up{source="edge"} 0' in metrics
            assert 'whysync_source_up{source="prod"} 1' in metrics
            edge.heal()
            _until(lambda: "has not been read" not in httpx2.get(url).text)


def test_sources_that_share_a_database_do_not_close_incidents_of_each_other(tmp_path: Path) -> None:
    database = str(tmp_path / "whysync.db")
    for name in ("one", "two", "one"):
        folder = tmp_path / name
        if not folder.exists():
            shutil.copytree(LOOP, folder)
        fleet, history = Fleet(lambda: NOW), History.open(database)
        source = BundleSource(FactSource(bundles=(str(folder),)))
        Watcher(source, fleet, Recorder(history, fleet, source=source.name), prove=False).step()
        history.close()
    history = History.open(database)
    incidents = history.incidents(IncidentFilter())
    assert {incident.app for incident in incidents} == {
        AppKey("one", "argocd", "my-api-service"),
        AppKey("two", "argocd", "my-api-service"),
    }
    assert all(incident.is_open for incident in incidents)
    history.close()
