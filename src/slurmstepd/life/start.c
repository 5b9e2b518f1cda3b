/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/life/start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/step_id.h"
#include "slurmstepd/env/affinity.h"
#include "slurmstepd/env/vars.h"
#include "slurmstepd/life/control.h"
#include "slurmstepd/life/finish.h"
#include "slurmstepd/life/srun_link.h"
#include "slurmstepd/stream/journal.h"
#include "slurmstepd/stream/srun.h"
#include "slurmstepd/stream/watch.h"
#include "slurmstepd/stream/x11.h"
#include "slurmstepd/task/batch_script.h"
#include "slurmstepd/task/contain.h"
#include "slurmstepd/task/debug.h"
#include "slurmstepd/task/freq.h"
#include "slurmstepd/task/hook.h"
#include "slurmstepd/task/jobtmp.h"
#include "slurmstepd/task/plugin.h"
#include "slurmstepd/task/session.h"
#include "slurmstepd/task/task.h"

#define ARENA_MAX (512u << 20) /* the size of the message was limited when it was received */

static void reply_start(struct step *step, int code, const char *text)
{
    Pb__StepdStarted m = PB__STEPD_STARTED__INIT;
    uint32_t *pids = mem_new_array(uint32_t, step->task_count + 1);
    uint32_t *ranks = mem_new_array(uint32_t, step->task_count + 1);

    for (size_t i = 0; i < step->task_count && !code; i++) {
        pids[m.n_pid++] = (uint32_t)step->tasks[i].pid;
        ranks[m.n_task_id++] = step->tasks[i].id;
    }
    m.pid = pids;
    m.task_id = ranks;
    m.code = code;
    m.text = (char *)text;
    m.has_shepherd = true;
    m.shepherd = (uint32_t)step->pid;
    m.has_acctg_sec = step->has_acctg_sec;
    m.acctg_sec = step->acctg_sec;
    if (step->daemon)
        rpc_link_send(step->daemon, RPC_STEPD_START, true, step->start_id, &m.base);
    free(pids);
    free(ranks);
}

/* Frees what only the start needs; the message may contain a large script. */
static void forget_start_message(struct step *step)
{
    affinity_done(step);
    arena_done(&step->arena);
    arena_init(&step->arena, ARENA_MAX);
    rpc_link_free_body(&step->start_body);
    if (!plugin_is_open(step)) /* plugins may still request it */
        envlist_done(&step->env);
    free(take_ptr(step->fail_text));
    free(take_ptr(step->end_why));
    step->start = NULL;
    step->batch = NULL;
    step->launch = NULL;
    step->granted = NULL;
    step->argv = NULL;
}

/* A connected srun gets the failure before the connection closes. */
static void abandon_start(struct step *step, int code, const char *text)
{
    bool heard = step->srun && step->srun_was_up;

    step_advance(step, heard ? STEP_ON_START_FAILED_HEARD : STEP_ON_START_FAILED);
    finish_never_started(step, code, text);
    reply_start(step, code, text);
    if (!heard) {
        loop_stop(step->loop);
        return;
    }
    rpc_session_finish(step->srun);
    finish_drain(step);
}

/* A single task may already run and have child processes. */
static void give_up_start(struct step *step)
{
    if (!step->left && (step->stuck || !contain_has_left(step)))
        abandon_start(step, step->fail_code, step->fail_text);
    else
        finish_kill_all(step);
}

void start_failed(struct step *step, int code, const char *text)
{
    if (!step_is_starting(step))
        return;
    if (!step->fail_code) {
        step->fail_code = code;
        step->fail_text = mem_strdup(text);
    }
    give_up_start(step);
}

static void journal_started(struct step *step)
{
    _cleanup_str_ struct str ranks = STR_INIT, pids = STR_INIT;

    if (!journal_tells(step, LOG_LVL_INFO))
        return;
    for (size_t i = 0; i < step->task_count; i++) {
        str_printf(&ranks, "%s%u", i ? "," : "", step->tasks[i].id);
        str_printf(&pids, "%s%d", i ? "," : "", (int)step->tasks[i].pid);
    }
    journal_tell(step, LOG_LVL_INFO, "tasks %s of step %s are processes %s", str_cstr(&ranks),
                 step->name, str_cstr(&pids));
}

