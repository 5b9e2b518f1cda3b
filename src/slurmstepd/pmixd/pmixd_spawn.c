/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PMIx_Spawn, used by MPI_Comm_spawn of Open MPI: converts the request to a message. Runs on the
 * library's threads.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "slurmstepd/mpi/pmi_spawn.h"
#include "slurmstepd/pmixd/pmixd.h"

#define WORD_COST 64

static const struct pmixd_job *job;

void pmixd_spawn_init(const struct pmixd_job *the_job)
{
    job = the_job;
}

/* Limits the memory of a request: its bytes, as for PMI. */
struct budget {
    size_t bytes;
};

static char *copy_text(struct budget *b, const char *text)
{
    b->bytes += strlen(text) + WORD_COST;
    return b->bytes > PMI_SPAWN_BYTES_MAX ? NULL : mem_strdup(text);
}

static size_t count_strings(char *const *list)
{
    size_t count = 0;

    while (list && list[count] && count < PMI_SPAWN_BYTES_MAX / WORD_COST)
        count++;
    return count;
}

/* Puts the program, then its arguments; argv[0] repeats the name of the program. */
static bool put_argv(struct budget *b, const pmix_app_t *app, Pb__SpawnCommand *c)
{
    size_t count = count_strings(app->argv);
    const char *program = app->cmd ? app->cmd : count ? app->argv[0] : "";

    c->argv = mem_new_array(char *, count + 2);
    for (size_t i = 0; i < (count ? count : 1); i++) {
        char *word = copy_text(b, i ? app->argv[i] : program);

        if (!word || (!i && !*word)) {
            free(word);
            return false;
        }
        c->argv[c->n_argv++] = word;
    }
    return true;
}

/* Whether the variable describes this step's server or its directory: the new processes get other
 * values. */
static bool is_servers(const char *variable)
{
    const char *value = strchr(variable, '=');

    return (str_starts(variable, "PMIX_") && !str_starts(variable, "PMIX_MCA_")) ||
           (value && str_starts(value + 1, job->dir));
}

static bool put_env(struct budget *b, const pmix_app_t *app, Pb__SpawnCommand *c)
{
    size_t count = count_strings(app->env);

    c->env = mem_new_array(char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        char *word = is_servers(app->env[i]) ? NULL : copy_text(b, app->env[i]);

        if (word)
            c->env[c->n_env++] = word;
        else if (!is_servers(app->env[i]))
            return false;
    }
    return true;
}

static bool put_info(struct budget *b, Pb__SpawnCommand *c, const char *key, const char *value)
{
    Pb__KvsEntry *e;

    if (!value)
        return true;
    b->bytes += strlen(value) + WORD_COST;
    if (b->bytes > PMI_SPAWN_BYTES_MAX)
        return false;
    e = mem_new(Pb__KvsEntry);
    pb__kvs_entry__init(e);
    e->key = mem_strdup(key);
    e->value = mem_strdup(value);
    c->info = mem_realloc(c->info, (c->n_info + 1) * sizeof(*c->info));
    c->info[c->n_info++] = e;
    return true;
}

static bool put_infos(struct budget *b, Pb__SpawnCommand *c, const pmix_info_t *info, size_t count)
{
    static const char *const keys[][2] = {{PMIX_HOST, "host"}, {PMIX_WDIR, "wdir"}};

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
            if (!strncmp(info[i].key, keys[k][0], PMIX_MAX_KEYLEN) &&
                info[i].value.type == PMIX_STRING &&
                !put_info(b, c, keys[k][1], info[i].value.data.string))
                return false;
    return true;
}

static bool put_app(struct budget *b, const pmix_app_t *app, const pmix_info_t *all, size_t alls,
                    Pb__SpawnCommand *c)
{
    if (app->maxprocs < 1)
        return false;
    c->tasks = (uint32_t)app->maxprocs;
    return put_argv(b, app, c) && put_env(b, app, c) && put_infos(b, c, app->info, app->ninfo) &&
           put_info(b, c, "wdir", app->cwd) && put_infos(b, c, all, alls);
}

static Pb__Spawn *make_command(const pmix_app_t *apps, size_t count, const pmix_info_t *info,
                               size_t infos)
{
    Pb__Spawn *m = mem_new(Pb__Spawn);
    struct budget budget = {0};
    uint64_t tasks = 0;

    pb__spawn__init(m);
    m->command = mem_new_array(Pb__SpawnCommand *, count + 1);
    for (size_t i = 0; i < count; i++) {
        Pb__SpawnCommand *c = mem_new(Pb__SpawnCommand);

        pb__spawn_command__init(c);
        m->command[m->n_command++] = c;
        if (put_app(&budget, &apps[i], info, infos, c) &&
            (tasks += c->tasks) <= PMI_SPAWN_TASKS_MAX)
            continue;
        pb__spawn__free_unpacked(m, NULL);
        return NULL;
    }
    return m;
}

pmix_status_t pmixd_spawn_call(const pmix_proc_t *proc, const pmix_info_t info[], size_t infos,
                               const pmix_app_t apps[], size_t app_count, pmix_spawn_cbfunc_t done,
                               void *ctx)
{
    struct pmixd_call *c;
    Pb__Spawn *m;

    if (!app_count || app_count > PMI_SPAWN_COMMANDS_MAX)
        return PMIX_ERR_BAD_PARAM;
    m = make_command(apps, app_count, info, infos);
    if (!m)
        return PMIX_ERR_BAD_PARAM;
    m->task = proc->rank;
    c = pmixd_call_new(PMIXD_SPAWN, ctx);
    c->spawned = done;
    c->spawn = m;
    pmixd_call_post(c);
    return PMIX_SUCCESS;
}
