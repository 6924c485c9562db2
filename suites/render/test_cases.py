"""Every case gives what is written down, and what the tools themselves give when they are called by hand."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from suites.render.cases import app_of, options_of, outcome, rendered
from suites.render.conftest import CASES
from tests.golden import Golden
from whysync.argocd.repo_server.render.options import RenderOptions
from whysync.argocd.repo_server.render.tools import helm, kustomize
from whysync.json_tree import Json, dig, fields, text
from whysync.kubernetes.api import yaml
from whysync.messages.failure import Unknown
from whysync.messages.parse import understand

# Their Application changes nothing, so that the bare tools must give the same.
BARE = (
    "helm-of-the-cluster",
    "kustomize-plain",
    "kustomize-odd",
    "kustomize-same-twice",
    "helm-required-value",
)
# Rare, and their texts say it all.
NOT_UNDERSTOOD = {"helm-version-two", "kustomize-version-unknown"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(
    case: Path, options: RenderOptions, jsonnet: str, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, jsonnet])
    name, told = outcome(case, options)
    other = case / ("problem.txt" if name == "expected.yaml" else "expected.yaml")
    if golden.accept:
        other.unlink(missing_ok=True)
    assert not other.exists(), told
    golden(case / name, told)


@pytest.mark.parametrize("name", BARE)
def test_the_bare_tool_gives_the_same(name: str, options: RenderOptions, tmp_path: Path) -> None:
    case = next(item for item in CASES if item.name == name)
    shutil.copytree(case / "repo", tmp_path / "repo")
    folder = tmp_path / "repo" / text(dig(app_of(case), "spec", "source", "path"))
    if name.startswith("helm"):
        result = options_of(case, options)
        apis = [flag for api_version in result.api_versions for flag in ("--api-versions", api_version)]
        version = ["--kube-version", "1.36.1"] if result.kube_version else []
        command = [
            *helm(options.tools).command,
            "template",
            ".",
            "--name-template",
            "shop",
            "--namespace",
            "prod",
        ]
        command += [*version, *apis, "--include-crds"]
    else:
        command = [*kustomize(options.tools).command, str(folder)]
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    golden_name, ours = outcome(case, options)
    if golden_name == "problem.txt":
        changed = done.stderr.strip().replace("error: ", "Error: ", 1)
        assert done.returncode != 0
        assert changed.splitlines()[-1].replace(str(tmp_path / "repo"), "<path to cached source>") in ours
        return
    assert done.returncode == 0, done.stderr
    theirs: list[Json] = [
        document.body for document in yaml.documents(done.stdout) if isinstance(document, yaml.Document)
    ]
    mine: list[Json] = [obj.body for obj in rendered(case, options).objects]
    assert mine == theirs


def test_every_problem_is_understood_by_the_ordinary_rules(options: RenderOptions) -> None:
    """The texts are the repo-server's, so that what reads those of a cluster reads these too."""
    unknown: list[str] = []
    for case in CASES:
        file = case / "problem.txt"
        result = file.read_text() if file.exists() else ""
        if not result or result.startswith("cannot: "):
            continue
        code, _, said = result.partition("\n")
        message = (
            "Failed to load target state: failed to generate manifest for source 1 of 1: "
            f"rpc error: code = {code} desc = {said.strip()}"
        )
        failures = understand(message).failures
        if not failures or all(isinstance(failure, Unknown) for failure in failures):
            unknown.append(case.name)
    assert set(unknown) <= NOT_UNDERSTOOD
    assert options.tools is not None


def test_the_application_of_each_case_is_one() -> None:
    assert all(fields(app_of(case).get("spec")).get("source") for case in CASES)
