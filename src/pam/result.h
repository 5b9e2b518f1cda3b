/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report of sluice-adopt on its standard output to the PAM module that has started it: one
   struct. */
#pragma once

#include <stdint.h>

#define RESULT_MAGIC 0x41444f31u /* changes with the layout of the struct */
#define RESULT_PATH_MAX 4096
#define RESULT_NAME_MAX 256
#define RESULT_TEXT_MAX 512

enum result_outcome {
    RESULT_DONE,    /* the process belongs to job_id */
    RESULT_NO_JOB,  /* text: a further explanation, or empty */
    RESULT_UNKNOWN, /* there are several jobs, and none can be chosen */
    RESULT_FAILED,  /* the process could not be added to job_id */
    RESULT_GENERIC, /* unknown, for example because the node daemon does not answer */
};

struct result {
    uint32_t magic;
    int32_t outcome;
    uint32_t job_id;
    char how[RESULT_NAME_MAX]; /* how the job was chosen, for the log */
    char node[RESULT_NAME_MAX];
    char conf[RESULT_PATH_MAX];
    char tmp[RESULT_PATH_MAX]; /* the file that holds the job's mount namespace; empty: none */
    char text[RESULT_TEXT_MAX];
};

/* Command line of sluice-adopt: UID PID JOB newest|ask NODE CONF [LOCAL REMOTE]; JOB 0, NODE and
 * CONF "-": not given. LOCAL and REMOTE are the ends of the login's connection, OWNER_END_SIZE
 * bytes in hexadecimal. */
#define RESULT_END_HEX 36
