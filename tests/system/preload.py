# SPDX-License-Identifier: GPL-3.0-or-later
"""Libraries that daemons load first: a name service and a disk that do as a test says, by files in a directory."""
import subprocess

NAMES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <netdb.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* While the file 'hang-hosts' or 'hang-users' is there nobody gets an answer; the file 'asked' says that somebody waits. With 'gone'
   the service is not to be had. */
static int service(const char *hang)
{
    FILE *f;

    if (access(DIR "/gone", F_OK) == 0)
        return -1;
    if (access(hang, F_OK) < 0)
        return 0;
    if ((f = fopen(DIR "/asked", "we")))
        fclose(f);
    while (access(hang, F_OK) == 0)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    return 0;
}

/* The file 'hosts' has lines "NAME ADDRESS"; what is not in it is asked of the machine, and in no time. */
int getaddrinfo(const char *name, const char *port, const struct addrinfo *hints, struct addrinfo **out)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
    char line[256], host[128], address[128];
    FILE *f = name && !(hints && hints->ai_flags & AI_NUMERICHOST) ? fopen(DIR "/hosts", "re") : NULL;
    int found = 0;

    while (f && !found && fgets(line, sizeof(line), f))
        found = sscanf(line, "%127s %127s", host, address) == 2 && strcmp(host, name) == 0;
    if (f)
        fclose(f);
    if (!found)
        return real(name, port, hints, out);
    return service(DIR "/hang-hosts") < 0 ? EAI_AGAIN : real(address, port, hints, out);
}

#define ASK(type, fn, key)                                                                        \
    int fn(key k, struct type *entry, char *buffer, size_t size, struct type **out)               \
    {                                                                                             \
        int (*real)(key, struct type *, char *, size_t, struct type **) = dlsym(RTLD_NEXT, #fn);  \
        *out = NULL;                                                                              \
        return service(DIR "/hang-users") < 0 ? EIO : real(k, entry, buffer, size, out);                           \
    }
ASK(passwd, getpwuid_r, uid_t)
ASK(passwd, getpwnam_r, const char *)
ASK(group, getgrgid_r, gid_t)
ASK(group, getgrnam_r, const char *)
"""

SYNC = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A sync is under way as long as the file 'hang' is there, and then as many milliseconds as the file 'slow' says; the file 'syncing'
   is there meanwhile. */
static void wait_here(void)
{
    FILE *f = fopen(DIR "/slow", "re");
    long low = 0, high = 0;

    if (f && fscanf(f, "%ld %ld", &low, &high) != 2)
        low = high = 0;
    if (f)
        fclose(f);
    if (!high && access(DIR "/hang", F_OK) < 0)
        return;
    if ((f = fopen(DIR "/syncing", "we")))
        fclose(f);
    while (access(DIR "/hang", F_OK) == 0)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    if (high)
        low += random() % (high - low + 1);
    nanosleep(&(struct timespec){low / 1000, low % 1000 * 1000000}, NULL);
    unlink(DIR "/syncing");
}

int fdatasync(int fd)
{
    wait_here();
    return (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
    wait_here();
    return (int)syscall(SYS_fsync, fd);
}
"""


def library(directory, source):
    """Builds one in a directory, which the files that it looks at are in; returns its path."""
    directory.mkdir(mode=0o755, exist_ok=True)
    code, built = directory / "first.c", directory / "first.so"
    code.write_text(source)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", f'-DDIR="{directory}"', "-o", built, code], check=True)
    return str(built)


class Switch:
    """Files that are there or not."""

    def __init__(self, directory):
        self.directory = directory

    def on(self, name, text=""):
        (self.directory / name).write_text(text)

    def off(self, name):
        (self.directory / name).unlink(missing_ok=True)

    def is_on(self, name):
        return (self.directory / name).exists()

    def made(self, name):
        """Returns the creation time, which distinguishes it from earlier and later ones of this name; None if it does not exist."""
        try:
            return (self.directory / name).stat().st_mtime_ns
        except FileNotFoundError:
            return None
