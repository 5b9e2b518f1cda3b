/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The steps of jobs, internal to this subdirectory. */
#pragma once

#include "cluster/cluster.h"

struct control;

/* The effects of steps on their job; control.step_owner, a table of functions of life/. */
struct step_owner {
    void (*job_ran)(struct control *c, struct job *j, int status); /* called with its last step */
    void (*end_step)(struct control *c, struct job *j, struct step *s);
    void (*reschedule)(struct control *c, struct job *j); /* the due time of a step has changed */
};

/* step.c */
/* -ERR_ACCESS: srun runs as a user whose tasks the nodes would reject, because the job belongs to
 * 'uid'. */
int step_check_launcher(const Pb__StepSpec *spec, uint32_t uid, struct err *err);
bool step_is_stale(const struct job *j, bool says, uint32_t restarts);
struct step *step_find(struct job *j, uint32_t id);
void step_ended_on(struct control *c, struct job *j, uint32_t step_id, uint32_t node,
                   int exit_status);
/* Ends steps that no longer have a node on which they may run. */
void step_end_lost(struct control *c, struct job *j);
int step_make(struct control *c, struct job *j, const Pb__StepSpec *spec, struct step **out,
              struct err *err);
Pb__StepReply *step_reply(struct control *c, struct job *j, const struct step *s,
                          struct arena *arena);
/* Returns the default binding of tasks: CpuBind of the job's nodes if all have the same, otherwise
 * of its partition; NULL: neither has one. */
const char *step_cpu_bind(const struct control *c, const struct job *j);
void step_retry_waiting(struct control *c, struct job *j);

/* step_waiting.c: waiting requests in attempt.waiting_steps, which only this file changes. */
/* -ERR_BUSY: the job has too many waiting requests, or its user too much data in them. */
int step_waiting_add(struct control *c, struct job *j, uint64_t call, const Pb__StepSpec *spec,
                     struct err *err);
/* Owned by the caller. */
struct waiting_step step_waiting_take(struct control *c, struct job *j, size_t at);
void step_waiting_done(struct control *c);

/* The step was created, or restored from its record. */
void step_watch(struct control *c, struct job *j, struct step *s);
/* At unlaunched_mono_ms of its attempt. */
void step_ask_unlaunched(struct control *c, struct job *j);
/* The node of 'a' registers and may have missed the query. present: what it has of the job, or
 * NULL. */
void step_ask_again(struct control *c, struct job *j, const struct alloc_node *a,
                    const Pb__Presence *present);

/* step_limit.c: time limits of steps that the controller enforces. */
int step_limit_update(struct control *c, struct job *j, const Pb__StepLimit *m, struct err *err);
/* The job is about to be suspended: its sruns would count the suspended time. */
void step_limit_take_over(struct job *j);
void step_limit_restore(const struct job *j, struct step *s);
int64_t step_limit_due_ms(const struct job *j); /* INT64_MAX: none */
void step_limit_enforce(struct control *c, struct job *j);

/* step.c */
void step_remove(struct control *c, struct job *j, struct step *s);

/* step_layout.c: ports */
struct step_layout;
/* Whether the request, or one of its parts, requests ports. */
bool step_ports_wanted(const Pb__StepSpec *spec);
/* Whether enough ports are configured: -ERR_STEP_CONFIG. */
int step_ports_check(const struct control *c, const Pb__StepSpec *spec, struct err *err);
/* Chooses the ports of a layout; -ERR_NODES_BUSY: too few are free now. They are in the arena. */
int step_ports_find(const struct control *c, struct step_layout *l, struct arena *arena,
                    struct err *err);
void step_ports_take(const struct step_layout *l, struct step *s);
/* Releases the ports of a step that is about to be removed. If the job has ended with it, the job
 * keeps them until the nodes are clean. */
void step_ports_over(struct control *c, struct job *j, const struct step *s);
void step_ports_job_clean(struct control *c, struct job *j);
/* A step of this job waits for ports: it is retried at the end of a turn in which ports were
 * freed. */
void step_ports_await(struct control *c, const struct job *j);
void step_ports_turn(struct control *c);

/* Whether the job has its nodes and waits for its one step, also while it is suspended. The job
 * ends when its srun stops requesting the step. */
bool step_is_awaited(const struct job *j);

/* step_layout.c */
struct step_gres { /* the GRES request of a step */
    struct gres_wants wants;
    uint64_t total;          /* total, not yet dealt to nodes */
    uint32_t tasks_per_node; /* tasks served by the GPUs of each node; 0: not specified */
    uint32_t nodes; /* number of nodes implied by a total and a per-node count; 0: not specified */
    bool none, own; /* none: not even the job's GRES; own: requests some */
};
int step_gres_read(const struct control *c, const Pb__StepSpec *s, struct step_gres *g,
                   struct err *err);
/* Returns how many tasks fit on the job's share of a node beside other steps; 'all': ignoring other
 * steps. */
uint32_t step_gres_fits(const struct control *c, const struct step_gres *g,
                        const struct alloc_node *a, bool all);
/* Returns the job's GPUs on a node that other steps do not use; 'all': including those. */
uint64_t step_gres_count_gpus(const struct control *c, const struct alloc_node *a, bool all);
/* Whether the nodes with tasks have the total request. */
bool step_gres_total_fits(const struct control *c, const struct step_gres *g, const struct job *j,
                          const uint32_t *tasks, bool all);
void step_gres_take(const struct control *c, struct step_gres *g, struct alloc_node *a,
                    struct step_node *n, bool overlap);

/* Checks --cpu-freq or NULL. -ERR_PARSE; -ERR_ACCESS: not in CpuFreqGovernors. */
int step_check_freq(const struct control *c, const char *text, struct err *err);
