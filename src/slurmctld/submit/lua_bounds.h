/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions of Lua's libraries that go through a whole table or text in one instruction, such as
 * table.insert at the begin of a table, with a bounded cost.
 */
#pragma once

#include <lua.h>

/* Replaces functions in the tables 'table' and 'utf8'. What they go through is taken from *left,
 * which stays valid as long as the state; when none is left the functions raise an error. */
void lua_bounds_open(lua_State *L, long *left);
