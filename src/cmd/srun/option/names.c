/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/pattern.h"
#include "cmd/srun/option/names.h"
#include "show/names.h"

enum names_kind names_kind(const char *spec, uint32_t *task)
{
    long long number;

    if (spec == NULL || *spec == '\0' || strcasecmp(spec, "all") == 0)
        return NAMES_DEFAULT;
    if (strcasecmp(spec, "none") == 0 || strcmp(spec, "/dev/null") == 0)
        return NAMES_NONE;
    if (str_parse_i64(spec, 0, UINT32_MAX - 1, &number) == 0) {
        *task = (uint32_t)number;
        return NAMES_TASK;
    }
    return pattern_scope(spec) == PATTERN_SAME ? NAMES_FILE : NAMES_ON_NODE;
}

/* The variable of the array element in which srun runs; otherwise 'none'. */
static uint32_t of_array(const struct names_values *v, const char *name, uint32_t none)
{
    const char *job = getenv("SLURM_JOB_ID"), *value = getenv(name);
    long long id, number;
    bool here = job && str_parse_i64(job, 0, UINT32_MAX, &id) == 0 && id == v->job_id;
    bool given = here && value && str_parse_i64(value, 0, UINT32_MAX, &number) == 0;
    return given ? (uint32_t)number : none;
}

bool names_need_user(const char *spec)
{
    uint32_t task;

    return names_kind(spec, &task) == NAMES_FILE && strchr(spec, '%') != NULL &&
           strchr(spec, 'u') != NULL;
}

/* Looked up only if the pattern needs it: the look-up can take as long as the rest of the start. */
static const char *user_of(const struct names_values *v, const char *pattern)
{
    return v->user != NULL || !names_need_user(pattern) ? v->user : names_user(v->uid);
}

int names_expand(const char *pattern, const struct names_values *v, struct str *out,
                 struct err *err)
{
    const struct pattern_values values = {
        .job_id = v->job_id,
        .step_id = v->step_id,
        .submit_at_sec = v->submit_at_sec,
        .array_id = of_array(v, "SLURM_ARRAY_JOB_ID", v->job_id),
        .array_task = of_array(v, "SLURM_ARRAY_TASK_ID", 0),
        .user = user_of(v, pattern),
        .job_name = v->job_name,
    };

    return pattern_expand(pattern, &values, out, err);
}

bool program_is_there(const char *path)
{
    struct stat st;

    return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

char *program_find(const char *name, const char *work_dir)
{
    const char *path = getenv("PATH");

    if (strchr(name, '/') != NULL)
        return work_dir != NULL ? path_absolute(name, work_dir) : mem_strdup(name);
    while (path != NULL && *path != '\0') {
        size_t len = strcspn(path, ":");
        char *full = mem_printf("%.*s/%s", (int)len, path, name);

        if (program_is_there(full))
            return full;
        free(full);
        path += len + (path[len] == ':');
    }
    char *here = work_dir != NULL ? path_absolute(name, work_dir) : mem_strdup(name);
    if (program_is_there(here))
        return here;
    free(here);
    return mem_strdup(name);
}
