/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What scancel prints: the results of its requests, and ids that are unknown. */
#pragma once

#include "base/err.h"
#include "cmd/scancel/options.h"

void report_no_match(void);

/* With a filter or -i, an id is an error if its job does not exist or has ended, whether or not the
 * filter would have chosen the job. Returns the status to exit with. */
int report_unknown_ids(const struct options *o);

/* Prints the results of a request; returns the status to exit with. */
int report_results(const struct options *o, const Pb__JobSignalReply *reply);

/* The request has failed: the error is printed for each id, as with Slurm. Returns the status to
 * exit with. */
int report_failure(const Pb__StepId *ids, size_t count, const struct err *err);
