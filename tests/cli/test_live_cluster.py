"""The command line with nothing but a kubeconfig, and a collection that somebody interrupts."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Whysync, small_environment
from tests.facts.argocd_api.scenes import application, of, of_lab
from tests.facts.argocd_api.server import ArgoCD, Fault, at
from tests.facts.kubernetes_api.fake_api import FakeApi, kubeconfig
from tests.facts.kubernetes_api.reading import serving
from tests.facts.kubernetes_api.world import world
from tests.facts.test_three_sources import Cluster
from tests.situations import ROOT


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """The path of a kubeconfig."""
    with serving(Cluster(of_lab("crash-loop"))) as server:
        yield str(kubeconfig(tmp_path, server.url))


@pytest.mark.parametrize(
    ("flags", "ambient"),
    [(("--kubeconfig", "{}"), False), ((), True), (("--core",), True), (("--context", "real"), True)],
)
def test_by_a_flag_or_by_the_environment(
    whysync: Whysync, cluster: str, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], ambient: bool
) -> None:
    """Flags take precedence over a server in the environment."""
    if ambient:
        monkeypatch.setenv("KUBECONFIG", cluster)
    if flags:
        monkeypatch.setenv("ARGOCD_SERVER", "argocd.example.com")
    arguments = [flag.format(cluster) for flag in flags]
    result = whysync("list", "-o", "name", "--argocd-namespace", "argocd", *arguments)
    assert (result.code, result.out, result.err) == (1, "argocd/my-api-service\n", "")


@pytest.mark.parametrize("flags", [(), ("--argocd-context", "kubernetes")])
def test_a_context_of_argocd_login_core(
    whysync: Whysync, cluster: str, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    content = {
        "current-context": "" if flags else "kubernetes",
        "contexts": [{"name": "kubernetes", "server": "kubernetes", "user": "kubernetes"}],
        "servers": [{"server": "kubernetes", "core": True}],
        "users": [{"name": "kubernetes"}],
    }
    (tmp_path / "argocd").mkdir()
    (tmp_path / "argocd/config").write_text(json.dumps(content))
    result = whysync(
        "list", "-o", "name", "--argocd-namespace", "argocd", *flags,
        KUBECONFIG=cluster, ARGOCD_CONFIG_DIR=str(tmp_path / "argocd"),
    )  # fmt: skip
    assert result.out == "argocd/my-api-service\n", result.err


def test_a_collected_bundle_gives_the_same_answer_as_the_cluster(
    whysync: Whysync, cluster: str, tmp_path: Path
) -> None:
    flags = ("--kubeconfig", cluster, "--argocd-namespace", "argocd")
    out = str(tmp_path / "out.tar.gz")
    assert whysync("collect", *flags, "-o", out).code in (0, 3)
    live, home = (
        json.loads(whysync("my-api-service", *source, "-o", "json").out)
        for source in (flags, ("--bundle", out))
    )
    assert home["apps"][0]["findings"] == live["apps"][0]["findings"]
    assert home["apps"][0]["gaps"] == live["apps"][0]["gaps"]


@pytest.mark.parametrize("core", [(), ("--core",)])
def test_a_server_and_a_kubeconfig_are_both_asked(
    whysync: Whysync, cluster: str, core: tuple[str, ...]
) -> None:
    with ArgoCD(of_lab("crash-loop")) as argocd:
        result = whysync(
            "my-api-service", *at(argocd), *core, "--kubeconfig", cluster, "--argocd-namespace", "argocd"
        )
        assert argocd.request_count("managed-resources")
    assert result.code == 1
    assert "panic" in result.out


def test_an_app_that_argo_cd_does_not_show_is_read_from_the_cluster(whysync: Whysync, cluster: str) -> None:
    """It may be in a namespace that Argo CD does not watch, or hidden from the account."""
    core = ("--core", "--kubeconfig", cluster, "--argocd-namespace", "argocd")
    with ArgoCD(of_lab("quota")) as argocd:
        alone = whysync("argocd/my-api-service", *at(argocd))
        both = whysync("argocd/my-api-service", *at(argocd), *core)
        neither = whysync("argocd/unknown", *at(argocd), *core)
    assert alone.code == 2
    assert (both.code, "panic" in both.out) == (1, True), both.err
    assert "Argo CD does not show an Application 'argocd/my-api-service'" in both.out
    assert neither.code == 2


def test_a_cluster_cannot_be_asked_to_refresh(whysync: Whysync, cluster: str) -> None:
    result = whysync("list", "--kubeconfig", cluster, "--refresh")
    assert result.code == 2
    assert "--server" in result.err


def test_an_interrupted_collection_is_gone_on_with(whysync: Whysync, tmp_path: Path) -> None:
    apps = [application(f"app-{number:02}") for number in range(30)]
    out = str(tmp_path / "out.tar.gz")
    with ArgoCD(of(*apps)) as argocd:
        argocd.fault("/applications/app-25/managed", Fault.SILENT, times=2)
        started = subprocess.Popen(
            [sys.executable, "-m", "whysync", "collect", *at(argocd), "-o", out],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=small_environment(),
        )
        argocd.wait_for("/applications/app-25/managed")
        started.send_signal(signal.SIGINT)
        _, err = started.communicate(timeout=120)
        assert (started.returncode, err) == (130, b"\ninterrupted\n")
        assert not Path(out).exists()
        argocd.log.clear()
        argocd.heal()
        result = whysync("collect", *at(argocd), "-o", out)
        assert (result.code, argocd.request_count("/managed-resources")) == (0, 10), result
    assert "resumed: 20 Applications" in result.out
    assert [path.name for path in tmp_path.iterdir()] == ["out.tar.gz"]


def test_of_several_names_one_that_may_not_be_read_is_a_gap(whysync: Whysync, tmp_path: Path) -> None:
    forbidden = FakeApi(world(), forbidden=lambda plural, ns: plural == "applications" and ns != "argocd")
    with serving(forbidden) as server:
        source = ("--kubeconfig", str(kubeconfig(tmp_path, server.url)))
        ran = whysync("argocd/web", "team-b/web", *source, "--no-proof")
        one = whysync("team-b/web", *source)
        waiting = whysync("wait", "argocd/web", "team-b/web", *source, "--timeout", "5s")
    assert (ran.code, ran.err) == (1, "")
    assert "not readable Application team-b/web: applications is forbidden" in ran.out
    assert (one.code, waiting.code) == (2, 2)
    assert "Application team-b/web is not shown" in waiting.err


@pytest.mark.parametrize(
    ("flags", "place"),
    [(("-N", "argocd", "-N", "team-b"), "in namespace team-b"), (("-A",), "in all namespaces")],
)
def test_a_list_that_is_not_complete_says_so(
    whysync: Whysync, tmp_path: Path, flags: tuple[str, ...], place: str
) -> None:
    forbidden = FakeApi(world(), forbidden=lambda plural, ns: plural == "applications" and ns != "argocd")
    with serving(forbidden) as server:
        ran = whysync("list", *flags, "--kubeconfig", str(kubeconfig(tmp_path, server.url)))
    assert "2 of 3 need attention" in ran.out
    assert f"not readable Applications {place}: applications is forbidden" in " ".join(ran.out.split())


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("quota", "ResourceQuota team-media/team-media"),
        ("limit-range", "LimitRanges of namespace team-search"),
    ],
)
def test_what_rejected_something_and_was_not_seen_is_a_gap(
    whysync: Whysync, tmp_path: Path, name: str, what: str
) -> None:
    """Argo CD's API does not show them: what they permit now is not known."""
    scene = of_lab(name)
    with ArgoCD(scene) as argocd, serving(Cluster(scene)) as server:
        cluster = ("--kubeconfig", str(kubeconfig(tmp_path, server.url)))
        reports = [
            json.loads(whysync(*flags, "--no-proof", "-o", "json").out)["apps"][0]
            for flags in (at(argocd), cluster, (*at(argocd), *cluster))
        ]
    assert [report["findings"][0]["confidence"] for report in reports] == ["medium", "high", "high"]
    gaps = [[gap["what"] for gap in report["gaps"]] for report in reports]
    assert [what in named for named in gaps] == [True, False, False]
