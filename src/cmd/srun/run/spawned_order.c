/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Converts the order for a spawned step to options. Pure. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/str.h"
#include "cmd/srun/run/run.h"
#include "cmd/srun/run/spawned.h"

#define SCRIPT_MAX 131071 /* maximum bytes that the kernel accepts as one operand */
#define PATIENCE_SEC 5    /* wait for CPUs that other steps of the job hold */

static const char *info_of(const Pb__SpawnCommand *c, const char *key)
{
    for (size_t i = 0; i < c->n_info; i++)
        if (!strcmp(c->info[i]->key, key) && *c->info[i]->value)
            return c->info[i]->value;
    return NULL;
}

static const char *hosts_of(const Pb__SpawnCommand *c)
{
    const char *host = info_of(c, "host");

    return host ? host : info_of(c, "hosts");
}

static uint32_t count_spawned_tasks(const Pb__Spawn *m)
{
    uint32_t tasks = 0;

    for (size_t i = 0; i < m->n_command; i++)
        tasks += m->command[i]->tasks;
    return tasks;
}

/* At most as many nodes as tasks, so that no node is without a task. */
static int put_nodes(const Pb__SpawnCommand *c, struct hostlist *list, struct arena *arena,
                     Pb__StepSpec *spec)
{
    size_t count = hostlist_count(list) < c->tasks ? hostlist_count(list) : c->tasks;
    _cleanup_str_ struct str names = STR_INIT;
    char name[HOSTLIST_NAME_MAX + 1];

    for (size_t i = 0; i < count; i++)
        str_printf(&names, "%s%s", i ? "," : "", hostlist_nth(list, i, name));
    spec->nodes = arena_strdup(arena, str_cstr(&names));
    spec->has_min_nodes = spec->has_max_nodes = 1;
    spec->min_nodes = spec->max_nodes = (uint32_t)count;
    return 0;
}

static int read_hosts(const char *text, struct hostlist **list, struct err *err)
{
    if (hostlist_parse(text, list, err) < 0)
        return err_prefix(err, "info key host");
    return hostlist_count(*list) ? 0 : err_set(err, -ERR_PARSE, "info key host: no host in it");
}

/* Several commands with host lists of their own: each task gets a node, in round-robin order. */
static int put_each(const Pb__Spawn *m, struct arena *arena, Pb__StepSpec *spec, struct err *err)
{
    _cleanup_str_ struct str names = STR_INIT;
    char name[HOSTLIST_NAME_MAX + 1];

    for (size_t i = 0; i < m->n_command; i++) {
        const Pb__SpawnCommand *c = m->command[i];
        _cleanup_hostlist_ struct hostlist *list = NULL;

        if (!hosts_of(c))
            return err_set(err, -ERR_PARSE,
                           "info key host: for some commands of a spawn it is given, for others "
                           "not; give it for all or for none");
        if (read_hosts(hosts_of(c), &list, err) < 0)
            return err->code;
        for (uint32_t t = 0; t < c->tasks; t++)
            str_printf(&names, "%s%s", names.len ? "," : "",
                       hostlist_nth(list, t % hostlist_count(list), name));
    }
    spec->nodes = arena_strdup(arena, str_cstr(&names));
    spec->distribution = (char *)"arbitrary";
    return 0;
}

static int put_hosts(const Pb__Spawn *m, struct arena *arena, Pb__StepSpec *spec, struct err *err)
{
    _cleanup_hostlist_ struct hostlist *list = NULL;
    bool any = false;

    for (size_t i = 0; i < m->n_command; i++)
        any |= hosts_of(m->command[i]) != NULL;
    if (!any)
        return 0;
    if (m->n_command > 1)
        return put_each(m, arena, spec, err);
    if (read_hosts(hosts_of(m->command[0]), &list, err) < 0)
        return err->code;
    return put_nodes(m->command[0], list, arena, spec);
}

int spawned_fill_step(const Pb__SpawnOrder *order, struct arena *arena, Pb__StepSpec *spec,
                      struct err *err)
{
    Pb__StepSpec s = PB__STEP_SPEC__INIT;
    const char *program = order->spawn->command[0]->argv[0], *slash = strrchr(program, '/');

