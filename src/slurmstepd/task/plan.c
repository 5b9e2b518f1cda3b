/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/task/plan.h"

#include <string.h>

#include "base/mem.h"
#include "base/pattern.h"
#include "base/step_id.h"

#define DEFAULT_UMASK 022

static bool in_array(const struct step *step)
{
    return step->granted && step->granted->facts && step->granted->facts->has_array_job_id;
}

/* Expands a file name pattern for this task. */
static int expand_path(const struct step *step, const struct task *t, const char *pattern,
                       const char *job_name, char **path, struct err *err)
{
    uint32_t id = step->granted ? step_set_id_of(step->granted) : step->job_id;
    struct pattern_values v = {.job_id = id,
                               .step_id = step->step_id,
                               .node_index = step->node_index,
                               .task_id = t->id,
                               .array_id = id,
                               .array_task = PATTERN_NO_ARRAY,
                               .has_restarts = step->step_id == STEP_ID_BATCH,
                               .restarts = step->granted ? step->granted->restarts : 0,
                               .node = step->node,
                               .user = step->start->user_name,
                               .job_name = job_name};
    struct str out = STR_INIT;
    if (in_array(step)) {
        v.array_id = step->granted->facts->array_job_id;
        v.array_task = step->granted->facts->array_task_id;
    }
    if (step->granted && step->granted->facts)
        v.submit_at_sec = step->granted->facts->submit_at;
    int rc = pattern_expand(pattern, &v, &out, err);

    if (rc)
        str_done(&out);
    else
        *path = str_take(&out);
    return rc;
}

/* Whether files keep their content: the user's choice, or else the site's. */
static bool appends_to_file(const struct step *step, bool given, bool append)
{
    return given ? append : step->start->has_file_append && step->start->file_append;
}

/* For batch scripts: relative names are below the job's directory, even if the script could not
   change to it. */
static int batch_path(const struct step *step, const struct task *t, const char *pattern,
                      char **path, struct err *err)
{
    const Pb__JobSpec *spec = step->batch->spec;
    char *name = NULL;
    int rc = expand_path(step, t, pattern, spec->name, &name, err);

    if (!rc && *name != '/' && spec->work_dir) {
        *path = mem_printf("%s/%s", spec->work_dir, name);
        free(name);
    } else {
        *path = name;
    }
    return rc;
}

mode_t plan_umask(const struct step *step)
{
    const Pb__JobPayload *payload = step->batch ? step->batch->payload : NULL;

    if (step->launch && step->launch->has_umask)
        return step->launch->umask;
    return payload && payload->has_umask ? payload->umask : DEFAULT_UMASK;
}

static int plan_batch(struct step *step, struct task *t, struct child_plan *plan, struct err *err)
{
    const Pb__JobSpec *spec = step->batch->spec;
    const Pb__JobPayload *payload = step->batch->payload;
    bool two = spec->has_parallel_command && spec->parallel_command;
    const char *out = spec->std_out && *spec->std_out ? spec->std_out
                      : in_array(step)                ? "slurm-%A_%a.out"
                                                      : "slurm-%j.out";
    const char *error = spec->std_err && *spec->std_err ? spec->std_err : NULL;
    int rc = 0;

    if (!error)
        error = two && !(spec->std_out && *spec->std_out) ? "slurm-%j.err" : out;
    if (spec->std_in && *spec->std_in)
        rc = batch_path(step, t, spec->std_in, &plan->path[0], err);
    else
        plan->path[0] = mem_strdup("/dev/null");
    if (!rc)
        rc = batch_path(step, t, out, &plan->path[1], err);
    if (!rc)
        rc = batch_path(step, t, error, &plan->path[2], err);
    if (rc)
        return rc;
    plan->truncate[1] = !appends_to_file(step, spec->has_open_append, spec->open_append);
    plan->truncate[2] = plan->truncate[1] && strcmp(plan->path[1], plan->path[2]) != 0;
    plan->work_dir = spec->work_dir ? spec->work_dir : "/tmp";
    plan->argv = step->argv;
    plan->by_path = false;
    plan->rlimits = payload ? payload->rlimits : NULL;
    plan->rlimit_count = payload ? payload->n_rlimits : 0;
    plan->umask = plan_umask(step);
    return 0;
}

/* Of the tasks that share a file, the first one truncates it: on this node, and on node 0 if the
 * name is equal on all nodes. */
static bool empties_file(const struct step *step, const struct task *t, const char *pattern)
{
    if (appends_to_file(step, step->launch->has_open_append, step->launch->open_append))
        return false;
    switch (pattern_scope(pattern)) {
    case PATTERN_PER_TASK:
        return true;
    case PATTERN_PER_NODE:
        return t->local == 0;
    default:
        return t->local == 0 && step->node_index == 0;
    }
}

/* Standard input comes from srun for all tasks, for one, or for none. */
static bool takes_input(const struct step *step, const struct task *t)
{
    const char *mode = step->launch->std_in_mode;
    long long rank;

    if (!mode || !strcmp(mode, "all"))
        return true;
    return !str_parse_i64(mode, 0, UINT32_MAX, &rank) && rank == t->id;
}

static int plan_step(struct step *step, struct task *t, struct child_plan *plan, struct err *err)
{
    const Pb__LaunchTasks *l = step->launch;
    const char *patterns[3] = {l->std_in, l->std_out, l->std_err};

    for (int i = 0; i < 3; i++) {
        int rc;

        if (!patterns[i] || !*patterns[i])
            continue;
        rc = expand_path(step, t, patterns[i], l->job_name, &plan->path[i], err);
        if (rc)
            return rc;
        plan->truncate[i] = i && empties_file(step, t, patterns[i]);
        plan->is_labelled[i] = i && l->label && strcmp(plan->path[i], "/dev/null") != 0;
    }
    if (plan->path[1] && plan->path[2] && !strcmp(plan->path[1], plan->path[2]))
        plan->truncate[2] = false;
    if (!plan->path[0] && !takes_input(step, t) && !(l->has_pty && l->pty && t->id == 0))
        plan->path[0] = mem_strdup("/dev/null");
    plan->work_dir = l->work_dir;
    plan->argv = step->argv;
    plan->by_path = true;
    plan->rlimits = l->rlimits;
    plan->rlimit_count = l->n_rlimits;
    plan->umask = plan_umask(step);
    return 0;
}

int plan_task(struct step *step, struct task *t, struct child_plan *plan, struct err *err)
{
    *plan = (struct child_plan){
        .fd = {-1, -1, -1}, .file = {-1, -1, -1}, .pmi_fd = -1, .report_fd = -1, .go_fd = -1};
    return step->batch ? plan_batch(step, t, plan, err) : plan_step(step, t, plan, err);
}

void plan_done(struct child_plan *plan)
{
    for (int i = 0; i < 3; i++)
        free(plan->path[i]);
}
