/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/output.h"

#include <errno.h>
#include <unistd.h>

#include "base/lines.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cmd/srun/option/names.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/run/command.h"
#include "cmd/srun/run/run.h"
#include "launch/sink.h"

/* A destination: a file, or srun's own stdout or stderr. */
struct place {
    char *name; /* of a file; NULL: a stream of srun */
    int number; /* 1 or 2, of srun's stream */
    struct sink *sink;
    struct lines *lines[2]; /* of the tasks' stdout and stderr; or NULL */
};

/* The stdout or stderr of a part's tasks. */
struct stream {
    enum names_kind kind;
    const char *spec;
    uint32_t only_task;  /* NAMES_TASK */
    struct place *place; /* NULL: srun gets no such output */
};

struct output {
    struct run *run;
    VEC(struct place *) places;
    struct stream (*streams)[2]; /* by part */
    uint32_t parts;
};

static void on_output_drained(void *ctx)
{
    struct output *o = ctx;

    if (!output_is_full(o))
        o->run->on->output_drained(o->run);
}

static void on_broken(void *ctx, const struct err *why)
{
    struct output *o = ctx;

    if (why->code == -EPIPE)
        o->run->on->output_broken(o->run);
    else
        o->run->on->output_lost(o->run, why);
    o->run->on->output_drained(o->run);
}

static void on_lines(void *ctx, const void *data, size_t len)
{
    struct place *p = ctx;

    sink_write(p->sink, data, len);
}

static const char *stream_name(int number)
{
    return number == 1 ? "stdout" : "stderr";
}

static struct place *find_output_place(const struct output *o, const char *name, int number)
{
    vec_foreach (&o->places, p)
        if (name != NULL ? str_eq((*p)->name, name) : (*p)->name == NULL && (*p)->number == number)
            return *p;
    return NULL;
}

static struct place *add_place(struct output *o, const char *name, int number, struct sink *sink)
{
    struct place *p = mem_new(struct place);

    p->name = mem_strdup(name);
    p->number = number;
    p->sink = sink;
    vec_push(&o->places, p);
    return p;
}

/* Parts that name the same file share it. */
static int open_file(struct output *o, uint32_t part, int number, const struct sink_events *events,
                     struct err *err)
{
    const struct run *run = o->run;
    const struct run_options *options = run_part_options(run, part);
    struct stream *s = &o->streams[part][number - 1];
    const struct names_values values = {
        .job_id = run->job_id,
        .step_id = run->step_id,
        .submit_at_sec = run->step->submit_at,
        .uid = options->job->has_uid ? options->job->uid : getuid(),
        .job_name = options->job_name,
    };
    _cleanup_str_ struct str name = STR_INIT;
    struct sink *sink;
    int code = names_expand(s->spec, &values, &name, err);

    if (code < 0)
        return code;
    s->place = find_output_place(o, str_cstr(&name), 0);
    if (s->place != NULL)
        return 0;
    code = sink_of_file(run->loop, str_cstr(&name), stream_name(number), options->append, events,
                        &sink, err);
    if (code == 0)
        s->place = add_place(o, str_cstr(&name), 0, sink);
    return code;
}

static int open_place(struct output *o, uint32_t part, int number, struct err *err)
{
    const struct sink_events events = {
        .on_drained = on_output_drained, .on_broken = on_broken, .ctx = o};
    struct stream *s = &o->streams[part][number - 1];

    if (s->kind == NAMES_FILE)
        return open_file(o, part, number, &events, err);
    s->place = find_output_place(o, NULL, number);
    if (s->place == NULL)
        s->place = add_place(o, NULL, number,
                             sink_of_fd(o->run->loop, number, stream_name(number), &events));
    return 0;
}

static int open_stream(struct output *o, uint32_t part, int number, const char *spec,
                       struct err *err)
{
    struct stream *s = &o->streams[part][number - 1];
    uint32_t tasks = o->run->step->num_tasks;
    int code;

