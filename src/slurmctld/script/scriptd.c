/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmctld/script/scriptd.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "base/arena.h"
#include "base/become.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/trust.h"
#include "conf/conf.h"
#include "loop/loop.h"
#include "proto/script.pb-c.h"
#include "slurmctld/script/burst_lua.h"
#include "slurmctld/script/scriptwire.h"

/* Programs of a user, in a child of the helper: the child becomes the user, with the groups of the
 * name service, before it uses any path of the user. */
#define GROUPS_MAX 65536

static _Noreturn void report_failure(int report, const char *why)
{
    if (write(report, why, strlen(why)) < 0)
        _exit(126);
    _exit(127);
}

static int find_groups(const char *name, gid_t gid, gid_t **groups)
{
    int count = 64, have = -1;
    *groups = NULL;
    while (have < 0 && count <= GROUPS_MAX) {
        int room = count;
        free(*groups);
        *groups = mem_new_array(gid_t, (size_t)room);
        count = room;
        have = getgrouplist(name, gid, *groups, &count);
        if (have < 0)
            count = count > room ? count : 2 * room;
    }
    return have;
}

/* Adds the variables of a login. */
static char **add_login_variables(char **env, const struct passwd *p)
{
    size_t count = 0;
    while (env[count])
        count++;
    char **all = mem_new_array(char *, count + 5);
    if (count)
        memcpy(all, env, count * sizeof *env);
    all[count++] = mem_printf("USER=%s", p->pw_name);
    all[count++] = mem_printf("LOGNAME=%s", p->pw_name);
    all[count++] = mem_printf("HOME=%s", p->pw_dir);
    all[count++] = mem_printf("SHELL=%s", p->pw_shell && *p->pw_shell ? p->pw_shell : "/bin/sh");
    return all;
}

/* Ends with the parent. The reason of a failed start is written to 'report', which is closed by a
 * successful exec; the exit status of a failure is 127. */
static _Noreturn void exec_as_user(const Pb__ScriptRun *m, char **argv, char **env, pid_t parent,
                                   int report)
{
    struct err err = {0};
    gid_t *groups = NULL;
    const struct passwd *p = getpwuid(m->uid);
    if (!p)
        report_failure(report, "its user has no account on this host");
    env = add_login_variables(env, p);
    int count = find_groups(p->pw_name, m->gid, &groups);
    if (count < 0)
        report_failure(report, "the groups of its user are unknown");
    if (become_user(m->uid, m->gid, groups, (size_t)count, &err) != 0)
        report_failure(report, err.text);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* cleared by the change of the user */
    if (getppid() != parent)
        _exit(127);
    umask(022);
    if (chdir("/"))
        report_failure(report, strerror(errno));
    execve(m->path, argv, env);
    report_failure(report, strerror(errno));
}

#define CALL_PATH "/usr/sbin:/usr/bin:/sbin:/bin"
#define KILL_AFTER_MS 5000 /* milliseconds after SIGTERM */
#define LOCK_EVERY_MS 20   /* pause while the previous helper ends its programs; */
#define LOCK_WAIT_MS                                                                               \
    10000 /* a helper that does not end, with its stopped controller, is not waited for longer */
#define BAD_STATUS (127 << 8) /* wait status of a program that could not be started */

struct scriptd {
    struct loop *loop;
    struct loop_fd *line;
    struct loop_timer *lock, *grace, *lease;
    int64_t lease_until_ms; /* 0: the controller has sent no lease */
    int64_t lock_until_ms;
    struct str in, out;
    struct run *runs;
    unsigned count;
    int null_fd;
    bool ending, has_expired; /* the controller has gone, or its last lease has expired */
};

struct run {
    struct run *next, *prev;
    struct scriptd *d;
    Pb__ScriptKind kind;
    uint64_t number;
    uint32_t job_id, restarts;
    Pb__ScriptRun *order;
    const char *rest; /* programs of the order that have not started */
    char *path;
    int64_t limit_sec; /* for each program; 0: none */
    pid_t pid;
    struct loop_timer *timer;
    bool timed_out, stopped;
    const Pb__ScriptEnded *ended; /* output of a function; NULL: none */
    int report; /* receives the reason why it could not be started as its user; -1: not used */
};

/* --- answers
 * -------------------------------------------------------------------------------------- */

static void flush_line(struct scriptd *d)
{
    if (scriptwire_write(SCRIPTD_LINE_FD, &d->out))
        /* The controller may have gone; the end of the connection is noticed by reading. */
        str_clear(&d->out);
    loop_fd_events(d->line, (d->ending ? 0 : LOOP_READ) | (d->out.len ? LOOP_WRITE : 0));
}

