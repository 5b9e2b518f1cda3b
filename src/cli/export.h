/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What --export hands on of an environment. */
#pragma once

#include <stdbool.h>

#include "base/envlist.h"

/* What --export asks for: "ALL", "NONE", "NIL", "[ALL,]NAME,NAME=value...", of what is in 'from'.
 * Without ALL only SLURM_* and the named ones are taken; NULL is ALL. A value may be quoted to hold
 * commas. SLURM_JWT is taken only when it is named. With ALL a variable of 'from' comes before
 * NAME=value, unless 'values_first'. */
void export_variables(struct envlist *e, const char *spec, char *const *from, bool values_first);
bool export_takes_all(const char *spec); /* whether ALL is in it, or it is NULL */
