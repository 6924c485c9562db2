"""The command line on live sources: where the facts come from, what is shown, what is never shown."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Whysync, small_environment
from tests.clock import steady_time
from tests.facts.argocd_api.scenes import application, of, shop
from tests.facts.argocd_api.server import TOKEN, ArgoCD, Fault, at
from tests.situations import ROOT
from whysync.cli.watch import watch
from whysync.errors import SourceError


@pytest.fixture
def argocd() -> Iterator[ArgoCD]:
    with ArgoCD(shop()) as server:
        yield server


class TestVerbs:
    def test_diagnose(self, whysync: Whysync, argocd: ArgoCD) -> None:
        result = whysync("shop", *at(argocd))
        assert result.code == 1
        assert "panic: no database" in result.out

    def test_list(self, whysync: Whysync, argocd: ArgoCD) -> None:
        result = whysync("list", *at(argocd), "-o", "name")
        assert (result.code, result.err) == (1, "")
        assert result.out.split() == ["argocd/shop", "argocd/quiet"]
        assert "1 of 2 need attention" in whysync("list", *at(argocd)).out

    def test_get(self, whysync: Whysync, argocd: ArgoCD) -> None:
        result = whysync("get", "shop", *at(argocd))
        assert result.code == 0
        assert "Deployment" in result.out

    def test_diff(self, whysync: Whysync, argocd: ArgoCD) -> None:
        result = whysync("diff", "shop", *at(argocd))
        assert result.code == 1
        assert "Secret" in result.out

    def test_fix(self, whysync: Whysync, argocd: ArgoCD) -> None:
        assert whysync("fix", "shop", *at(argocd)).code in (0, 1)

    def test_health(self, whysync: Whysync, argocd: ArgoCD) -> None:
        result = whysync("health", "--app", "shop", *at(argocd), "-o", "name")
        assert result.code == 1
        assert result.out == "pod/shop/web-1\n"

    def test_an_app_that_is_not_there(self, whysync: Whysync, argocd: ArgoCD) -> None:
        result = whysync("shpo", *at(argocd))
        assert result.code == 2
        assert "does not show an Application 'shpo'" in result.err

    def test_one_that_is_not_shown_does_not_end_the_diagnosis_of_others(
        self, whysync: Whysync, argocd: ArgoCD
    ) -> None:
        result = whysync("shop", "hidden", *at(argocd), "--no-proof")
        assert (result.code, result.err) == (1, "")
        assert "panic: no database" in result.out
        assert "not readable Application hidden: Argo CD says 'permission denied'" in result.out
        assert whysync("quiet", "hidden", *at(argocd), "--no-proof").code == 3

    @pytest.mark.parametrize("verb", [("wait", "--timeout", "5s"), ("get",), ("diff",), ("fix",), ("audit",)])
    def test_other_verbs_need_all_that_are_named(
        self, whysync: Whysync, argocd: ArgoCD, verb: tuple[str, ...]
    ) -> None:
        """Whoever waits for two apps must not be told that all is well after one."""
        result = whysync(*verb, "quiet", "hidden", *at(argocd))
        assert (result.code, result.out) == (2, "")
        assert "Application hidden is not shown" in result.err
        assert "permission denied" in result.err

    def test_a_gap_is_told_and_counts(self, whysync: Whysync) -> None:
        with ArgoCD(of(application("fine"))) as argocd:
            argocd.fault("/managed-resources", Fault.FORBIDDEN)
            result = whysync("fine", *at(argocd))
        assert result.code == 3, result
        assert "permission denied" in result.out


class TestCollect:
    def test_what_is_not_shown(self, whysync: Whysync, argocd: ArgoCD, tmp_path: Path) -> None:
        result = whysync("collect", "quiet", "hidden", *at(argocd), "-o", str(tmp_path / "out"))
        assert result.code == 3
        assert "Application hidden" in (tmp_path / "out/bundle.yaml").read_text()

    def test_it_says_what_it_took(self, whysync: Whysync, argocd: ArgoCD, tmp_path: Path) -> None:
        out = str(tmp_path / "shop.tar.gz")
        result = whysync("collect", "shop", *at(argocd), "-o", out)
        assert (result.code, result.err) == (0, "")
        assert "1  Applications" in result.out
        assert f"whysync diagnose --bundle {out}" in result.out
        live, home = (
            whysync("shop", *at(argocd), "-o", "json"),
            whysync("shop", "--bundle", out, "-o", "json"),
        )
        assert json.loads(home.out) == json.loads(live.out)

    def test_what_could_not_be_had(self, whysync: Whysync, argocd: ArgoCD, tmp_path: Path) -> None:
        argocd.fault("/pods/", Fault.FORBIDDEN)
        result = whysync("collect", *at(argocd), "-o", str(tmp_path / "out"))
        assert result.code == 3
        assert "not readable" in result.out
        assert "kubectl -n shop logs web-1 -c web --previous" in result.out
        assert "permission denied" in (tmp_path / "out/bundle.yaml").read_text()

    def test_nothing_is_overwritten(self, whysync: Whysync, argocd: ArgoCD, tmp_path: Path) -> None:
        (tmp_path / "out.tar.gz").write_text("mine")
        result = whysync("collect", *at(argocd), "-o", str(tmp_path / "out.tar.gz"))
        assert result.code == 2
        assert (tmp_path / "out.tar.gz").read_text() == "mine"
        assert argocd.log == []

    def test_a_server_that_says_no_leaves_nothing_behind(self, whysync: Whysync, tmp_path: Path) -> None:
        with ArgoCD(of(application("fine"))) as argocd:
            argocd.fault("/api/v1/applications", Fault.FORBIDDEN)
            for out in ("out", "out.tar.gz"):
                assert whysync("collect", *at(argocd), "-o", str(tmp_path / out)).code == 2
        assert list(tmp_path.iterdir()) == []

    def test_an_interrupted_collection_is_resumed(self, whysync: Whysync, tmp_path: Path) -> None:
        apps = [application(f"app-{number:02}") for number in range(45)]
        out = str(tmp_path / "out")
        with ArgoCD(of(*apps)) as argocd:
            argocd.fault("/applications/app-30", Fault.UNAUTHENTICATED, times=1)
            broken = whysync("collect", *at(argocd), "-o", out)
            assert broken.code == 2
            requests_before = argocd.request_count("managed-resources")
            result = whysync("collect", *at(argocd), "-o", out)
            assert result.code == 0
            assert "resumed: 20 Applications" in result.out
            assert argocd.request_count("managed-resources") - requests_before == 25
        listed = whysync("list", "--bundle", out, "-o", "json")
        assert len(json.loads(listed.out)["apps"]) == 45


class TestSources:
    """The first that there is: the line, ARGOCD_OPTS, ARGOCD_SERVER, argocd's config, the kubeconfig."""

    def test_without_a_source_the_flags_are_suggested(self, whysync: Whysync) -> None:
        result = whysync("list")
        assert result.code == 2
        assert all(flag in result.err for flag in ("--bundle", "--server", "--kubeconfig"))

    def test_the_environment_of_argocd(self, whysync: Whysync, argocd: ArgoCD) -> None:
        result = whysync(
            "list", "-o", "name", ARGOCD_SERVER=argocd.url, ARGOCD_AUTH_TOKEN=TOKEN, ARGOCD_OPTS="--plaintext"
        )
        assert result.out.split() == ["argocd/shop", "argocd/quiet"]

    def test_options_of_argocd(self, whysync: Whysync, argocd: ArgoCD) -> None:
        opts = f"--server {argocd.url} --auth-token={TOKEN} --plaintext --grpc-web"
        assert whysync("list", "-o", "name", ARGOCD_OPTS=opts, ARGOCD_SERVER="nowhere.invalid").code == 1
        assert "ARGOCD_OPTS" in whysync("list", ARGOCD_OPTS="server x").err

    def test_our_own_variables(self, whysync: Whysync, argocd: ArgoCD) -> None:
        result = whysync(
            "list", "-o", "name", WHYSYNC_SERVER=argocd.url, WHYSYNC_AUTH_TOKEN=TOKEN, WHYSYNC_PLAINTEXT="1"
        )
        assert result.code == 1

    def test_refreshing_is_never_the_environments_wish(self, whysync: Whysync, argocd: ArgoCD) -> None:
        whysync("shop", *at(argocd), WHYSYNC_REFRESH="true", WHYSYNC_HARD_REFRESH="true")
        assert argocd.refreshed == []
        whysync("shop", *at(argocd), "--hard-refresh")
        assert argocd.refreshed == ["argocd/shop hard"]

    def test_the_config_of_argocd(self, whysync: Whysync, argocd: ArgoCD, tmp_path: Path) -> None:
        config(tmp_path, argocd.url.partition("://")[2], TOKEN)
        for flags in ((), ("--argocd-context", "here")):
            assert whysync("list", *flags, "-o", "name", ARGOCD_CONFIG_DIR=str(tmp_path)).code == 1
        result = whysync("list", "--argocd-context", "there", ARGOCD_CONFIG_DIR=str(tmp_path))
        assert "no context 'there'" in result.err
        assert whysync("list", "--config", str(tmp_path / "config"), "-o", "name").code == 1

    def test_a_token_is_for_its_own_server_only(
        self, whysync: Whysync, argocd: ArgoCD, tmp_path: Path
    ) -> None:
        """argocd itself sends the current context's token to whatever --server names."""
        config(tmp_path, "argocd.example.com", TOKEN)
        result = whysync("list", "--server", argocd.url, "--plaintext", ARGOCD_CONFIG_DIR=str(tmp_path))
        assert result.code == 2
        assert "rejects these credentials" in result.err

    def test_a_bundle_comes_first(self, whysync: Whysync, argocd: ArgoCD) -> None:
        result = whysync(
            "list", "--bundle", str(ROOT / "examples/push-not-seen"), "-o", "name", ARGOCD_SERVER=argocd.url
        )
        assert result.out.split() == ["argocd/docs"]
        assert argocd.log == []

    def test_a_kubeconfig_on_the_line_beats_argocds_config(self, whysync: Whysync, tmp_path: Path) -> None:
        config(tmp_path, "argocd.example.com", TOKEN)
        for flags in (("--kubeconfig", str(tmp_path / "none")), ("--core",)):
            result = whysync("list", *flags, ARGOCD_CONFIG_DIR=str(tmp_path))
            assert result.code == 2
            assert "argocd.example.com" not in result.err
            assert "kubeconfig" in result.err

    def test_without_tls_only_when_that_is_said(self, whysync: Whysync, argocd: ArgoCD) -> None:
        result = whysync("list", "--server", argocd.url, "--auth-token", TOKEN)
        assert "--plaintext" in result.err
        assert argocd.log == []

    def test_a_token_with_a_line_break(self, whysync: Whysync, argocd: ArgoCD) -> None:
        result = whysync("list", "--server", argocd.url, "--plaintext", "--auth-token", "ab\ncd")
        assert result.code == 2
        assert "cd" not in result.err.replace("code", "").replace("argocd", "").replace("Argo CD", "")

    def test_port_forward_needs_kubectl(self, whysync: Whysync, tmp_path: Path) -> None:
        result = whysync("list", "--port-forward", PATH=str(tmp_path))
        assert result.code == 2
        assert "needs kubectl" in result.err

    def test_port_forward(self, whysync: Whysync, argocd: ArgoCD, tmp_path: Path) -> None:
        path = forwarding_kubectl(tmp_path, argocd)
        result = whysync(
            "list", "--port-forward-namespace", "cd", "--plaintext", "--auth-token", TOKEN, "-o", "name",
            PATH=path,
        )  # fmt: skip
        assert (result.out, result.err) == ("argocd/shop\nargocd/quiet\n", "")
        text = (tmp_path / "said").read_text()
        assert "--namespace cd port-forward --address 127.0.0.1 pod/argocd-server-1 :8080" in text

    def test_the_context_of_a_login_through_a_forwarded_port(
        self, whysync: Whysync, argocd: ArgoCD, tmp_path: Path
    ) -> None:
        """`argocd login --port-forward` writes a context whose server is `port-forward`."""
        path = forwarding_kubectl(tmp_path, argocd)
        config(tmp_path, "port-forward", TOKEN)
        result = whysync("list", "-o", "name", ARGOCD_CONFIG_DIR=str(tmp_path), PATH=path)
        assert (result.out, result.err) == ("argocd/shop\nargocd/quiet\n", "")

    def test_a_forwarded_port_gets_no_token_of_another_server(
        self, whysync: Whysync, argocd: ArgoCD, tmp_path: Path
    ) -> None:
        path, flags = forwarding_kubectl(tmp_path, argocd), ("list", "-o", "name", "--port-forward")
        config(tmp_path, "argocd.example.com", TOKEN)
        result = whysync(*flags, "--plaintext", ARGOCD_CONFIG_DIR=str(tmp_path), PATH=path)
        assert result.code == 2
        assert "argocd login --port-forward" in result.err
        config(tmp_path, "argocd.example.com", "of-example", **{"port-forward": TOKEN})
        assert whysync(*flags, ARGOCD_CONFIG_DIR=str(tmp_path), PATH=path).code == 1


