/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scripts of the site that run or have run: prologs and epilogs of the controller, and functions of
 * burst buffers. */
#pragma once

#include "sim/state/state.h"

struct sim_hook { /* of an attempt */
    struct sim_key key;
    bool good;          /* its prolog has ended well */
    bool begun;         /* it was asked for when that was on disk */
    bool prolog;        /* its prolog has run to its end, well or not */
    bool epilog;        /* so has its epilog */
    int running;        /* enum _Pb__ScriptKind; 0: none */
    uint64_t run, life; /* of which start and controller */
    UT_hash_handle hh;
};

struct sim_burst { /* of a job */
    uint32_t job_id;
    uint32_t call;      /* number of the function that runs; 0: none */
    uint64_t life, run; /* of which controller and start */
    char function[32];
    bool is_set_up; /* since the last teardown */
    bool is_ready;  /* slurm_bb_pre_run has ended well since */
    UT_hash_handle hh;
};

/* NULL: there is none, and 'make' is false. */
struct sim_hook *sim_hook_find(struct sim *s, struct sim_key key, bool make);
struct sim_burst *sim_burst_find(struct sim *s, uint32_t job_id, bool make);
/* A script of this kind is about to run. */
void sim_hook_check_run(struct sim *s, const struct sim_hook *h, int kind);
void sim_hook_check_start(struct sim *s, struct sim_key key);
void sim_hook_check_end(struct sim *s);
void sim_burst_check_start(struct sim *s, struct sim_key key);
bool sim_burst_is_over(const struct sim *s); /* all buffers are torn down */
void sim_burst_check_end(struct sim *s);
