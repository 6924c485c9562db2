"""`whysync fix`: what it shows applies with git, what it writes is in the checkout and nowhere else."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.running import Whysync
from tests.situations import ROOT, application, bundle, config_map, row
from whysync.cli.parser import parser
from whysync.cli.source_flags import same_source_flags
from whysync.json_tree import Object, dig, fields, items
from whysync.kubernetes.api import yaml

BUNDLE = str(ROOT / "examples" / "autoscaler-loop")
APP = "my-api-service"
MANIFEST = """\
# the API, see docs/api.md
apiVersion: v1
kind: ConfigMap
metadata: {name: other, namespace: production}
---
apiVersion: apps/v1
kind: Deployment   # not a StatefulSet
metadata:
  name: "my-api-service"
  namespace: production
spec:
  # one is enough for the night
  replicas: 1   # scaled by hand before
  selector:
    matchLabels: {app: my-api-service}
  template:
    metadata:
      labels:
        app: my-api-service
    spec:
      containers:
        - name: api
          image: registry.example.com/my-api-service:1.4.2
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository as the app's source names it: `apps/my-api-service`, committed."""
    root = tmp_path / "checkout"
    folder = root / "apps" / APP
    folder.mkdir(parents=True)
    (folder / "deployment.yaml").write_text(MANIFEST)
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "first")
    return root


def git(folder: Path, *arguments: str, stdin: str | None = None) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        input=stdin.encode() if stdin is not None else None,
        capture_output=True,
        check=False,
        timeout=300,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"},
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def written(checkout: Path) -> str:
    return (checkout / "apps" / APP / "deployment.yaml").read_text()


def test_the_first_fix_of_the_first_finding_explains_itself(whysync: Whysync) -> None:
    result = whysync("fix", APP, "--bundle", BUNDLE)
    assert (result.code, result.err) == (0, "")
    head = [line for line in result.out.splitlines() if line.startswith("# ")]
    assert "sets 3 replicas of Deployment production/my-api-service, but Git declares 1" in head[0]
    assert head[1] == "# fix 1 of 2: Let the autoscaler own it: remove replicas from Git"
    assert "-  replicas: 1\n" in result.out


@pytest.mark.parametrize("format", ["text", "patch"])
def test_what_is_shown_applies_with_git(whysync: Whysync, checkout: Path, format: str) -> None:
    result = whysync("fix", APP, "--bundle", BUNDLE, "--pick", "1", "--checkout", str(checkout), "-o", format)
    assert result.code == 0
    git(checkout, "apply", stdin=result.out)
    assert written(checkout) == MANIFEST.replace("  replicas: 1   # scaled by hand before\n", "")


def test_written_into_the_checkout_comments_and_all(whysync: Whysync, checkout: Path) -> None:
    result = whysync("fix", APP, "--bundle", BUNDLE, "--write", "--local", str(checkout))
    assert (result.code, result.err) == (0, "")
    assert f"# wrote apps/{APP}/deployment.yaml\n" in result.out
    assert written(checkout) == MANIFEST.replace("  replicas: 1   # scaled by hand before\n", "")
    again = whysync("fix", APP, "--bundle", BUNDLE, "--write", "--checkout", str(checkout))
    assert again.code == 0
    assert "has this change already" in again.out
    assert git(checkout, "status", "--short") == f" M apps/{APP}/deployment.yaml\n"


def test_a_dry_run_writes_nothing(whysync: Whysync, checkout: Path) -> None:
    result = whysync("fix", APP, "--bundle", BUNDLE, "--write", "--dry-run", "--checkout", str(checkout))
    assert result.code == 0
    assert "# would write" in result.out
    assert git(checkout, "status", "--short") == ""


def test_the_mode_of_a_file_stays(whysync: Whysync, checkout: Path) -> None:
    file = checkout / "apps" / APP / "deployment.yaml"
    file.chmod(0o600)
    assert whysync("fix", APP, "--bundle", BUNDLE, "--write", "--checkout", str(checkout)).code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["deployment.yaml"], "nothing is left over"


