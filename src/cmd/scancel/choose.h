/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The jobs and steps that scancel ends or signals: by filters, by a question about each of them, or
 * by ids that are asked for. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "cmd/scancel/options.h"

/* The filters for the controller; what is in them is borrowed from the options. */
struct choose_filter {
    Pb__JobFilter message;
    Pb__JobState states[PB__JOB_STATE__SUSPENDED + 1];
    struct arena arena;
    char *name, *partition;
};

void choose_filter_init(const struct options *o, struct choose_filter *f);
void choose_filter_done(struct choose_filter *f);

/* Replaces the ids by those of the jobs that pass the filters, or of their steps that were named.
 * With -i the user is asked about each. */
int choose_targets(struct options *o, struct choose_filter *f, struct err *err);

/* Neither an id nor a filter was given: on a terminal the user is asked for ids. 0; or the status
 * to exit with, plus 1, after a message. */
int choose_ids(struct options *o);
