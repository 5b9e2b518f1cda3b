/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_ROOM "slurmctld"
#include "slurmctld/script/scripts.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utlist.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "slurmctld/script/scriptd.h"
#include "slurmctld/script/scriptwire.h"

#define SELF "/proc/self/exe" /* the running program, even after an upgrade on disk */
#define FD_ABOVE 16           /* temporary numbers of descriptors that are moved for the helper */
#define RENEW_EVERY_MS 200
#define STOP_WAIT_MS (SCRIPTD_GRACE_MS + 2000)

struct script {
    struct script *next, *prev;
    uint64_t number; /* increases each time the script is sent */
    Pb__ScriptKind kind;
    uint32_t job_id, restarts;
    bool sent, stopped; /* stopped: before it was sent; only its end is reported */
    struct str packed;  /* a ScriptRun without its number */
};

struct scripts {
    struct scripts_options options;
    char *dir;
    pid_t pid; /* 0: no helper runs */
    int fd;
    struct loop_fd *line;
    struct loop_timer *restart_timer, *report_timer, *hold_timer;
    int64_t started_ms, lease_until_ms, hold_until_ms;
    struct str in, out;
    struct script *all; /* in order of requests */
    uint64_t last;
    unsigned running, mails, records, triggers, calls, questions;
    unsigned mails_waiting, records_waiting; /* not sent yet */
};

static void helper_start(struct scripts *s);
static void send_more(struct scripts *s);

static void script_free(struct scripts *s, struct script *one)
{
    DL_DELETE(s->all, one);
    str_done(&one->packed);
    free(one);
}

/* --- the line
 * ------------------------------------------------------------------------------------- */

static void line_close(struct scripts *s)
{
    if (s->fd < 0)
        return;
    loop_fd_free(take_ptr(s->line));
    close(s->fd);
    s->fd = -1;
    str_clear(&s->in);
    str_clear(&s->out);
}

/* The helper's end is noticed as a child's end. */
static void line_broken(struct scripts *s)
{
    line_close(s);
    if (s->pid > 0)
        kill(s->pid, SIGKILL);
}

static void flush_line(struct scripts *s)
{
    if (s->fd < 0)
        return;
    if (scriptwire_write(s->fd, &s->out))
        line_broken(s);
    else
        loop_fd_events(s->line, LOOP_READ | (s->out.len ? LOOP_WRITE : 0));
}

/* Mails and completion records: no caller waits for their end, which is only logged. */
static bool is_unattended(Pb__ScriptKind kind)
{
    return kind == PB__SCRIPT_KIND__SCRIPT_MAIL || kind == PB__SCRIPT_KIND__SCRIPT_JOB_COMP;
}

/* Each kind has its own limit, so that no script waits for the end of another kind. */
static unsigned *get_count(struct scripts *s, Pb__ScriptKind kind)
{
    switch (kind) {
    case PB__SCRIPT_KIND__SCRIPT_MAIL:
        return &s->mails;
    case PB__SCRIPT_KIND__SCRIPT_JOB_COMP:
        return &s->records;
    case PB__SCRIPT_KIND__SCRIPT_TRIGGER:
        return &s->triggers;
    case PB__SCRIPT_KIND__SCRIPT_BURST:
        return &s->calls;
    case PB__SCRIPT_KIND__SCRIPT_BURST_ASK:
        return &s->questions;
    default:
        return &s->running;
    }
}

/* For mails and for completion records. */
static unsigned *get_waiting_count(struct scripts *s, Pb__ScriptKind kind)
{
    assert(is_unattended(kind));
    return kind == PB__SCRIPT_KIND__SCRIPT_MAIL ? &s->mails_waiting : &s->records_waiting;
}

static void count_script(struct scripts *s, const struct script *one, int by)
{
    *get_count(s, one->kind) += (unsigned)by;
}

static void take_script_end(struct scripts *s, const Pb__ScriptEnded *m)
{
    struct script *one;
    DL_FOREACH(s->all, one)
    if (one->sent && one->number == m->number)
        break;
    if (!one)
        return;
    count_script(s, one, -1);
    if (is_unattended(one->kind) && m->text)
        log_error("job %u: %s", one->job_id, m->text);
    for (size_t i = 0; i < m->n_log; i++)
        log_info("burst_buffer.lua: %s", m->log[i]);
    bool must_report = !is_unattended(one->kind);
    script_free(s, one);
    if (must_report)
        s->options.on_ended(s->options.ctx, m);
    send_more(s);
}

