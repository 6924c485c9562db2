"""The functions of Go templates in ApplicationSets: sprig 3.3 without `env`, `expandenv` and `getHostByName`,
and Argo CD's own `normalize`, `slugify`, `toYaml`, `fromYaml` and `fromYamlArray`.

Functions with random or time-dependent results, and a few rare ones, raise `NotEvaluated`.
"""

# The types of lambdas in the tables below are checked at run time, by their signature.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import posixpath
import re
import zlib
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Final
from urllib.parse import urlsplit

from whysync.argocd.application_sets import regex
from whysync.argocd.repo_server.git.revisions import is_range, newest, version_of
from whysync.golang.fmt import quoted
from whysync.golang.template.errors import NotEvaluated, TemplateError
from whysync.golang.template.execute import Parameter, Signature, TemplateFunction
from whysync.golang.template.values import (
    AnyOrder,
    Int64,
    StringMap,
    Value,
    from_json,
    in_order,
    is_true,
    kind_name,
    text_of,
    type_name,
)
from whysync.json_tree import Json, Object, copy
from whysync.kubernetes.api import yaml

_MAX_TEXT: Final = 1 << 20
_MAX_LIST: Final = 100_000
_INT64: Final = 1 << 64
_NOT_IN_NAMES: Final = re.compile(r"[^-a-z0-9.]")
_MAX_NAME: Final = 253


def normalized_name(name: str) -> str:
    """`normalize`: mirrors `SanitizeName`."""
    return _NOT_IN_NAMES.sub("-", name.lower())[:_MAX_NAME].strip("-.")


def slug_of(text: str, maximum: int = 50, *, smart: bool = True, underscores: bool = True) -> str:
    """`slug.Make` of gosimple/slug for ASCII; in slugs of branches, `_` becomes `-`."""
    if not text.isascii():
        raise NotEvaluated("a slug of text with characters outside of ASCII")
    slug = text.strip()
    if not underscores:
        slug = slug.replace("_", "-")
    slug = slug.replace("&", "and").replace("@", "at").lower()
    if not smart and len(slug) >= maximum:
        slug = slug[:maximum]
    slug = re.sub(r"-+", "-", re.sub(r"[^a-z0-9-_]", "-", slug)).strip("-_")
    if maximum > 0 and smart and len(slug) > maximum:
        at = slug.rfind("-", 0, maximum + 1)
        slug = slug[:at] if at >= 0 else slug[:maximum]
    return slug


# --- strings -------------------------------------------------------------------------------------------


def _slugify(*arguments: Value) -> str:
    maximum, smart, name = 50, True, ""
    for at, argument in enumerate(arguments):
        if at == len(arguments) - 1:
            name = _string(argument)
        elif at == 0:
            if isinstance(argument, bool | Int64) or not isinstance(argument, int):
                raise TemplateError(f"interface conversion: interface {{}} is {type_name(argument)}, not int")
            maximum = argument
        elif at == 1:
            if not isinstance(argument, bool):
                raise TemplateError(
                    f"interface conversion: interface {{}} is {type_name(argument)}, not bool"
                )
            smart = argument
    return slug_of(normalized_name(name), maximum, smart=smart)


def _string(value: Value) -> str:
    if not isinstance(value, str):
        raise TemplateError(f"interface conversion: interface {{}} is {type_name(value)}, not string")
    return value


def _cut(text: str, start: int | None, end: int | None) -> str:
    """A part of the text by bytes, as Go's slices."""
    encoded = text.encode()
    first, last = start or 0, len(encoded) if end is None else end
    if not 0 <= first <= last <= len(encoded):
        raise TemplateError(f"slice bounds out of range [{first}:{last}]")
    return encoded[first:last].decode("utf-8", "replace")


def _trunc(count: int, text: str) -> str:
    size = len(text.encode())
    if count < 0 and size + count > 0:
        return _cut(text, size + count, None)
    return _cut(text, None, count) if 0 <= count < size else text


