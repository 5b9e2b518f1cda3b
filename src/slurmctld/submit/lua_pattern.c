/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Patterns of Lua, with a limit of comparisons. The functions follow those of the library of
 * Lua 5.4, so that they match the same texts:
 *
 * Copyright (C) 1994-2022 Lua.org, PUC-Rio.
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
 * associated documentation files (the "Software"), to deal in the Software without restriction,
 * including without limitation the rights to use, copy, modify, merge, publish, distribute,
 * sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all copies or
 * substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
 * NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
 * NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
 * DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 */
#include "slurmctld/submit/lua_pattern.h"

#include <ctype.h>
#include <lauxlib.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define ESCAPE '%'
#define SPECIAL "^$*+?.([%-"
#define DEPTH_MAX 200
#define CAPTURES_MAX 32
#define PLAIN_PER_STEP 16 /* bytes that a search for a plain text compares in one step */
#define SET_PER_STEP 2    /* bytes of a set, such as [%a_] */

enum { OPEN = -1, POSITION = -2 };

struct capture {
    const char *at;
    ptrdiff_t len; /* or OPEN, or POSITION: of an empty capture, "()" */
};

struct matching {
    lua_State *L;
    long *left;
    const char *text, *text_end, *pattern_end;
    int depth, level;
    struct capture captures[CAPTURES_MAX];
};

static void take_steps(lua_State *L, long *left, long steps)
{
    *left -= steps;
    if (*left <= 0)
        luaL_error(L, "it takes too long: the text needs too many comparisons");
}

static const char *match_here(struct matching *m, const char *s, const char *p);

/* --- one character ---------------------------------------------------------------------------- */

/* Returns the end of the item that begins at p: a character, a class or a set. */
static const char *find_item_end(struct matching *m, const char *p)
{
    char c = *p++;
    if (c == ESCAPE) {
        if (p == m->pattern_end)
            luaL_error(m->L, "malformed pattern (ends with '%%')");
        return p + 1;
    }
    if (c != '[')
        return p;
    if (*p == '^')
        p++;
    do { /* a ] at the begin is a character */
        if (p == m->pattern_end)
            luaL_error(m->L, "malformed pattern (missing ']')");
        c = *p++;
        if (c == ESCAPE && p < m->pattern_end)
            p++;
    } while (p == m->pattern_end || *p != ']');
    return p + 1;
}

static int is_nul(int c)
{
    return c == '\0';
}

static bool is_in_class(int c, int class)
{
    static const struct {
        char letter;
        int (*test)(int);
    } classes[] = {{'a', isalpha}, {'c', iscntrl},  {'d', isdigit}, {'g', isgraph},
                   {'l', islower}, {'p', ispunct},  {'s', isspace}, {'u', isupper},
                   {'w', isalnum}, {'x', isxdigit}, {'z', is_nul}};
    int letter = tolower(class);
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (letter == classes[i].letter)
            return (classes[i].test(c) != 0) == (islower(class) != 0);
    return class == c;
}

/* From the [ at p to the ] at 'last'. */
static bool is_in_set(int c, const char *p, const char *last)
{
    bool found = true;
    if (p[1] == '^') {
        found = false;
        p++;
    }
    while (++p < last) {
        if (*p == ESCAPE) {
            if (is_in_class(c, (unsigned char)*++p))
                return found;
        } else if (p[1] == '-' && p + 2 < last) {
            if ((unsigned char)*p <= c && c <= (unsigned char)p[2])
                return found;
            p += 2;
        } else if ((unsigned char)*p == c) {
            return found;
        }
    }
    return !found;
}

static bool matches_item(struct matching *m, const char *s, const char *p, const char *item_end)
{
    take_steps(m->L, m->left, *p == '[' ? 1 + (item_end - p) / SET_PER_STEP : 1);
    if (s >= m->text_end)
        return false;
    int c = (unsigned char)*s;
    switch (*p) {
    case '.':
        return true;
    case ESCAPE:
        return is_in_class(c, (unsigned char)p[1]);
    case '[':
        return is_in_set(c, p, item_end - 1);
    default:
        return (unsigned char)*p == c;
    }
}

/* --- items with captures or repetition -------------------------------------------------------- */

static const char *match_balance(struct matching *m, const char *s, const char *p)
{
    if (p + 1 >= m->pattern_end)
        luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
    if (s >= m->text_end || *s != *p)
        return NULL;
    for (int open = 1; ++s < m->text_end;) {
        take_steps(m->L, m->left, 1);
        if (*s == p[1]) {
            if (--open == 0)
                return s + 1;
        } else if (*s == p[0]) {
            open++;
        }
    }
    return NULL;
}

