"""Error texts of Go's templates, which are shortened, and of Lua scripts."""

import pytest

from whysync.messages.parse import understand
from whysync.messages.patterns.argocd import HealthScriptError, ScriptProblem
from whysync.messages.patterns.helm import HelmRender

_AT = 'template: web/templates/app.yaml:24:27: executing "web/templates/app.yaml" at <'
_FIELD = ".Values.image.reposi...>: can't evaluate field repository in type interface {}"
_NIL = ".Values.image.reposi...>: nil pointer evaluating interface {}.repository"


@pytest.mark.parametrize(
    ("shortened", "path", "unreadable"),
    [
        (_FIELD, ".Values.image.repository", ".Values.image"),
        (_NIL, ".Values.image.repository", ".Values.image"),
        (
            ".Values.db.auth.user...>: nil pointer evaluating interface {}.auth",
            ".Values.db.auth",
            ".Values.db",
        ),
        (".Values.bridgeEnviro...>: nil pointer evaluating interface {}.name", "", ""),
        (".Values.image.reposi...>: wrong type for value; expected string; got bool", "", ""),
    ],
)
def test_shortened_path_is_completed_from_the_reason_or_unknown(
    shortened: str, path: str, unreadable: str
) -> None:
    (failure,) = understand(_AT + shortened).failures

    assert isinstance(failure, HelmRender)
    assert failure.value_path == path
    assert (failure.nil_map or failure.not_a_map) == unreadable


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        ("attempt to index a non-table object(string) with key 'find'", ScriptProblem.LIBRARY),
        ("attempt to index a non-table object(nil) with key 'floor'", ScriptProblem.LIBRARY),
        ("attempt to index a non-table object(nil) with key 'phase'", ScriptProblem.NIL),
        ("attempt to index a non-table object(string) with key 'type'", ScriptProblem.NOT_A_TABLE),
        ("attempt to compare number with nil", ScriptProblem.NIL),
        ("cannot perform concat operation between string and nil", ScriptProblem.NIL),
        ("attempt to call a non-function object", ScriptProblem.NOT_A_FUNCTION),
    ],
)
def test_error_of_a_script_has_a_meaning(error: str, problem: ScriptProblem) -> None:
    (failure,) = understand(f"error setting app health: <string>:6: {error}").failures

    assert isinstance(failure, HealthScriptError)
    assert failure.problem is problem
