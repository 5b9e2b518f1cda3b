/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The life of the process: opens, serves requests, and runs until it is stopped. */
#pragma once

#include "slurmctld/core/ctld.h"

/*
 * Takes ownership of conf; 'me' is this controller's index in SlurmctldHost. A single controller
 * opens its files, takes the lead, then listens, so it touches nothing that another process may
 * use. One of several controllers listens from the start, and takes the lead when lead/backup.c
 * decides so.
 */
int process_open(struct ctld *c, struct conf *conf, size_t me, struct err *err);
int process_listen(struct ctld *c, struct err *err);
void process_run(struct ctld *c); /* until it is stopped */
void process_close(struct ctld *c);
