"""Command lines on a small world: what each changes, in whose name, and what is said when it fails."""

from __future__ import annotations

from datetime import timedelta

import pytest

from whysync.argocd.repo_server.repository import GitRepositories, GitRepository
from whysync.argocd.simulation.commands.actor import Actor
from whysync.argocd.simulation.commands.argocd_cli import run_argocd
from whysync.argocd.simulation.commands.command_line import BadCommand, command_of, command_problem
from whysync.argocd.simulation.commands.kubectl_cli import Kubectl
from whysync.argocd.simulation.simulation import Simulation
from whysync.argocd.simulation.world import World
from whysync.json_tree import Json, Object, dig, fields, items
from whysync.kubernetes.clock import Clock

URL = "https://git.example.com/shop.git"
WEB: Object = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "web:1"}]},
        },
    },
}
APP: Object = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "Application",
    "metadata": {"name": "shop", "namespace": "argocd"},
    "spec": {
        "project": "team",
        "source": {"repoURL": URL, "path": "deploy", "targetRevision": "main"},
        "destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"},
    },
}
PROJECT: Object = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "AppProject",
    "metadata": {"name": "team", "namespace": "argocd"},
    "spec": {
        "sourceRepos": [URL],
        "destinations": [{"server": "*", "namespace": "shop"}],
        "namespaceResourceBlacklist": [{"group": "", "kind": "ResourceQuota"}],
        "syncWindows": [{"kind": "deny", "schedule": "0 0 1 1 *", "duration": "1h"}],
    },
}
SETTINGS: Object = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "argocd-cm", "namespace": "argocd"},
    "data": {"timeout.reconciliation": "180s"},
}


class Stage:
    def __init__(self) -> None:
        clock = Clock()
        git = GitRepository(url=URL, clock=clock)
        git.push({"deploy": [WEB]})
        self.simulation = Simulation(
            World(
                clock=clock,
                repository=GitRepositories([git]),
                applications=(APP,),
                projects=(PROJECT,),
                config_maps=(SETTINGS,),
            )
        )
        self.argocd = self.simulation.argocd
        self.does("kubectl create namespace shop")

    def does(self, line: str, *objects: Object) -> str:
        output, failed = self.tries(line, *objects)
        assert not failed, output
        return output

    def tries(self, line: str, *objects: Object) -> tuple[str, bool]:
        command, by = command_of(line), Actor(input=objects)
        done = (
            run_argocd(command, by, self.argocd)
            if command.tool == "argocd"
            else Kubectl(self.simulation.api_server).run(command, by, self.argocd)
        )
        self.simulation.run(timedelta(seconds=1))
        return done

    def the(self, kind: str, name: str) -> Object | None:
        result = (
            obj
            for obj in self.simulation.api_server.objects()
            if (obj.get("kind"), dig(obj, "metadata", "name")) == (kind, name)
        )
        return next(result, None)

    def has(self, kind: str, name: str) -> Object:
        result = self.the(kind, name)
        assert result is not None
        return result

    @property
    def app(self) -> Object:
        return self.argocd.applications["argocd/shop"]

    @property
    def condition(self) -> str:
        """What the first condition of the app says."""
        return str(dig(self.app, "status", "conditions", 0, "message") or "")


@pytest.fixture
def stage() -> Stage:
    return Stage()


# --- kubectl -------------------------------------------------------------------------------------


def test_small_objects_are_made_without_a_file(stage: Stage) -> None:
    stage.does("kubectl -n shop create serviceaccount deployer")
    stage.does("kubectl -n shop create configmap web --from-literal=mode=fast --from-literal=empty=")
    stage.does("kubectl -n shop create secret generic db --from-literal=password=a=b")
    assert dig(stage.has("ServiceAccount", "deployer"), "metadata", "namespace") == "shop"
    assert stage.has("ConfigMap", "web")["data"] == {"mode": "fast", "empty": ""}
    assert stage.has("Secret", "db")["data"] == {"password": "YT1i"}
    assert stage.has("Namespace", "shop")


@pytest.mark.parametrize("line", ["kubectl create role reader", "kubectl -n shop create secret tls x"])
def test_what_it_cannot_make_so_needs_a_file(stage: Stage, line: str) -> None:
    assert stage.tries(line) == ("error: must specify -f", True)


def test_deleting_what_is_not_there(stage: Stage) -> None:
    output, failed = stage.tries("kubectl -n shop delete job migrate")
    assert failed
    assert output == 'Error from server (NotFound): jobs.batch "migrate" not found'
    assert stage.tries("kubectl -n shop delete job.batch migrate --ignore-not-found") == ("", False)


