"""What ignore rules hide, by which rule, and why a rule hides nothing."""

from __future__ import annotations

from tests.argocd.compare.comparing import application, compared, config_map, live_config_map
from whysync.argocd.compare.ignored_fields import IdleRule, IgnoredFields
from whysync.json_tree import Json, Object

WANTED = config_map(data={"a": "1", "b": "2"})
THERE = live_config_map(data={"a": "x", "b": "y"})


class Looked:
    """The one resource, compared under some rules."""

    def __init__(self, *rules: Json, settings: Object | None = None, live: Object = THERE) -> None:
        app = application(spec={"ignoreDifferences": list(rules)})
        self.comparison = compared(app=app, targets=[WANTED], live=[live], settings=settings)
        self.fields = IgnoredFields(self.comparison)

    @property
    def hidden(self) -> list[tuple[str, str, str]]:
        return [
            (field.change.pointer, field.rule.origin if field.rule else "", field.selector)
            for field in self.fields.of(self.comparison.resources[0])
        ]

    @property
    def idle(self) -> tuple[IdleRule, ...]:
        return self.fields.idle_rules()


def test_a_pointer_hides_its_field_and_no_other() -> None:
    result = Looked({"kind": "ConfigMap", "jsonPointers": ["/data/a"]})
    assert result.hidden == [("/data/a", "spec.ignoreDifferences[0]", "/data/a")]
    assert result.idle == ()


def test_an_expression_and_a_manager_are_named() -> None:
    record: Json = [{"manager": "tuner", "operation": "Update", "fieldsV1": {"f:data": {"f:b": {}}}}]
    live = live_config_map(data={"a": "x", "b": "y"}, managedFields=record)
    result = Looked(
        {"kind": "ConfigMap", "managedFieldsManagers": ["tuner"]},
        {"kind": "ConfigMap", "jqPathExpressions": [".data.a"]},
        live=live,
    )
    assert result.hidden == [
        ("/data/a", "spec.ignoreDifferences[1]", ".data.a"),
        ("/data/b", "spec.ignoreDifferences[0]", "tuner"),
    ]


def test_a_rule_of_the_settings_is_named_by_its_key() -> None:
    settings: Object = {"resource.customizations.ignoreDifferences.ConfigMap": "jsonPointers: [/data/a]\n"}
    result = Looked(settings=settings)
    assert result.hidden == [("/data/a", "argocd-cm, resource.customizations of ConfigMap", "/data/a")]


def test_a_rule_about_an_equal_field_hides_nothing() -> None:
    result = Looked(
        {"kind": "ConfigMap", "jsonPointers": ["/data/a"]}, live=live_config_map(data={"a": "1", "b": "y"})
    )
    assert result.hidden == []
    assert [idle.rule.position for idle in result.idle] == [0]


def test_a_rule_of_the_wrong_group_is_idle_and_is_told_the_right_one() -> None:
    idle = Looked({"group": "apps", "kind": "ConfigMap", "jsonPointers": ["/data/a"]}).idle
    assert len(idle) == 1
    assert "core group" in idle[0].why
    assert idle[0].about is not None


def test_a_rule_about_another_kind_matches_nothing() -> None:
    idle = Looked({"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]}).idle
    assert [item.why for item in idle] == ["it matches no resource of the app"]


def test_where_nothing_is_live_no_rule_can_be_judged() -> None:
    app = application(spec={"ignoreDifferences": [{"kind": "ConfigMap", "jsonPointers": ["/data/a"]}]})
    idle = IgnoredFields(compared(app=app, targets=[WANTED])).idle_rules()
    assert [item.why for item in idle] == ["the app has no live resources"]


def test_rules_that_do_not_compile_hide_nothing() -> None:
    result = Looked({"kind": "ConfigMap", "jqPathExpressions": [".data["]})
    assert result.hidden == []
    assert result.idle == ()
