/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/output.h"

#include <errno.h>
#include <unistd.h>

#include "base/lines.h"
#include "base/mem.h"
#include "cmd/srun/option/names.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/run/run.h"
#include "launch/sink.h"

struct stream {
    struct output *output;
    enum names_kind kind;
    const char *spec;
    uint32_t only_task; /* NAMES_TASK */
    struct sink *sink;  /* NULL: nothing comes here */
    bool borrowed;      /* stderr goes into stdout's file */
    struct lines *lines;
};

struct output {
    struct run *run;
    struct stream streams[2];
};

static void on_drained(void *ctx)
{
    struct output *o = ctx;

    if (!output_is_full(o))
        run_on_output_drained(o->run);
}

static void on_broken(void *ctx, const struct err *why)
{
    struct output *o = ctx;

    if (why->code == -EPIPE)
        run_on_output_broken(o->run);
    else
        run_on_output_lost(o->run, why);
    run_on_output_drained(o->run);
}

static void on_lines(void *ctx, const void *data, size_t len)
{
    struct stream *s = ctx;

    sink_write(s->sink, data, len);
}

static const char *stream_name(int number)
{
    return number == 1 ? "stdout" : "stderr";
}

static int open_file(struct output *o, int number, const struct sink_events *events,
                     struct err *err)
{
    const struct run *run = o->run;
    struct stream *s = &o->streams[number - 1];
    const struct names_values values = {
        .job_id = run->job_id,
        .step_id = run->step_id,
        .uid = run->options->job->has_uid ? run->options->job->uid : getuid(),
        .job_name = run->options->job_name,
    };
    struct str name = STR_INIT;
    int code;

    code = names_expand(s->spec, &values, &name, err);
    if (!code)
        code = sink_of_file(run->loop, str_cstr(&name), stream_name(number), run->options->append,
                            events, &s->sink, err);
    str_done(&name);
    return code;
}

static int open_stream(struct output *o, int number, const char *spec, struct err *err)
{
    struct stream *s = &o->streams[number - 1];
    const struct sink_events events = {.on_drained = on_drained, .on_broken = on_broken, .ctx = o};
    uint32_t tasks = o->run->step->num_tasks;

    s->output = o;
    s->spec = spec;
    s->kind = names_kind(spec, &s->only_task);
    if (s->kind == NAMES_DEFAULT && o->run->options->pty)
        s->kind = NAMES_TASK; /* task 0, who has the terminal */
    if (s->kind == NAMES_NONE || s->kind == NAMES_ON_NODE)
        return 0;
    /* Nobody would ever write there; that a spawned step has fewer tasks is no mistake. */
    if (s->kind == NAMES_TASK && s->only_task >= tasks && !o->run->options->order)
        return err_set(err, -ERR_RANGE, "Invalid value for --%s: there is no task %u of %u",
                       number == 1 ? "output" : "error", s->only_task, tasks);
    if (number == 2 && s->kind == NAMES_FILE && str_eq(spec, o->streams[0].spec)) {
        s->sink = o->streams[0].sink;
        s->borrowed = true;
    } else if (s->kind == NAMES_FILE) {
        int code = open_file(o, number, &events, err);

        if (code < 0)
            return code;
    } else {
        s->sink = sink_of_fd(o->run->loop, number, stream_name(number), &events);
    }
    s->lines = lines_new(&(struct lines_options){
        .tasks = tasks,
        .label = o->run->options->label,
        .direct = o->run->options->unbuffered || tasks == 1,
        .out = on_lines,
        .ctx = s,
    });
    return 0;
}

int output_open(struct run *run, struct output **out, struct err *err)
{
    struct output *o = mem_new(struct output);
    uint32_t task;
    const char *error = run->options->error;
    int code;

    o->run = run;
    if (error == NULL && names_kind(run->options->output, &task) != NAMES_DEFAULT)
        error = run->options->output;
    code = open_stream(o, 1, run->options->output, err);
    if (code == 0)
        code = open_stream(o, 2, error, err);
    if (code < 0) {
        output_free(o);
        return code;
    }
    *out = o;
    return 0;
}

void output_free(struct output *o)
{
    if (o == NULL)
        return;
    for (int i = 0; i < 2; i++) {
        lines_free(o->streams[i].lines);
        if (!o->streams[i].borrowed)
            sink_free(o->streams[i].sink);
    }
    free(o);
}

void output_data(struct output *o, uint32_t task, uint32_t stream, const void *data, size_t len)
{
    struct stream *s;

    if (stream < 1 || stream > 2)
        return;
    s = &o->streams[stream - 1];
    if (s->lines == NULL || (s->kind == NAMES_TASK && task != s->only_task))
        return;
    if (len == 0)
        lines_end(s->lines, task);
    else
        lines_add(s->lines, task, data, len);
}

void output_task_end(struct output *o, uint32_t task)
{
    for (uint32_t stream = 1; stream <= 2; stream++)
        output_data(o, task, stream, NULL, 0);
}

void output_move(struct output *o, int number, int fd, const char *name)
{
    struct stream *s = &o->streams[number - 1];

    if (s->sink == NULL || s->borrowed || s->kind == NAMES_FILE)
        close(fd);
    else
        sink_move(s->sink, fd, name);
}

bool output_is_full(const struct output *o)
{
    for (int i = 0; i < 2; i++)
        if (o->streams[i].sink != NULL && sink_backlog(o->streams[i].sink) > SINK_HIGH)
            return true;
    return false;
}

bool output_is_empty(const struct output *o)
{
    for (int i = 0; i < 2; i++)
        if (o->streams[i].sink != NULL && sink_backlog(o->streams[i].sink) > 0)
            return false;
    return true;
}

void output_drop(struct output *o)
{
    for (int i = 0; i < 2; i++)
        if (o->streams[i].sink != NULL)
            sink_drop(o->streams[i].sink);
}

const char *output_node_pattern(const struct output *o, int stream)
{
    const struct stream *s = &o->streams[stream - 1];

    if (s->kind == NAMES_NONE)
        return "/dev/null";
    return s->kind == NAMES_ON_NODE ? s->spec : NULL;
}
