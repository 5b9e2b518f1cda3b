/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plugins around the tasks of jobs (SPANK), with the names and types that plugins written for
 * Slurm use; docs/man spank(7) says what each of them does.
 *
 *     cc -shared -fPIC -o site.so site.c
 *
 * A plugin names itself with SPANK_PLUGIN(name, version), defines any of the callbacks below, and
 * is listed in plugstack.conf. The program that loads it defines the functions: nothing is linked.
 * Texts and arrays that a plugin is given belong to the program, and are valid until the callback
 * returns.
 */
#ifndef SLURM_SPANK_H
#define SLURM_SPANK_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spank_handle *spank_t;

/* A callback: 0, or a failure, for which a required plugin ends the job. The arguments are those
 * behind the plugin's name in plugstack.conf; the first of them is argv[0]. */
typedef int (*spank_f)(spank_t spank, int ac, char *argv[]);

#define SPANK_CALLBACK(name) int name(spank_t spank, int ac, char *argv[])
extern SPANK_CALLBACK(slurm_spank_init);
extern SPANK_CALLBACK(slurm_spank_job_prolog);
extern SPANK_CALLBACK(slurm_spank_init_post_opt);
extern SPANK_CALLBACK(slurm_spank_local_user_init);
extern SPANK_CALLBACK(slurm_spank_user_init);
extern SPANK_CALLBACK(slurm_spank_task_init_privileged);
extern SPANK_CALLBACK(slurm_spank_task_init);
extern SPANK_CALLBACK(slurm_spank_task_post_fork);
extern SPANK_CALLBACK(slurm_spank_task_exit);
extern SPANK_CALLBACK(slurm_spank_job_epilog);
extern SPANK_CALLBACK(slurm_spank_slurmd_exit);
extern SPANK_CALLBACK(slurm_spank_exit);
#undef SPANK_CALLBACK

/* What spank_get_item() is asked for, and the types of the pointers behind it. */
enum spank_item {
    S_JOB_UID,                /* uid_t * */
    S_JOB_GID,                /* gid_t * */
    S_JOB_ID,                 /* uint32_t * */
    S_JOB_STEPID,             /* uint32_t * */
    S_JOB_NNODES,             /* uint32_t *: nodes of the step */
    S_JOB_NODEID,             /* uint32_t *: of this node in the step */
    S_JOB_LOCAL_TASK_COUNT,   /* uint32_t *: tasks of the step on this node, of all components */
    S_JOB_TOTAL_TASK_COUNT,   /* uint32_t *: tasks of the step */
    S_JOB_NCPUS,              /* uint16_t *: CPUs of the job on this node */
    S_JOB_ARGV,               /* int *, char *** */
    S_JOB_ENV,                /* char ***: to be read, not changed */
    S_TASK_ID,                /* int *: of the task on this node, among those of its component */
    S_TASK_GLOBAL_ID,         /* uint32_t *: of the task in the step */
    S_TASK_EXIT_STATUS,       /* int *: as of wait(2); in task_exit */
    S_TASK_PID,               /* pid_t * */
    S_JOB_PID_TO_GLOBAL_ID,   /* pid_t, uint32_t * */
    S_JOB_PID_TO_LOCAL_ID,    /* pid_t, uint32_t * */
    S_JOB_LOCAL_TO_GLOBAL_ID, /* uint32_t, uint32_t * */
    S_JOB_GLOBAL_TO_LOCAL_ID, /* uint32_t, uint32_t * */
    S_JOB_SUPPLEMENTARY_GIDS, /* gid_t **, int * */
    S_SLURM_VERSION,          /* char ** */
    S_SLURM_VERSION_MAJOR,    /* char ** */
    S_SLURM_VERSION_MINOR,    /* char ** */
    S_SLURM_VERSION_MICRO,    /* char ** */
    S_STEP_CPUS_PER_TASK,     /* uint32_t * */
    S_JOB_ALLOC_CORES,        /* char **: "0-3", as the node's configuration counts CPUs */
    S_JOB_ALLOC_MEM,          /* uint64_t *: MiB on this node */
    S_STEP_ALLOC_CORES,       /* char ** */
    S_STEP_ALLOC_MEM,         /* uint64_t * */
    S_SLURM_RESTART_COUNT,    /* uint32_t * */
    S_JOB_ARRAY_ID,           /* uint32_t *; 0: no array */
    S_JOB_ARRAY_TASK_ID       /* uint32_t * */
};
typedef enum spank_item spank_item_t;

