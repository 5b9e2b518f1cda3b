/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_filter/lua: calls slurm_cli_setup_defaults(), slurm_cli_pre_submit() and
 * slurm_cli_post_submit() of the site's cli_filter.lua. The script runs as the submitting user, in
 * the command's process, with all of Lua's libraries. This is a module, which is loaded if it is
 * configured. */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#include "base/lua_slurm.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/timefmt.h"
#include "launch/filter_plugin.h"

#define SCRIPT_MAX (1u << 20)
#define NAME "lua"

struct script {
    lua_State *L;
    const struct filter_site *site;
    struct filter_options *options; /* set during a call */
};

static struct script *script_of(lua_State *L)
{
    return *(struct script **)lua_getextraspace(L);
}

/* --- slurm.* -----------------------------------------------------------------------------------
 */

/* The upvalue is the log level. */
static int log_message(lua_State *L)
{
    const struct script *s = script_of(L);
    enum filter_level level = (enum filter_level)lua_tointeger(L, lua_upvalueindex(1));

    s->site->say(s->site->ctx, level, NAME, lua_slurm_format(L));
    return 0;
}

static int push_text(lua_State *L, struct str *text)
{
    lua_pushlstring(L, str_cstr(text), text->len);
    str_done(text);
    return 1;
}

static struct filter_options *options_of(lua_State *L)
{
    struct filter_options *o = script_of(L)->options;

    if (!o)
        luaL_error(L, "the options of an earlier question");
    return o;
}

static int format_options(lua_State *L)
{
    const struct filter_options *o = options_of(L);
    struct str text = STR_INIT;

    o->to_json(o, &text);
    return push_text(L, &text);
}

static int format_environment(lua_State *L)
{
    struct str text = STR_INIT;

    filter_put_environment(&text);
    return push_text(L, &text);
}

/* Stores a value of slurm_cli_pre_submit() for slurm_cli_post_submit(), by a number or a name. */
static int store_value(lua_State *L)
{
    luaL_checkany(L, 2);
    lua_settop(L, 2);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_settable(L, 1);
    return 0;
}

static int retrieve_value(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_settop(L, 1);
    lua_gettable(L, lua_upvalueindex(1));
    return 1;
}

static int parse_minutes(lua_State *L)
{
    int64_t sec;

    if (time_parse_limit(luaL_checkstring(L, 1), &sec, NULL) < 0)
        return luaL_error(L, "invalid time '%s'", lua_tostring(L, 1));
    lua_pushinteger(L, sec == TIME_UNLIMITED ? 0xffffffff : (sec + 59) / 60);
    return 1;
}

static void put_functions(lua_State *L)
{
    static const struct {
        const char *name;
        enum filter_level level;
    } logs[] = {{"log_error", FILTER_ERROR},   {"error", FILTER_ERROR},
                {"log_info", FILTER_INFO},     {"log_verbose", FILTER_VERBOSE},
                {"log_debug", FILTER_DEBUG},   {"log_debug2", FILTER_DEBUG2},
                {"log_debug3", FILTER_DEBUG3}, {"log_debug4", FILTER_DEBUG4},
                {"log_user", FILTER_PLAIN},    {"user_msg", FILTER_PLAIN}};
    static const luaL_Reg functions[] = {{"json_cli_options", format_options},
                                         {"json_env", format_environment},
                                         {"time_str2mins", parse_minutes},
                                         {NULL, NULL}};

    luaL_setfuncs(L, functions, 0);
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        lua_pushinteger(L, logs[i].level);
        lua_pushcclosure(L, log_message, 1);
        lua_setfield(L, -2, logs[i].name);
    }
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, store_value, 1);
    lua_setfield(L, -3, "cli_store");
    lua_pushcclosure(L, retrieve_value, 1);
    lua_setfield(L, -2, "cli_retrieve");
}

static void put_slurm_table(lua_State *L)
{
    static const struct {
        const char *name;
        lua_Integer value;
    } numbers[] = {{"NO_VAL8", 0xfe},
                   {"NO_VAL16", 0xfffe},
                   {"NO_VAL", FILTER_NO_STEP},
                   {"INFINITE", 0xffffffff}};

    lua_newtable(L);
    lua_slurm_put_results(L);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        lua_pushinteger(L, numbers[i].value);
        lua_setfield(L, -2, numbers[i].name);
    }
    lua_pushstring(L, script_of(L)->site->cluster);
    lua_setfield(L, -2, "CLUSTER_NAME");
    put_functions(L);
    lua_setglobal(L, "slurm");
}

/* --- the table of options ----------------------------------------------------------------------
 */

static void push_words(lua_State *L, const struct filter_options *o)
{
    lua_createtable(L, o->argc, 0);
    for (int i = 0; i < o->argc; i++) {
        lua_pushstring(L, o->argv[i]);
        lua_rawseti(L, -2, i + 1);
    }
}

/* nil: the option is unset, or the command has no such option. */
static int get_option(lua_State *L)
{
    const struct filter_options *o = options_of(L);
    const char *name = luaL_checkstring(L, 2);
    struct str value = STR_INIT;

    if (str_eq(name, "type")) {
        lua_pushstring(L, script_of(L)->site->program);
        return 1;
    }
    if (str_eq(name, "argv")) {
        push_words(L, o);
        return 1;
    }
    int rc = o->get(o, name, &value);
    if (rc > 0 || (rc == 0 && value.len))
        return push_text(L, &value);
    str_done(&value);
    return 0;
}