def _substr(start: int, end: int, text: str) -> str:
    if start < 0:
        return _cut(text, None, end)
    if end < 0 or end > len(text.encode()):
        return _cut(text, start, None)
    return _cut(text, start, end)


def _abbrev(width: int, text: str) -> str:
    if width < 4 or len(text.encode()) <= width:
        return text
    return f"{_cut(text, None, width - 3)}..."


def _title(text: str) -> str:
    """Go's `strings.Title`: the first letter of each word in upper case."""
    return re.sub(r"(^|[^\w'])(\w)|(?<=')(?!)", lambda match: f"{match[1]}{match[2].title()}", text)


def _repeat(count: int, text: str) -> str:
    if count < 0:
        raise TemplateError("strings: negative Repeat count")
    if count * len(text) > _MAX_TEXT:
        raise NotEvaluated("a template repeats a text too often")
    return text * count


def _strval(value: Value) -> str:
    return value if isinstance(value, str) else text_of(value)


def _quote(*values: Value) -> str:
    return " ".join(quoted(_strval(value)) for value in values if value is not None)


def _squote(*values: Value) -> str:
    return " ".join(f"'{text_of(value)}'" for value in values if value is not None)


def _indent(spaces: int, text: str) -> str:
    pad = _repeat(spaces, " ")
    if len(pad) * (text.count("\n") + 1) > _MAX_TEXT:
        raise NotEvaluated("a template indents a text too much")
    return pad + text.replace("\n", f"\n{pad}")


def _strings(value: Value) -> list[str]:
    """Mirrors `strslice`."""
    if isinstance(value, list):
        return [_strval(item) for item in value if item is not None]
    return [] if value is None else [_strval(value)]


def _split_parts(parts: Sequence[str]) -> StringMap:
    return StringMap({f"_{number}": part for number, part in enumerate(parts)})


def _splits(separator: str, text: str, count: int = -1) -> list[str]:
    """Go's `strings.SplitN`: without a separator, the characters."""
    if count == 0:
        return []
    if not separator:
        characters = list(text)
        if 0 < count < len(characters):
            return [*characters[: count - 1], "".join(characters[count - 1 :])]
        return characters
    return text.split(separator, count - 1 if count > 0 else -1)


def _swapcase(text: str) -> str:
    result: list[str] = []
    after_space = True
    for character in text:
        if character.isupper():
            result.append(character.lower())
            after_space = False
        elif character.islower():
            result.append(character.title() if after_space else character.upper())
            after_space = False
        else:
            result.append(character)
            after_space = character.isspace()
    return "".join(result)


def _initials(text: str) -> str:
    return "".join(word[0] for word in text.split())


def _connected(connector: str) -> Callable[[str], str]:
    """`kebabcase` and `snakecase` of lower-case words; their rules for other text are not mirrored."""

    def connect(text: str) -> str:
        if re.fullmatch(r"[a-z]*(?:[-_ ][a-z]+)*", text) is None:
            raise NotEvaluated("a template changes the case of a name that has more than lower-case words")
        return re.sub(r"[-_ ]", connector, text)

    return connect


def _camelcase(text: str) -> str:
    if re.fullmatch(r"(?:[a-z][a-z0-9]*(?:[-_ ][a-z][a-z0-9]*)*)?", text) is None:
        raise NotEvaluated("a template changes the case of a name that has more than lower-case words")
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[-_ ]", text))


