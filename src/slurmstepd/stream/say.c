/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/stream/say.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "slurmstepd/stream/srun.h"
#include "slurmstepd/stream/stream.h"
#include "slurmstepd/stream/stream_file.h"

/* By a description of our own: tasks share that of 'fd'. A pipe takes a short line as a whole. */
static bool write_now(int fd, const char *line)
{
    _cleanup_free_ char *path = mem_printf("/proc/self/fd/%d", fd);
    _cleanup_close_ int own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    return own >= 0 && write(own, line, strlen(line)) > 0;
}

/* Not blocked by what stands at the other end of a pipe or a terminal: a child writes there when
 * there is no room now. A child may be killed with the step before it has written. */
static void write_aside(int fd, const char *line)
{
    struct stat st = {0};
    pid_t pid;

    if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
        path_write_all(fd, line, strlen(line));
        return;
    }
    if (S_ISFIFO(st.st_mode) && write_now(fd, line))
        return;
    pid = fork();
    if (pid == 0) {
        path_write_all(fd, line, strlen(line));
        _exit(0);
    }
}

/* Where lines of ours go: a stream that is still read, NULL for the task's file or nothing. */
static struct stream *find_stream(struct task *t)
{
    struct stream *s = t->is_pty ? &t->out : &t->err;
    bool is_lost = s->ended || (s->file && !stream_file_is_set(s->file));

    return t->step->is_batch || is_lost ? NULL : s;
}

/* A task may have closed its standard error, or have ended, long before the others. */
void say_to_step(struct step *step, const char *line)
{
    for (size_t i = 0; i < step->task_count; i++)
        if (find_stream(&step->tasks[i]) || step->tasks[i].error_fd >= 0) {
            say_to_task(&step->tasks[i], line);
            return;
        }
    if (step->task_count)
        srun_send_data(step, step->tasks[0].id, STDERR_FILENO, line, strlen(line));
}

static void say_on_terminal(struct stream *s, const char *line)
{
    _cleanup_str_ struct str text = STR_INIT;

    for (; *line; line++) {
        if (*line == '\n')
            str_putc(&text, '\r');
        str_putc(&text, *line);
    }
    stream_say(s, str_cstr(&text));
}

void say_to_task(struct task *t, const char *line)
{
    struct stream *s = find_stream(t);

    if (s && t->is_pty)
        say_on_terminal(s, line);
    else if (s)
        stream_say(s, line);
    else if (t->error_fd >= 0)
        write_aside(t->error_fd, line);
}
