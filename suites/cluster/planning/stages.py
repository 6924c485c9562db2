"""Lab scenarios as commits: the cluster right before the last push, or at the end, and what Git has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from whysync.facts.simulated import snapshot_of
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Object, copy_object, dig, fields, items, text
from whysync.kubernetes.api import yaml
from whysync.lab.git import manifests_in
from whysync.lab.player import ScenarioRun
from whysync.lab.scenario import Commit, Push, Scenario

_MANIFESTS = (".yaml", ".yml", ".json")


class NoStage(Exception):
    """The scenario is not about a commit that can be rendered here; the text says why."""


@dataclass(slots=True, kw_only=True)
class Stage:
    scenario: Scenario
    at: str
    """`before` the last push (or at the very start, where there is none), or at the `end`.

    What then comes is the same commit, with one annotation more on each object.
    """
    sort: str
    """How the scenario ends: `refused` where the server refuses objects, else the phase of its last sync."""
    play: ScenarioRun
    application: Object
    url: str
    base: dict[str, str]
    """Files, by their path."""
    head: dict[str, str]

    @property
    def name(self) -> str:
        meta = self.application["metadata"]
        return f"{text(dig(meta, 'namespace')) or 'argocd'}/{text(dig(meta, 'name'))}"

    def objects(self) -> list[Object]:
        """What the head renders to."""
        folder = text(dig(self.application, "spec", "source", "path")).strip("/")
        deep = dig(self.application, "spec", "source", "directory", "recurse") is True
        result: list[Object] = []
        for path in sorted(self.head):
            inside, _, name = path.rpartition("/")
            below = folder in ("", ".") or inside == folder or (deep and inside.startswith(f"{folder}/"))
            if below and (deep or inside == folder.strip(".")) and name.endswith(_MANIFESTS):
                result += manifests_in(self.head[path])
        return result

    def snapshot(self) -> Snapshot:
        return snapshot_of(self.play.simulation)


def stages(scenario: Scenario) -> Iterator[Stage]:
    """Two for each Application with a plain source; raises `NoStage`."""
    pushes = [happen for happen in scenario.happens if isinstance(happen.act, Push)]
    last = pushes[-1] if pushes else None
    before, end = ScenarioRun(scenario), ScenarioRun(scenario)
    if last is not None:
        before.run_for(timedelta(seconds=max(last.at - 1, 0)))
    end.run_for(timedelta(seconds=scenario.ends))
    result = False
    for app in scenario.applications:
        url = text(dig(app, "spec", "source", "repoURL"))
        repo = next((repo for repo in scenario.repos if repo.url == url), None)
        if repo is None or dig(app, "spec", "source", "chart"):
            continue
        old = [*repo.commits, *(_commit(push.act) for push in pushes[:-1] if _is_of(push.act, url, scenario))]
        new = [_commit(last.act)] if last is not None and _is_of(last.act, url, scenario) else []
        head = _files([*old, *new])
        sort = _sort(_application(end, text(dig(app, "metadata", "name"))) or {})
        for at, play in (("before", before), ("end", end)):
            body = _application(play, text(dig(app, "metadata", "name")))
            if body is None or (at == "before" and last is not None and not new):
                continue
            result = True
            yield Stage(
                scenario=scenario,
                at=at,
                sort=sort,
                play=play,
                application=body,
                url=url,
                base=head if at == "end" else _files(old) if new else {},
                head=_touched(head) if at == "end" else head,
            )
    if not result:
        raise NoStage("no Application has a plain source in a repository of the scenario")


def _sort(application: Object) -> str:
    state = fields(dig(application, "status", "operationState"))
    rows = items(dig(state, "syncResult", "resources"))
    return "refused" if any(dig(row, "status") == "SyncFailed" for row in rows) else text(state.get("phase"))


def _application(play: ScenarioRun, name: str) -> Object | None:
    result = (value for known, value in play.applications.items() if known.endswith(f"/{name}"))
    return next(map(copy_object, result), None)


def _commit(act: object) -> Commit:
    assert isinstance(act, Push)
    return act.commit


def _is_of(act: object, url: str, scenario: Scenario) -> bool:
    return isinstance(act, Push) and (act.repo or scenario.repos[0].url) == url


def _files(commits: Iterable[Commit]) -> dict[str, str]:
    """Files of the commits; a rendered folder has the rendered manifests instead of its sources."""
    files: dict[str, str] = {}
    rendered: dict[str, str] = {}
    for commit in commits:
        files |= commit.files
        for removed in commit.removes:
            files = {
                path: value
                for path, value in files.items()
                if path != removed and not path.startswith(f"{removed.rstrip('/')}/")
            }
        for path, rendering in commit.renders.items():
            if rendering.error:
                raise NoStage(f"{path} cannot be rendered")
            rendered[path] = rendering.manifests
    for path, manifests in rendered.items():
        files = {name: value for name, value in files.items() if not name.startswith(f"{path}/")}
        files[f"{path}/rendered.yaml"] = manifests
    return files


def _touched(files: dict[str, str]) -> dict[str, str]:
    changed = dict(files)
    for path, content in files.items():
        objects = manifests_in(content) if path.endswith(_MANIFESTS) else []
        for obj in objects:
            meta = obj.get("metadata")
            if isinstance(meta, dict):
                meta["annotations"] = {**fields(meta.get("annotations")), "example.com/touched": "again"}
        if objects:
            changed[path] = "---\n".join(map(yaml.dump, objects))
    return changed


def application_file(stage: Stage) -> str:
    """The Application as declared in Git, without a status."""
    declared: Object = {
        key: value for key, value in stage.application.items() if key in ("apiVersion", "kind", "spec")
    }
    meta = {"name": stage.name.partition("/")[2], "namespace": stage.name.partition("/")[0]}
    return yaml.dump({**declared, "metadata": {**meta}})
