/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/task/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/become.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/service.h"
#include "slurmstepd/env/affinity.h"
#include "slurmstepd/env/gpus.h"
#include "slurmstepd/env/userenv.h"
#include "slurmstepd/env/vars.h"
#include "slurmstepd/mpi/mpi.h"
#include "slurmstepd/task/contain.h"
#include "slurmstepd/task/debug.h"
#include "slurmstepd/task/hook.h"
#include "slurmstepd/task/jobtmp.h"
#include "slurmstepd/task/plugin.h"
#include "slurmstepd/task/session.h"

#define SERVER_FD 3
#define SAID_MAX (PATH_MAX + ERR_TEXT_MAX)

static const char *const stream_names[] = {"input", "output", "error"};

/* Collects the descriptors that are passed with a report. */
static size_t pass_descriptors(const struct child_plan *plan, int *fds, uint32_t *passed)
{
    const struct {
        enum child_passed what;
        int fd;
    } all[CHILD_FDS] = {{CHILD_ERROR, STDERR_FILENO},
                        {CHILD_OUTPUT, plan->pass_output ? STDOUT_FILENO : -1},
                        {CHILD_OUTPUT_FILE, plan->file[1]},
                        {CHILD_ERROR_FILE, plan->file[2]}};
    size_t count = 0;

    for (size_t i = 0; i < CHILD_FDS; i++) {
        if (all[i].fd < 0)
            continue;
        *passed |= all[i].what;
        fds[count++] = all[i].fd;
    }
    return count;
}

static void send_report(const struct child_plan *plan, int code, const char *text)
{
    struct child_report r = {.code = code};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(CHILD_FDS * sizeof(int))];
    } control = {0};
    struct iovec part = {&r, sizeof(r)};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

    snprintf(r.text, sizeof(r.text), "%s", text);
    if (!code) {
        int fds[CHILD_FDS];
        size_t len = sizeof(int) * pass_descriptors(plan, fds, &r.passed);

        part.iov_len = offsetof(struct child_report, text);
        m.msg_control = control.room;
        m.msg_controllen = CMSG_SPACE(len);
        control.head.cmsg_len = CMSG_LEN(len);
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        memcpy(CMSG_DATA(&control.head), fds, len);
    }
    if (sendmsg(plan->report_fd, &m, MSG_NOSIGNAL) < 0)
        _exit(1); /* the shepherd has gone */
}

static _Noreturn void report_failure(const struct child_plan *plan, const struct err *err)
{
    send_report(plan, err->code < 0 ? -err->code : err->code, err->text);
    _exit(1);
}

/* Does not allocate, see child_shares_memory(). */
static __attribute__((format(printf, 1, 2))) void say(const char *fmt, ...)
{
    char text[SAID_MAX], line[SAID_MAX + 32];
    va_list ap;
    int len;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    len = snprintf(line, sizeof(line), "slurmstepd: error: %s\n", text);
    path_write_all(STDERR_FILENO, line, (size_t)len);
}

/* Resets all signals: posix_spawn() leaves two ignored that the C library reserves. */
static void reset_handlers(void)
{
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        unsigned long mask;
    } kernel_action = {0};

    for (int signo = 1; signo < NSIG; signo++)
        syscall(SYS_rt_sigaction, signo, &kernel_action, NULL, sizeof(kernel_action.mask));
}

static void unblock_signals(void)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The user can send a process a signal that dumps core once the process is the user's, and before
 * Linux 5.16 a core dump ends all processes that share its memory. A process that is not dumpable
 * dies alone. */
static void guard_shared_memory(void)
{
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    unblock_signals();
}

/* Called as the user, so that no limit rises above what this node grants. */
static void set_soft_limit(const Pb__Rlimit *want)
{
    struct rlimit limit;

    if (want->resource >= RLIM_NLIMITS || getrlimit((__rlimit_resource_t)want->resource, &limit))
        return;
    limit.rlim_cur = want->soft < limit.rlim_max ? want->soft : limit.rlim_max;
    setrlimit((__rlimit_resource_t)want->resource, &limit);
}

