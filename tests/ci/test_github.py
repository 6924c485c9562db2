"""The step of action.yml, run as GitHub runs it: with files for outputs, summary and event, and its API."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Final

import pytest

from tests.ci.forms import check_sarif
from tests.ci.machine import Done, Machine
from tests.situations import ROOT
from whysync.json_tree import Object, fields

COMMAND: Final = re.compile(r"::(error|warning|notice) [^\n]*::[^\n]+")
TOKEN: Final = "ghs_of-the-tests"


class GitHub:
    """Comments of one pull request; a token that may only read is answered with 403."""

    def __init__(self) -> None:
        self.comments: list[Object] = [{"id": 1, "body": "Nice work!"}]
        self.read_only = False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(200, outer.comments if "page=1" in self.path else [])

            def do_POST(self) -> None:
                assert self.path == "/repos/team/shop/issues/7/comments"
                outer.comments.append({"id": len(outer.comments) + 1, **self._given()})

            def do_PATCH(self) -> None:
                number = int(self.path.removeprefix("/repos/team/shop/issues/comments/"))
                outer.comments[number - 1] = {"id": number, **self._given()}

            def _given(self) -> Object:
                assert self.headers["Authorization"] == f"Bearer {TOKEN}"
                document = fields(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                if outer.read_only:
                    self._answer(403, {"message": "Resource not accessible by integration"})
                    return {}
                self._answer(201, document)
                return document

            def _answer(self, status: int, body: object) -> None:
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None: ...

        self.server = HTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    @property
    def said(self) -> list[str]:
        return [str(comment.get("body")) for comment in self.comments]


@pytest.fixture
def github() -> Iterator[GitHub]:
    server = GitHub()
    thread = threading.Thread(target=server.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.server.shutdown()
    server.server.server_close()
    thread.join()


class Step:
    """With the files that GitHub gives each step."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.summary = machine.folder / "summary.md"
        self.output = machine.folder / "output"
        self.event = machine.folder / "event.json"
        self.event.write_text(json.dumps({"pull_request": {"number": 7, "base": {"sha": machine.base}}}))

    def __call__(self, **inputs: str) -> Done:
        for item in (self.summary, self.output):
            item.write_text("")
        given = {
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_OUTPUT": str(self.output),
            "GITHUB_EVENT_PATH": str(self.event),
            "GITHUB_REPOSITORY": "team/shop",
            "GITHUB_TOKEN": TOKEN,
            "LINT_ARGUMENTS": "--no-render",
            "PLAN_ARGUMENTS": "--no-proof",
        }
        return self.machine.run(("bash", str(ROOT / "ci/github.sh")), {**given, **inputs})

    @property
    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.output.read_text().splitlines())


@pytest.fixture
def step(machine: Machine) -> Step:
    return Step(machine)


def test_lint_alone(step: Step) -> None:
    done = step(LINT_PATHS="apps", LINT_SARIF="out/whysync.sarif")
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith("::error file=apps/other/wrong.yaml,line=4,title=unknown_field::")
    assert all(COMMAND.fullmatch(line) for line in done.out.splitlines())
    assert "whysync lint: 1 critical" in step.summary.read_text()
    assert step.outputs["lint"] == "1"
    assert step.outputs["plan"] == ""
    result = check_sarif(
        (step.machine.shop.folder / "out/whysync.sarif").read_text(), step.machine.shop.folder
    )
    assert [item["ruleId"] for item in result][:1] == ["unknown_field"]


def test_plan_and_lint(step: Step) -> None:
    """The base is that of the pull request, as the event tells."""
    done = step(WANT_PLAN="true", PLAN_HTML="plan.html", MARKDOWN="out/both.md")
    assert (done.code, done.err) == (1, "")
    assert "::error file=apps/shop/hook.yaml,line=2,title=whysync plan%3A would fail::shop: hook " in done.out
    assert step.outputs == {"lint": "1", "plan": "1", "markdown": "out/both.md"}
    both = (step.machine.shop.folder / "out/both.md").read_text()
    assert both == step.summary.read_text()
    assert both.startswith("## ❌ Would fail")
    assert "whysync lint: 1 warning" in both, "no Application deploys the file"
    assert f"`{step.machine.base[:7]}` → `work tree`" in both
    assert "<h1" in (step.machine.shop.folder / "plan.html").read_text()


def test_nothing_to_say(step: Step) -> None:
    step.machine.mend()
    done = step(WANT_PLAN="true", LINT_FAIL_ON="critical")
    assert (done.code, done.err) == (0, "")
    assert step.summary.read_text().startswith("## ✅ Would pass")


