/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The Standard Workload Format: a line of 18 numbers for each job, -1 for an unknown value, and
 * comments that start with a semicolon; some comments are "Field: value".
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "cluster/index/idmap.h"
#include "cluster/node/shape.h"
#include "sim/study/trace.h"

enum {
    SWF_NUMBER,
    SWF_SUBMIT,
    SWF_WAIT,
    SWF_RUN,
    SWF_PROCS,
    SWF_CPU,
    SWF_MEM,
    SWF_WANT_PROCS,
    SWF_WANT_TIME,
    SWF_WANT_MEM,
    SWF_STATUS,
    SWF_USER,
    SWF_GROUP,
    SWF_EXE,
    SWF_QUEUE,
    SWF_PART,
    SWF_AFTER,
    SWF_THINK,
    SWF_FIELDS
};

static const struct { /* range of a field's values besides -1 */
    const char *name;
    double min, max;
} fields[SWF_FIELDS] = {
    [SWF_NUMBER] = {"job number", 0, UINT32_MAX},
    [SWF_SUBMIT] = {"submit time", 0, 4e9},
    [SWF_WAIT] = {"wait time", 0, 4e9},
    [SWF_RUN] = {"run time", 0, 4e9},
    [SWF_PROCS] = {"number of allocated processors", 0, 100e6},
    [SWF_CPU] = {"average CPU time used", 0, 1e15},
    [SWF_MEM] = {"used memory", 0, 1e15},
    [SWF_WANT_PROCS] = {"requested number of processors", 0, 100e6},
    [SWF_WANT_TIME] = {"requested time", 0, 4e9},
    [SWF_WANT_MEM] = {"requested memory", 0, 1e15},
    [SWF_STATUS] = {"status", 0, 5},
    [SWF_USER] = {"user", 0, 2e9},
    [SWF_GROUP] = {"group", 0, 2e9},
    [SWF_EXE] = {"executable", 0, 2e9},
    [SWF_QUEUE] = {"queue", 0, 2e9},
    [SWF_PART] = {"partition", 0, 2e9},
    [SWF_AFTER] = {"preceding job", 0, UINT32_MAX},
    [SWF_THINK] = {"think time", 0, 4e9},
};

enum {
    STATUS_FAILED,
    STATUS_COMPLETED,
    STATUS_PARTIAL,
    STATUS_LAST,
    STATUS_LAST_FAILED,
    STATUS_CANCELLED
};

static const char *const left_texts[TRACE_LEFT_END] = {
    [TRACE_USED] = "used",
    [TRACE_NO_PROCS] = "no number of processors",
    [TRACE_NO_RUN] = "no run time",
    [TRACE_CANCELLED] = "cancelled before it began",
    [TRACE_PARTIAL] = "a part of a job that is there as a whole",
};

const char *trace_left_text(enum trace_left why)
{
    return left_texts[why];
}

const char *trace_name(const struct trace *t, bool part, int32_t number)
{
    vec_foreach (&t->names, n)
        if (n->part == part && n->number == number)
            return n->name;
    return NULL;
}

static void add_fault(struct trace *t, uint32_t line, const char *text)
{
    t->bad++;
    if (t->faults.len < TRACE_TOLD)
        vec_push(&t->faults, ((struct trace_fault){line, arena_strdup(&t->arena, text)}));
}

/* --- header ------------------------------------------------------------------------------------
 */

/* "Queue: 3 long" names a queue. */
static void read_queue_name(struct trace *t, bool part, const char *value)
{
    int number, used = 0;
    char name[64];
    if (sscanf(value, "%d %63s%n", &number, name, &used) != 2 || number < 0)
        return;
    vec_push(&t->names, ((struct trace_name){part, number, arena_strdup(&t->arena, name)}));
}

