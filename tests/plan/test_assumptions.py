"""What a plan assumes of the cluster, and what it does not hold against the commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.shop import APP, CLAIM, CONFIG, DEPLOYMENT, Shop
from tests.plan.test_plan import only_app, planned_changes
from whysync.plan.plan import AppPlan, PlannedCluster, Verdict
from whysync.reports.plan_summary import statements

URL = "https://git.example.org/team/shop.git"
PROJECT = """\
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: team, namespace: argocd}
spec: {sourceRepos: ["*"], destinations: [{server: "*", namespace: "*"}]}
"""
RELEASE = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \'{{ .Values.app | replace "_" "." }}\'}\n'
INGRESS = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop}
spec: {ingressClassName: traefik, defaultBackend: {service: {name: shop, port: {number: 80}}}}
"""


def new_app(tmp_path: Path, files: dict[str, str]) -> AppPlan:
    """A plan whose base does not have these files."""
    shop = Shop(tmp_path / "shop")
    for name, content in files.items():
        shop.put(name, content)
    return only_app(planned_changes(shop))


def with_pod_field(field: str) -> str:
    return DEPLOYMENT.replace("    spec:\n", f"    spec:\n      {field}\n")


@pytest.mark.parametrize(
    ("files", "assumed"),
    [
        (
            {"claim.yaml": CLAIM.replace("spec: {", "spec: {storageClassName: longhorn, ")},
            "StorageClass longhorn",
        ),
        ({"deployment.yaml": with_pod_field("priorityClassName: high")}, "PriorityClass high"),
        ({"deployment.yaml": with_pod_field("runtimeClassName: nvidia")}, "RuntimeClass nvidia"),
        ({"ingress.yaml": INGRESS}, "IngressClass traefik"),
    ],
)
def test_classes_that_the_app_names_exist(tmp_path: Path, files: dict[str, str], assumed: str) -> None:
    app = new_app(tmp_path, files)
    assert app.verdict is Verdict.PASS
    assert f"{assumed} is assumed to exist" in map(str, app.runs[-1].assumptions)


def test_an_ingress_without_a_class_gets_the_default_one(tmp_path: Path) -> None:
    plain = INGRESS.replace("ingressClassName: traefik, ", "").replace("{name: shop}", "{name: plain}", 1)
    app = new_app(tmp_path, {"ingress.yaml": INGRESS, "plain.yaml": plain})
    assert app.verdict is Verdict.PASS
    assert "IngressClass default is assumed to exist" in map(str, app.runs[-1].assumptions)


def test_a_class_that_the_commit_removes_does_not_exist(tmp_path: Path) -> None:
    storage_class = (
        "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\nprovisioner: x\n"
    )
    claim = CLAIM.replace("spec: {", "spec: {storageClassName: fast, ")
    shop = Shop(tmp_path / "shop", base={"class.yaml": storage_class, "claim.yaml": claim})
    shop.remove("class.yaml")
    app = only_app(planned_changes(shop))
    assert not app.runs[-1].passed


@pytest.mark.parametrize(
    "field",
    [
        "nodeSelector: {kubernetes.io/hostname: gpu-1}",
        "nodeSelector: {disk: ssd}",
        "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        "{nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}}",
    ],
)
def test_nodes_have_the_labels_that_pods_require(tmp_path: Path, field: str) -> None:
    assert new_app(tmp_path, {"deployment.yaml": with_pod_field(field)}).verdict is Verdict.PASS


def test_nodes_for_contradicting_labels(tmp_path: Path) -> None:
    fast = with_pod_field("nodeSelector: {disk: ssd}")
    slow = with_pod_field("nodeSelector: {disk: hdd}").replace("name: shop}", "name: batch}", 1)
    assert new_app(tmp_path, {"deployment.yaml": fast, "batch.yaml": slow}).verdict is Verdict.PASS


