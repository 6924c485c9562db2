"""What a commit would do, from a real Git repository to a plan."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.plan.shop import APP, CLAIM, CONFIG, DEPLOYMENT, HOOK, HPA, PASSWORD, SECRET, SERVICE, Shop
from whysync.diagnosis.report import SyncSafety
from whysync.errors import NotFound, UsageError
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Object
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.plan.checkout import open_checkout
from whysync.plan.find_applications import GENERATE_PATHS
from whysync.plan.plan import AppPlan, Change, ChangeKind, Plan, PlannedCluster, State, Verdict
from whysync.plan.planner import plan
from whysync.plan.try_fix import Trial


def planned_changes(
    shop: Shop, *, path: str = "", live: Snapshot | None = None, base: str = "main", head: str = ""
) -> Plan:
    with open_checkout(str(shop.folder), base=base, head=head) as checkout:
        return plan(checkout, path=path, live=live, keep=True)


def only_app(plan: Plan) -> AppPlan:
    (app,) = plan.apps
    return app


def changes(app: AppPlan) -> list[tuple[ChangeKind, str, str]]:
    return [(change.sort, change.ref.kind, change.ref.name) for change in app.changes]


def of(app: AppPlan, kind: str) -> Change:
    (only_change,) = [change for change in app.changes if change.ref.kind == kind]
    return only_change


def test_a_hook_that_waits_for_a_service_of_a_later_wave(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop", base={"secret.yaml": SECRET})
    shop.put("hook.yaml", f"{HOOK}---\n{HPA}")
    shop.put("deployment.yaml", DEPLOYMENT.replace("shop:1.0", "shop:1.1"))
    shop.remove("secret.yaml")
    app = only_app(planned_changes(shop, path="apps/shop"))
    based, empty = app.runs
    assert (based.cluster, based.passed) == (PlannedCluster.BASE, True)
    assert (empty.cluster, empty.passed) == (PlannedCluster.EMPTY, False)
    assert app.decisive is empty
    assert 600 <= empty.seconds < 700
    steps = {(step.phase, step.wave): step.items for step in empty.steps}
    (hook,) = steps["PreSync", -1]
    assert (hook.ref.name, hook.state) == ("smoke-test", State.FAILED)
    assert hook.note == "waits for Service/shop … deadline 600 s"
    assert {step.state for step in steps["Sync", 0]} == {State.NOT_REACHED}
    assert {step.state for step in steps["Sync", 2]} == {State.NOT_REACHED}
    assert changes(app) == [
        (ChangeKind.CREATE, "HorizontalPodAutoscaler", "shop"),
        (ChangeKind.CHANGE, "Deployment", "shop"),
        (ChangeKind.PRUNE, "Secret", "old-token"),
        (ChangeKind.HOOK, "Job", "smoke-test"),
    ]
    assert of(app, "Deployment").risk == "restart of 2 pods"
    assert of(app, "Deployment").origin == "apps/shop/deployment.yaml:1"
    assert of(app, "Secret").risk == "its data is deleted with it"
    assert app.safety is not None
    assert app.safety.sync is SyncSafety.UNSAFE


def test_as_a_post_sync_hook_it_passes_on_both(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.put("hook.yaml", HOOK.replace("PreSync", "PostSync"))
    app = only_app(planned_changes(shop))
    assert [run.passed for run in app.runs] == [True, True]
    assert all(item.state is State.DONE for run in app.runs for step in run.steps for item in step.items)


def test_an_immutable_field(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.put("deployment.yaml", DEPLOYMENT.replace("app: shop", "app: store"))
    app = only_app(planned_changes(shop))
    based, empty = app.runs
    assert not based.passed
    assert empty.passed
    (failed,) = [item for step in based.steps for item in step.items if item.state is State.FAILED]
    assert "field is immutable" in failed.note
    assert failed.note.startswith('Deployment.apps "shop" is invalid: ')  # no name of a temporary file


def test_a_rename_is_a_deletion_and_a_creation(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.put("config.yaml", CONFIG.replace("name: shop", "name: store"))
    app = only_app(planned_changes(shop))
    assert changes(app) == [
        (ChangeKind.PRUNE, "ConfigMap", "shop"),
        (ChangeKind.CREATE, "ConfigMap", "store"),
    ]
    assert [change.renamed.name for change in app.changes if change.renamed is not None] == ["store", "shop"]


def test_without_pruning_what_leaves_git_stays(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop", base={"secret.yaml": SECRET})
    shop.commit({"argocd/shop.yaml": APP.replace("{prune: true}", "{}")})
    shop.git("branch", "-f", "main")
    shop.remove("secret.yaml")
    app = only_app(planned_changes(shop))
    assert changes(app) == [(ChangeKind.KEEP, "Secret", "old-token")]
    assert app.safety is not None
    assert app.safety.sync is SyncSafety.SAFE


def test_nothing_changes(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.commit({"README.md": "hello"})
    plan = planned_changes(shop)
    assert plan.apps == ()
    assert plan.untouched == ("argocd/shop",)
    assert plan.verdict is Verdict.PASS


def test_only_what_the_annotation_names_touches_an_app(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    annotated = "metadata: {name: shop, namespace: argocd, annotations: {%s: %%s}}" % GENERATE_PATHS  # noqa: UP031
    application = APP.replace("metadata: {name: shop, namespace: argocd}", annotated % "/other")
    shop.commit({"argocd/shop.yaml": application, "other/config.yaml": CONFIG})
    shop.git("branch", "-f", "main")
    shop.put("config.yaml", CONFIG.replace("hello", "bye"))
    assert planned_changes(shop).untouched == ("argocd/shop",)
    shop.commit(
        {"argocd/shop.yaml": APP.replace("metadata: {name: shop, namespace: argocd}", annotated % ".")}
    )
    shop.git("branch", "-f", "main")
    shop.put("config.yaml", CONFIG.replace("hello", "good bye"))
    assert [app.name for app in planned_changes(shop).apps] == ["argocd/shop"]


def test_a_broken_manifest_fails_on_any_cluster(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.put("config.yaml", f"{CONFIG}  bad: [\n")
    app = only_app(planned_changes(shop))
    (run,) = app.runs
    assert not run.passed
    assert 'Failed to unmarshal "config.yaml"' in run.message


def test_a_namespace_that_nobody_brings_is_taken_to_exist_and_said(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.commit({"argocd/shop.yaml": APP.replace("    syncOptions: [CreateNamespace=true]\n", "")})
    app = only_app(planned_changes(shop))
    assert app.passed
    assert "Namespace shop is assumed to exist" in map(str, app.runs[-1].assumptions)


def test_a_commit_is_planned_like_a_work_tree_and_always_alike(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.put("config.yaml", CONFIG.replace("hello", "bye"))
    first = only_app(planned_changes(shop))
    commit = shop.commit({})
    second = only_app(planned_changes(shop, base="", head=commit))
    assert (first.changes, first.safety) == (second.changes, second.safety)
    assert [(run.seconds, run.steps) for run in first.runs] == [
        (run.seconds, run.steps) for run in second.runs
    ]


def test_the_cluster_as_it_is_now(tmp_path: Path) -> None:
    """The facts are those of a cluster on which the base was synced; secrets in them are masked."""
    shop = Shop(tmp_path / "shop", base={"secret.yaml": SECRET})
    shop.git("checkout", "-q", "main")
    parent = shop.git("hash-object", "-t", "tree", "/dev/null")
    root = shop.git("commit-tree", "-m", "empty", parent, stdin=b"")
    installed = only_app(planned_changes(shop, base=root))
    live = installed.runs[-1].snapshot
    assert live is not None
    shop.put("hook.yaml", HOOK)
    shop.put("deployment.yaml", DEPLOYMENT.replace("shop:1.0", "shop:1.1"))
    app = only_app(planned_changes(shop, base="main", live=live))
    now, empty = app.runs
    assert (now.cluster, now.passed, empty.passed) == (PlannedCluster.LIVE, True, False)
    assert changes(app) == [(ChangeKind.CHANGE, "Deployment", "shop"), (ChangeKind.HOOK, "Job", "smoke-test")]
    assert PASSWORD not in repr(now.snapshot)


def test_settings_of_argocd_cm_apply_to_rendering(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.put("more.jsonnet", "{}")
    shop.put("deployment.yaml", DEPLOYMENT.replace("shop:1.0", "shop:1.1"))
    body: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm", "namespace": "argocd"},
        "data": {"jsonnet.enable": "false"},
    }
    live = Snapshot(settings=(Manifest(body, role=Role.SETTINGS),))
    assert changes(only_app(planned_changes(shop, live=live))) == [(ChangeKind.CHANGE, "Deployment", "shop")]
    assert changes(only_app(planned_changes(shop))) == []


def test_a_folder_without_an_application(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.commit({"other/thing/a.yaml": CONFIG})
    plan = planned_changes(shop, path="other/thing")
    assert only_app(plan).name == "argocd/thing"
    assert "assuming Application" in plan.notes[0]


def test_apps_that_another_app_renders(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    parent = (
        APP.replace("name: shop", "name: root")
        .replace("apps/shop", "argocd")
        .replace("namespace: shop", "namespace: argocd")
    )
    shop.commit({"root.yaml": parent})
    shop.put("config.yaml", CONFIG.replace("hello", "bye"))
    assert [app.name for app in planned_changes(shop).apps] == ["argocd/root", "argocd/shop"]


def test_an_app_that_is_gone_is_told(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.commit({"argocd/other.yaml": APP.replace("name: shop", "name: other")})
    (shop.folder / "argocd/shop.yaml").unlink()
    plan = planned_changes(shop)
    (gone,) = [app for app in plan.apps if app.is_removed]
    assert (gone.name, gone.verdict, plan.verdict) == ("argocd/shop", Verdict.DELETE, Verdict.DELETE)
    assert {change.sort for change in gone.changes} == {ChangeKind.KEEP}
    assert gone.safety is not None
    assert "its resources stay in the cluster" in gone.safety.reasons[0].text


def test_an_app_that_is_gone_takes_its_objects_along(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop", base={"claim.yaml": CLAIM})
    finalizer = "finalizers: [resources-finalizer.argocd.argoproj.io]"
    shop.commit({"argocd/shop.yaml": APP.replace("{name: shop,", f"{{name: shop, {finalizer},")})
    shop.git("branch", "-f", "main")
    (shop.folder / "argocd/shop.yaml").unlink()
    app = only_app(planned_changes(shop))
    assert app.verdict is Verdict.DELETE
    assert {change.sort for change in app.changes} == {ChangeKind.PRUNE}
    assert app.safety is not None
    assert [reason.text for reason in app.safety.reasons][1:] == [
        "it deletes PersistentVolumeClaim shop/data: its data may be lost with it"
    ]


def test_deleted_data_is_a_verdict(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop", base={"claim.yaml": CLAIM})
    shop.remove("claim.yaml")
    assert planned_changes(shop).verdict is Verdict.DELETE


def test_the_end_of_a_workload_is_no_loss(tmp_path: Path) -> None:
    other = DEPLOYMENT.replace("name: shop", "name: batch")
    shop = Shop(tmp_path / "shop", base={"batch.yaml": other})
    shop.remove("batch.yaml")
    app = only_app(planned_changes(shop))
    assert changes(app) == [(ChangeKind.PRUNE, "Deployment", "batch")]
    assert app.verdict is Verdict.PASS


def test_an_object_that_another_app_uses(tmp_path: Path) -> None:
    uses = DEPLOYMENT.replace("name: shop", "name: wiki").replace(
        "image: ", "envFrom: [{configMapRef: {name: shop}}], image: "
    )
    wiki = APP.replace("name: shop,", "name: wiki,").replace("apps/shop", "apps/wiki")
    shop = Shop(tmp_path / "shop")
    shop.commit({"argocd/wiki.yaml": wiki, "apps/wiki/deployment.yaml": uses})
    shop.git("branch", "-f", "main")
    shop.remove("config.yaml")
    plan = planned_changes(shop)
    (app,) = plan.apps
    assert of(app, "ConfigMap").risk == "Deployment wiki still uses it"
    assert app.verdict is Verdict.DELETE


def test_what_the_commit_removes_is_not_assumed_to_exist(tmp_path: Path) -> None:
    uses = DEPLOYMENT.replace("image: ", "envFrom: [{configMapRef: {name: shop}}], image: ")
    shop = Shop(tmp_path / "shop", base={"deployment.yaml": uses})
    shop.remove("config.yaml")
    app = only_app(planned_changes(shop))
    based, empty = app.runs
    assert (based.passed, empty.passed) == (True, False)
    assert not any(assumption.of == "ConfigMap" for assumption in empty.assumptions)
    assert [change.users for change in app.changes] == [(of(app, "ConfigMap").users[0],)]


def test_apps_of_the_same_name_in_two_folders(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    second = APP.replace("namespace: shop", "namespace: shop-b")
    shop.commit({"clusters/b/shop.yaml": second})
    shop.git("branch", "-f", "main")
    shop.put("config.yaml", CONFIG.replace("hello", "bye"))
    plan = planned_changes(shop)
    assert [app.title for app in plan.apps] == ["shop (argocd/shop.yaml)", "shop (clusters/b/shop.yaml)"]
    assert [app.changes[0].ref.namespace for app in plan.apps] == ["shop", "shop-b"]


def test_a_copy_of_an_application_is_planned_once(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.commit({"copies/shop.yaml": APP})
    shop.put("config.yaml", CONFIG.replace("hello", "bye"))
    assert only_app(planned_changes(shop)).title == "shop"


def test_a_set_that_is_not_expanded_makes_it_unknown(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    sets = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: all}\n"
    sets += "spec: {generators: [{plugin: {}}], template: {}}\n"
    shop.commit({"argocd/a.yaml": sets, "argocd/b.yaml": sets})
    plan = planned_changes(shop)
    assert plan.verdict is Verdict.UNKNOWN
    (why,) = plan.not_planned
    assert why.startswith("2 ApplicationSets (all in argocd/a.yaml, …) are not expanded: ")


@pytest.mark.parametrize("base", ["nope", "--upload-pack=touch x", "\x00", "main:apps"])
def test_a_base_that_is_no_commit(tmp_path: Path, base: str) -> None:
    shop = Shop(tmp_path / "shop")
    with pytest.raises(UsageError, match="is no commit"):
        planned_changes(shop, base=base)


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no Git checkout"):
        open_checkout(str(tmp_path))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 3000,
        "a: &a [x]\nb: [*a, *a]\nkind: Application\napiVersion: argoproj.io/v1alpha1\n",
        "\x00\xff",
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: evil}\nspec: 7\n",
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: evil}\n"
        "spec: {source: {path: ../../etc, repoURL: 'https://git.example.org/team/shop.git'}, a: 1}\n",
    ],
)
def test_hostile_files_beside_an_app(tmp_path: Path, text: str) -> None:
    shop = Shop(tmp_path / "shop")
    shop.commit({"argocd/evil.yaml": text})
    (shop.folder / "apps/shop/passwd.yaml").symlink_to("/etc/passwd")
    shop.put("service.yaml", SERVICE.replace("8080", "8081"))
    plan = planned_changes(shop)
    assert any(not app.passed for app in plan.apps if app.name == "argocd/shop")


def test_a_sync_that_succeeds_into_an_app_that_does_not_work(tmp_path: Path) -> None:
    """All is applied; what stays unhealthy is what is waited for."""
    shop = Shop(tmp_path / "shop")
    wrong = DEPLOYMENT.replace(
        "name: shop, image", "name: shop, envFrom: [{configMapRef: {name: shops}}], image"
    )
    shop.put("deployment.yaml", wrong)
    empty = only_app(planned_changes(shop)).runs[-1]
    assert not empty.passed
    (sync,) = [step for step in empty.steps if step.phase == "Sync"]
    assert {item.ref.kind: (item.state, item.note) for item in sync.items} == {
        "ConfigMap": (State.DONE, ""),
        "Service": (State.DONE, ""),
        "Deployment": (State.WAITING, "stays Degraded"),
    }


def test_a_change_that_cannot_be_rendered_here_is_unknown(tmp_path: Path) -> None:
    """Neither side can be rendered, but the commit changes a file that the app reads."""
    plugin = APP.replace("targetRevision: main}", "targetRevision: main, plugin: {name: x}}")
    shop = Shop(tmp_path / "shop")
    shop.commit({"argocd/shop.yaml": plugin})
    shop.git("branch", "-f", "main", "HEAD")
    assert planned_changes(shop).untouched == ("argocd/shop",)
    shop.put("config.yaml", CONFIG.replace("hello", "goodbye"))
    plan = planned_changes(shop)
    assert plan.verdict is Verdict.UNKNOWN
    assert [app.name for app in plan.apps] == ["argocd/shop"]


@pytest.mark.parametrize(
    ("file", "is_touched"),
    [("charts/base/values.yaml", True), ("charts/other/values.yaml", False), ("apps/shop/values.yaml", True)],
)
def test_a_chart_that_cannot_be_rendered_is_unknown_if_its_files_change(
    tmp_path: Path, file: str, is_touched: bool
) -> None:
    """Its remote dependency is not in the cache; what it uses from the repository is followed."""
    chart = "apiVersion: v2\nversion: 1.0.0\n"
    used = """\
