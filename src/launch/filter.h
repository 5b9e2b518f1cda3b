/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Filters of the site in srun, sbatch and salloc (CliFilterPlugins): they set defaults below all
 * other sources of options, and may look at a request, change and refuse it before it is submitted.
 * Without CliFilterPlugins, filter_begin() returns NULL and the other functions only apply the
 * options.
 *
 *   filter_begin, opt_components_scan, [filter_ask_early,] filter_read, for each component:
 *   filter_submitted, filter_end
 *
 * Filters are asked once. Options that are read again, for another component of the job, get the
 * same answers.
 */
#pragma once

#include "cli/opt_component.h"
#include "conf/conf.h"

struct filter;

/* conf NULL: it cannot be read, which is said elsewhere. 'leader': what --quiet and --verbose are.
 * Ends the process when a filter cannot be used. */
struct filter *filter_begin(const struct conf *conf, const struct opt *leader);

/* sbatch: what defaults say about the script that is to be read. */
int filter_ask_early(struct filter *f, struct opt_components *cs, struct err *err);

/* Applies defaults, the script (NULL: there is none), the environment and the command line, asks
 * the filters about the result, and finishes the options. A failure is printed by
 * opt_components_print_failure(). f NULL is fine, here and below. */
int filter_read(struct filter *f, struct opt_components *cs, const struct opt_script *script,
                char *const envp[], struct err *err);

/* The controller has this component. step_id: FILTER_NO_STEP without a step. */
void filter_submitted(struct filter *f, size_t component, uint32_t job_id, uint32_t step_id);

void filter_end(struct filter *f);
