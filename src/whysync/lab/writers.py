"""Other writers of a scenario: each keeps some fields of one object at its own values."""

from __future__ import annotations

from datetime import datetime, timedelta

from whysync.argocd.simulation.commands.actor import patch_verb, served_kind
from whysync.argocd.simulation.simulation import Simulation
from whysync.json_tree import Object, fields, same
from whysync.kubernetes.apiserver.protocol import Answer, Request
from whysync.lab.scenario import Writer


class ScenarioWriter:
    """Writes its fields some seconds after they were changed: one side of a loop."""

    def __init__(self, writer: Writer, start: datetime) -> None:
        self._writer = writer
        self._awake = start + timedelta(seconds=writer.starts)
        self._due: datetime | None = None
        self._seen = -1

    def start(self, simulation: Simulation) -> None:
        self._api_server = simulation.api_server

    def reconcile(self) -> bool:
        now = self._api_server.clock.now
        if now < self._awake:
            return False
        if self._due is None and len(self._api_server.store.journal) == self._seen:
            return False
        self._seen = len(self._api_server.store.journal)
        if not self._differs():
            self._due = None
            return False
        if self._due is None:
            self._due = now + timedelta(seconds=self._writer.after)
        if now < self._due:
            return False
        self._due = None
        self._write(dry_run=False)
        return True

    def next_wakeup(self) -> datetime | None:
        if self._api_server.clock.now < self._awake:
            return self._awake
        return self._due

    def _differs(self) -> bool:
        """Would the write change anything? Asks the API server."""
        path = self._path()
        current = self._api_server.send(Request(verb="get", path=path)) if path else None
        if current is None or not current.ok or current.body is None:
            return False
        after = self._write(dry_run=True)
        return after.ok and after.body is not None and not same(_bare(current.body), _bare(after.body))

    def _write(self, *, dry_run: bool) -> Answer:
        kind = served_kind(self._api_server, self._writer.object.partition("/")[0])
        return self._api_server.send(
            Request(
                verb=patch_verb(kind),
                path=self._path(),
                body=self._writer.holds,
                manager=self._writer.name,
                agent=self._writer.name,
                dry_run=dry_run,
            )
        )

    def _path(self) -> str:
        kind, _, name = self._writer.object.partition("/")
        served = served_kind(self._api_server, kind)
        return served.path(self._writer.namespace, name) if served is not None else ""


def _bare(obj: Object) -> Object:
    """The object without fields that every write changes."""
    meta = {
        key: value
        for key, value in fields(obj.get("metadata")).items()
        if key not in ("managedFields", "resourceVersion", "generation")
    }
    return {**obj, "metadata": meta}
