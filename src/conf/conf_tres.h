/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weights of trackable resources (PriorityWeightTRES). */
#pragma once

#include <stddef.h>

#include "base/err.h"

#define CONF_TRES_MAX 16

struct conf_tres_weight {
    char name[64]; /* lower case: "cpu", "gres/gpu" */
    double weight; /* may be negative */
};

/* Parses "CPU=1000,Mem=2000,GRES/gpu=3000", at most CONF_TRES_MAX entries. -ERR_PARSE names the
   invalid word. */
int conf_tres_parse(const char *text, struct conf_tres_weight *out, size_t *count, struct err *err);
