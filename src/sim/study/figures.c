/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/study/figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"

static const struct { /* by the node count of a job */
    uint32_t first;
    const char *name;
} classes[FIGURES_CLASSES] = {
    {1, "1"},       {2, "2-4"},        {5, "5-16"},         {17, "17-64"},
    {65, "65-256"}, {257, "257-1024"}, {1025, "1025-4096"}, {4097, "more"},
};

unsigned figures_class(uint32_t nodes)
{
    unsigned i = FIGURES_CLASSES - 1;
    while (i > 0 && nodes < classes[i].first)
        i--;
    return i;
}

const char *figures_class_name(unsigned class)
{
    return classes[class].name;
}

/* --- sets of jobs ------------------------------------------------------------------------------
 */

struct sample {
    VEC(double) waits;
    VEC(double) slows;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The smallest value that is not exceeded by 'per_cent' per cent of the values. */
static double find_quantile(const double *sorted, size_t n, unsigned per_cent)
{
    size_t at = (n * per_cent + 99) / 100;
    return sorted[at ? at - 1 : 0];
}

static double find_mean(const double *values, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum / (double)n;
}

static void make_set(struct sample *s, struct figures_set *set)
{
    size_t n = set->jobs = s->waits.len;
    if (n) {
        qsort(s->waits.data, n, sizeof(double), by_value);
        qsort(s->slows.data, n, sizeof(double), by_value);
        set->wait_mean_sec = find_mean(s->waits.data, n);
        set->wait_median_sec = find_quantile(s->waits.data, n, 50);
        set->wait_p95_sec = find_quantile(s->waits.data, n, 95);
        set->wait_max_sec = s->waits.data[n - 1];
        set->slow_mean = find_mean(s->slows.data, n);
        set->slow_median = find_quantile(s->slows.data, n, 50);
        set->slow_p95 = find_quantile(s->slows.data, n, 95);
        set->slow_max = s->slows.data[n - 1];
    }
    vec_done(&s->waits);
    vec_done(&s->slows);
}

static void add_sample(struct sample *s, double wait, double slow)
{
    vec_push(&s->waits, wait);
    vec_push(&s->slows, slow);
}

static double bounded_slowdown(const struct replay_job *j)
{
    double wait = (double)(j->start_sec - j->submit_sec);
    double ran = (double)(j->end_sec - j->start_sec);
    double slow = (wait + ran) / (ran > FIGURES_BOUND_SEC ? ran : FIGURES_BOUND_SEC);
    return slow > 1 ? slow : 1;
}

/* --- reasons of jobs that did not run ----------------------------------------------------------
 */

/* Reasons that differ only after the colon, in numbers and names, are counted as one; the first
 * text is shown. */
static void add_why(struct figures *f, const char *text, bool refused)
{
    size_t len = strcspn(text, ":");
    vec_foreach (&f->why, w)
        if (w->refused == refused && strcspn(w->text, ":") == len &&
            strncmp(w->text, text, len) == 0) {
            w->jobs++;
            return;
        }
    vec_push(&f->why, ((struct figures_why){text, 1, refused}));
}

static int by_count(const void *a, const void *b)
{
    const struct figures_why *x = a, *y = b;
    if (x->jobs != y->jobs)
        return x->jobs > y->jobs ? -1 : 1;
    return strcmp(x->text, y->text);
}

/* --- all of it ---------------------------------------------------------------------------------
 */

static double share_used(const struct replay *r, int64_t until_sec)
{
    double had = 0;
    double all = (double)r->cpus * (double)(until_sec - r->first_sec);
    vec_foreach (&r->attempts, a) {
        int64_t end = a->end_sec < until_sec ? a->end_sec : until_sec;
        if (end > a->start_sec)
            had += (double)a->cpus * (double)(end - a->start_sec);
    }
    return all > 0 ? had / all : 0;
}

static void count_job(struct figures *f, const struct replay_job *j, struct sample *all,
                      struct sample *by_class)
{
    if (j->fate == REPLAY_REFUSED || j->fate == REPLAY_WAITS) {
        bool refused = j->fate == REPLAY_REFUSED;
        f->refused += refused;
        f->waiting += !refused;
        add_why(f, j->why ? j->why : "None", refused);
        return;
    }
    double wait = (double)(j->start_sec - j->submit_sec), slow = bounded_slowdown(j);
    f->killed += j->fate == REPLAY_KILLED;
    f->restarted += j->restarts > 0;
    add_sample(all, wait, slow);
    add_sample(&by_class[figures_class(j->nodes)], wait, slow);
}

void figures_make(const struct replay *r, const char *conf, struct figures *f)
{
    struct sample all = {0}, by_class[FIGURES_CLASSES] = {0};
    *f = (struct figures){.r = r, .conf = conf};
    for (size_t i = 0; i < r->trace->jobs.len; i++)
        count_job(f, &r->jobs[i], &all, by_class);
    make_set(&all, &f->all);
    for (unsigned i = 0; i < FIGURES_CLASSES; i++)
        make_set(&by_class[i], &f->classes[i]);
    f->makespan_sec = r->end_sec - r->first_sec;
    f->used = share_used(r, r->end_sec);
    f->used_while = share_used(r, r->last_submit_sec);
    if (f->why.len)
        qsort(f->why.data, f->why.len, sizeof *f->why.data, by_count);
}

void figures_done(struct figures *f)
{
    vec_done(&f->why);
}

/* --- rows --------------------------------------------------------------------------------------
 */

enum form { FORM_COUNT, FORM_TIME, FORM_SHARE, FORM_RATIO };

#define OF_SET(member) offsetof(struct figures_set, member)
static const struct { /* columns of a set of jobs */
    const char *name, *json;
    size_t at;
    enum form form;
} set_rows[] = {
    {"waiting, mean", "wait_mean_sec", OF_SET(wait_mean_sec), FORM_TIME},
    {"waiting, median", "wait_median_sec", OF_SET(wait_median_sec), FORM_TIME},
    {"waiting, 95 % within", "wait_p95_sec", OF_SET(wait_p95_sec), FORM_TIME},
    {"waiting, longest", "wait_max_sec", OF_SET(wait_max_sec), FORM_TIME},
    {"bounded slowdown, mean", "slowdown_mean", OF_SET(slow_mean), FORM_RATIO},
    {"bounded slowdown, median", "slowdown_median", OF_SET(slow_median), FORM_RATIO},
    {"bounded slowdown, 95 %", "slowdown_p95", OF_SET(slow_p95), FORM_RATIO},
    {"bounded slowdown, worst", "slowdown_max", OF_SET(slow_max), FORM_RATIO},
};
#define SET_ROWS (sizeof set_rows / sizeof *set_rows)

static double of_set(const struct figures_set *s, size_t row)
{
    return *(const double *)((const char *)s + set_rows[row].at);
}

static const char *format_value(double v, enum form form, char buf[TIME_TEXT_MAX])
{
    switch (form) {
    case FORM_TIME:
        return time_format_short((int64_t)(v + 0.5), buf);
    case FORM_SHARE:
        snprintf(buf, TIME_TEXT_MAX, "%.1f %%", v * 100);
        return buf;
    case FORM_RATIO:
        snprintf(buf, TIME_TEXT_MAX, "%.2f", v);
        return buf;
    case FORM_COUNT:
        break;
    }
    snprintf(buf, TIME_TEXT_MAX, "%.0f", v);
    return buf;
}

/* --- text --------------------------------------------------------------------------------------
 */

static void add_row(struct str *out, const char *name, const double *values, size_t count,
                    enum form form)
{
    char buf[TIME_TEXT_MAX];
    str_printf(out, "%-29s", name);
    for (size_t i = 0; i < count; i++) {
        str_printf(out, " %14s", format_value(values[i], form, buf));
        if (i > 0 && values[0] > 0 && form != FORM_SHARE)
            str_printf(out, " %+8.1f %%", (values[i] / values[0] - 1) * 100);
        else if (i > 0 && form == FORM_SHARE)
            str_printf(out, " %+10.1f", (values[i] - values[0]) * 100);
        else if (i > 0)
            str_printf(out, " %10s", "");
    }
    while (out->len && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
    str_putc(out, '\n');
}

#define ROW(name, form, expr)                                                                      \
    do {                                                                                           \
        for (size_t i = 0; i < count; i++)                                                         \
            v[i] = (double)(expr);                                                                 \
        add_row(out, name, v, count, form);                                                        \
    } while (0)

static void format_all(const struct figures *f, size_t count, struct str *out)
{
    _cleanup_free_ double *v = mem_new_array(double, count);
    ROW("jobs that ran", FORM_COUNT, f[i].all.jobs);
    ROW("  killed at their limits", FORM_COUNT, f[i].killed);
    ROW("  begun more than once", FORM_COUNT, f[i].restarted);
    ROW("jobs refused", FORM_COUNT, f[i].refused);
    ROW("jobs that never began", FORM_COUNT, f[i].waiting);
    ROW("makespan", FORM_TIME, f[i].makespan_sec);
    ROW("utilisation", FORM_SHARE, f[i].used);
    ROW("  to the last submission", FORM_SHARE, f[i].used_while);
    for (size_t row = 0; row < SET_ROWS; row++)
        ROW(set_rows[row].name, set_rows[row].form, of_set(&f[i].all, row));
}

/* One replay: a table of sizes. Several: the important figures of each size side by side. */
static void format_classes(const struct figures *f, struct str *out)
{
    char a[TIME_TEXT_MAX], b[TIME_TEXT_MAX], c[TIME_TEXT_MAX];
    str_printf(out, "\n%-12s %9s %12s %12s %12s %10s %10s %10s\n", "nodes", "jobs", "wait mean",
               "95 %", "longest", "slowdown", "median", "95 %");
    for (unsigned i = 0; i < FIGURES_CLASSES; i++) {
        const struct figures_set *s = &f->classes[i];
        if (s->jobs)
            str_printf(out, "%-12s %9zu %12s %12s %12s %10.2f %10.2f %10.2f\n",
                       figures_class_name(i), s->jobs, format_value(s->wait_mean_sec, FORM_TIME, a),
                       format_value(s->wait_p95_sec, FORM_TIME, b),
                       format_value(s->wait_max_sec, FORM_TIME, c), s->slow_mean, s->slow_median,
                       s->slow_p95);
    }
}

static void compare_classes(const struct figures *f, size_t count, struct str *out)
{
    _cleanup_free_ double *v = mem_new_array(double, count);
    for (unsigned k = 0; k < FIGURES_CLASSES; k++) {
        size_t jobs = 0;
        char name[64];
        for (size_t i = 0; i < count; i++)
            jobs += f[i].classes[k].jobs;
        if (jobs == 0)
            continue;
        str_printf(out, "\n%s node%s\n", figures_class_name(k), k ? "s" : "");
        snprintf(name, sizeof name, "  jobs");
        ROW(name, FORM_COUNT, f[i].classes[k].jobs);
        ROW("  waiting, mean", FORM_TIME, f[i].classes[k].wait_mean_sec);
        ROW("  bounded slowdown, mean", FORM_RATIO, f[i].classes[k].slow_mean);
    }
}

static void format_why(const struct figures *f, struct str *out)
{
    if (f->why.len)
        str_puts(out, "\nnot run:\n");
    vec_foreach (&f->why, w)
        str_printf(out, "%9zu  %s%s: %s\n", w->jobs, w->refused ? "refused" : "never began",
                   w->jobs > 1 && strchr(w->text, ':') ? ", as the first" : "", w->text);
}

static void format_trace(const struct trace *t, struct str *out)
{
    char span[TIME_TEXT_MAX];
    int64_t sec = vec_last(&t->jobs).submit_sec - t->jobs.data[0].submit_sec;
    str_printf(out, "trace    %s: %zu jobs in %s", t->path, t->jobs.len,
               time_format_short(sec, span));
    if (t->bad)
        str_printf(out, ", %zu bad line%s", t->bad, t->bad == 1 ? "" : "s");
    str_putc(out, '\n');
    for (int i = TRACE_USED + 1; i < TRACE_LEFT_END; i++)
        if (t->left[i])
            str_printf(out, "         left out: %zu, %s\n", t->left[i],
                       trace_left_text((enum trace_left)i));
}

void figures_format(const struct figures *f, size_t count, struct str *out)
{
    format_trace(f->r->trace, out);
    for (size_t i = 0; i < count; i++) {
        str_puts(out, "cluster  ");
        if (count > 1)
            str_printf(out, "%c: ", (int)('A' + i));
        str_printf(out, "%s of %s: %u nodes, %u CPUs\n", f[i].r->cluster, f[i].conf, f[i].r->nodes,
                   f[i].r->cpus);
    }
    str_putc(out, '\n');
    if (count > 1) {
        str_printf(out, "%-29s %14s", "", "A");
        for (size_t i = 1; i < count; i++)
            str_printf(out, " %14c %10s", (int)('A' + i), "change");
        str_putc(out, '\n');
    }
    format_all(f, count, out);
    if (count == 1)
        format_classes(f, out);
    else
        compare_classes(f, count, out);
    for (size_t i = 0; i < count; i++)
        format_why(&f[i], out);
}

static int by_time(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

void figures_format_timing(const struct figures *f, struct str *out)
{
    size_t n = f->r->turn_ms.len;
    double sum = 0;
    if (n == 0)
        return;
    float *ms = mem_dup(f->r->turn_ms.data, n * sizeof *ms);
    qsort(ms, n, sizeof *ms, by_time);
    for (size_t i = 0; i < n; i++)
        sum += (double)ms[i];
    str_printf(out,
               "slurmsim: %s: %.2f s of CPU; %zu moments planned in %.2f s: median %.3f ms, 99th "
               "percentile %.3f ms, most %.3f ms\n",
               f->conf, f->r->cpu_sec, n, sum / 1e3, (double)ms[n / 2], (double)ms[n * 99 / 100],
               (double)ms[n - 1]);
    free(ms);
}

/* --- JSON --------------------------------------------------------------------------------------
 */

static json_t *set_json(const struct figures_set *s)
{
    json_t *o = json_object();
    json_object_set_new(o, "jobs", json_integer((json_int_t)s->jobs));
    for (size_t row = 0; row < SET_ROWS; row++)
        json_object_set_new(o, set_rows[row].json, json_real(of_set(s, row)));
    return o;
}

static json_t *why_json(const struct figures *f)
{
    json_t *list = json_array();
    vec_foreach (&f->why, w)
        json_array_append_new(list, json_pack("{s:I, s:b, s:s}", "jobs", (json_int_t)w->jobs,
                                              "refused", (int)w->refused, "reason", w->text));
    return list;
}

static json_t *run_json(const struct figures *f)
{
    json_t *sizes = json_array();
    for (unsigned i = 0; i < FIGURES_CLASSES; i++) {
        if (!f->classes[i].jobs)
            continue;
        json_t *o = set_json(&f->classes[i]);
        json_object_set_new(o, "nodes", json_string(figures_class_name(i)));
        json_array_append_new(sizes, o);
    }
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:o, s:o, s:o}",
                     "conf", f->conf, "cluster", f->r->cluster, "nodes", (json_int_t)f->r->nodes,
                     "cpus", (json_int_t)f->r->cpus, "killed", (json_int_t)f->killed, "restarted",
                     (json_int_t)f->restarted, "refused", (json_int_t)f->refused, "never_began",
                     (json_int_t)f->waiting, "makespan_sec", (json_int_t)f->makespan_sec,
                     "utilisation", f->used, "utilisation_to_last_submission", f->used_while, "all",
                     set_json(&f->all), "by_nodes", sizes, "not_run", why_json(f));
}

json_t *figures_json(const struct figures *f, size_t count)
{
    const struct trace *t = f->r->trace;
    json_t *runs = json_array(), *left = json_object();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(runs, run_json(&f[i]));
    for (int i = TRACE_USED + 1; i < TRACE_LEFT_END; i++)
        json_object_set_new(left, trace_left_text((enum trace_left)i),
                            json_integer((json_int_t)t->left[i]));
    return json_pack("{s:{s:s, s:I, s:I, s:o}, s:o}", "trace", "file", t->path, "jobs",
                     (json_int_t)t->jobs.len, "bad_lines", (json_int_t)t->bad, "left_out", left,
                     "runs", runs);
}