static void report_end(struct scriptd *d, const struct run *r, int wait_status, const char *text)
{
    Pb__ScriptMessage m = PB__SCRIPT_MESSAGE__INIT;
    Pb__ScriptEnded e = PB__SCRIPT_ENDED__INIT;
    e.kind = r->kind;
    e.job_id = r->job_id;
    e.restarts = r->restarts;
    e.wait_status = wait_status;
    e.text = (char *)text;
    e.has_number = true;
    e.number = r->number;
    m.ended = &e;
    if (r->ended && !d->ending) { /* for a function */
        e.output = r->ended->output;
        e.log = r->ended->log;
        e.n_log = r->ended->n_log;
    }
    if (r->timed_out) {
        e.has_timed_out = true;
        e.timed_out = true;
    }
    if (d->has_expired) /* the controller runs it again */
        return;
    scriptwire_put(&d->out, &m);
    flush_line(d);
}

/* A function reports its own errors. */
static char *describe_call(const struct run *r, int status, const char *error)
{
    if (r->timed_out)
        return mem_printf("it did not end within %lld s", (long long)r->limit_sec);
    if (error)
        return mem_strdup(error);
    if (WIFSIGNALED(status))
        return mem_printf("it was ended by signal %d", WTERMSIG(status));
    return status ? mem_printf("it ended the process with status %d", WEXITSTATUS(status)) : NULL;
}

static char *describe_end(const struct run *r, int status)
{
    const char *what = scriptwire_name(r->kind);
    char why[ERR_TEXT_MAX];
    ssize_t n = r->report >= 0 ? read(r->report, why, sizeof why - 1) : 0;
    if (n > 0)
        return mem_printf("%s %s cannot be run: %.*s", what, r->path, (int)n, why);
    if (r->timed_out)
        return mem_printf("%s %s did not end within %lld s", what, r->path,
                          (long long)r->limit_sec);
    if (WIFSIGNALED(status))
        return mem_printf("%s %s was ended by signal %d", what, r->path, WTERMSIG(status));
    if (WEXITSTATUS(status))
        return mem_printf("%s %s exited with status %d", what, r->path, WEXITSTATUS(status));
    return NULL;
}

/* --- programs
 * ------------------------------------------------------------------------------------- */

static void run_free(struct run *r)
{
    DL_DELETE(r->d->runs, r);
    r->d->count--;
    loop_timer_free(r->timer);
    if (r->report >= 0)
        close(r->report);
    pb__script_run__free_unpacked(r->order, NULL);
    free(r->path);
    free(r);
}

static void begin_program(struct run *r);

static void on_program_exited(void *ctx, pid_t pid, int status)
{
    struct run *r = ctx;
    struct scriptd *d = r->d;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__ScriptEnded ended = PB__SCRIPT_ENDED__INIT;
    bool is_call = r->order->function != NULL;
    const char *error = is_call ? scriptwire_read_burst(r->report, &ended, &arena) : NULL;
    _cleanup_free_ char *text = is_call ? describe_call(r, status, error) : describe_end(r, status);
    r->ended = is_call ? &ended : NULL;
    if (r->timed_out || d->ending)
        kill(-pid, SIGKILL); /* the rest of its process group */
    if (!status && !text && !r->stopped && !d->ending && *r->rest) {
        begin_program(r);
        return;
    }
    report_end(d, r, text && !status ? 1 << 8 : status, text);
    run_free(r);
    if (d->ending && !d->runs)
        loop_stop(d->loop);
}

static void end_run(struct run *r)
{
    kill(-r->pid, r->stopped ? SIGKILL : SIGTERM);
    r->stopped = true;
    loop_timer_set(r->timer, KILL_AFTER_MS);
}

static void on_timer(void *ctx)
{
    struct run *r = ctx;
    r->timed_out = r->timed_out || !r->stopped;
    end_run(r);
}

/* In the child: it inherits nothing of ours, and ends when we do. */
static void __attribute__((noreturn)) run_child(const struct scriptd *d, const Pb__ScriptRun *m,
                                                char **argv, char **env, pid_t parent, int report)
{
    sigset_t none;
    sigemptyset(&none);
    for (int signo = 1; signo < NSIG; signo++)
        signal(signo, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent)
        _exit(127);
    for (int fd = 0; fd < 3; fd++)
        dup2(d->null_fd, fd);
    dup3(report, 3, O_CLOEXEC);
    closefrom(4);
    if (m->has_uid)
        exec_as_user(m, argv, env, parent, 3);
    if (m->function) {
        clearenv();
        setenv("PATH", CALL_PATH, 1);
        setenv("SLURM_SCRIPT_CONTEXT", "burst_buffer.lua", 1);
        _exit(chdir("/") == 0 ? burst_lua_run(m, 3) : 127);
    }
    if (chdir("/") == 0)
        execve(m->path, argv, env);
    int error = errno;
    if (write(3, &error, sizeof error) < 0)
        _exit(126);
    _exit(127);
}