/* For VSizeFactor: users cannot raise the limit again. */
static void limit_address_space(uint64_t bytes)
{
    struct rlimit limit;
    if (!bytes || getrlimit(RLIMIT_AS, &limit) || limit.rlim_max < bytes)
        return;
    limit.rlim_max = bytes;
    limit.rlim_cur = limit.rlim_cur < bytes ? limit.rlim_cur : bytes;
    setrlimit(RLIMIT_AS, &limit);
}

static void set_limits(const struct step *step, const struct child_plan *plan)
{
    fd_set_limit(step->descriptors);
    dump_set_limit(step->core_limit);
    for (size_t i = 0; i < plan->rlimit_count; i++)
        set_soft_limit(plan->rlimits[i]);
    limit_address_space(step->vsize_bytes);
}

/* PropagatePrioProcess: the nice value of the submitting command. Only root's may be better than
 * that of slurmd, which this process has inherited. */
static void set_priority(const struct step *step)
{
    const char *text = envlist_get(&step->env, "SLURM_PRIO_PROCESS");
    int own = getpriority(PRIO_PROCESS, 0);
    long long wanted;

    if (!step->start->propagate_prio || !text || str_parse_i64(text, -20, 19, &wanted) < 0)
        return;
    if (step->start->propagate_prio == 2)
        own++;
    if (wanted < own && (step->start->propagate_prio == 2 || geteuid() != 0))
        wanted = own;
    setpriority(PRIO_PROCESS, 0, (int)wanted);
}

static int open_task_file(const struct child_plan *plan, int number, struct err *err)
{
    const char *path = plan->path[number];
    int flags = O_NOCTTY | O_CLOEXEC;
    int fd;

    if (number == 0)
        flags |= O_RDONLY;
    else
        flags |= O_WRONLY | O_CREAT | O_APPEND | (plan->truncate[number] ? O_TRUNC : 0);
    fd = open(path, flags, 0666);
    if (fd < 0)
        return err_set(err, -ERR_OPEN_IO, "Could not open standard %s file %.300s: %s",
                       stream_names[number], path, strerror(errno));
    return fd;
}

static int open_streams(struct child_plan *plan, struct err *err)
{
    int fds[3];

    for (int i = 0; i < 3; i++) {
        fds[i] = plan->path[i] ? open_task_file(plan, i, err) : plan->fd[i];
        if (fds[i] < 0)
            return fds[i];
        if (plan->is_labelled[i]) {
            plan->file[i] = fds[i];
            fds[i] = plan->fd[i];
        }
    }
    for (int i = 0; i < 3; i++)
        if (dup2(fds[i], i) < 0)
            return err_set(err, -errno, "cannot set up standard %s: %s", stream_names[i],
                           strerror(errno));
    if (plan->is_pty && ioctl(0, TIOCSCTTY, 0))
        return err_set(err, -errno, "cannot take the terminal: %s", strerror(errno));
    return 0;
}

/* Closes at once instead of at exec: a child that hangs before exec must not keep the shepherd's
 * connections open. Standard streams stay. */
static void close_all_but(const int *keep, size_t count)
{
    unsigned from = 3;

    for (;;) {
        unsigned next = ~0u;

        for (size_t i = 0; i < count; i++)
            if (keep[i] >= 0 && (unsigned)keep[i] >= from && (unsigned)keep[i] < next)
                next = (unsigned)keep[i];
        if (next > from)
            syscall(SYS_close_range, from, next == ~0u ? next : next - 1, 0);
        if (next == ~0u)
            return;
        from = next + 1;
    }
}

static void close_what_is_not_mine(const struct step *step, const struct child_plan *plan)
{
    const int own[] = {plan->fd[0],  plan->fd[1],     plan->fd[2],
                       plan->pmi_fd, plan->report_fd, plan->go_fd};
    size_t count = sizeof(own) / sizeof(own[0]), more;
    const int *plugins = plugin_descriptors(step, &more);
    _cleanup_free_ int *keep = more ? mem_new_array(int, count + more) : NULL;

    if (!more) {
        close_all_but(own, count);
        return;
    }
    memcpy(keep, own, sizeof(own));
    memcpy(keep + count, plugins, more * sizeof(*plugins));
    close_all_but(keep, count + more);
}

/* Moves the descriptor away from the number used for PMI_FD. */
static int move_descriptor_up(int fd)
{
    return fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, MPI_TASK_FD + 1);
}

