"""The Helm value that feeds a field of a rendered object, and the file or parameter that sets it.

A candidate is a value that occurs in the field, or a map of the same name. It is marked, the chart is
rendered, and the field shows what the template makes of it. The edit is then rendered again: only one that
changes exactly the expected field is accepted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from whysync.argocd.repo_server.render.options import RenderedObject, RenderProblem
from whysync.diagnosis.fix import Remove, Set
from whysync.errors import Refused
from whysync.fixes.edit import edited
from whysync.fixes.rendered_files import Outcome, Rendering
from whysync.fixes.yaml_edit import Uneditable, rewritten
from whysync.json_tree import MISSING, Json, Missing, Object, copy_object, fields, items, text
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.yaml.errors import Invalid

_MARK = "whysync0mark"
_NUMBER = 7919
"""A mark for integers: small enough for any field, and unlikely to be in a chart."""
_SIMPLE_NAME = re.compile(r"(?:[^\\.,=\[\]{}$\s]|\\\.)+(?:\.(?:[^\\.,=\[\]{}$\s]|\\\.)+)*")
"""The name of a parameter: keys with dots between them; a dot in a key is written `\\.`."""
_DOT = re.compile(r"(?<!\\)\.")
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_DEEPEST_NEW_FIELD = 3

Path_ = tuple[str, ...]


class Layer(NamedTuple):
    """Values from one place; `path` is a file of the checkout, otherwise `pointer` is in the Application."""

    values: Object
    path: str = ""
    pointer: str = ""


class ValueEdit(NamedTuple):
    """Set the value at `key`, or remove it."""

    key: Path_
    value: Json | Missing

    @property
    def name(self) -> str:
        return ".".join(self.key)

    def on(self, values: Object) -> Object:
        pointer = pointers.join(self.key)
        if isinstance(self.value, Missing):
            return edited(values, [Remove(pointer=pointer)])
        return edited(values, [Set(pointer=pointer, value=self.value)])


class FoundValue(NamedTuple):
    """The edit of one file: what to change on which line, and the whole text after it."""

    path: str
    sentence: str
    after: str


def layers_of(rendering: Rendering) -> list[Layer]:
    """The values in Argo CD's order: each layer overrides those before it."""
    helm = fields(rendering.source.get("helm"))
    above = source_pointer(rendering)
    files = rendering.files
    defaults = f"{rendering.path}/values.yaml".lstrip("/")
    try:
        paths = files.values_files(rendering.app, rendering.source, rendering.options)
    except RenderProblem as problem:
        raise Refused(what="the values files cannot be read", why=problem.text) from problem
    layers = [Layer(fields(_parsed(files.read(path))), path=path) for path in (defaults, *paths)]
    if helm.get("valuesObject") is not None:
        layers.append(Layer(fields(helm.get("valuesObject")), pointer=f"{above}/helm/valuesObject"))
    elif text(helm.get("values")):
        values = fields(_parsed(text(helm.get("values"))))
        layers.append(Layer(values, pointer=f"{above}/helm/values"))
    for number, parameter in enumerate(map(fields, items(helm.get("parameters")))):
        if not is_opaque(parameter):
            values = parameter_values(parameter)
            layers.append(Layer(values, pointer=f"{above}/helm/parameters/{number}/value"))
    return layers


def is_opaque(parameter: Object) -> bool:
    """A parameter with a list, an escape or a variable: it is kept as it is, and not traced."""
    name, value = text(parameter.get("name")), text(parameter.get("value"))
    return _SIMPLE_NAME.fullmatch(name) is None or any(char in value for char in "{$\\")


def opaque_names(source: Object) -> list[str]:
    """The parameters of the Application that are not traced."""
    helm = fields(source.get("helm"))
    parameters = [p for p in map(fields, items(helm.get("parameters"))) if is_opaque(p)]
    return [text(p.get("name")) for p in (*parameters, *map(fields, items(helm.get("fileParameters"))))]


