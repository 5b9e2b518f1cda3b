/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sluice record: records the workload of a running cluster as a trace that slurmsim replays. The
 * trace is in the Standard Workload Format, for other programs too; a comment before each job has
 * the rest of its request. Users are numbers, and programs are not recorded.
 */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/path.h"
#include "cli/cmd.h"
#include "cluster/index/idmap.h"
#include "cluster/node/shape.h"
#include "cmd/sluice/sluice.h"
#include "rpc/client.h"

#define LOOK_SEC 5 /* ended jobs are listed for MinJobAge, which is longer */
#define FILE_MODE 0600

struct kept { /* a job as it was listed last */
    uint32_t id, user, group, part, procs, wanted;
    int64_t submit_at, start_at, end_at, limit_sec;
    uint64_t mem_kib;
    enum _Pb__JobState state;
    char *shape;
};

struct names {
    VEC(char *) list; /* number: index + 1 */
};

struct record {
    VEC(struct kept) jobs;
    struct idmap places; /* job id: index */
    struct names parts;
    struct idmap users, groups; /* uid or gid: number */
    struct names user_names;
    bool names;
};

static volatile sig_atomic_t stopped;

static void on_stop(int sig)
{
    (void)sig;
    stopped = 1;
}

/* --- stored records ----------------------------------------------------------------------------
 */

static uint32_t number_of_name(struct names *n, const char *name)
{
    vec_foreach (&n->list, known)
        if (str_eq(*known, name))
            return (uint32_t)(known - n->list.data) + 1;
    vec_push(&n->list, mem_strdup(name));
    return (uint32_t)n->list.len;
}

static uint32_t find_record_number(struct idmap *known, uint32_t id)
{
    uint32_t number;
    if (idmap_get(known, id, &number))
        return number;
    number = (uint32_t)known->count + 1;
    idmap_set(known, id, number);
    return number;
}

static struct kept *find_kept_job(struct record *r, uint32_t id)
{
    uint32_t at;
    if (!idmap_get(&r->places, id, &at)) {
        at = (uint32_t)r->jobs.len;
        vec_push(&r->jobs, ((struct kept){.id = id}));
        idmap_set(&r->places, id, at);
    }
    return &r->jobs.data[at];
}

static uint32_t cpus_wanted(const Pb__JobSpec *s)
{
    uint32_t tasks = s->has_num_tasks ? s->num_tasks : s->has_min_nodes ? s->min_nodes : 1;
    return tasks * (s->has_cpus_per_task && s->cpus_per_task ? s->cpus_per_task : 1);
}

static void keep_user(struct record *r, const Pb__JobSpec *s, struct kept *k)
{
    size_t before = r->users.count;
    k->user = find_record_number(&r->users, s->uid);
    k->group = find_record_number(&r->groups, s->gid);
    if (r->users.count > before)
        vec_push(&r->user_names.list, mem_strdup(s->user_name ? s->user_name : "unknown"));
}

static void keep_job(struct record *r, const Pb__JobRecord *m)
{
    const Pb__JobLive *l = m->live;
    const Pb__JobSpec *s = m->spec;
    struct str shape = STR_INIT;
    if (!l || !s)
        return;
    struct kept *k = find_kept_job(r, l->job_id);
    keep_user(r, s, k);
    k->part = l->partition ? number_of_name(&r->parts, l->partition) : 0;
    k->state = l->state;
    k->submit_at = l->submit_at;
    k->start_at = l->start_at;
    k->end_at = l->end_at;
    k->limit_sec = l->time_limit_sec;
    k->procs = l->num_cpus;
    k->wanted = cpus_wanted(s);
    k->mem_kib = s->has_mem_per_cpu_mib ? s->mem_per_cpu_mib * 1024 : 0;
    shape_format(s, &shape);
    free(k->shape);
    k->shape = str_take(&shape);
}

static int on_jobs(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    const Pb__JobList *part = (const Pb__JobList *)message;
    for (size_t i = 0; i < part->n_jobs; i++)
        keep_job(ctx, part->jobs[i]);
    return 0;
}

static int read_jobs(struct record *r)
{
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    struct err err = {0};
    filter.has_all_states = filter.all_states = true;
    if (rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_jobs, r, &err) < 0) {
        cmd_error("%s", err.text);
        return -1;
    }
    return 0;
}

/* --- output ------------------------------------------------------------------------------------
 */

