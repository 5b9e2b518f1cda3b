/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What Lua scripts of a site have in common: how they format messages, what their table "slurm"
 * says of results, and how their failures read. A library of its own, since it needs Lua. */
#pragma once

#include <lua.h>
#include <stdbool.h>

/* The arguments of a C function as string.format formats them; on the top of the stack. */
const char *lua_slurm_format(lua_State *L);
/* Pushes the value of the global variable 'name'. Returns false, and leaves the stack as it was,
 * when the value is nil, or when a metatable that guards the globals raises an error (strict.lua).
 */
bool lua_slurm_push_global(lua_State *L, const char *name);
/* The same, and false for a value that is not a function. */
bool lua_slurm_push_function(lua_State *L, const char *name);
/* The message of a failed call, on the top of the stack; never NULL. */
const char *lua_slurm_error(lua_State *L);
/* SUCCESS, ERROR and FAILURE, into the table on the top of the stack. */
void lua_slurm_put_results(lua_State *L);
