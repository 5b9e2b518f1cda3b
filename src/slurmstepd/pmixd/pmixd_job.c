/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "slurmstepd/pmixd/pmixd.h"

#define TASKS_MAX (1u << 24)

/* A list of attributes; memory referenced by their values is never freed. */
struct facts {
    VEC(pmix_info_t) list;
};

static pmix_value_t *add_fact(struct facts *f, const char *key, pmix_data_type_t type)
{
    pmix_info_t info;

    memset(&info, 0, sizeof(info));
    strncpy(info.key, key, sizeof(info.key) - 1);
    info.value.type = type;
    vec_push(&f->list, info);
    return &vec_last(&f->list).value;
}

static void add_u32(struct facts *f, const char *key, uint32_t value)
{
    add_fact(f, key, PMIX_UINT32)->data.uint32 = value;
}

static void add_u16(struct facts *f, const char *key, uint16_t value)
{
    add_fact(f, key, PMIX_UINT16)->data.uint16 = value;
}

static void add_rank(struct facts *f, const char *key, uint32_t value)
{
    add_fact(f, key, PMIX_PROC_RANK)->data.rank = value;
}

static void add_flag(struct facts *f, const char *key, bool value)
{
    add_fact(f, key, PMIX_BOOL)->data.flag = value;
}

static void add_text(struct facts *f, const char *key, const char *value)
{
    add_fact(f, key, PMIX_STRING)->data.string = mem_strdup(value);
}

/* Adds the attributes of one element of an array. */
static void add_facts(struct facts *f, const char *key, const struct facts *inner)
{
    pmix_data_array_t *array = mem_new(pmix_data_array_t);

    array->type = PMIX_INFO;
    array->size = inner->list.len;
    array->array = inner->list.data;
    add_fact(f, key, PMIX_DATA_ARRAY)->data.darray = array;
}

static int check_pmix_nodes(Pb__PmixNode *const *nodes, size_t n_nodes, uint32_t *size,
                            struct err *err)
{
    size_t count = 0;

    for (size_t n = 0; n < n_nodes; n++)
        count += nodes[n]->n_task;
    if (!count || count > TASKS_MAX)
        return err_set(err, -ERR_PROTOCOL, "PMIx: malformed order");
    for (size_t n = 0; n < n_nodes; n++)
        for (size_t i = 0; i < nodes[n]->n_task; i++)
            if (nodes[n]->task[i] >= count)
                return err_set(err, -ERR_PROTOCOL, "PMIx: task %u of %zu", nodes[n]->task[i],
                               count);
    *size = (uint32_t)count;
    return 0;
}

