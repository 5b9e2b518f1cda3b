/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmctld/core/diag.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "slurmctld/core/answers.h"
#include "slurmctld/core/ctld.h"

#define RPC_NUMBERS 256
#define LATENCY_CALLS 1000

struct usage {
    uint64_t count, total_usec, longest_usec;
};

struct user {
    uint32_t uid;
    struct usage usage;
    UT_hash_handle hh;
};

struct diag {
    struct usage rpcs[RPC_NUMBERS];
    struct user *users;
    uint64_t clock_usec; /* for LATENCY_CALLS calls */
};

int64_t diag_clock(void *ctx)
{
    struct timespec now;
    (void)ctx;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

struct diag *diag_new(void)
{
    struct diag *d = mem_new(struct diag);
    int64_t begun = diag_clock(NULL);
    for (int i = 0; i < LATENCY_CALLS; i++)
        (void)diag_clock(NULL);
    d->clock_usec = (uint64_t)(diag_clock(NULL) - begun);
    return d;
}

static void forget_users(struct diag *d)
{
    struct user *user, *next;
    HASH_ITER (hh, d->users, user, next) {
        HASH_DEL(d->users, user);
        free(user);
    }
}

void diag_free(struct diag *d)
{
    if (!d)
        return;
    forget_users(d);
    free(d);
}

void diag_reset(struct diag *d)
{
    forget_users(d);
    for (size_t i = 0; i < RPC_NUMBERS; i++)
        d->rpcs[i] = (struct usage){0};
}

static void add_usage(struct usage *u, uint64_t usec)
{
    u->count++;
    u->total_usec += usec;
    if (usec > u->longest_usec)
        u->longest_usec = usec;
}

static struct user *find_user(struct diag *d, uint32_t uid)
{
    struct user *user;
    HASH_FIND(hh, d->users, &uid, sizeof(uid), user);
    if (user || HASH_COUNT(d->users) >= DIAG_USERS)
        return user;
    user = mem_new(struct user);
    user->uid = uid;
    HASH_ADD(hh, d->users, uid, sizeof(user->uid), user);
    return user;
}

void diag_count(struct diag *d, const struct rpc_info *rpc, uint32_t uid, int64_t begun_usec)
{
    int64_t took = diag_clock(NULL) - begun_usec;
    uint64_t usec = took > 0 ? (uint64_t)took : 0;
    struct user *user = find_user(d, uid);
    if (rpc->number < RPC_NUMBERS)
        add_usage(&d->rpcs[rpc->number], usec);
    if (user)
        add_usage(&user->usage, usec);
}

static uint64_t resident_kib(void)
{
    unsigned long long all, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f)
        return 0;
    if (fscanf(f, "%llu %llu", &all, &resident) != 2)
        resident = 0;
    fclose(f);
    return resident * (unsigned long long)sysconf(_SC_PAGESIZE) / 1024;
}

static uint64_t count_threads(void)
{
    uint64_t count = 0;
    DIR *dir = opendir("/proc/self/task");
    if (!dir)
        return 1;
    for (const struct dirent *e; (e = readdir(dir));)
        count += e->d_name[0] != '.';
    closedir(dir);
    return count;
}

static uint64_t usec_of(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

void diag_fill_stats(const struct ctld *c, Pb__CtlStats *stats)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    control_stats(c->control, stats);
    stats->has_turns = stats->has_commits = stats->has_rss_kib = stats->has_cpu_usec = true;
    stats->turns = c->turns;
    stats->commits = c->commits;
    stats->has_rate_refused = true;
    stats->rate_refused = rpc_server_rate_refused(c->server);
    stats->rss_kib = resident_kib();
    stats->cpu_usec = usec_of(used.ru_utime) + usec_of(used.ru_stime);
}

static void fill_rpcs(const struct diag *d, struct arena *arena, Pb__DiagReply *reply)
{
    reply->rpcs = arena_alloc(arena, RPC_NUMBERS * sizeof(*reply->rpcs));
    for (unsigned i = 0; i < RPC_NUMBERS; i++) {
        const struct usage *u = &d->rpcs[i];
        const struct rpc_info *rpc = u->count ? rpc_find(i) : NULL;
        if (!rpc)
            continue;
        Pb__DiagRpc *row = arena_alloc(arena, sizeof(*row));
        pb__diag_rpc__init(row);
        row->number = i;
        row->name = (char *)rpc->name;
        row->count = u->count;
        row->total_usec = u->total_usec;
        row->has_longest_usec = true;
        row->longest_usec = u->longest_usec;
        reply->rpcs[reply->n_rpcs++] = row;
    }
}

static void fill_users(const struct ctld *c, struct arena *arena, Pb__DiagReply *reply)
{
    struct user *user, *next;
    reply->users = arena_alloc(arena, (HASH_COUNT(c->diag->users) + 1) * sizeof(*reply->users));
    HASH_ITER (hh, c->diag->users, user, next) {
        Pb__DiagUser *row = arena_alloc(arena, sizeof(*row));
        pb__diag_user__init(row);
        row->uid = user->uid;
        row->count = user->usage.count;
        row->total_usec = user->usage.total_usec;
        reply->users[reply->n_users++] = row;
    }
}

void diag_answer(struct ctld *c, const struct rpc_request *r)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__DiagReply reply = PB__DIAG_REPLY__INIT;
    Pb__DiagCounters counters = PB__DIAG_COUNTERS__INIT;
    Pb__CtlStats stats = PB__CTL_STATS__INIT;
    control_diag(c->control, &counters);
    diag_fill_stats(c, &stats);
    reply.counters = &counters;
    reply.stats = &stats;
    reply.has_now_sec = reply.has_clock_usec = reply.has_threads = true;
    reply.now_sec = loop_wall_ms() / 1000;
    reply.clock_usec = c->diag->clock_usec;
    reply.threads = count_threads();
    fill_rpcs(c->diag, &arena, &reply);
    fill_users(c, &arena, &reply);
    answers_give_message(c->answers, r->call, &reply.base);
}
