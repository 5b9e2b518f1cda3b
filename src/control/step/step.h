/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Within this room: the steps of jobs. */
#pragma once

#include "cluster/cluster.h"

struct control;

/* What steps have done to the job that they are of; control.step_owner, a table of life/. */
struct step_owner {
    void (*job_ran)(struct control *c, struct job *j, int status); /* with its last step */
    void (*end_step)(struct control *c, struct job *j, struct step *s);
    void (*reschedule)(struct control *c, struct job *j); /* a step is due at another time */
};

/* step.c */
/* -ERR_ACCESS: srun runs as a user whose tasks nodes would refuse, as they are those of 'uid'. */
int step_check_launcher(const Pb__StepSpec *spec, uint32_t uid, struct err *err);
bool step_is_stale(const struct job *j, bool says, uint32_t restarts);
struct step *step_find(struct job *j, uint32_t id);
void step_ended_on(struct control *c, struct job *j, uint32_t step_id, uint32_t node,
                   int exit_status);
/* Steps that have no node any more where something of them may be. */
void step_end_lost(struct control *c, struct job *j);
int step_make(struct control *c, struct job *j, const Pb__StepSpec *spec, struct step **out,
              struct err *err);
Pb__StepReply *step_reply(struct control *c, struct job *j, const struct step *s,
                          struct arena *arena);
/* What tasks are bound to unless they say it: CpuBind of the job's nodes, where all have the same,
 * else of its partition; NULL: neither has it. */
const char *step_cpu_bind(const struct control *c, const struct job *j);
void step_retry_waiting(struct control *c, struct job *j);

/* step_waiting.c: requests that wait in attempt.waiting_steps, which nothing else changes. */
/* -ERR_BUSY: too many of the job wait, or too large ones of its user. */
int step_waiting_add(struct control *c, struct job *j, uint64_t call, const Pb__StepSpec *spec,
                     struct err *err);
struct waiting_step step_waiting_take(struct control *c, struct job *j, size_t at); /* caller's */
void step_waiting_done(struct control *c);

/* step_unlaunched.c */
/* It was made, or read from its record. */
void step_watch(struct control *c, struct job *j, struct step *s);
/* When unlaunched_mono_ms of its run has come. */
void step_ask_unlaunched(struct control *c, struct job *j);
/* The node of 'a' registers, which may not have heard that it was asked. present: what it has of
 * the job, or NULL. */
void step_ask_again(struct control *c, struct job *j, const struct alloc_node *a,
                    const Pb__Presence *present);

/* step_limit.c: time limits that the controller enforces. */
int step_limit_update(struct control *c, struct job *j, const Pb__StepLimit *m, struct err *err);
/* The job is about to be suspended: its sruns would count that time. */
void step_limit_take_over(struct job *j);
void step_limit_restore(const struct job *j, struct step *s);
int64_t step_limit_due_ms(const struct job *j); /* INT64_MAX: none */
void step_limit_enforce(struct control *c, struct job *j);

/* step.c */
void step_remove(struct control *c, struct job *j, struct step *s);

/* step_ports.c */
struct step_layout;
/* Whether the request, or one of its parts, asks for ports. */
bool step_ports_wanted(const Pb__StepSpec *spec);
/* Whether there could ever be so many: -ERR_STEP_CONFIG. */
int step_ports_check(const struct control *c, const Pb__StepSpec *spec, struct err *err);
/* Fills in the ports of a layout; -ERR_NODES_BUSY: too few are free now. They are the arena's. */
int step_ports_find(const struct control *c, struct step_layout *l, struct arena *arena,
                    struct err *err);
void step_ports_take(const struct step_layout *l, struct step *s);
/* The step is about to be removed: its ports are free, or when its job has ended with it, its
 * job's until the nodes are clean. */
void step_ports_over(struct control *c, struct job *j, const struct step *s);
void step_ports_job_clean(struct control *c, struct job *j);
/* A step of this job waits for ports: asked again at the end of a turn in which some came free. */
void step_ports_await(struct control *c, const struct job *j);
void step_ports_turn(struct control *c);

/* The job has its nodes and waits for its one step, also while it is suspended. It ends when its
 * srun stops requesting the step. */
bool step_is_awaited(const struct job *j);

/* step_gres.c */
struct step_gres { /* what a step asks for */
    struct gres_wants wants;
    uint64_t total;          /* in all, not yet dealt out */
    uint32_t tasks_per_node; /* that the GPUs of each node are for; 0: it is not said */
    uint32_t nodes;          /* that a total makes with those of each node; 0: it is not said */
    bool none, own;          /* none: not even what the job has; own: it asks for some */
};
int step_gres_read(const struct control *c, const Pb__StepSpec *s, struct step_gres *g,
                   struct err *err);
/* Tasks that the job's share of a node holds beside those of other steps; 'all': without them. */
uint32_t step_gres_fits(const struct control *c, const struct step_gres *g,
                        const struct alloc_node *a, bool all);
/* The job's GPUs on a node without those of other steps; 'all': with them. */
uint64_t step_gres_count_gpus(const struct control *c, const struct alloc_node *a, bool all);
/* Whether the nodes with tasks have what is wanted in all. */
bool step_gres_total_fits(const struct control *c, const struct step_gres *g, const struct job *j,
                          const uint32_t *tasks, bool all);
void step_gres_take(const struct control *c, struct step_gres *g, struct alloc_node *a,
                    struct step_node *n, bool overlap);

/* --cpu-freq as given, or NULL. -ERR_PARSE; -ERR_ACCESS: CpuFreqGovernors has not got it. */
int step_check_freq(const struct control *c, const char *text, struct err *err);