static const char *match_longest(struct matching *m, const char *s, const char *p, const char *end)
{
    ptrdiff_t n = 0;
    while (matches_item(m, s + n, p, end))
        n++;
    for (; n >= 0; n--) {
        const char *found = match_here(m, s + n, end + 1);
        if (found)
            return found;
    }
    return NULL;
}

static const char *match_shortest(struct matching *m, const char *s, const char *p, const char *end)
{
    for (;;) {
        const char *found = match_here(m, s, end + 1);
        if (found)
            return found;
        if (!matches_item(m, s, p, end))
            return NULL;
        s++;
    }
}

static const char *begin_capture(struct matching *m, const char *s, const char *p, ptrdiff_t what)
{
    if (m->level >= CAPTURES_MAX)
        luaL_error(m->L, "too many captures");
    m->captures[m->level++] = (struct capture){s, what};
    const char *found = match_here(m, s, p);
    if (!found)
        m->level--;
    return found;
}

static const char *end_capture(struct matching *m, const char *s, const char *p)
{
    int n = m->level - 1;
    while (n >= 0 && m->captures[n].len != OPEN)
        n--;
    if (n < 0)
        luaL_error(m->L, "invalid pattern capture");
    m->captures[n].len = s - m->captures[n].at;
    const char *found = match_here(m, s, p);
    if (!found)
        m->captures[n].len = OPEN;
    return found;
}

static const char *match_captured(struct matching *m, const char *s, int digit)
{
    int n = digit - '1';
    if (n < 0 || n >= m->level || m->captures[n].len == OPEN) {
        luaL_error(m->L, "invalid capture index %%%d", n + 1);
        return NULL; /* is not reached */
    }
    const struct capture *c = &m->captures[n];
    size_t len = (size_t)c->len; /* of a position: larger than each text */
    if ((size_t)(m->text_end - s) < len)
        return NULL;
    take_steps(m->L, m->left, 1 + c->len / PLAIN_PER_STEP);
    return memcmp(c->at, s, len) ? NULL : s + len;
}

/* Returns the end of the set behind %f if the text enters that set at s. */
static const char *match_frontier(struct matching *m, const char *s, const char *p)
{
    if (p >= m->pattern_end || *p != '[')
        luaL_error(m->L, "missing '[' after '%%f' in pattern");
    const char *end = find_item_end(m, p);
    int before = s == m->text ? '\0' : (unsigned char)s[-1];
    int after = s == m->text_end ? '\0' : (unsigned char)*s;
    take_steps(m->L, m->left, 1 + (end - p) / SET_PER_STEP);
    return !is_in_set(before, p, end - 1) && is_in_set(after, p, end - 1) ? end : NULL;
}

/* --- the pattern ------------------------------------------------------------------------------ */

/* Compares %b, %f and %1 at *p; false: it is something else. *s: NULL if the text does not match.
 */
static bool match_escaped(struct matching *m, const char **s, const char **p)
{
    const char *at = *p, *end;
    int what = **p == ESCAPE && *p + 1 < m->pattern_end ? (unsigned char)(*p)[1] : 0;
    if (what == 'b') {
        *s = match_balance(m, *s, at + 2);
        *p = at + 4;
    } else if (what == 'f') {
        end = match_frontier(m, *s, at + 2);
        *s = end ? *s : NULL;
        *p = end;
    } else if (isdigit(what)) {
        *s = match_captured(m, *s, what);
        *p = at + 2;
    } else {
        return false;
    }
    return true;
}

/* Compares one item with what follows it, its repetition. True: *found is the result of the rest of
 * the pattern, too. */
static bool match_repeated(struct matching *m, const char **s, const char **p, const char **found)
{
    const char *end = find_item_end(m, *p), *next;
    char how = end < m->pattern_end ? *end : '\0';
    *found = NULL;
    if (how == '*' || how == '-') {
        *found = how == '*' ? match_longest(m, *s, *p, end) : match_shortest(m, *s, *p, end);
        return true;
    }
    bool matches = matches_item(m, *s, *p, end);
    if (how == '+') {
        *found = matches ? match_longest(m, *s + 1, *p, end) : NULL;
        return true;
    }
    if (how == '?' && matches) {
        next = match_here(m, *s + 1, end + 1);
        if (next) {
            *found = next;
            return true;
        }
    }
    if (how != '?' && !matches)
        return true;
    *s += how != '?';
    *p = end + (how == '?');
    return false;
}

static const char *match_rest(struct matching *m, const char *s, const char *p)
{
    const char *found;
    while (s && p != m->pattern_end) {
        take_steps(m->L, m->left, 1);
        if (*p == '(')
            return p + 1 < m->pattern_end && p[1] == ')' ? begin_capture(m, s, p + 2, POSITION)
                                                         : begin_capture(m, s, p + 1, OPEN);
        if (*p == ')')
            return end_capture(m, s, p + 1);
        if (*p == '$' && p + 1 == m->pattern_end)
            return s == m->text_end ? s : NULL;
        if (!match_escaped(m, &s, &p) && match_repeated(m, &s, &p, &found))
            return found;
    }
    return s;
}