def test_an_application_that_the_checkout_does_not_hold_is_patched_in_place(
    whysync: Whysync, checkout: Path
) -> None:
    arguments = ("fix", APP, "--bundle", BUNDLE, "--pick", "2", "--checkout", str(checkout))
    result = whysync(*arguments)
    assert result.code == 0
    assert "kubectl -n argocd patch application my-api-service --type merge" in result.out
    refused = whysync(*arguments, "--write")
    assert refused.code == 2
    assert "no file of the checkout contains Application argocd/my-api-service" in refused.err
    commands = whysync(*arguments, "-o", "commands").out.splitlines()
    assert commands[0].startswith("kubectl -n argocd patch application my-api-service --type merge -p '{")
    document = fields(yaml.load(whysync(*arguments, "-o", "yaml").out))
    assert "status" not in document
    assert dig(document, "spec", "syncPolicy", "syncOptions") == ["RespectIgnoreDifferences=true"]


def test_an_application_in_the_checkout_is_edited(whysync: Whysync, checkout: Path) -> None:
    known = next(Path(BUNDLE).glob("applications/*.yaml"))
    body = fields(yaml.load(known.read_text()))
    body.pop("status", None)
    file = checkout / "apps.yaml"
    file.write_text("# all our apps\n" + yaml.dump({"apiVersion": "v1", "kind": "List", "items": [body]}))
    result = whysync("fix", APP, "--bundle", BUNDLE, "--pick", "2", "--write", "--checkout", str(checkout))
    assert (result.code, result.err) == (0, "")
    text = file.read_text()
    assert text.startswith("# all our apps\n")
    assert dig(yaml.load(text), "items", 0, "spec", "ignoreDifferences", 0, "jsonPointers") == [
        "/spec/replicas"
    ]


def test_as_data(whysync: Whysync, checkout: Path) -> None:
    result = whysync("fix", APP, "--bundle", BUNDLE, "-o", "json", "--checkout", str(checkout))
    (fix,) = items(fields(json.loads(result.out))["fixes"])
    assert dig(fix, "fix", "kind") == "manifest"
    assert dig(fix, "file", "path") == f"apps/{APP}/deployment.yaml"
    assert dig(fix, "file", "written") is False
    assert (dig(fix, "number"), dig(fix, "of")) == (1, 2)


@pytest.mark.parametrize(
    "finding", ["1", "controller-owned", "C-controller-owned", "replicas_owned_by_autoscaler"]
)
def test_a_finding_goes_by_number_cause_and_rule(whysync: Whysync, finding: str) -> None:
    assert whysync("fix", APP, "--bundle", BUNDLE, "--finding", finding).code == 0


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--pick", "9"), "invalid --pick"),
        (("--pick", "0"), "invalid number"),
        (("--finding", "nonsense"), "finding 'nonsense' not found"),
        (("--finding", "0"), "finding '0' not found"),
        (("--finding", "99999999999999999999"), "not found"),
        (("--write",), "requires --checkout"),
        (("--dry-run",), "requires --checkout"),
        (("--file", "x.yaml"), "--file requires --checkout"),
        (("--apply",), "not supported"),
        (("--checkout", "/nowhere/at/all"), "there is no folder"),
    ],
)
def test_an_impossible_request_is_an_error(whysync: Whysync, flags: tuple[str, ...], expected: str) -> None:
    result = whysync("fix", APP, "--bundle", BUNDLE, *flags)
    assert (result.code, result.out) == (2, "")
    assert expected in result.err


def test_what_writes_is_asked_for_on_the_line(whysync: Whysync, checkout: Path) -> None:
    result = whysync("fix", APP, "--bundle", BUNDLE, "--checkout", str(checkout), WHYSYNC_WRITE="1")
    assert result.code == 0
    assert git(checkout, "status", "--short") == ""


def test_commands_are_commands(whysync: Whysync) -> None:
    database = str(ROOT / "examples" / "migration-cannot-reach-database")
    result = whysync("fix", "--bundle", database, "-o", "commands")
    assert result.code == 0
    assert result.out.splitlines()[-1] == "argocd app sync shop"
    refused = whysync("fix", "--bundle", database, "-o", "patch")
    assert refused.code == 2
    assert "-o commands" in refused.err
    as_yaml = whysync("fix", "--bundle", database, "-o", "yaml")
    assert (as_yaml.code, yaml.load(as_yaml.out)) == (0, {"apiVersion": "v1", "kind": "List", "items": []})
    assert "# argocd app sync shop\n" in as_yaml.out


