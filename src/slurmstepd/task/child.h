/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The child's part of starting a task: session, user, limits, directory, files, program. All of
 * this runs with one thread, and after child_run() has become the user no root privilege is left.
 * Files of the user are opened here and nowhere else.
 */
#pragma once

#include "slurmstepd/step/step.h"

/* Report of the child over its report socket: sent once, when everything is set up (code 0, with
 * descriptors as SCM_RIGHTS) or when that failed. */
#define CHILD_FDS 4

/* The passed descriptors, in this order. */
enum child_passed {
    CHILD_ERROR = 1,       /* its standard error: always */
    CHILD_OUTPUT = 2,      /* its standard output: if there are epilogs that need it */
    CHILD_OUTPUT_FILE = 4, /* the files of labelled output */
    CHILD_ERROR_FILE = 8,
};

struct child_report {
    int32_t code;    /* positive errno or ERR_* */
    uint32_t passed; /* enum child_passed, ORed */
    char text[ERR_TEXT_MAX];
};

/* Standard streams of one task: a path (opened as the user) or a descriptor; both for labelled
 * output, which goes through a pipe to the file. */
struct child_plan {
    char *path[3]; /* NULL: use fd */
    int fd[3];
    bool is_labelled[3];
    int file[3];      /* files of labelled streams, once they are open; -1: none */
    bool truncate[3]; /* otherwise the file keeps its content */
    int pmi_fd;       /* -1: none */
    bool is_pty;      /* fd[0] is the terminal, used for all three */
    bool pass_output;
    bool shares_memory;   /* shares the memory of the shepherd until exec */
    int report_fd, go_fd; /* go_fd: the child waits for a byte there; -1: it does not wait */
    const char *work_dir;
    char *const *argv;
    bool by_path; /* search PATH for argv[0] */
    size_t rlimit_count;
    Pb__Rlimit **rlimits;
    mode_t umask;
};

_Noreturn void child_run(struct task *t, struct child_plan *plan);

/* Whether the task may be started by vfork(), which copies no memory (docs/adr/0055). With
 * shares_memory, child_run() allocates only while it is root, when no user can kill it at an
 * arbitrary point, and changes nothing that the shepherd reads later. */
bool child_shares_memory(const struct step *step, const struct child_plan *plan);

/* Starts a task whose plan has shares_memory, by vfork(); returns like fork(). */
pid_t child_start_sharing(struct task *t, const struct child_plan *plan);

/* Runs the tasks' PMIx server, with the step's environment and our socket as its descriptor 3. */
_Noreturn void child_run_server(struct step *step, const char *path, int fd);

/* Runs an epilog of an ended task, with the task's output. name: its name in messages. */
_Noreturn void child_run_epilog(struct task *t, const char *name, const char *path);