enum spank_err {
    ESPANK_SUCCESS = 0,
    ESPANK_ERROR = 3000,
    ESPANK_BAD_ARG,
    ESPANK_NOT_TASK,   /* only in a callback for a task */
    ESPANK_ENV_EXISTS, /* and is not to be overwritten */
    ESPANK_ENV_NOEXIST,
    ESPANK_NOSPACE,    /* the buffer is too short */
    ESPANK_NOT_REMOTE, /* only in slurmstepd */
    ESPANK_NOEXIST,    /* no such task */
    ESPANK_NOT_EXECD,  /* the task does not run its program yet */
    ESPANK_NOT_AVAIL,  /* not known here, or not yet */
    ESPANK_NOT_LOCAL   /* only in srun, sbatch and salloc */
};
typedef enum spank_err spank_err_t;

enum spank_context {
    S_CTX_ERROR,
    S_CTX_LOCAL,     /* srun */
    S_CTX_REMOTE,    /* slurmstepd */
    S_CTX_ALLOCATOR, /* sbatch, salloc */
    S_CTX_SLURMD,
    S_CTX_JOB_SCRIPT /* beside the job's prolog or epilog */
};
typedef enum spank_context spank_context_t;

#define SPANK_OPTION_MAXLEN 75 /* of an option's name */

typedef int (*spank_opt_cb_f)(int val, const char *optarg, int remote);

struct spank_option {
    char *name;
    char *arginfo; /* the argument, as --help calls it */
    char *usage;
    int has_arg;       /* 0 none, 1 one, 2 optional */
    int val;           /* for cb */
    spank_opt_cb_f cb; /* may be NULL: spank_option_getopt() */
};

#define SPANK_OPTIONS_TABLE_END                                                                    \
    {                                                                                              \
        NULL, NULL, NULL, 0, 0, NULL                                                               \
    }

/* Where a table that a plugin defines is looked for. */
extern struct spank_option spank_options[];

#define SPANK_PLUGIN(the_name, the_version)                                                        \
    extern const char plugin_name[], plugin_type[];                                                \
    extern const unsigned int plugin_version, spank_plugin_version;                                \
    const char plugin_name[] = #the_name;                                                          \
    const char plugin_type[] = "spank";                                                            \
    const unsigned int plugin_version = 1;                                                         \
    const unsigned int spank_plugin_version = (the_version);

/* 1: the name of a callback that is called; 0. */
int spank_symbol_supported(const char *symbol);
/* 1: in slurmstepd; 0. */
int spank_remote(spank_t spank);
spank_context_t spank_context(void);

spank_err_t spank_option_register(spank_t spank, struct spank_option *opt);
spank_err_t spank_option_getopt(spank_t spank, struct spank_option *opt, char **optargp);

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...);
const char *spank_strerror(spank_err_t err);

/* The environment of the tasks; in slurmstepd. */
spank_err_t spank_getenv(spank_t spank, const char *var, char *buf, int len);
spank_err_t spank_setenv(spank_t spank, const char *var, const char *val, int overwrite);
spank_err_t spank_unsetenv(spank_t spank, const char *var);

/* That of the site's prologs and epilogs, where the names begin with SPANK_; in srun, sbatch and
 * salloc. */
spank_err_t spank_job_control_getenv(spank_t spank, const char *var, char *buf, int len);
spank_err_t spank_job_control_setenv(spank_t spank, const char *var, const char *val,
                                     int overwrite);
spank_err_t spank_job_control_unsetenv(spank_t spank, const char *var);

/* Words before those of the task's command line; in task_init_privileged and task_init. */
spank_err_t spank_prepend_task_argv(spank_t spank, int argc, const char *argv[]);

/* Messages: to the user of the job in commands and in slurmstepd, to the log in slurmd. */
#if defined(__GNUC__)
#define SPANK_PRINTF __attribute__((format(printf, 1, 2)))
#else
#define SPANK_PRINTF
#endif
void slurm_info(const char *format, ...) SPANK_PRINTF;
void slurm_error(const char *format, ...) SPANK_PRINTF;
void slurm_verbose(const char *format, ...) SPANK_PRINTF;
void slurm_debug(const char *format, ...) SPANK_PRINTF;
void slurm_debug2(const char *format, ...) SPANK_PRINTF;
void slurm_debug3(const char *format, ...) SPANK_PRINTF;
/* As slurm_error(), without the word "error:". */
void slurm_spank_log(const char *format, ...) SPANK_PRINTF;
#undef SPANK_PRINTF

#ifdef __cplusplus
}
#endif

#endif
