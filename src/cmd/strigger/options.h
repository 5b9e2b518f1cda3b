/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What strigger was asked for. */
#pragma once

#include <stdbool.h>

#include "cli/args.h"
#include "proto/trigger.pb-c.h"

struct options {
    struct args_common common;
    bool set, get, clear, noheader, quiet;
    bool has_id, has_user;
    uint32_t id, user;
    Pb__TriggerRecord ask; /* borrows the command line */
};

extern const struct args_table options_table;

/* 0; or the status to exit with, plus 1, after a message. */
int options_parse(struct options *o, int argc, char **argv);
