/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * job_container.conf, beside slurm.conf: private directories of jobs. A line holds for the nodes
 * that its NodeName lists, one without for all; of several that hold for a node a later one
 * replaces, key by key, what earlier ones say.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct conf;

#define CONF_CONTAINER_DIRS_MAX 32
#define CONF_CONTAINER_WAIT_SEC 10

struct conf_container {
    char *base_path; /* absolute; %h and %n are not replaced yet; NULL: none for this node */
    bool auto_base_path, shared, entire_step;
    VEC(char *) dirs;                                /* absolute, none twice */
    char *init_script, *clone_script, *clone_epilog; /* absolute; NULL: none */
    uint32_t clone_script_sec, clone_epilog_sec;
};

/* Whether slurm.conf asks for them. */
bool conf_container_wanted(const struct conf *c);
/* What holds for this node. The text of a failure begins with the file and the line. */
int conf_container_load(const struct conf *c, const char *node, struct conf_container *out,
                        struct err *err);
void conf_container_done(struct conf_container *c);