def test_a_workload_is_restarted_and_argo_cds_own_parts_are_not_there(stage: Stage) -> None:
    stage.does("kubectl apply -f -", WEB)
    stage.does("kubectl -n shop rollout restart deployment/web")
    notes = fields(dig(stage.has("Deployment", "web"), "spec", "template", "metadata", "annotations"))
    assert list(notes) == ["kubectl.kubernetes.io/restartedAt"]
    stage.does("kubectl -n argocd rollout restart deployment/argocd-repo-server deployment/argocd-server")
    assert stage.tries("kubectl -n shop rollout restart deployment gone")[1]


def test_a_pause_ends(stage: Stage) -> None:
    stage.does("kubectl apply -f -", WEB)
    assert stage.tries("kubectl -n shop rollout pause deployment web") == ("paused", False)
    assert fields(stage.has("Deployment", "web")["spec"])["paused"] is True
    assert stage.tries("kubectl -n shop rollout resume deployment web") == ("resumed", False)
    assert "paused" not in fields(stage.has("Deployment", "web")["spec"])


def test_a_rollout_cannot_be_undone_here(stage: Stage) -> None:
    stage.does("kubectl apply -f -", WEB)
    before = stage.has("Deployment", "web")
    assert stage.tries("kubectl -n shop rollout undo deployment web")[1]
    assert stage.has("Deployment", "web") == before


def test_orphans_are_left_behind(stage: Stage) -> None:
    stage.does("kubectl apply -f -", WEB)
    stage.does("kubectl -n shop delete deployment web --cascade=orphan")
    assert stage.the("Deployment", "web") is None


def test_labels_and_annotations_come_and_go(stage: Stage) -> None:
    stage.does("kubectl label namespace shop pod-security.kubernetes.io/enforce=baseline --overwrite")
    stage.does("kubectl annotate namespace shop note=x")
    stage.does("kubectl annotate namespace shop note-")
    meta = fields(stage.has("Namespace", "shop")["metadata"])
    assert fields(meta["labels"])["pod-security.kubernetes.io/enforce"] == "baseline"
    assert not meta.get("annotations")


# --- Argo CD's own objects -----------------------------------------------------------------------


def test_settings_are_patched_where_argo_cd_keeps_them(stage: Stage) -> None:
    stage.does("""kubectl -n argocd patch configmap argocd-cm --type=merge -p '{"data":{"a":"b"}}'""")
    assert stage.argocd.context.config_maps["argocd-cm"]["data"] == {
        "timeout.reconciliation": "180s",
        "a": "b",
    }
    output, failed = stage.tries("""kubectl -n argocd patch configmap argocd-rbac-cm -p '{"data":{}}'""")
    assert failed
    assert "not found" in output


def test_a_project_is_patched(stage: Stage) -> None:
    patch = """[{"op":"add","path":"/spec/sourceRepos/-","value":"https://other"}]"""
    stage.does(f"kubectl -n argocd patch appproject team --type json -p '{patch}'")
    assert dig(stage.argocd.context.projects["team"], "spec", "sourceRepos") == [URL, "https://other"]


def test_a_json_patch_that_does_not_fit_is_refused(stage: Stage) -> None:
    patch = """[{"op":"replace","path":"/spec/nothing/here","value":1}]"""
    assert stage.tries(f"kubectl -n argocd patch application shop --type json -p '{patch}'")[1]


def test_an_application_is_annotated_and_cannot_be_scaled(stage: Stage) -> None:
    stage.does("kubectl -n argocd annotate application shop note=x")
    assert dig(stage.app, "metadata", "annotations", "note") == "x"
    assert stage.tries("kubectl -n argocd scale application shop --replicas 2")[1]


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("add-source team https://other", "sourceRepos", "https://other"),
        (
            "add-destination team https://c2 prod",
            "destinations",
            {"server": "https://c2", "namespace": "prod"},
        ),
        (
            "allow-cluster-resource team '*' Namespace",
            "clusterResourceWhitelist",
            {"group": "*", "kind": "Namespace"},
        ),
    ],
)
def test_a_project_permits_more(stage: Stage, line: str, field: str, value: Json) -> None:
    stage.does(f"argocd proj {line}")
    stage.does(f"argocd proj {line}")
    result = items(dig(stage.argocd.context.projects["team"], "spec", field))
    assert result.count(value) == 1


def test_a_kind_leaves_the_blacklist(stage: Stage) -> None:
    stage.does("argocd proj allow-namespace-resource team '' ResourceQuota")
    spec = fields(stage.argocd.context.projects["team"]["spec"])
    assert spec["namespaceResourceBlacklist"] == []
    assert "namespaceResourceWhitelist" not in spec


def test_windows_are_counted_from_0(stage: Stage) -> None:
    stage.does("argocd proj windows enable-manual-sync team 0")
    assert dig(stage.argocd.context.projects["team"], "spec", "syncWindows", 0, "manualSync") is True
    assert stage.tries("argocd proj windows enable-manual-sync team x")[1]
    assert stage.tries("argocd proj add-source nobody https://other")[1]


