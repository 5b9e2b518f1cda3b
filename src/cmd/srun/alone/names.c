/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of users, groups and hosts in the program without shared libraries. The linker replaces the
 * C library's functions (--wrap) by these, which read only files.
 */
#include "cmd/srun/alone/names.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <nss.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"

#define GETENT "/usr/bin/getent"
#define NSSWITCH "/etc/nsswitch.conf"
#define LINE_SIZE 1024 /* maximum length of a line in either file; longer lines are cut */

extern char **environ;

int __real_getaddrinfo(const char *name, const char *port, const struct addrinfo *hints,
                       struct addrinfo **out);
struct passwd *__real_getpwnam(const char *name);
struct passwd *__real_getpwuid(uid_t uid);
struct group *__real_getgrnam(const char *name);
struct group *__real_getgrgid(gid_t gid);
int __real_getpwnam_r(const char *name, struct passwd *entry, char *buf, size_t size,
                      struct passwd **out);
int __real_getpwuid_r(uid_t uid, struct passwd *entry, char *buf, size_t size, struct passwd **out);
int __wrap_getaddrinfo(const char *name, const char *port, const struct addrinfo *hints,
                       struct addrinfo **out);
struct passwd *__wrap_getpwnam(const char *name);
struct passwd *__wrap_getpwuid(uid_t uid);
struct group *__wrap_getgrnam(const char *name);
struct group *__wrap_getgrgid(gid_t gid);
int __wrap_getpwnam_r(const char *name, struct passwd *entry, char *buf, size_t size,
                      struct passwd **out);
int __wrap_getpwuid_r(uid_t uid, struct passwd *entry, char *buf, size_t size, struct passwd **out);

/* A file is used only if NSSWITCH lists it first. The C library's default order starts with the
 * files. */
enum database { PASSWD, GROUP, HOSTS, DATABASES };
static const char *const database_names[DATABASES] = {"passwd", "group", "hosts"};
static bool has_files[DATABASES], order_is_known;

/* "passwd: files systemd" */
static void read_order(char *line)
{
    char *rest, *name = strtok_r(line, " \t\n:", &rest),
                *first = name != NULL ? strtok_r(NULL, " \t\n:", &rest) : NULL;

    for (enum database i = PASSWD; name != NULL && i < DATABASES; i++)
        if (strcmp(name, database_names[i]) == 0)
            has_files[i] = first != NULL && strcmp(first, "files") == 0;
}

static void read_orders(void)
{
    FILE *f = fopen(NSSWITCH, "re");
    char line[LINE_SIZE];

    for (enum database i = PASSWD; i < DATABASES; i++)
        has_files[i] = true;
    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        read_order(line);
    if (f != NULL)
        fclose(f);
    for (enum database i = PASSWD; i < DATABASES; i++)
        has_files[i] = has_files[i] && __nss_configure_lookup(database_names[i], "files") == 0;
}

/* Reads NSSWITCH on the first look-up only: most runs do not look up a name. */
static bool uses_files(enum database which)
{
    if (!order_is_known)
        read_orders();
    order_is_known = true;
    return has_files[which];
}

/* --- users and groups ------------------------------------------------------------------------- */

static bool leaving_is_forbidden;

void names_forbid_leaving(void)
{
    leaving_is_forbidden = true;
}

static void *need_user(void *found)
{
    if (found == NULL && !leaving_is_forbidden)
        alone_leave("the name of a user or group");
    return found;
}

/* Failures other than a missing entry also count as missing. */
static int need_entry(int rc, struct passwd **out)
{
    if (rc != 0)
        *out = NULL;
    need_user(*out);
    return 0;
}

struct passwd *__wrap_getpwnam(const char *name)
{
    return need_user(uses_files(PASSWD) ? __real_getpwnam(name) : NULL);
}

struct passwd *__wrap_getpwuid(uid_t uid)
{
    return need_user(uses_files(PASSWD) ? __real_getpwuid(uid) : NULL);
}

struct group *__wrap_getgrnam(const char *name)
{
    return need_user(uses_files(GROUP) ? __real_getgrnam(name) : NULL);
}

