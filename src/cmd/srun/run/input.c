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
#include "cmd/srun/option/names.h"
#include "cmd/srun/run/background.h"
#include "cmd/srun/run/peers.h"
#include "cmd/srun/run/run.h"
#include "launch/escape.h"
#include "launch/feed.h"

struct input {
    struct run *run;
    enum names_kind kind;
    const char *spec;
    uint32_t task;
    char mode[16];
    int fd; /* of a file */
    struct feed *feed;
    bool escapes; /* a terminal, where commands may be typed */
    struct escape escape;
    bool started, paused, ended;
};

/* A stdin that is /dev/null or closed need not be sent. */
static bool is_nothing(int fd)
{
    struct stat st;

    return fstat(fd, &st) < 0 || (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
}

static int open_file(struct input *in, struct err *err)
{
    const struct run *run = in->run;
    const struct names_values values = {
        .job_id = run->job_id,
        .step_id = run->step_id,
        .uid = run->options->job->has_uid ? run->options->job->uid : getuid(),
        .job_name = run->options->job_name,
    };
    struct str name = STR_INIT;
    int code = names_expand(in->spec, &values, &name, err);

    if (!code)
        in->fd = open(str_cstr(&name), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (!code && in->fd < 0)
        code = err_set(err, -ERR_OPEN_IO, "Could not open stdin file %s: %s", str_cstr(&name),
                       strerror(errno));
    str_done(&name);
    return code;
}

int input_open(struct run *run, struct input **out, struct err *err)
{
    struct input *in = mem_new(struct input);
    int code = 0;

    in->run = run;
    in->fd = -1;
    in->spec = run->options->input;
    in->task = INPUT_ALL_TASKS;
    in->kind = names_kind(in->spec, &in->task);
    if (in->kind == NAMES_DEFAULT && run->options->pty)
        in->task = 0;
    if (in->kind == NAMES_FILE)
        code = open_file(in, err);
    else if (in->kind == NAMES_TASK && in->task >= run->step->num_tasks)
        code = err_set(err, -ERR_RANGE, "Invalid value for --input: there is no task %u of %u",
                       in->task, run->step->num_tasks);
    else if (in->kind == NAMES_DEFAULT && !run->options->pty && is_nothing(STDIN_FILENO))
        in->kind = NAMES_NONE;
    if (code < 0) {
        input_free(in);
        return code;
    }
    if (in->kind == NAMES_NONE)
        snprintf(in->mode, sizeof(in->mode), "none");
    else if (in->task != INPUT_ALL_TASKS)
        snprintf(in->mode, sizeof(in->mode), "%u", in->task);
    else
        snprintf(in->mode, sizeof(in->mode), "all");
    *out = in;
    return 0;
}

void input_free(struct input *in)
{
    if (in == NULL)
        return;
    feed_free(in->feed);
    if (in->fd >= 0)
        close(in->fd);
    free(in);
}

static void send_data(struct input *in, const void *data, size_t len)
{
    in->ended = len == 0;
    peers_send_input(in->run->peers, in->task, data, len);
}

static void on_typed(struct input *in, const void *data, size_t len)
{
    _cleanup_str_ struct str rest = STR_INIT;

    if (len == 0)
        escape_end(&in->escape, &rest);
    else if (escape_take(&in->escape, data, len, &rest) == ESCAPE_BACKGROUND)
        background_ask(in->run);
    if (rest.len > 0)
        send_data(in, rest.data, rest.len);
    if (len == 0)
        send_data(in, NULL, 0);
}

static void on_data(void *ctx, const void *data, size_t len)
{
    struct input *in = ctx;

    if (in->escapes)
        on_typed(in, data, len);
    else
        send_data(in, data, len);
}

void input_start(struct input *in)
{
    if (in->started || in->ended || in->kind == NAMES_NONE || in->kind == NAMES_ON_NODE)
        return;
    in->started = true;
    in->escapes = in->fd < 0 && isatty(STDIN_FILENO);
    escape_init(&in->escape, ESCAPE_BACKGROUND_ONLY, in->run->terminal != NULL);
    in->feed = feed_new(in->run->loop, in->fd >= 0 ? in->fd : STDIN_FILENO, on_data, in);
    feed_pause(in->feed, in->paused);
}

void input_pause(struct input *in, bool paused)
{
    in->paused = paused;
    if (in->feed != NULL)
        feed_pause(in->feed, paused);
}

void input_stop(struct input *in)
{
    feed_free(in->feed);
    in->feed = NULL;
    in->ended = true;
}

void input_leave(struct input *in)
{
    bool was_typed = in->fd < 0 && in->started && !in->ended;

    if (!was_typed)
        return;
    if (!in->run->options->pty)
        peers_send_input(in->run->peers, in->task, NULL, 0);
    input_stop(in);
}

uint32_t input_task(const struct input *in)
{
    return in->task;
}

const char *input_mode(const struct input *in)
{
    return in->mode;
}

const char *input_node_pattern(const struct input *in)
{
    return in->kind == NAMES_ON_NODE ? in->spec : NULL;
}