dependencies:
- {name: base, repository: "file://../../charts/base", version: 1.0.0}
- {name: redis, repository: "https://charts.example.org", version: 1.0.0}
"""
    shop = Shop(tmp_path / "shop")
    shop.commit(
        {
            "apps/shop/Chart.yaml": f"{chart}name: shop\n{used}",
            "charts/base/Chart.yaml": f"{chart}name: base\n",
        }
    )
    shop.git("branch", "-f", "main", "HEAD")
    shop.commit({file: "a: 1\n"})
    plan = planned_changes(shop)
    assert [app.verdict for app in plan.apps] == ([Verdict.UNKNOWN] if is_touched else [])


@pytest.mark.parametrize(("replicas", "verdict"), [(1, Verdict.PASS), (2, Verdict.DELETE)])
def test_replicas_that_an_autoscaler_has_changed(tmp_path: Path, replicas: int, verdict: Verdict) -> None:
    """Any sync sets them back; that is due to the commit only if it changes the Deployment."""
    scaled = HPA.replace("minReplicas: 2", "minReplicas: 3")
    shop = Shop(tmp_path / "shop", base={"hpa.yaml": scaled})
    shop.put("deployment.yaml", DEPLOYMENT.replace("replicas: 2", "replicas: 1"))
    shop.commit({"x": ""})
    shop.git("branch", "-f", "main", "HEAD")
    shop.put("config.yaml", CONFIG.replace("hello", "goodbye"))
    shop.put("deployment.yaml", DEPLOYMENT.replace("replicas: 2", f"replicas: {replicas}"))
    assert only_app(planned_changes(shop)).verdict is verdict


def without_final_states(plan: Plan) -> list[AppPlan]:
    return [replace(app, runs=tuple(replace(run, snapshot=None) for run in app.runs)) for app in plan.apps]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="one process on this platform")
def test_many_apps_give_the_same_plan_on_one_core_and_on_all(tmp_path: Path) -> None:
    """Some pass, some fail, and the trials of fixes are those of the apps that fail."""
    shop = Shop(tmp_path / "shop")
    for number in range(14):
        app = APP.replace("name: shop,", f"name: a{number},").replace("apps/shop", f"apps/a{number}")
        broken = DEPLOYMENT.replace("{app: shop}}\n    spec", "{app: other}}\n    spec")
        manifest = DEPLOYMENT if number % 2 else broken
        shop.commit({f"argocd/a{number}.yaml": app, f"apps/a{number}/web.yaml": manifest})
    cores = os.sched_getaffinity(0)
    plans: list[Plan] = []
    found: list[set[tuple[str, str]]] = []
    done: list[str] = []
    try:
        for chosen in ({min(cores)}, cores):
            os.sched_setaffinity(0, chosen)
            trials: dict[tuple[str, str], Trial] = {}
            with open_checkout(str(shop.folder), base="main") as checkout:
                plans.append(plan(checkout, trials=trials, progress=lambda text, _: done.append(text)))
            found.append(set(trials))
    finally:
        os.sched_setaffinity(0, cores)
    assert without_final_states(plans[0]) == without_final_states(plans[1])
    assert {app.verdict for app in plans[0].apps} == {Verdict.PASS, Verdict.FAIL}
    assert found == [{app.key for app in plans[0].apps if app.verdict is Verdict.FAIL}] * 2
    assert done[-1] == "simulating apps: 14 of 14"


STATEFUL_SET = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: shop
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: "db:1"}]}}
  volumeClaimTemplates:
    - {metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
"""


