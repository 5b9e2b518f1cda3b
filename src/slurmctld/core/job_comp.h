/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Job completion records (JobCompType). */
#pragma once

#include "slurmctld/core/ctld.h"

const char *job_comp_path(const struct conf *conf);    /* NULL: none is configured */
const char *job_comp_program(const struct conf *conf); /* NULL: none is configured */
void job_comp_ended(void *ctx, const struct env_job_end *e);
void job_comp_write(struct ctld *c, const void *line, size_t len);
void job_comp_close(struct ctld *c); /* the next record reopens the file */
