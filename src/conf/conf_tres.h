/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weights of trackable resources, as PriorityWeightTRES has them. */
#pragma once

#include <stddef.h>

#include "base/err.h"

#define CONF_TRES_MAX 16

struct conf_tres_weight {
    char name[64]; /* in lower case: "cpu", "gres/gpu" */
    double weight; /* may be negative */
};

/* "CPU=1000,Mem=2000,GRES/gpu=3000", CONF_TRES_MAX of them at most. -ERR_PARSE names the word. */
int conf_tres_parse(const char *text, struct conf_tres_weight *out, size_t *count, struct err *err);
