/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/study/study.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "sim/study/figures.h"
#include "sim/study/picture.h"

#define FILE_MODE 0644

static int print_error(const struct err *err)
{
    fprintf(stderr, "slurmsim: error: %s\n", err->text);
    return 1;
}

static void tell_faults(const struct trace *t)
{
    vec_foreach (&t->faults, f)
        fprintf(stderr, "slurmsim: warning: %s:%u: %s\n", t->path, f->line, f->text);
    if (t->bad > t->faults.len)
        fprintf(stderr, "slurmsim: warning: %s: %zu more bad lines\n", t->path,
                t->bad - t->faults.len);
}

static int write_file(const char *path, const struct str *text)
{
    struct err err = {0};
    return path_write_file(path, text->data, text->len, FILE_MODE, &err) == 0 ? 0
                                                                              : print_error(&err);
}

/* --- reports ------------------------------------------------------------------------------
 */

static void print_json(const struct figures *f, unsigned count)
{
    json_t *root = figures_json(f, count);
    json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(root);
}

static void print_text(const struct figures *f, unsigned count)
{
    struct str out = STR_INIT;
    figures_format(f, count, &out);
    fputs(str_cstr(&out), stdout);
    str_done(&out);
}

static int write_pictures(const struct study *s, const struct figures *f, unsigned count)
{
    struct str out = STR_INIT;
    int status = 0;
    if (s->gantt) {
        picture_svg(&f[0], &out);
        status |= write_file(s->gantt, &out);
    }
    if (s->html) {
        str_clear(&out);
        picture_html(f, count, &out);
        status |= write_file(s->html, &out);
    }
    str_done(&out);
    return status;
}

/* Writes the result of each job in the trace's format. */
static int write_schedule(const struct study *s, const struct replay *r)
{
    struct str out = STR_INIT;
    assert(r);
    str_printf(&out, "; Computer: %s\n; UnixStartTime: %lld\n; MaxNodes: %u\n; MaxProcs: %u\n",
               r->cluster, (long long)r->trace->begins_at, r->nodes, r->cpus);
    for (size_t i = 0; i < r->trace->jobs.len; i++) {
        const struct trace_job *t = &r->trace->jobs.data[i];
        const struct replay_job *j = &r->jobs[i];
        bool ran = j->fate == REPLAY_ENDED || j->fate == REPLAY_KILLED;
        str_printf(
            &out, "%lld %lld %lld %lld %lld -1 -1 %u %lld %lld %d %u %u %d %d %d %lld %lld\n",
            (long long)t->number, (long long)(ran ? j->submit_sec : t->submit_sec),
            ran ? (long long)(j->start_sec - j->submit_sec) : -1LL,
            ran ? (long long)(j->end_sec - j->start_sec) : -1LL, ran ? (long long)j->cpus : -1LL,
            t->procs, t->limit_sec ? (long long)t->limit_sec : -1LL,
            t->mem_kib ? (long long)t->mem_kib : -1LL,
            !ran                       ? 5
            : j->fate == REPLAY_KILLED ? 0
                                       : !t->failed,
            t->user, t->group, t->exe, t->queue, t->part, t->after ? (long long)t->after : -1LL,
            t->after ? (long long)t->think_sec : -1LL);
    }
    int status = write_file(s->schedule, &out);
    str_done(&out);
    return status;
}

static int print_figures(const struct study *s, const struct figures *f, unsigned count)
{
    struct str timing = STR_INIT;
    int status = write_pictures(s, f, count);
    if (s->schedule)
        status |= write_schedule(s, f[0].r);
    if (s->json)
        print_json(f, count);
    else
        print_text(f, count);
    for (unsigned i = 0; i < count && s->timing; i++)
        figures_format_timing(&f[i], &timing);
    fflush(stdout);
    fputs(str_cstr(&timing), stderr);
    str_done(&timing);
    return status;
}

/* --- running -----------------------------------------------------------------------------------
 */

static int replay_all(const struct study *s, const struct trace *t, struct replay *replays,
                      struct figures *figures)
{
    for (unsigned i = 0; i < s->conf_count; i++) {
        struct replay_options o = {.think = s->think,
                                   .places = i == 0 ? s->gantt || s->html : s->html != NULL,
                                   .verbose = s->verbose,
                                   .path = s->confs[i]};
        struct str warnings = STR_INIT;
        struct err err = {0};
        int rc = replay_run(t, &o, &replays[i], &warnings, &err);
        if (rc == 0 && warnings.len)
            fputs(str_cstr(&warnings), stderr);
        str_done(&warnings);
        if (rc != 0)
            return print_error(&err);
        figures_make(&replays[i], s->confs[i], &figures[i]);
    }
    return 0;
}

int study_run(const struct study *given)
{
    struct study s = *given;
    struct replay replays[STUDY_CONFS] = {0};
    struct figures figures[STUDY_CONFS] = {0};
    struct trace trace;
    struct err err = {0};
    _cleanup_free_ char *own = s.confs[0] ? NULL : conf_path();
    if (own)
        s.confs[0] = own;
    if (trace_read(s.trace, &trace, &err) != 0)
        return print_error(&err);
    tell_faults(&trace);
    int status = replay_all(&s, &trace, replays, figures);
    if (status == 0)
        status = print_figures(&s, figures, s.conf_count);
    for (unsigned i = 0; i < s.conf_count; i++) {
        figures_done(&figures[i]);
        replay_done(&replays[i]);
    }
    trace_done(&trace);
    return status;
}
