/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The child's way to the task's program: session, user, limits, directory, files, program.
 * Everything here runs with one thread, and after child_run() has become the user nothing of root
 * is left. User files are opened here and nowhere else.
 */
#pragma once

#include "slurmstepd/step/step.h"

/* What the child says over its report socket: once, when all is set up (code 0, with descriptors as
 * SCM_RIGHTS) or when that failed. */
#define CHILD_FDS 4

/* The descriptors, in this order. */
enum child_passed {
    CHILD_ERROR = 1,       /* its standard error: always */
    CHILD_OUTPUT = 2,      /* its standard output: if epilogs want it */
    CHILD_OUTPUT_FILE = 4, /* the files that labelled lines go to */
    CHILD_ERROR_FILE = 8,
};

struct child_report {
    int32_t code;    /* positive errno or ERR_* */
    uint32_t passed; /* enum child_passed, ORed */
    char text[ERR_TEXT_MAX];
};

/* Standard streams of one task: a path (opened as the user), or a descriptor; both when lines are
 * labelled on their way from the task to the file. */
struct child_plan {
    char *path[3]; /* NULL: fd */
    int fd[3];
    bool is_labelled[3];
    int file[3];      /* of labelled streams, once they are open; -1 */
    bool truncate[3]; /* else what the file holds stays */
    int pmi_fd;       /* -1: none */
    bool is_pty;      /* fd[0] is the terminal, for all three */
    bool pass_output;
    bool shares_memory;   /* with the shepherd, until exec */
    int report_fd, go_fd; /* go_fd: wait for a byte there; -1 */
    const char *work_dir;
    char *const *argv;
    bool by_path; /* argv[0] is looked up in PATH */
    size_t rlimit_count;
    Pb__Rlimit **rlimits;
    mode_t umask;
};

_Noreturn void child_run(struct task *t, struct child_plan *plan);

/* Whether vfork() may start the task, which copies no memory (docs/adr/0055). With shares_memory,
 * child_run() allocates only while it is root, when no user can kill it halfway, and changes
 * nothing that the shepherd reads later. */
bool child_shares_memory(const struct step *step, const struct child_plan *plan);

/* Starts the task of a plan with shares_memory by vfork(); as fork(). */
pid_t child_start_sharing(struct task *t, const struct child_plan *plan);

/* The tasks' PMIx server, with the step's environment and our socket as its descriptor 3. */
_Noreturn void child_run_server(struct step *step, const char *path, int fd);

/* An epilog of a task that has ended, with its output. name: as it is called in messages. */
_Noreturn void child_run_epilog(struct task *t, const char *name, const char *path);
