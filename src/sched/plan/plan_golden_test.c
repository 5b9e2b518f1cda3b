/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cases as texts that people can read and add: see tests/plans/README.md. The argument is their
 * directory. */
#include <dirent.h>
#include <stdio.h>

#include "base/path.h"
#include "sched/sched_test_util.h"

enum { NOW = 1000, LIMIT_SEC = 60 };

enum section { PART_NONE, PART_CLUSTER, PART_RUNNING, PART_QUEUE, PART_PLAN };
static const char *const heads[] = {"", "cluster", "running", "queue", "plan"};

struct golden {
    const char *file;
    struct str conf, plan; /* plan: the expected decisions, one per line */
    VEC(char *) running;
    VEC(char *) queue;
    bool builtin;
};

static const char *directory;

static void wrong(const struct golden *g, const char *what, const char *line)
{
    fail_msg("%s: %s: '%s'", g->file, what, line);
}

/* --- reading -----------------------------------------------------------------------------------
 */

static void take_line(struct golden *g, enum section part, char *line)
{
    switch (part) {
    case PART_CLUSTER:
        if (str_eq(line, "SchedulerType=sched/builtin"))
            g->builtin = true;
        str_printf(&g->conf, "%s\n", line);
        break;
    case PART_RUNNING:
        vec_push(&g->running, line);
        break;
    case PART_QUEUE:
        vec_push(&g->queue, line);
        break;
    case PART_PLAN:
        str_printf(&g->plan, "%s\n", line);
        break;
    case PART_NONE:
        wrong(g, "a line before 'cluster'", line);
    }
}

static void read_golden(struct golden *g, char *text)
{
    enum section part = PART_NONE;
    char *save = NULL;
    str_puts(&g->conf, CONS);
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        bool head = line[0] != ' ';
        line = str_trim(line);
        if (!*line || *line == '#')
            continue;
        if (!head) {
            take_line(g, part, line);
            continue;
        }
        size_t i = 1;
        while (i < COUNT(heads) && !str_eq(heads[i], line))
            i++;
        if (i == COUNT(heads))
            wrong(g, "neither cluster, running, queue nor plan", line);
        part = (enum section)i;
    }
    if (!g->queue.len || !g->plan.len)
        wrong(g, "a queue and a plan are needed", "");
}

/* Parses "7 n1:2 n2:2/100 until 50": cores of nodes, with MiB, and the end relative to now;
 * optionally followed by " part=q since=20 L=x:1": its partition, its run time so far, and its
 * licences. */
