/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_ROOM "job_submit/lua"
#include "slurmctld/submit/lua_submit.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/lua_slurm.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "slurmctld/submit/job_desc.h"
#include "slurmctld/submit/lua_bounds.h"
#include "slurmctld/submit/lua_pattern.h"

#define SCRIPT_MAX (1u << 20)
#define MESSAGE_MAX 4096
#define HOOK_STEPS 200 /* instructions of a coroutine that may escape the count */
#define MESSAGE_STEPS 100
#define BYTES_PER_STEP 64 /* that are allocated, and usually copied */

struct lua_submit {
    lua_State *L;
    char *path;
    struct str text; /* of the file */
    struct stat seen;
    size_t used;
    size_t refused;     /* the last allocation, if it was refused: Lua collects garbage, then it
                         * tries the same again; otherwise 0 */
    bool out_of_memory; /* one was refused for good */
    long steps_left;
    struct env_submit *ask; /* the present call; NULL: none */
};

static struct lua_submit *state_of(lua_State *L)
{
    return *(struct lua_submit **)lua_getextraspace(L);
}

static void limit_steps(lua_State *L, lua_Debug *debug);

/* Building a long text piece by piece takes few instructions, and copies it for each piece. The
 * allocator may not raise an error: the next instruction does. */
static void count_allocated(struct lua_submit *l, size_t size)
{
    l->steps_left -= (long)(size / BYTES_PER_STEP);
    if (l->L && l->steps_left <= 0)
        lua_sethook(l->L, limit_steps, LUA_MASKCOUNT, 1);
}

static void *allocate_for_lua(void *ctx, void *old, size_t old_size, size_t size)
{
    struct lua_submit *l = ctx;
    size_t before = old ? old_size : 0;

    if (size == 0) {
        free(old);
        l->used -= before;
        return NULL;
    }
    if (size > before) {
        l->out_of_memory |= l->refused && l->refused != size;
        l->refused = l->used + (size - before) > LUA_SUBMIT_MEMORY ? size : 0;
        if (l->refused)
            return NULL;
        count_allocated(l, size);
    }
    void *p = realloc(old, size);
    if (p)
        l->used += size - before;
    return p;
}

static void limit_steps(lua_State *L, lua_Debug *debug)
{
    struct lua_submit *l = state_of(L);

    l->steps_left -= HOOK_STEPS;
    /* From now on raised at each step, so that pcall() cannot continue. */
    if (l->steps_left <= 0) {
        lua_sethook(L, limit_steps, LUA_MASKCOUNT, 1);
        lua_sethook(l->L, limit_steps, LUA_MASKCOUNT, 1);
        luaL_error(L, "it takes too long: more than %d instructions, comparisons and copied memory",
                   LUA_SUBMIT_STEPS);
    }
}

/* --- slurm.*: messages of the script ---------------------------------------------------------- */

#define LOG(name, level)                                                                           \
    static int say_##name(lua_State *L)                                                            \
    {                                                                                              \
        state_of(L)->steps_left -= MESSAGE_STEPS;                                                  \
        log_write(level, LOG_ROOM, "%s", lua_slurm_format(L));                                     \
        return 0;                                                                                  \
    }
LOG(error, LOG_LVL_ERROR)
LOG(info, LOG_LVL_INFO)
LOG(verbose, LOG_LVL_VERBOSE)
LOG(debug, LOG_LVL_DEBUG)
LOG(debug2, LOG_LVL_DEBUG2)

static int log_for_user(lua_State *L)
{
    struct env_submit *ask = state_of(L)->ask;
    const char *text = lua_slurm_format(L);
    size_t len = strlen(text);

    state_of(L)->steps_left -= MESSAGE_STEPS;
    if (ask && ask->message->len + len + 1 < MESSAGE_MAX) {
        if (ask->message->len)
            str_putc(ask->message, '\n');
        str_append(ask->message, text, len);
    }
    return 0;
}

static const luaL_Reg functions[] = {
    {"log_error", say_error},
    {"log_info", say_info},
    {"log_verbose", say_verbose},
    {"log_debug", say_debug},
    {"log_debug2", say_debug2},
    {"log_debug3", say_debug2},
    {"log_debug4", say_debug2},
    {"error", say_error},
    {"log_user", log_for_user},
    {"user_msg", log_for_user},
    {NULL, NULL},
};