@pytest.mark.parametrize(("health", "code"), [("Healthy", 0), ("Degraded", 1)])
def test_no_shared_fix_is_still_a_document(whysync: Whysync, tmp_path: Path, health: str, code: int) -> None:
    facts = ("fix", "--for-all", "--bundle", str(bundle(tmp_path, application(health=health))))
    result = whysync(*facts, "-o", "json")
    assert (result.code, json.loads(result.out)) == (code, {"version": 1, "fixes": []})
    assert ("no fix for several apps" in result.err) == bool(code)
    assert whysync(*facts, "-o", "yaml").code == code


def test_nothing_wrong_is_nothing_to_fix(whysync: Whysync, tmp_path: Path) -> None:
    result = whysync("fix", "--bundle", bundle(tmp_path, application(status={"resources": []})))
    assert (result.code, result.out) == (0, "")
    assert "nothing to fix" in result.err


# --- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("health", "code"), [("Healthy", 0), ("Degraded", 1)])
def test_data_without_a_fix_is_still_a_document(
    whysync: Whysync, tmp_path: Path, health: str, code: int
) -> None:
    """Nothing is wrong, or nothing explains it: whoever reads the output finds no fix in it."""
    facts = str(bundle(tmp_path, application(health=health)))
    result = whysync("fix", "--bundle", facts, "-o", "json")
    assert (result.code, json.loads(result.out)) == (code, {"version": 1, "fixes": []})
    result = whysync("fix", "--bundle", facts, "-o", "yaml")
    assert (result.code, yaml.load(result.out)) == (code, {"apiVersion": "v1", "kind": "List", "items": []})
    assert whysync("fix", "--bundle", facts, "-o", "patch").out == ""


def test_a_kustomization_is_not_guessed_at(whysync: Whysync, checkout: Path) -> None:
    """It cannot be rendered, with or without Kustomize on this machine."""
    (checkout / "apps" / APP / "kustomization.yaml").write_text(
        "resources: [deployment.yaml, missing.yaml]\n"
    )
    result = whysync("fix", APP, "--bundle", BUNDLE, "--write", "--checkout", str(checkout))
    assert result.code == 2
    assert "rendered by Kustomize" in result.err
    assert f"apps/{APP}/deployment.yaml:6" in result.err, "where it starts from"
    assert written(checkout) == MANIFEST


def test_a_chart_is_not_guessed_at(whysync: Whysync, checkout: Path) -> None:
    (checkout / "apps" / APP / "Chart.yaml").write_text("name: api\n")
    result = whysync("fix", APP, "--bundle", BUNDLE, "--checkout", str(checkout))
    assert result.code == 2
    assert "rendered by Helm" in result.err


def test_two_places_ask_for_a_choice(whysync: Whysync, checkout: Path) -> None:
    copy = checkout / "apps" / APP / "copy.yml"
    copy.write_text(MANIFEST)
    arguments = ("fix", APP, "--bundle", BUNDLE, "--write", "--checkout", str(checkout))
    result = whysync(*arguments)
    assert result.code == 2
    assert "declared in 2 places" in result.err
    assert whysync(*arguments, "--file", f"./apps/{APP}/copy.yml").code == 0
    assert written(checkout) == MANIFEST
    assert "replicas" not in copy.read_text()
    assert "there is no file" in whysync(*arguments, "--file", "../../etc/passwd").err


def test_another_commit_is_told(whysync: Whysync, checkout: Path) -> None:
    (checkout / "apps" / APP / "deployment.yaml").write_text(MANIFEST.replace("replicas: 1", "replicas: 7"))
    result = whysync("fix", APP, "--bundle", BUNDLE, "--write", "--checkout", str(checkout))
    assert result.code == 2
    assert "differs at /spec/replicas" in result.err


