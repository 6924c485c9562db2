"""Run the scheduled actions of a scenario: pushes, commands, outages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from whysync.argocd.simulation.commands.actor import Actor
from whysync.argocd.simulation.commands.argocd_cli import run_argocd
from whysync.argocd.simulation.commands.command_line import command_of
from whysync.argocd.simulation.commands.kubectl_cli import Kubectl
from whysync.argocd.simulation.simulation import Simulation
from whysync.json_tree import Object
from whysync.lab.admission import Admission
from whysync.lab.git import Git
from whysync.lab.scenario import (
    Act,
    ChangeApiServer,
    ChangeController,
    ChangeRendering,
    ChangeRepo,
    ChangeSettings,
    ChangeWebhook,
    DeleteBranch,
    Push,
    Run,
    Scenario,
    Step,
)


class ScheduledAction(msgspec.Struct, frozen=True, kw_only=True):
    """An action that was executed, and its output."""

    at: datetime
    text: str
    answer: str = ""
    failed: bool = False


class ScheduledActors:
    """A participant of the timeline. `actions` are the actions executed so far."""

    def __init__(self, scenario: Scenario, git: Git) -> None:
        self._git = git
        self._webhooks = scenario.cluster.webhooks
        self._waiting = sorted(scenario.happens, key=lambda step: step.at)
        self._began = scenario.starts
        self._settings = {name: dict(values) for name, values in scenario.argocd.settings.items()}
        self.actions: list[ScheduledAction] = []

    def start(self, simulation: Simulation) -> None:
        self._destination = simulation.destinations[0]
        self._argocd = simulation.argocd
        self._admission = Admission(simulation.api_server, self._webhooks)
        self._terminal = Kubectl(simulation.api_server)

    def reconcile(self) -> bool:
        now = self._terminal.now
        acted = False
        while self._waiting and self._at(self._waiting[0]) <= now:
            step = self._waiting.pop(0)
            output, failed = self._done(step.act)
            note = f"{step.note}: {_description(step.act)}" if step.note else _description(step.act)
            self.actions.append(ScheduledAction(at=now, text=note, answer=output, failed=failed))
            acted = True
        return acted

    def next_wakeup(self) -> datetime | None:
        return self._at(self._waiting[0]) if self._waiting else None

    def _at(self, step: Step) -> datetime:
        return self._began + timedelta(seconds=step.at)

    def _done(self, act: Act) -> tuple[str, bool]:
        match act:
            case Push():
                commit = self._git.push(act.repo, act.commit, branch=act.branch)
                if act.webhook:
                    self._argocd.webhook(act.repo)
                return commit[:7], False
            case Run():
                command = command_of(act.command)
                by = Actor(user=act.user, groups=act.groups, input=act.input)
                if command.tool == "argocd":
                    return run_argocd(command, by, self._argocd)
                return self._terminal.run(command, by, self._argocd)
            case ChangeSettings():
                for name, values in act.settings.items():
                    self._argocd.set_config_map(self._with(name, values))
            case ChangeRepo():
                self._git.set_error(act.url, act.error)
            case DeleteBranch():
                deleted = self._git.has_repo(act.repo) and self._git.delete(act.repo, act.branch)
                return ("", False) if deleted else (f"there is no branch {act.branch}", True)
            case ChangeApiServer():
                self._destination.unreachable = act.error
            case ChangeController():
                self._argocd.stopped = act.stopped
            case ChangeRendering():
                self._git.fail(act.path, act.error)
            case ChangeWebhook():
                self._admission.set_error(act.name, act.unreachable)
        return "", False

    def _with(self, name: str, values: Mapping[str, str | None]) -> Object:
        """The ConfigMap after the change; `null` removes a key."""
        data = self._settings.setdefault(name, {})
        for key, value in values.items():
            if value is None:
                data.pop(key, None)
            else:
                data[key] = value
        return config_map(name, data)


def config_map(name: str, data: Mapping[str, str]) -> Object:
    labels: Object = {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "argocd"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "argocd", "labels": labels},
        "data": dict(data),
    }


def _description(act: Act) -> str:
    match act:
        case Push():
            return f"git push: {act.commit.message or 'a commit'}"
        case Run():
            return f"{act.user}: {act.command}" if act.user else act.command
        case ChangeSettings():
            return f"settings change: {', '.join(act.settings)}"
        case ChangeRepo():
            return f"{act.url} {'no longer answers' if act.error else 'answers again'}"
        case DeleteBranch():
            return f"git push --delete: {act.branch}"
        case ChangeApiServer():
            return f"Argo CD {'cannot talk to the cluster' if act.error else 'can talk to the cluster again'}"
        case ChangeController():
            return f"Argo CD's application controller {'stops' if act.stopped else 'goes on'}"
        case ChangeRendering():
            return f"rendering {act.path} {'fails' if act.error else 'works again'}"
        case ChangeWebhook():
            return f"webhook {act.name} {'no longer answers' if act.unreachable else 'answers again'}"