/* Closes everything except the three streams and the sockets that report until exec. */
static int close_the_rest(struct child_plan *plan, struct err *err)
{
    if (plan->pmi_fd >= 0) {
        plan->report_fd = move_descriptor_up(plan->report_fd);
        plan->go_fd = move_descriptor_up(plan->go_fd);
        plan->pmi_fd = move_descriptor_up(plan->pmi_fd);
        for (int i = 0; i < 3; i++)
            plan->file[i] = move_descriptor_up(plan->file[i]);
    }
    if (syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC))
        return err_set(err, -errno, "cannot mark descriptors for closing: %s", strerror(errno));
    if (plan->pmi_fd >= 0 && dup2(plan->pmi_fd, MPI_TASK_FD) < 0)
        return err_set(err, -errno, "cannot set up PMI_FD: %s", strerror(errno));
    return 0;
}

static void add_task(struct task *t, pid_t pid, struct envlist *env)
{
    struct step *step = t->step;
    uint32_t *ids = mem_new_array(uint32_t, step->task_count);

    for (size_t i = 0; i < step->task_count; i++)
        ids[i] = step->tasks[i].id;
    vars_task(env, t->id, t->local, pid, ids, step->task_count);
    free(ids);
}

/* Whether a PMIx variable belongs to an outer server; the user's libraries and settings are
   kept. */
static bool is_of_outer_pmix(const char *name, size_t len)
{
    (void)len;
    return str_starts(name, "PMIX_") && !str_starts(name, "PMIX_MCA_");
}

static void finish_environment(struct task *t, const struct child_plan *plan)
{
    struct step *step = t->step;

    add_task(t, getpid(), &step->env);
    if (step->pmix) {
        envlist_unset_if(&step->env, is_of_outer_pmix);
        step->life->put_pmix_env(t, &step->env);
    }
    if (plan->pmi_fd >= 0) {
        size_t size = 0;

        for (size_t i = 0; i < step->granted->n_nodes; i++)
            size += step->granted->nodes[i]->n_task_ids;
        envlist_setf(&step->env, "PMI_FD", "%d", MPI_TASK_FD);
        envlist_setf(&step->env, "PMI_RANK", "%u", t->id);
        envlist_setf(&step->env, "PMI_SIZE", "%zu", size);
        envlist_unset(&step->env, "PMI_SPAWNED"); /* of an outer step */
        if (step->is_spawned)
            envlist_set(&step->env, "PMI_SPAWNED", "1");
    }
}

/* Like execvpe(), with the task's PATH: does not allocate, and checks that a file exists before it
 * tries to execute it, which is cheaper. */
static void run_by_path(const struct child_plan *plan, const char *path, char **env)
{
    const char *program = plan->argv[0];
    char full[PATH_MAX];
    int error = ENOENT;

    if (strchr(program, '/')) {
        execvpe(program, plan->argv, env);
        return;
    }
    for (bool more = *program; more; path++) {
        size_t len = strcspn(path, ":");
        int n =
            snprintf(full, sizeof(full), "%.*s/%s", len ? (int)len : 1, len ? path : ".", program);

        path += len;
        more = *path;
        if (n < 0 || (size_t)n >= sizeof(full))
            continue;
        if (!access(full, F_OK))
            execvpe(full, plan->argv, env);
        if (errno == EACCES)
            error = EACCES;
        else if (errno != ENOENT && errno != ENOTDIR && errno != ESTALE && errno != ENODEV &&
                 errno != ETIMEDOUT)
            return;
    }
    errno = error;
}

/* Reports that the file exists, but its interpreter does not. */
static void report_missing(const char *path)
{
    char head[PATH_MAX] = "", *name;
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head) - 1);

    if (n < 2 || strncmp(head, "#!", 2) != 0) {
        say("execve(): %s: the loader or interpreter that it asks for is not on this node", path);
        return;
    }
    name = head + 2 + strspn(head + 2, " \t");
    name[strcspn(name, " \t\r\n")] = '\0';
    say("execve(): %s: its interpreter %s is not on this node", path, name);
}

