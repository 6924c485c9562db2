"""`whysync health`: any objects in files, judged as Argo CD does; no Application and no cluster is needed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import Whysync
from tests.situations import documents
from whysync.json_tree import Object
from whysync.kubernetes.api.yaml import load

CONFIG: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}}


def pod(phase: str, name: str = "p", **status: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"restartPolicy": "Never"},
        "status": {"phase": phase, **status},
    }


PAUSED: Object = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"paused": True},
}


def written(folder: Path, *objects: Object) -> str:
    path = folder / "objects.yaml"
    path.write_text(documents(*objects))
    return str(path)


def settings(folder: Path, lua: str, *, name: str = "argocd-cm") -> str:
    config: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "argocd"},
        "data": {"resource.customizations.health.ConfigMap": lua},
    }
    path = folder / "settings.yaml"
    path.write_text(documents(config))
    return str(path)


@pytest.mark.parametrize(
    ("obj", "fail_on", "code"),
    [
        (pod("Succeeded"), "degraded", 0),
        (CONFIG, "suspended", 0),
        (pod("Pending"), "degraded", 0),
        (pod("Pending"), "progressing", 1),
        (PAUSED, "progressing", 0),
        (PAUSED, "suspended", 1),
        (pod("Failed"), "degraded", 1),
        (pod("Odd"), "degraded", 1),
    ],
)
def test_exit_codes(whysync: Whysync, tmp_path: Path, obj: Object, fail_on: str, code: int) -> None:
    assert whysync("health", written(tmp_path, obj), "--fail-on", fail_on).code == code


def test_the_first_line_is_the_answer_and_the_worst_comes_first(whysync: Whysync, tmp_path: Path) -> None:
    result = whysync(
        "health", written(tmp_path, CONFIG, pod("Succeeded", "a"), pod("Failed", "b", message="evicted"))
    )
    lines = result.out.splitlines()
    assert lines[0] == "✗ Pod shop/b is Degraded; 3 objects: 1 Degraded, 1 Healthy, 1 without a health check"
    assert [line.split() for line in lines[2:]] == [
        ["KIND", "NAMESPACE/NAME", "HEALTH", "MESSAGE"],
        ["Pod", "shop/b", "Degraded", "evicted"],
        ["Pod", "shop/a", "Healthy", "-"],
        ["ConfigMap", "shop/c", "-", "-"],
    ]


def test_wide_says_who_judged(whysync: Whysync, tmp_path: Path) -> None:
    result = whysync("health", written(tmp_path, CONFIG, pod("Succeeded")), "-o", "wide")
    assert "JUDGED BY" in result.out
    assert "built-in" in result.out
    assert "none" in result.out


def test_a_list_on_standard_input(whysync: Whysync) -> None:
    body: Object = {"apiVersion": "v1", "kind": "List", "items": [pod("Failed"), CONFIG]}
    result = whysync("health", "-o", "json", stdin=json.dumps(body).encode())
    document = json.loads(result.out)
    assert result.code == 1
    assert (document["version"], document["failed"]) == (1, 1)
    assert [(row["kind"], row["health"], row["judgedBy"]) for row in document["objects"]] == [
        ("Pod", {"status": "Degraded", "message": ""}, "built-in"),
        ("ConfigMap", None, "none"),
    ]


def test_yaml_says_the_same_as_json(whysync: Whysync, tmp_path: Path) -> None:
    path = written(tmp_path, pod("Failed"), CONFIG)
    assert load(whysync("health", path, "-o", "yaml").out) == json.loads(
        whysync("health", path, "-o", "json").out
    )


def test_names_are_those_that_fail(whysync: Whysync, tmp_path: Path) -> None:
    result = whysync("health", written(tmp_path, PAUSED, pod("Failed")), "-o", "name")
    assert result.out == "pod/shop/p\n"
    more = whysync("health", written(tmp_path, PAUSED), "-o", "name", "--fail-on", "suspended")
    assert more.out == "deployment.apps/shop/web\n"


def test_ones_own_lua(whysync: Whysync, tmp_path: Path) -> None:
    lua = 'return {status = "Degraded", message = "because I say so"}'
    result = whysync("health", written(tmp_path, CONFIG), "--settings", settings(tmp_path, lua), "-o", "wide")
    assert result.code == 1
    assert "because I say so" in result.out
    assert "your Lua" in result.out


def test_an_argocd_cm_among_the_objects_counts_too(whysync: Whysync, tmp_path: Path) -> None:
    lua = 'return {status = "Degraded"}'
    result = whysync("health", written(tmp_path, CONFIG), settings(tmp_path, lua))
    assert result.code == 1


def test_lua_that_fails_is_unknown_with_its_error(whysync: Whysync, tmp_path: Path) -> None:
    result = whysync("health", written(tmp_path, CONFIG), "--settings", settings(tmp_path, "error('no')"))
    assert result.code == 1
    assert "Unknown" in result.out


def test_settings_without_an_argocd_cm_are_an_error(whysync: Whysync, tmp_path: Path) -> None:
    result = whysync("health", written(tmp_path, CONFIG), "--settings", settings(tmp_path, "", name="other"))
    assert result.code == 2
    assert "argocd-cm not found" in result.err


def test_settings_that_argo_cd_cannot_read_are_an_error(whysync: Whysync, tmp_path: Path) -> None:
    path = tmp_path / "cm.yaml"
    config: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "argocd-cm"}}
    path.write_text(documents({**config, "data": {"resource.customizations": "no map"}}))
    result = whysync("health", written(tmp_path, CONFIG), "--settings", str(path))
    assert result.code == 2
    assert "resource.customizations" in result.err


def test_a_broken_part_is_said_and_is_not_fine(whysync: Whysync, tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(f"{documents(pod('Succeeded'))}---\na: [1\n")
    result = whysync("health", str(path))
    assert result.code == 2
    assert "not read: part of broken.yaml" in result.out


@pytest.mark.parametrize("text", ["", "just words", "[1, 2]", "a: 1"])
def test_what_holds_no_object_is_an_error(whysync: Whysync, text: str) -> None:
    result = whysync("health", "-", stdin=text.encode())
    assert result.code == 2
    assert "Traceback" not in result.err
    assert result.out == ""


def test_settings_alone_are_nothing_to_judge(whysync: Whysync, tmp_path: Path) -> None:
    result = whysync("health", settings(tmp_path, ""))
    assert result.code == 2
    assert "no objects found" in result.err


def test_a_file_that_is_not_there(whysync: Whysync) -> None:
    assert whysync("health", "nowhere.yaml").code == 2


def test_control_characters_do_not_reach_the_terminal(whysync: Whysync, tmp_path: Path) -> None:
    result = whysync("health", written(tmp_path, pod("Failed", message="\x1b[31mred\x07")))
    assert "\x1b" not in result.out
    assert "\x07" not in result.out


def test_odd_shapes_are_judged_without_a_traceback(whysync: Whysync, tmp_path: Path) -> None:
    odd: list[Object] = [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "status": "words"},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}, "status": {"containerStatuses": 3}},
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "c"},
            "status": {"conditions": [1, None]},
        },
    ]
    result = whysync("health", written(tmp_path, *odd))
    assert result.code in (0, 1)
    assert "Traceback" not in result.err


def test_the_variable_of_findings_does_not_disturb(whysync: Whysync, tmp_path: Path) -> None:
    assert whysync("health", written(tmp_path, CONFIG), WHYSYNC_FAIL_ON="critical").code == 0


def test_secret_values_are_not_shown(whysync: Whysync, tmp_path: Path) -> None:
    secret: Object = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "stringData": {"p": "hunter22"},
    }
    result = whysync(
        "health", written(tmp_path, secret, pod("Failed", message="cannot log in with hunter22"))
    )
    assert "hunter22" not in result.out
