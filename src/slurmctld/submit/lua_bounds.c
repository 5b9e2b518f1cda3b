/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmctld/submit/lua_bounds.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stddef.h>
#include <stdint.h>

#define ELEMENTS_PER_STEP 2 /* of a table that are moved, or characters that are decoded */

/* Calls the function of the library, which is the second upvalue, after it has taken the steps for
 * that many elements. It runs in the frame of the present function, so that its errors name the
 * line of the script. Wrong arguments are for it to refuse. */
static int call_library(lua_State *L, lua_Integer elements)
{
    long *left = lua_touserdata(L, lua_upvalueindex(1));

    if (elements > 0)
        *left -=
            elements / ELEMENTS_PER_STEP < *left ? (long)(elements / ELEMENTS_PER_STEP) : *left;
    if (*left <= 0)
        return luaL_error(L, "it takes too long: too many elements of tables and texts");
    return lua_tocfunction(L, lua_upvalueindex(2))(L);
}

static lua_Integer get_length(lua_State *L)
{
    return lua_istable(L, 1) || lua_type(L, 1) == LUA_TSTRING ? luaL_len(L, 1) : 0;
}

/* The argument, or what stands for it if it is absent. */
static lua_Integer get_integer(lua_State *L, int argument, lua_Integer otherwise)
{
    return lua_isnoneornil(L, argument) ? otherwise : lua_tointeger(L, argument);
}

static lua_Integer count_range(lua_Integer first, lua_Integer last)
{
    lua_Unsigned count = last >= first ? (lua_Unsigned)last - (lua_Unsigned)first : 0;
    return count > LUA_MAXINTEGER - 1 ? LUA_MAXINTEGER : (lua_Integer)count + 1;
}

/* insert(table, position, value) and remove(table, position) move what is behind the position. */
static int insert_element(lua_State *L)
{
    return call_library(L, lua_gettop(L) < 3 ? 0 : count_range(lua_tointeger(L, 2), get_length(L)));
}

static int remove_element(lua_State *L)
{
    return call_library(L, lua_gettop(L) < 2 ? 0 : count_range(lua_tointeger(L, 2), get_length(L)));
}

static int move_elements(lua_State *L)
{
    return call_library(L, count_range(lua_tointeger(L, 2), lua_tointeger(L, 3)));
}

static int concat_elements(lua_State *L)
{
    lua_Integer last = lua_isnoneornil(L, 4) ? get_length(L) : lua_tointeger(L, 4);
    return call_library(L, count_range(get_integer(L, 3, 1), last));
}

static int unpack_elements(lua_State *L)
{
    lua_Integer last = lua_isnoneornil(L, 3) ? get_length(L) : lua_tointeger(L, 3);
    return call_library(L, count_range(get_integer(L, 2, 1), last));
}

/* n elements need about n * log2(n) comparisons, which are no instructions without a function. */
static int sort_elements(lua_State *L)
{
    lua_Integer n = get_length(L), cost = n;
    for (lua_Integer k = n; k > 1 && n < INT32_MAX; k /= 2)
        cost += n;
    return call_library(L, cost);
}

/* The characters from byte i to byte j: at most one for each byte. */
static int count_characters(lua_State *L)
{
    size_t len = 0;
    if (lua_type(L, 1) == LUA_TSTRING)
        lua_tolstring(L, 1, &len);
    lua_Integer first = get_integer(L, 2, 1), last = get_integer(L, 3, -1), size = (lua_Integer)len;
    first = first < 0 ? first + size + 1 : first;
    last = last < 0 ? last + size + 1 : last;
    return call_library(L, count_range(first, last < size ? last : size));
}

static int find_character(lua_State *L)
{
    lua_Integer n = lua_tointeger(L, 2);
    return call_library(L, n < 0 ? count_range(n, -1) : n);
}

static void wrap_functions(lua_State *L, long *left, const char *library, const luaL_Reg *wrapped)
{
    lua_getglobal(L, library);
    for (; wrapped->name; wrapped++) {
        lua_pushlightuserdata(L, left);
        lua_getfield(L, -2, wrapped->name);
        lua_pushcclosure(L, wrapped->func, 2);
        lua_setfield(L, -2, wrapped->name);
    }
    lua_pop(L, 1);
}

void lua_bounds_open(lua_State *L, long *left)
{
    static const luaL_Reg of_tables[] = {{"insert", insert_element},
                                         {"remove", remove_element},
                                         {"move", move_elements},
                                         {"concat", concat_elements},
                                         {"unpack", unpack_elements},
                                         {"sort", sort_elements},
                                         {NULL, NULL}};
    static const luaL_Reg of_texts[] = {
        {"len", count_characters}, {"offset", find_character}, {NULL, NULL}};

    wrap_functions(L, left, LUA_TABLIBNAME, of_tables);
    wrap_functions(L, left, LUA_UTF8LIBNAME, of_texts);
}
