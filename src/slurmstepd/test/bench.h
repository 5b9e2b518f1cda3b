/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For tests: a real slurmd in a directory of its own, and this process as its controller. Every
 * wait is for something to happen; the deadline is only for a test that has failed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "loop/loop.h"
#include "proto/node.pb-c.h"
#include "rpc/server.h"

#define BENCH_NODE "n1"
#define BENCH_CLUSTER "bench"

struct bench {
    char dir[64];
    struct loop *loop;
    struct auth_key key;
    struct auth_signer *signer;
    struct rpc_server *server;
    struct rpc_session *session; /* NULL: the daemon is not connected */
    struct loop_timer *deadline;
    bool late, hold_acks, clean; /* clean: start with -c */
    uint16_t port, node_port;
    int port_fd; /* keeps node_port ours while no daemon runs */
    pid_t slurmd;
    Pb__NodeRegister *registered; /* the last */
    unsigned registrations;
    uint64_t acked;
    VEC(Pb__NodeEvent *) events; /* all, without repeats of a number */
};

/* 'programs' is the directory of slurmd and slurmstepd; conf is added to slurm.conf. */
void bench_init(struct bench *b, const char *programs, const char *conf);
void bench_done(struct bench *b); /* asserts that nothing is left */

/* Another line of slurm.conf, "KEY=DIR/name", and that file, a script for the shell. */
void bench_add_program(struct bench *b, const char *key, const char *name, const char *script);

void bench_start(struct bench *b);         /* slurmd; returns when it is registered */
void bench_kill(struct bench *b, int how); /* and waits for its end */

typedef bool bench_fn(struct bench *b, void *ctx);
bool bench_until(struct bench *b, bench_fn *fn, void *ctx); /* false: the deadline has passed */

void bench_order(struct bench *b, Pb__NodeOrder *order);

/* A signed credential; free both buffers. step 0xfffffffb is the batch script. */
struct bench_cred {
    uint32_t job_id, restarts, step_id, tasks;
    uid_t uid;                  /* and gid; 0: ours */
    const char *cluster, *node; /* NULL: right ones */
    int64_t life_ms;            /* 0: a minute */
    unsigned nodes;             /* of the job; 0: 1 */
    bool cast;                  /* for files */
};
void bench_sign(struct bench *b, const struct bench_cred *c, ProtobufCBinaryData *cred,
                ProtobufCBinaryData *signature);

void bench_launch(struct bench *b, const struct bench_cred *c, const char *script);
void bench_end_step(struct bench *b, uint32_t job_id, uint32_t restarts, uint32_t step_id);
void bench_terminate(struct bench *b, uint32_t job_id, uint32_t restarts, uint32_t grace_sec,
                     const char *why);

/* The first event of a kind for this job, waited for; NULL after the deadline. */
const Pb__Launched *bench_launched(struct bench *b, uint32_t job_id);
const Pb__BatchEnded *bench_batch_ended(struct bench *b, uint32_t job_id);
const Pb__StepEnded *bench_step_ended(struct bench *b, uint32_t job_id, uint32_t step_id);
const Pb__JobGone *bench_job_gone(struct bench *b, uint32_t job_id);
const Pb__NodeTrouble *bench_trouble(struct bench *b); /* the first, of whatever job */
unsigned bench_count_launched(const struct bench *b, uint32_t job_id);

char *bench_read(struct bench *b, const char *name); /* file of its directory; "" if none; free */
bool bench_wait_text(struct bench *b, const char *name, const char *text);
bool bench_has_file(struct bench *b, const char *name);
bool bench_has_claim(struct bench *b, void *ctx);             /* for bench_until(): of any step */
unsigned bench_count_files(struct bench *b, const char *dir); /* of a directory below */