static const struct {
    const char *name;
    double value;
} constants[] = {
    {"NO_VAL", JOB_DESC_NO_VAL},
    {"NO_VAL16", JOB_DESC_NO_VAL16},
    {"NO_VAL8", 0xfe},
    {"NO_VAL64", JOB_DESC_NO_VAL64},
    {"INFINITE", JOB_DESC_INFINITE},
    {"INFINITE64", JOB_DESC_NO_VAL64},
    {"NICE_OFFSET", JOB_DESC_NICE_OFFSET},
    {"MEM_PER_CPU", JOB_DESC_MEM_PER_CPU},
    {"ESLURM_ACCESS_DENIED", ERR_ACCESS},
    {"ESLURM_ACCOUNTING_POLICY", 2050},
    {"ESLURM_INVALID_ACCOUNT", 2045},
    {"ESLURM_INVALID_LICENSES", 2048},
    {"ESLURM_INVALID_PARTITION_NAME", ERR_NO_PARTITION},
    {"ESLURM_INVALID_TIME_LIMIT", ERR_TIME_LIMIT},
    {"ESLURM_JOB_MISSING_SIZE_SPECIFICATION", ERR_NODE_COUNT},
    {"ESLURM_MISSING_TIME_LIMIT", ERR_TIME_LIMIT},
    {"ESLURM_NODES_BUSY", ERR_NODES_BUSY},
    {"ESLURM_NOT_SUPPORTED", ERR_NOT_SUPPORTED},
};

/* --- job_desc --------------------------------------------------------------------------------- */

static void push_value(lua_State *L, const struct job_desc_value *v)
{
    if (v->is_text && v->text)
        lua_pushstring(L, v->text);
    else if (v->is_text)
        lua_pushnil(L);
    else if (v->number < 9e15)
        lua_pushinteger(L, (lua_Integer)v->number);
    else
        lua_pushnumber(L, v->number);
}

static int push_environment(lua_State *L, const struct env_submit *ask)
{
    if (!ask->payload || !ask->payload->n_env)
        return 0;
    lua_newtable(L);
    for (size_t i = 0; i < ask->payload->n_env; i++) {
        const char *entry = ask->payload->env[i], *equals = strchr(entry, '=');
        if (!equals)
            continue;
        lua_pushlstring(L, entry, (size_t)(equals - entry));
        lua_pushstring(L, equals + 1);
        lua_settable(L, -3);
    }
    return 1;
}

/* The upvalue selects the job: the present one, or the requested one. */
static int get_field(lua_State *L)
{
    const struct env_submit *ask = state_of(L)->ask;
    bool present = lua_toboolean(L, lua_upvalueindex(1));
    const char *name = luaL_checkstring(L, 2);
    struct job_desc_value v;

    if (!ask)
        return luaL_error(L, "the job of an earlier question");
    if (strcmp(name, "job_id") == 0) {
        lua_pushinteger(L, ask->job_id);
        return 1;
    }
    if (!present && strcmp(name, "script") == 0 && ask->payload && ask->payload->has_script) {
        lua_pushlstring(L, (const char *)ask->payload->script.data, ask->payload->script.len);
        return 1;
    }
    if (!present && strcmp(name, "environment") == 0)
        return push_environment(L, ask);
    if (job_desc_get(present ? ask->before : ask->spec, name, &v) != 0)
        return 0; /* nil, as in Slurm */
    push_value(L, &v);
    return 1;
}

static int set_field(lua_State *L)
{
    const struct env_submit *ask = state_of(L)->ask;
    const char *name = luaL_checkstring(L, 2);
    struct job_desc_value v = {.is_text = lua_type(L, 3) != LUA_TNUMBER};
    struct err err = {0};

    if (!ask)
        return luaL_error(L, "the job of an earlier question");
    if (lua_type(L, 3) == LUA_TBOOLEAN)
        v = (struct job_desc_value){.number = lua_toboolean(L, 3)};
    else if (v.is_text)
        v.text = lua_isnil(L, 3) ? NULL : luaL_checkstring(L, 3);
    else
        v.number = lua_tonumber(L, 3);
    if (job_desc_set(ask->spec, name, &v, ask->arena, &err) != 0)
        return luaL_error(L, "%s", err.text);
    return 0;
}

static int refuse_field(lua_State *L)
{
    return luaL_error(L, "the job as it is can be read only");
}

static void push_desc(lua_State *L, bool present)
{
    lua_newtable(L);
    lua_newtable(L);
    lua_pushboolean(L, present);
    lua_pushcclosure(L, get_field, 1);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, present ? refuse_field : set_field);
    lua_setfield(L, -2, "__newindex");
    lua_setmetatable(L, -2);
}

static void put_lua_text(lua_State *L, const char *name, const char *text)
{
    lua_pushstring(L, text ? text : "");
    lua_setfield(L, -2, name);
}

static void put_lua_number(lua_State *L, const char *name, int64_t number)
{
    lua_pushinteger(L, number);
    lua_setfield(L, -2, name);
}

static int64_t to_minutes(int64_t sec)
{
    return sec == INT64_MAX ? JOB_DESC_INFINITE : sec < 0 ? JOB_DESC_NO_VAL : sec / 60;
}

