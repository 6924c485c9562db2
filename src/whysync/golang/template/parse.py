"""Parse Go templates. Mirrors `text/template/parse`, Go 1.26, without custom delimiters."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

import msgspec

from whysync.golang.template.errors import TemplateError

_MAX_DEPTH: Final = 60
_ACTION: Final = re.compile(r"\{\{(?:-(?=\s))?")
_COMMENT: Final = re.compile(r"/\*.*?\*/(?:\s+-)?\}\}", re.DOTALL)
_TOKEN: Final = re.compile(
    r"""
      (?P<space>\s+(?!-\}\}))
    | (?P<close>(?:\s+-)?\}\})
    | (?P<string>"(?:[^"\\\n]|\\.)*")
    | (?P<raw>`[^`]*`)
    | (?P<char>'(?:[^'\\\n]|\\.)+')
    | (?P<number>[+-]?(?:0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+
        |(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?)(?![\w.]))
    | (?P<declare>:=)
    | (?P<assign>=)
    | (?P<pipe>\|)
    | (?P<comma>,)
    | (?P<left>\()
    | (?P<right>\))
    | (?P<field>\.[^\W\d]\w*)
    | (?P<dot>\.(?!\w))
    | (?P<variable>\$\w*)
    | (?P<word>[^\W\d]\w*)
    """,
    re.VERBOSE,
)  # fmt: skip
_ESCAPE: Final = re.compile(
    r"\\(?:(?P<simple>[abfnrtv\\'\"])|x(?P<hex>[0-9a-fA-F]{2})|u(?P<u4>[0-9a-fA-F]{4})"
    r"|U(?P<u8>[0-9a-fA-F]{8})|(?P<octal>[0-7]{3})|(?P<bad>.))",
    re.DOTALL,
)
_SIMPLE: Final = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"',
}  # fmt: skip
KEYWORDS: Final = frozenset(
    {"if", "else", "end", "range", "with", "define", "template", "block", "break", "continue"}
)

# --- nodes -----------------------------------------------------------------------------------------


class Text(msgspec.Struct, frozen=True):
    text: str


class Constant(msgspec.Struct, frozen=True):
    value: str | bool | int | float | None


class Dot(msgspec.Struct, frozen=True):
    pass


class FieldChain(msgspec.Struct, frozen=True):
    """`.a.b`."""

    names: tuple[str, ...]


class Variable(msgspec.Struct, frozen=True):
    """`$x.a.b`."""

    name: str
    names: tuple[str, ...] = ()


class Function(msgspec.Struct, frozen=True):
    name: str


class Chain(msgspec.Struct, frozen=True):
    """`(pipeline).a.b`."""

    of: Operand
    names: tuple[str, ...]


class Pipeline(msgspec.Struct, frozen=True, kw_only=True):
    commands: tuple[tuple[Operand, ...], ...]
    variables: tuple[str, ...] = ()
    declares: bool = False
    """`:=`; with variables but without it, `=`."""


Operand: TypeAlias = "Constant | Dot | FieldChain | Variable | Function | Chain | Pipeline"


class Action(msgspec.Struct, frozen=True):
    pipeline: Pipeline


class If(msgspec.Struct, frozen=True):
    pipeline: Pipeline
    body: Nodes
    otherwise: Nodes


class With(msgspec.Struct, frozen=True):
    pipeline: Pipeline
    body: Nodes
    otherwise: Nodes


class Range(msgspec.Struct, frozen=True):
    pipeline: Pipeline
    body: Nodes
    otherwise: Nodes


class Call(msgspec.Struct, frozen=True):
    """`{{ template "name" pipeline }}`."""

    name: str
    pipeline: Pipeline | None


class Break(msgspec.Struct, frozen=True):
    pass


class Continue(msgspec.Struct, frozen=True):
    pass


Node: TypeAlias = "Text | Action | If | With | Range | Call | Break | Continue"
Nodes: TypeAlias = tuple[Node, ...]


class Template(msgspec.Struct, frozen=True):
    nodes: Nodes
    defined: dict[str, Nodes]


# --- lexer -----------------------------------------------------------------------------------------


class Token(msgspec.Struct, frozen=True):
    kind: str
    text: str


def _tokens(source: str) -> list[Token]:
    """Text and the tokens of actions; each action ends with a `close` token."""
    tokens: list[Token] = []
    at = 0
    trims = False
    while at < len(source):
        action = _ACTION.search(source, at)
        text = source[at : action.start() if action else len(source)]
        if trims:
            text = text.lstrip(" \t\r\n")
        if action and action[0].endswith("-"):
            text = text.rstrip(" \t\r\n")
        if text:
            tokens.append(Token("text", text))
        if action is None:
            break
        at = action.end()
        comment_start = at
        while action[0].endswith("-") and comment_start < len(source) and source[comment_start].isspace():
            comment_start += 1
        if source.startswith("/*", comment_start):
            comment = _COMMENT.match(source, comment_start)
            if comment is None:
                raise TemplateError("unclosed comment")
            at, trims = comment.end(), comment[0].endswith("-}}")
            continue
        at, trims = _action_tokens(source, at, tokens)
    return tokens


def _action_tokens(source: str, at: int, tokens: list[Token]) -> tuple[int, bool]:
    depth = 0
    while True:
        token = _TOKEN.match(source, at)
        if token is None or token.lastgroup is None:
            if at >= len(source):
                raise TemplateError("unclosed action")
            raise TemplateError(f"unexpected {source[at]!r} in a template action")
        kind, text = token.lastgroup, token[0]
        at = token.end()
        depth += (kind == "left") - (kind == "right")
        if depth < 0:
            raise TemplateError("unexpected right paren")
        tokens.append(Token(kind, text))
        if kind == "close":
            if depth:
                raise TemplateError("unclosed left paren")
            return at, "-" in text


# --- parser ----------------------------------------------------------------------------------------


def parse(source: str, functions: frozenset[str]) -> Template:
    """Raises `TemplateError` as Go does for the same template."""
    return _Parser(_tokens(source), functions).template()


class _Parser:
    def __init__(self, tokens: list[Token], functions: frozenset[str]) -> None:
        self._tokens = tokens
        self._at = 0
        self._functions = functions
        self._variables = ["$"]
        self._defined: dict[str, Nodes] = {}
        self._ranges = 0
        self._depth = 0

    def template(self) -> Template:
        nodes, end = self._list()
        if end:
            raise TemplateError(f"unexpected {{{{{end}}}}}")
        return Template(nodes, self._defined)

    # --- tokens ---

    def _next(self) -> Token:
        if self._at >= len(self._tokens):
            raise TemplateError("unexpected EOF")
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _peek(self, *, skip_space: bool = True) -> Token:
        if skip_space:
            while self._at < len(self._tokens) and self._tokens[self._at].kind == "space":
                self._at += 1
        return self._tokens[self._at] if self._at < len(self._tokens) else Token("eof", "EOF")

    def _expect(self, kind: str, context: str) -> Token:
        self._peek()
        token = self._next()
        if token.kind != kind:
            raise TemplateError(f"unexpected {token.text!r} in {context}")
        return token

    # --- statements ---

    def _list(self) -> tuple[Nodes, str]:
        """Nodes until `{{end}}` or `{{else}}`, which is the second value; empty at the end of the text."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise TemplateError("max expression depth exceeded")
        nodes: list[Node] = []
        end = ""
        while self._at < len(self._tokens):
            token = self._next()
            if token.kind == "text":
                nodes.append(Text(token.text))
                continue
            self._at -= 1
            if self._peek().kind == "word" and self._peek().text in ("end", "else"):
                end = self._next().text
                break
            node = self._action()
            if node is not None:
                nodes.append(node)
        self._depth -= 1
        return tuple(nodes), end

    def _action(self) -> Node | None:
        token = self._peek()
        if token.kind != "word" or token.text not in KEYWORDS:
            pipeline = self._pipeline("command")
            return Action(pipeline)
        self._at += 1
        match token.text:
            case "if":
                return If(*self._control("if"))
            case "with":
                return With(*self._control("with"))
            case "range":
                return Range(*self._control("range"))
            case "define":
                return self._define()
            case "template":
                return self._template_call("template")
            case "block":
                return self._block()
            case keyword:
                self._expect("close", keyword)
                if not self._ranges:
                    raise TemplateError(f"{{{{{keyword}}}}} outside {{{{range}}}}")
                return Break() if keyword == "break" else Continue()

    def _control(self, context: str) -> tuple[Pipeline, Nodes, Nodes]:
        variables = len(self._variables)
        pipeline = self._pipeline(context)
        self._ranges += context == "range"
        body, end = self._list()
        self._ranges -= context == "range"
        otherwise: Nodes = ()
        if end == "else":
            token = self._peek()
            if token.kind == "word" and token.text == context and context in ("if", "with"):
                self._at += 1
                inner = self._control(context)
                otherwise = (If(*inner) if context == "if" else With(*inner),)
                del self._variables[variables:]
                return pipeline, body, otherwise
            self._expect("close", "else")
            otherwise, end = self._list()
        if end != "end":
            raise TemplateError("unexpected EOF" if not end else f"unexpected {{{{{end}}}}}")
        self._expect("close", "end")
        del self._variables[variables:]
        return pipeline, body, otherwise

    def _define(self) -> None:
        name = _unquoted(self._name_token("define clause"))
        self._expect("close", "define clause")
        self._defined[name] = self._own_list("define clause")

    def _block(self) -> Node:
        name = _unquoted(self._name_token("block clause"))
        pipeline = self._pipeline("block clause")
        self._defined[name] = self._own_list("block clause")
        return Call(name, pipeline)

    def _own_list(self, context: str) -> Nodes:
        """The nodes of a template of its own, which sees no variables of the outer one."""
        outer, self._variables = self._variables, ["$"]
        ranges, self._ranges = self._ranges, 0
        nodes, end = self._list()
        if end != "end":
            raise TemplateError(f"unexpected {end or 'EOF'} in {context}")
        self._expect("close", "end")
        self._variables, self._ranges = outer, ranges
        return nodes

    def _template_call(self, context: str) -> Node:
        name = _unquoted(self._name_token(context))
        if self._peek().kind == "close":
            self._at += 1
            return Call(name, None)
        return Call(name, self._pipeline(context))

    def _name_token(self, context: str) -> Token:
        self._peek()
        token = self._next()
        if token.kind not in ("string", "raw"):
            raise TemplateError(f"unexpected {token.text!r} in {context}")
        return token

    # --- pipelines ---

    def _pipeline(self, context: str, end: str = "close") -> Pipeline:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise TemplateError("max expression depth exceeded")
        variables, declares = self._declarations(context)
        commands: list[tuple[Operand, ...]] = []
        while True:
            token = self._peek()
            if token.kind == end:
                self._at += 1
                if not commands:
                    raise TemplateError(f"missing value for {context}")
                break
            commands.append(self._command())
            if self._peek().kind == "pipe":
                self._at += 1
                if self._peek().kind == end:
                    raise TemplateError(f"missing value for {context}")
        for command in commands[1:]:
            if isinstance(command[0], Constant | Dot):
                raise TemplateError("non executable command in pipeline")
        if declares:
            self._variables += variables
        self._depth -= 1
        return Pipeline(commands=tuple(commands), variables=tuple(variables), declares=declares)

    def _declarations(self, context: str) -> tuple[list[str], bool]:
        start = self._at
        names: list[str] = []
        while self._peek().kind == "variable":
            names.append(self._next().text)
            token = self._peek()
            if token.kind in ("declare", "assign"):
                if len(names) > 1 and context != "range":
                    raise TemplateError(f"too many declarations in {context}")
                self._at += 1
                if token.kind == "assign":
                    for name in names:
                        self._check_variable(name)
                return names, token.kind == "declare"
            if token.kind != "comma" or context != "range" or len(names) > 1:
                break
            self._at += 1
        self._at = start
        return [], False

    def _command(self) -> tuple[Operand, ...]:
        operands: list[Operand] = []
        while True:
            self._peek()
            operands.append(self._operand())
            token = self._peek(skip_space=False)
            if token.kind == "space":
                token = self._peek()
                if token.kind in ("pipe", "close", "right"):
                    break
                continue
            if token.kind in ("pipe", "close", "right"):
                break
            raise TemplateError(f"unexpected {token.text!r} in operand")
        return tuple(operands)

    def _operand(self) -> Operand:
        operand = self._term()
        names: list[str] = []
        while self._peek(skip_space=False).kind == "field":
            names.append(self._next().text[1:])
        if not names:
            return operand
        match operand:
            case FieldChain(before):
                return FieldChain((*before, *names))
            case Variable(name, before):
                return Variable(name, (*before, *names))
            case Constant() | Dot():
                raise TemplateError(f"unexpected . after term {names[0]!r}")
            case _:
                return Chain(operand, tuple(names))

    def _term(self) -> Operand:
        token = self._next()
        match token.kind:
            case "word":
                return self._word(token.text)
            case "dot":
                return Dot()
            case "variable":
                self._check_variable(token.text)
                return Variable(token.text)
            case "field":
                return FieldChain((token.text[1:],))
            case "string" | "raw":
                return Constant(_unquoted(token))
            case "number":
                return Constant(_number(token.text))
            case "char":
                return Constant(ord(_unescaped(token.text[1:-1])))
            case "left":
                return self._pipeline("parenthesized pipeline", end="right")
            case _:
                raise TemplateError(f"unexpected {token.text!r} in operand")

    def _word(self, word: str) -> Operand:
        if word in ("true", "false"):
            return Constant(word == "true")
        if word == "nil":
            return Constant(None)
        if word in KEYWORDS:
            raise TemplateError(f"unexpected <{word}> in operand")
        if word not in self._functions:
            raise TemplateError(f'function "{word}" not defined')
        return Function(word)

    def _check_variable(self, name: str) -> None:
        if name not in self._variables:
            raise TemplateError(f'undefined variable "{name}"')


def _number(text: str) -> int | float:
    plain = text.replace("_", "")
    try:
        if (
            plain.lstrip("+-").isdecimal()
            and plain.lstrip("+-").startswith("0")
            and len(plain.lstrip("+-")) > 1
        ):
            return int(plain, 8)
        return int(plain, 0)
    except ValueError:
        try:
            return float(plain)
        except ValueError:
            raise TemplateError(f"bad number syntax: {text!r}") from None


def _unquoted(token: Token) -> str:
    if token.kind == "raw":
        return token.text[1:-1].replace("\r", "")
    return _unescaped(token.text[1:-1])


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text

    def character(escape: re.Match[str]) -> str:
        if escape["bad"] is not None:
            raise TemplateError("invalid syntax in a string")
        if escape["simple"] is not None:
            return _SIMPLE[escape["simple"]]
        if escape["octal"] is not None:
            return chr(int(escape["octal"], 8))
        return chr(int(escape["hex"] or escape["u4"] or escape["u8"], 16))

    return _ESCAPE.sub(character, text)
