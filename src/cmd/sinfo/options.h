/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What sinfo was asked for. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/args.h"
#include "show/node_state.h"

struct options {
    bool all, dead, responding, exact, future, reasons, long_format, by_node, noheader, summarize;
    bool reservations, json, yaml, help_format;
    bool format_of_environment; /* 'format' is SINFO_FORMAT */
    struct args_common common;
    const char *format, *format_long, *sort, *nodes, *partitions; /* borrowed */
    uint32_t iterate_sec;
    struct node_states states;
};

extern const struct args_table options_table;

/* 0; or the status to exit with, plus 1, after a message. */
int options_parse(struct options *o, int argc, char **argv);

/* Whether a node passes. */
bool options_match(const struct options *o, const Pb__NodeRecord *node);
