"""Mistakes in the configuration file: each is reported with its line, and no secret is shown."""

from __future__ import annotations

from pathlib import Path

import jsonschema_rs
import msgspec
import pytest

from tests.situations import ROOT
from whysync.errors import NotFound, Unreadable
from whysync.json_tree import Json, fields
from whysync.kubernetes.api import yaml
from whysync.notifications.check_config import check_file, check_text, read_config
from whysync.notifications.config import schema

EXAMPLE = ROOT / "docs/examples/whysync.yaml"
ENVIRON = {
    "SLACK_URL": "https://hooks.slack.com/services/T0/B0/s3cr3t",
    "PAGER_TOKEN": "s3cr3t",
    "ARGOCD_HOOK_SECRET": "s3cr3t",
}
GOOD = """\
version: 1
link: https://whysync.example.com
notifications:
  channels:
  - name: chat
    slack: {urlFrom: {env: SLACK_URL}}
  routes:
  - channels: [chat]
    match: {severity: [critical]}
    quietHours: {from: '22:00', to: '07:00', timezone: Europe/Berlin}
"""


def mistakes(text: str) -> list[str]:
    checked = check_text(text, ENVIRON)
    assert (checked.config is None) is bool(checked.mistakes)
    return [str(mistake) for mistake in checked.mistakes]


def test_a_file_without_mistakes() -> None:
    assert mistakes(GOOD) == []
    assert mistakes("version: 1") == []


@pytest.mark.parametrize(
    ("old", "new", "reported"),
    [
        ("version: 1", "version: 2", "line 1: version: it must be 1"),
        ("version: 1\n", "", "line 1: the field version is missing"),
        ("link: https", "link: ftp", "line 2: link: invalid value; it must be an http or https URL"),
        (
            "whysync.example.com",
            "me:pw@whysync.example.com",
            "line 2: link: a URL with a password is a secret",
        ),
        ("link: https://whysync.example.com", "link: 7", "line 2: link: it must be text, not a number"),
        (
            "notifications:",
            "notification:",
            "line 3: notification: unknown field; did you mean notifications?",
        ),
        ("name: chat", "name: Chat Room", "line 5: notifications.channels.0.name: invalid value"),
        ("slack: {", "slak: {", "line 6: notifications.channels.0.slak: unknown field; did you mean slack?"),
        (
            "urlFrom",
            "url",
            "line 6: notifications.channels.0.slack.url: unknown field; did you mean urlFrom?",
        ),
        (
            "env: SLACK_URL",
            "env: NOPE",
            "line 6: notifications.channels.0.slack.urlFrom: environment variable NOPE",
        ),
        ("env: SLACK_URL", "env: PAGER_TOKEN", "the secret is not an http or https URL"),
        ("env: SLACK_URL", "file: /nowhere/url", "/nowhere/url cannot be read: No such file"),
        ("env: SLACK_URL", "", "line 6: notifications.channels.0.slack.urlFrom: it needs either file or env"),
        (
            "channels: [chat]",
            "channels: [caht]",
            "line 8: notifications.routes.0.channels.0: there is no channel caht; did you mean chat?",
        ),
        ("channels: [chat]", "channels: []", "line 8: notifications.routes.0.channels: it must not be empty"),
        (
            "channels: [chat]",
            "channels: chat",
            "line 8: notifications.routes.0.channels: it must be a list, not text",
        ),
        (
            "[critical]",
            "[krittical]",
            "line 9: notifications.routes.0.match.severity.0: it must be one of critical, info, warning",
        ),
        (
            "'22:00'",
            "'25:00'",
            "line 10: notifications.routes.0.quietHours.from: invalid value; it must be a time",
        ),
        ("'22:00'", "2200", "line 10: notifications.routes.0.quietHours.from: it must be text, not a number"),
        ("'22:00'", "'07:00'", "from and to are equal"),
        (
            "Europe/Berlin",
            "Europe/Atlantis",
            "line 10: notifications.routes.0.quietHours.timezone: unknown time zone",
        ),
        ("Europe/Berlin", "../../etc/passwd", "unknown time zone"),
        (
            "    match:",
            "    continue: perhaps\n    match:",
            "line 9: notifications.routes.0.continue: it must be true or false",
        ),
        (
            "    match:",
            "    events: [open]\n    match:",
            "it must be one of opened, cause-changed, closed; did you mean opened?",
        ),
        (
            "link:",
            "retention: {incidentDays: 0}\nlink:",
            "line 2: retention.incidentDays: it must be 1 to 36500",
        ),
        ("link:", "hooks: {argocd: {}}\nlink:", "line 2: hooks.argocd: the field secretFrom is missing"),
        (
            "  routes:",
            "  - {name: chat, webhook: {url: 'http://x.example'}}\n  routes:",
            "another channel is named chat",
        ),
        (
            "  routes:",
            "  - {name: two}\n  routes:",
            "needs exactly one of webhook, slack and alertmanager; it has none",
        ),
        ("  routes:", "  - {name: two, webhook: {}}\n  routes:", "it needs either url or urlFrom"),
        (
            "  routes:",
            "  - {name: am, alertmanager: {url: 'http://x', labels: {a-b: c}}}\n  routes:",
            "invalid label name",
        ),
        (
            "  routes:",
            "  routes:\n  - {channels: [chat]}",
            "this route is never used: route 1 matches every incident",
        ),
        ("version: 1", "version: [1", "invalid YAML"),
        ("version: 1", "- a\n- b", ""),
    ],
)
def test_a_mistake_is_reported_with_its_line(old: str, new: str, reported: str) -> None:
    assert old in GOOD
    found = mistakes(GOOD.replace(old, new, 1))
    assert any(reported in mistake for mistake in found), found
    assert all(mistake.startswith("line ") for mistake in found)
    assert "s3cr3t" not in "".join(found)


