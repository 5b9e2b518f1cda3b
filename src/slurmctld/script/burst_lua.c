/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmctld/script/burst_lua.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/lua_slurm.h"
#include "base/mem.h"
#include "base/str.h"
#include "slurmctld/script/scriptwire.h"

static const char *const functions[] = {
    "slurm_bb_job_process", "slurm_bb_pools",    "slurm_bb_job_teardown",
    "slurm_bb_setup",       "slurm_bb_data_in",  "slurm_bb_test_data_in",
    "slurm_bb_real_size",   "slurm_bb_paths",    "slurm_bb_pre_run",
    "slurm_bb_post_run",    "slurm_bb_data_out", "slurm_bb_test_data_out",
    "slurm_bb_get_status",
};

/* A Lua function that converts the JSON text returned by slurm_bb_pools to lines "NAME QUANTITY
   GRANULARITY". */
static const char pools_of_json[] =
    "local text, out = ..., {}\n"
    "for object in text:gmatch('{([^{}]*)}') do\n"
    "  local id = object:match('\"id\"%s*:%s*\"([^\"%s]+)\"')\n"
    "  local quantity = object:match('\"quantity\"%s*:%s*(%d+)')\n"
    "  local granularity = object:match('\"granularity\"%s*:%s*(%d+)') or '1'\n"
    "  if not id or not quantity then error('a pool without id or quantity: {' .. object .. '}', "
    "0) end\n"
    "  out[#out + 1] = id .. ' ' .. quantity .. ' ' .. granularity\n"
    "end\n"
    "return table.concat(out, '\\n')\n";

/* --- slurm.* -----------------------------------------------------------------------------------
 */

static int report_fd = -1; /* of this process, which makes one call only */

static int log_burst_message(lua_State *L)
{
    scriptwire_put_burst(report_fd, BURST_REPORT_LOG, lua_slurm_format(L));
    return 0;
}

static void put_slurm_table(lua_State *L)
{
    static const char *const logs[] = {"log_error",  "log_info",   "log_verbose", "log_debug",
                                       "log_debug2", "log_debug3", "log_debug4",  "error",
                                       "log_user",   "user_msg"};
    lua_newtable(L);
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        lua_pushcfunction(L, log_burst_message);
        lua_setfield(L, -2, logs[i]);
    }
    lua_slurm_put_results(L);
    lua_setglobal(L, "slurm");
}

/* --- the files of a call ---------------------------------------------------------------------- */

struct files {
    int script, paths; /* -1: none */
    char path[2][64];
};

/* Creates a file that programs started by the script can read, and that vanishes with this
   process. */
static int make_file(const char *name, char path[64])
{
    int fd = memfd_create(name, 0);
    snprintf(path, 64, "/proc/%d/fd/%d", (int)getpid(), fd);
    return fd;
}

static const char *find_info(const Pb__ScriptRun *m, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < m->n_info; i++)
        if (!strncmp(m->info[i], name, len) && m->info[i][len] == '=')
            return m->info[i] + len + 1;
    return "";
}

/* Replaces the symbols of Slurm's guide, in burst buffer lines only. */
static void put_symbols(const Pb__ScriptRun *m, const char *line, size_t len, struct str *out)
{
    static const struct {
        char symbol;
        const char *info, *otherwise;
    } symbols[] = {{'A', "array_job_id", "job_id"}, {'a', "array_task_id", NULL},
                   {'d', "work_dir", NULL},         {'j', "job_id", NULL},
                   {'u', "user_name", NULL},        {'x', "name", NULL}};
    for (size_t i = 0; i < len; i++) {
        size_t k = 0;
        if (i + 1 < len && line[i] == '\\' && line[i + 1] == '\\') {
            str_append(out, line + i + 2, len - i - 2);
            return;
        }
        if (line[i] != '%' || i + 1 == len) {
            str_putc(out, line[i]);
            continue;
        }
        while (k < sizeof symbols / sizeof symbols[0] && symbols[k].symbol != line[i + 1])
            k++;
        if (k < sizeof symbols / sizeof symbols[0]) {
            const char *value = find_info(m, symbols[k].info);
            str_puts(out,
                     *value || !symbols[k].otherwise ? value : find_info(m, symbols[k].otherwise));
            i++;
        } else {
            str_putc(out, '%');
            i += line[i + 1] == '%';
        }
    }
}

