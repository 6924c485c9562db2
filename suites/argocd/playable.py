"""Which scenarios real components can play, and why the others cannot be played."""

from __future__ import annotations

from urllib.parse import urlsplit

from suites.argocd.stages import why_not_scripted
from tools.real_argocd.running import CONTROLLER_VARIABLES
from whysync.json_tree import dig, fields, items, text
from whysync.lab import library
from whysync.lab.scenario import (
    ChangeApiServer,
    ChangeRendering,
    ChangeRepo,
    Push,
    Run,
    Scenario,
)


def playable() -> list[str]:
    """Scenarios of the lab that real components can play."""
    return [name for name in library.names() if not why_not(library.built_in(name))]


def unplayable() -> dict[str, str]:
    """The other scenarios of the lab, each with the reason."""
    reasons = {name: why_not(library.built_in(name)) for name in library.names()}
    return {name: reason for name, reason in reasons.items() if reason}


def why_not(scenario: Scenario) -> str:
    """Why real components cannot play the scenario; empty if they can."""
    setup = scenario.cluster
    commits = [commit for repo in scenario.repos for commit in repo.commits]
    commits += [step.act.commit for step in scenario.happens if isinstance(step.act, Push)]
    acts = [step.act for step in scenario.happens]
    unscripted = [why for why in map(why_not_scripted, setup.behavior.pods) if why]
    reasons = (
        (_deploys_to_another_cluster(scenario), "it deploys to a second cluster"),
        (setup.behavior.metrics, "it has autoscalers, which need a metrics API"),
        (setup.behavior.slow, "it slows controllers of Kubernetes down"),
        (unscripted, f"its Pods need what no stage of kwok does: {'; '.join(unscripted)}"),
        (
            any(webhook.unreachable for webhook in setup.webhooks),
            "it scripts the error of a webhook",
        ),
        (setup.nodes != 3, "it has another number of nodes"),
        (
            any(commit.renders for commit in commits),
            "its rendering is given as text, without a chart or overlay",
        ),
        (any(isinstance(act, ChangeRepo) for act in acts), "it scripts the error of a Git host"),
        (any(isinstance(act, ChangeApiServer) for act in acts), "it scripts the error of a cluster"),
        (any(isinstance(act, ChangeRendering) for act in acts), "it scripts the error of a tool"),
        (
            any(isinstance(act, Run) and act.user not in ("", "admin") for act in acts),
            "it has users of Argo CD other than the administrator",
        ),
        (
            any(urlsplit(repo.url).scheme != "https" for repo in scenario.repos),
            "its repository is not reached by HTTPS",
        ),
        (scenario.argocd.objects, "it has credentials, which the Git host does not check"),
        (_unknown_parameters(scenario), "it starts Argo CD with other flags"),
        (_needs_the_date(scenario), "its sync windows depend on the date"),
        (_retries_for_minutes(scenario), "it ends while Argo CD waits minutes for the next retry"),
    )
    return next((reason for holds, reason in reasons if holds), "")


def _needs_the_date(scenario: Scenario) -> bool:
    return any(items(fields(project.get("spec")).get("syncWindows")) for project in scenario.projects)


def _retries_for_minutes(scenario: Scenario) -> bool:
    backoffs = (
        dig(app, "spec", "syncPolicy", "retry", "backoff", "duration") for app in scenario.applications
    )
    return any(text(backoff).endswith("m") for backoff in backoffs)


def _deploys_to_another_cluster(scenario: Scenario) -> bool:
    setup = scenario.cluster
    destinations = [fields(dig(app, "spec", "destination")) for app in scenario.applications]
    return bool(setup.server) and any(
        text(target.get("server")) == setup.server or text(target.get("name")) == setup.name
        for target in destinations
    )


def _unknown_parameters(scenario: Scenario) -> bool:
    return bool(scenario.argocd.settings.get("argocd-cmd-params-cm", {}).keys() - CONTROLLER_VARIABLES.keys())
