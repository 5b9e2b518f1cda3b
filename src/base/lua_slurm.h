/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What Lua scripts of a site have in common: how they format messages, what their table "slurm"
 * says of results, and how their failures read. A library of its own, since it needs Lua. */
#pragma once

#include <lua.h>
#include <stdbool.h>

/* The arguments of a C function as string.format formats them; on the top of the stack. */
const char *lua_slurm_format(lua_State *L);
/* Pushes what the script calls 'name'; false, and nothing is pushed, where there is nothing.
 * Globals may be guarded by a metatable, as strict.lua does: an error that it raises means the
 * same. */
bool lua_slurm_push_global(lua_State *L, const char *name);
bool lua_slurm_push_function(lua_State *L, const char *name); /* only what is a function */
/* The message of a failed call, on the top of the stack; never NULL. */
const char *lua_slurm_error(lua_State *L);
/* SUCCESS, ERROR and FAILURE, into the table on the top of the stack. */
void lua_slurm_put_results(lua_State *L);
