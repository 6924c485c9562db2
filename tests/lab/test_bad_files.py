"""A scenario that cannot be read says which file, which line, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.running import Whysync
from tests.trees import trees
from whysync.errors import TooLarge, Unreadable, WhysyncError
from whysync.json_tree import Json
from whysync.kubernetes.api import yaml
from whysync.lab.library import built_in, find, names
from whysync.lab.parse import scenario_from

GOOD = """\
title: A ConfigMap
applications:
- metadata: {name: web}
  spec:
    source: {repoURL: "https://git.example.com/platform/deploy.git", path: web, targetRevision: main}
    destination: {namespace: default}
git:
  files:
    web/config.yaml: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: web}
ends: 1m
"""


def problem_of(text: str) -> WhysyncError:
    with pytest.raises(WhysyncError) as caught:
        scenario_from(text, name="mine", origin="mine.yaml")
    return caught.value


def test_the_good_one_is_good() -> None:
    scenario = scenario_from(GOOD, name="mine", origin="mine.yaml")
    assert scenario.ends == 60
    assert scenario.expects == ()


@pytest.mark.parametrize(
    ("change", "problem_text", "why"),
    [
        (
            ("ends: 1m", "ends: 1m\nexpcet: {}"),
            "mine.yaml line 14: the file has no field 'expcet'",
            "'expect'",
        ),
        (("ends: 1m", "ends: soon"), "mine.yaml line 13: ends is 'soon', which is no duration", "30s, 5m"),
        (("ends: 1m", "ends: -5m"), "mine.yaml line 13: ends must be between 0s and a year", ""),
        (("ends: 1m", "ends: 9999h"), "mine.yaml line 13: ends must be between 0s and a year", ""),
        (("ends: 1m\n", ""), "mine.yaml: ends is missing: it must be a text", ""),
        (("title: A ConfigMap", "title: [a]"), "mine.yaml line 1: title must be a string, not a list", ""),
        (
            ("- metadata: {name: web}", "- metadata: {}"),
            "mine.yaml line 3: applications[0] has no metadata.name",
            "",
        ),
        (("    source:", "    sauce:"), "mine.yaml line 3: applications[0] has no spec.source", ""),
        (
            ("/deploy.git", "/other.git"),
            "git has no repository https://git.example.com/platform/other.git",
            "the known ones are",
        ),
        (
            ("      kind: ConfigMap", "      kind: [ConfigMap"),
            "mine.yaml line 9: file web/config.yaml is not YAML",
            "beginning of the file",
        ),
        (("web/config.yaml:", "../config.yaml:"), "'../config.yaml' is not a path in a repository", ""),
        (("  files:", "  id: xyz\n  files:"), "mine.yaml line 8: 'xyz' is not a commit id", "hexadecimal"),
        (
            ("ends: 1m", "happens: [{at: 5s}]\nends: 1m"),
            "happens[0] must say one thing that happens, not 0",
            "push",
        ),
        (
            ("ends: 1m", "happens:\n- run: kubectl drain node-1\nends: 1m"),
            "line 14: happens[0].run cannot be run: 'kubectl drain node-1' is not supported",
            "",
        ),
        (
            ("ends: 1m", "happens:\n- run: kubectl scale deploy/web --replicas many\nends: 1m"),
            "--replicas must be a number",
            "",
        ),
        (
            ("ends: 1m", "happens:\n- run: rm -rf /\nends: 1m"),
            "it must begin with kubectl, argocd app, argocd proj or argocd cluster",
            "",
        ),
        (
            ("ends: 1m", "happens:\n- run: kubectl get --as root x\nends: 1m"),
            "the flag --as is not supported",
            "",
        ),
        (
            ("ends: 1m", "cluster:\n  pods:\n  - {pull: lost}\nends: 1m"),
            "mine.yaml line 15: cluster.pods[0].pull cannot be 'lost'",
            "slow",
        ),
        (
            ("ends: 1m", "cluster:\n  pods:\n  - {exit_code: 999}\nends: 1m"),
            "cluster.pods[0].exit_code must be between 0 and 255",
            "",
        ),
        (
            ("ends: 1m", "cluster:\n  objects: |\n    kind: {\nends: 1m"),
            "mine.yaml line 14: cluster.objects is not YAML",
            "",
        ),
        (
            ("ends: 1m", "ends: 1m\nexpect: {sync: Outofsync}"),
            "expect.sync cannot be 'Outofsync'",
            "'OutOfSync'",
        ),
        (
            ("ends: 1m", "ends: 1m\nexpect:\n  safety: save"),
            "mine.yaml line 15: expect.safety cannot be 'save'",
            "'safe'",
        ),
        (
            ("ends: 1m", "ends: 1m\nexpect:\n  fix: prven"),
            "mine.yaml line 15: expect.fix cannot be 'prven'",
            "'proven'",
        ),
        (
            ("ends: 1m", "ends: 1m\nexpect:\n  fix:\n    proof: proven\n    wy: a reason"),
            "mine.yaml line 17: expect.fix has no field 'wy'",
            "'why'",
        ),
        (("ends: 1m", "ends: 1m\nexpect: {fix: {why: x}}"), "expect.fix.proof is missing", ""),
        (
            ("ends: 1m", "ends: 1m\nexpect: {fix: [proven]}"),
            "mine.yaml line 14: expect.fix must be a mapping, not a list",
            "",
        ),
        (
            ("ends: 1m", "ends: 1m\nexpect: {fix: {proof: none, why: x}}"),
            "expect.fix is none; a missing fix has no why and no title",
            "",
        ),
        (("ends: 1m", "ends: 1m\nexpect: {app: wbe}"), "expect.app cannot be 'wbe'", "'web'"),
        (("ends: 1m", "ends: 1m\nstarts: tomorrow"), "starts is not a time", "2026-03-02"),
        (
            ("ends: 1m", "argocd: {settings: {argocd-mc: {}}}\nends: 1m"),
            "no field 'argocd-mc'",
            "'argocd-cm'",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_location(
    change: tuple[str, str], problem_text: str, why: str
) -> None:
    assert change[0] in GOOD
    problem = problem_of(GOOD.replace(*change, 1))
    assert problem_text in problem.what
    assert why in problem.why
    assert problem.next, "what to do"


@pytest.mark.parametrize("text", ["", "- a list\n", "just words\n", "a: 1\n---\nb: 2\n", "a: [\n", "\t- x\n"])
def test_what_is_no_scenario_at_all(text: str) -> None:
    problem = problem_of(text)
    assert isinstance(problem, Unreadable)
    assert problem.what.startswith("mine.yaml")
    assert problem.next


def test_what_is_too_large_or_too_deep() -> None:
    assert isinstance(problem_of("title: " + "x" * (1 << 21)), TooLarge)
    assert "nested deeper" in problem_of("title: " + "[" * 5000).what


def test_an_object_that_the_cluster_refuses_is_named() -> None:
    from whysync.lab.player import play

    refused = (
        "cluster:\n  objects: |\n    apiVersion: v1\n    kind: Service\n    metadata: {name: a b}\nends: 1m"
    )
    scenario = scenario_from(GOOD.replace("ends: 1m", refused), name="mine", origin="mine.yaml")
    with pytest.raises(Unreadable, match="Service a b under cluster: objects: is rejected"):
        play(scenario)


def test_two_writers_without_a_pause_are_an_error_and_no_hang() -> None:
    from whysync.lab.player import play

    war = """cluster:
  writers:
  - {name: one, object: configmap/web, namespace: default, after: 0s, holds: {data: {a: "1"}}}
  - {name: two, object: configmap/web, namespace: default, after: 0s, holds: {data: {a: "2"}}}
