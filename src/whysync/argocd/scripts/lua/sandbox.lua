-- Runs one untrusted script in this fresh Lua state, with the libraries and the words of gopher-lua, the Lua
-- of Argo CD, and says what came of it. Called with:
--   script     its text
--   obj        the object to judge, as a table
--   open_libs  whether the admin allowed the standard libraries
--   now        seconds since 1970, what os.time() shall answer
--   seconds    how much processor time the script may use
--   longest    how many bytes of any text may leave the sandbox
-- Answers the kind of outcome ("error", or the type of what was returned), a text, and a list of
-- the fields named status and message, in any case: name, value, name, value, …
--
-- After the script has run, everything here is a local: globals and shared tables are then in its hands.

local script, obj, open_libs, now, seconds, longest = ...

if jit then jit.off() end -- compiled loops would not look at the clock

local error, getmetatable, ipairs, loadstring = error, getmetatable, ipairs, loadstring
local next, pairs, pcall, rawget, select, tonumber = next, pairs, pcall, rawget, select, tonumber
local tostring, type = tostring, type
local byte, format, gsub, lower, sub = string.byte, string.format, string.gsub, string.lower, string.sub
local concat, sort, floor, huge = table.concat, table.sort, math.floor, math.huge
local clock, date, time = os.clock, os.date, os.time
local getinfo, sethook, set_type_metatable = debug.getinfo, debug.sethook, debug.setmetatable
local this = getinfo(1, "f").func
local libs = {string = string, math = math, coroutine = coroutine, table = table}
local base = {}
for _, name in ipairs({
  "assert", "error", "getfenv", "getmetatable", "ipairs", "loadstring", "next", "pairs", "pcall", "rawequal",
  "rawget", "rawset", "select", "setfenv", "setmetatable", "tonumber", "tostring", "type", "unpack", "xpcall",
}) do
  base[name] = _G[name]
end

-- The words of gopher-lua -------------------------------------------------------------------------------

local function number_text(number)
  if number == floor(number) and number > -2 ^ 63 and number < 2 ^ 63 then return format("%.0f", number) end
  if number ~= number then return "NaN" end
  if number == huge then return "+Inf" end
  if number == -huge then return "-Inf" end
  for digits = 1, 17 do
    local text = format("%." .. digits .. "g", number)
    if tonumber(text) == number then return text end
  end
end

local function as_text(value)
  if type(value) == "number" then return number_text(value) end
  return tostring(value)
end

local function no_index(value, key)
  error("attempt to index a non-table object(" .. type(value) .. ") with key '" .. as_text(key) .. "'", 2)
end

local function no_operation(name)
  return function(left, right)
    local message = "cannot perform " .. name .. " operation between " .. type(left) .. " and " .. type(right)
    error(message, 2)
  end
end

local words = {
  __index = no_index,
  __newindex = no_index,
  __call = function() error("attempt to call a non-function object", 2) end,
  __len = function() error("__len undefined", 2) end,
  __unm = function() error("__unm undefined", 2) end,
}
for _, name in ipairs({"add", "sub", "mul", "div", "mod", "pow", "concat"}) do
  words["__" .. name] = no_operation(name)
end

local string_words = {}
for event, handler in pairs(words) do string_words[event] = handler end
string_words.__call, string_words.__len = words.__call, nil
if open_libs then string_words.__index = libs.string end

-- What a script may use ---------------------------------------------------------------------------------

-- Compiled code could do what no text can, so only text is loaded.
local function load_text(text, name)
  if byte(text, 1) == 27 then return nil, "compiled code is not allowed" end
  return loadstring(text, name or "=<string>")
end

local function forbidden(name)
  return function() error("whysync does not let scripts use " .. name, 2) end
end

local function whole(fields, name, default)
  local value = fields[name]
  if type(value) ~= "number" then return default end
  return floor(value)
end

local safe_os = {}