static int compare_ranks(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static int set_layout(struct pmixd_job *job, Pb__PmixNode *const *nodes, size_t count,
                      struct err *err)
{
    int rc = check_pmix_nodes(nodes, count, &job->size, err);

    if (rc)
        return rc;
    job->nodes = (uint32_t)count;
    job->node_of = mem_new_array(uint32_t, job->size);
    job->local_of = mem_new_array(uint16_t, job->size);
    job->name = mem_new_array(char *, job->nodes);
    job->count = mem_new_array(uint32_t, job->nodes);
    job->tasks = mem_new_array(uint32_t *, job->nodes);
    for (uint32_t n = 0; n < job->nodes; n++) {
        size_t tasks = nodes[n]->n_task;

        job->name[n] = mem_strdup(nodes[n]->name);
        job->count[n] = (uint32_t)tasks;
        job->tasks[n] = mem_new_array(uint32_t, tasks + 1);
        if (tasks)
            memcpy(job->tasks[n], nodes[n]->task, tasks * sizeof(uint32_t));
        qsort(job->tasks[n], tasks, sizeof(uint32_t), compare_ranks);
        for (size_t i = 0; i < tasks; i++) {
            job->node_of[job->tasks[n][i]] = n;
            job->local_of[job->tasks[n][i]] = (uint16_t)i;
        }
    }
    return 0;
}

void pmixd_job_nspace(const struct pmixd_job *job, uint32_t step, char out[PMIX_MAX_NSLEN + 1])
{
    snprintf(out, PMIX_MAX_NSLEN + 1, "%.200s%u", job->prefix, step);
}

bool pmixd_job_step_of(const struct pmixd_job *job, const char *nspace, uint32_t *step)
{
    char text[PMIX_MAX_NSLEN + 1] = "";
    size_t len = strlen(job->prefix);
    long long number;

    strncpy(text, nspace, PMIX_MAX_NSLEN);
    if (strncmp(text, job->prefix, len) != 0 || str_parse_i64(text + len, 0, UINT32_MAX, &number))
        return false;
    *step = (uint32_t)number;
    return true;
}

int pmixd_job_init(struct pmixd_job *job, const Pb__PmixStart *m, struct err *err)
{
    const char *dot = strrchr(m->nspace, '.');
    int rc;

    if (m->node >= m->n_nodes || !dot || strlen(m->nspace) > PMIX_MAX_NSLEN)
        return err_set(err, -ERR_PROTOCOL, "PMIx: malformed order");
    rc = set_layout(job, m->nodes, m->n_nodes, err);
    if (rc)
        return rc;
    strncpy(job->nspace, m->nspace, sizeof(job->nspace) - 1);
    memcpy(job->prefix, m->nspace, (size_t)(dot + 1 - m->nspace));
    job->dir = mem_strdup(m->dir);
    job->id = mem_strdup(m->job);
    job->node = m->node;
    job->step = m->step;
    job->is_spawned = m->has_parent_step;
    job->parent_step = m->parent_step;
    job->parent_task = m->parent_task;
    job->apps = m->n_app_tasks;
    job->app_tasks = mem_new_array(uint32_t, job->apps + 1);
    for (size_t i = 0; i < job->apps; i++)
        job->app_tasks[i] = m->app_tasks[i];
    return 0;
}

static void layout_done(struct pmixd_job *job)
{
    for (uint32_t n = 0; n < job->nodes; n++) {
        free(job->name[n]);
        free(job->tasks[n]);
    }
    free(job->name);
    free(job->count);
    free(job->tasks);
    free(job->node_of);
    free(job->local_of);
}

static void put_tasks(const struct pmixd_job *job, uint32_t node, struct str *out)
{
    for (uint32_t i = 0; i < job->count[node]; i++)
        str_printf(out, "%s%u", i ? "," : "", job->tasks[node][i]);
}

/* Adds the nodes and the tasks of each node, in the library's format. */
static int add_maps(struct facts *f, const struct pmixd_job *job, const struct pmixd_lib *lib)
{
    _cleanup_str_ struct str nodes = STR_INIT, tasks = STR_INIT;
    char *node_map, *task_map;
    pmix_status_t rc;

    for (uint32_t n = 0; n < job->nodes; n++) {
        str_printf(&nodes, "%s%s", n ? "," : "", job->name[n]);
        str_puts(&tasks, n ? ";" : "");
        put_tasks(job, n, &tasks);
    }
    rc = lib->PMIx_generate_regex(str_cstr(&nodes), &node_map);
    if (rc == PMIX_SUCCESS)
        rc = lib->PMIx_generate_ppn(str_cstr(&tasks), &task_map);
    if (rc != PMIX_SUCCESS)
        return rc;
    add_fact(f, PMIX_NODE_MAP, PMIX_REGEX)->data.bo =
        (pmix_byte_object_t){node_map, strlen(node_map) + 1};
    add_fact(f, PMIX_PROC_MAP, PMIX_REGEX)->data.bo =
        (pmix_byte_object_t){task_map, strlen(task_map) + 1};
    return PMIX_SUCCESS;
}

/* Returns the index of the task's command, and the first task that runs it. */
static uint32_t app_of(const struct pmixd_job *job, uint32_t rank, uint32_t *first)
{
    *first = 0;
    for (size_t i = 0; i < job->apps; i++) {
        if (rank - *first < job->app_tasks[i])
            return (uint32_t)i;
        *first += job->app_tasks[i];
    }
    *first = 0;
    return 0;
}

static void add_task(struct facts *f, const struct pmixd_job *job, uint32_t rank)
{
    uint32_t node = job->node_of[rank], first;
    struct facts t = {0};

    add_rank(&t, PMIX_RANK, rank);
    add_u32(&t, PMIX_APPNUM, app_of(job, rank, &first));
    add_rank(&t, PMIX_GLOBAL_RANK, rank);
    add_rank(&t, PMIX_APP_RANK, rank - first);
    add_u16(&t, PMIX_LOCAL_RANK, job->local_of[rank]);
    add_u16(&t, PMIX_NODE_RANK, job->local_of[rank]);
    add_u32(&t, PMIX_NODEID, node);
    add_text(&t, PMIX_HOSTNAME, job->name[node]);
    if (node == job->node) {
        _cleanup_free_ char *dir = mem_printf("%s/%u", job->dir, rank);

        add_text(&t, PMIX_PROCDIR, dir);
    }
    add_facts(f, PMIX_PROC_INFO_ARRAY, &t);
}

static void add_job_facts(struct facts *f, const struct pmixd_job *job)
{
    add_text(f, PMIX_JOBID, job->id);
    add_flag(f, PMIX_SPAWNED, job->is_spawned);
    add_u32(f, PMIX_UNIV_SIZE, job->size);
    add_u32(f, PMIX_JOB_SIZE, job->size);
    add_u32(f, PMIX_APP_SIZE, job->size);
    add_u32(f, PMIX_MAX_PROCS, job->size);
    add_u32(f, PMIX_JOB_NUM_APPS, job->apps ? (uint32_t)job->apps : 1);
    add_u32(f, PMIX_NUM_NODES, job->nodes);
    add_u32(f, PMIX_APPNUM, 0);
    add_rank(f, PMIX_APPLDR, 0);
}

/* Adds attributes of this node. */
static void add_local(struct facts *f, const struct pmixd_job *job)
{
    _cleanup_str_ struct str peers = STR_INIT;

    put_tasks(job, job->node, &peers);
    add_text(f, PMIX_TMPDIR, job->dir);
    add_text(f, PMIX_NSDIR, job->dir);
    add_flag(f, PMIX_TDIR_RMCLEAN, true);
    add_u32(f, PMIX_LOCAL_SIZE, job->count[job->node]);
    add_u32(f, PMIX_NODE_SIZE, job->count[job->node]);
    add_u32(f, PMIX_NODEID, job->node);
    add_rank(f, PMIX_LOCALLDR, job->tasks[job->node][0]);
    add_text(f, PMIX_LOCAL_PEERS, str_cstr(&peers));
    if (job->is_spawned) {
        pmix_value_t *v = add_fact(f, PMIX_PARENT_ID, PMIX_PROC);

        v->data.proc = mem_new(pmix_proc_t);
        pmixd_job_nspace(job, job->parent_step, v->data.proc->nspace);
        v->data.proc->rank = job->parent_task;
    }
}

static int start_server(const struct pmixd_job *job, const struct pmixd_lib *lib,
                        pmix_server_module_t *module)
{
    struct facts f = {0};

    add_text(&f, PMIX_SERVER_TMPDIR, job->dir);
    add_text(&f, PMIX_SYSTEM_TMPDIR, job->dir);
    add_text(&f, PMIX_HOSTNAME, job->name[job->node]);
    add_text(&f, PMIX_SERVER_NSPACE, job->nspace);
    add_rank(&f, PMIX_SERVER_RANK, job->node);
    return lib->PMIx_server_init(module, f.list.data, f.list.len);
}

static int register_job(const struct pmixd_job *job, const struct pmixd_lib *lib)
{
    bool is_here = job->node < job->nodes;
    struct facts f = {0};
    int rc;

    add_job_facts(&f, job);
    if (is_here)
        add_local(&f, job);
    rc = add_maps(&f, job, lib);
    if (rc != PMIX_SUCCESS)
        return rc;
    for (uint32_t rank = 0; rank < job->size; rank++)
        add_task(&f, job, rank);
    return lib->PMIx_server_register_nspace(job->nspace, is_here ? (int)job->count[job->node] : 0,
                                            f.list.data, f.list.len, NULL, NULL);
}

static int register_task(const struct pmixd_job *job, const struct pmixd_lib *lib, uint32_t rank,
                         Pb__PmixEnv *out)
{
    pmix_proc_t proc;
    char **env = NULL;
    int rc;

    memset(&proc, 0, sizeof(proc));
    memcpy(proc.nspace, job->nspace, sizeof(job->nspace));
    proc.rank = rank;
    rc = lib->PMIx_server_register_client(&proc, getuid(), getgid(), NULL, NULL, NULL);
    if (rc == PMIX_SUCCESS || rc == PMIX_OPERATION_SUCCEEDED)
        rc = lib->PMIx_server_setup_fork(&proc, &env);
    if (rc != PMIX_SUCCESS)
        return rc;
    out->var = env;
    while (env && env[out->n_var])
        out->n_var++;
    return 0;
}

static int set_failure(const struct pmixd_lib *lib, const char *what, int status, struct err *err)
{
    return err_set(err, -ERR_LAUNCH, "libpmix %s: %s: %s", pmixd_lib_version(lib), what,
                   lib->PMIx_Error_string(status));
}

int pmixd_job_register(const struct pmixd_job *job, const struct pmixd_lib *lib,
                       pmix_server_module_t *module, Pb__PmixStarted *answer, struct err *err)
{
    uint32_t count = job->count[job->node];
    int rc = start_server(job, lib, module);

    if (rc != PMIX_SUCCESS)
        return set_failure(lib, "PMIx_server_init", rc, err);
    lib->PMIx_Register_event_handler(NULL, 0, NULL, 0, pmixd_calls_event, NULL, NULL);
    rc = register_job(job, lib);
    if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
        return set_failure(lib, "PMIx_server_register_nspace", rc, err);
    answer->env = mem_new_array(Pb__PmixEnv *, count);
    for (uint32_t i = 0; i < count; i++) {
        Pb__PmixEnv *env = mem_new(Pb__PmixEnv);

        pb__pmix_env__init(env);
        rc = register_task(job, lib, job->tasks[job->node][i], env);
        if (rc)
            return set_failure(lib, "PMIx_server_setup_fork", rc, err);
        answer->env[answer->n_env++] = env;
    }
    return 0;
}

void pmixd_job_add_other(const struct pmixd_job *job, const struct pmixd_lib *lib,
                         const Pb__PmixJob *other)
{
    static VEC(uint32_t) known;
    struct pmixd_job o = {.id = job->id, .step = other->step, .node = UINT32_MAX};

    for (size_t i = 0; i < known.len; i++)
        if (known.data[i] == other->step)
            return;
    if (other->step == job->step || set_layout(&o, other->nodes, other->n_nodes, NULL))
        return;
    vec_push(&known, other->step);
    pmixd_job_nspace(job, other->step, o.nspace);
    register_job(&o, lib); /* without it, local processes find no data of that step */
    layout_done(&o);
}