def test_nodes_have_the_devices_and_the_room_that_pods_request(tmp_path: Path) -> None:
    wanted = DEPLOYMENT.replace("{cpu: 100m}", "{cpu: 200, memory: 1Ti, nvidia.com/gpu: 1}")
    wanted = wanted.replace("resources: {", "resources: {limits: {nvidia.com/gpu: 1}, ")
    assert new_app(tmp_path, {"deployment.yaml": wanted}).verdict is Verdict.PASS


def test_a_volume_that_a_claim_names_exists(tmp_path: Path) -> None:
    claim = CLAIM.replace("spec: {", 'spec: {storageClassName: "", volumeName: photos, ')
    app = new_app(tmp_path, {"claim.yaml": claim})
    assert app.verdict is Verdict.PASS
    assert "PersistentVolume photos is assumed to exist" in map(str, app.runs[-1].assumptions)


def test_argo_cds_own_kinds_are_served(tmp_path: Path) -> None:
    app = new_app(tmp_path, {"project.yaml": PROJECT})
    assert app.verdict is Verdict.PASS
    assert not any(assumption.of == "AppProject" for run in app.runs for assumption in run.assumptions)


def test_a_config_map_of_another_app_exists(tmp_path: Path) -> None:
    uses = DEPLOYMENT.replace("image: ", "envFrom: [{configMapRef: {name: shared}}], image: ")
    other = APP.replace("name: shop,", "name: other,").replace("apps/shop", "apps/other")
    shop = Shop(tmp_path / "shop")
    shop.commit(
        {"argocd/other.yaml": other, "apps/other/a.yaml": CONFIG.replace("name: shop", "name: shared")}
    )
    shop.git("branch", "-f", "main")
    shop.put("deployment.yaml", uses)
    assert planned_changes(shop).verdict is Verdict.PASS
    shop.put("deployment.yaml", uses.replace("name: shared", "name: share"))
    assert planned_changes(shop).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    "resource",
    [
        "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: db}\nspec: {instances: 1}\n",
        "apiVersion: secrets.hashicorp.com/v1beta1\nkind: VaultStaticSecret\nmetadata: {name: v}\n"
        "spec: {destination: {name: db-app, create: true}}\n",
    ],
)
def test_an_operator_creates_the_secret(tmp_path: Path, resource: str) -> None:
    uses = DEPLOYMENT.replace("image: ", "envFrom: [{secretRef: {name: db-app}}], image: ")
    app = new_app(tmp_path, {"deployment.yaml": uses, "resource.yaml": resource})
    assert app.verdict is Verdict.PASS


def test_the_base_fails_too(tmp_path: Path) -> None:
    """The commit is compared with what the base leaves in the cluster; its own failure is another matter."""
    wrong = "apiVersion: v1\nkind: Service\nmetadata: {name: wrong}\nspec: {ports: [{port: 0}]}\n"
    shop = Shop(tmp_path / "shop", base={"wrong.yaml": wrong})
    shop.put("deployment.yaml", DEPLOYMENT.replace("app: shop", "app: store"))
    app = only_app(planned_changes(shop))
    based, empty = app.runs
    assert (based.cluster, empty.cluster) == (PlannedCluster.BASE, PlannedCluster.EMPTY)
    assert (empty.passed, empty.fails_as_base) == (False, True)
    failed = {item.ref.kind for step in based.steps for item in step.items if "immutable" in item.note}
    assert failed == {"Deployment"}
    assert app.decisive is based


def test_a_failure_of_the_base_makes_the_result_unknown(tmp_path: Path) -> None:
    """Not the commit fails the sync, but its changes may never be applied either: it does not just pass."""
    wrong = "apiVersion: v1\nkind: Service\nmetadata: {name: wrong}\nspec: {ports: [{port: 0}]}\n"
    shop = Shop(tmp_path / "shop", base={"wrong.yaml": wrong})
    shop.put("deployment.yaml", DEPLOYMENT.replace("shop:1.0", "shop:1.1"))
    app = only_app(planned_changes(shop))
    assert [run.fails_as_base for run in app.runs] == [True, True]
    assert app.verdict is Verdict.UNKNOWN
    assert "as that of the base does" in app.unseen[0].why


