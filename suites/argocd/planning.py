"""What `whysync plan` predicts for a commit, and what then happens when the commit is pushed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final, cast

import msgspec

from suites.argocd.answers import Answers
from suites.argocd.real_play import RealPlay
from suites.argocd.states import normalized
from whysync.json_tree import Object, dig, fields, items, text
from whysync.lab.scenario import Push, Scenario

_CACHED: Final = "Manifest generation error (cached): "
"""How the repo-server repeats an error that it has reported several times."""
_RETRIES: Final = re.compile(r" \(retried \d+ times\)\.$|\. Retrying attempt #\d+ at .*$")


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of a plan for one Application, and the message of its run on the live cluster."""

    verdict: str
    message: str

    @property
    def fails(self) -> bool:
        return self.verdict == "fail"


def ends_with_push(scenario: Scenario) -> bool:
    """Is the last step a commit that Argo CD syncs by itself?"""
    last = max(scenario.happens, key=lambda step: step.at, default=None)
    automated = any(dig(app, "spec", "syncPolicy", "automated") for app in scenario.applications)
    return last is not None and isinstance(last.act, Push) and automated


def prediction(answers: Answers, app: str, checkout: Path) -> Prediction:
    """The plan of the newest commit of the checkout; one that does not change the Application passes."""
    arguments = [
        "plan",
        "--base",
        "HEAD~1",
        "--head",
        "HEAD",
        *answers.flags("server and core"),
        "-o",
        "json",
    ]
    output = answers.whysync(arguments, exits=(0, 1, 3), later=False, cwd=checkout)
    apps = map(fields, items(dig(cast(Object, json.loads(output)), "plan", "apps")))
    planned = next((entry for entry in apps if text(entry.get("name")) == app), None)
    if planned is None:
        return Prediction(verdict="pass", message="")
    runs = list(map(fields, items(planned.get("runs"))))
    run = next((run for run in runs if run.get("cluster") == "live"), runs[0] if runs else {})
    return Prediction(verdict=text(planned.get("verdict")), message=text(run.get("message")))


def why_wrong(predicted: Prediction, play: RealPlay, app: str) -> str:
    """How what happened differs from the prediction; empty if it does not."""
    application = play.application(app)
    failure = _failure(application)
    health = text(dig(application, "status", "health", "status"))
    if not predicted.fails:
        return f"plan: {predicted.verdict}; then: {failure}" if failure else ""
    if not failure:
        revision = text(dig(application, "status", "operationState", "syncResult", "revision"))
        is_synced = revision == play.argocd.git.head(play.scenario.repos[0].url)
        return f"plan: {predicted.message}; then: Healthy" if is_synced and health == "Healthy" else ""
    if failure in normalized(predicted.message):
        return ""
    return f"plan: {normalized(predicted.message)}; then: {failure}"


def _failure(application: Object | None) -> str:
    """Why Argo CD cannot compare the Application, or why its last sync has failed or does not end."""
    status = fields((application or {}).get("status"))
    for condition in map(fields, items(status.get("conditions"))):
        if condition.get("type") in ("ComparisonError", "InvalidSpecError"):
            return normalized(text(condition.get("message"))).replace(_CACHED, "")
    operation = fields(status.get("operationState"))
    if operation.get("phase") in ("Failed", "Error", "Running"):
        return _RETRIES.sub("", normalized(text(operation.get("message"))))
    return ""
