"""`whysync plan --live` of a place that answers: Argo CD's API, a cluster, both; asked as diagnose asks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.cli.running import Ran, Whysync
from tests.facts.argocd_api.scenes import application
from tests.facts.argocd_api.server import ArgoCD, Fault, at
from tests.facts.kubernetes_api.fake_api import kubeconfig
from tests.facts.kubernetes_api.reading import serving
from tests.facts.test_three_sources import Cluster
from tests.plan.shop import APP, CONFIG, HOOK, PASSWORD, SECRET, Shop
from whysync.facts.snapshot import Snapshot
from whysync.plan.checkout import open_checkout
from whysync.plan.planner import plan

TROUBLED = application("other", sync="OutOfSync", health="Degraded")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """The shop needs its Service before the sync: it exists already, but not on an empty cluster."""
    repo = Shop(tmp_path / "shop", base={"secret.yaml": SECRET})
    monkeypatch.chdir(repo.folder)
    return repo


@pytest.fixture
def deployed(shop: Shop) -> Snapshot:
    """The base, as it runs; beside it an app in trouble that the commit does not touch."""
    empty = shop.git("commit-tree", "-m", "x", shop.git("hash-object", "-t", "tree", "/dev/null"))
    with open_checkout(str(shop.folder), base=empty) as checkout:
        snapshot = plan(checkout, keep=True).apps[0].runs[-1].snapshot
    assert snapshot is not None
    shop.put("hook.yaml", HOOK)
    return replace(snapshot, applications=(*snapshot.applications, TROUBLED))


@pytest.fixture
def argocd(deployed: Snapshot) -> Iterator[ArgoCD]:
    with ArgoCD(deployed) as server:
        yield server


@pytest.fixture
def cluster(deployed: Snapshot, tmp_path: Path) -> Iterator[str]:
    with serving(Cluster(deployed)) as server:
        yield str(kubeconfig(tmp_path, server.url))


def _secrets(plural: str, _namespace: str) -> bool:
    return plural == "secrets"


def would_pass_there(ran: Ran) -> None:
    flat = " ".join(ran.out.split())
    assert (ran.code, ran.err) == (1, ""), ran
    assert "on the cluster as it is now would pass" in flat
    assert "on an empty cluster would fail" in flat
    assert PASSWORD not in ran.out


class TestArgoCD:
    def test_only_what_changes_is_asked_about(self, whysync: Whysync, argocd: ArgoCD) -> None:
        would_pass_there(whysync("plan", "--base", "main", "--live", *at(argocd), "--no-proof"))
        assert argocd.request_count("/applications/shop/managed-resources") == 1
        assert argocd.request_count("/applications/other") == 0

    def test_nothing_changes_and_nothing_is_asked(self, whysync: Whysync, shop: Shop, argocd: ArgoCD) -> None:
        shop.remove("hook.yaml")
        result = whysync("plan", "--base", "main", "--live", *at(argocd))
        assert result.code == 0
        assert argocd.request_count("managed-resources") == 0

    def test_a_flag_that_names_a_place_is_enough(self, whysync: Whysync, argocd: ArgoCD) -> None:
        would_pass_there(whysync("plan", "shop", "--base", "main", *at(argocd), "--no-proof"))

    def test_a_refresh_is_asked_of_what_changes_alone(self, whysync: Whysync, argocd: ArgoCD) -> None:
        would_pass_there(whysync("plan", "--base", "main", *at(argocd), "--refresh", "--no-proof"))
        assert argocd.request_count("refresh=normal") == 1
        assert argocd.request_count("/applications/other") == 0

    def test_not_with_empty(self, whysync: Whysync, argocd: ArgoCD) -> None:
        result = whysync("plan", "--base", "main", *at(argocd), "--empty", "--no-proof")
        assert "on the cluster as it is now" not in result.out
        assert argocd.log == []

    def test_an_app_that_only_argocd_knows(self, whysync: Whysync, shop: Shop, argocd: ArgoCD) -> None:
        shop.commit({"argocd/shop.yaml": "{}"})
        shop.git("branch", "-f", "main")
        shop.put("config.yaml", CONFIG.replace("hello", "bye"))
        result = whysync("plan", "--base", "main", "--live", *at(argocd), "--no-proof")
        assert "on the cluster as it is now" in result.out

    def test_a_new_app_is_on_no_cluster(self, whysync: Whysync, shop: Shop, argocd: ArgoCD) -> None:
        new = APP.replace("name: shop", "name: new").replace("apps/shop", "apps/new")
        shop.commit({"argocd/new.yaml": new, "apps/new/a.yaml": CONFIG})
        result = whysync("plan", "new", "--base", "main", "--live", *at(argocd))
        assert result.code == 0
        assert "it is planned as a new one" in " ".join(result.out.split())
        assert argocd.request_count("/applications/new") == 0

    def test_what_cannot_be_read_is_named(self, whysync: Whysync, shop: Shop, argocd: ArgoCD) -> None:
        """It would pass, as far as can be seen: that is not the same as passing."""
        shop.remove("hook.yaml")
        shop.put("config.yaml", CONFIG.replace("hello", "bye"))
        argocd.fault("/managed-resources|/resource-tree|/resource[?]", Fault.FORBIDDEN)
        result = whysync("plan", "--base", "main", "--live", *at(argocd), "--no-proof")
        flat = " ".join(result.out.split())
        assert "Unknown. shop: live objects and their diff of argocd/shop: " in flat
        assert "permission denied" in flat
        assert result.code == 3, result.out
        document = json.loads(whysync("plan", "--base", "main", *at(argocd), "--no-proof", "-o", "json").out)
        assert any("permission denied" in gap["why"] for gap in document["plan"]["apps"][0]["gaps"])

    @pytest.mark.parametrize("fault", [Fault.FORBIDDEN, Fault.UNAUTHENTICATED, Fault.A_PAGE])
    def test_errors_are_those_of_diagnose(self, whysync: Whysync, argocd: ArgoCD, fault: Fault) -> None:
        argocd.fault("/api/v1/applications", fault)
        ran, other = (
            whysync("plan", "--base", "main", "--live", *at(argocd)),
            whysync("diagnose", *at(argocd)),
        )
        assert (ran.code, ran.out, ran.err) == (2, "", other.err)


class TestCluster:
    def test_with_a_kubeconfig_alone(self, whysync: Whysync, cluster: str) -> None:
        flags = ("--kubeconfig", cluster, "--argocd-namespace", "argocd")
        would_pass_there(whysync("plan", "--base", "main", "--live", *flags, "--no-proof"))

    @pytest.mark.parametrize("flags", [(), ("--core",), ("--context", "real")])
    def test_of_the_environment(self, whysync: Whysync, cluster: str, flags: tuple[str, ...]) -> None:
        result = whysync(
            "plan", "--base", "main", "--live", *flags, "--argocd-namespace", "argocd", "--no-proof",
            KUBECONFIG=cluster,
        )  # fmt: skip
        would_pass_there(result)

    def test_argocd_and_the_cluster(self, whysync: Whysync, argocd: ArgoCD, cluster: str) -> None:
        flags = (*at(argocd), "--kubeconfig", cluster, "--argocd-namespace", "argocd")
        would_pass_there(whysync("plan", "--base", "main", "--live", *flags, "--no-proof"))
        assert argocd.request_count("/applications/other") == 0

    def test_an_account_that_may_not_read_all(
        self, whysync: Whysync, shop: Shop, deployed: Snapshot, tmp_path: Path
    ) -> None:
        """The app is fine, so a diagnosis would not miss its Secrets; a plan goes on from them."""
        shop.remove("hook.yaml")
        shop.put("config.yaml", CONFIG.replace("hello", "bye"))
        api = Cluster(deployed)
        api.forbidden = _secrets
        with serving(api) as server:
            flags = ("--kubeconfig", str(kubeconfig(tmp_path, server.url)), "--argocd-namespace", "argocd")
            result = whysync("plan", "--base", "main", "--live", *flags, "--no-proof")
        flat = " ".join(result.out.split())
        assert result.code == 3, result
        assert "Unknown. shop: live secrets in namespace shop: forbidden" in flat

    def test_a_context_that_is_not_there(self, whysync: Whysync, cluster: str) -> None:
        flags = ("--kubeconfig", cluster, "--context", "nope")
        ran, other = whysync("plan", "--base", "main", "--live", *flags), whysync("diagnose", *flags)
        assert (ran.code, ran.err) == (2, other.err)
        assert "nope" in ran.err


@pytest.mark.usefixtures("shop")
def test_nowhere(whysync: Whysync) -> None:
    ran, other = whysync("plan", "--base", "main", "--live"), whysync("diagnose")
    assert (ran.code, ran.err) == (2, other.err)


@pytest.mark.usefixtures("shop")
def test_a_folder_of_the_checkout_is_no_bundle(whysync: Whysync) -> None:
    result = whysync("plan", "--base", "main", "--live", "apps/shop")
    assert result.code == 2
    assert "--live apps/shop was read as a bundle" in result.err
    assert "put --live after the path" in result.err
