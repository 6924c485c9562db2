"""Execute Go templates. Mirrors `text/template/exec.go`, Go 1.26; differs: the number of steps is limited."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from whysync.golang.template.builtins import BUILTINS
from whysync.golang.template.errors import NotEvaluated, TemplateError
from whysync.golang.template.parse import (
    Action,
    Break,
    Call,
    Chain,
    Constant,
    Continue,
    Dot,
    FieldChain,
    Function,
    If,
    Node,
    Nodes,
    Operand,
    Pipeline,
    Range,
    Template,
    Text,
    Variable,
    With,
    parse,
)
from whysync.golang.template.values import (
    NO_VALUE,
    Int64,
    StringMap,
    Value,
    in_order,
    is_true,
    text_of,
    type_name,
)

_MAX_STEPS: Final = 200_000
_MAX_OUTPUT: Final = 4 << 20
_MAX_CALLS: Final = 50

Parameter: TypeAlias = Literal["any", "string", "int", "int64", "float64", "bool", "map"]


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """The types of a Go function's parameters; the last one repeats if it is variadic."""

    parameters: tuple[Parameter, ...]
    variadic: bool = False
    minimum: int | None = None


class TemplateFunction(msgspec.Struct, frozen=True):
    run: Callable[..., Value]
    signature: Signature


Functions = Mapping[str, TemplateFunction]
BUILTIN_NAMES: Final = frozenset({*BUILTINS, "and", "or"})
_GO_NAMES: Final[dict[Parameter, str]] = {
    "any": "interface {}", "string": "string", "int": "int", "int64": "int64", "float64": "float64",
    "bool": "bool", "map": "map[string]interface {}",
}  # fmt: skip


def execute(source: str, data: Value, functions: Functions, *, missing_key: str = "default") -> str:
    """The output of a template. `missing_key` is the option `missingkey`.

    Raises `TemplateError` where Go reports an error, and `NotEvaluated`.
    """
    template = parse(source, BUILTIN_NAMES | functions.keys())
    run = _Execution(template, functions, missing_key)
    run.walk(template.nodes, data, [("$", data)])
    return "".join(run.output)


class _BreakLoop(Exception):
    pass


class _ContinueLoop(Exception):
    pass


_Variables = list[tuple[str, Value]]