static void push_parts(lua_State *L, const struct env_submit *ask)
{
    lua_newtable(L);
    for (size_t i = 0; i < ask->n_parts; i++) {
        const struct env_part *p = &ask->parts[i];
        lua_newtable(L);
        put_lua_text(L, "name", p->name);
        put_lua_text(L, "nodes", p->nodes);
        put_lua_number(L, "flag_default", p->is_default);
        put_lua_number(L, "state_up", p->is_up);
        put_lua_number(L, "priority_tier", p->priority_tier);
        put_lua_number(L, "priority_job_factor", p->priority_job_factor);
        put_lua_number(L, "max_time", to_minutes(p->max_time_sec));
        put_lua_number(L, "default_time", to_minutes(p->default_time_sec));
        put_lua_number(L, "max_nodes", p->max_nodes);
        put_lua_number(L, "min_nodes", p->min_nodes);
        lua_setfield(L, -2, p->name);
    }
}

/* --- the script ------------------------------------------------------------------------------- */

static void open_libraries(lua_State *L)
{
    static const luaL_Reg libraries[] = {
        {LUA_GNAME, luaopen_base},       {LUA_COLIBNAME, luaopen_coroutine},
        {LUA_TABLIBNAME, luaopen_table}, {LUA_STRLIBNAME, luaopen_string},
        {LUA_MATHLIBNAME, luaopen_math}, {LUA_UTF8LIBNAME, luaopen_utf8},
        {LUA_OSLIBNAME, luaopen_os},
    };
    static const char *const denied[] = {"dofile", "loadfile", "collectgarbage", "print"};
    static const char *const denied_os[] = {"execute", "exit",    "getenv",   "remove",
                                            "rename",  "tmpname", "setlocale"};

    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        luaL_requiref(L, libraries[i].name, libraries[i].func, 1);
        lua_pop(L, 1);
    }
    for (size_t i = 0; i < sizeof denied / sizeof denied[0]; i++) {
        lua_pushnil(L);
        lua_setglobal(L, denied[i]);
    }
    lua_getglobal(L, LUA_OSLIBNAME);
    for (size_t i = 0; i < sizeof denied_os / sizeof denied_os[0]; i++) {
        lua_pushnil(L);
        lua_setfield(L, -2, denied_os[i]);
    }
    lua_pop(L, 1);
}

static int prepare_lua(lua_State *L)
{
    open_libraries(L);
    lua_pattern_open(L, &state_of(L)->steps_left);
    lua_bounds_open(L, &state_of(L)->steps_left);
    luaL_newlib(L, functions);
    lua_slurm_put_results(L);
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++) {
        if (constants[i].value < 9e15)
            lua_pushinteger(L, (lua_Integer)constants[i].value);
        else
            lua_pushnumber(L, constants[i].value);
        lua_setfield(L, -2, constants[i].name);
    }
    lua_setglobal(L, "slurm");
    return 0;
}

static void begin_ask(struct lua_submit *l, struct env_submit *ask)
{
    l->ask = ask;
    l->steps_left = LUA_SUBMIT_STEPS;
    l->out_of_memory = false;
    l->refused = 0;
    lua_sethook(l->L, limit_steps, LUA_MASKCOUNT, HOOK_STEPS);
}

/* In protected mode: the script may have left no memory for the name of the function. */
static int find_hook(lua_State *L)
{
    lua_pushboolean(L, lua_slurm_push_function(L, "slurm_job_submit"));
    return 1;
}

static int read_script(struct lua_submit *l, struct err *err)
{
    struct stat st;
    int rc = path_check_regular(l->path, &st, err);

    lua_submit_seen(l);
    return rc == 0 ? path_read_file(l->path, SCRIPT_MAX, &l->text, err) : rc;
}

static int load_script(struct lua_submit *l, struct err *err)
{
    lua_State *L = l->L = lua_newstate(allocate_for_lua, l);

    if (!L)
        return err_set(err, -ERR_CONFIG, "%s: the interpreter cannot be made", l->path);
    *(struct lua_submit **)lua_getextraspace(L) = l;
    lua_pushcfunction(L, prepare_lua);
    if (lua_pcall(L, 0, 0, 0) != LUA_OK)
        return err_set(err, -ERR_CONFIG, "%s: %s", l->path, lua_slurm_error(L));
    _cleanup_free_ char *name = mem_printf("@%s", l->path);
    begin_ask(l, NULL);
    /* Bytecode is refused, because it could break the interpreter. */
    if (luaL_loadbufferx(L, str_cstr(&l->text), l->text.len, name, "t") != LUA_OK ||
        lua_pcall(L, 0, 0, 0) != LUA_OK)
        return err_set(err, -ERR_CONFIG, "%s", lua_slurm_error(L));
    lua_settop(L, 0);
    lua_pushcfunction(L, find_hook);
    if (lua_pcall(L, 0, 1, 0) != LUA_OK || !lua_toboolean(L, -1))
        return err_set(err, -ERR_CONFIG, "%s: it has no function slurm_job_submit()", l->path);
    lua_settop(L, 0);
    return 0;
}

