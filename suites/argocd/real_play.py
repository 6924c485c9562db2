"""Play a scenario on a real Argo CD and cluster, and compare what Argo CD reports with the model.

Times are not those of the scenario. Before each step, and at the end, the real Argo CD gets time to reach the
state that the model has then; when it has, the next step follows at once.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import subprocess
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Final

import msgspec

from suites.argocd.kubelet import SimulatedKubelet, lacks_configuration
from suites.argocd.outside import Act, Cloud, RealWriter, acting
from suites.argocd.pod_logs import log_server
from suites.argocd.stages import is_simulated, stages_of
from suites.argocd.states import AppState, state_of
from suites.argocd.webhooks import webhook_server
from tools.real_argocd.running import RealArgoCD
from tools.real_argocd.standing import set_kubelet_port
from whysync.json_tree import Object, copy_object, dig, fields, text
from whysync.kubernetes.apiserver.protocol import Request, ServedKind, kind_of
from whysync.kubernetes.controllers.conditions import parse_time
from whysync.lab.player import ScenarioRun, play
from whysync.lab.scenario import (
    ChangeController,
    ChangeSettings,
    ClusterSetup,
    DeleteBranch,
    Push,
    Run,
    Scenario,
    Step,
)

BETWEEN_STEPS: Final = 60.0
AT_THE_END: Final = 120.0
_POLLED_SECONDS: Final = 240.0
"""After that many seconds of the scenario, Argo CD has looked at Git by itself: here it is told to look."""
_STEADY_SECONDS: Final = 2.0
_SETTLES_SECONDS: Final = 20.0
_BOOTSTRAPPED: Final = ("ClusterRole", "ClusterRoleBinding")
"""Kinds of which an API server has some itself, such as ClusterRole `admin`."""
_REFRESH: Final = "argocd.argoproj.io/refresh"


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A value that Argo CD and the model report differently."""

    app: str
    place: str
    real: str
    model: str

    def __str__(self) -> str:
        return f"{self.app}: {self.place}\n    real:  {self.real}\n    model: {self.model}"


class CannotPlay(Exception):
    """The real components refused a step of the scenario."""


