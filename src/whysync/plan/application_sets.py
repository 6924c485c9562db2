"""Expand ApplicationSets whose generators only need Git: list, git (directories, files), matrix, merge.

Mirrors the generators of Argo CD 3.6. What cannot be expanded exactly (other generators, template functions,
patches) raises `NotExpanded`, and the plan says so.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from whysync.argocd.app_controller.deletion.finalizers import RESOURCES
from whysync.argocd.repo_server.git.tree import walk
from whysync.json_tree import Json, Object, copy_object, fields, items, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.yaml import Broken

_EXPRESSION: Final = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}", re.DOTALL)
_INDEX: Final = re.compile(r"index\s+((?:\.\w+)+)\s+(\d+|\"[^\"]*\")")
_PATH: Final = re.compile(r"(?:\.[\w-]+)+")
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9.-]")
_MAX_APPLICATIONS: Final = 1000
_MAX_BYTES: Final = 1 << 20
_KNOWN: Final = frozenset({"list", "git", "matrix", "merge"})
ContainsSource = Callable[[Object], bool]


class NotExpanded(Exception):
    """The reason why an ApplicationSet is not expanded."""


def expanded(body: Object, root: Path, contains_source: ContainsSource) -> list[Object]:
    """The Applications of an ApplicationSet; raises `NotExpanded`."""
    return list(_Set(body, root, contains_source).applications())


class _Set:
    def __init__(self, body: Object, root: Path, contains_source: ContainsSource) -> None:
        self._meta = fields(body.get("metadata"))
        self._spec = fields(body.get("spec"))
        self._root = root
        self._contains_source = contains_source
        self._go = self._spec.get("goTemplate") is True

    def applications(self) -> Iterator[Object]:
        if self._spec.get("templatePatch"):
            raise NotExpanded("it has a templatePatch")
        template = fields(self._spec.get("template"))
        for generator in items(self._spec.get("generators")):
            for params in self._params(fields(generator)):
                filled = fields(self._filled(copy_object(template), params))
                meta = fields(filled.get("metadata"))
                yield {
                    "apiVersion": "argoproj.io/v1alpha1",
                    "kind": "Application",
                    "metadata": {
                        **meta,
                        **self._finalizers(meta),
                        "namespace": text(self._meta.get("namespace")) or "argocd",
                    },
                    "spec": fields(filled.get("spec")),
                }

    def _finalizers(self, meta: Object) -> Object:
        """The finalizer that deletes the objects with the Application, unless the set preserves them or the
        template has finalizers.

        Mirrors the end of `RenderTemplateParams` of Argo CD's ApplicationSet controller, 3.6.
        """
        policy = fields(self._spec.get("syncPolicy"))
        if meta.get("finalizers") or policy.get("preserveResourcesOnDeletion") is True:
            return {}
        return {"finalizers": [RESOURCES]}

    # --- generators ------------------------------------------------------------------------------

    def _params(self, generator: Object) -> list[Object]:
        kinds = [name for name in generator if name != "selector"]
        if len(kinds) != 1 or kinds[0] not in _KNOWN or generator.get("selector"):
            raise NotExpanded(f"its generator {', '.join(generator) or '(none)'} needs more than Git")
        kind, options = kinds[0], fields(generator[kinds[0]])
        if options.get("template") or options.get("elementsYaml") or options.get("pathParamPrefix"):
            raise NotExpanded(f"its {kind} generator has options that whysync does not expand")
        match kind:
            case "list":
                params = [self._flat(fields(element)) for element in items(options.get("elements"))]
            case "git":
                params = list(self._git(options))
            case "matrix":
                params = self._matrix(options)
            case _:
                params = self._merge(options)
        if len(params) > _MAX_APPLICATIONS:
            raise NotExpanded(f"it generates more than {_MAX_APPLICATIONS} Applications")
        return params

    def _matrix(self, options: Object) -> list[Object]:
        generators = [fields(generator) for generator in items(options.get("generators"))]
        if len(generators) != 2:
            raise NotExpanded("its matrix generator needs exactly two generators")
        params: list[Object] = []
        for first in self._params(generators[0]):
            second = fields(self._filled(copy_object(generators[1]), first, strict=False))
            params += [{**first, **param} for param in self._params(second)]
            if len(params) > _MAX_APPLICATIONS:
                raise NotExpanded(f"it generates more than {_MAX_APPLICATIONS} Applications")
        return params

    def _merge(self, options: Object) -> list[Object]:
        keys = [text(merge_key) for merge_key in items(options.get("mergeKeys"))]
        param_lists = [self._params(fields(generator)) for generator in items(options.get("generators"))]
        if len(param_lists) < 2 or not keys:
            raise NotExpanded("its merge generator needs at least two generators and mergeKeys")
        merged = param_lists[0]
        for params_list in param_lists[1:]:
            by_key = {self._key(params, keys): params for params in params_list}
            merged = [{**params, **by_key.get(self._key(params, keys), {})} for params in merged]
        return merged

    def _key(self, params: Object, keys: list[str]) -> str:
        return repr([params.get(key) for key in keys])

    def _git(self, options: Object) -> Iterator[Object]:
        if not self._contains_source(options):
            raise NotExpanded("its git generator reads another repository")
        values = fields(options.get("values"))
        for params in (*self._directories(options), *self._files(options)):
            if values:
                filled = fields(self._filled(copy_object(values), params))
                extra: Object = (
                    {"values": filled} if self._go else {f"values.{k}": v for k, v in filled.items()}
                )
                yield {**params, **extra}
            else:
                yield params

    def _directories(self, options: Object) -> Iterator[Object]:
        entries = [fields(directory) for directory in items(options.get("directories"))]
        if not entries:
            return
        for path in walk(self._root):
            relative = str(path.relative_to(self._root))
            if path.is_symlink() or not path.is_dir() or any(p.startswith(".") for p in relative.split("/")):
                continue
            matching = [directory for directory in entries if _matches(relative, text(directory.get("path")))]
            if matching and not any(directory.get("exclude") is True for directory in matching):
                yield self._path(relative)

    def _files(self, options: Object) -> Iterator[Object]:
        patterns = [text(fields(file).get("path")) for file in items(options.get("files"))]
        if not patterns:
            return
        for path in walk(self._root):
            relative = str(path.relative_to(self._root))
            if (
                path.is_symlink()
                or not path.is_file()
                or not any(_matches(relative, pattern) for pattern in patterns)
            ):
                continue
            if path.stat().st_size > _MAX_BYTES:
                raise NotExpanded(f"{relative} is too large")
            folder, _, name = relative.rpartition("/")
            for content in _content(path, relative):
                yield {**self._flat(content), **self._path(folder or ".", name)}

    def _path(self, folder: str, file: str = "") -> Object:
        base = folder.rpartition("/")[2]
        parts: list[Json] = [*folder.split("/")]
        path_params: Object = {"path": folder, "basename": base, "basenameNormalized": _normalized(base)}
        if file:
            path_params |= {"filename": file, "filenameNormalized": _normalized(file)}
        if self._go:
            return {"path": {**path_params, "segments": parts}}
        flat: Object = {f"path.{key}": value for key, value in path_params.items() if key != "path"}
        return {"path": folder, **flat, **{f"path[{n}]": segment for n, segment in enumerate(parts)}}

    def _flat(self, params: Object) -> Object:
        """Without Go templates all parameters are text, keyed by their path."""
        if self._go:
            return params
        flat: Object = {}
        queue: list[tuple[str, Json]] = [*params.items()]
        while queue:
            name, value = queue.pop()
            if isinstance(value, dict):
                queue += [(f"{name}.{key}", below) for key, below in value.items()]
            elif isinstance(value, list):
                queue += [(f"{name}.{number}", below) for number, below in enumerate(value)]
            else:
                flat[name] = _as_text(value)
        return flat

    # --- templates -------------------------------------------------------------------------------

    def _filled(self, value: Json, params: Object, *, strict: bool = True) -> Json:
        if isinstance(value, str):
            return _EXPRESSION.sub(lambda match: self._value(match, params, strict=strict), value)
        if isinstance(value, dict):
            return {key: self._filled(below, params, strict=strict) for key, below in value.items()}
        if isinstance(value, list):
            return [self._filled(below, params, strict=strict) for below in value]
        return value

    def _value(self, match: re.Match[str], params: Object, *, strict: bool) -> str:
        expression = match[1]
        value = self._go_value(expression, params) if self._go else params.get(expression)
        if value is None or isinstance(value, dict | list):
            if not strict:
                return match[0]
            raise NotExpanded(f"the value of {{{{{expression[:60]}}}}} is not known")
        return _as_text(value)

    def _go_value(self, expression: str, params: Object) -> Json:
        expression, _, function = (part.strip() for part in expression.partition("|"))
        if function not in ("", "normalize", "lower"):
            return None
        index = _INDEX.fullmatch(expression)
        if index is not None:
            value = _under(params, index[1])
            if isinstance(value, list) and index[2].isdecimal() and int(index[2]) < len(value):
                value = value[int(index[2])]
            else:
                value = fields(value).get(index[2].strip('"'))
        else:
            value = _under(params, expression) if _PATH.fullmatch(expression) else None
        if isinstance(value, str) and function:
            return _normalized(value) if function == "normalize" else value.lower()
        return value


def _under(params: Object, path: str) -> Json:
    value: Json = params
    for part in path.strip(".").split("."):
        value = fields(value).get(part)
    return value


def _content(path: Path, name: str) -> Iterator[Object]:
    """An object or a list of objects; one Application for each."""
    for document in yaml.documents(path.read_bytes()):
        if isinstance(document, Broken):
            raise NotExpanded(f"{name} cannot be read")
        entries = document.body if isinstance(document.body, list) else [document.body]
        yield from (fields(entry) for entry in entries if entry is not None)
        return


def _matches(path: str, pattern: str) -> bool:
    """Match a path with a pattern: `*` does not match `/`, `**` does."""
    return _parts_match(path.split("/"), pattern.strip("/").split("/")[:40])


def _parts_match(path: list[str], pattern: list[str]) -> bool:
    reached = {0}
    for segment in pattern:
        if segment == "**":
            reached = set(range(min(reached, default=len(path) + 1), len(path) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(path) and fnmatch.fnmatchcase(path[at], segment)}
    return len(path) in reached


def _normalized(name: str) -> str:
    return _NOT_IN_NAMES.sub("-", name.lower())[:253].strip("-.")


def _as_text(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
