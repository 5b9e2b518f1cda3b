/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/litter.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "slurmd/attempt/attempt.h"
#include "slurmd/job/ending.h"
#include "slurmd/node/script.h"
#include "slurmd/node/scriptenv.h"
#include "slurmd/step/step.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define OURS "pmix."    /* and JOB.STEP: the directory of a step's PMIx server */
#define ASIDE "litter." /* what is being removed */

static void on_removed(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                       const char *text)
{
    if (text)
        log_error("what a killed shepherd of job %u has left: %s", job_id, text);
}

static void remove_dir(struct slurmd *d, const char *name, uint32_t job_id, uint32_t restarts)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", d->spool, name);
    const struct script script = {.what = "Removal",
                                  .path = path,
                                  .host = d->stepd_path,
                                  .verb = "wipe",
                                  .job_id = job_id,
                                  .restarts = restarts};
    Pb__NodeAttempt about = PB__NODE_ATTEMPT__INIT;

    about.job_id = job_id;
    script_run(d, &script, scriptenv_epilog(d, &about), on_removed, d);
}

/* Out of the way first: a job that is requeued has steps of the same numbers. */
static void put_aside(struct slurmd *d, const char *name, uint32_t job_id, uint32_t restarts)
{
    _cleanup_free_ char *to = mem_printf(ASIDE "%s.%lld", name, (long long)loop_wall_ms());
    _cleanup_free_ char *from_path = mem_printf("%s/%s", d->spool, name);
    _cleanup_free_ char *to_path = mem_printf("%s/%s", d->spool, to);

    if (!rename(from_path, to_path))
        remove_dir(d, to, job_id, restarts);
    else if (errno != ENOENT)
        log_error("%s cannot be renamed: %s", from_path, strerror(errno));
}

void litter_of_step(struct slurmd *d, uint32_t job_id, uint32_t restarts, uint32_t step_id)
{
    _cleanup_free_ char *name = mem_printf(OURS "%u.%u", job_id, step_id);

    put_aside(d, name, job_id, restarts);
}

static bool is_cared_for(const struct slurmd *d, uint32_t job_id, uint32_t step_id)
{
    for (const struct attempt *a = d->attempts; a; a = a->hh.next) {
        if (a->key.id == job_id && step_find(a, step_id))
            return true;
        for (size_t i = 0; a->key.id == job_id && i < a->lost.len; i++)
            if (a->lost.data[i]->step_id == step_id)
                return true;
    }
    return false;
}

void litter_sweep(struct slurmd *d)
{
    DIR *dir = opendir(d->spool);
    unsigned job_id, step_id;
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        if (str_starts(entry->d_name, ASIDE))
            remove_dir(d, entry->d_name, 0, 0);
        else if (sscanf(entry->d_name, OURS "%u.%u", &job_id, &step_id) == 2 &&
                 !is_cared_for(d, job_id, step_id))
            put_aside(d, entry->d_name, job_id, 0);
    }
    if (dir)
        closedir(dir);
}