static int set_filter_lua_option(lua_State *L)
{
    struct filter_options *o = options_of(L);
    const char *name = luaL_checkstring(L, 2), *value = NULL;
    struct err err = {0};

    if (lua_type(L, 3) == LUA_TBOOLEAN)
        value = lua_toboolean(L, 3) ? "" : NULL;
    else if (!lua_isnil(L, 3))
        value = luaL_checkstring(L, 3);
    if (o->set(o, name, value, &err) < 0)
        return luaL_error(L, "%s", err.text);
    return 0;
}

static void push_options(lua_State *L)
{
    lua_newtable(L);
    lua_newtable(L);
    lua_pushcfunction(L, get_option);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, set_filter_lua_option);
    lua_setfield(L, -2, "__newindex");
    lua_setmetatable(L, -2);
}

/* --- the script --------------------------------------------------------------------------------
 */

static int load_text(struct script *s, struct err *err)
{
    static const char *const hooks[] = {"slurm_cli_setup_defaults", "slurm_cli_pre_submit",
                                        "slurm_cli_post_submit"};
    _cleanup_str_ struct str text = STR_INIT;
    const char *path = s->site->script_path;
    lua_State *L = s->L;
    bool has_hook = false;
    int rc = path_read_file(path, SCRIPT_MAX, &text, err);

    if (rc < 0)
        return rc;
    luaL_openlibs(L);
    put_slurm_table(L);
    _cleanup_free_ char *name = mem_printf("@%s", path);
    if (luaL_loadbufferx(L, str_cstr(&text), text.len, name, "t") != LUA_OK ||
        lua_pcall(L, 0, 0, 0) != LUA_OK)
        return err_set(err, -ERR_CONFIG, "%s", lua_slurm_error(L));
    for (size_t i = 0; i < sizeof hooks / sizeof hooks[0]; i++)
        has_hook = lua_slurm_push_function(L, hooks[i]) || has_hook;
    lua_settop(L, 0);
    return has_hook ? 0
                    : err_set(err, -ERR_CONFIG, "%s: it has none of the functions %s(), %s(), %s()",
                              path, hooks[0], hooks[1], hooks[2]);
}

static void close_script(void *state)
{
    struct script *s = state;

    lua_close(s->L);
    free(s);
}

static int open_script(const struct filter_site *site, void **state, struct err *err)
{
    struct script *s = mem_new(struct script);

    s->site = site;
    s->L = luaL_newstate();
    if (!s->L) {
        free(s);
        return err_set(err, -ERR_CONFIG, "%s: the interpreter cannot be made", site->script_path);
    }
    *(struct script **)lua_getextraspace(s->L) = s;
    int rc = load_text(s, err);
    if (rc == 0)
        *state = s;
    else
        close_script(s);
    return rc;
}

/* Calls a hook; the hook and its 'count' arguments are on the stack. */
static int call_hook(struct script *s, const char *hook, int count, struct err *err)
{
    lua_State *L = s->L;
    int is_number, rc = 0;
    lua_Integer result;

    if (lua_pcall(L, count, 1, 0) != LUA_OK)
        rc = err_set(err, -ERR_GENERIC, "%s", lua_slurm_error(L));
    else if (result = lua_tointegerx(L, -1, &is_number), !is_number)
        rc = err_set(err, -ERR_GENERIC, "%s: %s() returns no number, as slurm.SUCCESS is",
                     s->site->script_path, hook);
    else if (result != 0)
        rc = -ERR_GENERIC; /* the script has reported the reason */
    lua_settop(L, 0);
    return rc;
}

static int set_defaults(void *state, struct filter_options *o, bool early, struct err *err)
{
    static const char hook[] = "slurm_cli_setup_defaults";
    struct script *s = state;

    if (!lua_slurm_push_function(s->L, hook))
        return 0;
    s->options = o;
    push_options(s->L);
    lua_pushboolean(s->L, early);
    int rc = call_hook(s, hook, 2, err);
    s->options = NULL;
    return rc;
}

static int before_submit(void *state, struct filter_options *o, struct err *err)
{
    static const char hook[] = "slurm_cli_pre_submit";
    struct script *s = state;

    if (!lua_slurm_push_function(s->L, hook))
        return 0;
    s->options = o;
    push_options(s->L);
    lua_pushinteger(s->L, o->component);
    int rc = call_hook(s, hook, 2, err);
    s->options = NULL;
    return rc;
}

static int after_submit(void *state, uint32_t component, uint32_t job_id, uint32_t step_id,
                        struct err *err)
{
    static const char hook[] = "slurm_cli_post_submit";
    struct script *s = state;

    if (!lua_slurm_push_function(s->L, hook))
        return 0;
    lua_pushinteger(s->L, component);
    lua_pushinteger(s->L, job_id);
    lua_pushinteger(s->L, step_id);
    int rc = call_hook(s, hook, 3, err);
    return rc < 0 && *err->text ? rc : 0; /* the job exists, whatever the function returns */
}

__attribute__((visibility("default"))) const struct filter_plugin sluice_cli_filter_lua = {
    .name = NAME,
    .open = open_script,
    .close = close_script,
    .set_defaults = set_defaults,
    .before_submit = before_submit,
    .after_submit = after_submit,
};