/* "JobSpec: 42 min_nodes=2 ...", for the job on the next line. */
static void read_shape(struct trace *t, uint32_t line, char *value)
{
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    struct err err = {0};
    char *words = value + strcspn(value, " ");
    long long number;
    if (*words)
        *words++ = '\0';
    if (str_parse_i64(value, 0, UINT32_MAX, &number) != 0) {
        add_fault(t, line, "JobSpec is of no job number");
    } else if (shape_parse(words, &t->arena, &spec, &err) != 0) {
        add_fault(t, line, err.text);
    } else {
        t->shape_of = number;
        t->shape = arena_strdup(&t->arena, words);
    }
}

static void read_comment(struct trace *t, uint32_t line, char *text)
{
    long long begin;
    char *value = strchr(text, ':');
    if (!value)
        return;
    *value++ = '\0';
    value = str_trim(value);
    text = str_trim(text);
    if (str_case_eq(text, "UnixStartTime")) {
        if (str_parse_i64(value, 0, INT64_C(1) << 40, &begin) == 0)
            t->begins_at = begin;
        else
            add_fault(t, line, "UnixStartTime is not a number of seconds");
    } else if (str_case_eq(text, "JobSpec")) {
        read_shape(t, line, value);
    } else if (str_case_eq(text, "Queue") || str_case_eq(text, "Partition")) {
        read_queue_name(t, str_case_eq(text, "Partition"), value);
    }
}

/* --- jobs --------------------------------------------------------------------------------------
 */

/* An integer or a decimal fraction; no other syntax of strtod(). */
static bool read_swf_number(const char *word, double *out)
{
    char *end;
    if (word[strspn(word, "+-.0123456789")])
        return false;
    errno = 0;
    *out = strtod(word, &end);
    return end != word && !*end && errno == 0;
}

/* Returns the error, or NULL. */
static char *read_fields(struct trace *t, char *text, double v[SWF_FIELDS])
{
    char *save = NULL;
    int n = 0;
    for (char *w = strtok_r(text, " \t\r", &save); w; w = strtok_r(NULL, " \t\r", &save), n++) {
        if (n >= SWF_FIELDS)
            continue;
        if (!read_swf_number(w, &v[n]))
            return arena_printf(&t->arena, "field %d (%s): '%.40s' is not a number", n + 1,
                                fields[n].name, w);
        if (v[n] != -1 && (v[n] < fields[n].min || v[n] > fields[n].max))
            return arena_printf(&t->arena,
                                "field %d (%s): %.40s is not -1, nor between %.0f and "
                                "%.0f",
                                n + 1, fields[n].name, w, fields[n].min, fields[n].max);
    }
    if (n != SWF_FIELDS)
        return arena_printf(&t->arena, "%d fields; a job has %d", n, SWF_FIELDS);
    if (v[SWF_NUMBER] < 0 || v[SWF_SUBMIT] < 0)
        return arena_printf(&t->arena, "it has no %s",
                            v[SWF_NUMBER] < 0 ? "job number" : "submit time");
    return NULL;
}

static enum trace_left find_use(const double v[SWF_FIELDS])
{
    bool cancelled = v[SWF_STATUS] == STATUS_CANCELLED;
    if (v[SWF_STATUS] >= STATUS_PARTIAL && !cancelled)
        return TRACE_PARTIAL;
    if (cancelled && v[SWF_RUN] <= 0)
        return TRACE_CANCELLED;
    if (v[SWF_RUN] < 0)
        return TRACE_NO_RUN;
    return v[SWF_PROCS] > 0 || v[SWF_WANT_PROCS] > 0 ? TRACE_USED : TRACE_NO_PROCS;
}

static uint32_t known_or_zero(double value)
{
    return value < 0 ? 0 : (uint32_t)value;
}

static int64_t round_up(double value)
{
    int64_t whole = (int64_t)value;
    return whole + ((double)whole < value);
}

