/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of sdiag. */
#pragma once

#include "cli/args.h"

enum sdiag_order { SDIAG_BY_COUNT, SDIAG_BY_NUMBER, SDIAG_BY_TOTAL, SDIAG_BY_AVERAGE };

struct options {
    struct args_common common;
    enum sdiag_order order;
    bool reset, json, yaml;
};

extern const struct args_table options_table;

/* 0, or the status to exit with, plus 1, after a message. */
int options_parse(struct options *o, int argc, char **argv);