static void on_line(void *ctx, int fd, unsigned ready)
{
    struct scripts *s = ctx;
    if (ready & LOOP_WRITE)
        flush_line(s);
    if (s->fd < 0 || !(ready & LOOP_READ))
        return;
    int rc = scriptwire_read(fd, &s->in), more = 1;
    while (more > 0) {
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 4 * SCRIPTWIRE_MAX);
        Pb__ScriptMessage *m = NULL;
        more = scriptwire_take(&s->in, &arena, &m);
        if (more > 0 && m->ended)
            take_script_end(s, m->ended);
    }
    if (rc < 0 || more < 0)
        line_broken(s);
}

static void send_one(struct scripts *s, struct script *one)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__ScriptMessage m = PB__SCRIPT_MESSAGE__INIT;
    m.run = arena_unpack(&arena, &pb__script_run__descriptor, one->packed.data, one->packed.len);
    m.run->has_number = true;
    m.run->number = one->number = ++s->last;
    one->sent = true;
    count_script(s, one, 1);
    if (is_unattended(one->kind))
        --*get_waiting_count(s, one->kind);
    scriptwire_put(&s->out, &m);
}

static bool has_script_room(const struct scripts *s, const struct script *one)
{
    switch (one->kind) {
    case PB__SCRIPT_KIND__SCRIPT_MAIL:
        return s->mails < SCRIPTS_MAILS;
    case PB__SCRIPT_KIND__SCRIPT_JOB_COMP:
        return s->records < SCRIPTS_RECORDS;
    case PB__SCRIPT_KIND__SCRIPT_TRIGGER:
        return s->triggers < SCRIPTS_TRIGGERS;
    case PB__SCRIPT_KIND__SCRIPT_BURST:
        return s->calls < SCRIPTS_CALLS;
    case PB__SCRIPT_KIND__SCRIPT_BURST_ASK:
        return s->questions < SCRIPTS_QUESTIONS;
    default:
        return s->running < SCRIPTS_AT_ONCE;
    }
}

static bool may_run(const struct scripts *s)
{
    int64_t now_ms = loop_mono_ms();
    return !s->options.leased || (now_ms < s->lease_until_ms && now_ms >= s->hold_until_ms);
}

static void send_more(struct scripts *s)
{
    struct script *one;
    if (s->fd < 0 || !may_run(s))
        return;
    DL_FOREACH(s->all, one)
    {
        if (s->running >= SCRIPTS_AT_ONCE && s->mails >= SCRIPTS_MAILS &&
            s->records >= SCRIPTS_RECORDS && s->triggers >= SCRIPTS_TRIGGERS &&
            s->calls >= SCRIPTS_CALLS && s->questions >= SCRIPTS_QUESTIONS)
            break;
        if (!one->sent && !one->stopped && has_script_room(s, one))
            send_one(s, one);
    }
    flush_line(s);
}

/* --- the lease
 * ------------------------------------------------------------------------------------ */

static void send_lease(struct scripts *s)
{
    Pb__ScriptMessage m = PB__SCRIPT_MESSAGE__INIT;
    Pb__ScriptLease lease = PB__SCRIPT_LEASE__INIT;
    lease.until_ms = (uint64_t)s->lease_until_ms;
    m.lease = &lease;
    scriptwire_put(&s->out, &m);
    flush_line(s);
}

void scripts_renew(struct scripts *s, int64_t proven_ms)
{
    int64_t until_ms = proven_ms + SCRIPTS_LEASE_MS;
    if (!s->options.leased || until_ms < s->lease_until_ms + RENEW_EVERY_MS)
        return;
    s->lease_until_ms = until_ms;
    if (s->fd >= 0)
        send_lease(s);
    send_more(s);
}

static void on_hold_over(void *ctx)
{
    struct scripts *s = ctx;
    s->options.on_hold_over(s->options.ctx);
    send_more(s);
}

void scripts_hold(struct scripts *s)
{
    int64_t wait_ms = SCRIPTS_LEASE_MS + SCRIPTS_LEASE_END_MS;
    if (!s->options.leased)
        return;
    log_info("scripts begin in %d s: those of another controller may run until then",
             (int)(wait_ms / 1000));
    s->hold_until_ms = loop_mono_ms() + wait_ms;
    loop_timer_set(s->hold_timer, wait_ms);
}

/* --- the helper
 * ----------------------------------------------------------------------------------- */

/* Its scripts have ended with the helper. Mails and completion records are not repeated, because
 * they may have been delivered. */
