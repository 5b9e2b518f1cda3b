/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random lives of processes: they fork, work, end, reap their children or leave them to their
 * subreaper, and change their users, while non-atomic looks are taken. No sum ever decreases or
 * exceeds the true usage, and when all is quiet they are equal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "slurmd/usage/tally.h"

#define RUNS 300
#define ROUNDS 60
#define PIDS 400
#define LIVE_MAX 60
#define SHEPHERD 2
#define USERS 4
#define TICK 10000u

struct life {
    bool there, dead;
    pid_t parent;
    uid_t uid;
    uint64_t started, own, waited;
};

struct world {
    struct tally *t;
    struct snapshot s;
    struct life p[PIDS];
    size_t live;
    pid_t last;
    uint64_t clock, used, step_used, shown_users[USERS], shown_step;
    uint32_t seed;
};

static uint32_t draw_below(struct world *w, uint32_t below)
{
    w->seed ^= w->seed << 13;
    w->seed ^= w->seed >> 17;
    w->seed ^= w->seed << 5;
    return w->seed % below;
}

static bool in_step(const struct world *w, pid_t pid)
{
    for (; pid > 1; pid = w->p[pid].parent)
        if (w->p[pid].parent == SHEPHERD)
            return true;
    return false;
}

static pid_t draw_live(struct world *w)
{
    pid_t pid = 1 + (pid_t)draw_below(w, PIDS - 1);

    while (!w->p[pid].there || w->p[pid].dead)
        pid = pid + 1 < PIDS ? pid + 1 : 1;
    return pid;
}

static void spawn_process(struct world *w, pid_t parent, uid_t uid)
{
    pid_t pid = w->last;

    if (w->live >= LIVE_MAX)
        return;
    do
        pid = pid + 1 < PIDS ? pid + 1 : 3;
    while (w->p[pid].there);
    w->last = pid;
    w->live++;
    w->p[pid] = (struct life){.there = true, .parent = parent, .uid = uid, .started = ++w->clock};
}

static void use_cpu(struct world *w, pid_t pid)
{
    uint64_t amount = TICK * (1 + draw_below(w, 50));

    w->p[pid].own += amount;
    w->used += amount;
    if (in_step(w, pid))
        w->step_used += amount;
}

static void wait_for(struct world *w, pid_t pid)
{
    struct life *p = &w->p[pid];

    w->p[p->parent].waited += p->own + p->waited;
    *p = (struct life){0};
    w->live--;
}

static void end_process(struct world *w, pid_t pid)
{
    pid_t heir = in_step(w, pid) ? SHEPHERD : 1;

    if (pid <= SHEPHERD)
        return;
    w->p[pid].dead = true;
    for (pid_t i = 1; i < PIDS; i++)
        if (w->p[i].there && w->p[i].parent == pid) {
            w->p[i].parent = heir;
            if (w->p[i].dead && draw_below(w, 2))
                wait_for(w, i);
        }
    if (draw_below(w, 3))
        wait_for(w, pid);
}

static void draw_event(struct world *w)
{
    pid_t pid = draw_live(w);

    switch (draw_below(w, 8)) {
    case 0:
    case 1:
        spawn_process(w, pid, pid <= SHEPHERD ? (uid_t)draw_below(w, USERS) : w->p[pid].uid);
        break;
    case 2:
        end_process(w, pid);
        break;
    case 3:
        for (pid_t i = 1; i < PIDS; i++)
            if (w->p[i].there && w->p[i].dead && draw_below(w, 2))
                wait_for(w, i);
        break;
    case 4:
        if (pid > SHEPHERD && draw_below(w, 4) == 0)
            w->p[pid].uid = (uid_t)draw_below(w, USERS);
        break;
    default:
        use_cpu(w, pid);
    }
}

/* Pids are reused, but not within a look. */
static bool is_there(const struct world *w, const struct snapshot_proc *p)
{
    return w->p[p->pid].there && w->p[p->pid].started == p->started_ticks;
}

static void take_look(struct world *w, uint32_t unrest)
{
    pid_t root = SHEPHERD;
    size_t kept = 0;

    w->s.at_ms += 1000;
    vec_clear(&w->s.procs);
    for (pid_t pid = 1; pid < PIDS; pid++) {
        const struct life *p = &w->p[pid];
        struct snapshot_proc seen = {
            .pid = pid, .parent = p->parent, .uid = p->uid, .started_ticks = p->started};

        seen.own[SNAPSHOT_USER] = p->own;
        seen.waited[SNAPSHOT_USER] = p->waited;
        if (p->there)
            vec_push(&w->s.procs, seen);
        for (uint32_t i = 0; unrest && i < draw_below(w, unrest); i++)
            draw_event(w);
    }
    snapshot_place(&w->s, &root, 1);
    for (size_t i = 0; i < w->s.procs.len; i++)
        if (!snapshot_is_doubtful(&w->s.procs.data[i]) || is_there(w, &w->s.procs.data[i]))
            w->s.procs.data[kept++] = w->s.procs.data[i];
    w->s.procs.len = kept;
    tally_take(w->t, &w->s);
}

static uint64_t check_sums(struct world *w)
{
    struct tally_step *s = tally_find_step(w->t, 42, 0, 0);
    uint64_t sum = 0;

    vec_foreach (&w->t->users, r) {
        uint64_t now = r->use.sum[SNAPSHOT_USER];

        assert_true(r->uid < USERS && now >= w->shown_users[r->uid]);
        w->shown_users[r->uid] = now;
        sum += now;
    }
    assert_true(sum <= w->used);
    assert_true(s->use.sum[SNAPSHOT_USER] >= w->shown_step);
    assert_true(s->use.sum[SNAPSHOT_USER] <= w->step_used);
    w->shown_step = s->use.sum[SNAPSHOT_USER];
    return sum;
}

static void reload_world(struct world *w)
{
    _cleanup_str_ struct str bytes = STR_INIT;

    tally_pack(w->t, "boot", 0, &bytes);
    tally_free(w->t);
    w->t = tally_unpack(bytes.data, bytes.len, "boot", 0, 0);
    assert_non_null(w->t);
    tally_set_step(w->t, 42, 0, 0, SHEPHERD, NULL, NULL, 0);
}

static void run_world(uint32_t seed)
{
    struct world *w = mem_new(struct world);

    w->seed = seed;
    w->last = SHEPHERD;
    w->p[1] = (struct life){.there = true, .started = 1};
    w->p[SHEPHERD] = (struct life){.there = true, .parent = 1, .started = 2};
    w->live = 2;
    w->t = tally_new(0);
    tally_set_step(w->t, 42, 0, 0, SHEPHERD, NULL, NULL, 0);
    take_look(w, 0);
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = draw_below(w, 200); i > 0; i--)
            draw_event(w);
        if (draw_below(w, 10) == 0)
            reload_world(w);
        take_look(w, seed % 6);
        check_sums(w);
    }
    take_look(w, 0);
    take_look(w, 0);
    if (check_sums(w) != w->used || w->shown_step != w->step_used)
        fail_msg("seed %u: %llu of %llu, step %llu of %llu", seed,
                 (unsigned long long)check_sums(w), (unsigned long long)w->used,
                 (unsigned long long)w->shown_step, (unsigned long long)w->step_used);
    tally_free(w->t);
    snapshot_done(&w->s);
    free(w);
}

static void test_random_processes_agree_with_a_model(void **state)
{
    for (uint32_t seed = 1; seed <= RUNS; seed++)
        run_world(seed * 2654435761u | 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_processes_agree_with_a_model)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
