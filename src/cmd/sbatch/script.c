/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sbatch/script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "cli/opt.h"

#define CHUNK 65536

int script_read_fd(int fd, const char *name, size_t max, struct str *text, struct err *err)
{
    for (;;) {
        str_reserve(text, CHUNK);
        ssize_t n = read(fd, text->data + text->len, CHUNK - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, -errno, "Unable to read %s: %s", name, strerror(errno));
        if (n == 0 || text->len > max)
            return 0;
        text->len += (size_t)n;
        text->data[text->len] = 0;
    }
}

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Searches PATH like a shell. NULL: not found. */
static char *find_in_path(const char *file)
{
    const char *path = getenv("PATH");
    for (; path && *path; path += strcspn(path, ":"), path += *path == ':') {
        size_t len = strcspn(path, ":");
        if (!len)
            continue;
        char *candidate = mem_printf("%.*s/%s", (int)len, path, file);
        if (is_file(candidate) && access(candidate, R_OK) == 0)
            return candidate;
        free(candidate);
    }
    return NULL;
}

/* NULL: use 'file' as it is. */
static char *find_script(const char *file, const char *dir)
{
    if (dir && *file != '/') {
        char *inside = mem_printf("%s/%s", dir, file);
        if (is_file(inside))
            return inside;
        free(inside);
    }
    return strchr(file, '/') || is_file(file) ? NULL : find_in_path(file);
}

int script_read(const char *file, const char *dir, struct str *text, char **path, struct err *err)
{
    if (!file)
        return script_read_fd(STDIN_FILENO, "standard input", OPT_SCRIPT_MAX, text, err);
    _cleanup_free_ char *found = find_script(file, dir);
    const char *name = found ? found : file;
    _cleanup_close_ int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, -errno, "Unable to open file %s: %s", name, strerror(errno));
    int r = script_read_fd(fd, name, OPT_SCRIPT_MAX, text, err);
    if (r == 0)
        *path = path_absolute(name, NULL);
    return r;
}

void script_wrap(const char *command, struct str *text)
{
    str_printf(text, "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n%s\n", command);
}

int script_check(const struct str *text, struct err *err)
{
    const char *data = str_cstr(text);
    if (text->len > OPT_SCRIPT_MAX)
        return err_set(err, -ERR_SCRIPT, "Batch script exceeds the limit of %u bytes",
                       OPT_SCRIPT_MAX);
    if (!data[strspn(data, " \t\n")] && !memchr(data, 0, text->len))
        return err_set(err, -ERR_SCRIPT, "Batch script is empty!");
    if (text->len < 2 || data[0] != '#' || data[1] != '!')
        return err_set(err, -ERR_SCRIPT,
                       "This does not look like a batch script.  The first\n"
                       "line must start with #! followed by the path to an interpreter.\n"
                       "For instance: #!/bin/sh");
    if (memchr(data, 0, text->len))
        return err_set(err, -ERR_SCRIPT,
                       "The Slurm controller does not allow scripts that\n"
                       "contain a NULL character '\\0'.");
    if (strstr(data, "\r\n"))
        return err_set(err, -ERR_SCRIPT,
                       "Batch script contains DOS line breaks (\\r\\n)\n"
                       "instead of expected UNIX line breaks (\\n).");
    return 0;
}
