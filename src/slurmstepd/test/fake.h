/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For tests: this process acts as an srun, in addition to the controller of bench.h.
 */
#pragma once

#include "base/str.h"
#include "conf/conf.h"
#include "proto/io.pb-c.h"
#include "rpc/client.h"
#include "slurmstepd/test/bench.h"

#define FAKE_TASKS_MAX 4

/* An srun as seen by the node. */
struct fake {
    struct bench *b;
    struct conf *conf;
    struct rpc_server *server;
    struct rpc_session *session;
    struct rpc_fanout *call;
    struct auth_key key;
    uint8_t token[AUTH_TOKEN_SIZE];
    struct auth_key secret; /* derived from it by the node */
    uint16_t port;
    bool answered, done, closed;
    int code;
    char text[ERR_TEXT_MAX];
    struct str out[FAKE_TASKS_MAX], err[FAKE_TASKS_MAX];
    bool eof[FAKE_TASKS_MAX];
    int status[FAKE_TASKS_MAX];
    unsigned started, exited, failed, fences, hellos;
    unsigned deaf;                 /* number of hellos whose connections close without an answer */
    bool here;                     /* launches use the node's local socket, */
    char local[RPC_ABSTRACT_SIZE]; /* and name this socket of ours */
    bool is_local;                 /* the last session came over a UNIX socket */
    bool holds;                    /* only fake_greet() answers hellos */
    int early;                     /* a signal sent with the answer to the hello; 0: none */
    int fail_code;
    struct str puts;
};

/* Default of 'here'. */
extern bool fake_here;

/* Mints another token for a user, and its key. */
void fake_token(struct fake *f, uid_t uid);
void fake_init(struct fake *f, struct bench *b);
void fake_done(struct fake *f);

/* Starts a daemon and an srun. At the end of job_id (0: none) nothing may be left. */
void fake_begin(struct bench *b, struct fake *f, const char *programs);
void fake_end(struct bench *b, struct fake *f, uint32_t job_id);

/* Fills in the message that fake_launch() sends; free cred.data and signature.data. */
void fake_fill(struct fake *f, const struct bench_cred *c, const char *script, Pb__LaunchTasks *m);

/* Launches "sh -c script"; m may have further fields. A second launch with the same 'f' is a
   repeat of the first. */
void fake_launch(struct fake *f, const struct bench_cred *c, Pb__LaunchTasks *m,
                 const char *script);

/* Requests to watch a step of job 5. */
void fake_attach(struct fake *f, uint32_t step_id);
void fake_greet(struct fake *f);

/* Conditions for bench_until(), whose ctx is the fake. */
bool fake_is_answered(struct bench *b, void *ctx);
bool fake_is_done(struct bench *b, void *ctx);   /* refused, or completely finished */
bool fake_is_failed(struct bench *b, void *ctx); /* answered and closed */
/* Refused, or tasks run and receive our messages. */
bool fake_is_up(struct bench *b, void *ctx);
bool fake_is_greeted(struct bench *b, void *ctx);
bool fake_is_heard(struct bench *b, void *ctx); /* a shepherd has sent its hello */
bool fake_is_closed(struct bench *b, void *ctx);
bool fake_has_output(struct bench *b, void *ctx); /* of task 0 */
bool fake_has_errors(struct bench *b, void *ctx);
