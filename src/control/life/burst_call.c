/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of the site's burst_buffer.lua: their arguments, and the pools. */
#include <string.h>

#include "base/pb.h"
#include "control/core/facts.h"
#include "control/core/reply.h"
#include "control/internal.h"
#include "control/life/burst.h"
#include "control/life/split.h"

/* Period of reading the pools again while there are buffers. */
#define POOLS_EVERY_MS 30000
#define STATUS_MOST 16 /* maximum simultaneous calls of scontrol show bbstat */
#define STATUS_ARGS_MOST 64

bool burst_is_on(const struct control *c)
{
    return c->conf->burst.enabled && c->env->run;
}

/* --- arguments of a function --------------------------------------------------------------------
 */

struct texts {
    char **at;
    size_t count;
    struct arena *arena;
};

static void put_call_text(struct texts *t, const char *name, const char *value)
{
    if (value && *value)
        t->at[t->count++] = arena_printf(t->arena, "%s=%s", name, value);
}

static void put_call_number(struct texts *t, const char *name, long long value)
{
    t->at[t->count++] = arena_printf(t->arena, "%s=%lld", name, value);
}

#define INFO_MOST 40

/* Uses the field names of Slurm's Lua interface. */
static void put_request(struct texts *t, const struct control *c, const struct job *j,
                        const Pb__JobSpec *spec)
{
    put_call_number(t, "user_id", j->uid);
    put_call_number(t, "group_id", j->gid);
    put_call_text(t, "user_name", spec->user_name);
    put_call_text(t, "name", spec->name);
    put_call_text(t, "account", spec->account);
    put_call_text(t, "qos", spec->qos);
    put_call_text(t, "comment", spec->comment);
    put_call_text(t, "features", spec->features);
    put_call_text(t, "licenses", spec->licenses);
    put_call_text(t, "work_dir", spec->work_dir);
    put_call_text(t, "std_out", spec->std_out);
    put_call_text(t, "std_err", spec->std_err);
    put_call_text(t, "partition", j->part ? j->part->conf.name : j->part_name);
    put_call_number(t, "batch_flag", j->batch);
    put_call_number(t, "num_tasks", j->want.tasks);
    put_call_number(t, "cpus_per_task", j->want.cpus_per_task);
    put_call_number(t, "min_nodes", j->want.min_nodes);
    put_call_number(t, "time_limit", j->limit_sec == INT64_MAX ? UINT32_MAX : j->limit_sec / 60);
    put_call_text(t, "cluster", c->conf->cluster_name);
}

static void put_state(struct texts *t, const struct control *c, const struct job *j)
{
    const struct job *element = job_set_component(j, 0);
    put_call_number(t, "job_id", j->id);
    if (element && element->array) {
        put_call_number(t, "array_job_id", element->array->id);
        put_call_number(t, "array_task_id", element->task);
    }
    put_call_number(t, "restart_cnt", j->restarts);
    put_call_number(t, "priority", j->priority);
    put_call_number(t, "submit_time", j->submit_at);
    put_call_text(t, "burst_buffer_state", burst_state(j->burst));
    if (j->set) {
        put_call_number(t, "het_job_id", j->set->leader_id);
        put_call_number(t, "het_job_offset", j->set_offset);
    }
    if (!attempt_of(j)->alloc.len)
        return;
    _cleanup_str_ struct str nodes = STR_INIT;
    job_format_nodes(c->cluster, j, &nodes);
    put_call_text(t, "nodes", str_cstr(&nodes));
    put_call_text(t, "batch_host", c->cluster->nodes.data[job_host(j)->node]->name);
    put_call_number(t, "num_nodes", (long long)attempt_of(j)->alloc.len);
    put_call_number(t, "num_cpus", job_alloc_cpus(j));
    put_call_number(t, "start_time", attempt_of(j)->start_at);
    if (job_is_final(j)) {
        put_call_number(t, "end_time", attempt_of(j)->end_at);
        put_call_number(t, "exit_code", attempt_of(j)->exit_status);
    }
}

