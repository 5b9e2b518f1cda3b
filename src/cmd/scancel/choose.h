/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The jobs and steps that scancel ends or signals: selected by filters, by a question about each of
 * them, or by ids that the user enters. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "cmd/scancel/options.h"

/* The filters for the controller; their texts are borrowed from the options. */
struct choose_filter {
    Pb__JobFilter message;
    Pb__JobState states[PB__JOB_STATE__SUSPENDED + 1];
    struct arena arena;
    char *name, *partition;
};

void choose_filter_init(const struct options *o, struct choose_filter *f);
void choose_filter_done(struct choose_filter *f);

/* Replaces the ids by those of the jobs that pass the filters, or of their named steps. With -i the
 * user confirms each one. */
int choose_targets(struct options *o, struct choose_filter *f, struct err *err);

/* Without ids and filters, scancel asks for ids if standard input is a terminal. Returns 0; or,
 * after a message, the exit status plus 1. */
int choose_ids(struct options *o);
