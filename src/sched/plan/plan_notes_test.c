/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan_notes.h"

#include "sched/sched_test_util.h"

#define JOBS 150
#define PARTS 2
#define ROUNDS 4000
#define HELD 7 /* of ten jobs, the number with a note */

static const char conf[] = "NodeName=n1 CPUs=4 RealMemory=1000\n"
                           "PartitionName=p Nodes=ALL Default=YES\nPartitionName=q Nodes=ALL\n";

/* The last note for a job in a partition, and the version of its request; 0: none. */
struct model {
    int64_t start_at[PARTS];
    uint32_t version[PARTS];
};

struct world {
    struct cluster *c;
    struct job *jobs[JOBS];
    struct model planner[JOBS], query[JOBS];
    struct plan_notes notes, asked; /* asked: notes of a query on top of the planner's notes */
    uint64_t chance;
};

static int64_t expect_start(const struct world *w, uint32_t i, bool query)
{
    const struct job *j = w->jobs[i];
    size_t part = j->part == w->c->parts.data[1];
    const struct model *m = &w->query[i];
    if (query && m->start_at[part] && m->version[part] == j->request_version)
        return m->start_at[part];
    m = &w->planner[i];
    return m->version[part] == j->request_version ? m->start_at[part] : 0;
}

static void write_note(struct world *w, bool query)
{
    uint32_t i = (uint32_t)test_between(&w->chance, 0, JOBS - 1);
    struct job *j = w->jobs[i];
    if (i % 10 >= HELD)
        return;
    size_t part = j->part == w->c->parts.data[1];
    int64_t old = expect_start(w, i, query);
    struct plan_note *note = plan_note_write(query ? &w->asked : &w->notes, w->c, j);
    assert_int_equal(note->start_at, old);
    note->start_at = test_between(&w->chance, 1, 1000000);
    struct model *m = query ? &w->query[i] : &w->planner[i];
    m->start_at[part] = note->start_at;
    m->version[part] = j->request_version;
}

/* Reads all notes in the order of a queue, in each way to read. */
static void read_all(struct world *w, bool query)
{
    const struct plan_notes *n = query ? &w->asked : &w->notes;
    uint32_t next = 0;
    for (uint32_t i = 0; i < JOBS; i++) {
        const struct job *j = w->jobs[i];
        const struct plan_note *note = plan_note_read_next(n, w->c, j, &next);
        assert_ptr_equal(note, plan_note_read(n, w->c, j));
        assert_int_equal(note->start_at, expect_start(w, i, query));
    }
}

static void free_something(struct world *w)
{
    w->c->pool.freed++;
    memset(w->planner, 0, sizeof w->planner);
    memset(w->query, 0, sizeof w->query);
}

static void change_job(struct world *w)
{
    struct job *j = w->jobs[test_between(&w->chance, 0, JOBS - 1)];
    if (test_between(&w->chance, 0, 1))
        j->request_version++;
    else
        j->part = w->c->parts.data[test_between(&w->chance, 0, PARTS - 1)];
}

/* Reads equal those of a plain table without order, hashes and prediction. */
static void notes_agree_with_a_model(void **state)
{
    struct world w = {.c = test_cluster(conf), .chance = 3};
    for (uint32_t i = 0; i < JOBS; i++)
        w.jobs[i] = test_job(w.c, i + 1, "n=1");
    w.asked.under = &w.notes;

    for (unsigned round = 0; round < ROUNDS; round++) {
        int64_t what = test_between(&w.chance, 0, 1000);
        if (what < 5)
            free_something(&w);
        else if (what < 100)
            change_job(&w);
        else
            write_note(&w, what < 300);
        if (round % 20 == 0) {
            read_all(&w, false);
            read_all(&w, true);
        }
    }
    plan_notes_done(&w.asked);
    plan_notes_done(&w.notes);
    test_cluster_free(w.c);
}

/* Reads in the order of writing do not use the index, which may be empty. */
static void notes_in_order_need_no_index(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct plan_notes n = {0};
    struct job *jobs[JOBS];
    uint32_t next = 0;
    for (uint32_t i = 0; i < JOBS; i++) {
        jobs[i] = test_job(c, i + 1, "n=1");
        plan_note_write(&n, c, jobs[i])->start_at = i + 1;
    }

    memset(n.index, 0, n.room * sizeof n.index[0]);
    for (uint32_t i = 0; i < JOBS; i++) {
        assert_int_equal(plan_note_read(&n, c, jobs[i])->start_at, 0);
        assert_int_equal(plan_note_read_next(&n, c, jobs[i], &next)->start_at, i + 1);
    }
    plan_notes_done(&n);
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes_agree_with_a_model),
        cmocka_unit_test(notes_in_order_need_no_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
