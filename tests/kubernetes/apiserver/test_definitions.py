"""Definitions before they are taken: rules are compiled and priced, patterns are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kubernetes.apiserver.talk import Talk, definition, message_of, widget
from whysync.golang.regexp_syntax import regex_problem
from whysync.json_tree import Json, Object, fields, items
from whysync.kubernetes.cel.evaluate import evaluate
from whysync.kubernetes.cel.schema_types import Shape, shape_of
from whysync.kubernetes.cel.type_check import check_expression


def ruled(schema: Object, rule: str) -> Object:
    inner: Object = {**schema, "x-kubernetes-validations": [{"rule": rule}]}
    return definition({"type": "object", "properties": {"spec": inner}})


def shaped(schema: Object) -> Shape:
    shape = shape_of(schema)
    assert shape is not None
    return shape


SHORT: Object = {"type": "string", "maxLength": 10}
PAIR: Object = {
    "type": "object",
    "properties": {
        "min": {"type": "integer"}, "max": {"type": "integer"}, "name": SHORT, "a-b": {"type": "boolean"},
        "list": {"type": "array", "maxItems": 5, "items": SHORT},
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("self.min <= self.max", ""),
        ("self.list.all(x, x.startsWith('a') || size(x) > 3)", ""),
        ("has(self.name) ? self.name != '' : true", ""),
        ("self.a__dash__b", ""),
        ("self.list.exists(x, x == self.name) && oldSelf.min in [1, 2]", ""),
        ("self.min > self.name", "found no matching overload for '_>_' applied to '(int, string)'"),
        ("self.min + 1", "cel expression must evaluate to a bool"),
        ("self.mim == 1", "undefined field 'mim'"),
        ("selff.min == 1", ""),  # perhaps of a library: not check_expression
        ("selff == 1", "undeclared reference to 'selff' (in container '')"),
        ("self.min.all(x, true)", "expression of type 'int' cannot be range of a comprehension"),
        ("self.min.startsWith('a')", "found no matching overload for 'startsWith' applied to 'int.(string)'"),
        ("!self.min", "found no matching overload for '!_' applied to '(int)'"),
    ],
)
def test_types_of_a_rule_must_fit(rule: str, problem: str) -> None:
    result = check_expression(rule, shaped(PAIR)).problem
    assert problem in result
    assert bool(problem) is bool(result)


def test_a_rule_is_shown_where_it_is_wrong(talk: Talk) -> None:
    answer = talk.create(ruled({"type": "string"}, "self > 5"))
    assert answer.code == 422
    assert "ERROR: <input>:1:6: found no matching overload" in message_of(answer)
    assert message_of(answer).endswith("\n | self > 5\n | .....^")


def test_a_rule_over_unlimited_lists_is_too_dear_and_a_limit_helps(talk: Talk) -> None:
    nested: Object = {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}
    rule = "self.all(x, x.all(y, self.all(z, z.all(w, w != y))))"
    answer = talk.create(ruled(nested, rule))
    assert "estimated rule cost exceeds budget by factor of more than 100x" in message_of(answer)
    few: Object = {
        "type": "array",
        "maxItems": 5,
        "items": {"type": "array", "maxItems": 5, "items": SHORT},
    }
    assert talk.create(ruled(few, rule)).code == 201


def test_the_past_of_an_item_without_identity_is_unknown(talk: Talk) -> None:
    item: Object = {**SHORT, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
    spec: Object = {"type": "array", "maxItems": 5, "items": item}
    answer = talk.create(definition({"type": "object", "properties": {"spec": spec}}))
    assert "oldSelf cannot be used on the uncorrelatable portion of the schema" in message_of(answer)


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", ""),
        (r"^(?i:abc)|\d{1,3}(?P<name>x)\Q(\E[[:alpha:]\]]$", ""),
        ("a**", "invalid nested repetition operator: `**`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?<!a)", "invalid or unsupported Perl syntax: `(?<!`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("\\", "trailing backslash at end of expression: ``"),
        (r"\y", r"invalid escape sequence: `\y`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        ("a{,3}", ""),
    ],
)
def test_patterns_are_read_as_go_reads_them(pattern: str, problem: str) -> None:
    assert regex_problem(pattern) == problem


def test_a_bad_pattern_is_refused(talk: Talk) -> None:
    spec: Json = {"type": "string", "pattern": "("}
    assert message_of(talk.create(definition({"type": "object", "properties": {"spec": spec}}))).endswith(
        'Invalid value: "(": must be a valid regular expression, but isn\'t: error parsing regexp: '
        "missing closing ): `(`"
    )


@given(st.text("()[]{}*+?|\\^$-:<>!=Pabz019.,", max_size=12))
def test_any_pattern_gets_an_answer(pattern: str) -> None:
    assert isinstance(regex_problem(pattern), str)


@given(st.text("self.ab()[]|&!=<>+?:'\" ,in1", max_size=20))
def test_any_rule_gets_an_answer(rule: str) -> None:
    result = check_expression(rule, shaped(PAIR))
    assert result.cost >= 0


def test_claims_in_another_version_must_still_make_sense(talk: Talk) -> None:
    both = definition(
        {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": SHORT}}}}
    )
    later: Json = {
        "name": "v2",
        "served": True,
        "storage": False,
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {"type": "object", "properties": {"b": SHORT}}},
            }
        },
    }
    spec = both["spec"]
    assert isinstance(spec, dict)
    versions = spec["versions"]
    assert isinstance(versions, list)
    versions.append(later)
    assert talk.create(both).code == 201
    first: Object = {
        "apiVersion": "shop.example/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"a": "1"},
    }  # fmt: skip
    assert talk.apply(first, "m").code == 201
    second: Object = {**first, "apiVersion": "shop.example/v2", "spec": {"b": "1"}}
    assert message_of(talk.apply(second, "m")) == (
        "failed to prune fields: failed to convert merged object to last applied version: "
        ".spec.b: field not declared in schema"
    )


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("type(self) == int ? self > 1 : self == '10%'", True),
        ("duration('1h30m') > duration('90s')", True),
        ("isIP('::1') && !isIP('x')", True),
        ("'abc'.substring(1, 2) + ['x', 'y'].join('-')", "bx-y"),
        ("[3, 1].min() + [1, 2].sum()", 4),
        ("[1, 2].isSorted() && 'abc'.indexOf('c') == 2", True),
        ('r"""a"b""" == \'a"b\'', True),
    ],
)
def test_functions_of_the_language(expression: str, value: Json) -> None:
    assert evaluate(expression, {"self": 5}) == value