function safe_os.time(fields)
  if fields == nil then return now end
  if type(fields) ~= "table" then
    error("bad argument #1 to time (table expected, got " .. type(fields) .. ")", 2)
  end
  return time({
    sec = whole(fields, "sec", 0), min = whole(fields, "min", 0), hour = whole(fields, "hour", 12),
    day = whole(fields, "day", -1), month = whole(fields, "month", -1), year = whole(fields, "year", -1),
    isdst = false,
  })
end

-- The letters that Argo CD knows; %a and %x are what its table says, not what one would expect.
local letters = {
  a = "mon", A = "%A", b = "%b", B = "%B", c = "%d %b %y %H:%M UTC", d = "%d", F = "%Y-%m-%d", H = "%H",
  I = "%I", m = "%m", M = "%M", p = "%p", P = "%p", S = "%S", x = "%H/%M/%S", X = "%H:%M:%S", y = "%y",
  Y = "%Y", z = "+0000", Z = "UTC", w = "%w",
}

function safe_os.date(pattern, moment)
  pattern, moment = pattern or "%c", moment or now
  if type(pattern) ~= "string" or type(moment) ~= "number" then error("bad argument to date", 2) end
  pattern = gsub(pattern, "^!+", "")
  if sub(pattern, 1, 2) == "*t" then
    local found = date("!*t", moment)
    found.yday, found.isdst = 0, false
    return found
  end
  return (gsub(pattern, "%%(.)", function(letter)
    if letter == "%" then return "%" end
    local known = letters[letter]
    if known == nil then return "%" .. letter end
    local text = date("!" .. known, moment)
    return letter == "P" and lower(text) or text
  end))
end

local globals = _G
for name in pairs(globals) do globals[name] = nil end
for name, value in pairs(base) do globals[name] = value end
globals._G, globals._VERSION = globals, "Lua 5.1"
globals.print, globals.collectgarbage = function() end, function() end
globals.tostring = function(...)
  local value = ...
  if type(value) == "number" then return number_text(value) end
  return tostring(...)
end
globals.getmetatable = function(...)
  local value = ...
  -- Theirs are the words above; gopher-lua has none.
  if type(value) ~= "table" and (type(value) ~= "string" or not open_libs) then return nil end
  return getmetatable(...)
end
globals.loadstring = function(text, name)
  if type(text) ~= "string" then
    error("bad argument #1 to loadstring (string expected, got " .. type(text) .. ")", 2)
  end
  return load_text(text, name and tostring(name))