# --- argocd app ----------------------------------------------------------------------------------


def test_a_sync_with_its_flags(stage: Stage) -> None:
    only = "--resource apps:Deployment:shop/web"
    stage.does(f"argocd app sync shop --prune --server-side {only} --strategy apply")
    sync = fields(dig(stage.app, "status", "operationState", "operation", "sync"))
    assert sync["prune"] is True
    assert sync["syncOptions"] == ["ServerSideApply=true"]
    assert sync["resources"] == [{"group": "apps", "kind": "Deployment", "name": "web", "namespace": "shop"}]
    assert sync["syncStrategy"] == {"apply": {"force": False}}
    assert stage.the("Deployment", "web") is not None


def test_nothing_to_terminate(stage: Stage) -> None:
    output, failed = stage.tries("argocd app terminate-op shop")
    assert failed
    assert output.endswith("Unable to terminate operation. No operation is in progress")


def test_a_deletion_is_confirmed_with_the_time(stage: Stage) -> None:
    now = stage.simulation.api_server.clock.now
    assert stage.does("argocd app confirm-deletion shop") == "Application 'shop' updated successfully"
    approved = dig(stage.app, "metadata", "annotations", "argocd.argoproj.io/deletion-approved")
    assert approved == now.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_cluster_is_managed_in_part(stage: Stage) -> None:
    stage.does("argocd cluster set in-cluster --namespace other")
    assert stage.condition.endswith('namespace "shop" for Deployment "web" is not managed')
    stage.does("argocd cluster set https://kubernetes.default.svc --namespace other --namespace shop")
    assert stage.condition == ""
    stage.does("argocd cluster set in-cluster --namespace '*'")
    assert stage.condition == ""
    output, failed = stage.tries("argocd cluster set elsewhere --namespace shop")
    assert (failed, "not found" in output) == (True, True)


@pytest.mark.parametrize(
    ("flags", "field", "value"),
    [
        ("--project default", ("project",), "default"),
        ("--path other", ("source", "path"), "other"),
        ("--revision v2", ("source", "targetRevision"), "v2"),
        ("--repo https://new", ("source", "repoURL"), "https://new"),
        ("--dest-namespace prod", ("destination", "namespace"), "prod"),
        ("--dest-name prod", ("destination",), {"name": "prod", "namespace": "shop"}),
        ("--sync-option CreateNamespace=true", ("syncPolicy", "syncOptions"), ["CreateNamespace=true"]),
        ("--sync-policy auto --self-heal", ("syncPolicy", "automated"), {"prune": False, "selfHeal": True}),
    ],
)
def test_settings_of_an_application(stage: Stage, flags: str, field: tuple[str, ...], value: object) -> None:
    stage.does(f"argocd app set shop {flags}")
    assert dig(stage.app, "spec", *field) == value


def test_one_of_several_sources_is_set(stage: Stage) -> None:
    spec: Object = {key: value for key, value in fields(APP["spec"]).items() if key != "source"}
    spec["sources"] = [{"repoURL": URL, "path": "a"}, {"repoURL": URL, "path": "b"}]
    stage.argocd.edit("argocd/shop", lambda body: {**body, "spec": spec})
    stage.does("argocd app set shop --source-position 2 --path c")
    assert [dig(source, "path") for source in items(dig(stage.app, "spec", "sources"))] == ["a", "c"]


def test_an_unknown_app_is_denied_as_argo_cd_does(stage: Stage) -> None:
    output, failed = stage.tries("argocd app sync other")
    assert failed
    assert "PermissionDenied" in output


# --- lines ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("helm upgrade x .", "it must begin with kubectl, argocd app, argocd proj or argocd cluster"),
        ("kubectl drain node-1", "'kubectl drain node-1' is not supported"),
        ("kubectl get pods --as me", "the flag --as is not supported"),
        ("argocd app sync shop --revision", "--revision requires a value"),
        ("kubectl patch 'deployment", "it cannot be split into words: No closing quotation"),
        ("argocd proj windows", "'argocd proj windows' is not supported"),
    ],
)
def test_what_cannot_be_played(line: str, why: str) -> None:
    with pytest.raises(BadCommand) as problem:
        command_of(line)
    assert str(problem.value) == why
    assert command_problem(line) == why


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("kubectl scale deployment/web", "--replicas must be a number"),
        ("kubectl delete", "kubectl delete needs an object, such as deployment/web"),
        ("kubectl patch deployment/web", "kubectl patch needs -p"),
        ("kubectl apply -f -", ""),
        ("argocd app get shop --hard-refresh", ""),
    ],
)
def test_what_a_line_lacks(line: str, why: str) -> None:
    assert command_problem(line) == why