def source_pointer(rendering: Rendering) -> str:
    spec = fields(rendering.app.get("spec"))
    sources = items(spec.get("sources"))
    number = next((n for n, source in enumerate(sources) if source is rendering.source), None)
    return "/spec/source" if number is None else f"/spec/sources/{number}"


def _parsed(content: str) -> Json:
    try:
        return yaml.load(content)
    except Invalid as problem:
        raise Refused(what="the values cannot be read", why=str(problem)) from problem


def parameter_values(parameter: Object) -> Object:
    """`image.tag=1.2` as values. Mirrors the types of Helm's `--set`."""
    name, value = text(parameter.get("name")), text(parameter.get("value"))
    typed: Json = value
    if parameter.get("forceString") is not True:
        typed = {"true": True, "false": False, "null": None}.get(value, value)
        typed = int(value) if _INTEGER.fullmatch(value) else typed
    for part in reversed(_DOT.split(name)):
        typed = {part.replace("\\.", "."): typed}
    return fields(typed)


def merged(layers: list[Layer]) -> Object:
    result: Object = {}
    for layer in layers:
        _merge(result, layer.values)
    return result


def _merge(into: Object, values: Object) -> None:
    for key, value in values.items():
        existing = into.get(key)
        if isinstance(existing, dict) and isinstance(value, dict):
            _merge(existing, value)
        else:
            into[key] = copy_object({"": value})[""]


