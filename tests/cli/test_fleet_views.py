"""`diagnose` without names: what is broken, the worst first, each cause once; the other apps are counted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.running import Whysync
from tests.situations import application, bundle, row
from whysync.json_tree import Object, dig, fields, items

LOAD = (
    "Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code ="
    " Unknown desc = "
)
GONE = "failed to list refs: dial tcp: lookup {} on 10.96.0.10:53: no such host"


def unreachable(name: str, host: str, **more: Object) -> Object:
    condition: Object = {
        "type": "ComparisonError",
        "message": LOAD + GONE.format(host),
        "lastTransitionTime": "2026-03-02T03:00:00Z",
    }
    return application(name, sync="Unknown", status={"conditions": [condition], **more})


@pytest.fixture
def fleet(tmp_path: Path) -> str:
    return bundle(
        tmp_path,
        application("a-fine"),
        application("b-degraded", health="Degraded"),
        unreachable("c-git", "git.example.com"),
        unreachable("d-git", "git.example.com"),
        unreachable("e-other-git", "other.example.com"),
        application("f-fine"),
    )


def shown(out: str) -> list[str]:
    return re.findall(r"^[✗?…✓] (\S+) ", out, re.MULTILINE)


def test_only_what_is_broken_and_each_cause_once(whysync: Whysync, fleet: str) -> None:
    result = whysync("diagnose", "--bundle", fleet)
    assert shown(result.out) == ["c-git", "e-other-git", "b-degraded"]
    assert "same in 1 other app: d-git\n" in result.out
    assert "4 of 6 need attention · 0 in progress · 2 fine" in result.out
    assert "a-fine" not in result.out
    assert result.code == 1


def test_two_hosts_are_not_called_one_cause(whysync: Whysync, fleet: str) -> None:
    for verb in ("diagnose", "list"):
        out = whysync(verb, "--bundle", fleet).out
        assert re.findall(r"(\d+) apps, one cause", out) == ["2"]


def test_named_apps_are_shown_in_full(whysync: Whysync, fleet: str) -> None:
    out = whysync("diagnose", "d-git", "a-fine", "c-git", "--bundle", fleet).out
    assert shown(out) == ["d-git", "a-fine", "c-git"]
    assert "need attention" not in out


def test_one_app_alone_is_shown_even_if_nothing_is_wrong(whysync: Whysync, tmp_path: Path) -> None:
    out = whysync("diagnose", "--bundle", bundle(tmp_path, application("alone"))).out
    assert shown(out) == ["alone"]


def test_data_has_all_apps(whysync: Whysync, fleet: str) -> None:
    report = fields(json.loads(whysync("diagnose", "--bundle", fleet, "-o", "json").out))
    assert len(items(report["apps"])) == 6
    assert len(whysync("diagnose", "--bundle", fleet, "-o", "name").out.split()) == 6
    keys = {
        str(dig(app, "name")): dig(items(dig(app, "findings"))[0], "key")
        for app in items(report["apps"])
        if dig(app, "findings")
    }
    assert keys["c-git"] == {"kind": "host", "name": "git.example.com", "scope": "", "detail": "dns"}
    assert keys["c-git"] == keys["d-git"] != keys["e-other-git"]


def test_an_app_with_another_cause_in_addition_is_shown(whysync: Whysync, tmp_path: Path) -> None:
    """The other one has unhealthy Pods too: its line under the first app would hide that."""
    more = {"resources": [row("Deployment", "web", health={"status": "Degraded", "message": "no Pods"})]}
    second = unreachable("two", "git.example.com", **more)  # pyright: ignore[reportArgumentType]  (a status)
    fields(dig(second, "status", "health"))["status"] = "Degraded"
    path = bundle(tmp_path, unreachable("one", "git.example.com"), second)
    assert sorted(shown(whysync("diagnose", "--bundle", path).out)) == ["one", "two"]


def test_a_fleet_without_problems(whysync: Whysync, tmp_path: Path) -> None:
    path = bundle(tmp_path, application("one"), application("two"))
    result = whysync("diagnose", "--bundle", path)
    assert (result.code, result.out) == (0, "✓ 0 of 2 need attention · 0 in progress · 2 fine\n")


def test_what_could_not_be_read_is_said_even_if_nothing_is_broken(whysync: Whysync, tmp_path: Path) -> None:
    header: Object = {
        "apiVersion": "whysync.dev/v1",
        "kind": "Bundle",
        "gaps": [{"what": "logs of web", "why": "forbidden"}],
    }
    path = bundle(tmp_path, application("one"), application("two"), header)
    for format in ("text", "html"):
        result = whysync("diagnose", "--bundle", path, "-o", format)
        assert "logs of web: forbidden" in result.out
        assert result.code == 3


@pytest.mark.parametrize("verb", ["diagnose", "list"])
def test_short_has_three_lines_per_app_and_no_color(whysync: Whysync, fleet: str, verb: str) -> None:
    out = whysync(verb, "--bundle", fleet, "-o", "short", FORCE_COLOR="1").out
    assert "\x1b" not in out
    *apps, summary = out.strip().split("\n\n")
    assert summary == "4 of 6 need attention · 0 in progress · 2 fine"
    assert [len(app.splitlines()) for app in apps] == [3, 3, 3]
    headline, why, fix = apps[0].splitlines()
    assert headline.startswith("c-git and 1 more (d-git): Unknown · Healthy")
    assert why.startswith("why: cannot compare: ")
    assert fix.startswith("fix: ")
    assert fix.endswith("→ whysync fix c-git")


def test_short_of_a_named_app_without_problems(whysync: Whysync, fleet: str) -> None:
    out = whysync("a-fine", "--bundle", fleet, "-o", "short").out
    why = "Argo CD reports no problem, but only its status was checked; the app has no resources"
    assert out == f"a-fine: Synced · Healthy\nwhy: {why}\nfix: none needed\n"


@pytest.mark.parametrize("verb", ["diagnose", "list"])
def test_html_needs_nothing_from_elsewhere(whysync: Whysync, fleet: str, verb: str) -> None:
    page = whysync(verb, "--bundle", fleet, "-o", "html").out
    assert "default-src 'none'" in page.replace("&#x27;", "'")
    assert "prefers-color-scheme:dark" in page
    assert 'name="viewport"' in page
    assert not re.search(r"<(script|img|link|iframe)|src=|url\(|@import", page)
    assert not re.search(r'href="(?!#)', page)
    assert page.index("4 of 6 need attention") < page.index("c-git") < page.index("b-degraded")
