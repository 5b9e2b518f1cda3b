/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of strigger. */
#pragma once

#include <stdbool.h>

#include "cli/args.h"
#include "proto/trigger.pb-c.h"

struct options {
    struct args_common common;
    bool set, get, clear, noheader, quiet;
    bool has_id, has_user;
    bool any_node; /* --node without a value */
    uint32_t id, user;
    Pb__TriggerRecord ask; /* borrows texts of the command line */
};

extern const struct args_table options_table;

/* Returns 0; or, after a message, the exit status plus 1. */
int options_parse(struct options *o, int argc, char **argv);