class Tracer:
    """Finds the values behind one field."""

    def __init__(self, rendering: Rendering) -> None:
        self.rendering = rendering
        self.layers = layers_of(rendering)
        self.values = merged(self.layers)
        names = rendering.files.names_in(rendering.path)
        override = next((name for name in names if name.startswith(".argocd-source")), "")
        if override:
            raise Refused(
                what=f"{rendering.path}/{override} overrides the values",
                why="whysync does not trace values through this file",
                next="edit it manually; without --checkout, whysync fix shows what to change",
            )
        if _bodies(self.with_values(self.values)) != _bodies(rendering.objects):
            raise Refused(
                what=f"{rendering.path} is rendered differently each time",
                next="edit it manually; without --checkout, whysync fix shows what to change",
            )

    def with_values(self, values: Object) -> tuple[RenderedObject, ...]:
        """The rendering with exactly these values."""
        source = self.rendering.source
        names = ("valueFiles", "values", "parameters", "ignoreMissingValueFiles")
        helm = {key: value for key, value in fields(source.get("helm")).items() if key not in names}
        helm |= {"valuesObject": values, "skipSchemaValidation": True}
        helm["parameters"] = [
            p for p in items(fields(source.get("helm")).get("parameters")) if is_opaque(fields(p))
        ]
        return self.rendering.rendered({**source, "helm": helm})

    def tried(self, edit: ValueEdit, expected: Object) -> Outcome | None:
        """`None` if the chart cannot be rendered with it."""
        try:
            return self.rendering.outcome(self.with_values(edit.on(self.values)), expected)
        except Refused:
            return None

    def candidates(self, pointer: str, now: Json | Missing, goal: Json | Missing) -> Iterator[ValueEdit]:
        """Edits of values that may change the field from `now` to `goal`."""
        if isinstance(now, dict | list | Missing) or isinstance(goal, dict | list):
            yield from self._by_name(pointer, goal)
            return
        for key, leaf in _leaves(self.values):
            if isinstance(leaf, bool) or leaf in (None, "") or str(leaf) not in str(now):
                continue
            if isinstance(goal, Missing):
                yield ValueEdit(key, MISSING)
                continue
            value = self._value_for(key, leaf, pointer, goal)
            if not isinstance(value, Missing):
                yield ValueEdit(key, value)
        yield from self._by_name(pointer, goal)

    def _value_for(self, key: Path_, leaf: Json, pointer: str, goal: Json) -> Json | Missing:
        """What the value must be for the field to be `goal`, found by rendering with a mark."""
        mark: Json = _NUMBER if isinstance(leaf, int | float) else _MARK
        try:
            objects = self.with_values(ValueEdit(key, mark).on(self.values))
        except Refused:
            return MISSING
        bodies = [rendered.body for rendered in objects if self.rendering.is_target(rendered.body)]
        rendered_value = pointers.resolve(bodies[0], pointer) if bodies else MISSING
        if isinstance(rendered_value, Missing | dict | list) or str(mark) not in str(rendered_value):
            return MISSING
        before, _, after = str(rendered_value).partition(str(mark))
        goal_text = str(goal)
        if not (goal_text.startswith(before) and goal_text.endswith(after)):
            return MISSING
        if len(goal_text) <= len(before) + len(after):
            return MISSING
        middle = goal_text[len(before) : len(goal_text) - len(after)]
        if isinstance(leaf, int | float):
            return int(middle) if _INTEGER.fullmatch(middle) else MISSING
        return middle

    def _by_name(self, pointer: str, goal: Json | Missing) -> Iterator[ValueEdit]:
        """Keys with the names of the field: `resources.limits.memory` for `/…/resources/limits/memory`."""
        parts = pointers.split(pointer)
        keys = [key for key, _ in _all_keys(self.values)]
        seen: set[Path_] = set()
        for length in range(1, _DEEPEST_NEW_FIELD + 1):
            above = parts[-length - 1] if length < len(parts) else ""
            tail = tuple(parts[-length:])
            for key in keys:
                candidate = (*key, *tail) if above and key[-1].lower().endswith(above.lower()) else ()
                if length == 1 and key[-1] == tail[0]:
                    candidate = key
                if candidate and candidate not in seen:
                    seen.add(candidate)
                    yield ValueEdit(candidate, goal)

    def trace(self, pointer: str, expected: Object) -> ValueEdit:
        """The one value whose edit gives `expected`, or `Refused`."""
        now = pointers.resolve(self.rendering.object.body, pointer)
        goal = pointers.resolve(expected, pointer)
        exact: list[ValueEdit] = []
        wider: list[tuple[ValueEdit, Outcome]] = []
        for edit in self.candidates(pointer, now, goal):
            if any(edit == other for other in exact):
                continue
            outcome = self.tried(edit, expected)
            if outcome is not None and outcome.is_exact:
                exact.append(edit)
            elif outcome is not None and outcome.is_expected:
                wider.append((edit, outcome))
        if len(exact) > 1:
            raise Refused(
                what=f"several values set {pointer}: {', '.join(edit.name for edit in exact)}",
                why="whysync does not guess which of them is meant",
                next="set one of them manually, and compare with whysync plan",
            )
        if exact:
            return exact[0]
        if wider:
            edit, outcome = wider[0]
            side_effects = "; ".join(outcome.side_effects[:3])
            raise Refused(
                what=f"{edit.name} ({self.place_of(edit)}) sets {pointer}, but also changes {side_effects}",
                why="the fix is for one field",
                next="set it manually if all of them should change, or add a value for this field alone",
            )
        raise NoValue

    def layer_of(self, key: Path_) -> Layer:
        """The layer to edit: the one that sets the key, or the app's last file for a default of the chart."""
        setter = self._setter(key)
        return self._own_file() if setter is None or setter is self.layers[0] else setter

    def _setter(self, key: Path_) -> Layer | None:
        """The layer that sets a key now."""
        pointer = pointers.join(key)
        for layer in reversed(self.layers):
            if not isinstance(pointers.resolve(layer.values, pointer), Missing):
                return layer
        return None

    def _own_file(self) -> Layer:
        """The last values file of the app, or the chart's defaults if the app has none."""
        return [layer for layer in self.layers if layer.path][-1]

    def place_of(self, edit: ValueEdit) -> str:
        """Where the value is set now."""
        layer = self._setter(edit.key) or self.layer_of(edit.key)
        if layer.path:
            return self.location_of(layer.path, edit.key)
        return f"{layer.pointer} of the Application{self._line_of_application(layer.pointer)}"

    def _line_of_application(self, pointer: str) -> str:
        """`, apps/shop.yaml:12`, if the checkout declares the Application."""
        places = self.rendering.declarations()
        if len(places) != 1:
            return ""
        line = yaml.position(
            self.rendering.files.read(places[0].path),
            pointers.join((*places[0].inside, *pointers.split(pointer))),
            document=places[0].document,
        )
        return f", {places[0].path}:{line or places[0].line}"

    def location_of(self, path: str, key: Path_) -> str:
        """The file with the line of the key, or of the nearest key above it, if it has one."""
        data = self.rendering.files.read(path)
        for length in range(len(key), 0, -1):
            line = yaml.position(data, pointers.join(key[:length]))
            if line is not None:
                return f"{path}:{line}"
        return path

    def in_file(self, edit: ValueEdit, expected: Object) -> FoundValue:
        """The edit of the file that sets the value; raises `Refused` if it is not a file."""
        layer = self.layer_of(edit.key)
        verb = "remove" if isinstance(edit.value, Missing) else "set"
        if not layer.path:
            before = pointers.resolve(self.rendering.app, layer.pointer)
            raise in_application(edit, layer, text(before) if isinstance(before, str) else "")
        before = self.rendering.files.read(layer.path)
        attempts = [edit] if not isinstance(edit.value, Missing) else [edit, ValueEdit(edit.key, None)]
        problem = "the rendering changes in another way"
        for attempt in attempts:
            try:
                after = self._rewritten(before, layer, attempt)
            except Uneditable as uneditable:
                problem = uneditable.reason
                continue
            if self.rendering.tried({layer.path: after}, expected).is_exact:
                location = self.location_of(layer.path, edit.key)
                return FoundValue(layer.path, f"{verb} {edit.name} in {location}", after)
        raise Refused(
            what=f"{edit.name} cannot be changed in {self.place_of(edit)}",
            why=problem,
            next="edit it manually; without --checkout, whysync fix shows what to change",
        )

    def _rewritten(self, before: str, layer: Layer, edit: ValueEdit) -> str:
        after = edit.on(layer.values)
        if not layer.values:
            return (
                f"{before}{yaml.dump(after)}"
                if not before or before.endswith("\n")
                else before + "\n" + yaml.dump(after)
            )
        return rewritten(before, 0, after)


