"""A sync that fails at first: tried again as Argo CD would, where that can help."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.shop import APP, DEPLOYMENT, Shop
from whysync.plan.checkout import open_checkout
from whysync.plan.plan import AppPlan
from whysync.plan.planner import plan

_WAVE = 'annotations: {argocd.argoproj.io/sync-wave: "1"}'
_WEBHOOK = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: shop}
webhooks:
- name: shop.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {namespace: shop, name: shop, port: 80, path: /validate}}
  rules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [cronjobs]}]
"""
_JOB = f"""\
apiVersion: batch/v1
kind: CronJob
metadata: {{name: report, {_WAVE}}}
spec:
  schedule: "0 3 * * *"
  jobTemplate: {{spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: r, image: r}}]}}}}}}}}
"""
_NOBODY = 'no endpoints available for service "shop"'


def planned(tmp_path: Path, policy: str = "") -> AppPlan:
    """A policy engine with its own webhook: its pods come up together with what the webhook looks at."""
    shop = Shop(tmp_path / "shop")
    if policy:
        (shop.folder / "argocd/shop.yaml").write_text(APP.replace("automated: {prune: true}", policy))
    shop.put("webhook.yaml", _WEBHOOK)
    shop.put("deployment.yaml", DEPLOYMENT.replace("{name: shop}", f"{{name: shop, {_WAVE}}}", 1))
    shop.put("job.yaml", _JOB)
    with open_checkout(str(shop.folder), base="main") as checkout:
        (app,) = plan(checkout, on_base=False).apps
    return app


def test_what_comes_up_meanwhile_lets_the_second_try_pass(tmp_path: Path) -> None:
    (run,) = planned(tmp_path).runs
    assert run.passed, run.message
    assert any("it succeeds on attempt 2" in note and _NOBODY in note for note in run.notes), run.notes


@pytest.mark.parametrize(
    "policy", ["retry: {limit: 0}", "automated: {}\n    retry: {limit: 0}", "automated: {enabled: false}"]
)
def test_without_a_retry_it_fails(tmp_path: Path, policy: str) -> None:
    (run,) = planned(tmp_path, policy).runs
    assert not run.passed
    assert _NOBODY in run.message


def test_a_sync_that_argo_cd_does_not_start_has_no_reason(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    annotations = 'annotations: {argocd.argoproj.io/skip-reconcile: "true"}'
    app = APP.replace("namespace: argocd}", f"namespace: argocd, {annotations}}}")
    (shop.folder / "argocd/shop.yaml").write_text(app)
    with open_checkout(str(shop.folder), base="main") as checkout:
        (planned_app,) = plan(checkout, on_base=False).apps
    (run,) = planned_app.runs
    assert (run.passed, run.message) == (False, "the sync does not finish")