static void add_running(const struct golden *g, struct cluster *c, char *line)
{
    char *where, *until = strstr(line, " until ");
    uint32_t id = (uint32_t)strtoul(line, &where, 10);
    if (!id || !until || *where != ' ')
        wrong(g, "not of the form 'ID NODE:CORES... until SECONDS'", line);
    *until = '\0';
    char *more;
    int64_t end_at = NOW + strtoll(until + 7, &more, 10);
    struct job *j = test_job(c, id, "");
    for (char *save = NULL, *w = strtok_r(more, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        if (str_starts(w, "part="))
            j->part = cluster_find_part(c, w + 5);
        else if (str_starts(w, "since="))
            attempt_make(j)->start_at = NOW - strtoll(w + 6, NULL, 10);
        else if (!str_starts(w, "L=") || license_read(c, w + 2, &j->want.licenses, NULL) != 0)
            wrong(g, "neither part= nor since= nor L=, licences", w);
    }
    assert_non_null(j->part);
    test_run_job(c, j, where + 1, end_at);
}

/* Parses "8 part=q time=100 N=2 n=4"; words that are not in this list are words of
 * sched_test_util.h. */
static void add_waiting(const struct golden *g, struct cluster *c, char *line)
{
    struct str words = STR_INIT;
    int64_t limit = LIMIT_SEC, time_min = 0;
    uint32_t id = (uint32_t)strtoul(line, &line, 10), priority = 1000000 - id;
    char *save = NULL;
    if (!id)
        wrong(g, "a job without a number", line);
    for (char *w = strtok_r(line, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        if (str_starts(w, "part="))
            str_printf(&words, "%sp=%s", words.len ? " " : "", w + 5);
        else if (str_starts(w, "time="))
            limit = str_eq(w, "time=UNLIMITED") ? INT64_MAX : strtoll(w + 5, NULL, 10);
        else if (str_starts(w, "time-min="))
            time_min = strtoll(w + 9, NULL, 10);
        else if (str_starts(w, "priority="))
            priority = (uint32_t)strtoul(w + 9, NULL, 10);
        else
            str_printf(&words, "%s%s", words.len ? " " : "", w);
    }
    struct job *j = test_job(c, id, str_cstr(&words));
    j->time_min_sec = time_min;
    for (uint32_t i = 0; i < job_partitions_count(j); i++) {
        job_partitions_select(j, i);
        j->limit_sec = limit;
        j->priority = priority;
        job_partitions_queue(j);
    }
    job_partitions_select_first(j);
    str_done(&words);
}

/* --- planning ----------------------------------------------------------------------------------
 */

static void put_places(const struct cluster *c, const struct selection *s, struct str *out)
{
    vec_foreach (&s->shares, share) {
        str_printf(out, " %s:%u", c->nodes.data[share->node]->name, share->units);
        if (share->amounts.mem_mib)
            str_printf(out, "/%llu", (unsigned long long)share->amounts.mem_mib);
    }
}

static void put_decision(const struct cluster *c, const struct decision *d, struct str *out)
{
    str_printf(out, "%u ", d->job->id);
    if (d->kind == PLAN_START) {
        str_puts(out, d->backfilled ? "slips in on" : "starts on");
        put_places(c, &d->where, out);
        if (d->limit_sec)
            str_printf(out, " for %lld", (long long)d->limit_sec);
    } else {
        str_printf(out, "waits: %s", d->detail ? d->detail : reason_word(d->reason));
        for (size_t i = 0; i < d->n_victims; i++)
            str_printf(out, "%s%u", i ? " " : ", has room made by ", d->victims[i]);
        if (d->start_at)
            str_printf(out, ", to start in %lld", (long long)(d->start_at - NOW));
    }
    str_putc(out, '\n');
}

static void begin(struct cluster *c, const struct decision *d)
{
    struct job *j = test_follow(c, d);
    j->limit_sec = d->limit_sec ? d->limit_sec : j->limit_sec;
    int64_t limit = job_limit_sec(j);
    vec_foreach (&d->where.shares, share) {
        struct alloc_want want = share_want(&d->where, share);
        assert_int_equal(alloc_place(c, j, &want, NULL), 0);
    }
    job_partitions_end(j);
    assert_int_equal(job_set_state(c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL), 0);
    order_insert(&c->ends, &attempt_make(j)->ends, NOW + limit, j->id);
}

static void plan_all(struct cluster *c, bool backfill, struct str *out)
{
    struct plan p;
    struct decision d;
    plan_begin(&p, c, NULL, NOW, backfill);
    while (plan_next(&p, &d)) {
        put_decision(c, &d, out);
        if (d.kind == PLAN_START)
            begin(c, &d);
        plan_decision_done(&d);
        free(d.detail);
    }
    plan_end(&p);
    test_sound(c);
}

static void try_file(const char *name)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", directory, name);
    struct golden g = {.file = path};
    struct str text = STR_INIT, got = STR_INIT;
    struct err err = {0};
    if (path_read_file(path, 1 << 20, &text, &err) != 0)
        fail_msg("%s", err.text);
    str_putc(&text, '\0');
    read_golden(&g, text.data);
    struct cluster *c = test_cluster(str_cstr(&g.conf));
    test_up(c);
    vec_foreach (&g.running, line)
        add_running(&g, c, *line);
    vec_foreach (&g.queue, line)
        add_waiting(&g, c, *line);
    plan_all(c, !g.builtin, &got);
    if (!str_eq(str_cstr(&got), str_cstr(&g.plan)))
        fail_msg("%s: expected\n%sand the plan is\n%s", path, str_cstr(&g.plan), str_cstr(&got));
    test_cluster_free(c);
    str_done(&text);
    str_done(&got);
    str_done(&g.conf);
    str_done(&g.plan);
    vec_done(&g.running);
    vec_done(&g.queue);
}

static void recorded_plans_are_unchanged(void **state)
{
    struct dirent **names;
    int n = scandir(directory, &names, NULL, alphasort), tried = 0;
    (void)state;
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        const char *end = strrchr(names[i]->d_name, '.');
        if (end && str_eq(end, ".txt")) {
            try_file(names[i]->d_name);
            tried++;
        }
        free(names[i]);
    }
    free(names);
    print_message("%d cases\n", tried);
    assert_true(tried > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recorded_plans_are_unchanged)};
    if (argc != 2) {
        fprintf(stderr, "usage: plan_golden_test DIRECTORY\n");
        return 2;
    }
    directory = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