static int by_submission(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;
    if (x->submit_at != y->submit_at)
        return x->submit_at < y->submit_at ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static bool has_ended(const struct kept *k)
{
    return k->state != PB__JOB_STATE__PENDING && k->state != PB__JOB_STATE__RUNNING &&
           k->state != PB__JOB_STATE__SUSPENDED;
}

/* Cancelled jobs that never started have equal start and end times and no allocation. */
static bool has_begun(const struct kept *k)
{
    return k->state != PB__JOB_STATE__PENDING && k->start_at > 0 &&
           !(k->state == PB__JOB_STATE__CANCELLED && k->end_at <= k->start_at);
}

static int status_of(const struct kept *k)
{
    if (!has_ended(k))
        return -1;
    return k->state == PB__JOB_STATE__CANCELLED ? 5 : k->state == PB__JOB_STATE__COMPLETED ? 1 : 0;
}

static void put_job(const struct kept *k, int64_t first, struct str *out)
{
    bool begun = has_begun(k);
    long long run = begun && has_ended(k) ? (long long)(k->end_at - k->start_at) : -1;
    long long wait = begun ? (long long)(k->start_at - k->submit_at) : -1;
    long long limit = k->limit_sec > 0 && k->limit_sec < INT32_MAX ? (long long)k->limit_sec : -1;
    if (*k->shape)
        str_printf(out, "; JobSpec: %u %s\n", k->id, k->shape);
    str_printf(out, "%u %lld %lld %lld %lld -1 -1 %u %lld %lld %d %u %u -1 -1 %d -1 -1\n", k->id,
               (long long)(k->submit_at - first), wait, run, begun ? (long long)k->procs : -1LL,
               k->wanted, limit, k->mem_kib ? (long long)k->mem_kib : -1LL, status_of(k), k->user,
               k->group, k->part ? (int)k->part : -1);
}

static void put_all(struct record *r, struct str *out)
{
    struct kept *jobs = mem_dup(r->jobs.data, r->jobs.len * sizeof *jobs);
    if (jobs)
        qsort(jobs, r->jobs.len, sizeof *jobs, by_submission);
    assert(jobs || !r->jobs.len);
    int64_t first = r->jobs.len ? jobs[0].submit_at : 0;
    str_printf(out, "; Version: 2.2\n; Computer: cluster %s\n; UnixStartTime: %lld\n",
               cmd_conf()->cluster_name, (long long)first);
    vec_foreach (&r->parts.list, name)
        str_printf(out, "; Partition: %zu %s\n", (size_t)(name - r->parts.list.data) + 1, *name);
    for (size_t i = 0; r->names && i < r->user_names.list.len; i++)
        str_printf(out, "; User: %zu %s\n", i + 1, r->user_names.list.data[i]);
    for (size_t i = 0; i < r->jobs.len; i++)
        put_job(&jobs[i], first, out);
    free(jobs);
}

static int write_all(struct record *r, const char *path)
{
    struct str out = STR_INIT;
    struct err err = {0};
    int rc = 0;
    put_all(r, &out);
    if (str_eq(path, "-"))
        str_append(cmd_out(), out.data, out.len);
    else
        rc = path_write_file(path, out.data, out.len, FILE_MODE, &err);
    if (rc != 0)
        cmd_error("%s", err.text);
    str_done(&out);
    return rc == 0 ? 0 : -1;
}

/* --- the verb ----------------------------------------------------------------------------------
 */

static int follow_record(struct record *r, const char *path, unsigned for_sec)
{
    struct sigaction stop = {.sa_handler = on_stop};
    time_t end = time(NULL) + (time_t)for_sec;
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    while (!stopped && time(NULL) < end) {
        time_t left = end - time(NULL);
        struct timespec pause = {.tv_sec = left < LOOK_SEC ? left : LOOK_SEC};
        nanosleep(&pause, NULL);
        read_jobs(r); /* the controller may be down for a while */
        if (!str_eq(path, "-") && write_all(r, path) != 0)
            return -1;
    }
    return 0;
}

static void names_done(struct names *n)
{
    vec_foreach (&n->list, name)
        free(*name);
    vec_done(&n->list);
}

static void record_done(struct record *r)
{
    vec_foreach (&r->jobs, k)
        free(k->shape);
    vec_done(&r->jobs);
    idmap_done(&r->places);
    idmap_done(&r->users);
    idmap_done(&r->groups);
    names_done(&r->parts);
    names_done(&r->user_names);
}

int sluice_record(const struct sluice_options *o, const char *const *operand)
{
    const char *path = operand[0];
    struct record r = {.names = o->names};
    if (!path) {
        cmd_error("record: a file is needed, or '-'");
        return 1;
    }
    sluice_choose(o);
    int rc = read_jobs(&r);
    if (rc == 0 && o->for_sec)
        rc = follow_record(&r, path, o->for_sec);
    if (rc == 0)
        rc = write_all(&r, path);
    record_done(&r);
    int status = cmd_flush();
    return rc == 0 ? status : 1;
}