static void take_back(struct scripts *s)
{
    struct script *one, *next;
    DL_FOREACH_SAFE(s->all, one, next)
    {
        if (!one->sent)
            continue;
        one->sent = false;
        if (is_unattended(one->kind))
            script_free(s, one);
    }
    s->running = s->mails = s->records = s->triggers = s->calls = s->questions = 0;
}

static void start_later(struct scripts *s)
{
    bool at_once = loop_mono_ms() - s->started_ms > SCRIPTS_AGAIN_MS;
    loop_timer_set(s->restart_timer, at_once ? 0 : SCRIPTS_AGAIN_MS);
}

static void on_helper_exit(void *ctx, pid_t pid, int status)
{
    struct scripts *s = ctx;
    if (pid != s->pid)
        return;
    s->pid = 0;
    line_close(s);
    if (s->options.leased && s->lease_until_ms && loop_mono_ms() >= s->lease_until_ms)
        log_error("scripts were ended, since the lead was not proven for %d s; they run again when "
                  "it is",
                  SCRIPTS_LEASE_MS / 1000);
    else if (WIFSIGNALED(status))
        log_error("the helper that runs scripts was ended by signal %d; it is started again",
                  WTERMSIG(status));
    else
        log_error("the helper that runs scripts ended with status %d; it is started again",
                  WEXITSTATUS(status));
    take_back(s);
    start_later(s);
}

static void on_again(void *ctx)
{
    helper_start(ctx);
}

static int fd_above(int fd)
{
    int above = fcntl(fd, F_DUPFD_CLOEXEC, FD_ABOVE);
    close(fd);
    return above;
}

static int spawn_helper(struct scripts *s, int line, int lock)
{
    char *const argv[] = {(char *)SCRIPTD_NAME, NULL};
    posix_spawn_file_actions_t actions;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, line, SCRIPTD_LINE_FD);
    posix_spawn_file_actions_adddup2(&actions, lock, SCRIPTD_LOCK_FD);
    posix_spawn_file_actions_addclosefrom_np(&actions, SCRIPTD_LOCK_FD + 1);
    int rc = child_start(&s->pid, SELF, &actions, false, argv, environ);
    if (rc)
        s->pid = 0;
    return rc;
}

static int lock_open(const struct scripts *s)
{
    if (!s->dir)
        return memfd_create("scripts.lock", MFD_CLOEXEC);
    _cleanup_free_ char *path = mem_printf("%s/scripts.lock", s->dir);
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
    /* Without the lock, scripts of a killed controller may still run. */
    return lock < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : lock;
}

static void helper_start(struct scripts *s)
{
    int ends[2];
    s->started_ms = loop_mono_ms();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        log_error("the helper that runs scripts: socketpair: %s; tried again", strerror(errno));
        loop_timer_set(s->restart_timer, SCRIPTS_AGAIN_MS);
        return;
    }
    int lock = lock_open(s);
    int line = fd_above(ends[1]);
    lock = fd_above(lock);
    int rc = spawn_helper(s, line, lock);
    close(line);
    close(lock);
    if (rc) {
        close(ends[0]);
        log_error("the helper that runs scripts cannot be started: %s; tried again", strerror(rc));
        loop_timer_set(s->restart_timer, SCRIPTS_AGAIN_MS);
        return;
    }
    s->fd = ends[0];
    s->line = loop_fd_new(s->options.loop, s->fd, LOOP_READ, on_line, s);
    loop_child(s->options.loop, s->pid, on_helper_exit, s);
    if (s->lease_until_ms > loop_mono_ms())
        send_lease(s);
    send_more(s);
}

/* --- for the owner
 * -------------------------------------------------------------------------------- */

/* Runs in a separate turn, because reports cause further turns. */
static void on_tell(void *ctx)
{
    struct scripts *s = ctx;
    struct script *one, *next;
    DL_FOREACH_SAFE(s->all, one, next)
    {
        Pb__ScriptEnded m = PB__SCRIPT_ENDED__INIT;
        if (!one->stopped)
            continue;
        m.kind = one->kind;
        m.job_id = one->job_id;
        m.restarts = one->restarts;
        m.wait_status = SIGTERM;
        script_free(s, one);
        s->options.on_ended(s->options.ctx, &m);
    }
}

struct scripts *scripts_new(const struct scripts_options *options)
{
    struct scripts *s = mem_new(struct scripts);
    s->options = *options;
    s->dir = options->dir ? mem_strdup(options->dir) : NULL;
    s->fd = -1;
    s->restart_timer = loop_timer_new(options->loop, on_again, s);
    s->report_timer = loop_timer_new(options->loop, on_tell, s);
    s->hold_timer = loop_timer_new(options->loop, on_hold_over, s);
    helper_start(s);
    return s;
}