ends: 1m"""
    scenario = scenario_from(GOOD.replace("ends: 1m", war), name="mine", origin="mine.yaml")
    auto = GOOD.replace("    destination", "    syncPolicy: {automated: {}}\n    destination")
    scenario = scenario_from(auto.replace("ends: 1m", war), name="mine", origin="mine.yaml")
    with pytest.raises(Unreadable, match="never settles"):
        play(scenario)


@given(trees())
def test_no_tree_gives_more_than_an_error(tree: Json) -> None:
    _read(yaml.dump({"title": "x", "applications": tree, "git": tree, "happens": tree, "ends": "1m"}))


@settings(max_examples=60)
@given(st.sampled_from(names()), st.integers(0, 10_000), st.sampled_from("[]{}:-|>*&!\n\t 0x"))
def test_no_letter_gives_more_than_an_error(name: str, position: int, letter: str) -> None:
    text = built_in(name).text
    at = position % len(text)
    _read(text[:at] + letter + text[at + 1 :])


def _read(text: str) -> None:
    try:
        scenario_from(text, name="mine", origin="mine.yaml")
    except WhysyncError:
        return


def test_files_and_folders(tmp_path: Path, whysync: Whysync) -> None:
    (tmp_path / "mine.yaml").write_text(GOOD)
    (tmp_path / "other.yml").write_text(GOOD.replace("A ConfigMap", "Another one"))
    (tmp_path / "notes.txt").write_text("no scenario")
    assert [item.name for item in find(str(tmp_path))] == ["mine", "other"]
    assert whysync("lab", "list", str(tmp_path)).out.count("\n") == 5
    result = whysync("lab", "run", str(tmp_path / "mine.yaml"))
    assert (result.code, result.err) == (1, "")
    assert "mine   A ConfigMap" in result.out
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "there is no scenario in" in whysync("lab", "run", str(empty)).err
    (tmp_path / "odd.yaml").write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in whysync("lab", "run", str(tmp_path / "odd.yaml")).err


def test_manifests_from_a_folder_beside_it(tmp_path: Path, whysync: Whysync) -> None:
    (tmp_path / "repo/web").mkdir(parents=True)
    (tmp_path / "repo/web/config.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n")
    (tmp_path / "repo/web/link.yaml").symlink_to("/etc/hostname")
    text = GOOD[: GOOD.index("  files:")] + "  folder: repo\nends: 1m\n"
    (tmp_path / "mine.yaml").write_text(text)
    result = whysync("lab", "run", str(tmp_path / "mine.yaml"), "-o", "json")
    assert '"sync": "OutOfSync"' in result.out
    (tmp_path / "bad.yaml").write_text(text.replace("folder: repo", "folder: rope"))
    assert "bad.yaml line 8: there is no folder rope" in whysync("lab", "run", str(tmp_path / "bad.yaml")).err
