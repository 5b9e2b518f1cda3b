/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The string functions of scripts give what those of the library give, and end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "slurmctld/submit/lua_pattern.h"

#define STEPS 1000000000

static void run_lua(lua_State *L, const char *text)
{
    if (luaL_dostring(L, text) != LUA_OK)
        fail_msg("%s", lua_tostring(L, -1));
}

/* compare(NAME, ...) calls the function of the library and the present one. */
static const char compare[] =
    "library = {}\n"
    "for _, name in ipairs{'find', 'match', 'gmatch', 'gsub'} do library[name] = string[name] end\n"
    "local function collect(of, name, ...)\n"
    "  if name ~= 'gmatch' then return of[name](...) end\n"
    "  local all = {}\n"
    "  for a, b, c in of.gmatch(...) do\n"
    "    all[#all + 1] = tostring(a) .. ';' .. tostring(b) .. ';' .. tostring(c)\n"
    "    if #all == 50 then break end\n"
    "  end\n"
    "  return table.unpack(all)\n"
    "end\n"
    "local function format(...)\n"
    "  local t = table.pack(...)\n"
    "  for i = 1, t.n do t[i] = math.type(t[i]) and t[i] .. '' or tostring(t[i]):gsub('^.-:%d+: ', "
    "'') end\n"
    "  return table.concat(t, '|')\n"
    "end\n"
    "function compare(name, ...)\n"
    "  local a = format(pcall(collect, library, name, ...))\n"
    "  local b = format(pcall(collect, string, name, ...))\n"
    "  if a ~= b then\n"
    "    error(string.format('%s(%s): %s, the library: %s', name, format(...), b, a))\n"
    "  end\n"
    "end\n";

static void results_are_those_of_the_library(void **state)
{
    lua_State *L = luaL_newstate();
    long left = STEPS;

    luaL_openlibs(L);
    run_lua(L, compare);
    lua_pattern_open(L, &left);
    run_lua(
        L,
        "local parts = {'a', 'b', '.', '%a', '%D', '[ab]', '[^a]', '[a-c%d]', '[]]', '[%]x]',\n"
        "'[a-]', '(', ')', '()', '*', '+', '-', '?', '^', '$', '%b()', '%f[%w]', '%1', '%0',\n"
        "'%2', '%', '[', '%b', '%f', ' ', '%s', '%w+', '(.-)', '(%a)', '%%', '\\0', '%z', '%.'}\n"
        "local letters = {'a', 'b', 'c', '1', ' ', '(', ')', ']', '%', '.', '\\0', 'A', '-'}\n"
        "local by = {'', 'x', '%0', '%1', '%2', '%%', '%', '<%1%0>', '%x', 7, 1.5, true, {},\n"
        "{a = 'z', [' '] = false, b = {}}, function(a, b) return a ~= 'a' and a or nil end}\n"
        "local function draw(from, most)\n"
        "  local t = {}\n"
        "  for i = 1, math.random(0, most) do t[i] = from[math.random(#from)] end\n"
        "  return table.concat(t)\n"
        "end\n"
        "math.randomseed(20788)\n"
        "for i = 1, 40000 do\n"
        "  local s, p = draw(letters, 12), draw(parts, 5)\n"
        "  local init = math.random(6) == 1 and math.random(-15, 15) or nil\n"
        "  compare('find', s, p, init, math.random(9) == 1)\n"
        "  compare('match', s, p, init)\n"
        "  compare('gmatch', s, p, init)\n"
        "  compare('gsub', s, p, by[math.random(#by)], math.random(5) == 1 and 2 or nil)\n"
        "end\n");
    assert_in_range(left, 1, STEPS - 1000000);
    run_lua(L, "local deep = string.rep('a?', 250)\n"
               "compare('match', string.rep('a', 250), deep)\n"
               "compare('match', 'a', string.rep('(', 40))\n"
               "compare('match', 'a', string.rep('()', 40))\n"
               "compare('find', 5, 5) compare('find', {}, 'a') compare('gsub', 'a') "
               "compare('gmatch', 'a')\n"
               "compare('find', 'aXb', 'X', 1, true) compare('find', 'a.b', '.', 2, true)\n"
               "for k, v in ('a=1, b=2'):gmatch('(%w+)=(%w+)') do assert(k .. v == 'a1' or k .. v "
               "== 'b2') end\n");
    lua_close(L);
}

static void functions_end_when_no_steps_are_left(void **state)
{
    static const char *const texts[] = {"return s:match('.-.-.-b')",
                                        "return s:find('^%s*(.-)%s*b')",
                                        "return s:gsub('[ b]-b', '')",
                                        "for x in s:gmatch('a*.-b') do end",
                                        "return s:find(' *b')",
                                        "return s:match('(%s*)%1b')",
                                        "local n = 0 while true do n = s:find('x', 1, true) end"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        lua_State *L = luaL_newstate();
        long left = 20000000;
        luaL_openlibs(L);
        lua_pattern_open(L, &left);
        run_lua(L, "s = string.rep(' ', 300000)");
        print_message("%s\n", texts[i]);
        assert_int_not_equal(luaL_dostring(L, texts[i]), LUA_OK);
        assert_non_null(strstr(lua_tostring(L, -1), "it takes too long: the text"));
        assert_in_range(20000000 - left, 20000000, 20100000);
        lua_close(L);
    }
}

/* Each search is charged for what it has compared, and not for the rest of the text. */
static void long_texts_can_be_split(void **state)
{
    static const char split[] = "local text, from, n = string.rep('key=value\\n', 100000), 1, 0\n"
                                "while true do\n"
                                "  local at = text:find('\\n', from, true)\n"
                                "  if not at then break end\n"
                                "  from, n = at + 1, n + 1\n"
                                "end\n"
                                "assert(n == 100000)\n";
    lua_State *L = luaL_newstate();
    long left = 20000000;

    luaL_openlibs(L);
    lua_pattern_open(L, &left);
    run_lua(L, split);
    assert_in_range(left, 1, 20000000 - 100000);
    lua_close(L);
}

/* A long set, and a class of a set, cost more than one character. */
static void sets_are_charged_by_their_length(void **state)
{
    lua_State *L = luaL_newstate();
    long left = STEPS;

    luaL_openlibs(L);
    lua_pattern_open(L, &left);
    run_lua(L, "assert(not ('-'):rep(1000):find('[%a%d%s%c%u%l%w%x]'))");
    assert_in_range(STEPS - left, 1000 * 9, 1000 * 20);
    lua_close(L);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_those_of_the_library),
        cmocka_unit_test(functions_end_when_no_steps_are_left),
        cmocka_unit_test(long_texts_can_be_split),
        cmocka_unit_test(sets_are_charged_by_their_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