class InApplication(Exception):
    """The Application itself sets the value: with a parameter, inline values or options of Kustomize."""

    def __init__(self, name: str, pointer: str, value: Json | Missing) -> None:
        super().__init__(name)
        self.name = name
        self.pointer = pointer
        self.value = value


def in_application(edit: ValueEdit, layer: Layer, before: str) -> InApplication:
    if layer.pointer.endswith("/valuesObject"):
        return InApplication(edit.name, layer.pointer + pointers.join(edit.key), edit.value)
    if layer.pointer.endswith("/values"):
        return InApplication(edit.name, layer.pointer, _rewritten_text(edit, layer, before))
    if isinstance(edit.value, Missing):  # the whole parameter, not only its value
        return InApplication(edit.name, layer.pointer.removesuffix("/value"), MISSING)
    value = edit.value if isinstance(edit.value, str) else yaml.dump(edit.value).strip()
    return InApplication(edit.name, layer.pointer, value)  # parameters are texts


def _rewritten_text(edit: ValueEdit, layer: Layer, before: str) -> str:
    """`values` is a text in which YAML is written."""
    try:
        return rewritten(before, 0, edit.on(layer.values))
    except Uneditable as problem:
        raise Refused(
            what=f"{edit.name} cannot be changed in {layer.pointer} of the Application",
            why=problem.reason,
            next="edit it manually; without --checkout, whysync fix shows what to change",
        ) from problem


class NoValue(Exception):
    """No value of the chart feeds the field: the template sets it."""


def _bodies(objects: tuple[RenderedObject, ...]) -> list[Object]:
    return [rendered.body for rendered in objects]