def forwarding_kubectl(folder: Path, argocd: ArgoCD) -> str:
    """A PATH with a kubectl that tells the port of the server of the tests."""
    kubectl, port = folder / "kubectl", argocd.url.rpartition(":")[2]
    kubectl.write_text(
        f"#!{sys.executable}\nimport sys, time\n"
        f"open({str(folder / 'said')!r}, 'a').write(' '.join(sys.argv[1:]) + chr(10))\n"
        "if 'get' in sys.argv: print('pod/argocd-server-1')\n"
        f"else: print('Forwarding from 127.0.0.1:{port} -> 8080', flush=True); time.sleep(60)\n"
    )
    kubectl.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def config(folder: Path, server: str, token: str, **others: str) -> None:
    """argocd's config file, with the context `here`; `others` are further contexts, which are not current."""
    content = {
        "current-context": "here",
        "contexts": [
            {"name": "here", "server": server, "user": "me"},
            *({"name": name, "server": name, "user": name} for name in others),
        ],
        "servers": [{"server": one, "plain-text": True} for one in (server, *others)],
        "users": [
            {"name": "me", "auth-token": token},
            *({"name": name, "auth-token": value} for name, value in others.items()),
        ],
    }
    (folder / "config").write_text(json.dumps(content))


class TestInterrupted:
    @pytest.mark.parametrize(
        ("question", "sent", "code"),
        [
            ("/api/v1/applications", signal.SIGINT, 130),
            ("/managed-resources", signal.SIGINT, 130),
            ("/pods/", signal.SIGINT, 130),
            ("/managed-resources", signal.SIGTERM, 143),
        ],
    )
    def test_a_signal_ends_it_at_once_and_quietly(
        self, argocd: ArgoCD, question: str, sent: signal.Signals, code: int
    ) -> None:
        argocd.fault(question, Fault.SILENT)
        started = subprocess.Popen(
            [sys.executable, "-m", "whysync", "shop", *at(argocd)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=small_environment(),
        )
        argocd.wait_for(question)
        started.send_signal(sent)
        out, err = started.communicate(timeout=25)  # less than the 30 s that it waits for an answer
        assert started.returncode == code
        assert (out, err) == (b"", b"\ninterrupted\n")

    def test_the_time_that_is_given(self, whysync: Whysync, argocd: ArgoCD) -> None:
        argocd.fault("/managed-resources", Fault.SILENT)
        begun = steady_time.monotonic()
        result = whysync("shop", *at(argocd), "--timeout", "1s")
        assert steady_time.monotonic() - begun < 8
        assert result.code in (1, 3)
        assert "live objects and their diff" in result.out

    def test_a_time_that_is_none(self, whysync: Whysync) -> None:
        assert "invalid duration" in whysync("list", "--timeout", "soon").err


class TestWatching:
    def test_only_what_is_new_is_told(self, capsys: pytest.CaptureFixture[str]) -> None:
        pages = iter(["one\n", "one\n", "two\n"])

        def show() -> int:
            sys.stdout.write(next(pages))
            return 1

        assert watch(show, every=5, times=3, pause=lambda _: None) == 1
        out = capsys.readouterr().out
        assert out.count("one") == 1
        assert out.endswith("two\n")

    def test_a_failure_while_watching_is_reported_and_retried(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        turns = iter([1, 0, 1])

        def show() -> int:
            if not next(turns):
                raise SourceError(what="Argo CD does not answer")
            sys.stdout.write("page\n")
            return 0

        watch(show, every=5, times=3, pause=lambda _: None)
        captured = capsys.readouterr()
        assert captured.out == "page\n"
        assert "Argo CD does not answer; retrying in 5 s" in captured.err

    def test_the_first_failure_is_an_error(self, whysync: Whysync, argocd: ArgoCD) -> None:
        argocd.fault("/api/v1/applications", Fault.FORBIDDEN)
        assert whysync("list", *at(argocd), "--watch", "1s").code == 2

    def test_it_asks_again_until_ctrl_c(self, argocd: ArgoCD) -> None:
        started = subprocess.Popen(
            [sys.executable, "-m", "whysync", "list", *at(argocd), "--watch", "0.05"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=small_environment(),
        )
        argocd.wait_for("/api/v1/applications$", 3)
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=120)
        assert (started.returncode, err) == (130, b"\ninterrupted\n")
        assert out.count(b"APP ") == 1, "what did not change is not told twice"
