/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slurmstepd: the shepherd of one step on one node. slurmd starts it with a connected socket as
 * descriptor 3, over which it receives its order; it survives slurmd.
 */
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/service.h"
#include "slurmstepd/life/control.h"
#include "slurmstepd/life/finish.h"
#include "slurmstepd/life/start.h"
#include "slurmstepd/mpi/mpi.h"
#include "slurmstepd/pmix/pmix.h"
#include "slurmstepd/stream/watch.h"
#include "slurmstepd/stream/x11.h"
#include "slurmstepd/task/adopt.h"
#include "slurmstepd/task/contain.h"
#include "slurmstepd/task/hook.h"
#include "slurmstepd/task/jobtmp.h"
#include "slurmstepd/task/nursery.h"
#include "slurmstepd/task/plugin.h"
#include "slurmstepd/task/reap.h"
#include "slurmstepd/task/task.h"
#include "slurmstepd/task/wipe.h"

#define DAEMON_FD 3
/* The entry file of a memory cgroup; valid if the environment has MEMORY_CGROUP. */
#define MEMORY_FD 4
#define DESCRIPTORS_MAX 65536

static const struct step_life life = {
    .check = finish_check,
    .terminate = finish_terminate,
    .check_start = start_check,
    .fail_start = start_failed,
    .resume_start = start_resume,
    .signal = control_signal,
    .put_pmix_env = pmix_put_env,
};

static void on_unknown_child(void *ctx, pid_t pid, int wait_status)
{
    finish_check(ctx);
}

static void step_init(struct step *step, rlim_t core_limit)
{
    const char *core = getenv("CORE_LIMIT"), *descriptors = getenv("DESCRIPTORS");
    long long given;

    step->life = &life;
    step->pid = getpid();
    step->listen_fd = step->go_fd = step->tmp_fd = -1;
    step->descriptors = fd_raise_limit(DESCRIPTORS_MAX);
    step->core_limit = core ? strtoull(core, NULL, 10) : core_limit;
    if (descriptors && !str_parse_i64(descriptors, 1, UINT_MAX, &given))
        step->descriptors = (unsigned)given; /* the daemon has raised its own limit */
}

static void step_done(struct step *step)
{
    if (step->srun)
        rpc_session_free(take_ptr(step->srun));
    for (size_t i = 0; i < step->task_count; i++)
        task_done(&step->tasks[i]);
    watch_done(step);
    mpi_done(step);
    pmix_done(step);
    control_done(step);
    adopt_done(step);
    contain_done(step);
    x11_done(step);
    if (step->tmp_fd >= 0)
        close(step->tmp_fd);
    plugin_done(step);
    finish_drain_done(step);
    loop_timer_free(step->srun_timer);
    loop_timer_free(step->hello_timer);
    loop_timer_free(step->kill_timer);
    loop_timer_free(step->retry_timer);
    loop_timer_free(step->input_timer);
    if (step->go_fd >= 0)
        close(step->go_fd);
    arena_done(&step->arena);
    rpc_link_free_body(&step->start_body);
    envlist_done(&step->env);
    free(step->tasks);
    free(step->groups);
    free(step->node);
    free(step->name);
    hook_done(step);
    free(step->dir);
    free(step->log_file);
    free(step->script);
    free(step->fail_text);
    free(step->end_why);
    free(step->stuck);
    str_done(&step->cred);
    str_done(&step->early_messages);
    free(step->freq_root);
    loop_free(step->loop);
}

int main(int argc, char **argv)
{
    struct step step = {0};
    bool may_share;
    rlim_t core_limit;
    struct stat st;

    if (argc > 1 && (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version"))) {
        puts("slurm " SLURM_VERSION);
        return 0;
    }
    if (argc > 1 && (!strcmp(argv[1], "prolog") || !strcmp(argv[1], "epilog")))
        return plugin_script(argc, argv);
    if (argc == 3 && !strcmp(argv[1], "remove"))
        return jobtmp_remove_main(argv[2]);
    if (argc == 3 && !strcmp(argv[1], "wipe")) {
        wipe_tree_whole(argv[2]);
        return 0;
    }
    if (getenv("MEMORY_CGROUP") && !nursery_enter_memory(MEMORY_FD)) {
        fputs("slurmstepd: error: cannot enter the memory cgroup of the job's step daemons\n",
              stderr);
        return 1;
    }
    if (fd_begin(DAEMON_FD + 1) || fstat(DAEMON_FD, &st) || !S_ISSOCK(st.st_mode)) {
        fputs("slurmstepd: error: this program is started by slurmd, one process per step\n",
              stderr);
        return 1;
    }
    core_limit = dump_forbid();
    may_share = geteuid() != 0 || dump_outlasts_rights();
    /* Buffers of output are returned to the kernel when they are freed. */
    mallopt(M_MMAP_THRESHOLD, 64 << 10);
    mallopt(M_TRIM_THRESHOLD, 128 << 10);
    if (argc == 2 && !strcmp(argv[1], "nursery"))
        nursery_serve(argv, DAEMON_FD);
    signal(SIGPIPE, SIG_IGN);
    reap_become_subreaper();
    step_init(&step, core_limit);
    step.may_share_memory = may_share;
    step.loop = loop_new_coarse();
    loop_child_other(step.loop, on_unknown_child, &step);
    control_open(&step, DAEMON_FD);
    loop_run(step.loop);
    finish_keep_result(&step);
    step_done(&step);
    return 0;
}
