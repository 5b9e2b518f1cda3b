/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_ROOM "job_submit"
#include "slurmctld/submit/submit_line.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utlist.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "slurmctld/script/scriptwire.h"
#include "slurmctld/submit/submitd.h"
#include <sluice/job_submit.h>

#define SELF "/proc/self/exe" /* the running program, even after an upgrade on disk */
#define FD_ABOVE 16
#define END_WAIT_MS (SUBMITD_END_SEC * 1000 + 1000)

_Static_assert(SUBMIT_LINE_LIMIT_MS == SLUICE_JOB_SUBMIT_SECONDS * 1000, "as the header says");

struct waiting {
    struct waiting *next, *prev;
    uint64_t number;
    uint32_t uid;
    struct str packed; /* a SubmitMessage */
};

/* The time of a caller's last question; after all others if that question hung. */
struct turn {
    UT_hash_handle hh;
    uint32_t uid;
    uint64_t number;
};

#define TURN_HUNG (UINT64_C(1) << 63)

struct helper { /* freed after its end was seen, possibly after the line */
    pid_t pid;
    struct submit_line *line; /* NULL: the line was freed */
};

struct submit_line {
    struct loop *loop;
    void (*on_answer)(void *ctx, const Pb__SubmitAnswer *a);
    void *ctx;
    struct helper *helper; /* NULL: none */
    int fd;
    struct loop_fd *watch;
    struct loop_timer *limit, *restart_timer;
    int64_t started_ms;
    struct str in, out, setup;
    struct waiting *all; /* if 'asked' is set, the first is in the helper */
    struct turn *turns;  /* per caller, while questions are queued */
    uint64_t last_turn;
    size_t count, bytes;
    bool ready, asked, timed_out;
    char *inside; /* name of the plugin that the helper runs */
    /* The reason why the helper is unusable, until the configuration is read again, or
       on_again() */
    char *fault;
};

static void helper_start(struct submit_line *l);

static void waiting_free(struct submit_line *l, struct waiting *w)
{
    DL_DELETE(l->all, w);
    l->count--;
    l->bytes -= w->packed.len;
    str_done(&w->packed);
    free(w);
}

/* --- the line
 * ------------------------------------------------------------------------------------- */

static void line_close(struct submit_line *l)
{
    if (l->fd < 0)
        return;
    loop_fd_free(take_ptr(l->watch));
    close(l->fd);
    l->fd = -1;
    str_clear(&l->in);
    str_clear(&l->out);
    loop_timer_set(l->limit, -1);
}

/* Kills the helper and the processes that its plugins have started: PAM modules run programs in
 * separate sessions. The helper is stopped first, so that it starts no more. */
static void kill_whole(pid_t helper)
{
    struct kin_list below = {0};

    kill(helper, SIGSTOP);
    kin_below(&below, helper);
    vec_foreach (&below.list, one)
        kin_signal(one, helper, SIGKILL);
    vec_done(&below.list);
    kill(helper, SIGKILL);
}

static void helper_kill(struct submit_line *l)
{
    line_close(l);
    if (l->helper)
        kill_whole(l->helper->pid);
}

static void flush_line(struct submit_line *l)
{
    if (l->fd < 0)
        return;
    if (scriptwire_write(l->fd, &l->out))
        helper_kill(l);
    else
        loop_fd_events(l->watch, LOOP_READ | (l->out.len ? LOOP_WRITE : 0));
}

static void refuse_first(struct submit_line *l, const char *text)
{
    Pb__SubmitAnswer a = PB__SUBMIT_ANSWER__INIT;
    a.number = l->all->number;
    a.code = -ERR_GENERIC;
    a.text = (char *)text;
    waiting_free(l, l->all);
    l->asked = false;
    l->on_answer(l->ctx, &a);
}

static struct turn *turn_of(struct submit_line *l, uint32_t uid)
{
    struct turn *t;

    HASH_FIND(hh, l->turns, &uid, sizeof(uid), t);
    return t;
}

static void turns_forget(struct submit_line *l)
{
    struct turn *t, *next;

    HASH_ITER (hh, l->turns, t, next) {
        HASH_DEL(l->turns, t);
        free(t);
    }
}

/* Moves a question of the caller who has waited longest to the front, so that no caller waits for
 * all questions of another, each of which may hang. */
static void choose_next(struct submit_line *l)
{
    struct waiting *w, *best = NULL;
    uint64_t least = UINT64_MAX;
    struct turn *t;

    DL_FOREACH(l->all, w)
    {
        t = turn_of(l, w->uid);
        if ((t ? t->number : 0) < least) {
            least = t ? t->number : 0;
            best = w;
        }
    }
    assert(best);
    if (best != l->all) {
        DL_DELETE(l->all, best);
        DL_PREPEND(l->all, best);
    }
    t = turn_of(l, best->uid);
    if (!t) {
        t = mem_new(struct turn);
        t->uid = best->uid;
        HASH_ADD(hh, l->turns, uid, sizeof(t->uid), t);
    }
    t->number = ++l->last_turn;
}