static Pb__ScriptRun *make_run(const struct control *c, enum _Pb__ScriptKind kind,
                               const char *function, const char *args, struct arena *arena)
{
    Pb__ScriptRun *m = arena_alloc(arena, sizeof(*m));
    pb__script_run__init(m);
    m->kind = kind;
    m->path = (char *)c->conf->burst.script;
    m->function = (char *)function;
    m->args = (char *)args;
    m->directive = (char *)c->conf->burst.directive;
    SET(m, limit_sec, c->conf->burst.other_timeout_sec);
    m->argv = arena_alloc(arena, sizeof(*m->argv) * (strlen(args) + 1));
    return m;
}

/* Formats the letters of burst.def; the path of a file, and the table, are created where the
 * function runs. */
static char *format_arg(char letter, const struct job *j, struct arena *arena)
{
    const struct job_burst *b = j->burst;
    switch (letter) {
    case 'j':
        return arena_printf(arena, "%u", j->id);
    case 'u':
        return arena_printf(arena, "%u", j->uid);
    case 'g':
        return arena_printf(arena, "%u", j->gid);
    case 'p':
        return b->pool ? b->pool : (char *)"";
    case 'z':
        return arena_printf(arena, "%llu", (unsigned long long)b->size);
    case 'h':
        return (char *)(b->hurry ? "true" : "false");
    default:
        return (char *)"";
    }
}

static void put_args(Pb__ScriptRun *m, const struct job *j, struct arena *arena)
{
    for (const char *letter = m->args; *letter; letter++)
        m->argv[m->n_argv++] = format_arg(*letter, j, arena);
}

static int64_t limit_sec(const struct control *c, enum burst_limit limit)
{
    const struct conf_burst *b = &c->conf->burst;
    return limit == BURST_LIMIT_IN    ? b->stage_in_timeout_sec
           : limit == BURST_LIMIT_OUT ? b->stage_out_timeout_sec
                                      : b->other_timeout_sec;
}

void burst_call(struct control *c, struct job *j)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const struct burst_row *row = &burst_rows[j->burst->phase];
    const Pb__JobSpec *spec = job_unpack_spec(j, &arena);
    Pb__ScriptRun *m = make_run(c, PB__SCRIPT_KIND__SCRIPT_BURST, row->function, row->args, &arena);
    struct texts info = {.at = arena_alloc(&arena, sizeof(char *) * INFO_MOST), .arena = &arena};
    m->job_id = j->id;
    m->restarts = j->burst->run = ++c->burst->runs;
    m->limit_sec = limit_sec(c, row->limit);
    if (spec) {
        put_request(&info, c, j, spec);
        m->lines = spec->burst_buffer;
    }
    put_state(&info, c, j);
    m->info = info.at;
    m->n_info = info.count;
    put_args(m, j, &arena);
    if (j->payload_bytes && strchr(row->args, 's'))
        SET(m, payload_job_id, split_payload_id(j));
    c->env->run(c->env->ctx, m);
}

void burst_stop_call(struct control *c, const struct job *j)
{
    Pb__ScriptRun m = PB__SCRIPT_RUN__INIT;
    m.kind = PB__SCRIPT_KIND__SCRIPT_BURST;
    m.job_id = j->id;
    m.restarts = j->burst->run;
    if (c->env->stop)
        c->env->stop(c->env->ctx, &m);
}

Pb__ScriptRun *burst_make_question(const struct control *c, const struct job *j,
                                   const Pb__JobSpec *spec, const ProtobufCBinaryData *script,
                                   struct arena *arena)
{
    Pb__ScriptRun *m =
        make_run(c, PB__SCRIPT_KIND__SCRIPT_BURST_ASK, "slurm_bb_job_process", "sugi", arena);
    struct texts info = {.at = arena_alloc(arena, sizeof(char *) * INFO_MOST), .arena = arena};
    put_request(&info, c, j, spec);
    m->info = info.at;
    m->n_info = info.count;
    m->lines = spec->burst_buffer;
    put_args(m, j, arena);
    if (script && script->len)
        SET(m, script, *script);
    m->limit_sec = c->conf->burst.validate_timeout_sec;
    return m;
}

/* --- pools -------------------------------------------------------------------------------------
 */

const struct burst_pool *burst_find_pool(const struct control *c, const char *name, size_t len)
{
    vec_foreach (&c->burst->pools, p)
        if (strlen(p->name) == len && !strncmp(p->name, name, len))
            return p;
    return NULL;
}