static bool is_directive(const Pb__ScriptRun *m, const char *line, size_t len)
{
    size_t word = m->directive ? strlen(m->directive) : 0;
    return word && len > word && line[0] == '#' && !strncmp(line + 1, m->directive, word);
}

static bool has_line(const char *text, size_t text_len, const char *line, size_t len)
{
    for (const char *at = text, *end = text + text_len; at < end;) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((eol ? eol : end) - at);
        if (n == len && !memcmp(at, line, len))
            return true;
        at += n + 1;
    }
    return false;
}

/* Adds lines of --bb, which are not in the script. */
static void put_other_lines(const Pb__ScriptRun *m, const char *text, size_t len, struct str *out)
{
    for (const char *at = m->lines ? m->lines : ""; *at;) {
        size_t n = strcspn(at, "\n");
        if (!has_line(text, len, at, n)) {
            put_symbols(m, at, n, out);
            str_putc(out, '\n');
        }
        at += n + (at[n] == '\n');
    }
}

static void format_script(const Pb__ScriptRun *m, struct str *out)
{
    const char *text = m->has_script ? (const char *)m->script.data : "#!/bin/sh\n";
    size_t len = m->has_script ? m->script.len : strlen(text);
    bool is_first = true;
    for (const char *at = text, *end = text + len; at < end; is_first = false) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((eol ? eol : end) - at);
        size_t bytes = n - (n && at[n - 1] == '\r');
        if (is_directive(m, at, n) && m->lines && !has_line(m->lines, strlen(m->lines), at, bytes))
            str_printf(out, "#EXCLUDED %.*s", (int)n - 1, at + 1); /* changed by scontrol */
        else if (is_directive(m, at, n))
            put_symbols(m, at, n, out);
        else
            str_append(out, at, n);
        str_putc(out, '\n');
        at += n + (eol != NULL);
        if (is_first)
            put_other_lines(m, text, len, out);
    }
}

static void make_files(const Pb__ScriptRun *m, struct files *f)
{
    f->script = f->paths = -1;
    if (strchr(m->args, 's')) {
        _cleanup_str_ struct str text = STR_INIT;
        format_script(m, &text);
        f->script = make_file("job_script", f->path[0]);
        for (size_t at = 0; f->script >= 0 && at < text.len;) {
            ssize_t n = write(f->script, text.data + at, text.len - at);
            if (n <= 0)
                break;
            at += (size_t)n;
        }
    }
    if (strchr(m->args, 'f'))
        f->paths = make_file("path_file", f->path[1]);
}

/* --- the call --------------------------------------------------------------------------------- */

/* Integers are passed as numbers, as in Slurm. */
static void push_info_value(lua_State *L, const char *value)
{
    long long number;
    if (str_parse_i64(value, INT64_MIN, INT64_MAX, &number) == 0)
        lua_pushinteger(L, number);
    else
        lua_pushstring(L, value);
}

static void push_info(lua_State *L, const Pb__ScriptRun *m)
{
    static const char *const texts[] = {"name", "account", "comment", "user_name", "qos"};
    lua_newtable(L);
    for (size_t i = 0; i < m->n_info; i++) {
        const char *equals = strchr(m->info[i], '=');
        bool is_text = false;
        lua_pushlstring(L, m->info[i], (size_t)(equals - m->info[i]));
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
            is_text = is_text || str_eq(lua_tostring(L, -1), texts[k]);
        if (is_text)
            lua_pushstring(L, equals + 1);
        else
            push_info_value(L, equals + 1);
        lua_settable(L, -3);
    }
    if (m->lines) {
        lua_pushstring(L, m->lines);
        lua_setfield(L, -2, "burst_buffer");
    }
}

