"""What argocd-cm and argocd-cmd-params-cm say, and what happens when they say it badly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whysync.argocd.settings import (
    FilteredResource,
    GlobalProject,
    IgnoreRule,
    KnownTypeField,
    ResourceOverride,
    Settings,
    health_override,
    known_type_fields,
    overrides_from_json,
    resource_excluded,
)
from whysync.argocd.settings.settings import duration_seconds
from whysync.json_tree import Object


def read(data: dict[str, str], params: dict[str, str] | None = None) -> Settings:
    return Settings.from_config_maps({"data": {**data}}, {"data": {**(params or {})}})


STATUS = IgnoreRule(json_pointers=("/status",))


def test_nothing_said_means_the_defaults() -> None:
    assert Settings.from_config_maps(None, None) == Settings() == read({})
    assert Settings().overrides == {"*/*": ResourceOverride(ignore_differences=STATUS)}
    assert Settings().comparison_problem is None


WHOLE = """
apps/Deployment:
  health.lua: |
    return {}
  health.lua.useOpenLibs: true
  ignoreDifferences: |
    jsonPointers: [/spec/replicas]
    JQPATHEXPRESSIONS: [.spec.x]
    managedFieldsManagers: [kube-controller-manager, 5]
  ignoreResourceUpdates: |
    jsonPointers: [/metadata/x]
  knownTypeFields:
  - {field: spec.pod, type: core/v1/PodSpec}
