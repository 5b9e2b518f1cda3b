/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/export.h"
#include "cmd/sbatch/environment.h"
#include "cmd/sbatch/script.h"
#include "launch/jobenv.h"
#include "launch/origin.h"

/* Almost every program needs these; --export=NIL and --export-file keep them. */
static const char *const always[] = {"HOME", "LOGNAME", "PATH", "SHELL", "USER", "SLURM_CONF"};

static void drop_outer_job(struct envlist *e)
{
    if (!envlist_get(e, "SLURM_JOB_ID") && !envlist_get(e, "SLURM_JOBID"))
        return;
    envlist_unset_if(e, jobenv_is_of_job);
}

/* Adds variables of 'from' that almost every program needs and e lacks: PATH, HOME... */
static void environment_keep_needed(struct envlist *e, char *const *from)
{
    for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++) {
        size_t len = strlen(always[i]);
        for (char *const *var = from; *var; var++)
            if (!strncmp(*var, always[i], len) && (*var)[len] == '=')
                envlist_default(e, always[i], *var + len + 1);
    }
}

bool environment_of_user(const struct opt *o)
{
    const char *export_env = o->export_env;
    bool needs_none =
        export_takes_all(export_env) || !*export_env || str_case_eq(export_env, "NIL");
    return opt_given(o, OPT_ID_get_user_env) || !needs_none;
}

void environment_make(struct envlist *e, const struct opt *o, char *const *from, const char *host,
                      const char *cwd)
{
    export_variables(e, o->export_env, from, true);
    drop_outer_job(e);
    origin_forget_mask(e);
    if (!environment_of_user(o)) /* otherwise the user's shell on the node sets them */
        environment_keep_needed(e, from);
    envlist_replace(e, "SLURM_SUBMIT_DIR", cwd);
    envlist_replace(e, "SLURM_SUBMIT_HOST", host);
    envlist_setf(e, "SLURM_PRIO_PROCESS", "%d", getpriority(PRIO_PROCESS, 0));
    if (o->export_env)
        envlist_set(e, "SLURM_EXPORT_ENV", o->export_env);
    if (opt_given(o, OPT_ID_open_mode))
        envlist_set(e, "SLURM_OPEN_MODE", o->open_append ? "a" : "t");
}

#define FIRST_FD 3

/* The descriptor number in the text; -1: the text is a file name. */
static int parse_descriptor(const char *where)
{
    size_t len = strlen(where);
    long limit = sysconf(_SC_OPEN_MAX);
    if (!len || len > 9 || strspn(where, "0123456789") != len)
        return -1;
    long fd = atol(where);
    return fd >= FIRST_FD && (limit < 0 || fd < limit) ? (int)fd : -1;
}

static int read_where(const char *where, struct str *text, struct err *err)
{
    int given = parse_descriptor(where);
    _cleanup_close_ int opened = given < 0 ? open(where, O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;
    struct err why = {0};
    if (given < 0 && opened < 0)
        return err_set(err, -errno, "--export-file: cannot open %s: %s", where, strerror(errno));
    _cleanup_free_ char *name =
        given < 0 ? mem_strdup(where) : mem_printf("file descriptor %s", where);
    int r = script_read_fd(given < 0 ? opened : given, name, EXPORT_FILE_BYTES_MAX, text, &why);
    if (r < 0)
        return err_set(err, r, "--export-file: %s", why.text);
    if (text->len > EXPORT_FILE_BYTES_MAX)
        return err_set(err, -ERR_TOO_BIG, "--export-file: %s has more than %u bytes", name,
                       EXPORT_FILE_BYTES_MAX);
    return 0;
}

static int add_variable(struct envlist *e, const char *where, unsigned number, char *var,
                        size_t len, struct err *err)
{
    char *eq = memchr(var, '=', len);
    if (!eq || eq == var)
        return err_set(err, -ERR_PARSE,
                       "--export-file: entry %u of %s is not NAME=VALUE (entries end with a zero "
                       "byte, as 'env -0' writes them)",
                       number, where);
    if (len > EXPORT_FILE_VAR_MAX)
        return err_set(err, -ERR_TOO_BIG, "--export-file: entry %u of %s is longer than %u bytes",
                       number, where, EXPORT_FILE_VAR_MAX);
    if (e->vars.len == EXPORT_FILE_VARS_MAX)
        return err_set(err, -ERR_TOO_BIG, "--export-file: %s has more than %u variables", where,
                       EXPORT_FILE_VARS_MAX);
    *eq = 0;
    envlist_set(e, var, eq + 1);
    return 0;
}

static int add_all(struct envlist *e, const char *where, struct str *text, struct err *err)
{
    unsigned number = 0;
    int r = 0;
    for (size_t at = 0; at < text->len && r == 0;) {
        size_t len = strnlen(text->data + at, text->len - at);
        number++;
        if (len)
            r = add_variable(e, where, number, text->data + at, len, err);
        at += len + 1;
    }
    return r;
}

/* Adds the variables that every --export value keeps. */
static void add_slurm(struct envlist *e, char *const *from)
{
    for (; *from; from++) {
        size_t len = strcspn(*from, "=");
        if (strncmp(*from, "SLURM_", 6) != 0 || !(*from)[len])
            continue;
        _cleanup_free_ char *name = mem_strndup(*from, len);
        envlist_default(e, name, *from + len + 1);
    }
}

int export_file_load(struct envlist *e, const char *where, char *const *from, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct envlist made = {0};
    int r = read_where(where, &text, err);
    if (r < 0)
        return r;
    r = add_all(&made, where, &text, err);
    if (r < 0) {
        envlist_done(&made);
        return r;
    }
    add_slurm(&made, from);
    environment_keep_needed(&made, from);
    *e = made;
    return 0;
}