def test_a_schema_may_ask_for_metadata_and_its_rules_for_the_name() -> None:
    talk = Talk()
    rule: Object = {"rule": "self.metadata.name != 'taken'", "message": "that name is taken"}
    schema: Object = {
        "type": "object",
        "required": ["metadata", "spec"],
        "properties": {"metadata": {"type": "object"}, "spec": {"type": "object"}},
        "x-kubernetes-validations": [rule],
    }
    assert talk.create(definition(schema)).code == 201
    assert talk.create(widget({})).code == 201
    refused: Object = {**widget({}), "metadata": {"name": "taken"}}
    assert "that name is taken" in message_of(talk.create(refused))


def refused(talk: Talk, spec: Json, **version: Json) -> str:
    """What the server says of a definition with this schema of `spec`; empty if it is accepted."""
    body = definition({"type": "object", "properties": {"spec": spec}})
    fields(items(fields(body["spec"])["versions"])[0]).update(version)
    answer = talk.create(body)
    found = message_of(answer).partition(" is invalid: ")[2]
    return found.replace("spec.validation.openAPIV3Schema.properties[spec]", "S")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"type": "object", "properties": {"a": SHORT}, "oneOf": [{"required": ["a"]}]},
            "",
        ),
        (
            {"type": "object", "oneOf": [{"type": "object", "required": ["a"]}]},
            "S.oneOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            {"type": "object", "properties": {"a": SHORT}, "not": {"properties": {"a": {"default": "x"}}}},
            "S.not.properties[a].default: Forbidden: must be undefined to be structural",
        ),
        # Only combinations at the root are compared with what is described outside of them.
        ({"type": "object", "anyOf": [{"properties": {"b": {"minLength": 1}}}]}, ""),
        ({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}, ""),
        (
            {
                "x-kubernetes-int-or-string": True,
                "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"pattern": "a"}],
            },
            "",
        ),
        (
            {"type": "string", "anyOf": [{"type": "integer"}, {"type": "string"}, {"minLength": 1}]},
            "[S.anyOf[0].type: Forbidden: must be empty to be structural, "
            "S.anyOf[1].type: Forbidden: must be empty to be structural]",
        ),
        (
            {"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
            "S.type: Required value: must be object if x-kubernetes-embedded-resource is true",
        ),
        (
            {"type": "object", "x-kubernetes-embedded-resource": True},
            "S.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true "
            "without x-kubernetes-preserve-unknown-fields",
        ),
        (
            {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}},
            "S.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with "
            "x-kubernetes-list-type=set",
        ),
        (
            {"type": "string", "default": 5},
            'S.default: Invalid value: "integer":  in body must be of type string: "integer"',
        ),
        (
            {"type": "object", "default": {"min": "x"}, "properties": {"min": {"type": "integer"}}},
            'S.default.min: Invalid value: "string": min in body must be of type integer: "string"',
        ),
    ],
)
def test_a_schema_is_structural(talk: Talk, spec: Json, expected: str) -> None:
    assert refused(talk, spec) == expected