/* Returns 0, or an errno. */
static int spawn_run(struct run *r, const Pb__ScriptRun *m)
{
    int ends[2], error = 0;
    pid_t parent = getpid();
    char **argv = mem_new_array(char *, m->n_argv + 2);
    char **env = mem_new_array(char *, m->n_env + 1);
    argv[0] = m->path;
    if (m->n_argv)
        memcpy(argv + 1, m->argv, sizeof *argv * m->n_argv);
    if (m->n_env)
        memcpy(env, m->env, sizeof *env * m->n_env);
    if (pipe2(ends, O_CLOEXEC)) {
        error = errno;
    } else {
        if (m->function)
            (void)fcntl(ends[1], F_SETPIPE_SZ, BURST_LUA_PIPE);
        r->pid = fork();
        if (r->pid == 0)
            run_child(r->d, m, argv, env, parent, ends[1]);
        error = r->pid < 0 ? errno : 0;
        close(ends[1]);
        /* The name service may hang, and a function may run long, so both run in a child without
           waiting. */
        if (!error && (m->has_uid || m->function)) {
            r->report = ends[0];
            fcntl(r->report, F_SETFL, O_NONBLOCK);
            free(argv);
            free(env);
            return 0;
        }
        while (!error && read(ends[0], &error, sizeof error) < 0 && errno == EINTR)
            ;
        close(ends[0]);
        if (error && r->pid > 0)
            waitpid(r->pid, NULL, 0);
    }
    free(argv);
    free(env);
    return error;
}

static void refuse_run(struct scriptd *d, struct run *r, const char *why)
{
    _cleanup_free_ char *text = mem_printf("%s %s cannot be run: %s", scriptwire_name(r->kind),
                                           r->path ? r->path : r->rest, why);
    report_end(d, r, BAD_STATUS, text);
    run_free(r);
}

/* Programs of several lines run one after another until one fails. */
static void begin_program(struct run *r)
{
    struct err err = {0};
    Pb__ScriptRun one = *r->order;
    free(r->path);
    r->path = conf_script_next(&r->rest);
    if (!r->path)
        r->path = mem_strdup("");
    one.path = r->path;
    /* The owner and mode may have changed since the configuration was read; execve() reports a
     * missing file. */
    if (geteuid() == 0 && (!one.has_uid || one.uid == 0) &&
        trust_check(one.path, one.owner, one.n_owner, &err) == -ERR_ACCESS) {
        refuse_run(r->d, r, err.text);
        return;
    }
    int error = spawn_run(r, &one);
    if (error) {
        refuse_run(r->d, r, strerror(error));
        return;
    }
    if (!r->timer)
        r->timer = loop_timer_new(r->d->loop, on_timer, r);
    if (r->limit_sec > 0)
        loop_timer_set(r->timer, r->limit_sec * 1000);
    loop_child(r->d->loop, r->pid, on_program_exited, r);
}

/* The message with the order is freed before its programs have ended. */
static Pb__ScriptRun *copy_order(const Pb__ScriptRun *m)
{
    size_t size = pb__script_run__get_packed_size(m);
    _cleanup_free_ uint8_t *packed = mem_alloc(size);
    pb__script_run__pack(m, packed);
    return pb_unpack(&pb__script_run__descriptor, packed, size);
}

static void start_run(struct scriptd *d, const Pb__ScriptRun *m)
{
    struct run *r = mem_new(struct run);
    r->d = d;
    r->kind = m->kind;
    r->number = m->number;
    r->job_id = m->job_id;
    r->restarts = m->restarts;
    r->order = copy_order(m);
    r->rest = r->order->path;
    r->limit_sec = m->limit_sec;
    r->report = -1;
    DL_APPEND(d->runs, r);
    d->count++;
    if (d->count > SCRIPTD_MOST) {
        refuse_run(d, r, "too many run already");
        return;
    }
    begin_program(r);
}

static void stop_run(struct scriptd *d, uint64_t number)
{
    struct run *r;
    DL_FOREACH(d->runs, r)
    if (r->number == number && !r->stopped)
        end_run(r);
}