static void release_tasks(struct step *step)
{
    if (step->go_fd < 0)
        return;
    for (size_t i = 0; i < step->task_count; i++)
        path_write_all(step->go_fd, "g", 1);
    close(take_fd(&step->go_fd));
}

void start_check(struct step *step)
{
    if (!step_is_starting(step))
        return;
    if (step->fail_code) {
        give_up_start(step);
        return;
    }
    for (size_t i = 0; i < step->task_count; i++)
        if (!step->tasks[i].ready)
            return;
    if (step->end_why) {
        finish_terminate_early(step);
        return;
    }
    step_advance(step, STEP_ON_STARTED);
    journal_started(step);
    journal_begin(step);
    plugin_started(step);
    reply_start(step, 0, NULL);
    if (debug_wanted(step))
        debug_hold(step);
    else
        srun_tasks_started(step);
    if (step->halted)
        contain_stop_all(step); /* before their first instruction */
    release_tasks(step);
    control_signal_early(step);
    hook_keep(step);
    contain_watch(step);
    for (size_t i = 0; i < step->task_count; i++)
        if (step->tasks[i].ended) { /* a single task starts without go_fd */
            srun_task_exited(step, &step->tasks[i]);
            plugin_task_ended(&step->tasks[i]);
            hook_epilogs(&step->tasks[i]);
        }
    forget_start_message(step);
    finish_check(step);
}

static int check_start_message(const Pb__StepdStart *m, struct step *step, struct err *err)
{
    step->granted = arena_unpack(&step->arena, &pb__cred__descriptor, m->cred.data, m->cred.len);
    if (m->has_batch)
        step->batch =
            arena_unpack(&step->arena, &pb__launch_batch__descriptor, m->batch.data, m->batch.len);
    else if (m->has_launch)
        step->launch = arena_unpack(&step->arena, &pb__launch_tasks__descriptor, m->launch.data,
                                    m->launch.len);
    step->has_acctg_sec = step->launch  ? step->launch->has_acctg_sec
                          : step->batch ? step->batch->spec->has_acctg_sec
                                        : false;
    if (step->has_acctg_sec)
        step->acctg_sec = step->launch ? step->launch->acctg_sec : step->batch->spec->acctg_sec;
    step->oom_ends = step->launch ? step->launch->has_oom_kill_step && step->launch->oom_kill_step
                     : step->batch
                         ? step->batch->spec->has_oom_kill_step && step->batch->spec->oom_kill_step
                         : false;
    step->debug_level =
        step->launch && step->launch->has_slurmd_debug ? step->launch->slurmd_debug : LOG_LVL_ERROR;
    step->waits_for_all =
        step->launch && step->launch->has_wait_for_children && step->launch->wait_for_children;
    step->is_extern = m->has_is_extern && m->is_extern;
    if (!step->granted || (!step->batch && !step->launch && !step->is_extern))
        return err_set(err, -ERR_PROTOCOL, "malformed start message");
    if (step->launch && (m->node_index >= step->granted->n_nodes ||
                         strcmp(step->granted->nodes[m->node_index]->node, m->node) != 0 ||
                         !step->granted->nodes[m->node_index]->n_task_ids))
        return err_set(err, -ERR_PROTOCOL, "start message: node %s has no tasks in the credential",
                       m->node);
    if (step->launch && !step->launch->n_argv)
        return err_set(err, -ERR_LAUNCH, "no program given");
    return 0;
}

/* "5.0"; of a component of a job set but its leader "5+1.0". */
static char *name_step(const Pb__Cred *cred)
{
    const Pb__JobFacts *facts = cred->facts;
    char name[STEP_ID_NAME_MAX];
    step_id_name(cred->step_id, name);
    if (facts && facts->has_set_id && facts->set_offset)
        return mem_printf("%u+%u.%s", facts->set_id, facts->set_offset, name);
    return mem_printf("%u.%s", cred->job_id, name);
}