uint64_t burst_pool_used(const struct control *c, const char *name)
{
    uint64_t used = 0;
    vec_foreach (&c->burst->jobs, id) {
        const struct job *j = cluster_find_job(c->cluster, *id);
        if (j && burst_exists(j->burst) && str_eq(j->burst->pool, name))
            used += j->burst->size;
    }
    return used;
}

static void clear_pools(struct burst_desk *d)
{
    vec_foreach (&d->pools, p)
        free(p->name);
    vec_clear(&d->pools);
}

static void ask_pools(struct control *c)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    c->burst->pools_due_mono_ms = 0;
    if (!burst_is_on(c) || c->burst->pools_run)
        return;
    Pb__ScriptRun *m = make_run(c, PB__SCRIPT_KIND__SCRIPT_BURST_ASK, "slurm_bb_pools", "", &arena);
    m->restarts = c->burst->pools_run = ++c->burst->runs;
    c->env->run(c->env->ctx, m);
}

/* Parses "NAME QUANTITY GRANULARITY", one line per pool. */
static void read_pools(struct burst_desk *d, const char *text)
{
    clear_pools(d);
    while (text && *text) {
        size_t len = strcspn(text, " \n");
        struct burst_pool p = {.name = mem_strndup(text, len), .granularity = 1};
        const char *numbers = text + len;
        char *end;
        p.total = strtoull(numbers, &end, 10);
        p.granularity = strtoull(end, &end, 10);
        p.granularity = p.granularity ? p.granularity : 1;
        if (end > numbers && len)
            vec_push(&d->pools, p);
        else
            free(p.name);
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
}

static void take_pools(struct control *c, const Pb__ScriptEnded *m)
{
    struct burst_desk *d = c->burst;
    d->pools_run = 0;
    if (m->wait_status) {
        control_log(c, LOG_LVL_ERROR, "burst_buffer/lua: slurm_bb_pools: %s",
                    m->text ? m->text : "it failed");
    } else {
        read_pools(d, m->output);
        d->pools_known = true;
    }
    if (d->jobs.len || m->wait_status)
        d->pools_due_mono_ms = control_mono(c) + POOLS_EVERY_MS;
    burst_retry_waiting(c);
}

void burst_start_desk(struct control *c)
{
    if (!burst_is_on(c))
        return;
    c->burst->pools_due_mono_ms = control_mono(c);
}

void burst_tick(struct control *c)
{
    if (c->burst->pools_due_mono_ms && control_mono(c) >= c->burst->pools_due_mono_ms)
        ask_pools(c);
}

void burst_desk_done(struct burst_desk *d)
{
    clear_pools(d);
    vec_done(&d->pools);
    vec_done(&d->jobs);
    vec_done(&d->status);
}

/* --- for users ---------------------------------------------------------------------------------
 */

static bool may_see(const struct control *c, const struct caller *who, const struct job *j)
{
    bool is_private = c->conf->burst.flags & CONF_BURST_PRIVATE_DATA;
    return control_shows_job(c, who, j) && (!is_private || control_owns(who, j));
}

static void list_buffers(struct control *c, const struct caller *who, Pb__BurstList *list,
                         struct arena *arena)
{
    list->buffers = arena_alloc(arena, sizeof(*list->buffers) * (c->burst->jobs.len + 1));
    vec_foreach (&c->burst->jobs, id) {
        const struct job *j = cluster_find_job(c->cluster, *id);
        if (!j || !burst_exists(j->burst) || !may_see(c, who, j))
            continue;
        Pb__BurstBuffer *b = arena_alloc(arena, sizeof(*b));
        pb__burst_buffer__init(b);
        b->job_id = j->id;
        b->uid = j->uid;
        b->user = arena_strdup(arena, c->env->user_name(c->env->ctx, j->uid));
        b->pool = j->burst->pool;
        SET(b, size, j->burst->size);
        SET(b, create_at, j->burst->create_at);
        b->state = (char *)burst_state(j->burst);
        list->buffers[list->n_buffers++] = b;
    }
}

static void list_pools(struct control *c, Pb__BurstList *list, struct arena *arena)
{
    list->pools = arena_alloc(arena, sizeof(*list->pools) * (c->burst->pools.len + 1));
    vec_foreach (&c->burst->pools, p) {
        Pb__BurstPool *m = arena_alloc(arena, sizeof(*m));
        pb__burst_pool__init(m);
        m->name = p->name;
        m->granularity = p->granularity;
        m->total = p->total;
        m->used = burst_pool_used(c, p->name);
        list->pools[list->n_pools++] = m;
    }
}

void control_burst_list(struct control *c, uint64_t call, const struct caller *who,
                        const Pb__Empty *r)
{
    _cleanup_arena_ struct arena arena;
    _cleanup_str_ struct str flags = STR_INIT;
    arena_init(&arena, 0);
    const struct conf_burst *b = &c->conf->burst;
    Pb__BurstList list = PB__BURST_LIST__INIT;
    if (b->enabled) {
        list.plugin = (char *)"lua";
        conf_burst_format_flags(b, &flags);
        list.flags = (char *)str_cstr(&flags);
        list.allow_users = (char *)b->allow_users;
        list.deny_users = (char *)b->deny_users;
        SET(&list, stage_in_sec, b->stage_in_timeout_sec);
        SET(&list, stage_out_sec, b->stage_out_timeout_sec);
        SET(&list, validate_sec, b->validate_timeout_sec);
        SET(&list, other_sec, b->other_timeout_sec);
        list_pools(c, &list, &arena);
        list_buffers(c, who, &list, &arena);
    }
    c->env->reply(c->env->ctx, call, &list.base);
}

void control_burst_status(struct control *c, uint64_t call, const struct caller *who,
                          const Pb__BurstStatusRequest *r)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    if (!burst_is_on(c)) {
        Pb__TextReply empty = PB__TEXT_REPLY__INIT;
        empty.text = (char *)"";
        c->env->reply(c->env->ctx, call, &empty.base);
        return;
    }
    if (c->burst->status.len >= STATUS_MOST || r->n_args > STATUS_ARGS_MOST) {
        control_refuse_code(c, call, ERR_BACKOFF, NULL);
        return;
    }
    char letters[STATUS_ARGS_MOST + 3] = "ug";
    memset(letters + 2, 'p', r->n_args);
    letters[2 + r->n_args] = '\0';
    Pb__ScriptRun *m = make_run(c, PB__SCRIPT_KIND__SCRIPT_BURST_ASK, "slurm_bb_get_status",
                                arena_strdup(&arena, letters), &arena);
    m->argv[m->n_argv++] = arena_printf(&arena, "%u", who->uid);
    m->argv[m->n_argv++] = arena_printf(&arena, "%u", who->gid);
    for (size_t i = 0; i < r->n_args; i++)
        m->argv[m->n_argv++] = r->args[i];
    m->restarts = ++c->burst->runs;
    vec_push(&c->burst->status, ((struct burst_call){call, m->restarts}));
    c->env->run(c->env->ctx, m);
}

