"""What the command line shows of proofs: a mark, the timeline where it is wanted, nothing if told so."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.running import Whysync
from tests.situations import EXAMPLES, application, bundle
from whysync.json_tree import dig, items

EXAMPLE = str(next(path for path in EXAMPLES if path.name == "autoscaler-loop"))
LOOP = ("diagnose", "--bundle", EXAMPLE)


def test_a_proven_fix_has_its_mark(whysync: Whysync) -> None:
    out = whysync(*LOOP).out
    assert "fix 1        Let the autoscaler own it: remove replicas from Git   ✓ proven\n" in out
    assert "without the fix" not in out


def test_the_timeline_is_shown_where_it_is_asked_for(whysync: Whysync) -> None:
    lines = [line.strip() for line in whysync(*LOOP, "--show-proof").out.splitlines()]
    start = lines.index("without the fix")
    assert lines[start + 1] == "+0:00  OutOfSync · Healthy"
    assert lines.index("with the fix") > start
    assert any(line.startswith("loop  about every") for line in lines)
    assert "+9:00  Synced · Healthy, after 3 more rounds, the last with a sync" in lines


def test_nothing_is_tried_if_told_so(whysync: Whysync) -> None:
    result = whysync(*LOOP, "--no-proof", "-o", "json")
    report = json.loads(result.out)
    fixes = items(dig(report, "apps", 0, "findings", 0, "fixes"))
    assert fixes
    for fix in fixes:
        assert dig(fix, "proof", "status") == "not-run"
        assert dig(fix, "proof", "why") == "--no-proof is set"
    assert "proven" not in whysync(*LOOP, "--no-proof").out


def test_a_proof_as_data(whysync: Whysync) -> None:
    proof = dig(json.loads(whysync(*LOOP, "-o", "json").out), "apps", 0, "findings", 0, "fixes", 0, "proof")
    assert (dig(proof, "status"), dig(proof, "rounds"), dig(proof, "why")) == ("proven", 3, "")
    assert items(dig(proof, "trace"))[0] == "without the fix"


def test_fix_says_it_too(whysync: Whysync) -> None:
    shown = ("fix", "--bundle", EXAMPLE)
    assert "\n# proven over 3 rounds on a model of the cluster\n" in whysync(*shown).out
    assert "proven" not in whysync(*shown, "--no-proof").out


def test_of_many_apps_none_is_tried_and_that_is_said_once(whysync: Whysync, tmp_path: Path) -> None:
    apps = [
        application(
            f"app-{number}",
            sync="Unknown",
            status={
                "conditions": [
                    {
                        "type": "ComparisonError",
                        "message": "rpc error: code = Unknown desc = authentication required",
                    }
                ]
            },
        )
        for number in range(11)
    ]
    out = whysync("diagnose", "--bundle", bundle(tmp_path, *apps)).out
    assert out.count("more than 10 apps have findings; pass the name of an app") == 1
