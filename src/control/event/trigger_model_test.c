/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The guarantees of triggers over random histories with crashes: each event reaches each
 * trigger that waits for it at least once, and exactly once unless a crash occurs during the
 * delivery. A failure shows the seed of the history.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "cluster/trigger.h"
#include "control/fixture.h"
#include "control/life/depend.h"

#define NODES 4
#define STEPS 120
#define HISTORIES 200
#define LINES                                                                                      \
    "NodeName=n[1-4] CPUs=64 RealMemory=4000\nPartitionName=a Nodes=ALL Default=YES\n"             \
    "SlurmdTimeout=0\nMinJobAge=5\n"
#define SEC INT64_C(1000)

struct due { /* the end of a job, or a node that went down, to be delivered */
    char who[24];
    unsigned told;
    bool crashed; /* a crash during the delivery */
};

struct history {
    struct fixture *f;
    unsigned seed;
    VEC(struct due) fini; /* by job, whose one trigger fires once */
    VEC(uint32_t) jobs;   /* running jobs */
    bool down[NODES];
    unsigned downs[NODES], told[NODES]; /* for a permanent trigger */
    bool untold[NODES];
};

static unsigned draw_number(struct history *h, unsigned below)
{
    h->seed = h->seed * 1103515245 + 12345;
    return (h->seed >> 16) % below;
}

static void set_trigger(struct history *h, uint32_t types, uint32_t job, uint32_t flags,
                        char *program)
{
    Pb__TriggerRecord m = PB__TRIGGER_RECORD__INIT;
    m.types = types;
    m.flags = flags;
    m.has_job_id = job != 0;
    m.job_id = job;
    m.program = program;
    control_trigger_set(h->f->control, ++h->f->last_call, &FIXTURE_ROOT, &m);
    fixture_turn(h->f);
    assert_int_equal(fixture_code(h->f, h->f->last_call), 0);
}

static struct due *find_due(struct history *h, const char *who)
{
    vec_foreach (&h->fini, d)
        if (strcmp(d->who, who) == 0)
            return d;
    return NULL;
}

static void submit_job(struct history *h)
{
    int64_t id = fixture_submit(h->f, &FIXTURE_USER, NULL);
    struct due d = {.told = 0};
    if (id <= 0)
        return;
    snprintf(d.who, sizeof d.who, "%lld", (long long)id);
    vec_push(&h->fini, d);
    vec_push(&h->jobs, (uint32_t)id);
    set_trigger(h, TRIGGER_FINI, (uint32_t)id, draw_number(h, 4) ? 0 : TRIGGER_PERM,
                (char *)"/fini");
}

static void end_job(struct history *h)
{
    Pb__JobSignal s = PB__JOB_SIGNAL__INIT;
    Pb__StepId id = PB__STEP_ID__INIT, *ids = &id;
    if (!h->jobs.len)
        return;
    unsigned at = draw_number(h, (unsigned)h->jobs.len);
    id.job_id = h->jobs.data[at];
    vec_remove(&h->jobs, at);
    s.target = &ids;
    s.n_target = 1;
    control_job_signal(h->f->control, ++h->f->last_call, &FIXTURE_ROOT, &s);
    fixture_turn(h->f);
}

static void flip_node(struct history *h)
{
    unsigned i = draw_number(h, NODES);
    char name[8];
    snprintf(name, sizeof name, "n%u", i + 1);
    h->down[i] = !h->down[i];
    if (h->down[i]) {
        h->downs[i]++;
        h->untold[i] = true;
    }
    assert_int_equal(fixture_update_node(h->f, name, h->down[i] ? "DOWN" : "RESUME", "x"), 0);
}

/* A requested program is being delivered from now on. */
static void note_delivery(struct history *h, const struct fixture_script *s, bool crashed)
{
    char who[64];
    snprintf(who, sizeof who, "%.*s", (int)strcspn(str_cstr(&s->argv), "\n"), str_cstr(&s->argv));
    if (strcmp(s->path, "/fini") == 0) {
        struct due *d = find_due(h, who);
        assert_non_null(d);
        d->told++;
        d->crashed = d->crashed || crashed;
        return;
    }
    struct hostlist *list = NULL;
    assert_int_equal(hostlist_parse(who, &list, NULL), 0);
    for (unsigned i = 0; i < NODES; i++) {
        char name[8];
        snprintf(name, sizeof name, "n%u", i + 1);
        if (hostlist_find(list, name) >= 0) {
            h->told[i]++;
            h->untold[i] = false;
        }
    }
    hostlist_free(list);
}

static void end_program(struct history *h)
{
    if (!h->f->scripts.len)
        return;
    note_delivery(h, &vec_last(&h->f->scripts), false);
    fixture_script_ended(h->f, PB__SCRIPT_KIND__SCRIPT_TRIGGER, vec_last(&h->f->scripts).job_id,
                         draw_number(h, 5) ? 0 : 1 << 8);
}

/* A running program may or may not have finished. */
static void crash_controller(struct history *h)
{
    vec_foreach (&h->f->scripts, s)
        if (draw_number(h, 2))
            note_delivery(h, s, true);
    fixture_restart(h->f);
}

static void take_step(struct history *h)
{
    switch (draw_number(h, 10)) {
    case 0:
    case 1:
        submit_job(h);
        break;
    case 2:
    case 3:
        end_job(h);
        break;
    case 4:
    case 5:
        flip_node(h);
        break;
    case 6:
        crash_controller(h);
        break;
    case 7:
        fixture_pass(h->f, draw_number(h, 20) * SEC);
        break;
    default:
        end_program(h);
    }
}

static void settle_history(struct history *h)
{
    while (h->jobs.len)
        end_job(h);
    for (int i = 0; i < 4; i++) {
        while (h->f->scripts.len)
            end_program(h);
        fixture_pass(h->f, 20 * SEC);
    }
}

static void check_history(struct history *h, unsigned seed)
{
    vec_foreach (&h->fini, d)
        if (d->told == 0 || (d->told > 1 && !d->crashed))
            fail_msg("history %u: the end of job %s was told %u times", seed, d->who, d->told);
    for (unsigned i = 0; i < NODES; i++)
        if (h->untold[i] || (h->downs[i] && !h->told[i]))
            fail_msg("history %u: that n%u is down was not told", seed, i + 1);
    size_t left = 0;
    vec_foreach (&h->f->records, r)
        left += r->kind == RECORD_TRIGGER;
    if (left != 1)
        fail_msg("history %u: %zu triggers are left, not one", seed, left);
}

static void every_trigger_of_a_random_history_fires_once(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= HISTORIES; seed++) {
        struct history h = {.f = fixture_new(LINES), .seed = seed};
        set_trigger(&h, TRIGGER_DOWN, 0, TRIGGER_PERM, (char *)"/down");
        for (int i = 0; i < STEPS; i++)
            take_step(&h);
        settle_history(&h);
        check_history(&h, seed);
        vec_done(&h.fini);
        vec_done(&h.jobs);
        fixture_free(h.f);
    }
}

int main(void)
{
    const struct CMUnitTest list[] = {
        cmocka_unit_test(every_trigger_of_a_random_history_fires_once)};
    return cmocka_run_group_tests(list, NULL, NULL);
}
