"""What a rule hides a sync writes all the same: `nothing differs` is no verdict then."""

from __future__ import annotations

import pytest

from tests.proofs.worlds import bundle, in_git, settings, synced, there
from tests.situations import case_of, row
from whysync.diagnosis.case import Case
from whysync.json_tree import Json, Object
from whysync.proofs.scope import has_ignored_difference
from whysync.proofs.sync_safety import safety_of

NOTHING = "nothing differs, so it changes nothing"


def case(
    *rules: Object, settings_of: dict[str, str] | None = None, live: str = "by hand", options: Json = None
) -> Case:
    listed: list[Json] = [*rules]
    spec: Object = {"ignoreDifferences": listed}
    if options is not None:
        spec["syncPolicy"] = {"syncOptions": options}
    config: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm", "namespace": "argocd"},
        "data": {**(settings_of or {})},
    }
    app = synced(row("ConfigMap", "settings"), spec=spec)
    objects = (in_git(settings("settings")), there(settings("settings", data={"a": live, "more": "x"})))
    return case_of(bundle(), app, config, *objects)


def hides(of: Case) -> bool:
    return has_ignored_difference(of, of.desired[0], of.live_of(of.desired[0].key))


def rule(**more: Json) -> Object:
    return {"kind": "ConfigMap", "jsonPointers": ["/data/a"], **more}


IGNORED = "resource.customizations.ignoreDifferences"
POINTERS = "jsonPointers: [/data/a]"
JQ = "jqPathExpressions: [.data.a]"
MANAGERS = "managedFieldsManagers: [somebody]"


@pytest.mark.parametrize(
    "of",
    [
        case(rule()),
        case(rule(group="*", kind="*")),
        case(rule(kind="Config*")),  # group and kind are globs
        case(rule(name="settings", namespace="shop")),
        case(rule(jsonPointers=[], jqPathExpressions=[".data.a"])),
        case(rule(jsonPointers=[], managedFieldsManagers=["somebody"])),
        case(settings_of={f"{IGNORED}.ConfigMap": POINTERS}),
        case(settings_of={f"{IGNORED}.all": POINTERS}),
        case(settings_of={f"{IGNORED}.ConfigMap": JQ}),
        case(settings_of={f"{IGNORED}.all": JQ}),
        case(settings_of={f"{IGNORED}.all": MANAGERS}),
    ],
)
def test_what_is_hidden_is_tried(of: Case) -> None:
    assert hides(of)
    assert NOTHING not in [reason.text for reason in safety_of(of).reasons]


@pytest.mark.parametrize(
    "of",
    [
        case(),
        case(rule(), live="b"),  # the same on both sides
        case(rule(kind="Secret")),
        case(rule(group="apps")),
        case(rule(name="other")),
        case(rule(namespace="another")),
        case(rule(jsonPointers=["/data/b"])),
        case(rule(jsonPointers=["no pointer"])),
        case(rule(), options=["RespectIgnoreDifferences=true"]),
        case(settings_of={f"{IGNORED}.Secret": JQ}),
        case(settings_of={f"{IGNORED}.all": JQ}, live="b"),  # all that Git says is there
        case(settings_of={f"{IGNORED}.all": MANAGERS}, live="b"),
    ],
)
def test_what_is_not_hidden_is_not(of: Case) -> None:
    assert not hides(of)


def test_what_is_not_there_hides_nothing() -> None:
    of = case(rule())
    assert not has_ignored_difference(of, of.desired[0], None)