struct group *__wrap_getgrgid(gid_t gid)
{
    return need_user(uses_files(GROUP) ? __real_getgrgid(gid) : NULL);
}

int __wrap_getpwnam_r(const char *name, struct passwd *entry, char *buf, size_t size,
                      struct passwd **out)
{
    int rc = uses_files(PASSWD) ? __real_getpwnam_r(name, entry, buf, size, out) : ENOENT;

    return need_entry(rc, out);
}

int __wrap_getpwuid_r(uid_t uid, struct passwd *entry, char *buf, size_t size, struct passwd **out)
{
    int rc = uses_files(PASSWD) ? __real_getpwuid_r(uid, entry, buf, size, out) : ENOENT;

    return need_entry(rc, out);
}

/* --- hosts ------------------------------------------------------------------------------------ */

static int find_address(const char *text, const char *port, const struct addrinfo *hints,
                        struct addrinfo **out)
{
    struct addrinfo numeric = hints != NULL ? *hints : (struct addrinfo){0};

    numeric.ai_flags |= AI_NUMERICHOST | AI_NUMERICSERV;
    return __real_getaddrinfo(text, port, &numeric, out);
}

static int look_up_host(const char *name, const char *port, const struct addrinfo *hints,
                        struct addrinfo **out)
{
    int rc = find_address(name, port, hints, out);

    if (rc != EAI_NONAME || (hints != NULL && hints->ai_flags & AI_NUMERICHOST))
        return rc;
    return uses_files(HOSTS) ? __real_getaddrinfo(name, port, hints, out) : EAI_NONAME;
}

bool names_know_host(const char *name)
{
    struct addrinfo *list = NULL;

    if (look_up_host(name, NULL, NULL, &list) != 0)
        return false;
    freeaddrinfo(list);
    return true;
}

static void wait_for_child(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

/* A pipe with the output of "PROGRAM ahosts -- NAME"; NULL: the program cannot be started. */
static FILE *start_getent(const char *program, const char *name, pid_t *pid)
{
    char *const argv[] = {(char *)program, (char *)"ahosts", (char *)"--", (char *)name, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2], rc;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    rc = posix_spawn(pid, program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *f = rc == 0 ? fdopen(ends[0], "r") : NULL;
    if (f == NULL)
        close(ends[0]);
    if (rc == 0 && f == NULL) {
        kill(*pid, SIGKILL);
        wait_for_child(*pid);
    }
    return f;
}

/* Lines are "ADDRESS TYPE [NAME]", each address once per socket type, in order of preference. */
int names_ask(const char *program, const char *name, const char *port, const struct addrinfo *hints,
              struct addrinfo **out)
{
    char line[LINE_SIZE];
    struct addrinfo *list = NULL, **end = &list;
    size_t count = 0;
    pid_t pid;
    FILE *f = start_getent(program, name, &pid);

    if (f == NULL)
        return EAI_AGAIN;
    while (fgets(line, sizeof(line), f) != NULL) {
        char *rest, *address = strtok_r(line, " \t\n", &rest),
                    *type = strtok_r(NULL, " \t\n", &rest);

        if (type == NULL || strcmp(type, "STREAM") != 0 || count == NAMES_ASKED_MAX ||
            find_address(address, port, hints, end) != 0)
            continue;
        count++;
        while (*end != NULL) /* each entry of the list is freed separately */
            end = &(*end)->ai_next;
    }
    fclose(f);
    wait_for_child(pid);
    *out = list;
    return list != NULL ? 0 : EAI_NONAME;
}

int __wrap_getaddrinfo(const char *name, const char *port, const struct addrinfo *hints,
                       struct addrinfo **out)
{
    int rc =
        name != NULL ? look_up_host(name, port, hints, out) : find_address(name, port, hints, out);

    if (rc == 0 || name == NULL || (hints != NULL && hints->ai_flags & AI_NUMERICHOST))
        return rc;
    return names_ask(GETENT, name, port, hints, out);
}
