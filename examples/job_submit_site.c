/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A job_submit plugin: it demands a time limit, sets a partition for short jobs, gives one account
 * its priority, keeps comments of changes in order, and tells what it does.
 *
 *     cc -shared -fPIC -o job_submit_site.so job_submit_site.c $(pkg-config --cflags sluice)
 *
 * In PluginDir, owned by root or SlurmUser; JobSubmitPlugins=site in slurm.conf.
 */
#include <stdio.h>
#include <string.h>

#include <sluice/job_submit.h>

enum { SHORT = 30 }; /* minutes */

static int limit_is_given(struct sluice_job *job, int64_t *minutes)
{
    if (sluice_job_number(job, "time_limit", minutes) == SLUICE_JOB_OK)
        return 1;
    sluice_job_tell(job, "say how long it takes: --time");
    return 0;
}

/* The first one that takes jobs of this length. */
static void choose_partition(struct sluice_job *job, int64_t minutes)
{
    const struct sluice_job_partition *p;

    for (size_t i = 0; (p = sluice_job_partition(job, i)); i++)
        if (p->is_up && minutes <= SHORT && strcmp(p->name, "short") == 0)
            sluice_job_set_text(job, "partition", p->name);
}

static int on_submit(struct sluice_job *job)
{
    const char *account = sluice_job_text(job, "account");
    char text[160];
    int64_t minutes;

    if (!limit_is_given(job, &minutes))
        return SLUICE_JOB_REFUSE;
    if (!sluice_job_text(job, "partition"))
        choose_partition(job, minutes);
    if (account && strcmp(account, "urgent") == 0)
        sluice_job_set_number(job, "priority", 100000);
    snprintf(text, sizeof text, "a job of uid %u, %lld minutes", sluice_job_caller(job),
             (long long)minutes);
    sluice_job_log(job, SLUICE_LOG_INFO, text);
    return SLUICE_JOB_PASS;
}

static int on_modify(struct sluice_job *change, const struct sluice_job *job)
{
    const char *comment = sluice_job_text(change, "comment"),
               *now = sluice_job_text(job, "comment");

    if (comment && now && strcmp(now, "final") == 0) {
        sluice_job_tell(change, "its comment is final");
        return SLUICE_JOB_REFUSE;
    }
    return SLUICE_JOB_PASS;
}

const struct sluice_job_submit sluice_job_submit = {
    .version = SLUICE_JOB_SUBMIT_VERSION,
    .submit = on_submit,
    .modify = on_modify,
};
