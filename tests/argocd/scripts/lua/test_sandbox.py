"""Scripts of users: they see what Argo CD would show them, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from whysync.argocd.scripts.lua import Failed, Returned
from whysync.argocd.scripts.lua.process import LuaProcess
from whysync.json_tree import Object

OBJECT: Object = {
    "metadata": {"name": "wüst", "generation": 3},
    "status": {"conditions": [{"type": "A"}, None, {"type": "B"}], "ready": True, "ratio": 0.5, "gone": None},
}
HEALTHY = Returned(type="table", fields=(("status", "Healthy"),))


@pytest.fixture(scope="module")
def lua() -> Iterator[LuaProcess]:
    process = LuaProcess(script_seconds=0.05, response_seconds=20)
    yield process
    process.close()


@pytest.fixture
def hasty() -> Iterator[LuaProcess]:
    """For scripts that only a kill can end; the first question is not counted, as it loads the libraries."""
    process = LuaProcess(script_seconds=0.05, response_seconds=0.5)
    process.run("return {}", {}, open_libs=False)
    yield process
    process.close()


def message(lua: LuaProcess, expression: str, *, open_libs: bool = False) -> str | None:
    answer = lua.run(f"return {{status = 'Healthy', message = {expression}}}", OBJECT, open_libs=open_libs)
    assert isinstance(answer, Returned), answer
    return dict(answer.fields)["message"]


def error(lua: LuaProcess, script: str, *, open_libs: bool = False) -> str:
    answer = lua.run(script, OBJECT, open_libs=open_libs)
    assert isinstance(answer, Failed), answer
    return answer.message


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("obj.metadata.name", "wüst"),
        ("'generation ' .. obj.metadata.generation", "generation 3"),
        ("tostring(obj.status.ratio)", "0.5"),
        ("tostring(2^60)", "1152921504606846976"),
        ("type(obj.status.ready)", "boolean"),
        ("tostring(obj.status.gone)", "nil"),
        ("#obj.status.conditions .. obj.status.conditions[2].type", "2B"),
        ("tostring(next(actionParams))", "nil"),
        ("table.concat({1, 2, 3}, '-')", "1-2-3"),
        ("loadstring('return 1 + 1')() .. ''", "2"),
        ("tostring(pcall(error, 'x'))", "false"),
    ],
)
def test_the_object_and_the_base_library(lua: LuaProcess, expression: str, expected: str) -> None:
    assert message(lua, expression) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("return", Returned(type="nil")),
        ("return nil", Returned(type="nil")),
        ("return {}", Returned(type="array")),
        ("return {1, 2}", Returned(type="array")),
        ("return 1", Returned(type="number")),
        ("return 'Healthy'", Returned(type="string")),
        ("return print", Returned(type="function")),
        ("return 1, {status = 'Healthy'}", HEALTHY),
        ("return {status = 'Healthy', other = {1, {x = true}}}", HEALTHY),
        ("return {status = 5}", Returned(type="table", fields=(("status", None),))),
        (
            "return {status = 'a', Status = 'b'}",
            Returned(type="table", fields=(("Status", "b"), ("status", "a"))),
        ),
        ("for i = 1, 2 do goto on ::on:: end return {status = 'Healthy'}", HEALTHY),
    ],
)
def test_what_is_returned(lua: LuaProcess, script: str, expected: Returned) -> None:
    assert lua.run(script, OBJECT, open_libs=False) == expected


MARSHAL = "json: error calling MarshalJSON for type json.jsonValue: "


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("return obj.spec.x", "<string>:1: attempt to index a non-table object(nil) with key 'x'"),
        (
            "\n\nreturn obj.metadata.generation.x",
            "<string>:3: attempt to index a non-table object(number) with key 'x'",
        ),
        ("obj.spec.x = 1", "<string>:1: attempt to index a non-table object(nil) with key 'x'"),
        ("return ('x'):upper()", "<string>:1: attempt to index a non-table object(string) with key 'upper'"),
        ("return os.time()", "<string>:1: attempt to index a non-table object(nil) with key 'time'"),
        ("local t = {} t()", "<string>:1: attempt to call a non-function object"),
        ("nothing()", "<string>:1: attempt to call a non-function object"),
        ("return 'a' .. nil", "<string>:1: cannot perform concat operation between string and nil"),
        ("return {} + 1", "<string>:1: cannot perform add operation between table and number"),
        ("return nil < 1", "<string>:1: attempt to compare nil with number"),
        ("return {} < {}", "<string>:1: attempt to compare table with table"),
        ("for i = 1, nil do end", "<string>:1: for statement limit must be a number"),
        ("for k in pairs(nil) do end", "<string>:1: bad argument #1 to pairs (table expected, got nil)"),
        ("local function f() return 1 + f() end return f()", "<string>:1: stack overflow"),
        ("error('boom')", "<string>:1: boom"),
        ("error({})", "table"),
        ("x = = 1", "<string> line:1 near '=':   syntax error\n"),
        ("if true then", "<string> at EOF:   syntax error\n"),
        ("return {f = print}", f"{MARSHAL}{MARSHAL}cannot encode function to JSON"),
        (
            "local t = {} t.t = t return t",
            f"{MARSHAL}{MARSHAL}cannot encode recursively nested tables to JSON",
        ),
        ("return {1, x = 2}", f"{MARSHAL}cannot encode mixed or invalid key types"),
        ("return {[2] = 1}", f"{MARSHAL}cannot encode sparse array"),
        ("return {x = 0/0}", f"{MARSHAL}{MARSHAL}json: unsupported value: NaN"),
    ],
)
def test_complaints_are_those_of_gopher_lua(lua: LuaProcess, script: str, expected: str) -> None:
    assert error(lua, script) == expected


def test_time_is_what_the_caller_says(lua: LuaProcess) -> None:
    script = "local os = require('os') return {status = 'x', message = os.time() .. os.date('!%Y-%m-%dT%XZ')}"
    answer = lua.run(script, {}, open_libs=False, now=1_700_000_000)
    assert isinstance(answer, Returned)
    assert dict(answer.fields)["message"] == "17000000002023-11-14T22:13:20Z"


def test_open_libs_bring_the_standard_libraries(lua: LuaProcess) -> None:
    assert message(lua, "('x'):upper() .. math.floor(1.5) .. type(coroutine.create)", open_libs=True) == (
        "X1function"
    )
    for library in ("string", "math", "coroutine", "io", "debug", "os"):
        assert message(lua, f"tostring({library})") == "nil"


@pytest.mark.parametrize("open_libs", [False, True])
@pytest.mark.parametrize(
    "escape",
    [
        "python",
        "newproxy",
        "module",
        "gcinfo",
        "package.loadlib",
        "package.loaders",
        "package.loaded.python",
        "jit",
        "getmetatable(nil)",
        "getmetatable(print)",
        "getfenv(0).python",
        "getfenv(pcall).debug and getfenv(pcall).debug.getregistry",
        "debug and debug.getregistry",
        "debug and debug.setmetatable",
        "loadstring('\\27Lua')",
        "loadstring(string and string.char(27) .. 'Lua' or '\\27LJ')",
        "load(coroutine and coroutine.wrap(function() coroutine.yield('\\27Lua') end) or print) and nil",
        "os and os.getenv('PATH')",
    ],
)
def test_no_way_out(lua: LuaProcess, escape: str, *, open_libs: bool) -> None:
    assert message(lua, f"tostring(({escape}))", open_libs=open_libs) in ("nil", "false")


@pytest.mark.parametrize(
    "call",
    [
        "io.open('/etc/passwd')",
        "io.popen('id')",
        "io.lines('/etc/passwd')",
        "os.execute('id')",
        "os.remove('/tmp/x')",
        "os.exit(1)",
        "string.dump(print)",
        "dofile('/etc/passwd')",
        "loadfile('/etc/passwd')",
        "debug.sethook()",
    ],
)
def test_files_and_programs_are_refused_by_name(lua: LuaProcess, call: str) -> None:
    result = error(lua, f"local x = {call}", open_libs=True)
    assert result == f"<string>:1: whysync does not let scripts use {call.partition('(')[0]}"


@pytest.mark.parametrize(
    "script",
    [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "goto on ::on:: goto on",
        "local function f() return f() end return f()",
    ],
)
def test_endless_scripts_end(lua: LuaProcess, script: str) -> None:
    assert error(lua, script) == "<string>:1: context deadline exceeded"
    assert lua.run("return {status = 'Healthy'}", OBJECT, open_libs=False) == HEALTHY


@pytest.mark.parametrize(
    "script",
    [
        "local s = string.rep('a', 40) return s:find(('a?'):rep(40) .. s .. 'b')",
        "return coroutine.wrap(function() while true do end end)()",
        "xpcall(function() while true do end end, function() while true do end end)",
    ],
)
def test_what_no_clock_inside_can_stop_is_killed(hasty: LuaProcess, script: str) -> None:
    assert error(hasty, script, open_libs=True) == "context deadline exceeded"
    assert hasty.run("return {status = 'Healthy'}", OBJECT, open_libs=False) == HEALTHY


@pytest.mark.parametrize(
    "script",
    [
        "return {status = string.rep('x', 1e9)}",
        "local s = 'x' while true do s = s .. s end",
        "local ok, why = pcall(string.rep, 'x', 1e9) error(why, 0)",
    ],
)
def test_greedy_scripts_end(lua: LuaProcess, script: str) -> None:
    assert error(lua, script, open_libs=True).endswith("not enough memory")
    assert lua.run("return {status = 'Healthy'}", OBJECT, open_libs=False) == HEALTHY


def test_long_messages_are_cut(lua: LuaProcess) -> None:
    result = message(lua, "string.rep('x', 1e6)", open_libs=True)
    assert result is not None
    assert len(result) < 10_000


def test_one_script_leaves_nothing_for_the_next(lua: LuaProcess) -> None:
    lua.run("leftover = 1 string.upper = nil pairs = nil", OBJECT, open_libs=True)
    assert message(lua, "tostring(leftover) .. type(pairs) .. type(string.upper)", open_libs=True) == (
        "nilfunctionfunction"
    )


def test_a_script_that_spoils_the_libraries_still_gets_its_answer(lua: LuaProcess) -> None:
    spoil = "local g = _G setfenv(0, {}) setfenv(1, {}) for k in g.pairs(g) do g[k] = nil end"
    assert lua.run(f"{spoil} return {{status = 'Healthy'}}", OBJECT, open_libs=True) == HEALTHY


def test_odd_objects_are_handed_over_or_refused(lua: LuaProcess) -> None:
    deep: Object = {}
    for _ in range(5000):
        deep = {"a": deep}
    assert isinstance(lua.run("return {}", deep, open_libs=False), Failed)
    assert message(lua, "tostring(obj.status.ratio)") == "0.5"
    big = lua.run("return {status = tostring(obj.n)}", {"n": 10**30}, open_libs=False)
    assert big == Returned(type="table", fields=(("status", "1e+30"),))
    assert isinstance(lua.run("return {}", {"text": "\udcff"}, open_libs=False), Failed)
