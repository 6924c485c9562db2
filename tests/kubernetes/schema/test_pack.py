"""The tables of built-in types."""

from __future__ import annotations

from importlib.resources import files

import pytest

from whysync.kubernetes.schema import Type, kinds, type_named, type_of


def struct(api_version: str, kind: str) -> Type:
    schema = type_of(api_version, kind)
    assert schema is not None
    return schema


def test_every_type_can_be_unfolded() -> None:
    """Every struct that a table refers to is in a table."""
    visited: set[str] = set()
    waiting = [type_of(version, kind) for version, names in kinds().items() for kind in sorted(names)]
    while waiting:
        kind = waiting.pop()
        while kind is not None and kind.element is not None:
            kind = kind.element
        if kind is None or kind.kind != "struct" or kind.name in visited:
            continue
        visited.add(kind.name)
        waiting.extend(field.type for field in kind.struct.fields.values())
    assert len(visited) > 800


def test_all_keys_of_lists_are_fields_of_their_items() -> None:
    for version, names in kinds().items():
        for kind in names:
            for field in struct(version, kind).struct.fields.values():
                for key in (*field.list_keys, *([field.merge_key] if field.merge_key else [])):
                    assert key in field.type.of.struct.fields


def test_a_field_knows_how_it_is_written_and_merged() -> None:
    containers = type_named("core/v1.PodSpec").struct.fields["containers"]
    assert (containers.merges, containers.merge_key, containers.list_keys) == (True, "name", ("name",))
    ports = type_named("core/v1.Container").struct.fields["ports"]
    assert (ports.merge_key, ports.list_keys) == ("containerPort", ("containerPort", "protocol"))
    assert type_named("core/v1.ContainerPort").struct.fields["protocol"].default == "TCP"
    volumes = type_named("core/v1.PodSpec").struct.fields["volumes"]
    assert (volumes.merges, volumes.retain_keys) == (True, True)
    replicas = struct("apps/v1", "Deployment").struct.fields["spec"].type.struct.fields["replicas"]
    assert (replicas.type.kind, replicas.type.pointer, replicas.omit_empty) == ("int", True, True)
    assert type_named("meta/v1.ObjectMeta").struct.fields["finalizers"].is_set
    assert type_named("meta/v1.LabelSelector").struct.atomic


def test_inlined_structs_are_flat() -> None:
    assert "configMap" in type_named("core/v1.Volume").struct.fields
    assert "image" in type_named("core/v1.EphemeralContainer").struct.fields


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("apps/v1", "Deployment"),
        ("extensions/v1beta1", "Ingress"),
        ("networking.k8s.io/v1", "Ingress"),
        ("v1", "Secret"),
        ("resource.k8s.io/v1", "ResourceClaim"),
    ],
)
def test_kinds_that_argo_cd_canonicalises(api_version: str, kind: str) -> None:
    assert type_of(api_version, kind, in_scheme=True) is not None


def test_definitions_and_aggregated_apis_have_types_but_are_not_canonicalised() -> None:
    for api_version, kind in (
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("apiregistration.k8s.io/v1", "APIService"),
    ):
        assert type_of(api_version, kind) is not None
        assert type_of(api_version, kind, in_scheme=True) is None


def test_custom_resources_have_no_type() -> None:
    assert type_of("example.com/v1", "Thing") is None
    assert type_of("apps/v1", "Thing") is None
    assert type_of("", "") is None


def test_the_tables_stay_small() -> None:
    data = files("whysync.kubernetes.schema") / "data"
    assert sum(len(file.read_bytes()) for file in data.iterdir()) < 300_000
