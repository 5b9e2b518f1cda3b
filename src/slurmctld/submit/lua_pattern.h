/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * string.find, match, gmatch and gsub of Lua 5.4 (reference manual, 6.4.1) with a bounded cost.
 * Those of the library cannot be interrupted, and a pattern such as "^%s*(.-)%s*$" takes the square
 * of the length of the text, which users choose.
 */
#pragma once

#include <lua.h>

/* Replaces the functions in the table 'string'. Each step of a comparison is taken from *left,
 * which stays valid as long as the state; when none is left the functions raise an error. */
void lua_pattern_open(lua_State *L, long *left);
