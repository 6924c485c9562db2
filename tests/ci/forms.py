"""What the readers of reports require: SARIF 2.1.0 as GitHub takes it, JUnit, GitLab's code quality."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

from whysync.json_tree import Object, dig, fields, integer, items, text

LEVELS = {"none", "note", "warning", "error"}
SEVERITIES = {"info", "minor", "major", "critical", "blocker"}


def check_sarif(written: str, root: Path) -> list[Object]:
    """The results. The rules are those of the schema, and of GitHub's page on what it reads."""
    log = fields(json.loads(written))
    assert log["version"] == "2.1.0"
    assert re.fullmatch(r"https://\S+sarif\S*2\.1\.0\S*\.json", text(log["$schema"]))
    (run,) = items(log["runs"])
    driver = fields(dig(run, "tool", "driver"))
    assert text(driver["name"])
    rules = [text(fields(item)["id"]) for item in items(driver["rules"])]
    assert len(rules) == len(set(rules))
    for item in map(fields, items(driver["rules"])):
        assert text(dig(item, "shortDescription", "text"))
        assert dig(item, "defaultConfiguration", "level") in LEVELS
    result = [fields(item) for item in items(fields(run)["results"])]
    assert len(result) <= 25_000, "GitHub takes no more"
    for item in result:
        assert rules[integer(item["ruleIndex"])] == item["ruleId"]
        assert item["level"] in LEVELS
        assert text(dig(item, "message", "text"))
        assert items(item["locations"]), "GitHub shows none without a place"
        for place in items(item["locations"]):
            uri = text(dig(place, "physicalLocation", "artifactLocation", "uri"))
            assert not uri.startswith(("/", "..", "file:")), uri
            assert re.fullmatch(r"[A-Za-z0-9._~!$&'()*+,;=:@%/-]+", uri)
            assert (root / unquote(uri)).is_file()
            assert integer(dig(place, "physicalLocation", "region", "startLine")) >= 1
        assert all(isinstance(value, str) for value in fields(item["partialFingerprints"]).values())
    return result


def check_junit(written: str) -> ElementTree.Element:
    root = ElementTree.fromstring(written)
    assert root.tag == "testsuites"
    for suite in root:
        assert suite.tag == "testsuite"
        cases = list(suite)
        assert all(case.tag == "testcase" and case.get("name") and case.get("classname") for case in cases)
        assert int(suite.get("tests", "")) == len(cases)
        assert int(suite.get("failures", "")) == sum(1 for case in cases if case.find("failure") is not None)
        assert int(suite.get("skipped", "")) == sum(1 for case in cases if case.find("skipped") is not None)
    return root


def check_code_quality(written: str) -> list[Object]:
    result = [fields(load) for load in items(json.loads(written))]
    for item in result:
        assert {"description", "check_name", "fingerprint", "severity", "location"} <= item.keys()
        assert item["severity"] in SEVERITIES
        assert text(dig(item, "location", "path"))
        assert not text(dig(item, "location", "path")).startswith("./")
        assert integer(dig(item, "location", "lines", "begin")) >= 1
    prints = [text(item["fingerprint"]) for item in result]
    assert len(prints) == len(set(prints))
    return result
