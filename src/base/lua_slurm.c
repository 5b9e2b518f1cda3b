/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/lua_slurm.h"

#include <lauxlib.h>

const char *lua_slurm_format(lua_State *L)
{
    lua_getglobal(L, "string");
    lua_getfield(L, -1, "format");
    lua_remove(L, -2);
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 1);
    return luaL_checkstring(L, -1);
}

/* A C function for Lua, so that an error of a metatable can be caught: takes a name, returns the
 * global variable with that name. */
static int index_globals(lua_State *L)
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    lua_insert(L, 1);
    lua_gettable(L, 1);
    return 1;
}

bool lua_slurm_push_global(lua_State *L, const char *name)
{
    lua_pushcfunction(L, index_globals);
    lua_pushstring(L, name);
    if (lua_pcall(L, 1, 1, 0) == LUA_OK && !lua_isnil(L, -1))
        return true;
    lua_pop(L, 1);
    return false;
}

bool lua_slurm_push_function(lua_State *L, const char *name)
{
    if (!lua_slurm_push_global(L, name))
        return false;
    if (lua_isfunction(L, -1))
        return true;
    lua_pop(L, 1);
    return false;
}

const char *lua_slurm_error(lua_State *L)
{
    const char *text = lua_tostring(L, -1);
    return text ? text : "an error without a message";
}

void lua_slurm_put_results(lua_State *L)
{
    lua_pushinteger(L, 0);
    lua_setfield(L, -2, "SUCCESS");
    lua_pushinteger(L, -1);
    lua_setfield(L, -2, "ERROR");
    lua_pushinteger(L, -1);
    lua_setfield(L, -2, "FAILURE");
}
