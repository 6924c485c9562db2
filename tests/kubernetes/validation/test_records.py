"""Every write that a real API server accepted or refused, against the recorded answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kubernetes.validation.replay import Played, played, read
from tests.shared import CONFORMANCE, needs_shared
from whysync.json_tree import copy_object, fields, text
from whysync.kubernetes.validation import problems_on_update

pytestmark = needs_shared

# What is known not to agree, with the reason. The list may only get shorter.
UNKNOWN = {
    # the server's own configuration: one family of addresses
    ("apiserver_immutable/put-service-headless-to-clusterip", 2),
    # defaults of ResourceClaims are not filled in
    ("apiserver_immutable/resourceclaim-spec", 1),
    # CEL is not compiled
    ("apiserver_errors/invalid-vap-bad-cel", 0),
}
# Admission by policies and webhooks is not what these checks are about.
OTHER_OPS = frozenset({"vap", "webhook", "conflict", "podsecurity", "quota", "rbac"})
FILES = {
    "apiserver_immutable": 0.98,
    "apiserver_errors": 0.98,
    "apiserver_defaults": 1.0,
    "apiserver_patch": 1.0,
    "apiserver_ssa": 1.0,
    "apiserver_delete": 1.0,
}


def _writes(name: str) -> Iterator[tuple[str, Played]]:
    for line in (CONFORMANCE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        record = read(line)
        if record.get("op") in OTHER_OPS:
            continue
        for write in played(record):
            yield text(record.get("id")), write


@pytest.mark.parametrize("name", FILES)
def test_the_checks_answer_as_the_server_did(name: str) -> None:
    writes = list(_writes(name))
    wrong = {(record, write.index) for record, write in writes if not write.agrees}
    assert 1 - len(wrong) / len(writes) >= FILES[name], sorted(wrong)
    if name in {"apiserver_immutable", "apiserver_errors"}:
        assert wrong <= UNKNOWN, sorted(wrong - UNKNOWN)


@pytest.mark.parametrize("name", [*FILES, "apiserver_crd"])
def test_a_stored_object_may_stay_as_it_is(name: str) -> None:
    refused: list[str] = []
    for record, write in _writes(name):
        obj = fields(write.recorded.get("object"))
        if obj and problems_on_update(obj, copy_object(obj)):
            refused.append(f"{record}: {problems_on_update(obj, obj)[0]}")
    assert refused == []


def test_what_is_listed_as_unknown_still_is() -> None:
    names = {record.partition("/")[0] for record, _ in UNKNOWN}
    wrong = {(record, write.index) for name in names for record, write in _writes(name) if not write.agrees}
    assert wrong >= UNKNOWN


def test_the_records_hold_many_refusals() -> None:
    """Otherwise agreement would mean little."""
    refused = [write for _, write in _writes("apiserver_immutable") if write.recorded.get("code") == 422]
    assert len(refused) > 80