/* Tries a program in the working directory outside of PATH; the error of the search is kept. */
static void run_of_directory(const struct child_plan *plan, char **env)
{
    int error = errno;
    char here[PATH_MAX];
    int n = snprintf(here, sizeof(here), "./%s", plan->argv[0]);

    if (n > 0 && (size_t)n < sizeof(here) && !strchr(plan->argv[0], '/') &&
        (error == ENOENT || error == EACCES))
        execve(here, plan->argv, env);
    errno = error;
}

static _Noreturn void run_program(struct task *t, const struct child_plan *plan)
{
    char **env = envlist_argv(&t->step->env);
    int code;

    if (plan->by_path) {
        const char *path = envlist_get(&t->step->env, "PATH");

        run_by_path(plan, path ? path : "/usr/bin:/bin", env);
        run_of_directory(plan, env);
    } else {
        execve(plan->argv[0], plan->argv, env);
    }
    code = errno;
    if (code == ENOENT && !plan->by_path && !access(plan->argv[0], F_OK))
        report_missing(plan->argv[0]);
    else
        say("execve(): %s: %s", plan->argv[0], strerror(code));
    _exit(code);
}

/* The part of the setup that allocates memory. Returns the messages for standard error, in the
 * arena. */
static const char *prepare_task(struct task *t, const struct child_plan *plan)
{
    _cleanup_str_ struct str said = STR_INIT;
    struct step *step = t->step;

    finish_environment(t, plan);
    gpus_bind(t, &step->env, &said);
    affinity_apply(t, &said);
    envlist_argv(&step->env); /* reserves the slot that run_program() needs */
    return said.len ? arena_strdup(&step->arena, str_cstr(&said)) : "";
}

/* Tasks that wait between fork and exec, open files, or allocate as the user may not share memory.
 * The kernel also kills all processes that share the memory of a process over its cgroup's limit.
 */
bool child_shares_memory(const struct step *step, const struct child_plan *plan)
{
    if (!step->may_share_memory || !step->launch || step->task_count != 1 || plan->go_fd >= 0)
        return false;
    for (int i = 0; i < 3; i++)
        if (plan->path[i] && strcmp(plan->path[i], "/dev/null") != 0)
            return false;
    return !step->contain && step->tmp_fd < 0 && !step->session && !step->pmix && !plan->is_pty &&
           !plugin_is_open(step) && !debug_wanted(step) && !hook_has_prologs(step) &&
           !hook_has_epilogs(step) && step->group_count < BECOME_GROUPS_FEW;
}

_Noreturn void child_run(struct task *t, struct child_plan *plan)
{
    struct step *step = t->step;
    struct err err = {0};
    const char *said = NULL;
    int chdir_error = 0, code;
    char byte;

    plan->pass_output = hook_has_epilogs(step);
    if (contain_enter(step, &err) || jobtmp_enter(step->tmp_fd, &err))
        report_failure(plan, &err);
    close_what_is_not_mine(step, plan);
    reset_handlers();
    if (!plan->shares_memory)
        unblock_signals();
    setsid();
    session_limit(step);
    if (plan->shares_memory)
        said = prepare_task(t, plan);
    if (plugin_task_privileged(t, plan, &err) ||
        become_user(step->uid, step->gid, step->groups, step->group_count, &err))
        report_failure(plan, &err);
    if (plan->shares_memory)
        guard_shared_memory();
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != step->pid)
        _exit(1); /* the parent died before the request above */
    umask(plan->umask & 0777);
    if (chdir(plan->work_dir)) {
        chdir_error = errno;
        if (chdir("/tmp")) {
            err_set(&err, -ERR_CHDIR, "couldn't chdir to `%.300s': %s, nor to /tmp", plan->work_dir,
                    strerror(chdir_error));
            report_failure(plan, &err);
        }
    }
    if (open_streams(plan, &err) || close_the_rest(plan, &err))
        report_failure(plan, &err);
    if (chdir_error)
        say("couldn't chdir to `%s': %s: going to /tmp instead", plan->work_dir,
            strerror(chdir_error));
    if (userenv_wanted(step) && userenv_load(step, &err)) {
        say("%s", err.text);
        report_failure(plan, &err);
    }
    if (debug_wanted(step))
        debug_allow();
    send_report(plan, 0, "");
    if (plan->go_fd >= 0 && read(plan->go_fd, &byte, 1) != 1)
        _exit(1); /* the shepherd has gone or given up */
    if (!plan->shares_memory)
        said = prepare_task(t, plan);
    path_write_all(STDERR_FILENO, said, strlen(said));
    set_limits(step, plan);
    set_priority(step);
    code = hook_prologs(t, plan);
    if (code)
        _exit(code);
    if (plugin_task_init(t, plan, &err)) {
        say("%s", err.text);
        _exit(1);
    }
    run_program(t, plan);
}