def test_plan_without_lint(step: Step) -> None:
    assert step(WANT_PLAN="true", WANT_LINT="false").code == 1
    assert step.outputs["lint"] == ""


def test_an_error_is_worse_than_a_finding(step: Step) -> None:
    done = step(WANT_PLAN="true", PLAN_BASE="no-such-branch")
    assert done.code == 2
    assert "--base 'no-such-branch' is no commit" in done.err
    assert step.outputs["plan"] == "2"


def test_a_shallow_checkout_gets_its_base(step: Step) -> None:
    """As actions/checkout leaves it: one commit alone."""
    there = step.machine.folder / "shallow"
    step.machine.shop.git("config", "uploadpack.allowAnySHA1InWant", "true")
    step.machine.shop.git(
        "clone", "-q", "--depth=1", "--branch=feature", f"file://{step.machine.shop.folder}", str(there)
    )
    url = "https://git.example.org/team/shop.git"
    step.machine.shop.git("-C", str(there), "remote", "set-url", "origin", url)
    step.machine.shop.git("-C", str(there), "config", f"url.file://{step.machine.shop.folder}.insteadOf", url)
    given = {"WANT_PLAN": "true", "WANT_LINT": "false", "GITHUB_EVENT_PATH": str(step.event)}
    done = step.machine.run(("bash", str(ROOT / "ci/github.sh")), given, folder=there)
    assert (done.code, done.err) == (1, "")
    assert "would fail" in done.out


def test_inputs_are_no_commands(step: Step) -> None:
    evil = "apps $(touch pwned) ;touch pwned `touch pwned`"
    done = step(LINT_PATHS=evil, LINT_FAIL_ON="warning", WANT_LINT="true", PLAN_BASE=evil)
    assert done.code == 2
    assert not (step.machine.shop.folder / "pwned").exists()


@pytest.mark.parametrize(
    ("event", "base"),
    [
        ({"pull_request": {"number": 7, "base": {"sha": "a" * 40}}}, "a" * 40),
        ({"before": "b" * 40}, "b" * 40),
        ({"before": "0" * 40}, ""),
        ({}, ""),
        ({"pull_request": None}, ""),
        ({"pull_request": {"base": []}}, ""),
        ([], ""),
    ],
)
def test_the_base_that_an_event_tells(step: Step, event: Object, base: str) -> None:
    step.event.write_text(json.dumps(event))
    script = ("python", str(ROOT / "ci/pull_request.py"), "base")
    done = step.machine.run(script, {"GITHUB_EVENT_PATH": str(step.event)})
    assert (done.code, done.out, done.err) == (0, base, "")


def test_an_event_without_a_base(step: Step) -> None:
    """Then it is where the branch parted from the main one."""
    step.event.write_text("{}")
    assert step(WANT_PLAN="true", WANT_LINT="false").code == 1


class TestComment:
    def test_one_that_is_written_anew(self, step: Step, github: GitHub) -> None:
        request = {"WANT_PLAN": "true", "WANT_COMMENT": "true", "GITHUB_API_URL": github.url}
        assert step(**request).code == 1
        assert github.said[0] == "Nice work!"
        assert github.said[1].startswith("<!-- whysync -->\n## ❌ Would fail")
        step.machine.mend()
        assert step(**request, LINT_FAIL_ON="critical").code == 0
        assert len(github.said) == 2
        assert github.said[1].startswith("<!-- whysync -->\n## ✅ Would pass")

    def test_a_fork_may_not_write(self, step: Step, github: GitHub) -> None:
        """That fails no check."""
        github.read_only = True
        step.machine.mend()
        done = step(WANT_COMMENT="true", GITHUB_API_URL=github.url, LINT_FAIL_ON="critical")
        assert done.code == 0
        assert "::warning::whysync could not comment" in done.out
        assert TOKEN not in done.out + done.err

    def test_it_fits(self, tmp_path: Path, machine: Machine, github: GitHub) -> None:
        (tmp_path / "long.md").write_text("a line\n" * 20_000)
        given = {
            "GITHUB_EVENT_PATH": str(Step(machine).event), "GITHUB_REPOSITORY": "team/shop",
            "GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": github.url,
        }  # fmt: skip
        script = (str(ROOT / "ci/pull_request.py"), "comment", str(tmp_path / "long.md"))
        assert machine.run(("python", *script), given).code == 0
        assert len(github.said[1]) <= 65_536
        assert github.said[1].endswith("see the summary of the job.\n")
