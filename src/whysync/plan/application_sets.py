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

_HOLE: Final = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}", re.DOTALL)
_INDEX: Final = re.compile(r"index\s+((?:\.\w+)+)\s+(\d+|\"[^\"]*\")")
_PATH: Final = re.compile(r"(?:\.[\w-]+)+")
_ODD: Final = re.compile(r"[^a-z0-9.-]")
_MOST: Final = 1000
_MOST_BYTES: Final = 1 << 20
_KNOWN: Final = frozenset({"list", "git", "matrix", "merge"})
Holds = Callable[[Object], bool]


class NotExpanded(Exception):
    """The reason why an ApplicationSet is not expanded."""


def expanded(body: Object, root: Path, holds: Holds) -> list[Object]:
    """The Applications of an ApplicationSet; raises `NotExpanded`."""
    return list(_Set(body, root, holds).applications())


class _Set:
    def __init__(self, body: Object, root: Path, holds: Holds) -> None:
        self._meta = fields(body.get("metadata"))
        self._spec = fields(body.get("spec"))
        self._root = root
        self._holds = holds
        self._go = self._spec.get("goTemplate") is True

    def applications(self) -> Iterator[Object]:
        if self._spec.get("templatePatch"):
            raise NotExpanded("it has a templatePatch")
        template = fields(self._spec.get("template"))
        for generator in items(self._spec.get("generators")):
            for params in self._params(fields(generator)):
                made = fields(self._filled(copy_object(template), params))
                meta = fields(made.get("metadata"))
                yield {
                    "apiVersion": "argoproj.io/v1alpha1",
                    "kind": "Application",
                    "metadata": {
                        **meta,
                        **self._finalizers(meta),
                        "namespace": text(self._meta.get("namespace")) or "argocd",
                    },
                    "spec": fields(made.get("spec")),
                }

    def _finalizers(self, meta: Object) -> Object:
        """Applications delete their objects with them, unless the ApplicationSet or the template says
        otherwise.

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
        kind, how = kinds[0], fields(generator[kinds[0]])
        if how.get("template") or how.get("elementsYaml") or how.get("pathParamPrefix"):
            raise NotExpanded(f"its {kind} generator has options that are not read here")
        match kind:
            case "list":
                params = [self._flat(fields(element)) for element in items(how.get("elements"))]
            case "git":
                params = list(self._of_git(how))
            case "matrix":
                params = self._matrix(how)
            case _:
                params = self._merge(how)
        if len(params) > _MOST:
            raise NotExpanded(f"it makes more than {_MOST} Applications")
        return params

    def _matrix(self, how: Object) -> list[Object]:
        parts = [fields(generator) for generator in items(how.get("generators"))]
        if len(parts) != 2:
            raise NotExpanded("a matrix has two generators")
        params: list[Object] = []
        for first in self._params(parts[0]):
            second = fields(self._filled(copy_object(parts[1]), first, strict=False))
            params += [{**first, **param} for param in self._params(second)]
            if len(params) > _MOST:
                raise NotExpanded(f"it makes more than {_MOST} Applications")
        return params

    def _merge(self, how: Object) -> list[Object]:
        keys = [text(merge_key) for merge_key in items(how.get("mergeKeys"))]
        parts = [self._params(fields(generator)) for generator in items(how.get("generators"))]
        if len(parts) < 2 or not keys:
            raise NotExpanded("a merge has two generators or more, and mergeKeys")
        merged = parts[0]
        for other in parts[1:]:
            by_key = {self._key(params, keys): params for params in other}
            merged = [{**params, **by_key.get(self._key(params, keys), {})} for params in merged]
        return merged

    def _key(self, params: Object, keys: list[str]) -> str:
        return repr([params.get(key) for key in keys])

    def _of_git(self, how: Object) -> Iterator[Object]:
        if not self._holds(how):
            raise NotExpanded("its git generator reads another repository")
        values = fields(how.get("values"))
        for params in (*self._directories(how), *self._files(how)):
            if values:
                filled = fields(self._filled(copy_object(values), params))
                more: Object = (
                    {"values": filled} if self._go else {f"values.{k}": v for k, v in filled.items()}
                )
                yield {**params, **more}
            else:
                yield params

    def _directories(self, how: Object) -> Iterator[Object]:
        wanted = [fields(directory) for directory in items(how.get("directories"))]
        if not wanted:
            return
        for path in walk(self._root):
            relative = str(path.relative_to(self._root))
            if path.is_symlink() or not path.is_dir() or any(p.startswith(".") for p in relative.split("/")):
                continue
            fits = [directory for directory in wanted if _matches(relative, text(directory.get("path")))]
            if fits and not any(fit.get("exclude") is True for fit in fits):
                yield self._path(relative)

    def _files(self, how: Object) -> Iterator[Object]:
        wanted = [text(fields(file).get("path")) for file in items(how.get("files"))]
        if not wanted:
            return
        for path in walk(self._root):
            relative = str(path.relative_to(self._root))
            if (
                path.is_symlink()
                or not path.is_file()
                or not any(_matches(relative, pattern) for pattern in wanted)
            ):
                continue
            if path.stat().st_size > _MOST_BYTES:
                raise NotExpanded(f"{relative} is too large")
            folder, _, name = relative.rpartition("/")
            for content in _content(path, relative):
                yield {**self._flat(content), **self._path(folder or ".", name)}

    def _path(self, folder: str, file: str = "") -> Object:
        base = folder.rpartition("/")[2]
        parts: list[Json] = [*folder.split("/")]
        path_params: Object = {"path": folder, "basename": base, "basenameNormalized": _normal(base)}
        if file:
            path_params |= {"filename": file, "filenameNormalized": _normal(file)}
        if self._go:
            return {"path": {**path_params, "segments": parts}}
        named: Object = {f"path.{key}": value for key, value in path_params.items() if key != "path"}
        return {"path": folder, **named, **{f"path[{n}]": part for n, part in enumerate(parts)}}

    def _flat(self, params: Object) -> Object:
        """Without Go templates all parameters are text, keyed by their path."""
        if self._go:
            return params
        flat: Object = {}
        waiting: list[tuple[str, Json]] = [*params.items()]
        while waiting:
            name, value = waiting.pop()
            if isinstance(value, dict):
                waiting += [(f"{name}.{key}", below) for key, below in value.items()]
            elif isinstance(value, list):
                waiting += [(f"{name}.{number}", below) for number, below in enumerate(value)]
            else:
                flat[name] = _as_text(value)
        return flat

    # --- templates -------------------------------------------------------------------------------

    def _filled(self, value: Json, params: Object, *, strict: bool = True) -> Json:
        if isinstance(value, str):
            return _HOLE.sub(lambda hole: self._value(hole, params, strict=strict), value)
        if isinstance(value, dict):
            return {key: self._filled(below, params, strict=strict) for key, below in value.items()}
        if isinstance(value, list):
            return [self._filled(below, params, strict=strict) for below in value]
        return value

    def _value(self, hole: re.Match[str], params: Object, *, strict: bool) -> str:
        expression = hole[1]
        value = self._of_go(expression, params) if self._go else params.get(expression)
        if value is None or isinstance(value, dict | list):
            if not strict:
                return hole[0]
            raise NotExpanded(f"nothing here tells {{{{{expression[:60]}}}}}")
        return _as_text(value)

    def _of_go(self, expression: str, params: Object) -> Json:
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
            return _normal(value) if function == "normalize" else value.lower()
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
        several = document.body if isinstance(document.body, list) else [document.body]
        yield from (fields(entry) for entry in several if entry is not None)
        return


def _matches(path: str, pattern: str) -> bool:
    """`*` stays within a folder, `**` does not."""
    return _parts_match(path.split("/"), pattern.strip("/").split("/")[:40])


def _parts_match(path: list[str], pattern: list[str]) -> bool:
    reached = {0}
    for part in pattern:
        if part == "**":
            reached = set(range(min(reached, default=len(path) + 1), len(path) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(path) and fnmatch.fnmatchcase(path[at], part)}
    return len(path) in reached


def _normal(name: str) -> str:
    return _ODD.sub("-", name.lower())[:253].strip("-.")


def _as_text(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
