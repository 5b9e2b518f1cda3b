/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/stream/journal.h"

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "slurmstepd/step/step.h"
#include "slurmstepd/stream/srun.h"
#include "slurmstepd/stream/stream.h"
#include "slurmstepd/stream/stream_file.h"

#define LOG_ROOM "slurmstepd"
#include "base/log.h"

/* Opens the file again, because tasks share the file description of 'fd'. A pipe accepts a short
   line as a whole. */
static bool write_now(int fd, const char *line)
{
    _cleanup_free_ char *path = mem_printf("/proc/self/fd/%d", fd);
    _cleanup_close_ int own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    return own >= 0 && write(own, line, strlen(line)) > 0;
}

/* Never blocks on a full pipe or terminal: a child process writes if there is no space now. The
 * child may be killed with the step before it has written. */
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

/* Returns the stream for lines of ours if it is still read; NULL: the task's file, or none. */
static struct stream *find_stream(struct task *t)
{
    struct stream *s = t->is_pty ? &t->out : &t->err;
    bool is_lost = s->ended || (s->file && !stream_file_is_set(s->file));

    return t->step->is_batch || is_lost ? NULL : s;
}

/* A task may have closed its standard error, or ended, long before the others. */
void journal_say(struct step *step, const char *line)
{
    for (size_t i = 0; i < step->task_count; i++)
        if (find_stream(&step->tasks[i]) || step->tasks[i].error_fd >= 0) {
            journal_say_to_task(&step->tasks[i], line);
            return;
        }
    if (step->task_count)
        srun_send_data(step, step->tasks[0].id, STDERR_FILENO, line, strlen(line));
}

static void print_on_terminal(struct stream *s, const char *line)
{
    _cleanup_str_ struct str text = STR_INIT;

    for (; *line; line++) {
        if (*line == '\n')
            str_putc(&text, '\r');
        str_putc(&text, *line);
    }
    stream_say(s, str_cstr(&text));
}

void journal_say_to_task(struct task *t, const char *line)
{
    struct stream *s = find_stream(t);

    if (s && t->is_pty)
        print_on_terminal(s, line);
    else if (s)
        stream_say(s, line);
    else if (t->error_fd >= 0)
        write_aside(t->error_fd, line);
}

void journal_error(const struct step *step, const char *fmt, ...)
{
    struct log_options options = {.program = "slurmstepd",
                                  .file = step->log_file,
                                  .file_level = LOG_LVL_ERROR,
                                  .syslog_level = step->log_file ? LOG_LVL_QUIET : LOG_LVL_ERROR};
    _cleanup_str_ struct str line = STR_INIT;
    va_list ap;

    if (log_open(&options))
        return;
    va_start(ap, fmt);
    str_vprintf(&line, fmt, ap);
    va_end(ap);
    log_error("%s", str_cstr(&line));
    log_close();
}

bool journal_tells(const struct step *step, enum log_level level)
{
    return level <= step->debug_level;
}

void journal_tell(struct step *step, enum log_level level, const char *fmt, ...)
{
    const char *kind = level <= LOG_LVL_ERROR ? "error: " : level >= LOG_LVL_DEBUG ? "debug: " : "";
    _cleanup_str_ struct str line = STR_INIT;
    va_list ap;

    if (!journal_tells(step, level))
        return;
    str_printf(&line, "slurmstepd: %s%s: ", kind, step->node);
    va_start(ap, fmt);
    str_vprintf(&line, fmt, ap);
    va_end(ap);
    str_putc(&line, '\n');
    if (step_is_starting(step))
        str_puts(&step->early_messages, str_cstr(&line));
    else
        journal_say(step, str_cstr(&line));
}

void journal_begin(struct step *step)
{
    if (step->early_messages.len)
        journal_say(step, str_cstr(&step->early_messages));
    str_done(&step->early_messages);
}
