/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The request to submit a batch job: the specification of each component, and the payload for the
 * nodes. An error ends sbatch after a message. */
#pragma once

#include "base/envlist.h"
#include "cli/opt_component.h"
#include "launch/filter.h"
#include "launch/origin.h"
#include "launch/plugins.h"
#include "proto/job.pb-c.h"

/* The command line of sbatch, its script, and the resulting request. */
struct setup {
    struct opt_components options;
    struct opt *opt;         /* options of the leader, including those of the whole job */
    struct plugins *plugins; /* plugins of the site; NULL: none */
    struct filter *filter;   /* filters of the site; NULL: none */
    struct arena arena;
    struct str script;
    char *script_dir; /* directory of --chdir, where the script is searched; NULL: none */
    char *path;       /* path of the script; NULL: none */
    int argc;         /* arguments of the script */
    char **argv;
    struct envlist env;
    struct origin_limits limits;
    Pb__JobSpec spec;                     /* of the leader */
    Pb__JobSpec *components[JOB_SET_MAX]; /* of the other components, by offset */
    size_t component_count;
    Pb__JobPayload payload;
    Pb__UserEnv user_env;
};

/* Fills the specifications from the options and the script. argv is the command line of sbatch. */
void request_make_spec(struct setup *s, int argc, char **argv);
/* Lets the site's plugins and filters change the specifications and the environment. */
void request_consult_plugins(struct setup *s);
void request_make_payload(struct setup *s);
