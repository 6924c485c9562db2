"""`whysync plan --live` with a kubeconfig of a real API server, on which the shop runs."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest
from msgspec.structs import replace

from suites.cluster.sources.loading import harmless, loaded
from suites.cluster.sources.real_cluster import RealCluster
from suites.cluster.sources.test_scenarios import every
from tests.cli.running import Whysync
from tests.plan.shop import HOOK, PASSWORD, SECRET, Shop
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Object, copy_object
from whysync.kubernetes.apiserver.protocol import Cluster
from whysync.plan.checkout import open_checkout
from whysync.plan.planner import plan

RULE: Object = {
    "apiGroups": ["", "apps", "argoproj.io"],
    "resources": [
        "applications",
        "appprojects",
        "configmaps",
        "services",
        "deployments",
        "replicasets",
        "pods",
    ],
    "verbs": ["get", "list"],
}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    made = Shop(tmp_path / "shop", base={"secret.yaml": SECRET})
    monkeypatch.chdir(made.folder)
    return made


@pytest.fixture
def deployed(shop: Shop) -> Snapshot:
    """The base as a model of the cluster has it after its sync."""
    empty = shop.git("commit-tree", "-m", "x", shop.git("hash-object", "-t", "tree", "/dev/null"))
    with open_checkout(str(shop.folder), base=empty) as checkout:
        snapshot = plan(checkout, keep=True).apps[0].runs[-1].snapshot
    assert snapshot is not None
    return replace(snapshot, events=())


@pytest.mark.parametrize("token", ["", "reader"])
def test_the_cluster_as_it_is(
    cluster: RealCluster,
    real: Cluster,
    shop: Shop,
    deployed: Snapshot,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    token: str,
) -> None:
    """Also with an account that may read no Secrets: what it does not see is named."""
    objects = [_in_the_clear(harmless(copy_object(item.body))) for item in every(deployed)]
    shop.put("hook.yaml", HOOK)
    with loaded(real, objects):
        given = cluster.account("reader-of-plans", [RULE]) if token else ""
        flags = (
            "--kubeconfig",
            str(cluster.kubeconfig(tmp_path, token=given)),
            "--argocd-namespace",
            "argocd",
        )
        ran = Whysync(capsys, monkeypatch)("plan", "--base", "main", "--live", *flags, "--no-proof")
    flat = " ".join(ran.out.split())
    assert (ran.code, ran.err) == (1, "")
    assert "on the cluster as it is now would pass" in flat
    assert "on an empty cluster would fail" in flat
    assert ("not known live " in flat) is bool(token)
    assert ("live Secret shop/old-token: it is in the cluster but not in the facts" in flat) is bool(token)
    assert PASSWORD not in ran.out


def _in_the_clear(body: Object) -> Object:
    """As the cluster has it: the model's snapshot is masked."""
    if body.get("kind") == "Secret":
        body["data"] = {"token": b64encode(PASSWORD.encode()).decode()}
    return body