@pytest.mark.parametrize(
    ("instance", "reported"),
    [
        ("{name: prod}", "line 3: instances.0: it needs server, kubeconfig, context, inCluster or bundle"),
        ("{name: Prod, server: x}", "line 3: instances.0.name: invalid value"),
        ("{name: prod, sever: x}", "line 3: instances.0.sever: unknown field; did you mean server?"),
        ("{name: prod, server: x, bundle: /}", "line 3: instances.0.bundle: a bundle is read alone"),
        ("{name: prod, context: x, inCluster: true}", "line 3: instances.0.inCluster: it is either"),
        ("{name: prod, context: x, tokenFrom: {env: PAGER_TOKEN}}", "instances.0.tokenFrom: a token needs a"),
        ("{name: prod, server: x, tokenFrom: {env: NONE}}", "line 3: instances.0.tokenFrom: "),
        ("{name: prod, bundle: /nowhere}", "line 3: instances.0.bundle: /nowhere does not exist"),
        (
            "{name: a, server: x}\n- {name: a, server: b}",
            "line 4: instances.1.name: another instance",
        ),
    ],
)
def test_mistakes_in_instances(instance: str, reported: str) -> None:
    found = mistakes(f"version: 1\ninstances:\n- {instance}\n")
    assert any(reported in mistake for mistake in found), found


def test_all_mistakes_are_reported_at_once() -> None:
    text = GOOD.replace("slack:", "slak:").replace("[critical]", "[urgent]").replace("'22:00'", "'22'")
    assert [mistake.partition(":")[0] for mistake in mistakes(text)] == ["line 6", "line 9", "line 10"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "a: 1\n---\nb: 2\n", "7", "[]", "null", "text"])
def test_a_file_that_is_no_configuration(text: str) -> None:
    assert mistakes(text)


def test_a_repeated_field_is_a_mistake() -> None:
    assert any("link" in mistake for mistake in mistakes(f"{GOOD}link: https://other.example.com\n"))


class TestFiles:
    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(NotFound):
            check_file(str(tmp_path / "missing.yaml"))

    def test_reading_lists_the_mistakes(self, tmp_path: Path) -> None:
        file = tmp_path / "whysync.yaml"
        file.write_text("version: 3\nfoo: 1\n")
        with pytest.raises(Unreadable) as caught:
            read_config(str(file))
        assert caught.value.what.endswith("has 2 mistakes")
        assert "line 1: version" in caught.value.why
        assert "line 2: foo" in caught.value.why

    def test_reading_a_good_file(self, tmp_path: Path) -> None:
        file = tmp_path / "whysync.yaml"
        file.write_text(GOOD)
        config = read_config(str(file), ENVIRON)
        assert config.kept.incidents.days == 365
        assert "s3cr3t" not in repr(config)


class TestPublished:
    def test_the_example_of_the_docs_is_valid(self) -> None:
        assert mistakes(EXAMPLE.read_text()) == []

    def test_the_schema_is_fresh_and_accepts_the_example(self) -> None:
        published: Json = msgspec.json.decode((ROOT / "docs/config-v1.schema.json").read_bytes())
        assert published == msgspec.json.decode(msgspec.json.encode(schema())), "make docs"
        validator = jsonschema_rs.validator_for(fields(published))
        assert validator.is_valid(yaml.load(EXAMPLE.read_text()))
        assert validator.is_valid(yaml.load(GOOD))

    @pytest.mark.parametrize(
        "text", ["version: 2", "{}", "version: 1\nfoo: 1", GOOD.replace("'22:00'", "'9'")]
    )
    def test_the_schema_refuses_mistakes(self, text: str) -> None:
        assert not jsonschema_rs.validator_for(schema()).is_valid(yaml.load(text))