static void read_identity(struct step *step, const Pb__StepdStart *m)
{
    step->start = m;
    step->is_batch = step->batch != NULL;
    step->job_id = step->granted->job_id;
    step->restarts = step->granted->restarts;
    step->step_id = step->granted->step_id;
    step->uid = step->granted->uid;
    step->gid = step->granted->gid;
    step->node = mem_strdup(m->node);
    step->dir = mem_strdup(m->spool_dir);
    step->node_index = m->node_index;
    step->part = step->granted->has_part ? step->granted->part : 0;
    step->kill_wait_sec = m->kill_wait_sec;
    step->vsize_bytes = m->has_vsize_bytes ? m->vsize_bytes : 0;
    rpc_set_encryption(!m->plain_network);
    rpc_set_connect_timeout(m->connect_timeout_ms);
    step->x11_in_home = m->x11_in_home;
    rpc_set_keepalive(m->keepalive_sec, m->keepalive_interval_sec, m->keepalive_probes);
    step->unkillable_sec = m->has_unkillable_sec ? m->unkillable_sec : 60;
    step->drain_sec = m->has_drain_sec ? m->drain_sec : STEP_DRAIN_SEC;
    step->log_file = m->log_file ? mem_strdup(m->log_file) : NULL;
    step->slurmd_uid = m->has_slurmd_uid ? m->slurmd_uid : 0;
    step->confirms_end = m->has_confirms_end && m->confirms_end;
    step->name = name_step(step->granted);
    str_append(&step->cred, m->cred.data, m->cred.len);
    step->group_count = m->n_gids;
    step->groups = mem_new_array(gid_t, m->n_gids + 1);
    for (size_t i = 0; i < m->n_gids; i++)
        step->groups[i] = m->gids[i];
}

static void make_tasks(struct step *step)
{
    const Pb__StepNode *here = step->launch ? step->granted->nodes[step->node_index] : NULL;
    size_t count = here ? here->n_task_ids : step->is_extern ? 0 : 1;

    step->tasks = mem_new_array(struct task, count + 1);
    step->task_count = count;
    for (size_t i = 0; i < count; i++) {
        struct task *t = &step->tasks[i];

        t->step = step;
        t->id = here ? here->task_ids[i] : 0;
        t->local = (uint32_t)i;
        t->report_fd = t->error_fd = t->out_fd = t->pmi_fd = -1;
        t->in.fd = t->out.fd = t->err.fd = -1;
        t->out.ended = t->err.ended = true;
    }
}

/* Makes the command: a job's script, srun for a legacy parallel command, or srun's command. */
static int make_argv(struct step *step, struct err *err)
{
    const Pb__JobPayload *payload = step->batch ? step->batch->payload : NULL;
    const Pb__JobSpec *spec = step->batch ? step->batch->spec : NULL;
    size_t count = step->batch ? (payload ? payload->n_argv : 0) : step->launch->n_argv;
    char **given = step->batch ? (payload ? payload->argv : NULL) : step->launch->argv;
    size_t at = 0;

    step->argv = arena_alloc(&step->arena, (count + 2) * sizeof(char *));
    if (spec && spec->has_parallel_command && spec->parallel_command) {
        _cleanup_free_ char *prefix = path_prefix();

        step->argv[at++] = arena_printf(&step->arena, "%s/bin/srun", prefix ? prefix : "");
    } else if (spec) {
        int rc;

        if (!payload || !payload->has_script)
            return err_set(err, -ERR_SCRIPT, "%s", err_text(ERR_SCRIPT));
        rc = batch_script_write(step, err);
        if (rc)
            return rc;
        step->argv[at++] = step->script;
    }
    for (size_t i = 0; i < count; i++)
        step->argv[at++] = given[i];
    if (count && step->launch && step->launch->has_program_per_node &&
        step->launch->program_per_node)
        step->argv[0] = arena_printf(&step->arena, "%s_%s", given[0], step->node);
    return at ? 0 : err_set(err, -ERR_LAUNCH, "no program given");
}

/* Adds the directory of srun --bcast --send-libs. */
static void add_sent_libs(struct step *step)
{
    const char *before = envlist_get(&step->env, "LD_LIBRARY_PATH");
    bool more = before && *before;

    envlist_setf(&step->env, "LD_LIBRARY_PATH", "%s_libs%s%s", step->argv[0], more ? ":" : "",
                 more ? before : "");
}

/* SLURM_STEP_KILLED_MSG_NODE_ID names the only node that prints the message. */
static bool is_cancel_said_elsewhere(const struct step *step)
{
    const char *wanted = envlist_get(&step->env, "SLURM_STEP_KILLED_MSG_NODE_ID");
    long long node;

    return wanted && str_parse_i64(wanted, 0, UINT32_MAX, &node) == 0 && node != step->node_index;
}

