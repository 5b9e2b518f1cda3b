/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of sinfo. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/args.h"
#include "show/node_state.h"

struct options {
    bool no_nodes, no_states; /* the option names nothing: no node matches */
    bool all, dead, responding, exact, future, reasons, long_format, by_node, noheader, summarize;
    bool reservations, json, yaml, help_format;
    bool format_of_environment; /* 'format' comes from SINFO_FORMAT */
    struct args_common common;
    const char *format, *format_long, *sort, *nodes, *partitions; /* borrowed */
    uint32_t iterate_sec;
    struct node_states states;
};

extern const struct args_table options_table;

/* Returns 0; or, after a message, the exit status plus 1. */
int options_parse(struct options *o, int argc, char **argv);

/* Whether a node passes the filters. */
bool options_match(const struct options *o, const Pb__NodeRecord *node);