def test_links_are_not_followed_out_of_the_checkout(whysync: Whysync, checkout: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.yaml"
    outside.write_text(MANIFEST)
    file = checkout / "apps" / APP / "deployment.yaml"
    file.unlink()
    file.symlink_to(outside)
    result = whysync("fix", APP, "--bundle", BUNDLE, "--write", "--checkout", str(checkout))
    assert result.code == 2
    assert outside.read_text() == MANIFEST
    file_flags = ("--file", f"apps/{APP}/deployment.yaml")
    assert (
        whysync("fix", APP, "--bundle", BUNDLE, "--write", "--checkout", str(checkout), *file_flags).code == 2
    )
    assert outside.read_text() == MANIFEST


def test_a_linked_folder_is_not_entered(whysync: Whysync, checkout: Path, tmp_path: Path) -> None:
    folder = checkout / "apps" / APP
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    result = whysync("fix", APP, "--bundle", BUNDLE, "--write", "--checkout", str(checkout))
    assert result.code == 2
    assert (tmp_path / "elsewhere" / "deployment.yaml").read_text() == MANIFEST


def edited_by_hand(path: str = "deploy") -> tuple[Object, ...]:
    """Somebody edited a ConfigMap: the value can be committed."""
    managed: Object = {
        "manager": "kubectl-edit",
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-03-02T01:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}},
    }
    live = config_map(data={"a": "live"})
    fields(live["metadata"])["managedFields"] = [managed]
    source: Object = {"repoURL": "https://git.example.com/shop.git", "path": path, "targetRevision": "main"}
    return (
        application(
            sync="OutOfSync",
            spec={"source": source},
            status={"resources": [row("ConfigMap", "settings", "OutOfSync")]},
        ),
        config_map(data={"a": "git"}, desired=True),
        live,
    )


def test_a_path_that_leads_out_is_refused(whysync: Whysync, tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    facts = bundle(tmp_path, *edited_by_hand("../../etc"))
    result = whysync("fix", "--bundle", facts, "--write", "--checkout", str(tmp_path / "c"))
    assert result.code == 2
    assert "is outside the repository" in result.err


def test_secrets_of_the_file_do_not_come_along(whysync: Whysync, tmp_path: Path) -> None:
    """The lines around a change are left out where they hold a secret; so close by, nothing is shown."""
    facts = bundle(tmp_path, *edited_by_hand())
    folder = tmp_path / "c" / "deploy"
    folder.mkdir(parents=True)
    secret = (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  password: hunter2hunter2\n---\n"
    )
    settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: git}\n"
    (folder / "all.yaml").write_text(secret + settings)
    arguments = ("fix", "--bundle", facts, "--checkout", str(tmp_path / "c"))
    result = whysync(*arguments)
    assert result.code == 0
    assert "hunter2" not in result.out
    assert '+data: {a: "live"}' in result.out
    (folder / "all.yaml").write_text(
        settings.replace("{a: git}", "\n  password: hunter2hunter2\n  a: git") + "---\n" + secret
    )
    close = whysync(*arguments)
    assert "hunter2" not in close.out + close.err
    assert close.code == 2
    wrote = whysync(*arguments, "--write")
    assert wrote.code == 0
    assert "hunter2" not in wrote.out
    assert "not shown" in wrote.out
    assert "  a: live\n" in (folder / "all.yaml").read_text()


def test_one_app_at_a_time(whysync: Whysync, tmp_path: Path) -> None:
    folder = tmp_path / "facts"
    for directory in ("applications", "desired/shop", "desired/twin", "live"):
        (folder / directory).mkdir(parents=True)
    for name in ("shop", "twin"):
        app, desired, live = edited_by_hand()
        fields(app["metadata"])["name"] = name
        fields(dig(app, "spec", "destination"))["namespace"] = name
        fields(items(dig(app, "status", "resources"))[0])["namespace"] = name
        fields(desired["metadata"]).update({"namespace": name, "annotations": {}})
        fields(live["metadata"])["namespace"] = name
        (folder / "applications" / f"{name}.yaml").write_text(json.dumps(app))
        (folder / "desired" / name / "all.yaml").write_text(json.dumps(desired))
        (folder / "live" / f"{name}.yaml").write_text(json.dumps(live))
    (tmp_path / "c").mkdir()
    assert whysync("fix", "--bundle", str(folder)).out.count("# fix 1 of") == 2
    result = whysync("fix", "--bundle", str(folder), "--write", "--checkout", str(tmp_path / "c"))
    assert result.code == 2
    assert "needs a single app" in result.err


