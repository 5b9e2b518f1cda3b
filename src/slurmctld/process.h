/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The process: it opens, takes requests, and runs until it is told to stop. */
#pragma once

#include "slurmctld/core/ctld.h"

/*
 * The configuration becomes the process's; 'me' is its place among SlurmctldHost. One that is alone
 * opens, takes the lead, then listens: it touches nothing that another process may use. One of
 * several listens from the start, and takes the lead when lead/backup.c finds it due.
 */
int process_open(struct ctld *c, struct conf *conf, size_t me, struct err *err);
int process_listen(struct ctld *c, struct err *err);
void process_run(struct ctld *c); /* until it is told to stop */
void process_close(struct ctld *c);
