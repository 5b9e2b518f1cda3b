/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The daemons as processes: starting them, finding them by their pid files, waiting for them, and
 * ending them. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "cmd/sluice/sluice.h"
#include "loop/loop.h"

#define SAID_MAX (16u << 10)

extern char **environ;

/* A daemon's environment: the user's, with this cluster's configuration and no variable of another
 * cluster. */
static char **daemon_environment(const char *conf)
{
    VEC(char *) env = {0};
    for (char **e = environ; *e; e++)
        if (!str_starts(*e, "SLURM"))
            vec_push(&env, mem_strdup(*e));
    vec_push(&env, mem_printf("SLURM_CONF=%s", conf));
    vec_push(&env, (char *)NULL);
    return env.data;
}

static void strings_free(char **strings)
{
    for (char **s = strings; s && *s; s++)
        free(*s);
    free(strings);
}

int daemon_spawn(const char *program, const char *dir, const char *node, bool clean,
                 struct daemon_start *d, struct err *err)
{
    _cleanup_free_ char *path = place_program(program), *conf = place_path(dir, "slurm.conf");
    char *argv[8] = {path, (char *)"-f", conf};
    int argc = 3;
    if (clean)
        argv[argc++] = (char *)"-c";
    if (node) {
        argv[argc++] = (char *)"-N";
        argv[argc++] = (char *)node;
    }
    int said = memfd_create("said", MFD_CLOEXEC);
    if (said < 0)
        return err_set(err, -errno, "memfd: %s", strerror(errno));

    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, said, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, said, STDERR_FILENO);
    posix_spawn_file_actions_addchdir_np(&files, "/");
    char **env = daemon_environment(conf);
    int rc = posix_spawn(&d->pid, path, &files, NULL, argv, env);
    strings_free(env);
    posix_spawn_file_actions_destroy(&files);
    if (rc) {
        close(said);
        return err_set(err, -rc, "cannot start %s: %s", path, strerror(rc));
    }
    d->name = node ? mem_printf("%s %s", program, node) : mem_strdup(program);
    d->said_fd = said;
    return 0;
}

int daemon_wait(struct daemon_start *d, struct err *err)
{
    int status = 0;
    while (waitpid(d->pid, &status, 0) < 0)
        if (errno != EINTR)
            return err_set(err, -errno, "%s: %s", d->name, strerror(errno));
    d->pid = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    char said[ERR_TEXT_MAX / 2] = "";
    ssize_t n = pread(d->said_fd, said, sizeof(said) - 1, 0);
    while (n > 0 && isspace((unsigned char)said[n - 1]))
        said[--n] = '\0';
    if (WIFSIGNALED(status))
        return err_set(err, -ERR_GENERIC, "%s was ended by signal %d%s%s", d->name,
                       WTERMSIG(status), *said ? ":\n" : "", said);
    return err_set(err, -ERR_GENERIC, "%s did not start%s%s", d->name, *said ? ":\n" : "", said);
}

void daemon_start_done(struct daemon_start *d)
{
    if (!d->name)
        return;
    if (d->pid > 0) {
        kill(d->pid, SIGTERM);
        waitpid(d->pid, NULL, 0);
    }
    close(d->said_fd);
    free(d->name);
    *d = (struct daemon_start){0};
}

char *daemon_log_tail(const char *dir, const char *node)
{
    _cleanup_free_ char *path = node ? mem_printf("%s/log/slurmd-%s.log", dir, node)
                                     : mem_printf("%s/log/slurmctld.log", dir);
    char text[SAID_MAX + 1];
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st))
        return mem_strdup("");
    off_t from = st.st_size > SAID_MAX ? st.st_size - SAID_MAX : 0;
    ssize_t n = pread(fd, text, SAID_MAX, from);
    if (n <= 0)
        return mem_strdup("");
    text[n] = '\0';
    char *at = text + n;
    for (int lines = 0; at > text && lines <= SLUICE_LOG_LINES; at--)
        lines += at[-1] == '\n';
    if (at > text)
        at++;
    return mem_printf("the end of %s:\n%s", path, at);
}

/* Whether the process runs this program of the installation, even if the file was replaced since.
 */
static bool runs_program(pid_t pid, const char *program)
{
    char link[64], exe[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    ssize_t n = readlink(link, exe, sizeof(exe) - 1);
    if (n <= 0)
        return false;
    exe[n] = '\0';
    char *deleted = strstr(exe, " (deleted)");
    if (deleted)
        *deleted = '\0';
    const char *slash = strrchr(exe, '/');
    return slash && str_eq(slash + 1, program);
}

/* The state letter of the process, and its parent; a process that does not exist counts as a zombie
 * without a parent. */
static char read_state(pid_t pid, int *parent)
{
    char path[64], letter = 'X';
    _cleanup_str_ struct str stat = STR_INIT;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    *parent = 0;
    if (path_read_file(path, 4096, &stat, NULL))
        return letter;
    const char *end = strrchr(str_cstr(&stat), ')');
    return end && sscanf(end, ") %c %d", &letter, parent) == 2 ? letter : 'X';
}

static bool is_zombie(pid_t pid)
{
    int parent;
    char letter = read_state(pid, &parent);
    return letter == 'Z' || letter == 'X';
}

/* Whether the command line or the environment of the process contains the directory. */
static bool names_directory(pid_t pid, const char *dir)
{
    static const char *const files[] = {"cmdline", "environ"};
    _cleanup_free_ char *needle = mem_printf("%s/", dir);
    for (size_t i = 0; i < 2; i++) {
        char path[64];
        _cleanup_str_ struct str text = STR_INIT;
        snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, files[i]);
        if (!path_read_file(path, 4u << 20, &text, NULL) && text.len &&
            memmem(text.data, text.len, needle, strlen(needle)))
            return true;
    }
    return false;
}