class _Execution:
    def __init__(self, template: Template, functions: Functions, missing_key: str) -> None:
        self.output: list[str] = []
        self._template = template
        self._functions = functions
        self._missing_key = missing_key
        self._steps = 0
        self._size = 0
        self._calls = 0

    def walk(self, nodes: Nodes, dot: Value, variables: _Variables) -> None:
        for node in nodes:
            self._step()
            self._node(node, dot, variables)

    def _step(self) -> None:
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise NotEvaluated(f"a template takes more than {_MAX_STEPS} steps")

    def _write(self, text: str) -> None:
        self._size += len(text)
        if self._size > _MAX_OUTPUT:
            raise NotEvaluated(f"a template prints more than {_MAX_OUTPUT >> 20} MiB")
        self.output.append(text)

    def _node(self, node: Node, dot: Value, variables: _Variables) -> None:
        match node:
            case Text(text):
                self._write(text)
            case Action(pipeline):
                value = self._pipeline(pipeline, dot, variables)
                if not pipeline.variables:
                    self._write(text_of(NO_VALUE if value is None else value))
            case If(pipeline, body, otherwise):
                mark = len(variables)
                chosen = body if is_true(self._pipeline(pipeline, dot, variables)) else otherwise
                self.walk(chosen, dot, variables)
                del variables[mark:]
            case With(pipeline, body, otherwise):
                mark = len(variables)
                value = self._pipeline(pipeline, dot, variables)
                self.walk(body if is_true(value) else otherwise, value if is_true(value) else dot, variables)
                del variables[mark:]
            case Range():
                self._range(node, dot, variables)
            case Call(name, pipeline):
                self._call_template(name, pipeline, dot, variables)
            case Break():
                raise _BreakLoop
            case Continue():
                raise _ContinueLoop

    def _call_template(self, name: str, pipeline: Pipeline | None, dot: Value, variables: _Variables) -> None:
        nodes = self._template.defined.get(name)
        if nodes is None:
            raise TemplateError(f'template "{name}" not defined')
        self._calls += 1
        if self._calls > _MAX_CALLS:
            raise NotEvaluated(f"templates call each other more than {_MAX_CALLS} levels deep")
        value = self._pipeline(pipeline, dot, variables) if pipeline is not None else NO_VALUE
        self.walk(nodes, value, [("$", value)])
        self._calls -= 1

    def _range(self, node: Range, dot: Value, variables: _Variables) -> None:
        mark = len(variables)
        value = self._pipeline(node.pipeline, dot, variables, assigns=False)
        is_empty = True
        for key, item in _range_items(value):
            is_empty = False
            self._step()
            loop = variables[:mark]
            names = node.pipeline.variables
            values = (key, item) if len(names) > 1 else (item,)
            if node.pipeline.declares:
                loop += list(zip(names, values, strict=False))
            else:
                for name, assigned in zip(names, values, strict=False):
                    _assign(loop, name, assigned)
            try:
                self.walk(node.body, item, loop)
            except _ContinueLoop:
                pass
            except _BreakLoop:
                break
            finally:
                variables[:mark] = loop[:mark]
        if is_empty:
            self.walk(node.otherwise, dot, variables)
        del variables[mark:]

    # --- pipelines -----------------------------------------------------------------------------------

    def _pipeline(
        self, pipeline: Pipeline, dot: Value, variables: _Variables, *, assigns: bool = True
    ) -> Value:
        value: Value = NO_VALUE
        for number, command in enumerate(pipeline.commands):
            final = (value,) if number else ()
            value = self._command(command, dot, variables, final)
            if value is None:
                value = NO_VALUE
        if assigns:
            for name in pipeline.variables:
                if pipeline.declares:
                    variables.append((name, value))
                else:
                    _assign(variables, name, value)
        return value

    def _command(
        self, command: tuple[Operand, ...], dot: Value, variables: _Variables, final: tuple[Value, ...]
    ) -> Value:
        self._step()
        first, *arguments = command
        if isinstance(first, Function):
            return self._call(first.name, arguments, dot, variables, final)
        if isinstance(first, Pipeline) and not arguments and not final:
            return self._pipeline(first, dot, variables)
        if arguments or final:
            match first:
                case FieldChain(names) | Variable(_, names) | Chain(_, names) if names:
                    raise TemplateError(f"{names[-1]} is not a method but has arguments")
                case _:
                    raise TemplateError("can't give argument to non-function")
        if isinstance(first, Constant) and first.value is None:
            raise TemplateError("nil is not a command")
        return self._operand(first, dot, variables)

    def _operand(self, operand: Operand, dot: Value, variables: _Variables) -> Value:
        match operand:
            case Constant(value):
                return value
            case Dot():
                return dot
            case FieldChain(names):
                return self._fields(dot, names)
            case Variable(name, names):
                value = next(value for known, value in reversed(variables) if known == name)
                return self._fields(value, names)
            case Function(name):
                return self._call(name, [], dot, variables, ())
            case Chain(inner, names):
                return self._fields(self._operand(inner, dot, variables), names)
            case Pipeline():
                return self._pipeline(operand, dot, variables)

    def _fields(self, value: Value, names: Sequence[str]) -> Value:
        for name in names:
            value = self._field(value, name)
        return value

    def _field(self, value: Value, name: str) -> Value:
        match value:
            case dict():
                if name in value:
                    return value[name]
                if self._missing_key == "error":
                    raise TemplateError(f'map has no entry for key "{name}"', is_missing_key=True)
                if self._missing_key == "zero":
                    return "" if isinstance(value, StringMap) else None
                return NO_VALUE
            case None:
                raise TemplateError(f"nil pointer evaluating interface {{}}.{name}")
            case _ if value is NO_VALUE:
                if self._missing_key == "error":
                    raise TemplateError(f'nil data; no entry for key "{name}"')
                return NO_VALUE
            case _:
                raise TemplateError(
                    f"can't evaluate field {name} in type {_static_type(value)}", is_missing_key=True
                )

    # --- functions -----------------------------------------------------------------------------------

    def _call(
        self,
        name: str,
        arguments: Sequence[Operand],
        dot: Value,
        variables: _Variables,
        final: tuple[Value, ...],
    ) -> Value:
        if name in ("and", "or"):
            return self._logical(name, arguments, dot, variables, final)
        function = self._functions.get(name)
        if function is None:
            values = [self._argument(argument, "any", dot, variables) for argument in arguments]
            return _run(name, BUILTINS[name], [*values, *final])
        signature = function.signature
        count = len(arguments) + len(final)
        fixed = len(signature.parameters) - signature.variadic
        if count < fixed or (count > fixed and not signature.variadic):
            wanted = f"at least {fixed}" if signature.variadic else str(fixed)
            raise TemplateError(f"wrong number of args for {name}: want {wanted} got {count}")
        types: list[Parameter] = [
            signature.parameters[min(at, len(signature.parameters) - 1)] for at in range(count)
        ]
        values = [
            self._argument(argument, type_, dot, variables)
            for argument, type_ in zip(arguments, types, strict=False)
        ]
        values += [_checked(value, types[-1]) for value in final]
        return _run(name, function.run, values)

    def _argument(self, operand: Operand, type_: Parameter, dot: Value, variables: _Variables) -> Value:
        self._step()
        if isinstance(operand, Constant):
            constant = operand.value
            if constant is None and type_ not in ("any", "map"):
                raise TemplateError(f"cannot assign nil to {_GO_NAMES[type_]}")
            return _converted_constant(constant, type_)
        return _checked(self._operand(operand, dot, variables), type_)

    def _logical(
        self,
        name: str,
        arguments: Sequence[Operand],
        dot: Value,
        variables: _Variables,
        final: tuple[Value, ...],
    ) -> Value:
        if not arguments and not final:
            raise TemplateError(f"wrong number of args for {name}: want at least 1 got 0")
        value: Value = NO_VALUE
        for argument in arguments:
            value = self._argument(argument, "any", dot, variables)
            if is_true(value) == (name == "or"):
                return value
        return final[0] if final else value


