"""Every recorded answer is ours too, or is listed as a known difference; and the counting itself is right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conformance.checks import failed_checks, lacks_fragments, mismatch, multiset_mismatch
from tests.conformance.known import differences_markdown, known_differences
from tests.conformance.runner import module_of, run, run_file
from tests.shared import CONFORMANCE, needs_shared
from whysync.json_tree import Json

FILES = sorted(file for file in CONFORMANCE.glob("*.jsonl") if module_of(file.stem) is not None)


@needs_shared
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_recorded_answers_are_ours(file: Path) -> None:
    for result in run_file(file):
        unknown = [f"{failure.record}: {'; '.join(failure.mismatches)}" for failure in result.unknown]
        assert not unknown, "\n".join([str(result), *unknown[:20]])
        gone = set(known_differences().get(result.name, {})) - {failure.record for failure in result.failures}
        assert not gone, f"known differences of {result.name} that differ no more: {sorted(gone)}"


def test_what_nothing_can_judge_counts_as_failed(tmp_path: Path) -> None:
    (tmp_path / "nobody_knows.jsonl").write_text('{"id": "a"}\n\n[1]\n{broken\n', encoding="utf-8")
    (tmp_path / "health.jsonl").write_text('{"id": "h", "object": 5}\n', encoding="utf-8")
    results = {result.name: result for result in run(tmp_path)}
    assert str(results["nobody_knows"]) == "nobody_knows 0/3"
    assert [failure.record for failure in results["nobody_knows"].unknown] == [
        "a",
        "nobody_knows.jsonl:3",
        "nobody_knows.jsonl:4",
    ]
    assert str(results["health.status"]) == "health.status 0/1"


RARE: dict[str, list[Json]] = {
    "tracking": [
        {"id": "t1", "op": "is-old-method", "method": "label", "expect": {"old": True}},
        {
            "id": "t2",
            "op": "get",
            "object": {"metadata": {"labels": {"mine": "shop"}}},
            "key": "mine",
            "method": "label",
            "expect": {"app_name": "shop"},
        },
        {
            "id": "t3",
            "op": "parse-tracking-id",
            "tracking_id": "shop:apps/Deployment:prod/web",
            "expect": {"error": False, "app_name": "shop", "kind": "Deployment", "namespace": "prod"},
        },
    ],
    "project": [
        {
            "id": "p1",
            "op": "merge-global-project",
            "project": {"spec": {"sourceRepos": ["a"]}},
            "global_project": {"spec": {"sourceRepos": ["b"]}},
            "expect": {"merged": [{"path": "/spec/sourceRepos", "op": "equals", "value": ["a", "b"]}]},
        },
        {
            "id": "p2",
            "op": "impersonation-user",
            "destination_service_accounts": [],
            "cluster": {"server": "https://x"},
            "expect": {"user": ""},
        },
    ],
    "sync_order": [
        {
            "id": "s1",
            "op": "annotation-csv",
            "object": {"metadata": {"annotations": {"a": "x, y"}}},
            "key": "a",
            "expect": {"values_any_order": ["y", "x"]},
        },
        {
            "id": "s2",
            "op": "sort",
            "tasks": [
                {"task": "web", "object": {"kind": "Pod"}},
                {"task": "ns", "object": {"kind": "Namespace"}},
            ],
            "expect": {"effective": {"web": {"wave": 0}}},
        },
    ],
    "diff": [
        {
            "id": "d1",
            "op": "strip-namespace",
            "object": {"metadata": {"namespace": "a", "annotations": {}}},
            "expect": {"result": [{"path": "/metadata", "op": "equals", "value": {}}]},
        }
    ],
}


@pytest.mark.parametrize("name", RARE)
def test_questions_that_our_vectors_do_not_ask(name: str, tmp_path: Path) -> None:
    """And records that say less than ours: what is not claimed agrees, what is claimed is compared."""
    file = tmp_path / f"{name}.jsonl"
    file.write_text("".join(f"{json.dumps(record)}\n" for record in RARE[name]), encoding="utf-8")
    (result,) = run_file(file)
    assert not result.failures, result.failures


def test_differences_page_names_every_entry() -> None:
    page = differences_markdown()
    for entries in known_differences().values():
        for record, why in entries.items():
            assert f"- `{record}`: {why}" in page


OBJECT: Json = {
    "spec": {"replicas": 3.0, "paused": False, "args": [], "ports": [{"name": "a", "port": 1}], "cpu": "0.5"},
    "note": None,
}


@pytest.mark.parametrize(
    ("path", "op", "value", "holds"),
    [
        ("/spec/replicas", "equals", 3, True),
        ("/spec/replicas", "equals", 4, False),
        ("/spec/paused", "equals", 0, False),
        ("/note", "present", None, True),
        ("/note", "absent", None, False),
        ("/spec/none", "absent", None, True),
        ("/spec/none", "equals", None, False),
        ("/note", "empty", None, True),
        ("/spec/args", "empty", None, True),
        ("/spec/paused", "empty", None, False),
        ("/spec/ports", "not_empty", None, True),
        ("/spec/paused", "falsy", None, True),
        ("/spec/args", "falsy", None, False),
        ("/spec/ports", "length", 1, True),
        ("/spec/none", "length", 0, False),
        ("/spec/ports", "has_item", {"port": 1}, True),
        ("/spec/ports", "has_item", {"port": 2}, False),
        ("/spec/cpu", "quantity_equals", "500m", True),
        ("/spec/none", "quantity_equals", "0", True),
        ("/spec/cpu", "quantity_equals", "5", False),
        ("", "text_contains", "replicas", True),
        ("/spec", "text_not_contains", "note", True),
        ("/spec", "text_not_contains", "replicas", False),
        ("/spec", "dances", None, False),
    ],
)
def test_checks_on_an_object(path: str, op: str, value: Json, *, holds: bool) -> None:
    failures = failed_checks(OBJECT, [{"path": path, "op": op, "value": value}])
    assert (failures == []) is holds


def test_comparisons_tell_what_differs() -> None:
    assert mismatch("phase", "Running", "Running") == []
    assert mismatch("phase", "Running", "Failed") == ['phase: expected "Running", got "Failed"']
    assert lacks_fragments("error", ["a", "b"], "cab") == []
    assert len(lacks_fragments("error", ["a", "x"], "cab")) == 1
    assert lacks_fragments("error", "a", None)
    assert multiset_mismatch("names", ["a", "b", "b"], ["b", "a", "b"]) == []
    assert multiset_mismatch("names", ["a", "b", "b"], ["b", "a", "a"])