static int push_args(lua_State *L, const Pb__ScriptRun *m, const struct files *f)
{
    size_t i = 0;
    for (; m->args[i]; i++) {
        const char *value = i < m->n_argv ? m->argv[i] : "";
        if (m->args[i] == 's')
            lua_pushstring(L, f->path[0]);
        else if (m->args[i] == 'f')
            lua_pushstring(L, f->path[1]);
        else if (m->args[i] == 'i')
            push_info(L, m);
        else if (strchr("jugz", m->args[i]))
            lua_pushinteger(L, (lua_Integer)strtoull(value, NULL, 10));
        else
            lua_pushstring(L, value);
    }
    return (int)i;
}

static char *parse_pools(lua_State *L, const char *text, bool *failed)
{
    if (luaL_loadstring(L, pools_of_json) == LUA_OK) {
        lua_pushstring(L, text);
        *failed = lua_pcall(L, 1, 1, 0) != LUA_OK;
    } else {
        *failed = true;
    }
    return mem_strdup(lua_slurm_error(L));
}

static lua_State *open_script(const char *path)
{
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    put_slurm_table(L);
    if (luaL_loadfile(L, path) == LUA_OK)
        (void)lua_pcall(L, 0, 0, 0);
    return L;
}

/* Returns the function's result, or the reason of its failure; NULL: none. */
static char *call_function(lua_State *L, const Pb__ScriptRun *m, struct files *f, bool *failed)
{
    *failed = true;
    if (lua_gettop(L) > 0)
        return mem_strdup(lua_slurm_error(L));
    if (!lua_slurm_push_function(L, m->function))
        return mem_printf("%s has no function %s", m->path, m->function);
    make_files(m, f);
    if (lua_pcall(L, push_args(L, m, f), 2, 0) != LUA_OK)
        return mem_strdup(lua_slurm_error(L));
    const char *text = lua_tostring(L, -1);
    *failed = !lua_isinteger(L, -2) || lua_tointeger(L, -2) != 0;
    if (!*failed && text && str_eq(m->function, "slurm_bb_pools"))
        return parse_pools(L, text, failed);
    return text ? mem_strdup(text) : NULL;
}

/* Closing the Lua state flushes files that the function has left open, so its variables are read
 * afterwards. */
int burst_lua_run(const Pb__ScriptRun *m, int report)
{
    struct files f = {.script = -1, .paths = -1};
    bool failed;
    report_fd = report;
    lua_State *L = open_script(m->path);
    _cleanup_free_ char *text = call_function(L, m, &f, &failed);
    lua_close(L);
    if (failed) {
        scriptwire_put_burst(report_fd, BURST_REPORT_ERROR, text && *text ? text : "it failed");
        return 1;
    }
    if (f.paths >= 0) {
        char variables[65536];
        ssize_t n = pread(f.paths, variables, sizeof variables - 1, 0);
        variables[n > 0 ? n : 0] = '\0';
        scriptwire_put_burst(report_fd, BURST_REPORT_OUTPUT, variables);
    } else if (text) {
        scriptwire_put_burst(report_fd, BURST_REPORT_OUTPUT, text);
    }
    return 0;
}

int burst_lua_check(const char *path, struct err *err)
{
    lua_State *L = open_script(path);
    int rc = lua_gettop(L) > 0 ? err_set(err, -ERR_CONFIG, "%s", lua_slurm_error(L)) : 0;
    for (size_t i = 0; rc == 0 && i < sizeof functions / sizeof functions[0]; i++) {
        if (lua_slurm_push_function(L, functions[i]))
            lua_pop(L, 1);
        else
            rc = err_set(err, -ERR_CONFIG, "%s: function %s is missing", path, functions[i]);
    }
    lua_close(L);
    return rc;
}
