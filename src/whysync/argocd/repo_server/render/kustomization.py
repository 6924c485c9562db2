"""Applies the Kustomize options of an Application to a kustomization, as `kustomize edit` does.

Mirrors util/kustomize, Argo CD 3.6, and `kustomize edit` 5.8. It is implemented here because kubectl can
build a kustomization, but not edit it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from whysync.argocd.repo_server.render.environment import substituted
from whysync.argocd.repo_server.render.problem import RenderProblem
from whysync.golang.fmt import go_type
from whysync.json_tree import Json, Object, copy_object, fields, items, text

_IMAGE_FORMS: Final = (
    "invalid format of image, use one of the following options:\n"
    "- <image>=<newimage>:<newtag>\n"
    "- <image>=<newimage>@<digest>\n"
    "- <image>=<newimage>:<newtag>@<digest>\n"
    "- <image>=<newimage>\n"
    "- <image>:<newtag>\n"
    "- <image>@<digest>\n"
    "- <image>:<newtag>@<digest>"
)


class EditFailed(Exception):
    """The error of `kustomize edit`, and its arguments."""

    def __init__(self, arguments: Sequence[str], why: str) -> None:
        super().__init__(why)
        self.arguments = tuple(arguments)
        self.why = why


def edited(
    before: Object, options: Object, env: Mapping[str, str], *, exists: Callable[[str], bool]
) -> Object:
    """The kustomization with the options of `spec.source.kustomize`.

    `exists` returns whether a component exists. Raises `EditFailed`, `RenderProblem`.
    """
    body = copy_object(before)
    for field, option in (("namePrefix", "namePrefix"), ("nameSuffix", "nameSuffix")):
        if text(options.get(option)):
            body[field] = text(options.get(option))
    if items(options.get("images")):
        _set_images(body, [substituted(text(image), env) for image in items(options.get("images"))])
    if items(options.get("replicas")):
        _set_replicas(body, items(options.get("replicas")))
    if fields(options.get("commonLabels")):
        _add_labels(body, options, env)
    if fields(options.get("commonAnnotations")):
        _add_annotations(body, options, env)
    if text(options.get("namespace")):
        body["namespace"] = text(options.get("namespace"))
    if items(options.get("patches")):
        _add_patches(body, items(options.get("patches")))
    if items(options.get("components")):
        _add_components(body, options, exists)
    return body


def _set_images(body: Object, references: Sequence[str]) -> None:
    arguments = ("edit", "set", "image", *references)
    images: dict[str, Object] = {}
    for reference in references:
        image = _image(reference, arguments)
        images[text(image.get("name"))] = image
    for old in map(fields, items(body.get("images"))):
        name = text(old.get("name"))
        new = images.setdefault(name, old)
        if new is not old:
            for field in ("newName", "newTag", "digest"):
                if new.get(field) == "*":  # keep the value of the file
                    new[field] = text(old.get(field))
    body["images"] = [
        {key: value for key, value in image.items() if value not in ("", "*")}
        for _, image in sorted(images.items())
    ]


def _image(reference: str, arguments: Sequence[str]) -> Object:
    key, equals, value = reference.partition("=")
    if not equals:
        key, value = "", reference
    name, tag, digest = split_image(value)
    if name == reference:
        raise EditFailed(arguments, f"Error: {_IMAGE_FORMS}")
    renamed: Object = {"name": key, "newName": name} if equals and key else {"name": name}
    return {**renamed, "newTag": tag, "digest": digest}


def split_image(image: str) -> tuple[str, str, str]:
    """Name, tag and digest; a colon before the last slash separates a port."""
    reference, _, digest = image.partition("@")
    path, slash, last = reference.rpartition("/")
    name, _, tag = last.partition(":")
    return f"{path}{slash}{name}", tag, digest


def _set_replicas(body: Object, replicas: Sequence[Json]) -> None:
    counts: dict[str, Json] = {}
    for replica in map(fields, replicas):
        count = replica.get("count")
        if isinstance(count, str):
            try:
                count = int(count) if len(count) < 10 else None
            except ValueError:
                count = None
            if count is None:
                raise RenderProblem(f"expected integer value for count. Received: {replica.get('count')}")
        counts[text(replica.get("name"))] = count if isinstance(count, int) else 0
    for old in map(fields, items(body.get("replicas"))):
        counts.setdefault(text(old.get("name")), old.get("count"))
    body["replicas"] = [{"name": name, "count": count} for name, count in sorted(counts.items())]


def _add_labels(body: Object, options: Object, env: Mapping[str, str]) -> None:
    force = options.get("forceCommonLabels") is True
    without_selector = options.get("labelWithoutSelector") is True
    templates = options.get("labelIncludeTemplates") is True
    labels = {
        name: substituted(_scalar(value), env) for name, value in fields(options.get("commonLabels")).items()
    }
    flags = [
        *(["--force"] if force else []),
        *(["--without-selector"] if without_selector else []),
        *(["--include-templates"] if templates else []),
    ]
    arguments = ("edit", "add", "label", *flags, *(f"{name}:{value}" for name, value in labels.items()))
    if templates and not without_selector:
        why = "--without-selector flag must be specified for --include-templates to work"
        raise EditFailed(arguments, f"Error: {why}")
    if not without_selector:
        pairs = dict(fields(body.get("commonLabels")))
        _add(pairs, labels, "label", arguments, force=force)
        body["commonLabels"] = pairs
        return
    groups = [dict(fields(label)) for label in items(body.get("labels"))]
    label_group = next(
        (
            group
            for group in groups
            if group.get("includeSelectors") is not True
            and (group.get("includeTemplates") is True) is templates
        ),
        None,
    )
    if label_group is None:
        label_group = Object(includeTemplates=True) if templates else Object()
        groups.append(label_group)
    pairs = dict(fields(label_group.get("pairs")))
    _add(pairs, labels, "label", arguments, force=force)
    label_group["pairs"] = pairs
    body["labels"] = [*groups]


def _add_annotations(body: Object, options: Object, env: Mapping[str, str]) -> None:
    force = options.get("forceCommonAnnotations") is True
    annotations = {name: _scalar(value) for name, value in fields(options.get("commonAnnotations")).items()}
    if options.get("commonAnnotationsEnvsubst") is True:
        annotations = {name: substituted(value, env) for name, value in annotations.items()}
    flags = ["--force"] if force else []
    arguments = (
        "edit",
        "add",
        "annotation",
        *flags,
        *(f"{name}:{value}" for name, value in annotations.items()),
    )
    pairs = dict(fields(body.get("commonAnnotations")))
    _add(pairs, annotations, "annotation", arguments, force=force)
    body["commonAnnotations"] = pairs


def _add(
    pairs: Object, values: Mapping[str, str], kind: str, arguments: Sequence[str], *, force: bool
) -> None:
    for name, value in values.items():
        if name in pairs and not force:
            raise EditFailed(
                arguments, f"Error: {kind} {name} already in kustomization file. Use --force to override."
            )
        pairs[name] = value.strip("\"'") if _is_quoted(value) else value


def _is_quoted(value: str) -> bool:
    return len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"


def _scalar(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else "" if value is None else str(value)


def _add_patches(body: Object, patches: Sequence[Json]) -> None:
    before = body.get("patches")
    if before is not None and not isinstance(before, list):
        raise RenderProblem(
            f"expected 'patches' field in kustomization.yaml to be []any, but got {go_type(before)}"
        )
    body["patches"] = [*items(before), *patches]


def _add_components(body: Object, options: Object, exists: Callable[[str], bool]) -> None:
    components = [text(component) for component in items(options.get("components"))]
    if options.get("ignoreMissingComponents") is True:
        components = [component for component in components if exists(component)]
    before = items(body.get("components"))
    for component in components:
        if not exists(component) and not _is_unresolved(component):
            why = f"Error: {component} has no match: must build at directory: not a valid directory"
            raise EditFailed(("edit", "add", "component", *components), why)
    if components:
        body["components"] = [
            *before,
            *(name for name in dict.fromkeys(components) if name not in before),
        ]


def _is_unresolved(component: str) -> bool:
    """Is it a URL or a pattern, which only the build resolves?"""
    return "://" in component or component.startswith("git@") or any(char in component for char in "*?[")
