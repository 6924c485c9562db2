"""`whysync diff`: as argocd shows it, with the writer of each field, what is ignored and what is unseen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import Whysync
from tests.situations import ROOT, application, bundle, config_map, row
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.api.yaml import load

AUTOSCALER = str(ROOT / "examples/autoscaler-loop")
WRITERS: Json = [
    {
        "manager": "kubectl-edit",
        "operation": "Update",
        "time": "2026-03-02T03:00:00Z",
        "fieldsV1": {"f:data": {"f:a": {}}},
    },
    {
        "manager": "argocd-controller",
        "operation": "Apply",
        "time": "2026-03-01T03:00:00Z",
        "fieldsV1": {"f:data": {"f:a": {}}},
    },
]


def live(name: str = "settings", *, data: Object | None = None, writers: Json = None) -> Object:
    body = config_map(name, data=data)
    if writers is not None:
        fields(body["metadata"])["managedFields"] = writers
    return body


def wanted(name: str = "settings", *, data: Object | None = None) -> Object:
    return config_map(name, data=data, desired=True)


SAME = (application(), wanted(), live())
CHANGED = (
    application(sync="OutOfSync", status={"resources": [row("ConfigMap", "settings", "OutOfSync")]}),
    wanted(),
    live(data={"a": "x"}, writers=WRITERS),
)


def test_nothing_differs_is_0(whysync: Whysync, tmp_path: Path) -> None:
    result = whysync("diff", "--bundle", bundle(tmp_path, *SAME))
    assert result.code == 0
    assert result.out.splitlines()[0] == "✓ shop   no difference in 1 resource"


def test_a_difference_is_1_with_path_values_writer_and_yaml(whysync: Whysync, tmp_path: Path) -> None:
    result = whysync("diff", "shop", "--bundle", bundle(tmp_path, *CHANGED))
    assert result.code == 1
    assert result.out == (
        "✗ shop   1 differs, of 1 resource\n"
        "\n"
        "  compared by  three-way diff: Git, live, and last applied (two-way if that is unknown)\n"
        "\n"
        "===== /ConfigMap shop/settings ======\n"
        '  data.a   Git "b" → live "x"\n'
        "    written by     kubectl edit, 10m ago\n"
        "--- live\n"
        "+++ after a sync\n"
        "@@ data\n"
        " apiVersion: v1\n"
        " data:\n"
        "-  a: x\n"
        "+  a: b\n"
        " kind: ConfigMap\n"
        " metadata:\n"
        "   name: settings\n"
    )


def test_all_managers_are_shown_on_demand(whysync: Whysync, tmp_path: Path) -> None:
    path = bundle(tmp_path, *CHANGED)
    assert "argocd-controller" not in whysync("diff", "--bundle", path).out
    assert (
        "also           Argo CD (argocd-controller), 24h ago"
        in whysync("diff", "--bundle", path, "--show-managed").out
    )


def test_the_example(whysync: Whysync) -> None:
    result = whysync("diff", "--bundle", AUTOSCALER)
    assert result.code == 1
    assert "spec.replicas   Git 1 → live 3" in result.out
    assert "an autoscaler (kube-controller-manager, subresource scale)" in result.out
    assert "the rendered manifest is not in" in result.out


def test_missing_and_extra_objects(whysync: Whysync, tmp_path: Path) -> None:
    rows: Json = [row("ConfigMap", "old", "OutOfSync", requiresPruning=True)]
    facts = (application(status={"resources": rows}), wanted("new"), live("old"))
    result = whysync("diff", "--bundle", bundle(tmp_path, *facts))
    assert result.code == 1
    assert result.out.startswith("✗ shop   1 is missing, 1 is extra, of 2 resources\n")
    assert "missing: in Git, but not in the cluster" in result.out
    assert "extra: in the cluster, but not in Git (a sync with --prune deletes it)" in result.out
    assert "+  name: new" in result.out
    assert "-  name: old" in result.out


def test_side_by_side(whysync: Whysync, tmp_path: Path) -> None:
    path = bundle(tmp_path, *CHANGED)
    requested = whysync("diff", "--bundle", path, "--side-by-side", COLUMNS="100").out
    wide = whysync("diff", "--bundle", path, COLUMNS="140").out
    for out in (requested, wide):
        assert any(line.split() == ["a:", "x", "|", "a:", "b"] for line in out.splitlines())
    assert "--- live" in whysync("diff", "--bundle", path, COLUMNS="139").out


def test_long_values_get_lines_of_their_own(whysync: Whysync, tmp_path: Path) -> None:
    facts = (application(), wanted(data={"a": "left " * 30}), live(data={"a": "right " * 30}))
    lines = whysync("diff", "--bundle", bundle(tmp_path, *facts), COLUMNS="80").out.splitlines()
    assert "  data.a" in lines
    assert all(len(line) <= 80 for line in lines if line.startswith("   "))


@pytest.mark.parametrize(
    ("resource", "names"),
    [
        ("settings", ["settings"]),
        (":ConfigMap:shop/settings", ["settings"]),
        (":ConfigMap:settings", ["settings"]),
        ("*:*:*/other", ["other"]),
        ("!settings", ["other"]),
    ],
)
def test_resources_are_chosen_as_with_argocd(
    whysync: Whysync, tmp_path: Path, resource: str, names: list[str]
) -> None:
    facts = (application(), wanted(), wanted("other"), live(), live("other"))
    result = whysync("diff", "--bundle", bundle(tmp_path, *facts), "--resource", resource, "-o", "json")
    assert [load["name"] for load in json.loads(result.out)["apps"][0]["resources"]] == names


@pytest.mark.parametrize("resource", ["a:b", ":", "apps::x", "apps:Deployment:", ""])
def test_a_resource_that_cannot_be_read_is_an_error(whysync: Whysync, tmp_path: Path, resource: str) -> None:
    result = whysync("diff", "--bundle", bundle(tmp_path, *SAME), "--resource", resource)
    assert result.code == 2
    assert "invalid --resource" in result.err


def test_a_resource_that_is_not_there_is_an_error(whysync: Whysync, tmp_path: Path) -> None:
    result = whysync("diff", "--bundle", bundle(tmp_path, *SAME), "--resource", "nobody")
    assert result.code == 2
    assert "no resource matches nobody" in result.err


def ignoring(*rules: Json) -> Object:
    return application(spec={"ignoreDifferences": list(rules)})


def test_what_is_ignored_is_counted_and_shown_on_demand(whysync: Whysync, tmp_path: Path) -> None:
    app = ignoring(
        {"kind": "ConfigMap", "jsonPointers": ["/data/a"]},
        {"group": "apps", "kind": "ConfigMap", "jsonPointers": ["/data/b"]},
    )
    path = bundle(tmp_path, app, wanted(), live(data={"a": "x"}))
    plain = whysync("diff", "--bundle", path)
    assert plain.code == 0
    assert "1 field hidden by ignore rules: see --show-ignored" in plain.out
    shown = whysync("diff", "--bundle", path, "--show-ignored").out
    assert 'data.a   Git "b" → live "x"' in shown
    assert "ignored by     spec.ignoreDifferences[0]: /data/a" in shown
    assert "ignore rules without effect" in shown
    assert "spec.ignoreDifferences[1]" in shown


def test_another_opinion_of_argo_cd_is_said(whysync: Whysync, tmp_path: Path) -> None:
    rows: Json = [row("ConfigMap", "settings", "OutOfSync")]
    result = whysync(
        "diff", "--bundle", bundle(tmp_path, application(status={"resources": rows}), wanted(), live())
    )
    assert result.code == 0
    assert "Argo CD reports OutOfSync, but this comparison finds no difference" in " ".join(
        result.out.split()
    )


def test_the_other_way_round_too(whysync: Whysync, tmp_path: Path) -> None:
    rows: Json = [row("ConfigMap", "settings", "Synced")]
    facts = (application(status={"resources": rows}), wanted(), live(data={"a": "x"}))
    result = whysync("diff", "--bundle", bundle(tmp_path, *facts))
    assert result.code == 1
    assert "Argo CD reports Synced, but this comparison finds a difference" in " ".join(result.out.split())


def test_an_app_without_manifests_cannot_be_compared(whysync: Whysync, tmp_path: Path) -> None:
    result = whysync("diff", "--bundle", bundle(tmp_path, application(), live()))
    assert result.code == 2
    assert result.out.startswith("? shop   cannot be compared: the facts have no rendered manifests")
    assert "next" in result.out


def test_a_comparison_that_fails_is_2_and_says_why(whysync: Whysync, tmp_path: Path) -> None:
    app = ignoring({"kind": "ConfigMap", "jqPathExpressions": [".data["]})
    result = whysync("diff", "--bundle", bundle(tmp_path, app, wanted(), live()))
    assert result.code == 2
    assert result.out.startswith("✗ shop   Unknown: the comparison fails")
    assert "failed to create diff normalizer" in " ".join(result.out.split())


def test_settings_that_cannot_be_read_are_named(whysync: Whysync, tmp_path: Path) -> None:
    config: Object = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"resource.customizations": "no map"}}
    config["metadata"] = {"name": "argocd-cm", "namespace": "argocd"}
    for format in ("text", "json", "markdown"):
        result = whysync("diff", "--bundle", bundle(tmp_path, *CHANGED, config), "-o", format)
        assert result.code == 2
        assert "resource.customizations cannot be read" in " ".join(result.out.split())


def test_metadata_of_the_namespace_alone(whysync: Whysync, tmp_path: Path) -> None:
    app = application(
        spec={"syncPolicy": {"managedNamespaceMetadata": {"labels": {"a": "b"}}}},
        status={"operationState": {"syncResult": {}}},
    )
    result = whysync("diff", "--bundle", bundle(tmp_path, app, wanted(), live()))
    assert result.code == 1
    assert "managedNamespaceMetadata changed since the last sync" in result.out


def test_json_is_data_and_yaml_says_the_same(whysync: Whysync, tmp_path: Path) -> None:
    path = bundle(tmp_path, *CHANGED)
    document = json.loads(whysync("diff", "--bundle", path, "-o", "json").out)
    app = document["apps"][0]
    assert (document["version"], app["differs"], app["sync"], app["strategy"]) == (
        1,
        True,
        "OutOfSync",
        "legacy",
    )
    change = app["resources"][0]["changes"][0]
    assert (change["pointer"], change["desired"], change["live"]) == ("/data/a", "b", "x")
    assert [writer["manager"] for writer in change["writers"]] == ["kubectl-edit", "argocd-controller"]
    assert "-  a: x" in app["resources"][0]["diff"].splitlines()
    assert load(whysync("diff", "--bundle", path, "-o", "yaml").out) == document


def test_markdown_cannot_be_broken_out_of(whysync: Whysync, tmp_path: Path) -> None:
    facts = (application(), wanted(), live(data={"a": "```\n# <script>|"}))
    result = whysync("diff", "--bundle", bundle(tmp_path, *facts), "-o", "markdown")
    assert result.code == 1
    assert result.out.startswith("# ✗ shop 1 differs, of 1 resource\n")
    assert "````diff" in result.out
    assert "| field | Git | live | written by |" in result.out


def test_secrets_stay_masked_and_equal_ones_stay_equal(whysync: Whysync, tmp_path: Path) -> None:
    def secret(value: str, *, desired: bool = False) -> Object:
        meta: Object = {"name": "login", "namespace": "shop"}
        if desired:
            meta["annotations"] = {"whysync.dev/role": "desired"}
        data: Object = {"user": "c29tZWJvZHk=", "password": value}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "Opaque", "data": data}

    facts = (application(), secret("aHVudGVyMjI=", desired=True), secret("c3dvcmRmaXNo"))
    for format in ("text", "json", "markdown"):
        out = whysync("diff", "--bundle", bundle(tmp_path, *facts), "-o", format).out
        assert "data.password" in out
        assert "data.user" not in out
        for hidden in ("hunter22", "aHVudGVyMjI=", "swordfish", "c3dvcmRmaXNo", "c29tZWJvZHk="):
            assert hidden not in out


def test_several_apps_and_one_name(whysync: Whysync, tmp_path: Path) -> None:
    other = application("other")
    path = bundle(tmp_path, application(), other, live())
    both = whysync("diff", "--bundle", path).out
    assert both.count("cannot be compared") == 2
    assert whysync("diff", "other", "--bundle", path).out.startswith("? other")
    assert whysync("diff", "nobody", "--bundle", path).code == 2


def test_control_characters_do_not_reach_the_terminal(whysync: Whysync, tmp_path: Path) -> None:
    facts = (application(), wanted(), live(data={"a": "\x1b[31mred", "k\x07": "v"}))
    out = whysync("diff", "--bundle", bundle(tmp_path, *facts)).out
    assert "\x1b" not in out
    assert "\x07" not in out


def test_odd_facts_give_an_answer_and_no_traceback(whysync: Whysync, tmp_path: Path) -> None:
    odd: list[Object] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "annotations": ["no map"]}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "y", "labels": 3}, "data": "text"},
    ]
    app = application(spec={"destination": "nowhere"})
    wants = wanted("x")
    fields(wants["metadata"])["labels"] = {"n": 1}
    result = whysync("diff", "--bundle", bundle(tmp_path, app, wants, *odd))
    assert result.code in (0, 1, 2)
    assert "Traceback" not in result.err


def test_a_variable_that_another_verb_takes_is_an_error_for_this_one_alone(
    whysync: Whysync, tmp_path: Path
) -> None:
    path = bundle(tmp_path, *SAME)
    assert whysync("list", "--bundle", path, WHYSYNC_OUTPUT="name").out == "argocd/shop\n"
    result = whysync("diff", "--bundle", path, WHYSYNC_OUTPUT="name")
    assert result.code == 2
    assert "invalid WHYSYNC_OUTPUT 'name'" in result.err
    assert whysync("diff", "--bundle", path, "-o", "text", WHYSYNC_OUTPUT="name").code == 0


def test_of_many_apps_those_without_a_difference_take_one_line(whysync: Whysync, tmp_path: Path) -> None:
    folder = tmp_path / "fleet"
    for name, value in (("one", "b"), ("two", "b"), ("three", "x")):
        (folder / "applications").mkdir(parents=True, exist_ok=True)
        (folder / "desired" / name).mkdir(parents=True)
        (folder / "live").mkdir(exist_ok=True)
        (folder / "applications" / f"{name}.yaml").write_text(json.dumps(application(name)))
        (folder / "desired" / name / "c.yaml").write_text(json.dumps(config_map(f"{name}-settings")))
        (folder / "live" / f"{name}.yaml").write_text(
            json.dumps(config_map(f"{name}-settings", data={"a": value}))
        )
    result = whysync("diff", "--bundle", str(folder))
    assert result.code == 1
    assert result.out.startswith(
        "✓ one   no difference in 1 resource\n\n✗ three   1 differs, of 1 resource\n"
    )
    assert result.out.endswith("\n\n✓ two   no difference in 1 resource\n")
