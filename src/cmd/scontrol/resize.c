/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/scontrol/resize.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "cli/cmd.h"
#include "launch/jobenv.h"
#include "show/job_ids.h"

static void put_job_variable(struct str *out, bool csh, const char *name, const char *value)
{
    str_printf(out, csh ? "setenv %s \"%s\"\n" : "export %s=\"%s\"\n", name, value);
}

static void unset_job_variable(struct str *out, bool csh, const char *name)
{
    str_printf(out, csh ? "unsetenv %s\n" : "unset %s\n", name);
}

/* What a step takes its size from; that the job asked for so many tasks is no longer so. */
static void write_script(const Pb__JobLive *live, bool csh, struct str *out)
{
    _cleanup_free_ uint32_t *cpus = mem_new_array(uint32_t, live->n_alloc + 1);
    _cleanup_str_ struct str counts = STR_INIT;
    char number[16];
    for (size_t i = 0; i < live->n_alloc; i++)
        cpus[i] = live->alloc[i]->cpus;
    jobenv_counts(cpus, live->n_alloc, &counts);
    snprintf(number, sizeof number, "%zu", live->n_alloc);
    put_job_variable(out, csh, "SLURM_NODELIST", live->nodes);
    put_job_variable(out, csh, "SLURM_JOB_NODELIST", live->nodes);
    put_job_variable(out, csh, "SLURM_NNODES", number);
    put_job_variable(out, csh, "SLURM_JOB_NUM_NODES", number);
    put_job_variable(out, csh, "SLURM_JOB_CPUS_PER_NODE", str_cstr(&counts));
    unset_job_variable(out, csh, "SLURM_NPROCS");
    unset_job_variable(out, csh, "SLURM_NTASKS");
    unset_job_variable(out, csh, "SLURM_TASKS_PER_NODE");
}

static int save_script(const char *name, const struct str *text, struct err *err)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0700);
    bool done = fd >= 0 && write(fd, str_cstr(text), text->len) == (ssize_t)text->len;
    if (fd >= 0 && close(fd) != 0)
        done = false;
    return done ? 0 : err_set(err, -errno, "%s cannot be written: %s", name, strerror(errno));
}

static int write_scripts(uint32_t id, const Pb__JobLive *live, struct err *err)
{
    for (int csh = 0; csh < 2; csh++) {
        _cleanup_str_ struct str text = STR_INIT;
        char name[64];
        snprintf(name, sizeof name, "slurm_job_%u_resize.%s", id, csh ? "csh" : "sh");
        write_script(live, csh, &text);
        int rc = save_script(name, &text, err);
        if (rc != 0)
            return rc;
    }
    printf("To reset Slurm environment variables, execute\n"
           "  For bash or sh shells:  . ./slurm_job_%u_resize.sh\n"
           "  For csh shells:         source ./slurm_job_%u_resize.csh\n",
           id, id);
    return 0;
}

static int on_jobs(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    const Pb__JobList *list = (const Pb__JobList *)message;
    for (size_t i = 0; i < list->n_jobs; i++) {
        const Pb__JobLive *live = list->jobs[i]->live;
        int rc = live && live->state == PB__JOB_STATE__RUNNING && live->nodes
                     ? write_scripts(live->job_id, live, err)
                     : 0;
        if (rc != 0)
            return rc;
    }
    return 0;
}

int resize_tell(const Pb__StepId *job, struct err *err)
{
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    job_ids_filter(job, 1, &filter, &arena);
    return rpc_call_stream(cmd_client(), RPC_JOB_LIST, &filter.base, on_jobs, NULL, err);
}
