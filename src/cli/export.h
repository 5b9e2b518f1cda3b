/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The variables that --export passes on. */
#pragma once

#include <stdbool.h>

#include "base/envlist.h"

/* Adds the variables that --export selects from 'from': "ALL", "NONE", "NIL",
 * "[ALL,]NAME,NAME=value...". Without ALL only SLURM_* and the named variables are added; NULL
 * means ALL. A value may be quoted to contain commas. SLURM_JWT is added only if it is named. With
 * ALL a variable of 'from' takes precedence over NAME=value, unless 'values_first'. */
void export_variables(struct envlist *e, const char *spec, char *const *from, bool values_first);
bool export_takes_all(const char *spec); /* whether it contains ALL, or is NULL */
