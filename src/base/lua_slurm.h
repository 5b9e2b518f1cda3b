/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the site's Lua scripts: formatting of messages, the result codes in the table "slurm",
 * and error messages. A separate library, because it needs Lua. */
#pragma once

#include <lua.h>
#include <stdbool.h>

/* Formats the arguments of a C function like string.format; the result is on top of the stack. */
const char *lua_slurm_format(lua_State *L);
/* Pushes the value of the global variable 'name'. Returns false, with the stack unchanged, if the
   value is nil, or if a metatable that guards the globals raises an error (strict.lua). */
bool lua_slurm_push_global(lua_State *L, const char *name);
/* The same; also returns false if the value is not a function. */
bool lua_slurm_push_function(lua_State *L, const char *name);
/* Returns the message of a failed call, from the top of the stack; never NULL. */
const char *lua_slurm_error(lua_State *L);
/* Adds SUCCESS, ERROR and FAILURE to the table on top of the stack. */
void lua_slurm_put_results(lua_State *L);