"""


def test_one_text_for_all_kinds() -> None:
    assert read({"resource.customizations": WHOLE}).overrides["apps/Deployment"] == ResourceOverride(
        health_lua="return {}\n",
        use_open_libs=True,
        ignore_differences=IgnoreRule(
            json_pointers=("/spec/replicas",),
            jq_path_expressions=(".spec.x",),
            managed_fields_managers=("kube-controller-manager", "5"),
        ),
        ignore_resource_updates=IgnoreRule(json_pointers=("/metadata/x",)),
        known_type_fields=(KnownTypeField(field="spec.pod", type="core/v1/PodSpec"),),
    )


def test_split_keys_go_over_the_whole_text() -> None:
    prefix = "resource.customizations."
    snapshot = read(
        {
            "resource.customizations": WHOLE,
            f"{prefix}health.apps_Deployment": "return 1",
            f"{prefix}useOpenLibs.apps_Deployment": "false",
            f"{prefix}ignoreDifferences.Service": "jsonPointers: [/spec/x]",
            f"{prefix}ignoreDifferences.all": "managedFieldsManagers: [m]",
            f"{prefix}health": "too few parts, skipped",
            f"{prefix}knownTypeFields.a.b.io_Thing": "- {field: f, type: t}",
        }
    )
    assert snapshot.problems == ()
    deployment = snapshot.overrides["apps/Deployment"]
    assert (deployment.health_lua, deployment.use_open_libs) == ("return 1", False)
    assert deployment.ignore_differences.json_pointers == ("/spec/replicas",)
    assert snapshot.overrides["Service"].ignore_differences == IgnoreRule(json_pointers=("/spec/x",))
    assert snapshot.overrides["*/*"].ignore_differences == IgnoreRule(managed_fields_managers=("m",)) + STATUS
    assert snapshot.overrides["a.b.io/Thing"].known_type_fields == (KnownTypeField(field="f", type="t"),)
    assert set(snapshot.overrides) == {"apps/Deployment", "Service", "*/*", "a.b.io/Thing"}


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("resource.customizations.lua.Pod", "x", "resource customization type lua not supported"),
        ("resource.customizations.health.a_b_c", "x", "got group kind: 'a_b_c'"),
        (
            "resource.customizations.useOpenLibs.Pod",
            "yes",
            'strconv.ParseBool: parsing "yes": invalid syntax',
        ),
        (
            "resource.customizations.ignoreDifferences.Pod",
            "[1]",
            "cannot unmarshal array into Go value of type",
        ),
        ("resource.customizations.ignoreDifferences.Pod", "jsonPointers: x", "of type []string"),
        ("resource.customizations", "just text", "map[string]v1alpha1.ResourceOverride"),
        ("resource.customizations", "Pod: {health.lua: 5}", "cannot unmarshal number into Go struct field"),
        (
            "resource.customizations",
            "Pod: {ignoreDifferences: {jsonPointers: []}}",
            "unmarshal object into Go struct field rawResourceOverride.ignoreDifferences of type string",
        ),
        ("resource.customizations", "a: [", "error converting YAML to JSON: yaml: "),
        (
            "resource.compareoptions",
            "ignoreAggregatedRoles: 'yes'",
            "ArgoCDDiffOptions.ignoreAggregatedRoles",
        ),
        ("resource.exclusions", "apps", "error unmarshalling excluded resources "),
        ("resource.inclusions", "- x", "error unmarshalling included resources "),
    ],
)
def test_what_cannot_be_read_breaks_every_comparison(key: str, value: str, expected: str) -> None:
    problem = read({key: value}).comparison_problem
    assert problem is not None
    assert problem.key == key
    assert expected in problem.message


def test_bad_global_projects_do_not_break_comparing() -> None:
    snapshot = read({"globalProjects": "x"})
    assert snapshot.comparison_problem is None
    assert [problem.key for problem in snapshot.problems] == ["globalProjects"]


@pytest.mark.parametrize(
    ("value", "keys"),
    [
        ("all", {"*/*"}),
        ("crd", {"apiextensions.k8s.io/CustomResourceDefinition"}),
        ("none", set[str]()),
        ("off", set[str]()),
        ("false", set[str]()),
        ("banana", {"*/*"}),
        ("''", {"*/*"}),
    ],
)
def test_where_status_is_ignored(value: str, keys: set[str]) -> None:
    snapshot = read({"resource.compareoptions": f"ignoreResourceStatusField: {value}"})
    assert set(snapshot.overrides) == keys
    assert all(override.ignore_differences == STATUS for override in snapshot.overrides.values())


def test_rules_for_refreshes_hold_what_always_changes() -> None:
    always = ("/metadata/resourceVersion", "/metadata/generation", "/metadata/managedFields")
    result = read({"resource.customizations": WHOLE}).resource_update_overrides()
    assert result["*/*"].ignore_differences.json_pointers == ("/status", *always)
    assert result["apps/Deployment"].ignore_differences.json_pointers == ("/metadata/x", "/spec/replicas")
    narrow = read(
        {
            "resource.customizations": WHOLE,
            "resource.compareoptions": "ignoreDifferencesOnResourceUpdates: false",
        }
    ).resource_update_overrides()
    assert narrow["*/*"].ignore_differences.json_pointers == always
    assert narrow["apps/Deployment"].ignore_differences.json_pointers == ("/metadata/x",)


def test_the_plain_settings() -> None:
    snapshot = read(
        {
            "application.resourceTrackingMethod": "label",
            "application.instanceLabelKey": "example.com/app",
            "installationID": "one",
            "resource.sensitive.mask.annotations": "a, b",
            "timeout.reconciliation": "1h30m",
            "timeout.reconciliation.jitter": "0",
            "application.sync.impersonation.enabled": "true",
            "globalProjects": "- projectName: base\n  labelSelector: {matchLabels: {a: b}}",
        },
        {
            "application.namespaces": "team-*, other",
            "controller.diff.server.side": "TRUE",
            "controller.resource.health.persist": "true",
            "controller.repo.error.grace.period.seconds": "5",
        },
    )
    assert snapshot.tracking_method == "label"
    assert snapshot.instance_label_key == "example.com/app"
    assert snapshot.installation_id == "one"
    assert snapshot.sensitive_annotations == {"a", "b"}
    assert (snapshot.reconciliation_seconds, snapshot.reconciliation_jitter_seconds) == (5400, 0)
    assert snapshot.application_namespaces == ("team-*", "other")
    assert snapshot.server_side_diff
    assert snapshot.persist_resource_health
    assert snapshot.repo_error_grace_seconds == 5
    assert snapshot.impersonation_enabled
    assert snapshot.impersonation_enforced
    assert snapshot.global_projects == (
        GlobalProject(name="base", label_selector={"matchLabels": {"a": "b"}}),
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("", 7), ("0", 0), ("3m", 180), ("1.5h", 5400), ("2d", 172800), ("90", 7), ("-1s", 7), ("soon", 7)],
)
def test_durations(text: str, seconds: int) -> None:
    assert duration_seconds(text, 7) == seconds


@pytest.mark.parametrize(
    ("group", "kind", "excluded"),
    [
        ("events.k8s.io", "Event", True),
        ("", "Event", True),
        ("coordination.k8s.io", "Lease", True),
        ("apps", "Deployment", False),
        ("cilium.io", "CiliumIdentity", True),
    ],
)
def test_exclusions(group: str, kind: str, *, excluded: bool) -> None:
    settings = read({"resource.exclusions": "- {apiGroups: ['cilium.*'], kinds: [CiliumIdentity]}"})
    assert resource_excluded(settings, group, kind, "https://prod") is excluded


def test_inclusions_exclude_the_rest_of_their_clusters() -> None:
    settings = Settings(resource_inclusions=(FilteredResource(api_groups=("apps",), clusters=("prod*",)),))
    assert not resource_excluded(settings, "apps", "Deployment", "prod1")
    assert resource_excluded(settings, "batch", "Job", "prod1")
    assert not resource_excluded(settings, "batch", "Job", "dev")


def test_scripts_by_exact_key_then_glob() -> None:
    overrides = overrides_from_json(
        {"Pod": {"health.lua": "pod"}, "*.io/*": {"health.lua": "glob"}, "a.io/B": {"actions": "x"}}
    )
    assert [
        result.health_lua if (result := health_override(overrides, group, kind)) else None
        for group, kind in [("", "Pod"), ("a.io", "B"), ("apps", "Deployment")]
    ] == ["pod", "glob", None]


def test_known_types_have_a_preset() -> None:
    rollout = ("argoproj.io", "Rollout")
    assert known_type_fields({})[rollout][0].type == "core/v1/PodSpec"
    mine = (KnownTypeField(field="f", type="t"),)
    overrides = {"argoproj.io/Rollout": ResourceOverride(known_type_fields=mine)}
    assert known_type_fields(overrides) == {rollout: mine}


KEYS = st.sampled_from(
    [
        "resource.customizations",
        "resource.customizations.health.a_b",
        "resource.customizations.ignoreDifferences.Pod",
        "resource.customizations.knownTypeFields.Pod",
        "resource.compareoptions",
        "resource.exclusions",
        "globalProjects",
        "timeout.reconciliation",
    ]
)
LINES = st.lists(
    st.sampled_from(["a: b", "- x", "{}", "jsonPointers: [x]", "Pod:", "  health.lua: 1", "[", "\t", "!!x"]),
    max_size=5,
).map("\n".join)


@given(st.dictionaries(KEYS, LINES | st.text(max_size=20), max_size=4))
def test_any_text_is_read_or_named(data: dict[str, str]) -> None:
    config_map: Object = {"data": {**data}}
    result = Settings.from_config_maps(config_map, None)
    assert all(problem.key in data for problem in result.problems)