@pytest.mark.parametrize(
    ("text", "verdict"),
    [(STATEFUL_SET, Verdict.DELETE), (STATEFUL_SET.replace(": Delete}", ": Retain}"), Verdict.PASS)],
)
def test_claims_that_are_deleted_with_their_stateful_set(tmp_path: Path, text: str, verdict: Verdict) -> None:
    shop = Shop(tmp_path / "shop", base={"db.yaml": text})
    shop.remove("db.yaml")
    assert only_app(planned_changes(shop)).verdict is verdict


def test_a_deletion_is_stated_once(tmp_path: Path) -> None:
    uses = DEPLOYMENT.replace("image: ", "envFrom: [{configMapRef: {name: shop}}], image: ")
    shop = Shop(tmp_path / "shop", base={"deployment.yaml": uses})
    shop.remove("config.yaml")
    safety = only_app(planned_changes(shop)).safety
    assert safety is not None
    assert [reason.text for reason in safety.reasons] == [
        "it deletes ConfigMap shop/shop: Deployment shop still uses it"
    ]


@pytest.mark.parametrize(
    ("source", "changed", "verdict"),
    [
        ("path: 'envs/${env}'", "envs/dev/config.yaml", Verdict.UNKNOWN),
        ("path: 'envs/${env}'", "docs/config.yaml", Verdict.PASS),
        ("path: apps/shop, repoURL: '<REPO>'", "apps/shop/config.yaml", Verdict.UNKNOWN),
        ("path: apps/shop, repoURL: '<REPO>'", "docs/config.yaml", Verdict.PASS),
    ],
)
def test_a_placeholder_may_mean_the_files_that_change(
    tmp_path: Path, source: str, changed: str, verdict: Verdict
) -> None:
    """A path or a repository that is filled in later may be the one of the commit."""
    (line,) = [line for line in APP.splitlines() if "source:" in line]
    (url,) = [part for part in line.split(", ") if "repoURL" in part]
    used = source if "repoURL" in source else f"{source}, {url.partition('{')[2]}"
    shop = Shop(tmp_path / "shop")
    shop.commit({"argocd/shop.yaml": APP.replace(line, f"  source: {{{used}, targetRevision: main}}")})
    shop.git("branch", "-f", "main")
    shop.commit({changed: CONFIG.replace("hello", "bye")})
    assert planned_changes(shop).verdict is verdict