struct lua_submit *lua_submit_open(const char *path, struct err *err)
{
    struct lua_submit *l = mem_new(struct lua_submit);

    l->path = mem_strdup(path);
    if (read_script(l, err) == 0 && load_script(l, err) == 0)
        return l;
    lua_submit_close(l);
    return NULL;
}

/* The same version of the file, without what the script has kept. Returns NULL if that fails. */
static struct lua_submit *open_again(const struct lua_submit *l)
{
    struct lua_submit *next = mem_new(struct lua_submit);
    struct err err = {0};

    next->path = mem_strdup(l->path);
    next->seen = l->seen;
    str_append(&next->text, str_cstr(&l->text), l->text.len);
    if (load_script(next, &err) == 0)
        return next;
    lua_submit_close(next);
    return NULL;
}

void lua_submit_close(struct lua_submit *l)
{
    if (!l)
        return;
    if (l->L)
        lua_close(l->L);
    str_done(&l->text);
    free(l->path);
    free(l);
}

bool lua_submit_is_stale(const struct lua_submit *l)
{
    struct stat now;

    if (stat(l->path, &now) != 0)
        return false; /* the last usable version stays in force */
    return now.st_ino != l->seen.st_ino || now.st_size != l->seen.st_size ||
           now.st_mtim.tv_sec != l->seen.st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != l->seen.st_mtim.tv_nsec;
}

void lua_submit_seen(struct lua_submit *l)
{
    if (stat(l->path, &l->seen) != 0)
        memset(&l->seen, 0, sizeof l->seen);
}

/* In protected mode: the arguments may not fit in the script's memory. */
static int call_hook(lua_State *L)
{
    struct lua_submit *l = state_of(L);
    const struct env_submit *ask = l->ask;

    if (!lua_slurm_push_global(L, ask->before ? "slurm_job_modify" : "slurm_job_submit")) {
        if (l->steps_left <= 0) /* the check of its global variables did not end */
            return luaL_error(L, "it takes too long");
        lua_pushinteger(L, 0);
        return 1;
    }
    push_desc(L, false);
    if (ask->before)
        push_desc(L, true);
    push_parts(L, ask);
    lua_pushinteger(L, ask->uid);
    lua_call(L, ask->before ? 4 : 3, 1);
    return 1;
}

static int refuse_ask(struct env_submit *ask, lua_Integer code, struct err *err)
{
    int own = code > 0 && code < 100000 ? (int)code : ERR_GENERIC;

    return err_set(err, -own, "%s", ask->message->len ? str_cstr(ask->message) : err_text(own));
}

static int ask_once(struct lua_submit *l, struct env_submit *ask, struct str *fault,
                    struct err *err)
{
    lua_State *L = l->L;
    int is_number = 0, rc = 0;

    begin_ask(l, ask);
    lua_pushcfunction(L, call_hook);
    bool fails = lua_pcall(L, 0, 1, 0) != LUA_OK;
    lua_Integer code = fails ? -1 : lua_tointegerx(L, -1, &is_number);
    if (fails)
        str_printf(fault, "%s", lua_slurm_error(L));
    else if (!is_number)
        str_printf(fault, "%s: slurm_job_%s() returns no number, as slurm.SUCCESS is", l->path,
                   ask->before ? "modify" : "submit");
    if (fault->len)
        rc = err_set(err, -ERR_GENERIC, "job_submit/lua: %s", str_cstr(fault));
    else if (code != 0)
        rc = refuse_ask(ask, code, err);
    l->out_of_memory |= l->refused != 0;
    l->ask = NULL;
    lua_settop(L, 0);
    return rc;
}

int lua_submit_ask(struct lua_submit **l, struct env_submit *ask, struct str *fault,
                   struct err *err)
{
    const Pb__JobSpec spec = *ask->spec;
    size_t said = ask->message->len;
    int rc = ask_once(*l, ask, fault, err);

    if (!(*l)->out_of_memory)
        return rc;
    struct lua_submit *next = open_again(*l);
    if (!next)
        return rc;
    *ask->spec = spec;
    ask->message->len = said;
    if (ask->message->data)
        ask->message->data[said] = '\0';
    str_clear(fault);
    *err = (struct err){0};
    rc = ask_once(next, ask, fault, err);
    if (next->out_of_memory) { /* the request needs it, and not what the script kept */
        lua_submit_close(next);
        return rc;
    }
    log_info("%s: its memory was used up: read again, without what it kept", (*l)->path);
    lua_submit_close(*l);
    *l = next;
    return rc;
}
