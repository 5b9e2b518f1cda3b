/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "cgroup/internal.h"

#define FILE_BYTES_MAX (8u << 20) /* bytes of a list of a million processes */
#define CHUNK 4096

int cgroup_file_read(int dir, const char *file, struct str *out)
{
    _cleanup_close_ int fd = openat(dir, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char chunk[CHUNK];
    ssize_t n;

    if (fd < 0)
        return -errno;
    while ((n = read(fd, chunk, sizeof(chunk))) > 0 && out->len < FILE_BYTES_MAX)
        str_append(out, chunk, (size_t)n);
    return n < 0 ? -errno : 0;
}

/* One system call is one order to the kernel. Without O_CREAT, so that no file is ever created. */
int cgroup_file_write(int dir, const char *file, const char *text)
{
    _cleanup_close_ int fd = openat(dir, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_TRUNC);
    size_t len = strlen(text);
    ssize_t n;

    if (fd < 0)
        return -errno;
    do
        n = write(fd, text, len);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : (size_t)n == len ? 0 : -EIO;
}

int cgroup_file_put(const struct cgroup *c, enum cgroup_part part, const char *file,
                    const char *text, struct err *err)
{
    int dir = cgroup_dir(c, part);
    int rc = dir < 0 ? -ENOENT : cgroup_file_write(dir, file, text);

    return rc ? err_set(err, rc, "cannot write '%s' to %s of cgroup %s: %s", text, file, c->path,
                        strerror(-rc))
              : 0;
}

int cgroup_file_number(int dir, const char *file, const char *word, uint64_t *out)
{
    _cleanup_str_ struct str text = STR_INIT;
    size_t len = word ? strlen(word) : 0;
    int rc = cgroup_file_read(dir, file, &text);
    const char *at = str_cstr(&text);
    unsigned long long value;
    char *end;

    if (rc)
        return rc;
    while (word && (strncmp(at, word, len) != 0 || at[len] != ' ')) {
        at = strchr(at, '\n');
        if (!at)
            return -ENOENT;
        at++;
    }
    at += word ? len + 1 : 0;
    if (str_starts(at, "max")) {
        *out = UINT64_MAX;
        return 0;
    }
    errno = 0;
    value = strtoull(at, &end, 10);
    if (end == at || errno || *at == '-')
        return -ERR_PARSE;
    *out = value;
    return 0;
}

bool cgroup_word_in(const char *list, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = list; (at = strstr(at, word)); at += len)
        if ((at == list || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\n' || !at[len]))
            return true;
    return false;
}

int cgroup_open_dir(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}