/* Returns the end of the match of the pattern from p on with the text from s on, or NULL. */
static const char *match_here(struct matching *m, const char *s, const char *p)
{
    if (m->depth-- == 0)
        luaL_error(m->L, "pattern too complex");
    const char *found = match_rest(m, s, p);
    m->depth++;
    return found;
}

static void begin_matching(struct matching *m, lua_State *L, long *left, const char *text,
                           size_t text_len, const char *pattern, size_t pattern_len)
{
    m->L = L;
    m->left = left;
    m->text = text;
    m->text_end = text + text_len;
    m->pattern_end = pattern + pattern_len;
}

static const char *match_from(struct matching *m, const char *s, const char *p)
{
    m->level = 0;
    m->depth = DEPTH_MAX;
    return match_here(m, s, p);
}

/* --- results ---------------------------------------------------------------------------------- */

/* Without captures, the whole match is the first one. */
static void push_capture(struct matching *m, int n, const char *s, const char *end)
{
    if (n >= m->level && n != 0)
        luaL_error(m->L, "invalid capture index %%%d", n + 1);
    if (n >= m->level) {
        lua_pushlstring(m->L, s, (size_t)(end - s));
        return;
    }
    const struct capture *c = &m->captures[n];
    if (c->len == OPEN)
        luaL_error(m->L, "unfinished capture");
    if (c->len == POSITION)
        lua_pushinteger(m->L, c->at - m->text + 1);
    else
        lua_pushlstring(m->L, c->at, (size_t)c->len);
}

static int push_captures(struct matching *m, const char *s, const char *end)
{
    int count = m->level == 0 && s ? 1 : m->level;
    luaL_checkstack(m->L, count, "too many captures");
    for (int i = 0; i < count; i++)
        push_capture(m, i, s, end);
    return count;
}

/* --- find, match, gmatch ---------------------------------------------------------------------- */

static long *get_steps(lua_State *L, int upvalue)
{
    return lua_touserdata(L, lua_upvalueindex(upvalue));
}

/* Returns the offset that the optional argument names: from 1, or from -1 at the end. */
static size_t get_init(lua_State *L, int argument, size_t len)
{
    lua_Integer init = luaL_optinteger(L, argument, 1);
    if (init > 0)
        return (size_t)init - 1;
    return init == 0 || init < -(lua_Integer)len ? 0 : len + (size_t)init;
}

static int find_plain(lua_State *L, const char *text, size_t len, size_t init)
{
    size_t pattern_len;
    const char *pattern = lua_tolstring(L, 2, &pattern_len);
    const char *found = memmem(text + init, len - init, pattern, pattern_len);
    size_t seen = (found ? (size_t)(found - text) - init : len - init) + pattern_len;
    take_steps(L, get_steps(L, 1), 1 + (long)(seen / PLAIN_PER_STEP));
    if (!found) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushinteger(L, found - text + 1);
    lua_pushinteger(L, found - text + (lua_Integer)pattern_len);
    return 2;
}

static int find_pattern(lua_State *L, bool finds, const char *text, size_t len, size_t init)
{
    struct matching m;
    size_t pattern_len;
    const char *pattern = lua_tolstring(L, 2, &pattern_len), *end;
    bool anchored = *pattern == '^';
    begin_matching(&m, L, get_steps(L, 1), text, len, pattern, pattern_len);
    for (const char *s = text + init; s <= m.text_end; s++) {
        end = match_from(&m, s, pattern + anchored);
        if (end && !finds)
            return push_captures(&m, s, end);
        if (end) {
            lua_pushinteger(L, s - text + 1);
            lua_pushinteger(L, end - text);
            return push_captures(&m, NULL, NULL) + 2;
        }
        if (anchored)
            break;
    }
    lua_pushnil(L);
    return 1;
}

static bool has_special(const char *pattern, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (pattern[i] && strchr(SPECIAL, pattern[i]))
            return true;
    return false;
}

static int find_or_match(lua_State *L, bool finds)
{
    size_t len, pattern_len;
    const char *text = luaL_checklstring(L, 1, &len);
    const char *pattern = luaL_checklstring(L, 2, &pattern_len);
    size_t init = get_init(L, 3, len);
    if (init > len) {
        lua_pushnil(L);
        return 1;
    }
    if (finds && (lua_toboolean(L, 4) || !has_special(pattern, pattern_len)))
        return find_plain(L, text, len, init);
    return find_pattern(L, finds, text, len, init);
}

static int string_find(lua_State *L)
{
    return find_or_match(L, true);
}

static int string_match(lua_State *L)
{
    return find_or_match(L, false);
}

/* Upvalues: the steps, the text, the pattern, the next offset, and the end of the last match. An
 * empty match at the end of the last one does not count. */
