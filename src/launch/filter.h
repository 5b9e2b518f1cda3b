/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Filters of the site in srun, sbatch and salloc (CliFilterPlugins): they set defaults with the
 * lowest precedence of all sources, and may inspect, change and reject a request before it is
 * submitted. Without CliFilterPlugins, filter_begin() returns NULL and the other functions only
 * apply the options.
 *
 *   filter_begin, opt_components_scan, [filter_ask_early,] filter_read, for each component:
 *   filter_submitted, filter_end
 *
 * Each filter is called once. Options that are read again, for another component of the job, get
 * the same values.
 */
#pragma once

#include "cli/opt_component.h"
#include "conf/conf.h"

struct filter;

/* conf NULL: it cannot be read, which the caller reports. 'leader': for --quiet and --verbose. Ends
 * the process if a filter cannot be used. */
struct filter *filter_begin(const struct conf *conf, const struct opt *leader);

/* sbatch: gets the defaults that determine how the script is read. */
int filter_ask_early(struct filter *f, struct opt_components *cs, struct err *err);

/* Applies defaults, the script (NULL: none), the environment and the command line, calls the
 * filters with the result, and finishes the options. opt_components_print_failure() prints a
 * failure. f may be NULL, here and below. */
int filter_read(struct filter *f, struct opt_components *cs, const struct opt_script *script,
                char *const envp[], struct err *err);

/* The component was submitted. step_id: FILTER_NO_STEP without a step. */
void filter_submitted(struct filter *f, size_t component, uint32_t job_id, uint32_t step_id);

void filter_end(struct filter *f);