EVIL = "\x1b]0;x\x07\x9b31m\u202e\n$(touch pwned); `id` 'q' \"d\" | ../../etc"


@pytest.mark.parametrize("format", ["text", "patch", "yaml", "commands", "json"])
@pytest.mark.parametrize("pick", ["1", "2"])
def test_hostile_names_are_quoted(whysync: Whysync, tmp_path: Path, format: str, pick: str) -> None:
    """No control characters, and nothing that a shell would run."""
    app, desired, live = edited_by_hand()
    fields(app["metadata"])["name"] = f"shop{EVIL}"
    for obj in (desired, live):
        fields(obj["metadata"])["name"] = f"settings{EVIL}"
        fields(obj["data"])[EVIL] = EVIL
    fields(items(dig(app, "status", "resources"))[0])["name"] = f"settings{EVIL}"
    result = whysync("fix", "--bundle", bundle(tmp_path, app, desired, live), "-o", format, "--pick", pick)
    assert result.code in (0, 2)
    assert sorted({c for c in result.out + result.err if not c.isprintable() and c != "\n"}) == []
    if format == "commands":
        shell = "set -f; argocd() { :; }; kubectl() { :; }; git() { :; }\n"
        done = subprocess.run(["bash", "-c", shell + result.out], cwd=tmp_path, check=False, timeout=300)
        assert done.returncode == 0
        assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    "text", ["a: [", "\x00", "- " * 3000, "{" * 5000, "a: &x [*x]\n", "---\n---\n", "\xff\xfe"]
)
def test_files_that_are_no_manifests_are_passed_over(whysync: Whysync, checkout: Path, text: str) -> None:
    odd = checkout / "apps" / APP / "a-first.yaml"
    odd.write_bytes(f"# Deployment {APP}\n{text}".encode("latin-1"))
    result = whysync("fix", APP, "--bundle", BUNDLE, "--write", "--checkout", str(checkout))
    assert (result.code, result.err) == (0, "")
    assert "replicas" not in written(checkout)


def apply_command_in(out: str) -> str:
    (line,) = [line for line in out.splitlines() if line.startswith("    apply ")]
    return line.strip().removeprefix("apply").strip()


def test_the_apply_command_reads_the_same_bundle(whysync: Whysync, tmp_path: Path) -> None:
    folder = tmp_path / "a bundle"
    folder.symlink_to(ROOT / "examples/autoscaler-loop")
    command = apply_command_in(whysync("diagnose", "--bundle", str(folder)).out)
    assert command == f"whysync fix my-api-service --bundle '{folder}' --checkout DIR --write"
    parts = shlex.split(command.partition(" --checkout")[0])
    assert "proven" in whysync(*parts[1:]).out


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ([], ""),
        (["--core", "--context", "prod", "-N", "team-a"], " --app-namespace team-a --context prod --core"),
        (["--server", "argocd.example.com", "--auth-token", "secret"], " --server argocd.example.com"),
        (["--kubeconfig", "my config", "-H", "Authorization: secret"], " --kubeconfig 'my config'"),
        (["--bundle", "end", "--bundle", "-"], None),  # what came from a pipe is gone
    ],
)
def test_source_flags_are_repeated_without_secrets(flags: list[str], expected: str | None) -> None:
    options = parser({}, verb="diagnose").parse_args(["diagnose", *flags])
    assert same_source_flags(options) == expected


def test_a_lab_run_has_an_apply_command_only_with_a_bundle(whysync: Whysync, tmp_path: Path) -> None:
    assert "    apply  " not in whysync("lab", "run", "hpa-loop").out
    bundle_path = str(tmp_path / "end")
    assert f"fix my-api-service --bundle {bundle_path} " in apply_command_in(
        whysync("lab", "run", "hpa-loop", "--bundle", bundle_path).out
    )
