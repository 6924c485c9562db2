"""Names from a hostile bundle stay words in the commands that drift, health and freshness rules propose."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from tests.rules.bench import BUNDLES, case_name, findings_of, rule_for
from whysync.diagnosis.case import Case
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.facts.bundle import read_bundle
from whysync.kubernetes.api.yaml import Document, documents

FOLDERS = [
    folder
    for folder in BUNDLES
    if folder.parts[-3] in ("drift", "health", "fresh") and (folder / "case.yaml").is_file()
]
# What a name in a hostile bundle may hold; it stands where the cases say `shop`, and for their namespace.
HOSTILE = "x$(touch${IFS}p)y"


def _hostile(folder: Path) -> Case | None:
    bodies = [
        document.body
        for document in documents((folder / "case.yaml").read_bytes())
        if isinstance(document, Document)
    ]
    text = "".join(f"---\n{json.dumps(body)}\n" for body in bodies)
    text = text.replace("shop", HOSTILE).replace('"web"', f'"{HOSTILE}"')
    world = SnapshotIndex(read_bundle(["-"], stdin=io.BytesIO(text.encode())))
    return Case(world, *world.decoded[0]) if world.decoded else None


def _runs(command: str) -> str:
    """What a shell would look at: without what is quoted, and without remarks."""
    return re.sub(r"(^|\s)#.*", "", re.sub(r"'[^']*'", "", command))


@pytest.mark.parametrize("folder", FOLDERS, ids=case_name)
def test_hostile_names_stay_words(folder: Path) -> None:
    case = _hostile(folder)
    assert case is not None
    for finding in findings_of(rule_for(folder), case):
        for command in (command for fix in finding.fixes for command in fix.commands):
            assert "\n" not in command
            assert "$(" not in _runs(command), command