def test_an_application_whose_file_is_broken_does_not_leave_git(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.commit({"argocd/shop.yaml": APP.replace("spec:", "spec: [")})
    result = planned_changes(shop)
    assert (result.verdict, result.apps) == (Verdict.UNKNOWN, ())
    assert result.not_planned[0].startswith("the Applications in argocd/shop.yaml are not known: ")


ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: {kind}
metadata: {{name: reader}}
rules: []
"""
BINDING = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: readers}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: {kind}, name: reader}}
"""


@pytest.mark.parametrize("kind", ["Role", "ClusterRole"])
def test_a_role_that_a_binding_still_names(tmp_path: Path, kind: str) -> None:
    files = {"role.yaml": ROLE.format(kind=kind), "binding.yaml": BINDING.format(kind=kind)}
    shop = Shop(tmp_path / "shop", base=files)
    shop.remove("role.yaml")
    app = only_app(planned_changes(shop))
    assert app.verdict is Verdict.DELETE
    assert of(app, kind).risk == "RoleBinding readers still uses it"


def test_an_app_of_which_nothing_is_left_does_not_pass(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.remove("service.yaml")
    shop.remove("config.yaml")
    shop.git("mv", "apps/shop/deployment.yaml", "apps/shop/deployment.txt")
    app = only_app(planned_changes(shop))
    assert app.verdict is Verdict.DELETE
    assert app.safety is not None
    assert "everything that the app has" in app.safety.reasons[0].text


def test_a_new_destination_leaves_the_objects_in_the_old_cluster(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.commit({"argocd/shop.yaml": APP.replace("https://kubernetes.default.svc", "https://other:6443")})
    app = only_app(planned_changes(shop))
    assert [run.cluster for run in app.runs] == [PlannedCluster.EMPTY]
    assert "what it deployed to the old cluster stays there" in app.notes[0]
    assert {change.sort for change in app.changes} == {ChangeKind.CREATE, ChangeKind.KEEP}
    assert app.verdict is Verdict.PASS


def test_whether_data_moves_to_a_new_cluster_is_not_known(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop", base={"claim.yaml": CLAIM})
    shop.commit({"argocd/shop.yaml": APP.replace("https://kubernetes.default.svc", "https://other:6443")})
    app = only_app(planned_changes(shop))
    assert app.verdict is Verdict.UNKNOWN
    assert [gap.what for gap in app.unseen] == ["the data of PersistentVolumeClaim data"]


def test_a_new_namespace_deletes_the_objects_in_the_old_one(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop", base={"claim.yaml": CLAIM})
    shop.commit({"argocd/shop.yaml": APP.replace("namespace: shop}", "namespace: store}")})
    app = only_app(planned_changes(shop))
    claim = next(
        change
        for change in app.changes
        if change.sort is ChangeKind.PRUNE and change.ref.kind == "PersistentVolumeClaim"
    )
    assert claim.ref.namespace == "shop"
    assert app.verdict is Verdict.DELETE
