"""Parse a scenario from YAML. Errors have the file, the line and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from whysync.argocd.simulation.commands.command_line import command_problem
from whysync.diagnosis.fix import ProofStatus
from whysync.diagnosis.report import SyncSafety
from whysync.errors import TooLarge, Unreadable
from whysync.json_tree import Object, copy_object, dig, fields, text
from whysync.kubernetes.api import yaml
from whysync.lab.cluster_setup import cluster_of
from whysync.lab.commits import COMMIT_KEYS, commit_of, repos_of
from whysync.lab.git import manifests_in
from whysync.lab.scenario import (
    DEFAULT_REPO,
    Act,
    ArgoCDSettings,
    ChangeApiServer,
    ChangeController,
    ChangeRendering,
    ChangeRepo,
    ChangeSettings,
    ChangeWebhook,
    DeleteBranch,
    Expected,
    ExpectedFix,
    Push,
    Run,
    Scenario,
    Step,
)
from whysync.lab.yaml_nodes import Node, Source, kind_of

LARGEST: Final = 1 << 20
_START: Final = datetime(2026, 3, 2, 9, tzinfo=UTC)
_LIMITS: Final = yaml.YamlLimits(depth=60, repeated=50_000)
KEYS: Final = (
    "title", "story", "source", "starts", "argocd", "projects", "applications", "cluster", "git", "happens",
    "ends", "expect",
)  # fmt: skip
EXPECTED: Final = (
    "app", "gone", "operation", "sync", "health", "conditions", "cause", "rule", "about", "field", "writer",
    "root", "safety", "fix",
)  # fmt: skip
EXPECTED_FIX: Final = ("proof", "why", "title")
_MAPS: Final = ("argocd-cm", "argocd-rbac-cm", "argocd-cmd-params-cm")
# `None` is the health of an Application that was never reconciled.
_SYNC: Final = ("Synced", "OutOfSync", "Unknown", "None")
_HEALTH: Final = ("Healthy", "Progressing", "Degraded", "Suspended", "Missing", "Unknown", "None")
_PHASES: Final = ("Running", "Succeeded", "Failed", "Error", "Terminating", "None")
_SAFETY: Final = tuple(SyncSafety)
_PROOFS: Final = (*ProofStatus, "none")


def scenario_from(text: str, *, name: str, origin: str, folder: Path | None = None) -> Scenario:
    """Parse a scenario; `folder` is where its file is, and where folders of manifests are looked up."""
    top = Node(_parsed(text, origin), Source(origin, text))
    top.mapping(*KEYS)
    apps = tuple(_application(entry) for entry in top.at("applications").each())
    if not apps:
        top.fail("there is no Application", next="add one under applications:")
    scenario = Scenario(
        name=name,
        title=top.at("title").text().strip(),
        story=top.at("story").text("").strip(),
        source=top.at("source").text("").strip(),
        starts=top.at("starts").instant(_START),
        argocd=_argocd(top.at("argocd")),
        projects=tuple(_project(entry) for entry in top.at("projects").each()),
        applications=apps,
        cluster=cluster_of(top.at("cluster")),
        repos=repos_of(top.at("git"), folder),
        happens=tuple(step_of(entry, folder) for entry in top.at("happens").each()),
        ends=top.at("ends").duration(),
        text=text,
        origin=origin,
    )
    app_names = [*_names(apps), *_names(_apps_in_git(scenario))]
    scenario = replace(
        scenario, expects=tuple(_expected(entry, app_names) for entry in top.at("expect").each())
    )
    _check_repos(scenario, top)
    return scenario


def _parsed(text: str, origin: str) -> Object:
    if len(text) > LARGEST:
        raise TooLarge(
            what=f"{origin} is larger than {LARGEST >> 10} KiB",
            why="a scenario is a small file; its text is read by people",
            next="keep the manifests in a folder next to it, and name that with git: folder:",
        )
    documents = list(yaml.documents(text, limits=_LIMITS))
    broken = next((document for document in documents if isinstance(document, yaml.Broken)), None)
    if broken is not None:
        raise Unreadable(what=f"{origin}: {broken}", next="a scenario is one YAML document: fix that line")
    bodies = [document.body for document in documents if isinstance(document, yaml.Document)]
    if len(bodies) != 1 or not isinstance(bodies[0], dict):
        content = f"{len(bodies)} documents" if len(bodies) != 1 else kind_of(bodies[0])
        raise Unreadable(
            what=f"{origin} is not a scenario: it contains {content}",
            why="a scenario is one document, a mapping with title, applications, git, ends",
            next="whysync lab show NAME -o yaml prints one to start from",
        )
    return bodies[0]


def _argocd(node: Node) -> ArgoCDSettings:
    if node.value is None:
        return ArgoCDSettings()
    node.mapping("version", "settings", "objects")
    settings = node.at("settings")
    if settings.value is not None:
        settings.mapping(*_MAPS)
    return ArgoCDSettings(
        version=node.at("version").text("v3.6.0"),
        settings={name: entry.labels() for name, entry in settings.entries()},
        objects=node.at("objects").objects(),
    )


def _project(node: Node) -> Object:
    node.mapping("apiVersion", "kind", "metadata", "spec")
    body = copy_object(fields(node.value))
    if not text(dig(body, "metadata", "name")):
        node.fail(f"{node.name} has no metadata.name")
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        **body,
        "metadata": {"namespace": "argocd", **fields(body["metadata"])},
    }


def _application(node: Node) -> Object:
    """An Application as in Argo CD; common fields have defaults."""
    node.mapping("apiVersion", "kind", "metadata", "spec", "status", "operation")
    body = copy_object(fields(node.value))
    if not text(dig(body, "metadata", "name")):
        node.fail(f"{node.name} has no metadata.name")
    spec = fields(body.get("spec"))
    if not any(key in spec for key in ("source", "sources", "sourceHydrator")):
        node.fail(f"{node.name} has no spec.source")
    destination = fields(spec.get("destination"))
    if "name" not in destination:
        destination = {"server": "https://kubernetes.default.svc", **destination}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        **body,
        "metadata": {"namespace": "argocd", **fields(body["metadata"])},
        "spec": {"project": "default", **spec, "destination": destination},
    }


def _names(apps: Iterable[Object]) -> list[str]:
    return [text(dig(app, "metadata", "name")) for app in apps]


def _apps_in_git(scenario: Scenario) -> Iterator[Object]:
    """Applications that are in Git: the children of an app of apps."""
    pushed = (step.act.commit for step in scenario.happens if isinstance(step.act, Push))
    for commit in (*(commit for repo in scenario.repos for commit in repo.commits), *pushed):
        for content in (*commit.files.values(), *(render.manifests for render in commit.renders.values())):
            if "kind: Application" in content:
                yield from (
                    manifest for manifest in manifests_in(content) if manifest.get("kind") == "Application"
                )


def _expected(node: Node, app_names: list[str]) -> Expected:
    node.mapping(*EXPECTED)
    operation = node.at("operation")
    if operation.value is not None:
        operation.mapping("phase", "message")
    conditions = node.at("conditions")
    return Expected(
        app=node.at("app").choice(app_names, app_names[0]),
        gone=node.at("gone").flag(),
        phase=operation.at("phase").choice(_PHASES) if operation.has("phase") else None,
        message=operation.at("message").maybe(),
        sync=node.at("sync").choice(_SYNC) if node.has("sync") else None,
        health=node.at("health").choice(_HEALTH) if node.has("health") else None,
        conditions=conditions.labels() if conditions.value is not None else None,
        cause=node.at("cause").maybe(),
        rule=node.at("rule").maybe(),
        about=node.at("about").maybe(),
        field=node.at("field").maybe(),
        writer=node.at("writer").maybe(),
        root=node.at("root").maybe(),
        safety=node.at("safety").choice(_SAFETY) if node.has("safety") else None,
        fix=_expected_fix(node.at("fix")) if node.has("fix") else None,
    )


def _expected_fix(node: Node) -> ExpectedFix:
    """`fix: proven`, or a mapping with the reason why it is not."""
    if isinstance(node.value, str):
        return ExpectedFix(proof=node.choice(_PROOFS))
    node.mapping(*EXPECTED_FIX)
    proof, why = node.at("proof").choice(_PROOFS), node.at("why").maybe()
    if proof == "none" and len(fields(node.value)) > 1:
        node.fail(f"{node.name} is none; a missing fix has no why and no title")
    return ExpectedFix(proof=proof, why=why, title=node.at("title").maybe())


def _check_repos(scenario: Scenario, top: Node) -> None:
    """Report repositories that the file does not define here, where the error is clearer than later."""
    urls = {repo.url for repo in scenario.repos}
    for index, app in enumerate(scenario.applications):
        url = text(dig(app, "spec", "source", "repoURL"))
        if url and url not in urls:
            urls_text = ", ".join(sorted(urls)) or "none"
            node = Node(None, top.source, f"/applications/{index}/spec/source/repoURL")
            node.fail(
                f"git has no repository {url}",
                why=f"the known ones are: {urls_text}",
                next="give the same url: there, or leave out repoURL's own host",
            )


KINDS: Final = (
    "push", "run", "settings", "repo", "delete_branch", "rendering", "webhook", "api_server", "controller",
)  # fmt: skip
_OF_RUN: Final = ("as", "groups", "input")


def step_of(node: Node, folder: Path | None) -> Step:
    node.mapping("at", "note", *KINDS, *_OF_RUN)
    kinds = [kind for kind in KINDS if node.has(kind)]
    if len(kinds) != 1:
        node.fail(
            f"{node.name} must say one thing that happens, not {len(kinds)}",
            why=f"one of {', '.join(KINDS)}",
            next="write one entry for each action; several may have the same at:",
        )
    for key in _OF_RUN:
        if node.has(key) and kinds != ["run"]:
            node.at(key).fail(f"{key} belongs to run", next="write it next to run:")
    return Step(
        at=node.at("at").duration(0.0), note=node.at("note").text(""), act=_act(node, kinds[0], folder)
    )


def _act(node: Node, kind: str, folder: Path | None) -> Act:
    body = node.at(kind)
    match kind:
        case "push":
            return _push(body, folder)
        case "run":
            return _run(node)
        case "settings":
            body.mapping("argocd-cm", "argocd-rbac-cm", "argocd-cmd-params-cm")
            changed = {
                name: {key: value.maybe() for key, value in data.entries()} for name, data in body.entries()
            }
            return ChangeSettings(settings=changed)
        case "repo":
            body.mapping("url", "error")
            return ChangeRepo(url=body.at("url").text(DEFAULT_REPO), error=body.at("error").text(""))
        case "delete_branch":
            body.mapping("repo", "branch")
            return DeleteBranch(repo=body.at("repo").text(DEFAULT_REPO), branch=body.at("branch").text())
        case "api_server":
            body.mapping("error")
            return ChangeApiServer(error=body.at("error").text("").strip())
        case "controller":
            return ChangeController(stopped=body.choice(("stops", "goes on")) == "stops")
        case "rendering":
            body.mapping("path", "error")
            return ChangeRendering(path=body.at("path").text().strip("/"), error=body.at("error").text(""))
        case _:
            body.mapping("name", "unreachable")
            return ChangeWebhook(name=body.at("name").text(), unreachable=body.at("unreachable").text(""))


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
        command.fail(
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