    s->spec = spec;
    s->kind = names_kind(spec, &s->only_task);
    if (s->kind == NAMES_DEFAULT && o->run->options->pty)
        s->kind = NAMES_TASK; /* task 0 has the terminal */
    if (s->kind == NAMES_NONE || s->kind == NAMES_ON_NODE)
        return 0;
    /* Such a task will never exist. In a spawned step, which may have fewer tasks, that is not an
     * error. */
    if (s->kind == NAMES_TASK && s->only_task >= tasks && !o->run->options->order)
        return err_set(err, -ERR_RANGE, "Invalid value for --%s: there is no task %u of %u",
                       number == 1 ? "output" : "error", s->only_task, tasks);
    code = open_place(o, part, number, err);
    if (code < 0 || s->place->lines[number - 1] != NULL)
        return code;
    s->place->lines[number - 1] = lines_new(&(struct lines_options){
        .tasks = tasks,
        .label = o->run->options->label,
        .direct = o->run->options->unbuffered || tasks == 1,
        .out = on_lines,
        .ctx = s->place,
    });
    return 0;
}

/* Without --error both streams go to --output. */
static int open_streams(struct output *o, uint32_t part, struct err *err)
{
    const struct run_options *options = run_part_options(o->run, part);
    const char *error = options->error;
    uint32_t task;
    int code;

    if (error == NULL && names_kind(options->output, &task) != NAMES_DEFAULT)
        error = options->output;
    code = open_stream(o, part, 1, options->output, err);
    return code < 0 ? code : open_stream(o, part, 2, error, err);
}

int output_open(struct run *run, struct output **out, struct err *err)
{
    struct output *o = mem_new(struct output);
    int code = 0;

    o->run = run;
    o->parts = run_count_parts(run);
    o->streams = mem_alloc_array(o->parts, sizeof(*o->streams));
    for (uint32_t part = 0; code == 0 && part < o->parts; part++)
        code = open_streams(o, part, err);
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
    vec_foreach (&o->places, p) {
        lines_free((*p)->lines[0]);
        lines_free((*p)->lines[1]);
        sink_free((*p)->sink);
        free((*p)->name);
        free(*p);
    }
    vec_done(&o->places);
    free(o->streams);
    free(o);
}

void output_data(struct output *o, uint32_t task, uint32_t stream, const void *data, size_t len)
{
    const struct stream *s;

    if (stream < 1 || stream > 2)
        return;
    s = &o->streams[shared_part_of_task(o->run, task)][stream - 1];
    if (s->place == NULL || (s->kind == NAMES_TASK && task != s->only_task))
        return;
    if (len == 0)
        lines_end(s->place->lines[stream - 1], task);
    else
        lines_add(s->place->lines[stream - 1], task, data, len);
}

void output_task_end(struct output *o, uint32_t task)
{
    for (uint32_t stream = 1; stream <= 2; stream++)
        output_data(o, task, stream, NULL, 0);
}

void output_move(struct output *o, int number, int fd, const char *name)
{
    struct place *p = find_output_place(o, NULL, number);

    if (p == NULL)
        close(fd);
    else
        sink_move(p->sink, fd, name);
}

bool output_is_full(const struct output *o)
{
    vec_foreach (&o->places, p)
        if (sink_backlog((*p)->sink) > SINK_HIGH)
            return true;
    return false;
}

bool output_is_empty(const struct output *o)
{
    vec_foreach (&o->places, p)
        if (sink_backlog((*p)->sink) > 0)
            return false;
    return true;
}

void output_drop(struct output *o)
{
    vec_foreach (&o->places, p)
        sink_drop((*p)->sink);
}

const char *output_node_file(const struct output *o, uint32_t part, int stream)
{
    const struct stream *s = &o->streams[part][stream - 1];

    return s->kind == NAMES_ON_NODE ? s->spec : NULL;
}

const char *output_node_pattern(const struct output *o, uint32_t part, int stream)
{
    bool none = o->streams[part][stream - 1].kind == NAMES_NONE;

    for (uint32_t i = 0; i < o->parts; i++)
        if (none && i != part && shared_starts(o->run, part, i))
            none = o->streams[i][stream - 1].kind == NAMES_NONE;
    return none ? "/dev/null" : output_node_file(o, part, stream);
}