/* --- life cycle ------------------------------------------------------------------------------- */

static void on_grace(void *ctx)
{
    struct scriptd *d = ctx;
    struct run *r;
    DL_FOREACH(d->runs, r)
    kill(-r->pid, SIGKILL);
}

/* The controller has gone. */
static void end_runs(struct scriptd *d)
{
    struct run *r;
    if (d->ending)
        return;
    d->ending = true;
    loop_fd_events(d->line, 0);
    DL_FOREACH(d->runs, r)
    kill(-r->pid, SIGTERM);
    loop_timer_set(d->grace, SCRIPTD_GRACE_MS);
    if (!d->runs)
        loop_stop(d->loop);
}

static void end_expired(struct scriptd *d)
{
    d->has_expired = true;
    end_runs(d);
}

static void on_lease_expired(void *ctx)
{
    end_expired(ctx);
}

static void renew_lease(struct scriptd *d, const Pb__ScriptLease *m)
{
    int64_t until_ms = (int64_t)m->until_ms, now_ms = loop_mono_ms();
    if (until_ms <= d->lease_until_ms)
        return;
    d->lease_until_ms = until_ms;
    loop_timer_set(d->lease, until_ms > now_ms ? until_ms - now_ms : 0);
}

static bool lease_has_expired(const struct scriptd *d)
{
    return d->lease_until_ms && loop_mono_ms() >= d->lease_until_ms;
}

static void take_all(struct scriptd *d)
{
    int rc = 1;
    while (rc > 0) {
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 4 * SCRIPTWIRE_MAX);
        Pb__ScriptMessage *m = NULL;
        rc = scriptwire_take(&d->in, &arena, &m);
        if (rc > 0 && m->lease)
            renew_lease(d, m->lease);
        if (rc > 0 && m->run && lease_has_expired(d))
            end_expired(d);
        else if (rc > 0 && m->run && !d->ending)
            start_run(d, m->run);
        if (rc > 0 && m->stop)
            stop_run(d, m->stop->number);
    }
    if (rc < 0)
        end_runs(d);
}

static void on_line(void *ctx, int fd, unsigned ready)
{
    struct scriptd *d = ctx;
    if (ready & LOOP_WRITE)
        flush_line(d);
    if (!(ready & LOOP_READ))
        return;
    int rc = scriptwire_read(fd, &d->in);
    take_all(d);
    if (rc < 0)
        end_runs(d);
}

/* No order is read before the helper of the previous controller has ended its programs. */
static void on_lock(void *ctx)
{
    struct scriptd *d = ctx;
    bool waited = loop_mono_ms() > d->lock_until_ms;
    if (!waited && flock(SCRIPTD_LOCK_FD, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        loop_timer_set(d->lock, LOCK_EVERY_MS);
    else
        d->line = loop_fd_new(d->loop, SCRIPTD_LINE_FD, LOOP_READ, on_line, d);
}

bool scriptd_is_wanted(const char *argv0)
{
    return argv0 && str_eq(argv0, SCRIPTD_NAME);
}

int scriptd_main(void)
{
    struct scriptd d = {0};
    int type = 0;
    socklen_t len = sizeof type;
    if (getsockopt(SCRIPTD_LINE_FD, SOL_SOCKET, SO_TYPE, &type, &len)) {
        fputs(SCRIPTD_NAME " is a part of slurmctld, which starts it\n", stderr);
        return 1;
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN); /* also signals that a terminal sends to the process group: */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN); /* the controller decides */
    prctl(PR_SET_NAME, SCRIPTD_NAME, 0, 0, 0);
    if (chdir("/"))
        return 1;
    d.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    /* Closes the controller's terminal or pipe, so that a reader of it sees its end. */
    for (int fd = 0; fd < 3; fd++)
        dup2(d.null_fd, fd);
    d.loop = loop_new(0);
    d.grace = loop_timer_new(d.loop, on_grace, &d);
    d.lease = loop_timer_new(d.loop, on_lease_expired, &d);
    d.lock = loop_timer_new(d.loop, on_lock, &d);
    d.lock_until_ms = loop_mono_ms() + LOCK_WAIT_MS;
    loop_timer_set(d.lock, 0);
    loop_run(d.loop);
    loop_timer_free(d.grace);
    loop_timer_free(d.lock);
    loop_timer_free(d.lease);
    loop_fd_free(d.line);
    str_done(&d.in);
    str_done(&d.out);
    loop_free(d.loop);
    close(d.null_fd);
    return 0;
}