end
globals.load = function(reader, name)
  if type(reader) ~= "function" then
    error("bad argument #1 to load (function expected, got " .. type(reader) .. ")", 2)
  end
  local pieces = {}
  for piece in reader do
    if type(piece) ~= "string" or piece == "" then break end
    pieces[#pieces + 1] = piece
  end
  return load_text(concat(pieces), name and tostring(name))
end
globals.loadfile, globals.dofile = forbidden("loadfile"), forbidden("dofile")

globals.table = {}
for _, name in ipairs({"getn", "concat", "insert", "maxn", "remove", "sort"}) do
  globals.table[name] = libs.table[name]
end

local loaded = {_G = globals, table = globals.table}
local preload = {os = function() return safe_os end}
globals.package = {loaded = loaded, preload = preload, path = "", cpath = ""}
loaded.package = globals.package
globals.require = function(name)
  if loaded[name] then return loaded[name] end
  local loader = preload[name]
  if type(loader) ~= "function" then error("module " .. tostring(name) .. " not found", 2) end
  loaded[name] = loader(name) or loaded[name] or true
  return loaded[name]
end

if open_libs then
  local full_os = {time = safe_os.time, date = safe_os.date, getenv = function() end}
  full_os.clock = clock
  full_os.difftime = function(later, earlier) return later - (earlier or 0) end
  for _, name in ipairs({"execute", "exit", "remove", "rename", "setenv", "setlocale", "tmpname"}) do
    full_os[name] = forbidden("os." .. name)
  end
  libs.string.dump = forbidden("string.dump")
  globals.os, globals.string, globals.math, globals.coroutine = full_os, libs.string, libs.math, libs.coroutine
  globals.io, globals.debug = {}, {}
  for _, name in ipairs({"close", "flush", "input", "lines", "open", "output", "popen", "read", "tmpfile"}) do
    globals.io[name] = forbidden("io." .. name)
  end
  globals.io.write = function() end
  for _, name in ipairs({"getinfo", "getlocal", "getupvalue", "sethook", "setlocal", "setupvalue"}) do
    globals.debug[name] = forbidden("debug." .. name)
  end
  globals.debug.traceback = function(message) return message end
  for _, name in ipairs({"os", "string", "math", "coroutine", "io", "debug"}) do loaded[name] = globals[name] end
end

globals.obj, globals.actionParams = obj, {}

-- What comes out ----------------------------------------------------------------------------------------

local function clipped(text)
  if #text > longest then return sub(text, 1, longest) .. "..." end
  return text
end

-- Mirrors gopher-json `Encode`: what cannot become JSON is an error, told once more on each level above it.
local prefix = "json: error calling MarshalJSON for type json.jsonValue: "

local function json_problem(value, visited)
  local kind = type(value)
  if kind == "number" then
    if value ~= value or value == huge or value == -huge then
      return prefix .. "json: unsupported value: " .. number_text(value)
    end
    return nil
  end
  if kind == "string" or kind == "boolean" then return nil end
  if kind ~= "table" then return prefix .. "cannot encode " .. kind .. " to JSON" end
  if visited[value] then return prefix .. "cannot encode recursively nested tables to JSON" end
  visited[value] = true
  local first = next(value)
  if first == nil then return nil end
  local keys = {}
  for key in next, value do
    if type(key) ~= type(first) or (type(key) ~= "number" and type(key) ~= "string") then
      return prefix .. "cannot encode mixed or invalid key types"
    end
    keys[#keys + 1] = key
  end
  sort(keys)
  for index, key in ipairs(keys) do
    if type(first) == "number" and key ~= index then return prefix .. "cannot encode sparse array" end
  end
  for _, key in ipairs(keys) do
    local problem = json_problem(rawget(value, key), visited)
    if problem then return prefix .. problem end
  end
  return nil
end

local function wanted_fields(value)
  local names, found = {}, {}
  for key in next, value do
    if type(key) ~= "string" then return found end
    local name = lower(key)
    if name == "status" or name == "message" then names[#names + 1] = key end
  end
  sort(names)
  for _, name in ipairs(names) do
    local item = rawget(value, name)
    found[#found + 1] = name
    found[#found + 1] = type(item) == "string" and clipped(item) or false
  end
  return found
end

local function outcome(done, ...)
  sethook()
  if not done then
    local problem = ...
    if type(problem) == "number" then problem = number_text(problem) end
    return "error", type(problem) == "string" and clipped(problem) or type(problem)
  end
  -- Of several values the last one counts.
  local count = select("#", ...)
  local value = nil
  if count > 0 then value = select(count, ...) end
  if type(value) ~= "table" then return type(value), "" end
  local fine, problem = pcall(json_problem, value, {})
  if not fine then return "error", "the returned table is nested too deeply" end
  if problem then return "error", clipped(problem) end
  if next(value) == nil or type((next(value))) == "number" then return "array", "" end
  return "table", "", wanted_fields(value)
end

local chunk, problem = load_text(script, "=<string>")
if chunk == nil then return "syntax", clipped(problem) end

for _, example in ipairs({0, true, function() end}) do set_type_metatable(example, words) end
set_type_metatable(nil, words)
set_type_metatable("", string_words)

local deadline = clock() + seconds
local function watch()
  if clock() > deadline then
    local running = getinfo(2, "f").func
    if running == this or running == outcome then return end
    -- From now on at every step: a script that catches the error gets it again right behind its pcall.
    sethook(watch, "", 1)
    error("context deadline exceeded", 2)
  end
end
sethook(watch, "", 5000)
return outcome(pcall(chunk))