    s.has_job_id = s.has_num_tasks = s.has_exact = s.exact = s.has_spawned_by = 1;
    s.job_id = order->job_id;
    s.has_restarts = order->has_restarts;
    s.restarts = order->restarts;
    s.spawned_by = order->step_id;
    s.num_tasks = count_spawned_tasks(order->spawn);
    s.name = (char *)(slash && slash[1] ? slash + 1 : program);
    s.host = spec->host;
    s.has_srun_pid = spec->has_srun_pid;
    s.srun_pid = spec->srun_pid;
    s.submit_line = spec->submit_line;
    s.has_request_id = spec->has_request_id;
    s.request_id = spec->request_id;
    s.has_overlap = spec->has_overlap;
    s.overlap = spec->overlap;
    s.has_overcommit = spec->has_overcommit;
    s.overcommit = spec->overcommit;
    s.exc_nodes = spec->exc_nodes;
    s.has_time_limit_sec = spec->has_time_limit_sec;
    s.time_limit_sec = spec->time_limit_sec;
    s.has_mem_per_cpu_mib = spec->has_mem_per_cpu_mib;
    s.mem_per_cpu_mib = spec->mem_per_cpu_mib;
    if (put_hosts(order->spawn, arena, &s, err) < 0)
        return err->code;
    *spec = s;
    return 0;
}

/* --- the program ------------------------------------------------------------------------------ */

static bool is_variable(const char *text)
{
    size_t len = strcspn(text, "=");

    if (!len || text[len] != '=' || isdigit((unsigned char)*text))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_')
            return false;
    return true;
}

static int put_command(const Pb__SpawnCommand *c, struct str *out, struct err *err)
{
    const char *dir = info_of(c, "wdir"), *path = info_of(c, "path");

    if (dir) {
        str_puts(out, "cd -- ");
        str_put_quoted(out, dir);
        str_puts(out, " || exit\n");
    }
    for (size_t i = 0; i < c->n_env; i++) {
        if (!is_variable(c->env[i]))
            return err_set(err, -ERR_PARSE, "invalid environment variable '%.40s'", c->env[i]);
        str_puts(out, "export ");
        str_put_quoted(out, c->env[i]);
        str_putc(out, '\n');
    }
    if (path) {
        str_puts(out, "PATH=");
        str_put_quoted(out, path);
        str_puts(out, ":$PATH\n");
    }
    str_puts(out, "exec");
    for (size_t i = 0; i < c->n_argv; i++) {
        str_putc(out, ' ');
        str_put_quoted(out, c->argv[i]);
    }
    str_putc(out, '\n');
    return 0;
}

static bool is_plain(const Pb__Spawn *m)
{
    const Pb__SpawnCommand *c = m->command[0];

    return m->n_command == 1 && !c->n_env && !info_of(c, "wdir") && !info_of(c, "path");
}

/* Makes the shell script that selects each task's program. */
static int put_script(const Pb__Spawn *m, struct str *out, struct err *err)
{
    uint32_t end = 0;
    int rc = 0;

    for (size_t i = 0; i < m->n_command && rc == 0; i++) {
        end += m->command[i]->tasks;
        str_printf(out, "%sif [ \"$SLURM_PROCID\" -lt %u ]; then\n", i ? "el" : "", end);
        rc = put_command(m->command[i], out, err);
    }
    str_puts(out, "fi\n");
    if (rc == 0 && out->len > SCRIPT_MAX)
        rc = err_set(err, -ERR_LIMIT,
                     "the commands of a spawn have %zu bytes with their directories and "
                     "variables, and %d are the most",
                     out->len, SCRIPT_MAX);
    return rc;
}

static int put_argv(const Pb__Spawn *m, struct arena *arena, struct run_options *o, struct err *err)
{
    _cleanup_str_ struct str script = STR_INIT;
    int rc;

    if (is_plain(m)) {
        o->argc = (int)m->command[0]->n_argv;
        o->argv = arena_alloc(arena, ((size_t)o->argc + 1) * sizeof(char *));
        memcpy(o->argv, m->command[0]->argv, (size_t)o->argc * sizeof(char *));
        return 0;
    }
    rc = put_script(m, &script, err);
    if (rc < 0)
        return rc;
    o->argc = 3;
    o->argv = arena_alloc(arena, 4 * sizeof(char *));
    o->argv[0] = (char *)"/bin/sh";
    o->argv[1] = (char *)"-c";
    o->argv[2] = arena_strdup(arena, str_cstr(&script));
    return 0;
}

int spawned_fill_run(const Pb__SpawnOrder *order, struct arena *arena, struct run_options *o,
                     struct err *err)
{
    o->order = order;
    o->mpi = order->mpi;
    o->input = "none";
    o->append = true; /* the requesting step writes to the files too */
    o->prolog = o->epilog = NULL;
    o->multi_prog = NULL;
    o->bcast = NULL;
    o->bcast_dest = NULL;
    o->x11 = NULL;
    o->pty = false;
    o->no_allocate = false;
    o->cpu_bind = o->mem_bind = NULL;
    o->gpu_bind = NULL;
    o->immediate_ms = PATIENCE_SEC * 1000;
    return put_argv(order->spawn, arena, o, err);
}
