"""Kustomize sources, built by `kustomize build` or `kubectl kustomize`.

Mirrors `Build` of util/kustomize, Argo CD 3.6. Differs: options that run programs of the repository are
refused; origin annotations are enabled to find the file of each object, and removed from the result;
all files that a kustomization refers to must be in the repository. Kustomize itself restricts files to the
folder of each kustomization (not with `--load-restrictor LoadRestrictionsNone`), but bases may be anywhere on
the machine, including the user's own files.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from whysync.argocd.repo_server.git.tree import Tree
from whysync.argocd.repo_server.render.decode import NotAnObject, objects_in
from whysync.argocd.repo_server.render.detect import KUSTOMIZATIONS
from whysync.argocd.repo_server.render.environment import substituted
from whysync.argocd.repo_server.render.options import (
    CACHED_SOURCE,
    CannotRender,
    Origin,
    RenderedObject,
    RenderOptions,
    RenderProblem,
)
from whysync.argocd.repo_server.render.tools import CommandFailed, Tool, ToolHome, home, kube_version
from whysync.argocd.repo_server.render.tools import helm as find_helm
from whysync.argocd.repo_server.render.tools import kustomize as find_kustomize
from whysync.golang.fmt import go_type
from whysync.json_tree import Json, Object, copy_object, fields, items, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.yaml import Broken, Invalid

_ORIGIN: Final = "config.kubernetes.io/origin"
_LOGGED: Final = re.compile(
    r'E\d{4} [\d:.]+ +\d+ \S+\] "command failed" err='
    r'(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|<(?P<lines>\n.*?)\n >)',
    re.DOTALL,
)
# Options that only plugins need, which are programs of the repository or of the repo-server.
_FOR_PLUGINS: Final = (
    "--enable-alpha-plugins",
    "--enable-exec",
    "--enable-star",
    "--network",
    "--as-current-user",
)
# Options that mount folders, choose a program, or write files.
_REFUSED: Final = ("--mount", "--helm-command", "--output", "-o", "--env", "-e")


def render_kustomize(
    source: Object, folder: Path, tree: Tree, env: Mapping[str, str], options: RenderOptions
) -> Iterator[RenderedObject]:
    kustomize_options = fields(source.get("kustomize"))
    _check_version(text(kustomize_options.get("version")), options)
    version = kube_version(text(kustomize_options.get("kubeVersion")) or options.kube_version)
    apis = [
        text(api_version) for api_version in items(kustomize_options.get("apiVersions"))
    ] or options.api_versions
    arguments = [*_build_options(options.kustomize_build_options)]
    if "--enable-helm" in options.kustomize_build_options:
        arguments += ["--helm-kube-version", version] if version else []
        for api_version in apis:
            arguments += ["--helm-api-versions", api_version]

    def shown(message: str) -> str:
        return message.replace(str(tree.root), CACHED_SOURCE)

    tool = find_kustomize(options.tools)
    with (
        _EditedKustomization(folder, tree, kustomize_options, env) as adds_origins,
        home(options, shown) as tool_home,
    ):
        try:
            check_reach(folder, tree)
            _check_plugins(folder, tree, options)
            if not options.knows_settings and "--enable-helm" not in arguments:
                _check_helm_charts(folder, tree)
        except RenderProblem as problem:
            command_line = shown(" ".join(("kustomize", "build", str(folder), *arguments)))
            raise RenderProblem(f"`{command_line}` failed exit status 1: Error: {problem.text}") from None
        written = _build(tool, tool_home, folder, tree, env, arguments)
    yield from _objects(written, folder, tree, keep=not adds_origins)


def _check_version(version: str, options: RenderOptions) -> None:
    registered = options.kustomize_versions
    if version and registered is not None and version not in registered:
        raise RenderProblem(
            f"error getting kustomize binary path: kustomize version {version} is not registered"
        )


def _build_options(written: str) -> list[str]:
    arguments = written.split()
    for argument in arguments:
        if argument.partition("=")[0] in _REFUSED:
            raise CannotRender(
                what=f"kustomize.buildOptions has {argument}, which whysync does not run",
                why="it lets a kustomization run programs or read files outside the repository",
                next="render this source elsewhere, and give whysync the manifests",
            )
    return [argument for argument in arguments if argument.partition("=")[0] not in _FOR_PLUGINS]


def _build(
    tool: Tool, tool_home: ToolHome, folder: Path, tree: Tree, env: Mapping[str, str], arguments: list[str]
) -> str:
    variables = dict(env)
    if "--enable-helm" in arguments:
        path = tool_home.path / "bin"
        path.mkdir()
        (path / "helm").symlink_to(find_helm(tool_home.options.tools).command[0])
        arguments = [*arguments, "--helm-command", str(path / "helm")]
        command_line = ("kustomize", "build", str(folder), *arguments[:-2])
    else:
        command_line = ("kustomize", "build", str(folder), *arguments)
    try:
        return tool_home.call(
            [*tool.command, str(folder), *arguments],
            shown_as=command_line,
            folder=tree.root,
            env=variables,
            fetches=True,
        )
    except CommandFailed as problem:
        raise RenderProblem(as_kustomize_error(problem.text)) from None


def as_kustomize_error(complaint: str) -> str:
    """Converts an error of kubectl to the format of kustomize.

    Older versions of kubectl log it: `E0102 … "command failed" err="…"`, or `err=<…>` with several lines.
    """
    logged = _LOGGED.search(complaint)
    if logged is not None:
        inner = logged["lines"]
        if inner is not None:
            inner = inner.strip("\n").replace("\n\t", "\n").removeprefix("\t")
        else:
            inner = re.sub(
                r"\\(.)", lambda escape: {"n": "\n", "t": "\t"}.get(escape[1], escape[1]), logged["quoted"]
            )
        return f"{complaint[: logged.start()]}Error: {inner}{complaint[logged.end() :]}"
    return re.sub(
        r"(?P<before>exit status 1: (?:#[^\n]*\n)*)error: ", r"\g<before>Error: ", complaint, count=1
    )


class _EditedKustomization:
    """Context manager: edits the kustomization for the build, and restores it afterwards."""

    def __init__(self, folder: Path, tree: Tree, kustomize_options: Object, env: Mapping[str, str]) -> None:
        self._folder = folder
        self._tree = tree
        self._kustomize_options = kustomize_options
        self._env = env
        self._file: Path | None = None
        self._before = b""

    def __enter__(self) -> bool:
        """True if origin annotations were enabled here, and not by the kustomization itself."""
        self._tree.lock.acquire()
        try:
            return self._write()
        except BaseException:
            self._tree.lock.release()
            raise

    def _write(self) -> bool:
        names = [name for name in KUSTOMIZATIONS if (self._folder / name).is_file()]
        if not names:
            if items(self._kustomize_options.get("patches")):
                raise RenderProblem("kustomization file not found in the path")
            return True  # the build reports a better error
        self._file = self._folder / names[0]
        self._before = self._file.read_bytes()
        try:
            body = fields(yaml.load(self._before))
            after = edited(body, self._kustomize_options, self._env, exists=self._exists)
        except Invalid:
            return True  # the build reports the error
        except EditFailed as problem:
            command_line = " ".join(("kustomize", *problem.arguments))
            raise RenderProblem(f"`{command_line}` failed exit status 1: {problem.why}") from None
        notes = items(after.get("buildMetadata"))
        adds_origins = "originAnnotations" not in notes
        if adds_origins:
            after["buildMetadata"] = [*notes, "originAnnotations"]
        if after.get("kind") == "Component" or not body:
            return adds_origins  # the build reports the error
        self._put(yaml.dump(after).encode())
        return adds_origins

    def __exit__(self, *_: object) -> None:
        try:
            if self._file is not None:
                self._put(self._before)
        finally:
            self._tree.lock.release()

    def _put(self, content: bytes) -> None:
        assert self._file is not None
        # The file may be a link; its target is written.
        if self._file.is_symlink():
            self._file = self._file.resolve()
        self._file.unlink()  # it may be a hard link: see `Tree.unshare`
        self._file.write_bytes(content)

    def _exists(self, component: str) -> bool:
        full = (self._folder / component).resolve()
        return full.exists() and self._tree.root in (full, *full.parents)


def _objects(written: str, folder: Path, tree: Tree, *, keep: bool) -> Iterator[RenderedObject]:
    try:
        for document in objects_in(written):
            yield RenderedObject(body=document.body, origin=_origin(document.body, folder, tree, keep=keep))
    except NotAnObject as problem:
        raise RenderProblem(problem.text) from None


def _origin(body: Object, folder: Path, tree: Tree, *, keep: bool) -> Origin:
    """The origin from the annotation, which is removed unless the kustomization itself enables it."""
    meta = fields(body.get("metadata"))
    annotations = fields(meta.get("annotations"))
    annotation = text(annotations.get(_ORIGIN))
    if annotation and not keep:
        del annotations[_ORIGIN]
        if not annotations:
            del meta["annotations"]
    try:
        origin = fields(yaml.load(annotation))
    except Invalid:
        origin = {}
    folder_path = str(folder.relative_to(tree.root))
    if text(origin.get("repo")):
        return Origin(path=f"{text(origin.get('repo'))}/{text(origin.get('path'))}", made_by="overlay")
    file = text(origin.get("path")) or text(origin.get("configuredIn"))
    if not file:
        return Origin(path=folder_path, made_by="overlay")
    made_by = "overlay" if origin.get("path") else "generator"
    return Origin(path=posixpath.normpath(posixpath.join(folder_path, file)), made_by=made_by)


_MAX_FILES: Final = 5000
_MAX_FILE_BYTES: Final = 1 << 20
# The fields of kustomizations, and of the generators and transformers that they name, that hold paths.
_PATHS: Final = frozenset(
    (
        "resources",
        "components",
        "bases",
        "files",
        "envs",
        "env",
        "path",
        "paths",
        "crds",
        "configurations",
        "generators",
        "transformers",
        "validators",
        "replacements",
        "patches",
        "patchesStrategicMerge",
        "patchesJson6902",
        "valuesFile",
        "additionalValuesFiles",
        "chartHome",
        "configHome",
    )
)
# Fields that refer to other Kustomize files, which are checked too.
_FOLLOWED: Final = frozenset(("resources", "components", "bases", "generators", "transformers", "validators"))


_HELM_FIELDS: Final = ("helmCharts", "helmChartInflationGenerator")


def _check_helm_charts(folder: Path, tree: Tree) -> None:
    """Raises `CannotRender` for `helmCharts`, which Kustomize renders only with `--enable-helm`."""
    for file in _kustomization_files(folder, tree):
        for document in yaml.documents(file.read_bytes()):
            if isinstance(document, Broken):
                return  # the build reports the error
            if any(fields(document.body).get(key) for key in _HELM_FIELDS):
                raise CannotRender(
                    what=f"{file.relative_to(tree.root)} has helmCharts",
                    why="Kustomize renders them only with --enable-helm, and Argo CD's setting"
                    " kustomize.buildOptions is not known",
                    next="give Argo CD's settings with --settings FILE (argocd-cm) or --live",
                    part="its helmCharts",
                    shared="they need --enable-helm, and kustomize.buildOptions of Argo CD is not known",
                )


_PLUGIN_FIELDS: Final = ("generators", "transformers", "validators")


def _check_plugins(folder: Path, tree: Tree, options: RenderOptions) -> None:
    """Raises `CannotRender` for plugins, which whysync does not run, unless Argo CD refuses them too."""
    if options.knows_settings and "--enable-alpha-plugins" not in options.kustomize_build_options:
        return  # the build reports the error
    for file in _kustomization_files(folder, tree):
        if not _has_plugins(file):
            continue
        known = options.knows_settings
        shared = (
            "whysync does not run them: a plugin is any program"
            if known
            else "they need --enable-alpha-plugins, and kustomize.buildOptions of Argo CD is not known"
        )
        raise CannotRender(
            what=f"{file.relative_to(tree.root)} uses plugins of Kustomize",
            why=shared,
            next="render this source elsewhere, and give whysync the manifests",
            part="its Kustomize plugins",
            shared=shared,
        )


def _has_plugins(kustomization: Path) -> bool:
    for document in yaml.documents(kustomization.read_bytes()):
        body = fields({} if isinstance(document, Broken) else document.body)
        for entry in (text(entry) for field in _PLUGIN_FIELDS for entry in items(body.get(field))):
            file = kustomization.parent / entry if "\n" not in entry and "\x00" not in entry else None
            if file is None:
                source = entry.encode()
            elif file.is_file() and file.stat().st_size <= _MAX_FILE_BYTES:
                source = file.read_bytes()
            elif file.exists():
                return True  # a folder: its kustomization generates the configuration of the plugin
            else:
                continue  # the build reports the error
            for configured in yaml.documents(source):
                plugin = fields({} if isinstance(configured, Broken) else configured.body)
                if plugin and plugin.get("apiVersion") != "builtin":
                    return True
    return False


def check_reach(folder: Path, tree: Tree) -> None:
    """Raises `RenderProblem` for a path that leads out of the repository."""
    for _ in _kustomization_files(folder, tree):
        pass


def _kustomization_files(folder: Path, tree: Tree) -> Iterator[Path]:
    """The kustomization and the files it builds on. Raises `RenderProblem` as `check_reach` does."""
    pending = [folder]
    visited: set[Path] = set()
    while pending and len(visited) < _MAX_FILES:
        path = pending.pop()
        if path in visited:
            continue
        visited.add(path)
        file = path
        if path.is_dir():
            kustomization = next((path / name for name in KUSTOMIZATIONS if (path / name).is_file()), None)
            if kustomization is None:
                continue
            file = kustomization
        if file.name in KUSTOMIZATIONS and file.is_file() and file.stat().st_size <= _MAX_FILE_BYTES:
            yield file
        for followed, reference in _paths_in(file):
            target = _path_in_repository(reference, file.parent, tree.root)
            if target is not None and followed and target.exists():
                pending.append(target)


def _paths_in(file: Path) -> Iterator[tuple[bool, str]]:
    if not file.is_file() or file.stat().st_size > _MAX_FILE_BYTES:
        return
    for document in yaml.documents(file.read_bytes()):
        if isinstance(document, Broken):
            return  # the build reports the error
        body = fields(document.body)
        if file.name in KUSTOMIZATIONS or body.get("apiVersion") == "builtin":
            yield from _referenced_paths(body, key="")


def _referenced_paths(value: Json, key: str) -> Iterator[tuple[bool, str]]:
    if isinstance(value, str):
        if key in _PATHS and "\n" not in value:
            name, equals, path = value.partition("=")  # `key=path` in the files of a generator
            yield key in _FOLLOWED, path if equals and key == "files" and "/" not in name else value
    elif isinstance(value, dict):
        for inner, item in value.items():
            yield from _referenced_paths(item, inner)
    else:
        for item in items(value):
            yield from _referenced_paths(item, key)


def _path_in_repository(reference: str, folder: Path, root: Path) -> Path | None:
    """The full path; `None` for a URL. Raises `RenderProblem` if it is outside of the repository."""
    if "\x00" in reference or ("://" in reference and ".." not in reference):
        return None
    full = Path(os.path.normpath(folder / reference))
    if full != root and root not in full.parents:
        shown = str(folder).replace(str(root), CACHED_SOURCE)
        raise RenderProblem(f"security; file '{reference}' is not in or below '{shown}'")
    return full


# Applies the Kustomize options of an Application to a kustomization, as `kustomize edit` does.
#
# Mirrors util/kustomize, Argo CD 3.6, and `kustomize edit` 5.8. It is implemented here because kubectl can
# build a kustomization, but not edit it.


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