def _base64(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        raise NotEvaluated("a template decodes invalid base64") from None


def _base32(text: str) -> str:
    try:
        return base64.b32decode(text).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        raise NotEvaluated("a template decodes invalid base32") from None


# --- numbers -------------------------------------------------------------------------------------------


def _integer(value: Value) -> int:
    """`cast.ToInt64`: 0 for what is no number."""
    match value:
        case bool():
            return int(value)
        case int():
            return int(value)
        case float():
            return int(value) if math.isfinite(value) else 0
        case str():
            return _parsed_integer(value)
        case _:
            return 0


def _parsed_integer(text: str) -> int:
    whole, point, fraction = text.partition(".")
    if point and not fraction.strip("0"):
        text = whole
    try:
        if re.fullmatch(r"[+-]?0[0-7_]+", text):
            return int(text.replace("_", ""), 8)
        return int(text, 0) if re.fullmatch(r"[+-]?\w+", text) and len(text) < 30 else 0
    except ValueError:
        return 0


def _int64(value: Value) -> Int64:
    return _wrapped(_integer(value))


def _wrapped(number: int) -> Int64:
    """The number as an `int64`, which overflows."""
    return Int64((number + (_INT64 >> 1)) % _INT64 - (_INT64 >> 1))


def _float(value: Value) -> float:
    match value:
        case bool():
            return float(value)
        case int() | float():
            return float(value)
        case str():
            try:
                return float(value) if re.fullmatch(r"[+-]?[\d.]+(?:[eE][+-]?\d{1,3})?", value) else 0.0
            except ValueError:
                return 0.0
        case _:
            return 0.0


def _divided(first: Value, second: Value) -> Int64:
    dividend, divisor = _integer(first), _integer(second)
    if divisor == 0:
        raise TemplateError("runtime error: integer divide by zero")
    quotient = abs(dividend) // abs(divisor)
    return _wrapped(quotient if (dividend < 0) == (divisor < 0) else -quotient)


def _remainder(first: Value, second: Value) -> Int64:
    dividend, divisor = _integer(first), _integer(second)
    if divisor == 0:
        raise TemplateError("runtime error: integer divide by zero")
    return _wrapped(int(math.fmod(dividend, divisor)) if abs(dividend) < 1 << 53 else dividend % divisor)


def _decimal(operation: Callable[[Decimal, Decimal], Decimal]) -> Callable[..., float]:
    def compute(first: Value, *others: Value) -> float:
        result = Decimal(repr(_float(first)))
        for other in others:
            try:
                result = operation(result, Decimal(repr(_float(other))))
            except (InvalidOperation, ZeroDivisionError):
                raise TemplateError("decimal division by 0") from None
        return float(result)

    return compute


def _until_step(start: int, stop: int, step: int) -> list[Json]:
    if (stop < start and step >= 0) or (stop >= start and step <= 0):
        return []
    numbers = range(start, stop, step)
    if len(numbers) > _MAX_LIST:
        raise NotEvaluated("a template creates a list that is too long")
    return [*numbers]


def _sequence(*numbers: int) -> str:
    match numbers:
        case (end,):
            step = -1 if end < 1 else 1
            values = _until_step(1, end + step, step)
        case (start, end):
            step = -1 if end < start else 1
            values = _until_step(start, end + step, step)
        case (start, step, end):
            if end < start and step > 0:
                return ""
            values = _until_step(start, end + (-1 if end < start else 1), step)
        case _:
            return ""
    return " ".join(map(str, values))


def _round(value: Value, places: int, at: float = 0.5) -> float:
    power = 10.0**places
    digit = power * _float(value)
    fraction = math.modf(digit)[0]
    return (math.ceil(digit) if fraction >= at else math.floor(digit)) / power


def _octal(value: Value) -> Int64:
    text = text_of(value)
    return Int64(int(text, 8)) if re.fullmatch(r"[+-]?[0-7]{1,20}", text) else Int64(0)


# --- lists ---------------------------------------------------------------------------------------------


def _items(value: Value, name: str) -> list[Json]:
    if not isinstance(value, list):
        raise TemplateError(f"Cannot find {name} on type {kind_name(value)}")
    in_order(value)
    return list(value)


def _deep_equal(first: Value, second: Value) -> bool:
    return type_name(first) == type_name(second) and first == second


def _has(needle: Value, haystack: Value) -> bool:
    items = [*haystack] if isinstance(haystack, AnyOrder) else _items(haystack or [], "has")
    return any(_deep_equal(needle, item) for item in items)


def _without(values: Value, *omitted: Value) -> list[Json]:
    return [item for item in _items(values, "without") if not any(_deep_equal(item, o) for o in omitted)]


def _uniq(values: Value) -> list[Json]:
    unique: list[Json] = []
    for item in _items(values, "uniq"):
        if not any(_deep_equal(item, known) for known in unique):
            unique.append(item)
    return unique


def _slice(values: Value, *bounds: Value) -> Value:
    content = _items(values, "slice")
    if not content:
        return None
    start = _integer(bounds[0]) if bounds else 0
    end = _integer(bounds[1]) if len(bounds) > 1 else len(content)
    if not 0 <= start <= end <= len(content):
        raise TemplateError("reflect.Value.Slice: slice index out of bounds")
    return content[start:end]


def _concat(*lists: Value) -> list[Json]:
    return [item for values in lists for item in _items(values, "concat")]


def _chunk(size: int, values: Value) -> list[Json]:
    content = _items(values, "chunk")
    if size <= 0:
        raise TemplateError("runtime error: integer divide by zero")
    return [content[at : at + size] for at in range(0, len(content), size)]


# --- dictionaries --------------------------------------------------------------------------------------


def _dict(*values: Value) -> Object:
    result: Object = {}
    for at in range(0, len(values), 2):
        result[_strval(values[at])] = _json(values[at + 1]) if at + 1 < len(values) else ""
    return result


def _json(value: Value) -> Json:
    return value  # pyright: ignore[reportReturnType]  (values of templates are JSON, with a few Go types)


def _default(default: Value, *given: Value) -> Value:
    return given[0] if given and is_true(given[0]) else default


def _omit(values: Object, *keys: str) -> Object:
    return {key: value for key, value in values.items() if key not in keys}


def _set(values: Object, key: str, value: Value) -> Object:
    values[key] = _json(value)
    return values


def _unset(values: Object, key: str) -> Object:
    values.pop(key, None)
    return values


def merged_maps(target: Object, *sources: Object, override: bool = False) -> Object:
    """Mirrors `mergo.Merge` of maps, with or without override; changes the target."""
    for source in sources:
        for key, value in source.items():
            old = target.get(key)
            if isinstance(old, dict) and isinstance(value, dict) and type(old) is type(value):
                merged_maps(old, value, override=override)
            elif override or (not is_true(old) and value is not None):
                target[key] = value
    return target


def _dig(*arguments: Value) -> Value:
    if len(arguments) < 3:
        raise TemplateError("dig needs at least three arguments")
    *keys, default, value = arguments
    for number, key in enumerate(keys):
        if not isinstance(value, dict) or isinstance(value, StringMap):
            raise TemplateError(
                f"interface conversion: interface {{}} is {type_name(value)}, not map[string]interface {{}}"
            )
        if _string(key) not in value:
            return default
        value = value[_string(key)]
        if number == len(keys) - 1:
            return value
    return default


# --- encodings -----------------------------------------------------------------------------------------


def _whole_numbers(value: Value) -> Json:
    """Floats as `encoding/json` writes them: without a fraction if they have none."""
    if isinstance(value, dict):
        return {key: _whole_numbers(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            raise TemplateError("json: unsupported value")
        return int(value) if value.is_integer() and abs(value) < 1e21 else value
    return int(value) if isinstance(value, Int64) else _json(value)


_HTML: Final = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def _to_json(value: Value, indent: int | None = None) -> str:
    return _to_raw_json(value, indent).translate(_HTML)


def _to_raw_json(value: Value, indent: int | None = None) -> str:
    separators = (",", ":") if indent is None else (",", ": ")
    return json.dumps(_whole_numbers(value), ensure_ascii=False, separators=separators, indent=indent)


def _parsed_json(text: str) -> Value:
    try:
        return from_json(json.loads(text))
    except (ValueError, RecursionError) as problem:
        raise TemplateError(f"invalid JSON: {problem}") from None


def _from_json(text: str) -> Value:
    try:
        return _parsed_json(text)
    except TemplateError:
        return None


def _to_yaml(value: Value) -> str:
    """Equal to Go's YAML when it is read; the quotes may differ."""
    return yaml.dump(_whole_numbers(value)).removesuffix("\n")


def _parsed_yaml(text: str) -> Json:
    try:
        return from_json(yaml.load(text))
    except (yaml.Invalid, RecursionError) as problem:
        raise TemplateError(f"error converting YAML to JSON: yaml: {problem}") from None


def _from_yaml(text: str) -> Object:
    value = _parsed_yaml(text)
    if value is not None and not isinstance(value, dict):
        raise TemplateError(
            "error unmarshaling JSON: cannot unmarshal into Go value of type map[string]interface {}"
        )
    return value or {}


def _from_yaml_array(text: str) -> list[Json]:
    value = _parsed_yaml(text)
    if value is not None and not isinstance(value, list):
        raise TemplateError("error unmarshaling JSON: cannot unmarshal into Go value of type []interface {}")
    return value or []


# --- others --------------------------------------------------------------------------------------------


def _url_parse(text: str) -> Object:
    try:
        parsed = urlsplit(text)
        host = parsed.netloc.rpartition("@")[2]
        hostname = parsed.netloc.rpartition("@")[2].partition(":")[0]
    except ValueError as problem:
        raise TemplateError(f"unable to parse url: {problem}") from None
    return {
        "scheme": parsed.scheme, "host": host, "hostname": hostname, "path": parsed.path,
        "query": parsed.query, "opaque": "", "fragment": parsed.fragment,
        "userinfo": parsed.netloc.rpartition("@")[0],
    }  # fmt: skip


def _semver_compare(constraint: str, version: str) -> bool:
    if version_of(version) is None or not (is_range(constraint) or version_of(constraint)):
        raise TemplateError("invalid semantic version")
    return newest(constraint if is_range(constraint) else f"={constraint}", [version]) is not None


def _base(path: str) -> str:
    return posixpath.basename(path.rstrip("/")) or ("/" if path else ".")


def _extension(path: str) -> str:
    _, dot, extension = path.rpartition("/")[2].rpartition(".")
    return dot + extension if dot else ""


def _replace_literally(pattern: str, text: str, new: str) -> str:
    return regex.replace_all(pattern, text, new, literal=True)


def _fail(message: str) -> str:
    raise TemplateError(message)


def _not_evaluated(name: str, why: str) -> Callable[..., Value]:
    def refuse(*_: Value) -> Value:
        raise NotEvaluated(f"its template uses the function {name}, {why}")

    return refuse


def _typed(run: Callable[..., Value], *parameters: Parameter | str) -> TemplateFunction:
    """A function with its parameters; `any...` repeats."""
    types: list[Parameter] = []
    for parameter in parameters:
        types.append(parameter.removesuffix("..."))  # pyright: ignore[reportArgumentType]  (checked by a test)
    variadic = bool(parameters) and parameters[-1].endswith("...")
    return TemplateFunction(run, Signature(parameters=tuple(types), variadic=variadic))


_PATHS: Final[dict[str, TemplateFunction]] = {
    "base": _typed(_base, "string"),
    "dir": _typed(lambda path: posixpath.normpath(posixpath.dirname(path) or "."), "string"),
    "clean": _typed(lambda path: posixpath.normpath(path or "."), "string"),
    "ext": _typed(_extension, "string"),
    "isAbs": _typed(lambda path: path.startswith("/"), "string"),
}
_REGEX: Final[dict[str, TemplateFunction]] = {
    "FindAll": _typed(regex.find_all, "string", "string", "int"),
    "Find": _typed(lambda pattern, text: (regex.find_all(pattern, text, 1) or [""])[0], "string", "string"),
    "ReplaceAll": _typed(regex.replace_all, "string", "string", "string"),
    "ReplaceAllLiteral": _typed(_replace_literally, "string", "string", "string"),
    "Split": _typed(regex.split, "string", "string", "int"),
}
_LISTS: Final[dict[str, TemplateFunction]] = {
    "append": _typed(lambda values, item: [*_items(values, "append"), item], "any", "any"),
    "push": _typed(lambda values, item: [*_items(values, "push"), item], "any", "any"),
    "prepend": _typed(lambda values, item: [item, *_items(values, "prepend")], "any", "any"),
    "first": _typed(lambda values: next(iter(_items(values, "first")), None), "any"),
    "rest": _typed(lambda values: _items(values, "rest")[1:], "any"),
    "last": _typed(lambda values: next(reversed(_items(values, "last")), None), "any"),
    "initial": _typed(lambda values: _items(values, "initial")[:-1], "any"),
    "reverse": _typed(lambda values: _items(values, "reverse")[::-1], "any"),
    "compact": _typed(lambda values: [v for v in _items(values, "compact") if is_true(v)], "any"),
    "uniq": _typed(_uniq, "any"),
    "without": _typed(_without, "any", "any..."),
    "has": _typed(_has, "any", "any"),
    "slice": _typed(_slice, "any", "any..."),
    "chunk": _typed(_chunk, "int", "any"),
    "merge": _typed(merged_maps, "map", "map..."),
    "mergeOverwrite": _typed(lambda *maps: merged_maps(*maps, override=True), "map", "map..."),
    "deepCopy": _typed(lambda value: copy(_json(value)), "any"),
}
_FUNCTIONS: Final[dict[str, TemplateFunction]] = {
    # Argo CD's own
    "normalize": _typed(normalized_name, "string"),
    "slugify": _typed(_slugify, "any..."),
    "toYaml": _typed(_to_yaml, "any"),
    "fromYaml": _typed(_from_yaml, "string"),
    "fromYamlArray": _typed(_from_yaml_array, "string"),
    # strings
    "hello": _typed(lambda: "Hello!"),
    "abbrev": _typed(_abbrev, "int", "string"),
    "trunc": _typed(_trunc, "int", "string"),
    "trim": _typed(lambda text: text.strip(), "string"),
    "upper": _typed(lambda text: text.upper(), "string"),
    "lower": _typed(lambda text: text.lower(), "string"),
    "title": _typed(_title, "string"),
    "untitle": _typed(lambda text: text[:1].lower() + text[1:], "string"),
    "substr": _typed(_substr, "int", "int", "string"),
    "repeat": _typed(_repeat, "int", "string"),
    "trimall": _typed(lambda cutset, text: text.strip(cutset) if cutset else text, "string", "string"),
    "trimAll": _typed(lambda cutset, text: text.strip(cutset) if cutset else text, "string", "string"),
    "trimSuffix": _typed(lambda suffix, text: text.removesuffix(suffix), "string", "string"),
    "trimPrefix": _typed(lambda prefix, text: text.removeprefix(prefix), "string", "string"),
    "nospace": _typed(lambda text: "".join(text.split()), "string"),
    "initials": _typed(_initials, "string"),
    "swapcase": _typed(_swapcase, "string"),
    "snakecase": _typed(_connected("_"), "string"),
    "kebabcase": _typed(_connected("-"), "string"),
    "camelcase": _typed(_camelcase, "string"),
    "contains": _typed(lambda part, text: part in text, "string", "string"),
    "hasPrefix": _typed(lambda prefix, text: text.startswith(prefix), "string", "string"),
    "hasSuffix": _typed(lambda suffix, text: text.endswith(suffix), "string", "string"),
    "quote": _typed(_quote, "any..."),
    "squote": _typed(_squote, "any..."),
    "cat": _typed(lambda *values: " ".join(text_of(v) for v in values if v is not None), "any..."),
    "indent": _typed(_indent, "int", "string"),
    "nindent": _typed(lambda spaces, text: f"\n{_indent(spaces, text)}", "int", "string"),
    "replace": _typed(lambda old, new, text: text.replace(old, new), "string", "string", "string"),
    "plural": _typed(lambda one, many, count: one if count == 1 else many, "string", "string", "int"),
    "sha1sum": _typed(lambda text: hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), "string"),
    "sha256sum": _typed(lambda text: hashlib.sha256(text.encode()).hexdigest(), "string"),
    "sha512sum": _typed(lambda text: hashlib.sha512(text.encode()).hexdigest(), "string"),
    "adler32sum": _typed(lambda text: str(zlib.adler32(text.encode())), "string"),
    "toString": _typed(_strval, "any"),
    "split": _typed(lambda sep, text: _split_parts(_splits(sep, text)), "string", "string"),
    "splitn": _typed(lambda sep, n, text: _split_parts(_splits(sep, text, n)), "string", "int", "string"),
    "splitList": _typed(lambda sep, text: [*_splits(sep, text)], "string", "string"),
    "toStrings": _typed(lambda value: [*_strings(value)], "any"),
    "join": _typed(lambda separator, values: separator.join(_strings(in_order(values))), "string", "any"),
    "sortAlpha": _typed(lambda values: [*sorted(_strings(values))], "any"),
    # numbers
    "atoi": _typed(lambda text: int(text) if re.fullmatch(r"[+-]?\d{1,18}", text) else 0, "string"),
    "int64": _typed(_int64, "any"),
    "int": _typed(_integer, "any"),
    "float64": _typed(_float, "any"),
    "toDecimal": _typed(_octal, "any"),
    "seq": _typed(_sequence, "int..."),
    "until": _typed(lambda count: _until_step(0, count, -1 if count < 0 else 1), "int"),
    "untilStep": _typed(_until_step, "int", "int", "int"),
    "add1": _typed(lambda value: _wrapped(_integer(value) + 1), "any"),
    "add": _typed(lambda *values: _wrapped(sum(map(_integer, values))), "any..."),
    "sub": _typed(lambda first, second: _wrapped(_integer(first) - _integer(second)), "any", "any"),
    "div": _typed(_divided, "any", "any"),
    "mod": _typed(_remainder, "any", "any"),
    "mul": _typed(lambda *values: _wrapped(math.prod(map(_integer, values))), "any", "any..."),
    "add1f": _typed(lambda value: _decimal(Decimal.__add__)(value, 1), "any"),
    "addf": _typed(lambda *values: _decimal(Decimal.__add__)(0, *values), "any..."),
    "subf": _typed(_decimal(Decimal.__sub__), "any", "any..."),
    "divf": _typed(_decimal(Decimal.__truediv__), "any", "any..."),
    "mulf": _typed(_decimal(Decimal.__mul__), "any", "any..."),
    "biggest": _typed(lambda *values: Int64(max(map(_integer, values))), "any", "any..."),
    "max": _typed(lambda *values: Int64(max(map(_integer, values))), "any", "any..."),
    "min": _typed(lambda *values: Int64(min(map(_integer, values))), "any", "any..."),
    "maxf": _typed(lambda *values: max(map(_float, values)), "any", "any..."),
    "minf": _typed(lambda *values: min(map(_float, values)), "any", "any..."),
    "ceil": _typed(lambda value: float(math.ceil(_float(value))), "any"),
    "floor": _typed(lambda value: float(math.floor(_float(value))), "any"),
    "round": _typed(_round, "any", "int", "float64..."),
    # defaults
    "default": _typed(_default, "any", "any..."),
    "empty": _typed(lambda value: not is_true(value), "any"),
    "coalesce": _typed(lambda *values: next((v for v in values if is_true(v)), None), "any..."),
    "all": _typed(lambda *values: all(map(is_true, values)), "any..."),
    "any": _typed(lambda *values: any(map(is_true, values)), "any..."),
    "ternary": _typed(lambda yes, no, condition: yes if condition else no, "any", "any", "bool"),
    # encodings
    "fromJson": _typed(_from_json, "string"),
    "mustFromJson": _typed(_parsed_json, "string"),
    **{name: _typed(_to_json, "any") for name in ("toJson", "mustToJson")},
    "toPrettyJson": _typed(lambda value: _to_json(value, 2), "any"),
    "mustToPrettyJson": _typed(lambda value: _to_json(value, 2), "any"),
    **{name: _typed(_to_raw_json, "any") for name in ("toRawJson", "mustToRawJson")},
    "b64enc": _typed(lambda text: base64.b64encode(text.encode()).decode(), "string"),
    "b64dec": _typed(_base64, "string"),
    "b32enc": _typed(lambda text: base64.b32encode(text.encode()).decode(), "string"),
    "b32dec": _typed(_base32, "string"),
    # types
    "typeOf": _typed(type_name, "any"),
    "typeIs": _typed(lambda name, value: name == type_name(value), "string", "any"),
    "typeIsLike": _typed(lambda name, value: type_name(value) in (name, f"*{name}"), "string", "any"),
    "kindOf": _typed(kind_name, "any"),
    "kindIs": _typed(lambda name, value: name == kind_name(value), "string", "any"),
    "deepEqual": _typed(_deep_equal, "any", "any"),
    # paths
    **_PATHS,
    **{f"os{name[0].upper()}{name[1:]}": function for name, function in _PATHS.items()},
    # lists
    "list": _typed(lambda *values: list(values), "any..."),
    "tuple": _typed(lambda *values: list(values), "any..."),
    **_LISTS,
    **{f"must{name[0].upper()}{name[1:]}": function for name, function in _LISTS.items()},
    "concat": _typed(_concat, "any..."),
    # dictionaries
    "dict": _typed(_dict, "any..."),
    "get": _typed(lambda values, key: values.get(key, ""), "map", "string"),
    "set": _typed(_set, "map", "string", "any"),
    "unset": _typed(_unset, "map", "string"),
    "hasKey": _typed(lambda values, key: key in values, "map", "string"),
    "pluck": _typed(lambda key, *maps: [m[key] for m in maps if key in m], "string", "map..."),
    "keys": _typed(lambda *maps: AnyOrder(sorted(key for values in maps for key in values)), "map..."),
    "values": _typed(lambda values: AnyOrder(values[key] for key in sorted(values)), "map"),
    "pick": _typed(lambda values, *keys: {k: values[k] for k in keys if k in values}, "map", "string..."),
    "omit": _typed(_omit, "map", "string..."),
    "dig": _typed(_dig, "any..."),
    # regular expressions, versions, URLs
    "regexMatch": _typed(lambda p, text: regex.matches(p, text, strict=False), "string", "string"),
    "mustRegexMatch": _typed(regex.matches, "string", "string"),
    **{f"regex{name}": function for name, function in _REGEX.items()},
    **{f"mustRegex{name}": function for name, function in _REGEX.items()},
    "regexQuoteMeta": _typed(lambda text: re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text), "string"),
    "semverCompare": _typed(_semver_compare, "string", "string"),
    "urlParse": _typed(_url_parse, "string"),
    "fail": _typed(_fail, "string"),
}  # fmt: skip

_RANDOM: Final = (
    "randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randInt", "randBytes", "shuffle", "uuidv4",
    "bcrypt", "htpasswd", "genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert",
    "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey", "encryptAES",
)  # fmt: skip
_OF_TIME: Final = (
    "now", "ago", "date", "date_in_zone", "date_modify", "dateInZone", "dateModify", "duration",
    "durationRound", "htmlDate", "htmlDateInZone", "must_date_modify", "mustDateModify", "mustToDate",
    "toDate", "unixEpoch",
)  # fmt: skip
_RARE: Final = (
    "abbrevboth", "wrap", "wrapWith", "derivePassword", "buildCustomCert", "decryptAES", "semver", "urlJoin",
)  # fmt: skip

FUNCTIONS: Final[dict[str, TemplateFunction]] = {
    **_FUNCTIONS,
    **{name: _typed(_not_evaluated(name, "whose result is random"), "any...") for name in _RANDOM},
    **{name: _typed(_not_evaluated(name, "which handles time"), "any...") for name in _OF_TIME},
    **{name: _typed(_not_evaluated(name, "which whysync does not evaluate"), "any...") for name in _RARE},
}