def _run(name: str, function: Callable[..., Value], values: Sequence[Value]) -> Value:
    try:
        return function(*values)
    except TemplateError as problem:
        raise TemplateError(
            f"error calling {name}: {problem}", is_missing_key=problem.is_missing_key
        ) from None
    except TypeError:
        raise TemplateError(f"wrong number of args for {name}: got {len(values)}") from None
    except (ValueError, OverflowError, IndexError, ZeroDivisionError, RecursionError) as problem:
        raise TemplateError(f"error calling {name}: {problem}") from None


def _checked(value: Value, type_: Parameter) -> Value:
    """Mirrors `validateType`: no conversion between Go's types."""
    if type_ == "any":
        return None if value is NO_VALUE else value
    if value is None or value is NO_VALUE:
        if type_ == "map":
            return {}
        raise TemplateError(f"invalid value; expected {_GO_NAMES[type_]}")
    if not _is(value, type_):
        raise TemplateError(f"wrong type for value; expected {_GO_NAMES[type_]}; got {type_name(value)}")
    return value


def _is(value: Value, type_: Parameter) -> bool:
    match type_:
        case "string":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool)
        case "int":
            return isinstance(value, int) and not isinstance(value, bool | Int64)
        case "int64":
            return isinstance(value, Int64)
        case "float64":
            return isinstance(value, float)
        case "map":
            return isinstance(value, dict) and not isinstance(value, StringMap)
        case "any":
            return True


def _converted_constant(constant: str | bool | int | float | None, type_: Parameter) -> Value:
    """A number in the template takes the type of the parameter."""
    if isinstance(constant, int) and not isinstance(constant, bool):
        if type_ == "int64":
            return Int64(constant)
        if type_ == "float64":
            return float(constant)
    if isinstance(constant, float) and type_ == "int" and constant.is_integer():
        return int(constant)
    if type_ != "any" and constant is not None and not _is(constant, type_):
        raise TemplateError(f"expected {_GO_NAMES[type_]}; found {constant!r}")
    return {} if constant is None and type_ == "map" else constant


def _range_items(value: Value) -> Iterator[tuple[Value, Value]]:
    match value:
        case list():
            in_order(value)
            yield from enumerate(value)
        case dict():
            yield from sorted(value.items())
        case None:
            return
        case _ if value is NO_VALUE:
            return
        case int() if not isinstance(value, bool):
            for number in range(value):
                yield number, number
        case _:
            raise TemplateError(f"range can't iterate over {text_of(value)}")


def _assign(variables: _Variables, name: str, value: Value) -> None:
    for at in range(len(variables) - 1, -1, -1):
        if variables[at][0] == name:
            variables[at] = (name, value)
            return


def _static_type(value: Value) -> str:
    return "interface {}" if value is None else type_name(value)
