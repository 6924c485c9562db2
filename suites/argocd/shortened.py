"""A scenario as it is played for real: the same events, with deadlines and retries that take seconds.

The shortened scenario is played on the model and on the real components, so both have the same text in
messages that contain a count or a deadline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from suites.argocd.states import state_of
from whysync.fixes.yaml_edit import Uneditable, rewritten
from whysync.json_tree import Json, Object, copy_object, dig, fields, items, text
from whysync.kubernetes.api import yaml
from whysync.lab.player import ScenarioRun, play
from whysync.lab.scenario import Commit, Push, Scenario

PROGRESS_SECONDS: Final = 20
JOB_SECONDS: Final = 15
SYNC_TIMEOUT_SECONDS: Final = 20
_PARAMETERS: Final = "argocd-cmd-params-cm"
_SYNC_TIMEOUT: Final = "controller.sync.timeout.seconds"
_RETRY: Final[Object] = {"limit": 1, "backoff": {"duration": "1s", "factor": 1, "maxDuration": "1s"}}


def shortened(scenario: Scenario, version: str) -> Scenario:
    """The scenario with this version of Argo CD; shortened where its end depends on a deadline."""
    scenario = replace(scenario, argocd=replace(scenario.argocd, version=version))
    scenario = _with_short_timeout(scenario)
    run = play(scenario)
    if _exceeds_a_deadline(run):
        scenario = _with_short_deadlines(scenario)
    if any("retried " in message for message in _messages(run)):
        scenario = replace(scenario, applications=tuple(map(_with_one_retry, scenario.applications)))
    return scenario


def _with_short_timeout(scenario: Scenario) -> Scenario:
    settings = scenario.argocd.settings
    parameters = settings.get(_PARAMETERS, {})
    if _SYNC_TIMEOUT not in parameters:
        return scenario
    changed = {**settings, _PARAMETERS: {**parameters, _SYNC_TIMEOUT: str(SYNC_TIMEOUT_SECONDS)}}
    return replace(scenario, argocd=replace(scenario.argocd, settings=changed))


def _messages(run: ScenarioRun) -> Iterator[str]:
    for application in run.applications.values():
        yield state_of(application).values["operation message"]


def _exceeds_a_deadline(run: ScenarioRun) -> bool:
    """Is there a Deployment or a Job that has exceeded its deadline at the end?"""
    for kind in (("apps", "deployments"), ("batch", "jobs")):
        for _, obj in run.api_server.store.within(kind):
            for condition in items(dig(obj, "status", "conditions")):
                if dig(condition, "reason") in ("ProgressDeadlineExceeded", "DeadlineExceeded"):
                    return True
    return False


def _with_one_retry(application: Object) -> Object:
    body = copy_object(application)
    policy = fields(dig(body, "spec", "syncPolicy"))
    if dig(policy, "retry", "limit") != 0:
        policy["retry"] = copy_object(_RETRY)
    return body


def _with_short_deadlines(scenario: Scenario) -> Scenario:
    repos = tuple(replace(repo, commits=tuple(map(_short_commit, repo.commits))) for repo in scenario.repos)
    steps = tuple(
        replace(step, act=replace(step.act, commit=_short_commit(step.act.commit)))
        if isinstance(step.act, Push)
        else step
        for step in scenario.happens
    )
    return replace(scenario, repos=repos, happens=steps)


def _short_commit(commit: Commit) -> Commit:
    files: Mapping[str, str] = {path: _short_file(content) for path, content in commit.files.items()}
    return replace(commit, files=files)


def _short_file(content: str) -> str:
    for number, document in enumerate(list(yaml.documents(content))):
        body: Json = document.body if isinstance(document, yaml.Document) else None
        after = _short_object(body) if isinstance(body, dict) else None
        if after is not None:
            try:
                content = rewritten(content, number, after)
            except Uneditable:
                continue
    return content


def _short_object(body: Object) -> Object | None:
    """The object with a short deadline; nothing if it has none to shorten."""
    after = copy_object(body)
    spec = fields(after.get("spec"))
    match text(body.get("kind")):
        case "Deployment" if "progressDeadlineSeconds" not in spec:
            spec["progressDeadlineSeconds"] = PROGRESS_SECONDS
        case "Job" if "activeDeadlineSeconds" in spec:
            spec["activeDeadlineSeconds"] = JOB_SECONDS
        case _:
            return None
    return after
