"""A fleet costs what its apps cost, a sync what its resources cost: nothing looks through all for each.

Calls are counted, not seconds, so that a busy machine changes nothing.
"""

from __future__ import annotations

import cProfile
import json
import pstats
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from benchmarks.diagnose import write
from benchmarks.sync import manifests_of, play
from whysync import app
from whysync.kubernetes.api.yaml import load
from whysync.lint.autofix import fixed
from whysync.lint.lint import lint

SMALL, LARGE = 10, 40
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: c-NUMBER
  annotations:
    argocd.argoproj.io/sync-wave: NUMBER  # a number
data: {A: x}
"""


def calls_to_diagnose(folder: Path, apps: int) -> int:
    folder.mkdir()
    write(folder, apps)
    cases = app.cases(app.read(app.FactSource(bundles=(str(folder),))))
    profile = cProfile.Profile()
    profile.enable()
    report = app.diagnose(cases, prove=False)  # of few apps fixes would be tried, of many not
    profile.disable()
    assert len(report.apps) == apps
    return cast("int", vars(pstats.Stats(profile))["total_calls"])


def test_diagnosing_grows_with_the_number_of_apps(tmp_path: Path) -> None:
    calls_to_diagnose(tmp_path / "warm", SMALL)
    small = calls_to_diagnose(tmp_path / "small", SMALL) / SMALL
    large = calls_to_diagnose(tmp_path / "large", LARGE) / LARGE
    assert large < small * 1.5


def calls_to_fix(folder: Path, objects: Callable[[int], str], number: int) -> int:
    path = folder / f"{number}.yaml"
    path.write_text(objects(number))
    outcome, tree = lint([str(path)])
    profile = cProfile.Profile()
    profile.enable()
    _, done = fixed(tree.files[0], outcome.findings)
    profile.disable()
    assert len(done) in (number, 0)
    return cast("int", vars(pstats.Stats(profile))["total_calls"])


def documents(number: int) -> str:
    return "---\n".join(CONFIG.replace("NUMBER", str(n)) for n in range(number))


def items_of_a_list(number: int) -> str:
    items = ("- " + CONFIG.replace("NUMBER", str(n)).strip().replace("\n", "\n  ") for n in range(number))
    return "apiVersion: v1\nkind: List\nitems:\n" + "\n".join(items) + "\n"


def values_of_an_object(number: int) -> str:
    values = "".join(f"  K{n}: {n}\n" for n in range(number))
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n{values}"


def json_items(number: int) -> str:
    return json.dumps(load(items_of_a_list(number)))


def aliases(number: int) -> str:
    """An alias cannot be edited, so each finding is tried in vain."""
    values = "".join(f"  K{n}: *one\n" for n in range(1, number))
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  K0: &one 1\n{values}"


@pytest.mark.parametrize("objects", [documents, items_of_a_list, values_of_an_object, json_items, aliases])
def test_fixing_a_file_grows_with_its_findings(tmp_path: Path, objects: Callable[[int], str]) -> None:
    calls_to_fix(tmp_path, objects, 10)
    small = calls_to_fix(tmp_path, objects, 50) / 50
    large = calls_to_fix(tmp_path, objects, 200) / 200
    assert large < small * 1.5


def calls_to_sync(resources: int) -> int:
    manifests = manifests_of(resources)
    profile = cProfile.Profile()
    profile.enable()
    play(manifests)
    profile.disable()
    return cast("int", vars(pstats.Stats(profile))["total_calls"])


def test_a_sync_grows_with_the_number_of_resources() -> None:
    calls_to_sync(30)
    small = calls_to_sync(60) / 60
    large = calls_to_sync(180) / 180
    assert large < small * 1.3
