/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What sbcast was asked for. */
#pragma once

#include "cli/args.h"
#include "launch/bcast.h"
#include "proto/step.pb-c.h"

struct options {
    struct args_common common;
    struct bcast_settings settings;
    bool no_allocation; /* to 'nodes', of no job */
    Pb__StepId id;
    const char *source;
    char *dest;        /* absolute */
    const char *nodes; /* of the job; NULL: all */
};

extern const struct args_table options_table;

/* 0; or the status to exit with, plus 1, after a message. */
int options_parse(struct options *o, int argc, char **argv);
void options_done(struct options *o);