static void make_environment(struct step *step)
{
    if (step->batch) {
        const Pb__JobPayload *payload = step->batch->payload;

        if (payload)
            envlist_load(&step->env, payload->env, payload->n_env);
        size_t left_out = vars_batch(&step->env, step->start, step->batch, step->granted);
        if (left_out)
            journal_tell(step, LOG_LVL_INFO,
                         "%zu variables of %zu components are left out: they are too long",
                         left_out, step->batch->n_components);
    } else {
        envlist_load(&step->env, step->launch->env, step->launch->n_env);
        vars_step(&step->env, step->start, step->launch, step->granted);
        step->cancel_unsaid = is_cancel_said_elsewhere(step);
        if (step->launch->has_program_libs && step->launch->program_libs)
            add_sent_libs(step);
    }
}

/* Creates the cgroup and the namespace that adopted processes enter. */
static void start_extern(struct step *step)
{
    struct err err = {0};
    int rc = contain_open(step, &err);

    if (rc == 0)
        rc = jobtmp_open(step->start->tmp, &step->tmp_fd, &err);
    if (rc) {
        start_failed(step, -rc, err.text);
        return;
    }
    step_advance(step, STEP_ON_STARTED);
    reply_start(step, 0, NULL);
    forget_start_message(step);
}

/* Tasks do not inherit the memory lock. */
static void lock_memory(const struct step *step, uint32_t how)
{
    if (how && mlockall(how > 1 ? MCL_CURRENT | MCL_FUTURE : MCL_CURRENT))
        journal_error(step, "step %s: LaunchParameters: slurmstepd's memory cannot be locked: %s",
                      step->name, strerror(errno));
}

static void journal_prepared(struct step *step)
{
    _cleanup_str_ struct str group = STR_INIT;

    contain_describe_place(step, &group);
    journal_tell(step, LOG_LVL_VERBOSE, "slurmstepd %d begins %zu tasks in %s", (int)step->pid,
                 step->task_count, str_cstr(&group));
    journal_tell(step, LOG_LVL_DEBUG, "of user %u, group %u and %zu further ones, in %s",
                 (unsigned)step->uid, (unsigned)step->gid, step->group_count,
                 step->launch ? step->launch->work_dir : "");
}

void start_resume(struct step *step)
{
    struct err err = {0};
    int rc = session_open(step, &err);

    if (rc == 0)
        rc = plugin_open(step, &err);
    if (rc) {
        start_failed(step, -rc, err.text);
        return;
    }
    journal_prepared(step);
    freq_begin(step);
    if (step->launch)
        srun_connect(step);
    else
        task_start_all(step);
}

void start_step(struct step *step, uint64_t id, const Pb__StepdStart *m)
{
    struct err err = {0};
    int rc;

    arena_init(&step->arena, ARENA_MAX);
    step->start_id = id;
    step->start_body = rpc_link_keep_body(step->daemon);
    rc = check_start_message(m, step, &err);
    if (rc) {
        reply_start(step, -rc, err.text);
        loop_stop(step->loop);
        return;
    }
    read_identity(step, m);
    rc = plugin_limit_rights(step, &err);
    if (rc == 0)
        rc = control_claim(step, &err);
    if (rc == 0)
        rc = control_claim_stands(step, &err);
    /* The claim failed: another shepherd has the step, no socket could be created, or no daemon
       waits. */
    if (rc) {
        reply_start(step, rc == -EEXIST ? EEXIST : ERR_NODE_FAULT, err.text);
        loop_stop(step->loop);
        return;
    }
    lock_memory(step, m->memlock);
    make_tasks(step);
    if (step->is_extern) {
        start_extern(step);
        return;
    }
    step->is_spawned = step->launch && step->launch->spawned;
    if (step->launch)
        watch_prepare(step);
    rc = make_argv(step, &err);
    if (rc) {
        start_failed(step, -rc, err.text);
        return;
    }
    make_environment(step);
    rc = contain_open(step, &err);
    if (rc == 0)
        rc = affinity_prepare(step, &err);
    if (rc == 0)
        rc = jobtmp_open(step->start->tmp, &step->tmp_fd, &err);
    if (rc == 0)
        rc = x11_start(step, &err);
    if (rc == X11_PENDING)
        return;
    if (rc)
        start_failed(step, -rc, err.text);
    else
        start_resume(step);
}