/* The child runs none of our signal handlers. Changes to the protection of memory, made by
 * becoming the user, are reverted. */
pid_t child_start_sharing(struct task *t, const struct child_plan *plan)
{
    struct child_plan own = *plan;
    sigset_t all, before;
    int error;
    pid_t pid;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    /* NOLINTBEGIN(clang-analyzer-unix.Vfork,clang-analyzer-security.insecureAPI.vfork) */
    /* On Linux the child may call functions, because this process waits meanwhile. */
    pid = vfork();
    if (pid == 0)
        child_run(t, &own);
    /* NOLINTEND(clang-analyzer-unix.Vfork,clang-analyzer-security.insecureAPI.vfork) */
    error = errno;
    dump_forbid();
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return pid;
}

/* Becomes the user, in the step's control group, and ends with its shepherd; for programs that run
   beside tasks. */
static void become_child(const struct step *step, const int *keep, size_t count)
{
    if (contain_enter(step, NULL) || jobtmp_enter(step->tmp_fd, NULL))
        _exit(126);
    close_all_but(keep, count);
    reset_handlers();
    setsid();
    if (become_user(step->uid, step->gid, step->groups, step->group_count, NULL))
        _exit(126);
    unblock_signals();
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != step->pid)
        _exit(126); /* the parent died before the request above */
}

_Noreturn void child_run_server(struct step *step, const char *path, int fd)
{
    char *const argv[] = {"slurmstepd-pmix", step->name, NULL};
    const int keep[] = {fd};

    become_child(step, keep, 1);
    if ((fd != SERVER_FD && dup2(fd, SERVER_FD) < 0) || fcntl(SERVER_FD, F_SETFD, 0) ||
        syscall(SYS_close_range, SERVER_FD + 1, ~0u, 0) || chdir("/"))
        _exit(126);
    umask(077);
    envlist_unset_if(&step->env, is_of_outer_pmix);
    execve(path, argv, envlist_argv(&step->env));
    _exit(127);
}

/* An epilog is told the limits of its task, but runs with its own: they are only set in order to
   be read. */
static void put_task_facts(struct hook *h)
{
    struct rlimit own[RLIM_NLIMITS] = {0};

    for (__rlimit_resource_t i = 0; i < RLIM_NLIMITS; i++)
        getrlimit(i, &own[i]);
    for (size_t i = 0; i < h->limit_count; i++)
        set_soft_limit(&h->limits[i]);
    hook_put_task_facts(&h->env);
    for (__rlimit_resource_t i = 0; i < RLIM_NLIMITS; i++)
        setrlimit(i, &own[i]);
}

_Noreturn void child_run_epilog(struct task *t, const char *name, const char *path)
{
    struct step *step = t->step;
    char *const argv[] = {(char *)path, NULL};
    const int keep[] = {t->out_fd, t->error_fd};
    int null;

    become_child(step, keep, sizeof(keep) / sizeof(keep[0]));
    umask(step->hook.umask & 0777);
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(t->out_fd >= 0 ? t->out_fd : null, STDOUT_FILENO) < 0 ||
        dup2(t->error_fd >= 0 ? t->error_fd : null, STDERR_FILENO) < 0 ||
        syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC))
        _exit(126);
    if (chdir(step->hook.work_dir) && chdir("/tmp"))
        _exit(126);
    fd_set_limit(step->descriptors);
    dump_set_limit(step->core_limit);
    add_task(t, t->last_pid, &step->hook.env);
    put_task_facts(&step->hook);
    envlist_set(&step->hook.env, "SLURM_SCRIPT_CONTEXT", "epilog_task");
    execve(path, argv, envlist_argv(&step->hook.env));
    say("%s %s cannot be run: %s", name, path, strerror(errno));
    _exit(127);
}