static int next_match(lua_State *L)
{
    struct matching m;
    size_t len, pattern_len;
    const char *text = lua_tolstring(L, lua_upvalueindex(2), &len);
    const char *pattern = lua_tolstring(L, lua_upvalueindex(3), &pattern_len);
    lua_Integer from = lua_tointeger(L, lua_upvalueindex(4)),
                last = lua_tointeger(L, lua_upvalueindex(5));
    begin_matching(&m, L, get_steps(L, 1), text, len, pattern, pattern_len);
    for (; from <= (lua_Integer)len; from++) {
        const char *end = match_from(&m, text + from, pattern);
        if (!end || end - text == last)
            continue;
        lua_pushinteger(L, end - text);
        lua_copy(L, -1, lua_upvalueindex(4));
        lua_replace(L, lua_upvalueindex(5));
        return push_captures(&m, text + from, end);
    }
    return 0;
}

static int string_gmatch(lua_State *L)
{
    size_t len;
    luaL_checklstring(L, 1, &len);
    luaL_checkstring(L, 2);
    size_t init = get_init(L, 3, len);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_pushinteger(L, (lua_Integer)(init > len ? len + 1 : init));
    lua_pushinteger(L, -1);
    lua_pushcclosure(L, next_match, 5);
    return 1;
}

/* --- gsub ------------------------------------------------------------------------------------- */

static void add_replacement(struct matching *m, luaL_Buffer *b, const char *s, const char *end)
{
    size_t len;
    const char *by = lua_tolstring(m->L, 3, &len), *by_end = by + len;
    for (; by < by_end; by++) {
        if (*by != ESCAPE) {
            luaL_addchar(b, *by);
            continue;
        }
        if (++by < by_end && *by == ESCAPE)
            luaL_addchar(b, *by);
        else if (by < by_end && *by == '0')
            luaL_addlstring(b, s, (size_t)(end - s));
        else if (by < by_end && isdigit((unsigned char)*by)) {
            push_capture(m, *by - '1', s, end);
            luaL_tolstring(m->L, -1, NULL);
            lua_remove(m->L, -2);
            luaL_addvalue(b);
        } else {
            luaL_error(m->L, "invalid use of '%%' in replacement string");
        }
        take_steps(m->L, m->left, 1);
    }
}

static void add_match_result(struct matching *m, luaL_Buffer *b, const char *s, const char *end,
                             int type)
{
    lua_State *L = m->L;
    if (type != LUA_TFUNCTION && type != LUA_TTABLE) {
        add_replacement(m, b, s, end);
        return;
    }
    if (type == LUA_TFUNCTION) {
        lua_pushvalue(L, 3);
        lua_call(L, push_captures(m, s, end), 1);
    } else {
        push_capture(m, 0, s, end);
        lua_gettable(L, 3);
    }
    if (!lua_toboolean(L, -1)) {
        lua_pop(L, 1);
        luaL_addlstring(b, s, (size_t)(end - s));
    } else if (lua_isstring(L, -1)) {
        luaL_addvalue(b);
    } else {
        luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
    }
}

static int check_replacement(lua_State *L)
{
    int type = lua_type(L, 3);
    luaL_argexpected(L,
                     type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION ||
                         type == LUA_TTABLE,
                     3, "string/function/table");
    return type;
}

static int string_gsub(lua_State *L)
{
    struct matching m;
    luaL_Buffer b;
    size_t len, pattern_len;
    const char *text = luaL_checklstring(L, 1, &len), *s = text, *last = NULL;
    const char *pattern = luaL_checklstring(L, 2, &pattern_len);
    int type = check_replacement(L);
    lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)len + 1), count = 0;
    bool anchored = *pattern == '^';
    begin_matching(&m, L, get_steps(L, 1), text, len, pattern, pattern_len);
    luaL_buffinit(L, &b);
    while (count < most) {
        const char *end = match_from(&m, s, pattern + anchored);
        if (end && end != last) {
            count++;
            add_match_result(&m, &b, s, end, type);
            s = last = end;
        } else if (s < m.text_end) {
            luaL_addchar(&b, *s++);
        } else {
            break;
        }
        if (anchored)
            break;
    }
    luaL_addlstring(&b, s, (size_t)(m.text_end - s));
    luaL_pushresult(&b);
    lua_pushinteger(L, count);
    return 2;
}

void lua_pattern_open(lua_State *L, long *left)
{
    static const luaL_Reg functions[] = {{"find", string_find},
                                         {"match", string_match},
                                         {"gmatch", string_gmatch},
                                         {"gsub", string_gsub},
                                         {NULL, NULL}};
    lua_getglobal(L, "string");
    lua_pushlightuserdata(L, left);
    luaL_setfuncs(L, functions, 1);
    lua_pop(L, 1);
}