/* Sends the next question if possible. */
static void ask_next(struct submit_line *l)
{
    while (l->fault && l->all)
        refuse_first(l, l->fault);
    if (!l->all)
        turns_forget(l);
    if (!l->ready || l->asked || !l->all)
        return;
    choose_next(l);
    l->asked = true;
    str_append(&l->out, l->all->packed.data, l->all->packed.len);
    loop_timer_set(l->limit, SUBMIT_LINE_LIMIT_MS);
    flush_line(l);
}

static void on_begun(struct submit_line *l, const Pb__SubmitAnswer *a)
{
    loop_timer_set(l->limit, -1);
    l->ready = a->code == 0;
    if (l->ready) {
        log_info("the plugins are loaded");
        return;
    }
    l->fault = mem_printf("the site's job_submit plugins cannot be used: %s", a->text);
    log_error("%s; no job is taken before that is put right and 'scontrol reconfigure' is run",
              l->fault);
}

static void on_answered(struct submit_line *l, const Pb__SubmitAnswer *a)
{
    if (a->number == 0 && !l->ready) {
        on_begun(l, a);
        return;
    }
    if (!l->asked || l->all->number != a->number)
        return;
    loop_timer_set(l->limit, -1);
    l->asked = false;
    waiting_free(l, l->all);
    l->on_answer(l->ctx, a);
}

static void on_note(const Pb__SubmitNote *n)
{
    if (n->level >= LOG_LVL_ERROR && n->level <= LOG_LVL_DEBUG3)
        log_write((enum log_level)n->level, n->room, "%s", n->text);
}

static void on_line(void *ctx, int fd, unsigned ready)
{
    struct submit_line *l = ctx;
    if (ready & LOOP_WRITE)
        flush_line(l);
    if (l->fd < 0 || !(ready & LOOP_READ))
        return;
    int rc = scriptwire_read(fd, &l->in), more = 1;
    while (more > 0) {
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        ProtobufCMessage *any = NULL;
        more = scriptwire_take_any(&l->in, &arena, &pb__submit_message__descriptor,
                                   SUBMITD_MESSAGE_MAX, &any);
        const Pb__SubmitMessage *m = (const Pb__SubmitMessage *)any;
        if (more > 0 && m->entering) {
            free(l->inside);
            l->inside = mem_strdup(m->entering);
        }
        if (more > 0 && m->note)
            on_note(m->note);
        if (more > 0 && m->answer)
            on_answered(l, m->answer);
    }
    if (rc < 0 || more < 0)
        helper_kill(l);
    else
        ask_next(l);
}

/* --- the helper
 * ----------------------------------------------------------------------------------- */

static void on_limit(void *ctx)
{
    struct submit_line *l = ctx;
    l->timed_out = true;
    if (l->asked)
        turn_of(l, l->all->uid)->number |= TURN_HUNG;
    helper_kill(l);
}

static char *describe_end(const struct submit_line *l, int status)
{
    const char *who = l->inside ? l->inside : "the helper that runs job_submit plugins";
    if (l->timed_out)
        return mem_printf("%s has not answered within %d s", who, SUBMIT_LINE_LIMIT_MS / 1000);
    if (WIFSIGNALED(status))
        return mem_printf("%s was ended by signal %d (%s)", who, WTERMSIG(status),
                          strsignal(WTERMSIG(status)));
    return mem_printf("%s ended its process with status %d", who, WEXITSTATUS(status));
}

static void on_exit_of(void *ctx, pid_t pid, int status)
{
    struct helper *h = ctx;
    struct submit_line *l = h->line;
    free(h);
    if (!l)
        return;
    _cleanup_free_ char *what = describe_end(l, status);
    l->helper = NULL;
    line_close(l);
    if (l->ready) {
        log_error("%s; the plugins are loaded again", what);
    } else if (!l->fault) {
        l->fault = mem_printf("%s while it began", what);
        log_error("%s; it is started again in %d s, and no job is taken before it has begun",
                  l->fault, SUBMIT_LINE_RETRY_MS / 1000);
        loop_timer_set(l->restart_timer, SUBMIT_LINE_RETRY_MS);
    }
    l->ready = l->timed_out = false;
    if (l->asked)
        refuse_first(l, what);
    bool at_once = loop_mono_ms() - l->started_ms > SUBMIT_LINE_AGAIN_MS;
    if (!l->fault)
        loop_timer_set(l->restart_timer, at_once ? 0 : SUBMIT_LINE_AGAIN_MS);
    ask_next(l);
}

static void on_again(void *ctx)
{
    struct submit_line *l = ctx;
    if (!l->helper) /* one that runs has reported that its plugins cannot be used */
        free(take_ptr(l->fault));
    helper_start(l);
}

static int spawn_helper(pid_t *pid, int line)
{
    char *const argv[] = {(char *)SUBMITD_NAME, NULL};
    posix_spawn_file_actions_t actions;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, line, SUBMITD_LINE_FD);
    posix_spawn_file_actions_addclosefrom_np(&actions, SUBMITD_LINE_FD + 1);
    return child_start(pid, SELF, &actions, false, argv, environ);
}

