/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hierarchical resources: a layer's count, and all of them as a file. */
#pragma once

#include "cmd/scontrol/update.h"

/* "LicenseName=flat(n[1-8])": the value; NULL: the argument is another one. */
const char *license_is_meant(const char *arg);
/* Return the status to exit with. */
int license_update(struct update *u, const char *layer);
int license_write(const char *file); /* NULL or "-": to standard output */