static bool is_of_job(Pb__ScriptKind kind)
{
    return kind == PB__SCRIPT_KIND__SCRIPT_PROLOG || kind == PB__SCRIPT_KIND__SCRIPT_EPILOG ||
           is_unattended(kind) || kind == PB__SCRIPT_KIND__SCRIPT_BURST;
}

static void log_last_end(const Pb__ScriptEnded *m)
{
    _cleanup_free_ char *job = is_of_job(m->kind) ? mem_printf("job %u: ", m->job_id) : NULL;
    bool is_call =
        m->kind == PB__SCRIPT_KIND__SCRIPT_BURST || m->kind == PB__SCRIPT_KIND__SCRIPT_BURST_ASK;
    if (m->text)
        log_error("%s%s%s when this controller stopped", job ? job : "",
                  is_call ? "a function of burst_buffer.lua: " : "", m->text);
}

/* Reads reports of ends, without acting on them, until the helper has closed the connection. */
static bool read_last_reports(struct scripts *s)
{
    int64_t until_ms = loop_mono_ms() + STOP_WAIT_MS, left_ms = STOP_WAIT_MS;
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    int rc = 0, more = 1;
    while (rc >= 0 && more >= 0 && left_ms > 0) {
        poll(&p, 1, (int)left_ms);
        rc = scriptwire_read(s->fd, &s->in);
        do {
            _cleanup_arena_ struct arena arena;
            arena_init(&arena, 4 * SCRIPTWIRE_MAX);
            Pb__ScriptMessage *m = NULL;
            more = scriptwire_take(&s->in, &arena, &m);
            if (more > 0 && m->ended)
                log_last_end(m->ended);
        } while (more > 0);
        left_ms = until_ms - loop_mono_ms();
    }
    return rc < 0;
}

static void end_helper(struct scripts *s)
{
    if (s->fd >= 0)
        shutdown(s->fd, SHUT_WR);
    if (s->fd >= 0 && !read_last_reports(s)) {
        log_error("the helper that runs scripts did not end within %d s and is killed, with "
                  "what it runs",
                  STOP_WAIT_MS / 1000);
        kill(s->pid, SIGKILL);
    }
    waitpid(s->pid, NULL, 0);
}

static void log_unattended_not_run(const struct scripts *s)
{
    if (s->mails_waiting || s->records_waiting)
        log_error("%u mails and %u completion records were not run when this controller stopped: "
                  "MailProg or the program of JobCompLoc is too slow",
                  s->mails_waiting, s->records_waiting);
}

void scripts_free(struct scripts *s)
{
    if (!s)
        return;
    log_unattended_not_run(s);
    if (s->pid > 0)
        end_helper(s);
    line_close(s);
    while (s->all)
        script_free(s, s->all);
    loop_timer_free(s->restart_timer);
    loop_timer_free(s->report_timer);
    loop_timer_free(s->hold_timer);
    str_done(&s->in);
    str_done(&s->out);
    free(s->dir);
    free(s);
}

void scripts_run(struct scripts *s, const Pb__ScriptRun *m)
{
    static struct log_limit limit = {.burst = 5};
    unsigned *waiting = is_unattended(m->kind) ? get_waiting_count(s, m->kind) : NULL;
    if (waiting && *waiting >= SCRIPTS_UNATTENDED_WAITING) {
        if (log_allow(&limit))
            log_error("job %u: %s is not run: %u runs wait already", m->job_id,
                      scriptwire_name(m->kind), SCRIPTS_UNATTENDED_WAITING);
        return;
    }
    struct script *one = mem_new(struct script);
    one->kind = m->kind;
    one->job_id = m->job_id;
    one->restarts = m->restarts;
    pb_pack(&m->base, &one->packed);
    if (waiting)
        ++*waiting;
    DL_APPEND(s->all, one);
    send_more(s);
}

void scripts_stop(struct scripts *s, const Pb__ScriptRun *which)
{
    struct script *one;
    DL_FOREACH(s->all, one)
    if (one->kind == which->kind && one->job_id == which->job_id &&
        one->restarts == which->restarts)
        break;
    if (!one)
        return;
    if (!one->sent) {
        one->stopped = true;
        loop_timer_set(s->report_timer, 0);
        return;
    }
    Pb__ScriptMessage m = PB__SCRIPT_MESSAGE__INIT;
    Pb__ScriptStop stop = PB__SCRIPT_STOP__INIT;
    stop.number = one->number;
    m.stop = &stop;
    if (s->fd >= 0)
        scriptwire_put(&s->out, &m);
    flush_line(s);
}