static void start_failed(struct submit_line *l, int error)
{
    log_error("the helper that runs job_submit plugins cannot be started: %s; tried again",
              strerror(error));
    loop_timer_set(l->restart_timer, SUBMIT_LINE_AGAIN_MS);
}

static void helper_start(struct submit_line *l)
{
    int ends[2];
    pid_t pid = 0;
    if (l->fault) {
        ask_next(l);
        return;
    }
    l->started_ms = loop_mono_ms();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        start_failed(l, errno);
        return;
    }
    int line = fcntl(ends[1], F_DUPFD_CLOEXEC, FD_ABOVE);
    close(ends[1]);
    int rc = spawn_helper(&pid, line);
    close(line);
    if (rc) {
        close(ends[0]);
        start_failed(l, rc);
        return;
    }
    assert(!l->helper && !l->watch);
    l->fd = ends[0];
    l->watch = loop_fd_new(l->loop, l->fd, LOOP_READ, on_line, l);
    l->helper = mem_new(struct helper);
    *l->helper = (struct helper){pid, l};
    loop_child(l->loop, pid, on_exit_of, l->helper);
    free(take_ptr(l->inside));
    str_append(&l->out, l->setup.data, l->setup.len);
    loop_timer_set(l->limit, SUBMIT_LINE_LIMIT_MS);
    flush_line(l);
}

/* --- for the owner
 * -------------------------------------------------------------------------------- */

struct submit_line *submit_line_new(struct loop *loop, const Pb__SubmitSetup *setup,
                                    void (*on_answer)(void *ctx, const Pb__SubmitAnswer *a),
                                    void *ctx)
{
    struct submit_line *l = mem_new(struct submit_line);
    Pb__SubmitMessage m = PB__SUBMIT_MESSAGE__INIT;
    *l = (struct submit_line){.loop = loop, .on_answer = on_answer, .ctx = ctx, .fd = -1};
    l->limit = loop_timer_new(loop, on_limit, l);
    l->restart_timer = loop_timer_new(loop, on_again, l);
    m.setup = (Pb__SubmitSetup *)(uintptr_t)setup;
    scriptwire_put_any(&l->setup, &m.base);
    helper_start(l);
    return l;
}

static void wait_for_end(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (fd < 0 || poll(&p, 1, END_WAIT_MS) <= 0)
        kill_whole(pid);
    if (fd >= 0)
        close(fd);
    waitpid(pid, NULL, 0);
}

void submit_line_free(struct submit_line *l, bool wait)
{
    if (!l)
        return;
    if (l->asked || !l->ready) /* it may be in plugin code that does not return */
        helper_kill(l);
    line_close(l);
    if (l->helper && wait) {
        wait_for_end(l->helper->pid);
        free(l->helper);
    } else if (l->helper) {
        l->helper->line = NULL;
    }
    while (l->all)
        waiting_free(l, l->all);
    turns_forget(l);
    loop_timer_free(l->limit);
    loop_timer_free(l->restart_timer);
    str_done(&l->in);
    str_done(&l->out);
    str_done(&l->setup);
    free(l->inside);
    free(l->fault);
    free(l);
}

static bool is_too_much(size_t count, size_t bytes, size_t more, size_t share)
{
    return count && (count >= SUBMIT_LINE_MOST / share || bytes + more > SUBMIT_LINE_BYTES / share);
}

/* The questions of one caller are only counted if they may exceed the limit. */
static bool has_question_room(const struct submit_line *l, uint32_t uid, size_t more)
{
    const struct waiting *w;
    size_t count = 0, bytes = 0;
    if (is_too_much(l->count, l->bytes, more, 1))
        return false;
    if (!is_too_much(l->count, l->bytes, more, SUBMIT_LINE_SHARE))
        return true;
    DL_FOREACH(l->all, w)
    if (w->uid == uid) {
        count++;
        bytes += w->packed.len;
    }
    return !is_too_much(count, bytes, more, SUBMIT_LINE_SHARE);
}

bool submit_line_ask(struct submit_line *l, const Pb__SubmitQuestion *q)
{
    Pb__SubmitMessage m = PB__SUBMIT_MESSAGE__INIT;
    m.question = (Pb__SubmitQuestion *)(uintptr_t)q;
    if (!has_question_room(l, q->uid, protobuf_c_message_get_packed_size(&m.base)))
        return false;
    struct waiting *w = mem_new(struct waiting);
    w->number = q->number;
    w->uid = q->uid;
    scriptwire_put_any(&w->packed, &m.base);
    DL_APPEND(l->all, w);
    l->count++;
    l->bytes += w->packed.len;
    if (l->fault)
        loop_timer_set(l->restart_timer,
                       0); /* refused in a later turn, not from within this call */
    else
        ask_next(l);
    return true;
}

void submit_line_forget(struct submit_line *l, uint64_t number)
{
    struct waiting *w;
    DL_FOREACH(l->all, w)
    if (w->number == number)
        break;
    if (w && !(w == l->all && l->asked))
        waiting_free(l, w);
}
