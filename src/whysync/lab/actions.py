"""Parse `happens:` of a scenario: actions and their times."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from whysync.argocd.simulation.commands.command_line import command_problem
from whysync.lab.commits import COMMIT_KEYS, commit_of
from whysync.lab.scenario import (
    DEFAULT_REPO,
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
    Step,
)
from whysync.lab.yaml_nodes import Node

KINDS: Final = (
    "push", "run", "settings", "repo", "delete_branch", "rendering", "webhook", "api_server", "controller",
)  # fmt: skip
_OF_RUN: Final = ("as", "groups", "input")


def step_of(node: Node, folder: Path | None) -> Step:
    node.mapping("at", "note", *KINDS, *_OF_RUN)
    kinds = [kind for kind in KINDS if node.has(kind)]
    if len(kinds) != 1:
        node.wrong(
            f"{node.name} must say one thing that happens, not {len(kinds)}",
            why=f"one of {', '.join(KINDS)}",
            next="write one entry for each action; several may have the same at:",
        )
    for key in _OF_RUN:
        if node.has(key) and kinds != ["run"]:
            node.at(key).wrong(f"{key} belongs to run", next="write it next to run:")
    return Step(
        at=node.at("at").duration(0.0), note=node.at("note").text(""), act=_act(node, kinds[0], folder)
    )


def _act(node: Node, kind: str, folder: Path | None) -> Act:
    given = node.at(kind)
    match kind:
        case "push":
            return _push(given, folder)
        case "run":
            return _run(node)
        case "settings":
            given.mapping("argocd-cm", "argocd-rbac-cm", "argocd-cmd-params-cm")
            changed = {
                name: {key: value.maybe() for key, value in data.entries()} for name, data in given.entries()
            }
            return ChangeSettings(settings=changed)
        case "repo":
            given.mapping("url", "error")
            return ChangeRepo(url=given.at("url").text(DEFAULT_REPO), error=given.at("error").text(""))
        case "delete_branch":
            given.mapping("repo", "branch")
            return DeleteBranch(repo=given.at("repo").text(DEFAULT_REPO), branch=given.at("branch").text())
        case "api_server":
            given.mapping("error")
            return ChangeApiServer(error=given.at("error").text("").strip())
        case "controller":
            return ChangeController(stopped=given.choice(("stops", "goes on")) == "stops")
        case "rendering":
            given.mapping("path", "error")
            return ChangeRendering(path=given.at("path").text().strip("/"), error=given.at("error").text(""))
        case _:
            given.mapping("name", "unreachable")
            return ChangeWebhook(name=given.at("name").text(), unreachable=given.at("unreachable").text(""))


def _push(node: Node, folder: Path | None) -> Push:
    node.mapping("repo", "branch", "webhook", *COMMIT_KEYS)
    return Push(
        commit=commit_of(node, folder),
        repo=node.at("repo").text(DEFAULT_REPO),
        branch=node.at("branch").text(""),
        webhook=node.at("webhook").flag(),
    )


def _run(node: Node) -> Run:
    command = node.at("run")
    problem = command_problem(command.text())
    if problem:
        command.wrong(
            f"{command.name} cannot be run: {problem}",
            next="the lab supports kubectl apply, create, replace, patch, edit, scale, delete, annotate,"
            " label, set image, and argocd app sync, get, terminate-op, confirm-deletion, set, delete",
        )
    return Run(
        command=command.text().strip(),
        user=node.at("as").text(""),
        groups=node.at("groups").texts(),
        input=node.at("input").objects(),
    )
