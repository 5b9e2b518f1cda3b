/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/task/freq.h"

#include "base/bitset.h"
#include "base/idset.h"
#include "base/mem.h"
#include "conf/conf_freq.h"
#include "cpufreq/cpufreq.h"
#include "slurmstepd/env/affinity.h"
#include "slurmstepd/stream/journal.h"

#define CPUS_MAX 65536

/* The requested frequency, and whether the user has requested it. NULL: none. */
static const char *find_wanted(const struct step *step, bool *by_user)
{
    const Pb__StepFreq *f = step->start->cpu_freq;
    const char *said = step->launch              ? step->launch->cpu_freq
                       : step->batch && f->batch ? step->batch->spec->cpu_freq
                                                 : NULL;

    *by_user = said != NULL;
    if (said || (step->batch && !f->batch))
        return said;
    return f->fallback && *f->fallback ? f->fallback : NULL;
}

/* The CPUs that the step's tasks cannot leave; changing others would affect other jobs. */
static bool confined_to(const struct step *step, struct bitset *out)
{
    const Pb__StepCgroup *group = step->start->cgroup;
    struct idset held = {0};

    for (size_t i = 0; i < step->task_count; i++) {
        const struct bitset *own = affinity_cpus(&step->tasks[i]);

        if (own)
            bitset_foreach (own, cpu)
                if ((size_t)cpu < out->size)
                    bitset_set(out, (size_t)cpu);
    }
    if (bitset_empty(out) && group && group->cpus &&
        !idset_parse(group->cpus, CPUS_MAX, &held, NULL))
        idset_foreach(&held, cpu) bitset_set(out, (size_t)cpu);
    idset_done(&held);
    return !bitset_empty(out);
}

static int set_frequency(struct step *step, const char *text, bool by_user, struct err *err)
{
    const struct cpufreq_place place = {step->freq_root, step->dir};
    const struct cpufreq_step who = {step->job_id, step->restarts, step->step_id};
    _cleanup_bitset_ struct bitset *cpus = bitset_new(CPUS_MAX);
    struct conf_freq want;
    int rc = conf_freq_parse(text, &want, err);

    if (rc == 0 && by_user)
        rc = conf_freq_allowed(&want, step->start->cpu_freq->governors, err);
    if (rc)
        return rc;
    conf_freq_complete(&want, step->start->cpu_freq->fallback);
    if (!confined_to(step, cpus))
        return err_set(err, -ERR_NOT_SUPPORTED,
                       "its tasks are not confined to CPUs (TaskPlugin=task/affinity, or "
                       "task/cgroup with ConstrainCores=yes)");
    step->freq_set = true;
    return cpufreq_begin(&place, &who, cpus, &want, err);
}

void freq_begin(struct step *step)
{
    struct err err = {0};
    bool by_user;
    const char *text = step->start->cpu_freq ? find_wanted(step, &by_user) : NULL;

    if (!text)
        return;
    step->freq_root = mem_strdup(step->start->cpu_freq->root);
    if (!set_frequency(step, text, by_user, &err))
        journal_tell(step, LOG_LVL_VERBOSE, "its CPUs run at %s until it has ended", text);
    else if (by_user)
        journal_tell(step, LOG_LVL_ERROR, "--cpu-freq=%.64s has no effect: %s", text, err.text);
    else
        journal_error(step, "step %s: CpuFreqDef=%s has no effect: %s", step->name, text, err.text);
}

void freq_end(struct step *step)
{
    const struct cpufreq_place place = {step->freq_root, step->dir};
    const struct cpufreq_step who = {step->job_id, step->restarts, step->step_id};
    struct err err = {0};

    if (step->freq_set && cpufreq_end(&place, &who, &err))
        journal_error(step, "step %s: CPUs do not run as before it: %s", step->name, err.text);
    step->freq_set = false;
    free(take_ptr(step->freq_root));
}
