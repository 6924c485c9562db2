"""docs/pipeline.md: every command in it is run, and what its YAML names is there."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs

import pytest

from tests.ci.forms import check_junit, check_sarif
from tests.ci.machine import Machine
from tests.facts.argocd_api.scenes import application, of
from tests.facts.argocd_api.server import TOKEN, ArgoCD
from tests.situations import ROOT
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.yaml import load

PAGE = (ROOT / "docs/pipeline.md").read_text()
SHELL = [
    (int(code), block) for code, block in re.findall(r"<!-- exits (\d) -->\n```sh\n(.*?)```", PAGE, re.DOTALL)
]
YAML = [fields(load(block)) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]


@pytest.fixture
def ready(machine: Machine) -> Machine:
    """With the main branch of an origin, and a pip that has nothing to do."""
    machine.shop.git("update-ref", "refs/remotes/origin/main", machine.base)
    for name in ("pip", "git"):
        real = (
            "exit 0"
            if name == "pip"
            else 'test "$1" = fetch || exec /usr/bin/env -i PATH=/usr/bin:/bin git "$@"'
        )
        (machine.bin / name).write_text(f"#!/bin/sh\n{real}\n")
        (machine.bin / name).chmod(0o755)
    return machine


@pytest.fixture
def argocd(machine: Machine) -> Iterator[ArgoCD]:
    """The app runs the commit of the checkout already."""
    app = application("shop", status={"sync": {"status": "Synced", "revision": machine.head}})
    with ArgoCD(of(app)) as server:
        yield server


def test_all_of_them_are_run() -> None:
    assert len(SHELL) == PAGE.count("```sh\n") >= 8


@pytest.mark.parametrize(("code", "block"), SHELL, ids=[block.split("\n")[0] for _, block in SHELL])
def test_a_command(ready: Machine, argocd: ArgoCD, code: int, block: str) -> None:
    given = {"ARGOCD_SERVER": argocd.url, "ARGOCD_AUTH_TOKEN": TOKEN, "ARGOCD_OPTS": "--plaintext"}
    if "--live facts.tar.gz" in block:
        assert ready.run(("whysync", "collect", "-o", "facts.tar.gz"), given).code in (0, 3)
    done = ready.run(("sh", "-e", "-c", block), given)
    assert done.code == code, done
    folder = ready.shop.folder
    for name in re.findall(r"junit=(\S+)", block):
        check_junit((folder / name).read_text())
    for name in re.findall(r"sarif=(\S+)", block):
        assert check_sarif((folder / name).read_text(), folder)
    for name in re.findall(r"(?:html|markdown)=(\S+)", block):
        assert (folder / name).stat().st_size > 100


def test_the_workflow_gives_inputs_that_there_are() -> None:
    inputs = fields(fields(load((ROOT / "action.yml").read_text()))["inputs"])
    (workflow,) = [item for item in YAML if "jobs" in item]
    steps = [fields(step) for step in items(dig(workflow, "jobs", "whysync", "steps"))]
    (own,) = [step for step in steps if text(step["uses"]).startswith("whysync/whysync@")]
    document = fields(own["with"])
    assert document.keys() <= inputs.keys()
    written = {text(document["sarif"]), text(document["html"])}
    assert written == {text(dig(step, "with", key)) for step in steps for key in ("sarif_file", "path")} - {
        ""
    }
    assert fields(workflow["permissions"])["pull-requests"] == "write"


def test_gitlab_knows_the_variables_and_the_jobs() -> None:
    jobs = fields(load((ROOT / "ci/gitlab.yml").read_text()))
    known = {name for job in jobs.values() for name in fields(fields(job).get("variables"))}
    (told,) = [fields(item["variables"]) for item in YAML if "variables" in item]
    assert told.keys() <= known
    note = _note()
    assert {text(fields(item)["job"]) for item in items(note["needs"])} <= jobs.keys()


def test_pre_commit_knows_the_hooks() -> None:
    hooks = {text(fields(item)["id"]) for item in items(load((ROOT / ".pre-commit-hooks.yaml").read_text()))}
    (told,) = [item for item in YAML if "repos" in item]
    assert {text(fields(hook)["id"]) for hook in items(dig(items(told["repos"])[0], "hooks"))} <= hooks


def test_the_note_of_gitlab(machine: Machine) -> None:
    got: list[tuple[str, str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
            got.append((self.path, self.headers["PRIVATE-TOKEN"], parse_qs(sent)["body"][0]))
            self.send_response(201)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    if machine("sh", "-c", "command -v curl").code:
        pytest.skip("there is no curl")
    (machine.shop.folder / "whysync-plan.md").write_text("## ❌ Would fail & more\n")
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        done = machine(
            "sh", "-e", "-c", "\n".join(text(item) for item in items(_note()["script"])),
            CI_API_V4_URL=f"http://127.0.0.1:{server.server_address[1]}/api/v4", CI_PROJECT_ID="3",
            CI_MERGE_REQUEST_IID="7", WHYSYNC_TOKEN="secret",
        )  # fmt: skip
        server.shutdown()
        thread.join()
    assert (done.code, done.out, done.err) == (0, "", "")
    path = "/api/v4/projects/3/merge_requests/7/notes"
    assert got == [(path, "secret", "## ❌ Would fail & more\n")]


def _note() -> Object:
    return next(fields(item["whysync-note"]) for item in YAML if "whysync-note" in item)
