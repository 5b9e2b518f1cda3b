/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/origin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"

#define REQUEST_ID_SIZE 16
#define HOST_MAX 255

/* An absolute path does without a working directory. */
static int work_dir(struct arena *a, const char *chdir, char **out, struct err *err)
{
    _cleanup_free_ char *cwd = NULL, *path = NULL;

    if (chdir != NULL && *chdir == '/') {
        *out = arena_strdup(a, chdir);
        return 0;
    }
    cwd = getcwd(NULL, 0);
    if (cwd == NULL)
        return err_set(err, -errno, "getcwd failed: %s", strerror(errno));
    path = path_absolute(chdir != NULL ? chdir : ".", cwd);
    *out = arena_strdup(a, chdir != NULL ? path : cwd);
    return 0;
}

/* An argument, without the key of a partition: the line is shown to everybody. */
static void put_argument(struct str *line, const char *text, const char *key)
{
    const char *value = key && text[0] == '-' ? strchr(text, '=') : NULL;

    if (key && (str_eq(text, key) || (value && str_eq(value + 1, key))))
        str_printf(line, "%.*s...", value ? (int)(value + 1 - text) : 0, text);
    else
        str_puts(line, text);
}

static char *submit_line(struct arena *a, int argc, char *const argv[], const char *key)
{
    struct str line = STR_INIT_CAP(ORIGIN_LINE_MAX);
    char *copy;

    for (int i = 0; i < argc && !line.overflow; i++) {
        if (i > 0)
            str_putc(&line, ' ');
        put_argument(&line, argv[i], key);
    }
    copy = arena_strdup(a, str_cstr(&line));
    str_done(&line);
    return copy;
}

/* The job and its programs are the user's, who has no right to the key. */
static void forget_keys(void)
{
    static const char *const names[] = {"SBATCH_PARTITION_KEY", "SALLOC_PARTITION_KEY",
                                        "SLURM_PARTITION_KEY"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
}

int origin_fill(struct arena *a, int argc, char *const argv[], const char *chdir,
                struct Pb__JobSpec *spec, struct err *err)
{
    char host[HOST_MAX + 1] = "";
    int code = work_dir(a, chdir, &spec->work_dir, err);

    if (code < 0)
        return code;
    gethostname(host, HOST_MAX);
    spec->alloc_host = arena_strdup(a, host);
    spec->has_alloc_sid = 1;
    spec->alloc_sid = (uint32_t)getsid(0);
    spec->submit_line = submit_line(a, argc, argv, spec->partition_key);
    forget_keys();
    spec->has_request_id = 1;
    spec->request_id.len = REQUEST_ID_SIZE;
    spec->request_id.data = arena_alloc(a, REQUEST_ID_SIZE);
    if (getrandom(spec->request_id.data, REQUEST_ID_SIZE, 0) != REQUEST_ID_SIZE)
        return err_set(err, -errno, "getrandom: %s", strerror(errno));
    return 0;
}
