"""`whysync serve --config`: from a bundle to a message, and the hook; mistakes in the file."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.cli.running import Whysync, small_environment
from tests.notifications.receiver import Receiver, receiver
from tests.situations import ROOT
from whysync.json_tree import fields

EXAMPLE = ROOT / "examples/autoscaler-loop"
SECRET = "a-long-secret-of-the-hook"


@contextmanager
def serving(config: Path, folder: Path, **environ: str) -> Generator[str]:
    """The address of a `whysync serve` process."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "whysync", "serve", "--bundle", str(EXAMPLE), "--no-proof"),
            *("--listen", "127.0.0.1:0", "--db", str(folder / "history.db"), "--config", str(config)),
        ],
        cwd=ROOT,
        env=small_environment(environ),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        match = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert match, line + process.stderr.read()
        yield match[0]
    finally:
        process.terminate()
        process.wait(30)
        process.stderr.close()


def configured(folder: Path, server: Receiver) -> Path:
    file = folder / "whysync.yaml"
    file.write_text(
        f"""
version: 1
link: https://whysync.example.com
notifications:
  channels: [{{name: it, webhook: {{url: '{server.url}/x'}}}}]
  routes: [{{channels: [it]}}]
hooks: {{argocd: {{secretFrom: {{env: HOOK_SECRET}}}}}}
"""
    )
    return file


def test_a_broken_app_is_told_once_also_after_a_restart(tmp_path: Path) -> None:
    with receiver() as server:
        config = configured(tmp_path, server)
        told = threading.Event()
        server.on_request = told.set
        with serving(config, tmp_path, HOOK_SECRET=SECRET) as url:
            assert told.wait(120)
            for given, status in (("wrong", 401), (SECRET, 202)):
                answer = httpx2.post(
                    f"{url}/api/v1/hooks/argocd",
                    headers={"Authorization": f"Bearer {given}"},
                    content=b'{"app": "my-api-service"}',
                )
                assert answer.status_code == status
        with serving(config, tmp_path, HOOK_SECRET=SECRET) as url:
            page = httpx2.get(f"{url}/metrics").text
        assert "whysync_build_info" in page
        (request,) = server.received
        body = fields(request.body)
        assert body["what"] == "autoscaler-loop/my-api-service is broken: controller-owned (warning)"
        assert "HorizontalPodAutoscaler" in str(body["why"])


class TestCheckConfig:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        return tmp_path / "whysync.yaml"

    def test_no_mistakes(self, whysync: Whysync, file: Path) -> None:
        file.write_text("version: 1\n")
        result = whysync("serve", "--check-config", str(file))
        assert (result.code, result.out) == (0, f"{file}: no mistakes\n")

    def test_mistakes_with_their_lines(self, whysync: Whysync, file: Path) -> None:
        file.write_text("version: 1\nlnik: x\nretention: {incidentDays: many}\n")
        result = whysync("serve", "--check-config", str(file))
        assert result.code == 2
        assert result.out.splitlines() == [
            f"{file}: line 2: lnik: unknown field; did you mean link?",
            f"{file}: line 3: retention.incidentDays: it must be a number, not text",
        ]

    def test_a_server_does_not_start_with_mistakes(self, whysync: Whysync, file: Path) -> None:
        file.write_text("version: 7\n")
        result = whysync("serve", "--bundle", str(EXAMPLE), "--config", str(file))
        assert result.code == 2
        assert "line 1: version: it must be 1" in result.err

    def test_flags_do_not_mix_with_the_instances_of_the_file(self, whysync: Whysync, file: Path) -> None:
        file.write_text(f"version: 1\ninstances: [{{name: files, bundle: {EXAMPLE}}}]\n")
        result = whysync("serve", "--config", str(file), "--bundle", str(EXAMPLE))
        assert result.code == 2
        assert "lists the instances to watch" in result.err

    def test_a_missing_file(self, whysync: Whysync) -> None:
        assert whysync("serve", "--check-config", "/nowhere/whysync.yaml").code == 2

    def test_the_variable_of_argocds_config_is_another_one(self, whysync: Whysync, file: Path) -> None:
        """WHYSYNC_CONFIG is the file of argocd for every other command."""
        file.write_text("version: 1\n")
        result = whysync("serve", "--check-config", str(file), WHYSYNC_CONFIG="/nowhere")
        assert result.code == 0
