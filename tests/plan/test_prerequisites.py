"""What a commit does not bring: what is taken to be there, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from tests.plan.shop import APP, CONFIG, DEPLOYMENT, HOOK, SECRET, Shop
from tests.plan.test_plan import only_app, planned_changes
from whysync.json_tree import fields
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.plan.plan import Verdict

NEEDY = DEPLOYMENT.replace(
    'image: "shop:1.0"',
    'image: "shop:1.0", env: [{name: A, valueFrom: {secretKeyRef: {name: db, key: url}}}]',
)
EXTERNAL = """\
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: db}
spec: {secretStoreRef: {name: vault, kind: ClusterSecretStore}, target: {name: db}}
"""


def test_a_secret_that_the_base_needs_is_there(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop", base={"deployment.yaml": NEEDY})
    shop.put("deployment.yaml", NEEDY.replace("shop:1.0", "shop:1.1"))
    app = only_app(planned_changes(shop))
    assert [run.passed for run in app.runs] == [True, True]
    assert "Secret db is assumed to exist" in map(str, app.runs[-1].assumptions)


def test_of_one_that_the_commit_names_first_nothing_is_known(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.put("deployment.yaml", NEEDY)
    app = only_app(planned_changes(shop))
    assert [run.passed for run in app.runs] == [True, True]
    assert [gap.what for gap in app.unseen] == ["Secret db"]
    assert app.verdict is Verdict.UNKNOWN


def test_a_name_that_is_nearly_that_of_a_secret_in_git_is_a_mistake(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop", base={"secret.yaml": SECRET.replace("old-token", "payments-api")})
    shop.put("deployment.yaml", NEEDY.replace("name: db", "name: payment-api"))
    assert only_app(planned_changes(shop)).verdict is Verdict.FAIL


@pytest.mark.parametrize("name", ["payments-db", "payment-api-2", "payments-apm", "api"])
def test_a_name_with_another_part_is_no_mistake(tmp_path: Path, name: str) -> None:
    shop = Shop(tmp_path / "shop", base={"secret.yaml": SECRET.replace("old-token", "payments-api")})
    shop.put("deployment.yaml", NEEDY.replace("name: db", f"name: {name}"))
    assert only_app(planned_changes(shop)).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("kind", "needed"),
    [
        ("ConfigMap", "env: [{name: A, valueFrom: {configMapKeyRef: {name: db, key: url}}}]"),
        ("ConfigMap", "envFrom: [{configMapRef: {name: db}}]"),
        ("PersistentVolumeClaim", "volumes: [{name: a, persistentVolumeClaim: {claimName: db}}]"),
        ("ServiceAccount", "serviceAccountName: db"),
        ("ConfigMap", "volumes: [{name: a, projected: {sources: [{configMap: {name: db}}]}}]"),
    ],
)
def test_of_other_objects_that_git_lacks_nothing_is_known_either(
    tmp_path: Path, kind: str, needed: str
) -> None:
    """Terraform, a person or the cloud may create them."""
    shop = Shop(tmp_path / "shop")
    shop.put("deployment.yaml", _needing(needed))
    app = only_app(planned_changes(shop))
    assert [run.passed for run in app.runs] == [True, True]
    assert [gap.what for gap in app.unseen] == [f"{kind} db"]
    assert app.verdict is Verdict.UNKNOWN


def test_an_object_in_a_file_that_is_not_rendered_is_missing(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.put("deployment.yaml", _needing("envFrom: [{configMapRef: {name: db}}]"))
    shop.commit({"apps/shop/unused/db.yaml": CONFIG.replace("name: shop", "name: db")})
    assert only_app(planned_changes(shop)).verdict is Verdict.FAIL


def test_unless_another_app_that_cannot_be_rendered_may_deploy_it(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.put("deployment.yaml", _needing("envFrom: [{configMapRef: {name: db}}]"))
    source = '{repoURL: "https://git.example.org/team/shop.git", path: apps/shop, targetRevision: main}'
    chart = '{repoURL: "https://charts.example.org", chart: db, targetRevision: 1.0.0}'
    folder = source.replace("apps/shop", "apps/shop/unused")
    other = APP.replace("name: shop,", "name: db,").replace(
        f"source: {source}", f"sources: [{chart}, {folder}]"
    )
    shop.commit(
        {"apps/shop/unused/db.yaml": CONFIG.replace("name: shop", "name: db"), "argocd/db.yaml": other}
    )
    assert {app.name: app.verdict for app in planned_changes(shop).apps} == {
        "argocd/shop": Verdict.UNKNOWN,
        "argocd/db": Verdict.UNKNOWN,
    }


def _needing(needed: str) -> str:
    in_container = needed.startswith("env")
    before = 'image: "shop:1.0"' if in_container else "containers:"
    after = f"{before}, {needed}" if in_container else f"{needed}\n      {before}"
    return DEPLOYMENT.replace(before, after)


def test_but_an_operator_may_make_it(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.put("deployment.yaml", NEEDY)
    shop.put("secret.yaml", EXTERNAL)
    app = only_app(planned_changes(shop))
    assert [run.passed for run in app.runs] == [True, True]
    assert "the operator of ExternalSecret is assumed to work" in map(str, app.runs[-1].assumptions)


def test_kinds_of_argo_that_are_not_argo_cds(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.put(
        "rollout.yaml", "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: r}\nspec: {}\n"
    )
    app = only_app(planned_changes(shop))
    assert [run.passed for run in app.runs] == [True, True]


def test_a_hook_without_a_name(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.put(
        "hook.yaml", HOOK.replace("  name: smoke-test\n", "  generateName: smoke-\n").replace("Pre", "Post")
    )
    app = only_app(planned_changes(shop))
    assert app.passed
    assert [change.ref.name for change in app.changes] == ["smoke-…"]


def test_kinds_of_an_old_group_are_not_taken_for_custom_ones(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    spec = "spec: {backend: {serviceName: shop, servicePort: 80}}"
    shop.put(
        "ingress.yaml", f"apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {{name: i}}\n{spec}\n"
    )
    app = only_app(planned_changes(shop))
    assert [run.passed for run in app.runs] == [False, False]
    assert "extensions/v1beta1" in app.runs[0].message


_POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: policy}
webhooks:
- name: policy.example.com
  failurePolicy: Fail
  clientConfig: {service: {namespace: policy, name: policy}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
---
apiVersion: v1
kind: Service
metadata: {name: policy, namespace: policy}
spec: {ports: [{port: 443}], clusterIP: 10.96.0.9}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: policy-1, namespace: policy, labels: {kubernetes.io/service-name: policy}}
addressType: IPv4
endpoints: [{addresses: [10.0.0.9], conditions: {ready: false}}]
"""
_ALONE = _POLICY.partition("---")[0]


@pytest.mark.parametrize(
    ("facts", "fails"),
    [
        (_POLICY, True),
        (_POLICY.replace("ready: false", "ready: true"), False),
        (_ALONE, False),
        (_ALONE.replace("service: {namespace: policy, name: policy}", "url: https://localhost:9/"), True),
    ],
    ids=["nobody is ready", "somebody is", "nothing is known", "a closed port"],
)
def test_webhooks_of_the_facts(tmp_path: Path, facts: str, fails: bool) -> None:
    shop = Shop(tmp_path / "shop")
    shop.git("checkout", "-q", "main")
    root = shop.git("commit-tree", "-m", "empty", shop.git("hash-object", "-t", "tree", "/dev/null"))
    live = only_app(planned_changes(shop, base=root)).runs[-1].snapshot
    assert live is not None
    webhooks = [Manifest(fields(document), role=Role.LIVE) for document in yaml.safe_load_all(facts)]
    live = replace(live, live=(*live.live, *webhooks))
    shop.put("config.yaml", CONFIG.replace("hello", "good day"))
    now, empty = only_app(planned_changes(shop, base="main", live=live)).runs
    assert empty.passed
    assert now.passed is not fails, now.message
    assert ("failed calling webhook" in now.message) is fails