class RealPlay:
    """One scenario on the real components. `compared` counts the values that were compared at the end."""

    def __init__(
        self, argocd: RealArgoCD, scenario: Scenario, is_known: Callable[[Difference], bool] = lambda _: False
    ) -> None:
        self.argocd, self.scenario, self._is_known = argocd, scenario, is_known
        self.model = ScenarioRun(scenario)
        self._simulates_all = lacks_configuration(play(scenario))
        self.compared = 0
        self._found: list[Difference] = []
        """Of the last comparison; where the state alternates, the next one may find others."""
        self._last_step = time.monotonic()
        self.before_last_push: Callable[[Path], None] | None = None
        """Called with the checkout when it has the last commit and Argo CD does not."""
        self._client = argocd.kubernetes.client
        self._kinds: Sequence[ServedKind] = ()

    @contextlib.contextmanager
    def played(self) -> Generator[list[Difference]]:
        """Play to the end, and yield the differences while writers, webhooks and Pods keep acting."""
        home, openssl = self.argocd.home, self.argocd.programs.openssl
        setup = self.scenario.cluster
        server, pods = self.argocd.kubernetes, setup.behavior.pods
        with (
            webhook_server(setup.webhooks, home, openssl) as configurations,
            log_server(pods, server, home, openssl) as kubelet_port,
        ):
            set_kubelet_port(self._client, kubelet_port)
            self._create_repositories()
            self._create_cluster(configurations)
            self._create_argocd_objects()
            acts: list[Act] = [Cloud(setup.behavior, server)]
            acts += [RealWriter(writer, server) for writer in setup.writers]
            simulated = pods if self._simulates_all else tuple(filter(is_simulated, pods))
            if simulated or self._simulates_all:
                acts.append(SimulatedKubelet(simulated, server, all_pods=self._simulates_all))
            with acting(acts):
                steps = sorted(self.scenario.happens, key=lambda step: step.at)
                for step, following in zip_longest(steps, (step.at for step in steps[1:])):
                    self._model_until(step.at - 0.001)
                    self.wait_until(self._summaries_agree, BETWEEN_STEPS)
                    self._do(step)
                    self._last_step = time.monotonic()
                    if (following or self.scenario.ends) - step.at >= _POLLED_SECONDS:
                        self._refresh_all()
                self._model_until(self.scenario.ends)
                self.wait_until(self._steadily_equal, AT_THE_END)
                yield self._found

    @property
    def app(self) -> str:
        """The Application that the scenario is about."""
        expected = self.scenario.expects[0].app if self.scenario.expects else ""
        return next(name for name in self._names() if not expected or name.endswith(f"/{expected}"))

    @property
    def _controller_settings(self) -> Mapping[str, str]:
        return self.scenario.argocd.settings.get("argocd-cmd-params-cm", {})

    @property
    def seconds_to_add(self) -> float:
        """How much later the end of the scenario is after its last step than now.

        Writers act until the end: what they did is as old in both.
        """
        if self.scenario.cluster.writers:
            return 0.0
        last = max((step.at for step in self.scenario.happens), default=0.0)
        return max(0.0, self.scenario.ends - last - (time.monotonic() - self._last_step))

    @property
    def model_compared_seconds_ago(self) -> float:
        """How long ago the model's Argo CD compared the Application last."""
        status = fields((self.model.applications.get(self.app) or {}).get("status"))
        compared = parse_time(text(status.get("reconciledAt")))
        return (self.model.now - compared).total_seconds() if compared is not None else 0.0

    @property
    def expected_proof(self) -> str:
        """Status of the proof of the first fix that the scenario expects for this Application."""
        expected = next(
            (item.fix for item in self.scenario.expects if self.app.endswith(f"/{item.app}")), None
        )
        return expected.proof if expected is not None else ""

    @property
    def manifests(self) -> Path:
        """The folder of the checkout that the first Application deploys."""
        source = dig(self.scenario.applications[0], "spec", "source")
        return self.argocd.git.checkout(text(dig(source, "repoURL"))) / text(dig(source, "path"))

    def differences(self) -> list[Difference]:
        real, model = self.real_states(), self.model_states()
        self.compared = sum(len(state.values) for state in model.values())
        self._found = [
            Difference(app=name, place=place, real=here, model=there)
            for name, state in model.items()
            for place, here, there in real[name].differences(state)
        ]
        return self._found

    def model_states(self) -> dict[str, AppState]:
        return {name: state_of(self.model.applications.get(name)) for name in self._names()}

    def real_states(self) -> dict[str, AppState]:
        return {name: state_of(self.application(name)) for name in self._names()}

    def application(self, qualified_name: str) -> Object | None:
        space, _, name = qualified_name.partition("/")
        path = f"/apis/argoproj.io/v1alpha1/namespaces/{space}/applications/{name}"
        answer = self._client.send(Request(verb="get", path=path))
        return answer.body if answer.ok else None

    def wait_until(self, holds: Callable[[], bool], seconds: float) -> bool:
        until = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > until:
                return False
            time.sleep(0.3)
        return True

    def _names(self) -> list[str]:
        """All Applications of the model, and those of the scenario that are already deleted there."""
        given = [
            f"{text(dig(app, 'metadata', 'namespace'))}/{text(dig(app, 'metadata', 'name'))}"
            for app in self.scenario.applications
        ]
        return list(dict.fromkeys([*given, *self.model.applications]))

    def _summaries_agree(self) -> bool:
        real, model = self.real_states(), self.model_states()
        return all(real[name].summary == state.summary for name, state in model.items())

    def _steadily_equal(self) -> bool:
        if not self.is_equal():
            return False
        if self.scenario.cluster.writers:
            return True  # the state alternates: Argo CD and the writer undo each other
        time.sleep(_STEADY_SECONDS)
        return self.is_equal()

    def is_equal(self) -> bool:
        """Does Argo CD report what the model reports, except for known differences?"""
        return all(self._is_known(difference) for difference in self.differences())

    def _model_until(self, seconds: float) -> None:
        left = timedelta(seconds=seconds) - self.model.elapsed
        if left > timedelta():
            self.model.run_for(left)

    # What exists at the start

    def _create_repositories(self) -> None:
        for repo in self.scenario.repos:
            self.argocd.git.create(repo.url, repo.branch)
            for commit in repo.commits:
                self.argocd.git.commit(
                    repo.url, repo.branch, files=commit.files, removes=commit.removes, message=commit.message
                )

    def _create_cluster(self, configurations: list[Object]) -> None:
        setup = self.scenario.cluster
        objects = [copy_object(obj) for obj in setup.objects]
        declared = {text(dig(obj, "metadata", "name")) for obj in objects if obj.get("kind") == "Namespace"}
        used = dict.fromkeys(text(dig(obj, "metadata", "namespace")) for obj in objects)
        namespaces: list[Object] = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            for name in used
            if name and name not in declared and not self._client.send(_namespace(name)).ok
        ]
        stages = stages_of(self.scenario.name, setup.behavior.pods, simulates_all=self._simulates_all)
        for obj in [*stages, *namespaces, *objects, *configurations]:
            self._create(obj)

    def _create_argocd_objects(self) -> None:
        for name, data in self.scenario.argocd.settings.items():
            self._change_settings(name, data)
        self.argocd.start_controller(self._controller_settings)
        if self.scenario.cluster.server:
            self._create(_cluster_secret(self.scenario.cluster))
        for project in self.scenario.projects:
            if dig(project, "metadata", "name") == "default":
                path = "/apis/argoproj.io/v1alpha1/namespaces/argocd/appprojects/default"
                self._send(Request(verb="merge-patch", path=path, body={"spec": project.get("spec")}))
            else:
                self._create(project)
        for number, application in enumerate(self.scenario.applications, 1):
            self._create(application)
            if number < len(self.scenario.applications):
                # The model acts in this order; a real Argo CD works on both at the same time.
                self.wait_until(partial(self._is_settled, self._names()[number - 1]), _SETTLES_SECONDS)

    def _is_settled(self, qualified_name: str) -> bool:
        """Was the Application compared, and synced if it syncs by itself?"""
        application = self.application(qualified_name)
        automated = dig(application, "spec", "syncPolicy", "automated")
        finished = dig(application, "status", "operationState", "finishedAt")
        return bool(dig(application, "status", "reconciledAt")) and bool(finished or not automated)

    def _create(self, obj: Object) -> None:
        body = copy_object(obj)
        status = body.pop("status", None)
        api_version, kind = text(body.get("apiVersion")), text(body.get("kind"))
        served: list[ServedKind] = []

        def is_served() -> bool:
            found = kind_of(self._client, api_version, kind)
            if found is not None:
                served.append(found)
            return bool(served)

        if not self.wait_until(is_served, 20.0):
            raise CannotPlay(f"the cluster does not serve {api_version} {kind}")
        space, name = text(dig(body, "metadata", "namespace")), text(dig(body, "metadata", "name"))
        request = Request(
            verb="create", path=served[0].collection(space), body=body, manager="kubectl-create"
        )
        if (
            kind in _BOOTSTRAPPED
            and self._client.send(Request(verb="get", path=served[0].path(space, name))).ok
        ):
            return
        self._send(request)
        if status is not None:
            self._client.send(
                Request(
                    verb="merge-patch",
                    path=served[0].path(space, name, "status"),
                    body={"status": status},
                    manager="kubectl-create",
                )
            )

    def _send(self, request: Request) -> Object:
        answer = self._client.send(request)
        if not answer.ok:
            problem = text(dig(answer.body, "message")) or answer.text
            raise CannotPlay(f"{request.verb} {request.path}: {answer.code} {problem}")
        return answer.body or {}

    # Steps

    def _do(self, step: Step) -> None:
        match step.act:
            case Push() as push:
                self._push(push, is_last=step.at == max(other.at for other in self.scenario.happens))
            case Run() as run:
                self.run(run.command, run.input)
            case ChangeSettings() as change:
                for name, data in change.settings.items():
                    self._change_settings(name, data)
            case DeleteBranch() as deleted:
                self.argocd.git.delete_branch(deleted.repo, deleted.branch)
            case ChangeController() as change:
                if change.stopped:
                    self.argocd.stop_controller()
                else:
                    self.argocd.start_controller(self._controller_settings)
            case _:
                raise CannotPlay(f"{type(step.act).__name__} is not played for real")

    def _push(self, push: Push, *, is_last: bool) -> None:
        repo = next(repo for repo in self.scenario.repos if repo.url == push.repo)
        commit = push.commit
        self.argocd.git.commit(
            push.repo,
            push.branch or repo.branch,
            files=commit.files,
            removes=commit.removes,
            message=commit.message,
            before_push=self.before_last_push if is_last else None,
        )
        if push.webhook:
            self._refresh_all()

    def _refresh_all(self) -> None:
        for name in self._names():
            self.refresh(name)

    def refresh(self, qualified_name: str) -> None:
        """What a webhook of the Git host makes Argo CD do."""
        space, _, name = qualified_name.partition("/")
        path = f"/apis/argoproj.io/v1alpha1/namespaces/{space}/applications/{name}"
        body: Object = {"metadata": {"annotations": {_REFRESH: "normal"}}}
        self._client.send(Request(verb="merge-patch", path=path, body=body, manager="argocd-server"))

    def run(self, command: str, given: tuple[Object, ...] = ()) -> subprocess.CompletedProcess[str]:
        """Run a command line of the scenario; one that the real program refuses fails in the model too."""
        words = shlex.split(command)
        stdin = "\n---\n".join(json.dumps(obj) for obj in given)
        if words[:2] == ["kubectl", "edit"]:
            # An editor is closed with a change: kubectl sends it as a patch.
            kind = "merge" if _is_custom(words) else "strategic"
            words = ["kubectl", "patch", *words[2:], "--field-manager=kubectl-edit", f"--type={kind}"]
            words += ["--patch", json.dumps(given[0] if given else {})]
        elif words[:3] == ["argocd", "app", "sync"]:
            words += ["--async"]  # the scenario decides what follows, not the command
        elif words[:2] == ["kubectl", "delete"]:
            words += ["--wait=false"]
        return self.argocd.run(words, stdin=stdin)

    def _change_settings(self, name: str, data: object) -> None:
        path = f"/api/v1/namespaces/argocd/configmaps/{name}"
        changes = fields(json.loads(json.dumps(data)))
        self._send(Request(verb="merge-patch", path=path, body={"data": changes}))


def _is_custom(words: list[str]) -> bool:
    kind = words[2].partition("/")[0].lower()
    return kind in ("application", "appproject", "applications", "appprojects") or "." in kind


def _cluster_secret(setup: ClusterSetup) -> Object:
    """A cluster that Argo CD knows, but to which no Application of the scenario deploys."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": f"cluster-{setup.name}",
            "namespace": "argocd",
            "labels": {"argocd.argoproj.io/secret-type": "cluster"},
        },
        "stringData": {"name": setup.name, "server": setup.server, "config": "{}"},
    }


def _namespace(name: str) -> Request:
    return Request(verb="get", path=f"/api/v1/namespaces/{name}")
