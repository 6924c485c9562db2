"""The same answer in every form; and the same bytes whatever the order or the hash seed."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path

import jsonschema_rs
import pytest

from tests.cli.running import Whysync, process
from tests.situations import EXAMPLES, ROOT, application, bundle, row
from whysync.json_tree import Json, Object, fields, items
from whysync.kubernetes.api.yaml import Document, dump, load
from whysync.kubernetes.api.yaml import documents as documents_of

ALL = [word for path in EXAMPLES for word in ("--bundle", str(path))]
SCHEMA = ROOT / "docs/report-v1.schema.json"

# The parts that others build on, by hand from the design: a renamed key is a broken promise.
REPORT = {"version", "apps", "groups", "applicationSets"}
CHANGE = {"kind", "what", "ref", "time", "who", "before", "after", "command"}
APP = {
    "name", "namespace", "project", "sync", "health", "side", "findings", "unexplained", "safety", "gaps",
    "skipped", "crashed", "instance", "applicationSet", "manifests",
    "hidden",
    "changes",
    "notUnderstood",
}  # fmt: skip
FINDING = {
    "id", "rule", "cause", "severity", "confidence", "verdict", "root", "about", "field", "writer",
    "explains", "causedBy", "evidence", "fixes", "rejectedFixes", "key", "predicted", "location",
}  # fmt: skip
FIX = {"title", "kind", "patch", "risk", "destroys", "proof", "location"}
PROOF = {"status", "kind", "rounds", "why", "trace"}
REF = {"group", "version", "kind", "namespace", "name", "cluster"}
EVIDENCE = {"source", "ref", "pointer", "value", "says"}
WRITER = {"manager", "operation", "subresource", "time", "kind"}
SYMPTOM = {"id", "kind", "ref", "text"}
GROUP = {"cause", "rule", "apps", "fix", "what", "checked", "key"}


def objects(value: Json) -> list[Object]:
    return [fields(item) for item in items(value)]


def the_report(whysync: Whysync, *arguments: str) -> Object:
    return json.loads(whysync("diagnose", *arguments, "-o", "json").out)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_json_holds_to_the_published_schema(whysync: Whysync, example: Path) -> None:
    report = the_report(whysync, "--bundle", str(example))
    jsonschema_rs.validator_for(json.loads(SCHEMA.read_text())).validate(report)


def test_the_schema_notices_what_is_wrong(whysync: Whysync) -> None:
    check = jsonschema_rs.validator_for(json.loads(SCHEMA.read_text()))
    report = the_report(whysync, *ALL)
    first = objects(report["apps"])[0]
    first["side"] = 5
    assert not check.is_valid(report)
    del first["side"]
    assert not check.is_valid(report)


def test_json_has_exactly_the_promised_keys(whysync: Whysync, tmp_path: Path) -> None:
    odd = application("odd", health="Degraded", status={"resources": [row("ConfigMap", "x", "OutOfSync")]})
    report = the_report(whysync, *ALL, "--bundle", bundle(tmp_path, odd))
    assert report.keys() == REPORT
    assert report["version"] == 1
    assert all(group.keys() == GROUP for group in objects(report["groups"]))
    apps = objects(report["apps"])
    assert len(apps) == 6
    findings = [finding for app in apps for finding in objects(app["findings"])]
    fixes = [fix for finding in findings for fix in objects(finding["fixes"])]
    evidence = [obj for finding in findings for obj in objects(finding["evidence"])]
    symptoms = [symptom for app in apps for symptom in objects(app["unexplained"])]
    writers = [fields(finding["writer"]) for finding in findings if finding["writer"] is not None]
    changes = [fields(app["changes"]) for app in apps if app["changes"] is not None]
    assert findings
    assert changes
    assert fixes
    assert evidence
    assert symptoms
    assert writers
    for group, keys in (
        (apps, APP),
        (findings, FINDING),
        (fixes, FIX),
        (evidence, EVIDENCE),
        (symptoms, SYMPTOM),
        (writers, WRITER),
        ([fields(fix["proof"]) for fix in fixes], PROOF),
        ([fields(finding["about"]) for finding in findings], REF),
        ([fields(app["safety"]) for app in apps], {"sync", "outcome", "reasons"}),
        ([r for app in apps for r in objects(fields(app["safety"])["reasons"])], {"kind", "text", "refs"}),
        ([obj for app in apps for obj in objects(app["skipped"])], {"rule", "needs"}),
        (changes, {"began", "shownBy", "items", "gaps"}),
        ([obj for change in changes for obj in objects(change["items"])], CHANGE),
    ):
        assert all(entry.keys() == keys for entry in group)
    for app in apps:
        ids = [str(finding["id"]) for finding in objects(app["findings"])]
        assert len(set(ids)) == len(ids)
        assert app["side"] in ("compare", "drift", "apply", "health", "fresh", "none")
    for finding in findings:
        assert finding["severity"] in ("info", "warning", "critical")
        assert finding["confidence"] in ("high", "medium", "low")
    for fix in fixes:
        assert fix["kind"] in ("application", "project", "manifest", "settings", "policy", "command")
        assert fields(fix["proof"])["status"] in ("proven", "likely", "not-run")


@pytest.mark.parametrize("verb", ["diagnose", "list"])
def test_yaml_is_the_same_data(whysync: Whysync, verb: str) -> None:
    read = load(whysync(verb, *ALL, "-o", "yaml").out)
    assert read == json.loads(whysync(verb, *ALL, "-o", "json").out)


def test_name_is_one_app_a_line(whysync: Whysync) -> None:
    expected = whysync("list", *ALL, "-o", "name", "--sort", "name").out
    assert whysync("diagnose", *ALL, "-o", "name").out == expected
    assert whysync("get", *expected.split(), *ALL, "-o", "name").out == expected


def test_list_json_has_a_row_per_app(whysync: Whysync) -> None:
    listed = json.loads(whysync("list", *ALL, "-o", "json", "--sort", "name").out)
    assert [app["name"] for app in listed["apps"]] == [
        "billing",
        "checkout",
        "docs",
        "my-api-service",
        "shop",
    ]
    assert {app["cause"] for app in listed["apps"]} == {
        "crashloop",
        "repo-auth",
        "polling-lag",
        "controller-owned",
        "hook-failed",
    }


def test_markdown_tables_have_as_many_cells_as_heads(whysync: Whysync) -> None:
    for verb in ("diagnose", "list"):
        lines = whysync(verb, *ALL, "-o", "markdown").out.replace("\\|", "").splitlines()
        for before, line in pairwise(lines):
            if before.startswith("|") and line.startswith("|"):
                assert line.count("|") == before.count("|")


def test_the_same_bytes_whatever_the_hash_seed() -> None:
    for format in ("text", "json"):
        runs = [
            process("diagnose", *ALL, "-o", format, environ={"PYTHONHASHSEED": seed})
            for seed in ("0", "1", "77")
        ]
        assert runs[0].out
        assert runs[0] == runs[1] == runs[2]


@pytest.fixture(scope="module")
def heap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All examples as one file."""
    documents: list[Json] = []
    for file in sorted(ROOT.glob("examples/**/*.yaml")):
        if file.parent.name != "git" and file.name != "bundle.yaml":
            for parsed in documents_of(file.read_text()):
                assert isinstance(parsed, Document)
                document = parsed.body
                if "desired" in file.parts:
                    meta = fields(fields(document)["metadata"])
                    meta["annotations"] = {
                        **fields(meta.get("annotations")),
                        "whysync.dev/role": "desired",
                        "argocd.argoproj.io/tracking-id": f"{file.parent.name}:x",
                    }
                documents.append(document)
    path = tmp_path_factory.mktemp("heap") / "straight.yaml"
    path.write_text("---\n".join(dump(body) for body in documents))
    return path


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_files_changes_nothing(whysync: Whysync, heap: Path, tmp_path: Path, seed: int) -> None:
    """All examples as one heap of documents, shuffled: the same report each time."""
    documents = heap.read_text().split("---\n")
    random.Random(seed).shuffle(documents)
    shuffled = tmp_path / "shuffled.yaml"
    shuffled.write_text("---\n".join(documents))
    result = whysync("diagnose", "--bundle", str(heap), "-o", "json")
    assert result.code == 1
    assert whysync("diagnose", "--bundle", str(shuffled), "-o", "json") == result