def test_what_the_base_lacks_too_is_not_held_against_the_commit(tmp_path: Path) -> None:
    """On an empty cluster the wave waits for a Secret that nobody creates; it runs in the cluster."""
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {backoffLimit: 0, template: {spec: "
    job += "{restartPolicy: Never, nodeName: nowhere, containers: [{name: j, image: j}]}}}\n"
    shop = Shop(tmp_path / "shop", base={"job.yaml": job})
    shop.put("config.yaml", CONFIG.replace("hello", "bye"))
    app = only_app(planned_changes(shop))
    assert app.passed


@pytest.mark.parametrize(
    "source",
    [
        "sources: [{repoURL: https://charts.example.org, chart: redis, targetRevision: 1.0.0, helm: "
        f'{{valueFiles: [$v/values.yaml]}}}}, {{repoURL: "{URL}", targetRevision: main, ref: v}}]',
        f'source: {{repoURL: "{URL}", targetRevision: main, path: apps/charts}}',
        "source: {repoURL: https://charts.example.org, chart: redis, targetRevision: 1.0.0}",
    ],
    ids=["chart with values from Git", "helmCharts", "chart"],
)
def test_what_cannot_be_rendered_here_is_unknown(tmp_path: Path, source: str) -> None:
    (line,) = [line for line in APP.splitlines() if "source:" in line]
    remote = APP.replace(line, f"  {source}")
    shop = Shop(tmp_path / "shop")
    chart = "helmCharts: [{name: redis, repo: 'https://charts.example.org', version: 1.0.0}]\n"
    shop.commit({"argocd/new.yaml": remote.replace("name: shop", "name: new", 1)})
    shop.commit({"apps/charts/kustomization.yaml": chart, "values.yaml": "{}"})
    app = only_app(planned_changes(shop))
    assert (app.name, app.verdict) == ("argocd/new", Verdict.UNKNOWN)


@pytest.mark.parametrize(
    ("written", "placeholder"),
    [
        ("path: 'apps/${env}'", "${env}"),
        ("path: 'apps/<TEAM>'", "<TEAM>"),
        ("path: 'apps/{{ team }}'", "{{ team }}"),
        ("path: 'apps/$TEAM'", "$TEAM"),
    ],
)
def test_placeholders_are_unknown(tmp_path: Path, written: str, placeholder: str) -> None:
    """Another program replaces them: that the path does not exist is no failure."""
    shop = Shop(tmp_path / "shop")
    template = APP.replace("path: apps/shop", written)
    shop.commit({f"argocd/{name}.yaml": template.replace("name: shop,", f"name: {name},") for name in "ab"})
    plan = planned_changes(shop)
    assert [app.verdict for app in plan.apps] == [Verdict.UNKNOWN] * 2
    (statement,) = statements(plan)
    assert statement.sentence().startswith(f"a, b: placeholder {placeholder}: ")


def test_a_server_that_is_a_placeholder_is_unknown(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    app = APP.replace("name: shop,", "name: new,").replace("kubernetes.default.svc", "CLUSTER_API_SERVER")
    shop.commit({"argocd/new.yaml": app})
    (statement,) = statements(planned_changes(shop))
    assert statement.sentence().startswith("new: placeholder CLUSTER_API_SERVER: ")


def test_variables_of_argocd_are_no_placeholders(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    chart = {"Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", "templates/c.yaml": RELEASE}
    shop.commit({f"apps/chart/{name}": content for name, content in chart.items()})
    shop.commit({"apps/chart/values-new.yaml": "app: from-values"})
    helm = "helm: {valueFiles: [values-$ARGOCD_APP_NAME.yaml]}"
    app = APP.replace("path: apps/shop", f"path: apps/chart, {helm}").replace("name: shop,", "name: new,")
    shop.commit({"argocd/new.yaml": app})
    (change,) = only_app(planned_changes(shop)).changes
    assert change.ref.name == "from-values"


def test_templates_of_charts_are_not_applications(tmp_path: Path) -> None:
    """They are valid YAML if the placeholder is quoted; the app that deploys the chart renders them."""
    shop = Shop(tmp_path / "shop")
    template = APP.replace("path: apps/shop", "path: '{{ .Values.path }}'").replace(
        "name: shop,", "name: new,"
    )
    chart = {"Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", "templates/new.yaml": template}
    shop.commit({f"charts/c/{name}": content for name, content in chart.items()})
    assert planned_changes(shop).apps == ()


@pytest.mark.parametrize("empty", ["directory: {recurse: false}", "directory: {jsonnet: {}}", "helm: {}"])
def test_empty_parameters_do_not_choose_the_tool(tmp_path: Path, empty: str) -> None:
    shop = Shop(tmp_path / "shop")
    shop.put(
        "kustomization.yaml", "resources: [service.yaml, config.yaml, deployment.yaml]\nnamePrefix: x-\n"
    )
    app = APP.replace("path: apps/shop,", f"path: apps/shop, {empty},")
    (shop.folder / "argocd/shop.yaml").write_text(app)
    names = {change.ref.name for change in only_app(planned_changes(shop)).changes if not change.risk}
    assert "x-shop" in names


def test_an_app_elsewhere_has_its_namespace_in_its_name(tmp_path: Path) -> None:
    """On OpenShift, Argo CD runs in openshift-gitops; `$ARGOCD_APP_NAME` of its own apps is their name."""
    chart = {"Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", "templates/c.yaml": RELEASE}
    shop = Shop(tmp_path / "shop")
    shop.commit({f"apps/chart/{name}": content for name, content in chart.items()})
    parameters = "helm: {parameters: [{name: app, value: $ARGOCD_APP_NAME}]}"
    on_chart = APP.replace("path: apps/shop", f"path: apps/chart, {parameters}")
    on_chart = on_chart.replace("namespace: argocd", "namespace: openshift-gitops")
    other = on_chart.replace("name: shop,", "name: other,")
    foreign = other.replace("name: other, namespace: openshift-gitops", "name: foreign, namespace: team")
    shop.commit({"argocd/shop.yaml": on_chart, "argocd/other.yaml": other, "argocd/foreign.yaml": foreign})
    plan = planned_changes(shop)
    names = {app.name: [change.ref.name for change in app.changes] for app in plan.apps}
    assert names["openshift-gitops/other"] == ["other"]
    assert names["team/foreign"] == ["team.foreign"]


def test_a_cluster_with_argo_cd_has_application_sets(tmp_path: Path) -> None:
    application_set = (
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\n"
        "metadata: {name: all, namespace: argocd}\n"
        "spec: {generators: [], template: {metadata: {name: a}, spec: {}}}\n"
    )
    app = new_app(tmp_path, {"set.yaml": application_set})
    assert app.verdict is Verdict.PASS
    assert not [of for run in app.runs for of in map(str, run.assumptions) if "ApplicationSet" in of]


def test_manifests_that_the_base_cannot_render_either_are_not_held_against_the_commit(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.commit({"apps/shop/broken.yaml": f"{CONFIG}a: [\n"})
    shop.git("branch", "-f", "main")
    shop.commit({"argocd/shop.yaml": APP.replace("prune: true", "prune: false")})
    app = only_app(planned_changes(shop))
    assert (app.verdict, app.passed) == (Verdict.UNKNOWN, True)
    assert "the sync would fail, as that of the base does" in app.unseen[0].why
    shop.commit({"apps/shop/zz.yaml": f"{CONFIG}b: [\n"})
    shop.git("branch", "-f", "main")
    shop.commit({"apps/shop/broken.yaml": "---\n"})  # another file, another problem
    assert only_app(planned_changes(shop)).verdict is Verdict.FAIL