def test_a_rule_that_ends_after_an_operator_is_a_syntax_error(talk: Talk) -> None:
    rules: Json = [{"rule": "self +"}]
    found = refused(talk, {**SHORT, "x-kubernetes-validations": rules})
    assert "compilation failed: ERROR: <input>:1:7: Syntax error: mismatched input '<EOF>' expecting" in found
    assert found.endswith("\n | self +\n | ......^")


def test_paths_of_replicas_and_columns_are_checked(talk: Talk) -> None:
    schema: Json = {"type": "object"}
    scale: Json = {"scale": {"specReplicasPath": ".status.n", "statusReplicasPath": "n"}}
    path = "spec.subresources.scale"
    assert refused(talk, schema, subresources=scale) == (
        f'[{path}.specReplicasPath: Invalid value: ".status.n": should be a json path under .spec, '
        f'{path}.statusReplicasPath: Invalid value: "n": must be a simple json path starting with .]'
    )
    columns: Json = [{"name": "A", "type": "text", "jsonPath": ".spec"}]
    assert refused(talk, schema, additionalPrinterColumns=columns) == (
        'spec.additionalPrinterColumns[0].type: Invalid value: "text": '
        "must be one of boolean,date,integer,number,string"
    )


def test_a_combination_restricts_what_is_described_outside_of_it(talk: Talk) -> None:
    schema: Object = {"type": "object", "anyOf": [{"properties": {"spec": {"items": {"minLength": 1}}}}]}
    assert "properties[spec]: Required value: because it is defined in" in message_of(
        talk.create(definition(schema))
    )
    array: Json = {"type": "array", "items": SHORT}
    assert talk.create(definition({**schema, "properties": {"spec": array}})).code == 201


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("(self.min", "1:10: Syntax error: missing ')' at '<EOF>'"),
        ("self.list['x'", "1:14: Syntax error: missing ']' at '<EOF>'"),
        ("self.min)", "1:9: Syntax error: extraneous input ')' expecting <EOF>"),
        ("self.min 2 3", "1:10: Syntax error: mismatched input '2' expecting <EOF>"),
        ("self..min", "1:6: Syntax error: no viable alternative at input '..'"),
        ("self.min = 2", "1:10: Syntax error: token recognition error at: '= '"),
        ("self.name == 'x", "1:14: Syntax error: token recognition error at: ''x'"),
        ("self.min ? true", "1:16: Syntax error: mismatched input '<EOF>' expecting ':'"),
        ("!", "1:2: Syntax error: extraneous input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true'"),
        ("self.list[", "1:11: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', '?'"),  # noqa: E501
        ("self.min in [1", "1:15: Syntax error: mismatched input '<EOF>' expecting {']', ','}"),
        ("has(self)", "1:5: invalid argument to has() macro"),
    ],
)  # fmt: skip
def test_a_rule_that_is_no_expression(talk: Talk, rule: str, problem: str) -> None:
    message = message_of(talk.create(ruled(PAIR, rule)))
    assert f"compilation failed: ERROR: <input>:{problem}" in message


def test_a_rule_that_is_empty(talk: Talk) -> None:
    assert ".rule: Required value: rule is not specified" in message_of(talk.create(ruled(PAIR, " ")))


@pytest.mark.parametrize(
    "rule",
    [
        "self.min <= self.max // the usual order",
        "self.name.matches(r'^[a-z]=\\(') || self.name == \"a)b]c\"",
        "self.list.all(x, x.size() > 1 && !(x in ['=', \"'\"]))",
        "has(self.name) ? self.name != '''it's''' : true",
        "-self.min < 1.5e3 || self.min == 0x1F || self.min in [1, 2,]",
        "self.list.exists_one(i, v, i == 0) || b'x'.size() == 1 || {'a': 1}['a'] == 1",
        "self.?name.orValue('x') == 'x' || self.list[?0].hasValue()",
        "self.`a-b` == true || .5 < 1.0 || self.name == 'é'",
        "self.list.map(x, x.startsWith('a'), x + ';').size() == 0",
    ],
)
def test_an_expression_is_never_taken_for_a_syntax_error(talk: Talk, rule: str) -> None:
    """Also not one with syntax that the model does not know."""
    assert "Syntax error" not in message_of(talk.create(ruled(PAIR, rule)))
