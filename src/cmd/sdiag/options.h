/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of sdiag. */
#pragma once

#include "cli/args.h"
#include "show/show.h"

struct options {
    struct args_common common;
    enum show_diag_order order;
    bool reset, json, yaml;
};

extern const struct args_table options_table;

/* 0, or the status to exit with, plus 1, after a message. */
int options_parse(struct options *o, int argc, char **argv);
