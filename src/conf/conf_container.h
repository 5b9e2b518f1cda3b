/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * job_container.conf, beside slurm.conf: per-job directories. A line applies to the nodes in its
 * NodeName, or to all nodes without NodeName. If several lines apply to a node, later ones
 * override earlier ones, key by key.
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
    char *base_path; /* absolute, with %h and %n unexpanded; NULL: none for this node */
    bool auto_base_path, shared, entire_step;
    VEC(char *) dirs;                                /* absolute, without duplicates */
    char *init_script, *clone_script, *clone_epilog; /* absolute; NULL: none */
    uint32_t clone_script_sec, clone_epilog_sec;
};

/* Whether slurm.conf enables them. */
bool conf_container_wanted(const struct conf *c);
/* Loads the settings for this node. Error messages begin with the file and the line. */
int conf_container_load(const struct conf *c, const char *node, struct conf_container *out,
                        struct err *err);
void conf_container_done(struct conf_container *c);
