"""The parameters of the generators of an ApplicationSet. Mirrors applicationset/generators, Argo CD 3.6.

Differs: the order of parameters is stable where Go iterates over a map. Generators that ask a server
(scmProvider, pullRequest, plugin, clusterDecisionResource) use recorded answers.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from whysync.argocd.application_sets.errors import NotExpanded
from whysync.argocd.application_sets.functions import merged_maps, normalized_name, slug_of
from whysync.argocd.application_sets.inputs import GeneratorInputs, RegisteredCluster
from whysync.argocd.application_sets.render import Renderer
from whysync.argocd.application_sets.selector import matches
from whysync.argocd.repo_server.git.tree import walk
from whysync.golang.fmt import sorted_json
from whysync.golang.glob import path_match, pathspec_match
from whysync.golang.template.values import StringMap, from_json, text_of
from whysync.json_tree import Json, Object, copy_object, fields, items, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.yaml import Broken

KINDS: Final = (
    "list", "clusters", "git", "scmProvider", "clusterDecisionResource", "pullRequest", "matrix", "merge",
    "plugin",
)  # fmt: skip
_RECORDED: Final = frozenset({"scmProvider", "clusterDecisionResource", "pullRequest", "plugin"})
_WITH_VALUES: Final = frozenset({"clusters", "git", *_RECORDED})
_MAX_PARAMS: Final = 1000
_MAX_BYTES: Final = 1 << 20
IN_CLUSTER: Final = RegisteredCluster(name="in-cluster", server="https://kubernetes.default.svc")

Params = list[Object]


class Generators:
    """The generators of one ApplicationSet."""

    def __init__(self, name: str, renderer: Renderer, inputs: GeneratorInputs) -> None:
        self._name = name
        self._renderer = renderer
        self._inputs = inputs
        self._asked: dict[str, list[Object]] = {}
        """The options of generators that were asked, by kind."""

    def results(self, generator: Object) -> Iterator[tuple[str, Params]]:
        """The kinds of a generator with their parameters. Mirrors `Transform`."""
        kinds = [kind for kind in KINDS if generator.get(kind) is not None]
        unknown = [name for name in generator if name not in (*KINDS, "selector")]
        if unknown or not kinds:
            raise NotExpanded(f"Argo CD has no generator {', '.join(unknown) or '(none)'}")
        for kind in kinds:
            yield kind, self._selected(generator, self._params(kind, fields(generator[kind])))

    def _selected(self, generator: Object, params: Params) -> Params:
        if len(params) > _MAX_PARAMS:
            raise NotExpanded(f"it generates more than {_MAX_PARAMS} Applications")
        selector = generator.get("selector")
        if selector is None:
            return params
        return [param for param in params if matches(fields(selector), flat(param))]

    def _only_result(self, generator: Object, outer: Object | None = None) -> Params:
        """The parameters of a generator inside of a matrix or merge."""
        selector = generator.get("selector")
        if outer:
            generator = self._interpolated(generator, outer)
            if selector is not None:
                generator["selector"] = selector
        results = list(self.results(generator))
        if len(results) > 1:
            raise NotExpanded("Argo CD reports: found more than one generator in matrix.Generators")
        return results[0][1]

    def _interpolated(self, generator: Object, params: Object) -> Object:
        """A generator with the parameters of the other one of the matrix. Mirrors `RenderGeneratorParams`."""
        result: Object = {}
        for kind, options in generator.items():
            values = fields(fields(options).get("values")) if kind in _WITH_VALUES else {}
            plain = {key: value for key, value in fields(options).items() if key != "values" or not values}
            if kind in _RECORDED and "{{" in sorted_json(plain):
                raise NotExpanded(f"the answer to its {kind} generator depends on another generator")
            filled = fields(self._renderer.value(plain, params))
            result[kind] = {**filled, "values": self._renderer.values(values, params)} if values else filled
        return result

    def _params(self, kind: str, options: Object) -> Params:
        match kind:
            case "list":
                return self._list(options)
            case "clusters":
                return self._clusters(options)
            case "git":
                return self._git(options)
            case "matrix":
                return self._matrix(options)
            case "merge":
                return self._merge(options)
            case _:
                return self._recorded(kind, options)

    # --- list, matrix, merge -----------------------------------------------------------------------------

    def _list(self, options: Object) -> Params:
        elements = [fields(element) for element in items(options.get("elements"))]
        params = [self._element(element) for element in elements]
        written = text(options.get("elementsYaml"))
        if written:
            try:
                more = yaml.load(written)
            except yaml.Invalid as problem:
                raise NotExpanded(f"its elementsYaml is no YAML: {problem}") from None
            if more is not None and not isinstance(more, list):
                raise NotExpanded("its elementsYaml is no list")
            params += [fields(from_json(fields(element))) for element in more or ()]
        return params

    def _element(self, element: Object) -> Object:
        if self._renderer.is_go:
            return fields(from_json(element))
        params: Object = {}
        for key, value in element.items():
            if key == "values":
                params |= {f"values.{name}": self._plain(below) for name, below in fields(value).items()}
            else:
                params[key] = self._plain(value)
        return params

    def _plain(self, value: Json) -> str:
        if not isinstance(value, str):
            raise NotExpanded(
                "Argo CD reports: error parsing value as string (an element of its list generator)"
            )
        return value

    def _matrix(self, options: Object) -> Params:
        generators = [fields(generator) for generator in items(options.get("generators"))]
        if len(generators) != 2:
            raise NotExpanded(f"its matrix generator needs exactly two generators, not {len(generators)}")
        params: Params = []
        for first in self._only_result(generators[0]):
            for second in self._only_result(generators[1], first):
                params.append(self._combined(first, second))
                if len(params) > _MAX_PARAMS:
                    raise NotExpanded(f"it generates more than {_MAX_PARAMS} Applications")
        return params

    def _combined(self, first: Object, second: Object) -> Object:
        if self._renderer.is_go:
            return merged_maps({}, _copied(second), _copied(first), override=True)
        combined = {key: text_of(value) for key, value in first.items()}
        for key, value in second.items():
            if combined.setdefault(key, text_of(value)) != text_of(value):
                raise NotExpanded(f"Argo CD reports: found duplicate key {key} with different value")
        return {**combined}

    def _merge(self, options: Object) -> Params:
        keys = [text(merge_key) for merge_key in items(options.get("mergeKeys"))]
        generators = [fields(generator) for generator in items(options.get("generators"))]
        if len(generators) < 2 or not keys:
            raise NotExpanded("its merge generator needs at least two generators and mergeKeys")
        base, *overrides = [_by_key(self._only_result(generator), keys) for generator in generators]
        for override in overrides:
            for key in base.keys() & override.keys():
                if self._renderer.is_go:
                    merged_maps(base[key], _copied(override[key]), override=True)
                else:
                    base[key] = {**base[key], **override[key]}
        return list(base.values())

    # --- clusters ----------------------------------------------------------------------------------------

    def _clusters(self, options: Object) -> Params:
        selector = fields(options.get("selector"))
        has_selector = bool(selector.get("matchLabels") or selector.get("matchExpressions"))
        clusters = self._inputs.clusters()
        params: Params = []
        for cluster in sorted(clusters, key=lambda cluster: cluster.name):
            if matches(selector, cluster.labels):
                params.append(self._with_values(options, self._cluster(cluster)))
        has_local = any(cluster.server == IN_CLUSTER.server for cluster in clusters)
        if not has_selector and not has_local:
            local: Object = {
                "name": IN_CLUSTER.name,
                "nameNormalized": IN_CLUSTER.name,
                "server": IN_CLUSTER.server,
                "project": "",
            }
            params.append(self._with_values(options, local))
        return [{"clusters": [*params]}] if options.get("flatList") is True else params

    def _cluster(self, cluster: RegisteredCluster) -> Object:
        params: Object = {
            "name": cluster.name,
            "nameNormalized": normalized_name(cluster.name),
            "server": cluster.server,
            "project": cluster.project,
        }
        parts = {"annotations": cluster.annotations, "labels": cluster.labels}
        if self._renderer.is_go:
            params["metadata"] = {name: StringMap(part) for name, part in parts.items() if part}
            return params
        for name, part in parts.items():
            params |= {f"metadata.{name}.{key}": value for key, value in part.items()}
        return params

    # --- git ---------------------------------------------------------------------------------------------

    def _git(self, options: Object) -> Params:
        root = self._inputs.folder_of(options)
        if items(options.get("directories")):
            found = self._directories(options, root)
        elif items(options.get("files")):
            found = self._files(options, root)
        else:
            raise NotExpanded("its git generator has neither directories nor files")
        return [self._with_values(options, params) for params in found]

    def _directories(self, options: Object, root: Path) -> Iterator[Object]:
        entries = [fields(directory) for directory in items(options.get("directories"))]
        for path in walk(root):
            relative = str(path.relative_to(root))
            if path.is_symlink() or not path.is_dir() or any(p.startswith(".") for p in relative.split("/")):
                continue
            matching = [entry for entry in entries if path_match(text(entry.get("path")), relative)]
            if matching and not any(entry.get("exclude") is True for entry in matching):
                yield self._path(options, relative)

    def _files(self, options: Object, root: Path) -> Iterator[Object]:
        entries = [fields(file) for file in items(options.get("files"))]
        included = [text(entry.get("path")) or "." for entry in entries if entry.get("exclude") is not True]
        excluded = [text(entry.get("path")) or "." for entry in entries if entry.get("exclude") is True]
        paths = [
            str(path.relative_to(root)) for path in walk(root) if path.is_file() and not path.is_symlink()
        ]
        for relative in sorted(paths):
            if not any(pathspec_match(pattern, relative) for pattern in included):
                continue
            if any(pathspec_match(pattern, relative) for pattern in excluded):
                continue
            path = root / relative
            if path.stat().st_size > _MAX_BYTES:
                raise NotExpanded(f"{relative} is too large")
            folder, _, name = relative.rpartition("/")
            for content in _content(path, relative):
                yield {**self._flat_unless_go(content), **self._path(options, folder or ".", name)}

    def _flat_unless_go(self, content: Object) -> Object:
        decoded = fields(from_json(content))
        return decoded if self._renderer.is_go else {**flat(decoded)}

    def _path(self, options: Object, folder: str, file: str = "") -> Object:
        base = posixpath.basename(folder)
        parts: list[Json] = [*folder.split("/")]
        path_params: Object = {"path": folder, "basename": base, "basenameNormalized": normalized_name(base)}
        if file:
            path_params |= {"filename": file, "filenameNormalized": normalized_name(file)}
        prefix = text(options.get("pathParamPrefix"))
        if self._renderer.is_go:
            params: Object = {"path": {**path_params, "segments": parts}}
            return {prefix: params} if prefix else params
        name = f"{prefix}.path" if prefix else "path"
        plain: Object = {f"{name}.{key}": value for key, value in path_params.items() if key != "path"}
        return {name: folder, **plain, **{f"{name}[{n}]": segment for n, segment in enumerate(parts)}}

    # --- recorded answers --------------------------------------------------------------------------------

    def _recorded(self, kind: str, options: Object) -> Params:
        question = {key: value for key, value in options.items() if key != "values"}
        asked = self._asked.setdefault(kind, [])
        if question not in asked:
            asked.append(question)
        answer = self._inputs.recorded(self._name, kind, asked.index(question))
        params: Params = []
        for record in answer:
            match kind:
                case "pullRequest":
                    param = self._pull_request(record)
                case "scmProvider":
                    param = _scm_repository(record)
                case "clusterDecisionResource":
                    param = self._decision(record)
                case _:
                    param = self._flat_unless_go(record)
            params.append(self._with_values(options, param, templated=kind != "clusterDecisionResource"))
        return params

    def _pull_request(self, record: Object) -> Object:
        params = _texts(record, leave=("labels",))
        for name in ("branch", "target_branch"):
            if name in params:
                params.setdefault(f"{name}_slug", slug_of(text(params[name]), underscores=False))
        _add_short(params, "head_sha", "head_short_sha")
        labels = params.pop("labels", None)
        if self._renderer.is_go:
            params["labels"] = [*items(labels)]
        return params

    def _decision(self, record: Object) -> Object:
        params = _texts(record)
        if "server" not in params and "name" in params:
            known = {cluster.name: cluster.server for cluster in (*self._inputs.clusters(), IN_CLUSTER)}
            if text(params["name"]) in known:
                params["server"] = known[text(params["name"])]
        return params

    def _with_values(self, options: Object, params: Object, *, templated: bool = True) -> Object:
        """Mirrors `appendTemplatedValues`: values see the parameters, but not each other."""
        values = fields(options.get("values"))
        if not values:
            return params
        filled: Object = {
            key: self._renderer.text(text(value), params) if templated else text(value)
            for key, value in values.items()
        }
        if self._renderer.is_go:
            return {**params, "values": StringMap(filled)}
        return {**params, **{f"values.{key}": value for key, value in filled.items()}}


def _copied(params: Object) -> Object:
    """A deep copy that keeps `StringMap`."""
    copied: Object = {}
    for key, value in params.items():
        if isinstance(value, StringMap):
            copied[key] = StringMap(value)
        else:
            copied[key] = _copied(value) if isinstance(value, dict) else value
    return copied


def _by_key(params: Params, keys: list[str]) -> dict[str, Object]:
    by_key: dict[str, Object] = {}
    for param in params:
        key = sorted_json({name: param.get(name) for name in keys})
        if key in by_key:
            raise NotExpanded(
                "Argo CD reports: the parameters from a generator were not unique by the given mergeKeys, "
                f"Merge requires all param sets to be unique. Duplicate key was {key}"
            )
        by_key[key] = copy_object(param) if not param else _copied(param)
    return by_key


def flat(params: Object) -> dict[str, str]:
    """All parameters as text, keyed by their path. Mirrors `flatten.Flatten` and `%v`."""
    flattened: dict[str, str] = {}
    queue: list[tuple[str, Json]] = [*params.items()]
    while queue:
        name, value = queue.pop()
        if isinstance(value, dict):
            queue += [(f"{name}.{key}", below) for key, below in value.items()]
        elif isinstance(value, list):
            queue += [(f"{name}.{number}", below) for number, below in enumerate(value)]
        else:
            flattened[name] = text_of(value)
    return flattened


def _content(path: Path, name: str) -> Iterator[Object]:
    """An object or a list of objects; one set of parameters for each. An empty file is an empty object."""
    for document in yaml.documents(path.read_bytes()):
        if isinstance(document, Broken):
            raise NotExpanded(f"{name} cannot be read: {document.problem}")
        if document.body is None:
            break
        entries = document.body if isinstance(document.body, list) else [document.body]
        for entry in entries:
            if entry is not None and not isinstance(entry, dict):
                raise NotExpanded(f"{name} contains neither an object nor a list of objects")
            yield fields(entry)
        return
    yield {}


def _texts(record: Object, leave: tuple[str, ...] = ()) -> Object:
    decoded = fields(from_json(record))
    return {key: value if key in leave else text_of(value) for key, value in decoded.items()}


def _scm_repository(record: Object) -> Object:
    labels = record.get("labels")
    params = _texts(
        {**record, "labels": ",".join(map(text, items(labels)))} if isinstance(labels, list) else record
    )
    _add_short(params, "sha", "short_sha")
    if "branch" in params:
        params.setdefault("branchNormalized", normalized_name(text(params["branch"])))
    return params


def _add_short(params: Object, name: str, short: str) -> None:
    if name in params:
        params.setdefault(short, text(params[name])[:8])
        params.setdefault(f"{short}_7", text(params[name])[:7])