static void answer_status(struct control *c, size_t i, const Pb__ScriptEnded *m)
{
    uint64_t call = c->burst->status.data[i].call;
    vec_remove(&c->burst->status, i);
    struct err err = {0};
    if (m->wait_status) {
        err_set(&err, -ERR_GENERIC, "burst_buffer/lua: slurm_bb_get_status: %s",
                m->text ? m->text : "it failed");
        control_refuse(c, call, &err);
        return;
    }
    Pb__TextReply reply = PB__TEXT_REPLY__INIT;
    reply.text = m->output ? m->output : (char *)"";
    c->env->reply(c->env->ctx, call, &reply.base);
}

bool burst_call_gone(struct control *c, uint64_t call)
{
    for (size_t i = 0; i < c->burst->status.len; i++)
        if (c->burst->status.data[i].call == call) {
            vec_remove(&c->burst->status, i);
            return true;
        }
    return false;
}

void burst_ended(struct control *c, const Pb__ScriptEnded *m)
{
    if (m->kind == PB__SCRIPT_KIND__SCRIPT_BURST) {
        struct job *j = cluster_find_job(c->cluster, m->job_id);
        if (j && j->burst && j->burst->run == m->restarts)
            burst_call_ended(c, j, m);
        return;
    }
    if (c->burst->pools_run == m->restarts) {
        take_pools(c, m);
        return;
    }
    for (size_t i = 0; i < c->burst->status.len; i++)
        if (c->burst->status.data[i].run == m->restarts) {
            answer_status(c, i, m);
            return;
        }
}
