"""What an Application changes about a kustomization, written into its file as `kustomize edit` would.

Mirrors the calls in util/kustomize of Argo CD 3.6, and `kustomize edit` 5.8 behind them; pure: a tree in, a
tree out. A kubectl can build, but not edit, so whysync does this part itself.
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
    """What `kustomize edit` would say, and the arguments that it would have been called with."""

    def __init__(self, arguments: Sequence[str], why: str) -> None:
        super().__init__(why)
        self.arguments = tuple(arguments)
        self.why = why


def edited(
    before: Object, wishes: Object, env: Mapping[str, str], *, exists: Callable[[str], bool]
) -> Object:
    """The kustomization with the `spec.source.kustomize` of an Application in it.

    `exists` tells whether a component is there. Raises `EditFailed`, `RenderProblem`.
    """
    body = copy_object(before)
    for field, wish in (("namePrefix", "namePrefix"), ("nameSuffix", "nameSuffix")):
        if text(wishes.get(wish)):
            body[field] = text(wishes.get(wish))
    if items(wishes.get("images")):
        _set_images(body, [substituted(text(image), env) for image in items(wishes.get("images"))])
    if items(wishes.get("replicas")):
        _set_replicas(body, items(wishes.get("replicas")))
    if fields(wishes.get("commonLabels")):
        _add_labels(body, wishes, env)
    if fields(wishes.get("commonAnnotations")):
        _add_annotations(body, wishes, env)
    if text(wishes.get("namespace")):
        body["namespace"] = text(wishes.get("namespace"))
    if items(wishes.get("patches")):
        _add_patches(body, items(wishes.get("patches")))
    if items(wishes.get("components")):
        _add_components(body, wishes, exists)
    return body


def _set_images(body: Object, wanted: Sequence[str]) -> None:
    arguments = ("edit", "set", "image", *wanted)
    images: dict[str, Object] = {}
    for reference in wanted:
        image = _image(reference, arguments)
        images[text(image.get("name"))] = image
    for old in map(fields, items(body.get("images"))):
        name = text(old.get("name"))
        new = images.setdefault(name, old)
        if new is not old:
            for field in ("newName", "newTag", "digest"):
                if new.get(field) == "*":  # keep what the file says
                    new[field] = text(old.get(field))
    body["images"] = [
        {key: value for key, value in image.items() if value not in ("", "*")}
        for _, image in sorted(images.items())
    ]


def _image(written: str, arguments: Sequence[str]) -> Object:
    key, equals, value = written.partition("=")
    if not equals:
        key, value = "", written
    name, tag, digest = split_image(value)
    if name == written:
        raise EditFailed(arguments, f"Error: {_IMAGE_FORMS}")
    renamed: Object = {"name": key, "newName": name} if equals and key else {"name": name}
    return {**renamed, "newTag": tag, "digest": digest}


def split_image(image: str) -> tuple[str, str, str]:
    """Name, tag and digest; a colon before the last slash is that of a port."""
    rest, _, digest = image.partition("@")
    path, slash, last = rest.rpartition("/")
    name, _, tag = last.partition(":")
    return f"{path}{slash}{name}", tag, digest


def _set_replicas(body: Object, wanted: Sequence[Json]) -> None:
    counts: dict[str, Json] = {}
    for replica in map(fields, wanted):
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


def _add_labels(body: Object, wishes: Object, env: Mapping[str, str]) -> None:
    force = wishes.get("forceCommonLabels") is True
    apart = wishes.get("labelWithoutSelector") is True
    templates = wishes.get("labelIncludeTemplates") is True
    labels = {
        name: substituted(_scalar(value), env) for name, value in fields(wishes.get("commonLabels")).items()
    }
    flags = [
        *(["--force"] if force else []),
        *(["--without-selector"] if apart else []),
        *(["--include-templates"] if templates else []),
    ]
    arguments = ("edit", "add", "label", *flags, *(f"{name}:{value}" for name, value in labels.items()))
    if templates and not apart:
        why = "--without-selector flag must be specified for --include-templates to work"
        raise EditFailed(arguments, f"Error: {why}")
    if not apart:
        pairs = dict(fields(body.get("commonLabels")))
        _add(pairs, labels, "label", arguments, force=force)
        body["commonLabels"] = pairs
        return
    groups = [dict(fields(label)) for label in items(body.get("labels"))]
    mine = next(
        (
            group
            for group in groups
            if group.get("includeSelectors") is not True
            and (group.get("includeTemplates") is True) is templates
        ),
        None,
    )
    if mine is None:
        mine = Object(includeTemplates=True) if templates else Object()
        groups.append(mine)
    pairs = dict(fields(mine.get("pairs")))
    _add(pairs, labels, "label", arguments, force=force)
    mine["pairs"] = pairs
    body["labels"] = [*groups]


def _add_annotations(body: Object, wishes: Object, env: Mapping[str, str]) -> None:
    force = wishes.get("forceCommonAnnotations") is True
    given = {name: _scalar(value) for name, value in fields(wishes.get("commonAnnotations")).items()}
    if wishes.get("commonAnnotationsEnvsubst") is True:
        given = {name: substituted(value, env) for name, value in given.items()}
    flags = ["--force"] if force else []
    arguments = ("edit", "add", "annotation", *flags, *(f"{name}:{value}" for name, value in given.items()))
    pairs = dict(fields(body.get("commonAnnotations")))
    _add(pairs, given, "annotation", arguments, force=force)
    body["commonAnnotations"] = pairs


def _add(
    pairs: Object, given: Mapping[str, str], what: str, arguments: Sequence[str], *, force: bool
) -> None:
    for name, value in given.items():
        if name in pairs and not force:
            raise EditFailed(
                arguments, f"Error: {what} {name} already in kustomization file. Use --force to override."
            )
        pairs[name] = value.strip("\"'") if _is_quoted(value) else value


def _is_quoted(value: str) -> bool:
    return len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"


def _scalar(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else "" if value is None else str(value)


def _add_patches(body: Object, wanted: Sequence[Json]) -> None:
    before = body.get("patches")
    if before is not None and not isinstance(before, list):
        raise RenderProblem(
            f"expected 'patches' field in kustomization.yaml to be []any, but got {go_type(before)}"
        )
    body["patches"] = [*items(before), *wanted]


def _add_components(body: Object, wishes: Object, exists: Callable[[str], bool]) -> None:
    wanted = [text(component) for component in items(wishes.get("components"))]
    if wishes.get("ignoreMissingComponents") is True:
        wanted = [component for component in wanted if exists(component)]
    before = items(body.get("components"))
    for component in wanted:
        if not exists(component) and not _is_elsewhere(component):
            why = f"Error: {component} has no match: must build at directory: not a valid directory"
            raise EditFailed(("edit", "add", "component", *wanted), why)
    if wanted:
        body["components"] = [
            *before,
            *(fromkey for fromkey in dict.fromkeys(wanted) if fromkey not in before),
        ]


def _is_elsewhere(component: str) -> bool:
    """A URL, or a pattern: only the build can say."""
    return "://" in component or component.startswith("git@") or any(char in component for char in "*?[")
