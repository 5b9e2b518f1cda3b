/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of files on the command line: the patterns of --input, --output and --error, as far as srun
 * handles them (which files the nodes open: %t, %n, %N; and the names of the files that srun
 * opens), and the program, which is found on this host.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum names_kind {
    NAMES_DEFAULT, /* absent or "all": srun's own stream */
    NAMES_NONE,    /* "none", or /dev/null */
    NAMES_TASK,    /* the rank of one task */
    NAMES_FILE,    /* a file on srun's host */
    NAMES_ON_NODE, /* files that the nodes open */
};

enum names_kind names_kind(const char *spec, uint32_t *task); /* sets *task only for NAMES_TASK */

struct names_values {
    uint32_t job_id, step_id;
    int64_t submit_at_sec;       /* of the job; 0: unknown */
    const char *user, *job_name; /* user NULL: look up the name of uid */
    uint32_t uid;
};

/* Whether the name of a file on srun's host may contain the user's name. */
bool names_need_user(const char *spec);

/* Appends the name of a NAMES_FILE (base/pattern.h). */
int names_expand(const char *pattern, const struct names_values *v, struct str *out,
                 struct err *err);

/* Returns a program found in PATH, otherwise one in work_dir. A name with a '/' is relative to
 * work_dir (NULL: it stays as it is). Returns the name itself if there is no such program. The
 * caller frees it. */
char *program_find(const char *name, const char *work_dir);

/* Whether the path is a file that this user may execute. */
bool program_is_there(const char *path);
