/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/step/freq.h"

#include <unistd.h>

#include "base/mem.h"
#include "base/step_id.h"
#include "cpufreq/cpufreq.h"
#include "slurmd/attempt/attempt.h"
#include "slurmd/node/slurmd.h"
#include "slurmd/step/step.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

static const char *root_of(const struct slurmd *d, struct arena *arena)
{
    _cleanup_free_ char *path = conf_list_value(d->conf->slurmd_parameters, "cpufreq_path");

    return path ? arena_strdup(arena, path) : CPUFREQ_ROOT;
}

/* Returns NULL if there is no fallback or if it has no effect on this machine. */
static const char *fallback_of(struct slurmd *d, const char *root)
{
    const char *word = d->conf->cpu_freq_def;

    if (!word || !*word || cpufreq_has(root, d->hw.mapped ? d->hw.cpu[0].number : 0))
        return word;
    if (!d->freq_told)
        log_error("CpuFreqDef=%s has no effect: the kernel has no cpufreq in %s", word, root);
    d->freq_told = true;
    return NULL;
}

void freq_fill(struct slurmd *d, Pb__StepdStart *m, struct arena *arena)
{
    Pb__StepFreq *f = arena_alloc(arena, sizeof(*f));

    pb__step_freq__init(f);
    f->root = (char *)root_of(d, arena);
    f->fallback = (char *)fallback_of(d, f->root);
    f->governors = (char *)d->conf->cpu_freq_governors;
    f->has_batch = true;
    f->batch = conf_list_has(d->conf->launch_parameters, "batch_step_set_cpu_freq");
    m->cpu_freq = f;
}

/* Whether an earlier daemon left a frequency note. Nearly always false; then nothing else here is
   needed. */
static bool is_noted(const struct slurmd *d)
{
    _cleanup_free_ char *path = mem_printf("%s/" CPUFREQ_NOTE, d->spool);

    return access(path, F_OK) == 0;
}

void freq_step_over(const struct attempt *a, uint32_t step_id)
{
    const struct cpufreq_step who = {a->key.id, a->key.restarts, step_id};
    char name[STEP_ID_TEXT_MAX];
    struct err err = {0};

    if (!is_noted(a->d))
        return;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const struct cpufreq_place place = {root_of(a->d, &arena), a->d->spool};
    if (cpufreq_end(&place, &who, &err))
        log_error("step %s: CPUs do not run as before it: %s",
                  step_id_text(a->key.id, step_id, name), err.text);
}

static bool is_step_alive(void *ctx, const struct cpufreq_step *who)
{
    struct attempt *a = attempt_find(ctx, who->job_id, who->restarts);

    return a && step_find(a, who->step_id);
}

void freq_sweep(struct slurmd *d)
{
    _cleanup_arena_ struct arena arena;
    struct err err = {0};

    arena_init(&arena, 0);
    const struct cpufreq_place place = {root_of(d, &arena), d->spool};
    if (cpufreq_sweep(&place, is_step_alive, d, &err))
        log_error("frequencies of CPUs that steps have left: %s", err.text);
}
