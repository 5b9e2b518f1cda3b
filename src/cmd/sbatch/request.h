/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The request to submit a batch job: its specification, for each component of a job set, and its
 * payload, which nodes get. An error ends sbatch, after a message. */
#pragma once

#include "base/envlist.h"
#include "cli/opt_component.h"
#include "launch/filter.h"
#include "launch/origin.h"
#include "launch/plugins.h"
#include "proto/job.pb-c.h"

/* The command line of sbatch, its script, and the request that is made of them. */
struct setup {
    struct opt_components options;
    struct opt *opt;         /* the leader's, with all that the job has once */
    struct plugins *plugins; /* of the site; NULL: none */
    struct filter *filter;   /* the same */
    struct arena arena;
    struct str script;
    char *script_dir; /* of --chdir, where the script is looked for; NULL: none */
    char *path;       /* of the script; NULL: none */
    int argc;         /* its arguments */
    char **argv;
    struct envlist env;
    struct origin_limits limits;
    Pb__JobSpec spec;                     /* of the leader */
    Pb__JobSpec *components[JOB_SET_MAX]; /* of the others, by their offsets */
    size_t component_count;
    Pb__JobPayload payload;
    Pb__UserEnv user_env;
};

/* Fills the specifications from the options and the script. argv is the command line of sbatch. */
void request_make_spec(struct setup *s, int argc, char **argv);
/* Lets the plugins of the site act on the specifications and on the environment. */
void request_consult_plugins(struct setup *s);
void request_make_payload(struct setup *s);