def _leaves(values: Object, above: Path_ = ()) -> Iterator[tuple[Path_, Json]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*above, key))
        elif isinstance(value, list):
            for number, item in enumerate(value):
                if isinstance(item, dict):
                    yield from _leaves(item, (*above, key, str(number)))
                else:
                    yield (*above, key, str(number)), item
        else:
            yield (*above, key), value


def _all_keys(values: Object, above: Path_ = ()) -> Iterator[tuple[Path_, Json]]:
    for key, value in values.items():
        yield (*above, key), value
        if isinstance(value, dict):
            yield from _all_keys(value, (*above, key))


# --- fields that the template sets ------------------------------------------------------------------


def in_template(rendering: Rendering, pointer: str, expected: Object) -> FoundValue:
    """The line of the template that sets a field which no value feeds."""
    path = rendering.object.origin.path
    key = pointers.split(pointer)[-1]
    now = pointers.resolve(rendering.object.body, pointer)
    goal = pointers.resolve(expected, pointer)
    if not rendering.files.has(path):
        raise Refused(
            what=f"no value of the chart sets {pointer}, and its template is not in the checkout: {path}",
            next="change the chart, or ask its maintainers for a value",
        )
    before = rendering.files.read(path)
    lines = before.splitlines(keepends=True)
    numbers = [number for number, line in enumerate(lines) if _sets(line, key, now)]
    if isinstance(goal, Missing):
        numbers = numbers or [number for number, line in enumerate(lines) if _fills(line, key)]
    exact: list[FoundValue] = []
    for number in numbers:
        line = "" if isinstance(goal, Missing) else _replaced(lines[number], now, goal)
        if line == lines[number]:
            continue
        after = "".join([*lines[:number], line, *lines[number + 1 :]])
        try:
            is_exact = rendering.tried({path: after}, expected).is_exact
        except Refused:
            continue
        if is_exact:
            verb = "remove" if isinstance(goal, Missing) else "change"
            exact.append(FoundValue(path, f"{verb} {key} in {path}:{number + 1}", after))
    if len(exact) == 1:
        return exact[0]
    if isinstance(now, Missing):
        raise Refused(
            what=f"no value of the chart sets {pointer}: it has to be added to the template {path}",
            why="whysync does not add fields to templates",
            next="add it to the template; without --checkout, whysync fix shows the change",
        )
    line = numbers[0] + 1 if len(numbers) == 1 else _nearest_line(lines, key)
    location = f"{path}:{line}" if line else path
    problem = f"no value of the chart removes {pointer}" if isinstance(goal, Missing) else ""
    raise Refused(
        what=f"{problem or f'no value of the chart sets {pointer}'}: the template sets it, {location}",
        why="whysync edits a template only where one line alone sets the field",
        next="edit the template, or add a value; without --checkout, whysync fix shows the change",
    )


def _fills(line: str, key: str) -> bool:
    """`replicas: {{ .Values.replicaCount }}`: a line of its own, without a block around it."""
    return (
        re.fullmatch(rf"\s*{re.escape(key)}:\s*[\"']?\{{\{{[^{{}}]*\}}\}}[\"']?\s*(#.*)?\s*", line)
        is not None
    )


def _sets(line: str, key: str, value: Json | Missing) -> bool:
    if isinstance(value, dict | list | Missing):
        return False
    literal = re.escape(yaml.dump(value).strip().strip("'\""))
    return re.fullmatch(rf"\s*(- )?{re.escape(key)}:\s*([\"']?){literal}\2\s*(#.*)?\s*", line) is not None


def _replaced(line: str, now: Json | Missing, goal: Json) -> str:
    assert not isinstance(now, Missing)
    old, new = yaml.dump(now).strip().strip("'\""), yaml.dump(goal).strip().strip("'\"")
    head, colon, rest = line.partition(":")
    return head + colon + rest.replace(old, new, 1)


def _nearest_line(lines: list[str], key: str) -> int:
    return next(
        (n for n, line in enumerate(lines, start=1) if re.match(rf"\s*(- )?{re.escape(key)}:", line)), 0
    )
