/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For tests: runs a real slurmd in its own directory, with this process as its controller. Every
 * wait ends with an event; its deadline only ends a failed test.
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
    int port_fd; /* keeps node_port reserved while no daemon runs */
    pid_t slurmd;
    Pb__NodeRegister *registered; /* the last registration */
    unsigned registrations;
    uint64_t acked;
    VEC(Pb__NodeEvent *) events; /* all events, without repeated numbers */
};

/* 'programs' is the directory of slurmd and slurmstepd; conf is appended to slurm.conf. */
void bench_init(struct bench *b, const char *programs, const char *conf);
void bench_done(struct bench *b); /* asserts that nothing is left */

/* Adds the line "KEY=DIR/name" to slurm.conf, and that file with a shell script. */
void bench_add_program(struct bench *b, const char *key, const char *name, const char *script);

void bench_start(struct bench *b);         /* starts slurmd; returns when it has registered */
void bench_kill(struct bench *b, int how); /* waits until it has ended */

typedef bool bench_fn(struct bench *b, void *ctx);
bool bench_until(struct bench *b, bench_fn *fn, void *ctx); /* false: the deadline has passed */

void bench_order(struct bench *b, Pb__NodeOrder *order);

/* A signed credential; free both buffers. Step 0xfffffffb is the batch script. */
struct bench_cred {
    uint32_t job_id, restarts, step_id, tasks;
    uid_t uid;                  /* and gid; 0: ours */
    const char *cluster, *node; /* NULL: the correct one */
    int64_t life_ms;            /* 0: a minute */
    unsigned nodes;             /* of the job; 0: 1 */
    bool cast;                  /* for broadcasting files */
};
void bench_sign(struct bench *b, const struct bench_cred *c, ProtobufCBinaryData *cred,
                ProtobufCBinaryData *signature);

void bench_launch(struct bench *b, const struct bench_cred *c, const char *script);
void bench_end_step(struct bench *b, uint32_t job_id, uint32_t restarts, uint32_t step_id);
void bench_terminate(struct bench *b, uint32_t job_id, uint32_t restarts, uint32_t grace_sec,
                     const char *why);

/* Waits for the first event of this kind for this job; NULL after the deadline. */
const Pb__Launched *bench_launched(struct bench *b, uint32_t job_id);
const Pb__BatchEnded *bench_batch_ended(struct bench *b, uint32_t job_id);
const Pb__StepEnded *bench_step_ended(struct bench *b, uint32_t job_id, uint32_t step_id);
const Pb__JobGone *bench_job_gone(struct bench *b, uint32_t job_id);
const Pb__NodeTrouble *bench_trouble(struct bench *b); /* the first one, of any job */

/* Content of a file in its directory; "" if missing; the caller frees it. */
char *bench_read(struct bench *b, const char *name);
bool bench_wait_text(struct bench *b, const char *name, const char *text);
bool bench_has_file(struct bench *b, const char *name);
bool bench_has_claim(struct bench *b, void *ctx);             /* for bench_until(): of any step */
unsigned bench_count_files(struct bench *b, const char *dir); /* in a subdirectory */