static void add_trace_job(struct trace *t, uint32_t line, const double v[SWF_FIELDS])
{
    enum trace_left why = find_use(v);
    t->left[why]++;
    if (why != TRACE_USED)
        return;
    double procs = v[SWF_WANT_PROCS] > 0 ? v[SWF_WANT_PROCS] : v[SWF_PROCS];
    double mem = v[SWF_WANT_MEM] > 0 ? v[SWF_WANT_MEM] : v[SWF_MEM];
    vec_push(&t->jobs,
             ((struct trace_job){
                 .number = (int64_t)v[SWF_NUMBER],
                 .submit_sec = (int64_t)v[SWF_SUBMIT],
                 .run_sec = round_up(v[SWF_RUN]),
                 .limit_sec = v[SWF_WANT_TIME] > 0 ? round_up(v[SWF_WANT_TIME]) : 0,
                 .after = v[SWF_AFTER] > 0 ? (int64_t)v[SWF_AFTER] : 0,
                 .think_sec = known_or_zero(v[SWF_THINK]),
                 .mem_kib = mem > 0 ? (uint64_t)mem : 0,
                 .procs = (uint32_t)procs,
                 .user = known_or_zero(v[SWF_USER]),
                 .group = known_or_zero(v[SWF_GROUP]),
                 .exe = (int32_t)v[SWF_EXE],
                 .queue = (int32_t)v[SWF_QUEUE],
                 .part = (int32_t)v[SWF_PART],
                 .failed = v[SWF_STATUS] == STATUS_FAILED,
                 .shape = t->shape && t->shape_of == (int64_t)v[SWF_NUMBER] ? t->shape : NULL,
                 .line = line,
             }));
}

static void read_job(struct trace *t, uint32_t line, char *text, struct idmap *seen)
{
    double v[SWF_FIELDS] = {0};
    uint32_t before;
    const char *fault = read_fields(t, text, v);
    if (!fault && idmap_get(seen, (uint64_t)v[SWF_NUMBER] + 1, &before))
        fault =
            arena_printf(&t->arena, "job number %.0f is on line %u, too", v[SWF_NUMBER], before);
    if (fault) {
        add_fault(t, line, fault);
        return;
    }
    idmap_set(seen, (uint64_t)v[SWF_NUMBER] + 1, line);
    add_trace_job(t, line, v);
}

static int by_submission(const void *a, const void *b)
{
    const struct trace_job *x = a, *y = b;
    if (x->submit_sec != y->submit_sec)
        return x->submit_sec < y->submit_sec ? -1 : 1;
    return x->line < y->line ? -1 : 1;
}

int trace_parse(const char *path, char *text, struct trace *t, struct err *err)
{
    struct idmap seen = {0};
    uint32_t line = 0;
    *t = (struct trace){.path = path};
    arena_init(&t->arena, 0);
    for (char *at = text, *next; at && *at; at = next) {
        next = strchr(at, '\n');
        if (next)
            *next++ = '\0';
        line++;
        at = str_trim(at);
        if (*at == ';')
            read_comment(t, line, at + 1);
        else if (*at)
            read_job(t, line, at, &seen);
    }
    idmap_done(&seen);
    if (t->jobs.len)
        qsort(t->jobs.data, t->jobs.len, sizeof *t->jobs.data, by_submission);
    if (t->jobs.len)
        return 0;
    if (t->faults.len)
        err_set(err, -ERR_PARSE, "%s:%u: %s; no line of it is a job", path, t->faults.data[0].line,
                t->faults.data[0].text);
    else
        err_set(err, -ERR_PARSE, "%s: no job in the file can run", path);
    trace_done(t);
    return -ERR_PARSE;
}

int trace_read(const char *path, struct trace *t, struct err *err)
{
    struct str text = STR_INIT;
    int rc = path_read_text(path, TRACE_BYTES, &text, err);
    str_putc(&text, '\0');
    if (rc == 0)
        rc = trace_parse(path, text.data, t, err);
    str_done(&text);
    return rc;
}

void trace_done(struct trace *t)
{
    vec_done(&t->jobs);
    vec_done(&t->names);
    vec_done(&t->faults);
    arena_done(&t->arena);
}