static void list_add(struct daemon_list *list, pid_t pid, const char *name)
{
    struct daemon_pid d = {.pid = pid, .name = mem_strdup(name)};
    vec_push(&list->all, d);
}

void daemon_list(const char *dir, struct daemon_list *list)
{
    _cleanup_free_ char *run = place_path(dir, "run");
    DIR *d = opendir(run);
    for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        size_t len = strlen(e->d_name);
        if (len < 5 || !str_eq(e->d_name + len - 4, ".pid"))
            continue;
        _cleanup_free_ char *path = place_path(run, e->d_name);
        _cleanup_free_ char *name = mem_strndup(e->d_name, len - 4);
        _cleanup_str_ struct str text = STR_INIT;
        if (path_read_file(path, 64, &text, NULL))
            continue;
        pid_t pid = (pid_t)strtol(str_cstr(&text), NULL, 10);
        const char *program = str_eq(name, "slurmctld") ? "slurmctld" : "slurmd";
        if (pid > 1 && runs_program(pid, program) && names_directory(pid, dir) && !is_zombie(pid))
            list_add(list, pid, name);
    }
    if (d)
        closedir(d);
}

/* The process that listens on the socket; 0: none. */
static pid_t find_listener(const char *path)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    struct ucred peer = {0};
    socklen_t len = sizeof(peer);
    if (fd < 0 || strlen(path) >= sizeof(addr.sun_path))
        return 0;
    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
    if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
        return 0;
    return peer.pid;
}

static bool has_pid(const struct daemon_list *list, pid_t pid)
{
    vec_foreach (&list->all, d)
        if (d->pid == pid)
            return true;
    return false;
}

/* Adds all descendants of the processes in the list: the tasks of a step outlive its slurmstepd. */
static void add_descendants(struct daemon_list *list)
{
    size_t before;
    do {
        DIR *d = opendir("/proc");
        before = list->all.len;
        for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
            int parent;
            pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
            if (pid > 1 && read_state(pid, &parent) != 'X' && has_pid(list, parent) &&
                !has_pid(list, pid) && !is_zombie(pid))
                list_add(list, pid, "task");
        }
        if (d)
            closedir(d);
    } while (list->all.len > before);
}

/* The command line of a slurmstepd names its step and not the directory, so the daemon is found by
 * its socket. */
void daemon_list_steps(const char *dir, struct daemon_list *list)
{
    _cleanup_free_ char *pattern = place_path(dir, "spool/*/steps/*.sock");
    glob_t found = {0};
    glob(pattern, GLOB_NOSORT, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        pid_t pid = find_listener(found.gl_pathv[i]);
        if (pid > 1 && runs_program(pid, "slurmstepd") && !is_zombie(pid))
            list_add(list, pid, "slurmstepd");
    }
    globfree(&found);
    add_descendants(list);
}

void daemon_list_done(struct daemon_list *list)
{
    vec_foreach (&list->all, d)
        free(d->name);
    vec_done(&list->all);
}

pid_t daemon_find(const struct daemon_list *list, const char *name)
{
    vec_foreach (&list->all, d)
        if (str_eq(d->name, name))
            return d->pid;
    return 0;
}

static bool wait_gone(pid_t pid, int64_t until_ms)
{
    _cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return errno == ESRCH;
    for (;;) {
        int64_t left = until_ms - loop_mono_ms();
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int rc = poll(&p, 1, left > 0 ? (int)left : 0);
        if (rc > 0)
            return true;
        if (rc == 0)
            return false;
    }
}

bool daemon_ends(pid_t pid, int64_t ms)
{
    return wait_gone(pid, loop_mono_ms() + ms);
}

void daemon_drop_gone(struct daemon_list *list)
{
    for (size_t i = list->all.len; i-- > 0;)
        if (daemon_ends(list->all.data[i].pid, 0)) {
            free(list->all.data[i].name);
            vec_remove(&list->all, i);
        }
}

size_t daemon_wait_gone(const struct daemon_list *list, int64_t ms)
{
    int64_t until_ms = loop_mono_ms() + ms;
    size_t left = 0;
    vec_foreach (&list->all, d)
        left += !wait_gone(d->pid, until_ms);
    return left;
}

void daemon_kill(const struct daemon_list *list, int signo)
{
    vec_foreach (&list->all, d)
        kill(d->pid, signo);
}
