"""Fixes of every kind as changes of files: found, fitted, written, or refused with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixes.gitting import git_apply
from tests.situations import application, case_of, config_map, row
from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Add, Fix, FixKind, Remove, Set
from whysync.errors import Refused
from whysync.facts.checkout import Checkout
from whysync.facts.masking.masks import Masks
from whysync.fixes.case_after_fix import applied
from whysync.fixes.diffs import unified
from whysync.fixes.files import FileChange, file_change, moved, secret_lines
from whysync.fixes.formats import as_commands, as_patch, as_yaml
from whysync.fixes.patches import file_name, is_usable
from whysync.json_tree import Json, Object, dig, fields
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.api.yaml import load

SETTINGS = Ref(version="v1", kind="ConfigMap", namespace="shop", name="settings")
RBAC: Object = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "argocd-rbac-cm", "namespace": "argocd"},
    "data": {"policy.csv": "p, role:dev, applications, get, */*, allow\n", "policy.default": "role:readonly"},
}
LINE = "p, role:dev, applications, sync, */*, allow"


def the_case(*more: Object, source: Object | None = None, data: Object | None = None) -> Case:
    spec: Object = {"source": source} if source else {}
    return case_of(
        application(
            sync="OutOfSync", spec=spec, status={"resources": [row("ConfigMap", "settings", "OutOfSync")]}
        ),
        config_map(data=data or {"a": "git", "b": "same"}, desired=True),
        config_map(data={"a": "live", "b": "same"}),
        *more,
    )


def checkout(tmp_path: Path, **files: str) -> Checkout:
    for name, text in files.items():
        path = tmp_path / name.replace("__", "/")
        path = path.with_name(path.name + ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "deploy").mkdir(exist_ok=True)
    return Checkout(str(tmp_path))


def applied_text(change: FileChange, files: Checkout) -> str:
    change.write_to(files)
    return (files.root / change.path).read_text()


GIT = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  a: git # here\n  b: same\n"
DROP_B = Fix.remove(SETTINGS, "/data/b", title="t")


def test_an_object_without_a_namespace_is_the_destinations(tmp_path: Path) -> None:
    files = checkout(tmp_path, deploy__cm=GIT)
    change = file_change(DROP_B, the_case(), files)
    assert change.path == "deploy/cm.yaml"
    assert applied_text(change, files) == GIT.replace("  b: same\n", "")


def test_one_of_another_namespace_is_another(tmp_path: Path) -> None:
    files = checkout(tmp_path, deploy__cm=GIT.replace("settings\n", "settings\n  namespace: other\n"))
    with pytest.raises(Refused, match="no file of the checkout contains"):
        file_change(DROP_B, the_case(), files)


def test_the_folder_of_the_source_comes_before_the_rest(tmp_path: Path) -> None:
    files = checkout(tmp_path, deploy__cm=GIT, other__cm=GIT)
    assert file_change(DROP_B, the_case(), files).path == "deploy/cm.yaml"


def test_a_checkout_that_is_the_folder_itself(tmp_path: Path) -> None:
    (tmp_path / "cm.yaml").write_text(GIT)
    assert file_change(DROP_B, the_case(), Checkout(str(tmp_path))).path == "cm.yaml"


def test_a_template_is_no_manifest(tmp_path: Path) -> None:
    text = GIT.replace("git # here", "{{ .Values.a }}").replace("metadata:", "{{- if .x }}\nmetadata:")
    with pytest.raises(Refused, match="no file of the checkout contains"):
        file_change(DROP_B, the_case(), checkout(tmp_path, deploy__cm=text))


def test_anchors_are_refused_not_spoilt(tmp_path: Path) -> None:
    text = GIT.replace("data:\n  a: git # here\n  b: same\n", "x: &all {a: git, b: same}\ndata: *all\n")
    files = checkout(tmp_path, deploy__cm=text)
    with pytest.raises(Refused, match="cannot be edited in place") as refused:
        file_change(DROP_B, the_case(), files)
    assert "alias" in refused.value.why


def test_a_source_that_is_a_chart_has_no_files(tmp_path: Path) -> None:
    source: Object = {"repoURL": "https://charts.example.com", "chart": "shop", "targetRevision": "1.0.0"}
    with pytest.raises(Refused, match="rendered by Helm"):
        file_change(DROP_B, the_case(source=source), checkout(tmp_path, deploy__cm=GIT))


def test_a_masked_value_is_never_written(tmp_path: Path) -> None:
    fix = Fix.change(SETTINGS, Set(pointer="/data/a", value=Masks().mark(b"secret")), title="t")
    with pytest.raises(Refused, match="masked"):
        file_change(fix, the_case(), checkout(tmp_path, deploy__cm=GIT))


def test_commands_change_no_file(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="changes no file"):
        file_change(Fix.run("true", title="t"), the_case(), checkout(tmp_path))


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    files = checkout(tmp_path, deploy__cm=GIT)
    change = file_change(DROP_B, the_case(), files)
    (tmp_path / "deploy" / "cm.yaml").write_text(GIT + "  c: new\n")
    with pytest.raises(Refused, match="changed meanwhile"):
        change.write_to(files)


# --- new objects ---------------------------------------------------------------------------------------

LIMITS: Object = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "reader", "namespace": "shop"},
    "spec": {"limits": []},
}
ROLE: Object = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": "reader", "namespace": "shop"},
    "rules": [],
}


def test_a_new_object_is_a_new_file_beside_the_others(tmp_path: Path) -> None:
    files = checkout(tmp_path, deploy__cm=GIT)
    fix = Fix.new(LIMITS, title="t")
    change = file_change(fix, the_case(), files)
    assert (change.path, change.before) == ("deploy/limitrange-reader.yaml", None)
    assert load(applied_text(change, files)) == LIMITS
    assert not file_change(fix, the_case(), files).changes, "a second time it is there"
    with pytest.raises(Refused, match="already exists"):
        change.write_to(files)


def test_a_new_object_that_is_there_in_other_words(tmp_path: Path) -> None:
    files = checkout(tmp_path, deploy__cm=GIT)
    (tmp_path / "deploy" / "r.yml").write_text(
        as_yaml(Fix.new({**LIMITS, "spec": {"limits": [{}]}}, title="t"), the_case())
    )
    with pytest.raises(Refused, match="already in Git"):
        file_change(Fix.new(LIMITS, title="t"), the_case(), files)


def test_a_new_object_in_a_kustomization_must_be_listed(tmp_path: Path) -> None:
    files = checkout(tmp_path, deploy__kustomization="resources: []\n")
    with pytest.raises(Refused, match="not clear where"):
        file_change(Fix.new(LIMITS, title="t"), the_case(), files)
    assert (
        file_change(Fix.new(LIMITS, title="t"), the_case(), files, only="deploy/x/r.yaml").path
        == "deploy/x/r.yaml"
    )
    outside = file_change(Fix.new(LIMITS, title="t"), the_case(), files, only="../r.yaml")
    with pytest.raises(Refused, match="not a regular file of the checkout"):
        outside.write_to(files)
    assert not (tmp_path.parent / "r.yaml").exists()


def test_missing_permissions_are_not_added_to_the_app_itself(tmp_path: Path) -> None:
    files = checkout(tmp_path, deploy__cm=GIT)
    both: Object = {"apiVersion": "v1", "kind": "List", "items": [ROLE]}
    for body in (ROLE, both):
        with pytest.raises(Refused, match="Role shop/reader cannot be part of"):
            file_change(Fix.new(body, title="t"), the_case(), files)
        change = file_change(Fix.new(body, title="t"), the_case(), files, only="rbac/reader.yaml")
        assert change.path == "rbac/reader.yaml"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("reader", "role-reader.yaml"),
        ("../../etc/passwd", "role-..-..-etc-passwd.yaml"),
        ("system:x", "role-system-x.yaml"),
        ("a\nb\x00", "role-a-b.yaml"),
        ("é" * 300, "role.yaml"),
        ("x" * 300, f"role-{'x' * 95}.yaml"),
    ],
)
def test_whatever_the_name_it_is_one_file(name: str, expected: str) -> None:
    assert file_name(Ref(kind="Role", name=name)) == expected


# --- policy and settings -------------------------------------------------------------------------------


def test_a_line_of_policy_comes_behind_the_others(tmp_path: Path) -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-rbac-cm\ndata:\n"
        "  policy.csv: |\n    # people\n    p, role:dev, applications, get, */*, allow\n"
        "  scopes: '[groups]' # all\n"
    )
    files = checkout(tmp_path, argocd__rbac=text)
    fix = Fix.policy(LINE, title="t")
    change = file_change(fix, the_case(RBAC), files)
    assert applied_text(change, files) == text.replace("get, */*, allow\n", f"get, */*, allow\n    {LINE}\n")
    assert not file_change(fix, the_case(RBAC), files).changes


def test_a_line_of_policy_as_a_patch_and_as_a_command() -> None:
    fix, case = Fix.policy(LINE, title="t"), the_case(RBAC)
    policy = f"p, role:dev, applications, get, */*, allow\n{LINE}\n"
    assert load(as_patch(fix, case)) == {"data": {"policy.csv": policy}}
    assert dig(load(as_yaml(fix, case)), "data", "policy.default") == "role:readonly"
    command = as_commands(fix, case)[0]
    assert command.startswith("kubectl -n argocd patch configmap argocd-rbac-cm --type merge -p ")
    assert LINE in as_patch(fix, the_case()), "without the ConfigMap, the line alone"
    with pytest.raises(Refused, match="not in the facts"):
        as_yaml(fix, the_case())


def test_a_line_of_policy_can_be_tried_on_a_case() -> None:
    after = applied(Fix.policy(LINE, title="t"), the_case(RBAC)).settings("argocd-rbac-cm")
    assert after is not None
    assert LINE in str(dig(after.body, "data", "policy.csv"))


def test_an_unseen_argocd_cm_is_patched_not_replaced() -> None:
    target = Ref(version="v1", kind="ConfigMap", namespace="argocd", name="argocd-cm")
    fix = Fix(title="t", kind=FixKind.SETTINGS, target=target, edits=(Set(pointer="/data/x", value="y"),))
    assert load(as_patch(fix, the_case())) == {"data": {"x": "y"}}


def test_a_manifest_is_changed_in_git_not_in_the_cluster() -> None:
    commands = as_commands(DROP_B, the_case())
    assert commands[0] == "# in Git: remove /data/b of ConfigMap shop/settings"
    assert not any(command.startswith("kubectl") for command in commands)


# --- fitting -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pointer", "known", "other", "expected"),
    [
        ("/l/0/v", [{"name": "a"}], [{"name": "z"}, {"name": "a"}], "/l/1/v"),
        ("/l/0/v", [{"name": "a"}], [{"name": "z"}], None),
        ("/l/0", ["x"], ["y", "x"], "/l/1"),
        ("/l/5", ["x"], ["y"], "/l/1"),
        ("/l/1", ["x", "x"], ["x", "x"], "/l/1"),
        ("/l/name", ["x"], ["x"], None),
        ("/l/0/port", [{"port": 80}], [{"port": 81}, {"port": 80}], "/l/1/port"),
    ],
)
def test_an_element_is_found_by_its_name(
    pointer: str, known: list[Json], other: list[Json], expected: str | None
) -> None:
    assert moved(pointer, {"l": known}, {"l": other}) == expected


def test_edits_of_all_kinds_fit(tmp_path: Path) -> None:
    files = checkout(tmp_path, deploy__cm=GIT)
    edits = (
        Set(pointer="/data/a", value="live"),
        Remove(pointer="/data/b"),
        Set(pointer="/metadata/annotations/x~1y", value="z"),
        Add(pointer="/metadata/finalizers", value="f"),
    )
    change = file_change(Fix.change(SETTINGS, *edits, title="t"), the_case(), files)
    body = fields(load(applied_text(change, files)))
    assert body["data"] == {"a": "live"}
    assert fields(body["metadata"])["annotations"] == {"x/y": "z"}
    assert fields(body["metadata"])["finalizers"] == ["f"]
    assert "a: live # here" in (change.after or "")


# --- secrets -------------------------------------------------------------------------------------------


def test_lines_with_secrets_are_known() -> None:
    head = "kind: Secret\napiVersion: v1\nmetadata: {name: a}\n"
    text = head + "stringData:\n  password: |\n    one\n    two\n---\na: 1\n"
    assert secret_lines(text) >= {4, 5, 6}
    assert 8 not in secret_lines(text)
    assert secret_lines("a: [1\n") == {0, 1}, "what cannot be read is secret"
    assert secret_lines(GIT) == set()


# --- a manifest that goes ------------------------------------------------------------------------

LET_GO = Fix.drop(SETTINGS, title="Let it go")
OTHER = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}   # stays\n"


def test_a_manifest_is_cut_out_of_its_file(tmp_path: Path) -> None:
    files = checkout(tmp_path, deploy__cm=f"{OTHER}---\n{GIT}")
    change = file_change(LET_GO, the_case(), files)
    assert (change.path, applied_text(change, files)) == ("deploy/cm.yaml", OTHER)


def test_a_file_with_nothing_else_is_deleted(tmp_path: Path) -> None:
    files = checkout(tmp_path, deploy__cm=GIT)
    change = file_change(LET_GO, the_case(), files)
    assert (change.path, change.before, change.after) == ("deploy/cm.yaml", GIT, None)
    assert change.place == "delete deploy/cm.yaml"
    git_apply(tmp_path, unified(change.path, change.before, change.after))
    assert not (tmp_path / "deploy/cm.yaml").exists()


def test_a_file_that_changed_meanwhile_is_not_deleted(tmp_path: Path) -> None:
    files = checkout(tmp_path, deploy__cm=GIT)
    with pytest.raises(Refused, match="has changed meanwhile"):
        files.delete("deploy/cm.yaml", "something else")
    files.delete("deploy/cm.yaml", GIT)
    assert not (tmp_path / "deploy/cm.yaml").exists()


def test_the_edited_line_is_named(tmp_path: Path) -> None:
    files = checkout(tmp_path, deploy__cm=f"{OTHER}---\n{GIT}")
    change = file_change(Fix.remove(SETTINGS, "/data/a", title="t"), the_case(), files)
    line = (change.before or "").splitlines().index("---") + 2
    lines = (change.before or "").splitlines()
    line = next(n for n in range(line, len(lines)) if lines[n].strip().startswith("a:")) + 1
    assert change.place == f"remove /data/a in deploy/cm.yaml:{line}"


def test_part_of_a_list_is_left_to_a_person(tmp_path: Path) -> None:
    item = GIT.replace("\n", "\n  ").rstrip(" ")
    files = checkout(tmp_path, deploy__cm=f"apiVersion: v1\nkind: List\nitems:\n- {item}")
    with pytest.raises(Refused, match="cannot be removed safely"):
        file_change(LET_GO, the_case(), files)


def test_what_goes_as_a_patch_and_in_words() -> None:
    case = the_case()
    patch = as_patch(LET_GO, case)
    head, *lines = patch.splitlines()
    assert head == "# delete ConfigMap shop/settings, declared in deploy"
    assert load("\n".join(line.removeprefix("-") for line in lines)) == case.desired[0].body
    assert as_commands(LET_GO, case)[0].startswith("# in Git: delete the manifest of ConfigMap shop/settings")
    with pytest.raises(Refused, match="this fix deletes ConfigMap shop/settings"):
        as_yaml(LET_GO, case)


def test_the_case_after_the_fix_does_not_have_the_object() -> None:
    case = the_case()
    assert applied(LET_GO, case).desired == ()
    assert is_usable(LET_GO, case)
    absent = Ref(version="v1", kind="ConfigMap", namespace="shop", name="gone")
    assert not is_usable(Fix.drop(absent, title="t"), case)


def twice() -> Case:
    """Two manifests of one object: the last one counts."""
    message = "Resource /ConfigMap/shop/settings appeared 2 times among application resources."
    condition: Object = {"type": "RepeatedResourceWarning", "message": message}
    app = application(
        status={"conditions": [condition], "resources": [row("ConfigMap", "settings", "Synced")]}
    )
    first, last = (config_map(data={"a": value}, desired=True) for value in ("first", "last"))
    return case_of(app, first, last, config_map(data={"a": "last"}))


def test_of_two_the_one_without_effect_goes(tmp_path: Path) -> None:
    written = {name: GIT.replace("a: git # here\n  b: same", f"a: {name}") for name in ("first", "last")}
    files = checkout(
        tmp_path, deploy__a=f"{OTHER}---\n{written['last']}", deploy__b=f"{OTHER}---\n{written['first']}"
    )
    change = file_change(LET_GO, twice(), files)
    assert (change.path, change.after) == ("deploy/b.yaml", OTHER)
    assert "-  a: first" in as_patch(LET_GO, twice())
    assert [desired_object.at("/data/a") for desired_object in applied(LET_GO, twice()).desired] == ["last"]


def test_what_helm_renders_twice_is_left_to_a_person(tmp_path: Path) -> None:
    files = checkout(tmp_path, deploy__Chart="name: shop\n", deploy__templates__cm=GIT)
    with pytest.raises(Refused) as caught:
        file_change(LET_GO, twice(), files)
    assert caught.value.next == "remove it from the input of Helm there"
