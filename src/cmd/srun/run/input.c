/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cmd/srun/option/names.h"
#include "cmd/srun/run/command.h"
#include "cmd/srun/run/peers.h"
#include "cmd/srun/run/run.h"
#include "launch/feed.h"
#include "launch/terminal.h"

#define EVERY_TASK 0xffffffffu

/* srun's standard input, or a file that srun opens, for the tasks of all parts that name it. */
struct source {
    struct input *input;
    char *name; /* of a file; NULL: srun's standard input */
    int fd;     /* of a file; otherwise -1 */
    struct feed *feed;
    bool escapes; /* a terminal: escape commands are recognised */
    struct escape escape;
    bool started, ended;
    struct peers_takers takers;
};

/* The input of a part of the step. */
struct asked {
    enum names_kind kind;
    const char *spec;
    uint32_t task; /* the only one with input, or EVERY_TASK */
    char mode[16]; /* as in LaunchTasks */
};

struct input {
    struct run *run;
    VEC(struct source *) sources;
    struct asked *asked; /* by part */
    uint32_t parts;
    /* Tasks without input on nodes where other tasks have input. */
    struct peers_takers without_input;
    bool paused;
};

/* A stdin that is /dev/null or closed need not be sent. */
static bool is_nothing(int fd)
{
    struct stat st;

    return fstat(fd, &st) < 0 || (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
}

static void make_takers(const struct run *run, struct peers_takers *t)
{
    t->tasks = mem_new_array(bool, run->step->num_tasks);
    t->nodes = mem_new_array(enum peers_share, run->step->n_layout);
}

/* Call when the layout of the tasks is known. */
static void count_takers(const struct run *run, struct peers_takers *t)
{
    for (size_t i = 0; i < run->step->n_layout; i++) {
        const struct Pb__StepNode *n = run->step->layout[i];
        size_t count = 0;

        for (size_t k = 0; k < n->n_task_ids; k++)
            count += t->tasks[n->task_ids[k]];
        t->nodes[i] = count == 0               ? PEERS_NO_TASK
                      : count == n->n_task_ids ? PEERS_ALL_TASKS
                                               : PEERS_SOME_TASKS;
    }
}

static void drop_takers(struct peers_takers *t)
{
    free(t->tasks);
    free(t->nodes);
}

/* One source per file, and one for srun's standard input. */
static struct source *get_source(struct input *in, const char *name)
{
    struct source *s;

    vec_foreach (&in->sources, known)
        if (str_eq((*known)->name, name))
            return *known;
    s = mem_new(struct source);
    s->input = in;
    s->name = mem_strdup(name);
    s->fd = -1;
    make_takers(in->run, &s->takers);
    vec_push(&in->sources, s);
    return s;
}

static int open_file(struct input *in, uint32_t part, struct source **out, struct err *err)
{
    const struct run *run = in->run;
    const struct run_options *options = run_part_options(run, part);
    const struct names_values values = {
        .job_id = run->job_id,
        .step_id = run->step_id,
        .submit_at_sec = run->step->submit_at,
        .uid = options->job->has_uid ? options->job->uid : getuid(),
        .job_name = options->job_name,
    };
    _cleanup_str_ struct str name = STR_INIT;
    int code = names_expand(in->asked[part].spec, &values, &name, err);

    if (code < 0)
        return code;
    *out = get_source(in, str_cstr(&name));
    if ((*out)->fd < 0)
        (*out)->fd = open(str_cstr(&name), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return (*out)->fd >= 0 ? 0
                           : err_set(err, -ERR_OPEN_IO, "Could not open stdin file %s: %s",
                                     str_cstr(&name), strerror(errno));
}

/* Adds the tasks of the part that read from srun to this source. */
static void add_takers(struct input *in, uint32_t part, struct source *s)
{
    const struct asked *a = &in->asked[part];

    for (uint32_t task = 0; task < in->run->step->num_tasks; task++)
        if (shared_part_of_task(in->run, task) == part &&
            (a->task == EVERY_TASK || a->task == task))
            s->takers.tasks[task] = true;
}

static int open_part(struct input *in, uint32_t part, struct err *err)
{
    const struct run *run = in->run;
    struct asked *a = &in->asked[part];
    struct source *s = NULL;
    int code = 0;

    a->spec = run_part_options(run, part)->input;
    a->task = EVERY_TASK;
    a->kind = names_kind(a->spec, &a->task);
    if (a->kind == NAMES_DEFAULT && run->options->pty)
        a->task = 0;
    if (a->kind == NAMES_FILE)
        code = open_file(in, part, &s, err);
    else if (a->kind == NAMES_TASK && a->task >= run->step->num_tasks)
        code = err_set(err, -ERR_RANGE, "Invalid value for --input: there is no task %u of %u",
                       a->task, run->step->num_tasks);
    else if (a->kind == NAMES_DEFAULT && !run->options->pty && is_nothing(STDIN_FILENO))
        a->kind = NAMES_NONE;
    if (code == 0 && (a->kind == NAMES_DEFAULT || a->kind == NAMES_TASK))
        s = get_source(in, NULL);
    if (code == 0 && s != NULL)
        add_takers(in, part, s);
    if (a->kind == NAMES_NONE)
        snprintf(a->mode, sizeof(a->mode), "none");
    else if (a->task != EVERY_TASK)
        snprintf(a->mode, sizeof(a->mode), "%u", a->task);
    else
        snprintf(a->mode, sizeof(a->mode), "all");
    return code;
}

/* If parts that share nodes differ, all tasks on those nodes have a pipe; the pipes of tasks
 * without input are closed at once. */
static void find_tasks_without_input(struct input *in)
{
    const struct run *run = in->run;

    make_takers(run, &in->without_input);
    for (uint32_t task = 0; in->parts > 1 && task < run->step->num_tasks; task++) {
        bool takes = false;

        vec_foreach (&in->sources, s)
            takes |= (*s)->takers.tasks[task];
        in->without_input.tasks[task] = !takes;
    }
    count_takers(run, &in->without_input);
}

int input_open(struct run *run, struct input **out, struct err *err)
{
    struct input *in = mem_new(struct input);
    int code = 0;

    in->run = run;
    in->parts = run_count_parts(run);
    in->asked = mem_new_array(struct asked, in->parts);
    for (uint32_t part = 0; code == 0 && part < in->parts; part++)
        code = open_part(in, part, err);
    vec_foreach (&in->sources, s)
        count_takers(run, &(*s)->takers);
    find_tasks_without_input(in);
    if (code < 0) {
        input_free(in);
        return code;
    }
    *out = in;
    return 0;
}

void input_free(struct input *in)
{
    if (in == NULL)
        return;
    vec_foreach (&in->sources, at) {
        struct source *s = *at;

        feed_free(s->feed);
        if (s->fd >= 0)
            close(s->fd);
        drop_takers(&s->takers);
        free(s->name);
        free(s);
    }
    vec_done(&in->sources);
    drop_takers(&in->without_input);
    free(in->asked);
    free(in);
}

static void send_input_data(struct source *s, const void *data, size_t len)
{
    s->ended = len == 0;
    peers_send_input(s->input->run->peers, &s->takers, data, len);
}

static void on_typed(struct source *s, const void *data, size_t len)
{
    _cleanup_str_ struct str rest = STR_INIT;

    if (len == 0)
        escape_end(&s->escape, &rest);
    else if (escape_take(&s->escape, data, len, &rest) == ESCAPE_BACKGROUND)
        s->input->run->on->background(s->input->run);
    if (rest.len > 0)
        send_input_data(s, rest.data, rest.len);
    if (len == 0)
        send_input_data(s, NULL, 0);
}

static void on_input_data(void *ctx, const void *data, size_t len)
{
    struct source *s = ctx;

    if (s->escapes)
        on_typed(s, data, len);
    else
        send_input_data(s, data, len);
}

static void start_source(struct source *s)
{
    struct run *run = s->input->run;

    if (s->started || s->ended)
        return;
    s->started = true;
    s->escapes = s->fd < 0 && isatty(STDIN_FILENO);
    escape_init(&s->escape, ESCAPE_BACKGROUND_ONLY, run->terminal != NULL);
    s->feed = feed_new(run->loop, s->fd >= 0 ? s->fd : STDIN_FILENO, on_input_data, s);
    feed_pause(s->feed, s->input->paused);
}

void input_start(struct input *in)
{
    peers_send_input(in->run->peers, &in->without_input, NULL, 0);
    vec_foreach (&in->sources, s)
        start_source(*s);
}

void input_pause(struct input *in, bool paused)
{
    in->paused = paused;
    vec_foreach (&in->sources, s)
        if ((*s)->feed != NULL)
            feed_pause((*s)->feed, paused);
}

static void stop_source(struct source *s)
{
    feed_free(s->feed);
    s->feed = NULL;
    s->ended = true;
}

void input_stop(struct input *in)
{
    vec_foreach (&in->sources, s)
        stop_source(*s);
}

void input_leave(struct input *in)
{
    vec_foreach (&in->sources, at) {
        struct source *s = *at;
        bool was_typed = s->fd < 0 && s->started && !s->ended;

        if (!was_typed)
            continue;
        if (!in->run->options->pty)
            peers_send_input(in->run->peers, &s->takers, NULL, 0);
        stop_source(s);
    }
}

const char *input_mode(const struct input *in, uint32_t part)
{
    const char *mode = in->asked[part].mode;

    for (uint32_t i = 0; i < in->parts; i++)
        if (i != part && !str_eq(in->asked[i].mode, mode) && shared_starts(in->run, part, i))
            return "all";
    return mode;
}

const char *input_node_file(const struct input *in, uint32_t part)
{
    return in->asked[part].kind == NAMES_ON_NODE ? in->asked[part].spec : NULL;
}
