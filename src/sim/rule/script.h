/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Site scripts that are running or have run: PrologSlurmctld and EpilogSlurmctld, and functions of
 * burst buffers. */
#pragma once

#include "sim/state/state.h"

struct sim_hook { /* the scripts of an attempt */
    struct sim_key key;
    bool good;          /* the prolog has succeeded */
    bool begun;         /* a script was requested, and the request is on disk */
    bool prolog;        /* the prolog has ended, successfully or not */
    bool epilog;        /* the epilog has ended */
    int running;        /* enum _Pb__ScriptKind of the running script; 0: none */
    uint64_t run, life; /* number of the script's start, and life of its controller */
    UT_hash_handle hh;
};

struct sim_burst { /* the burst buffer of a job */
    uint32_t job_id;
    uint32_t call;      /* number of the running function; 0: none */
    uint64_t life, run; /* life of the controller, and number of the function's start */
    char function[32];
    bool is_set_up; /* set up since the last teardown */
    bool is_ready;  /* slurm_bb_pre_run has succeeded since the setup */
    UT_hash_handle hh;
};

/* Returns NULL if there is none and 'make' is false. */
struct sim_hook *sim_hook_find(struct sim *s, struct sim_key key, bool make);
struct sim_burst *sim_burst_find(struct sim *s, uint32_t job_id, bool make);
/* Checks that a script of this kind may start now. */
void sim_hook_check_run(struct sim *s, const struct sim_hook *h, int kind);
void sim_hook_check_start(struct sim *s, struct sim_key key);
void sim_hook_check_end(struct sim *s);
void sim_burst_check_start(struct sim *s, struct sim_key key);
bool sim_burst_is_over(const struct sim *s); /* all buffers are torn down */
void sim_burst_check_end(struct sim *s);
