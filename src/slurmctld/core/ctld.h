/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The state of the process around the controller's state machine. It implements control/'s
 * environment (env.c), passes requests in (dispatch.c, node/nodes.c) and output out,
 * and guarantees that no output leaves before it is durable (control/lead/outbox.h). All code runs
 * on the loop's thread, except that workers of the loop commit, read the store and read
 * configuration files.
 *
 * The private state of a file is a pointer to a struct declared in that file's own header, because
 * this header is below all others.
 */
#pragma once

#include "auth/jwt.h"
#include "base/log.h"
#include "conf/conf.h"
#include "control/control.h"
#include "control/env.h"
#include "control/lead/outbox.h"
#include "loop/loop.h"
#include "proto/submit.pb-c.h"
#include "rpc/server.h"
#include "rpc/session.h"
#include "store/store.h"

#define CTLD_PAYLOAD_CACHE (2u << 20)
/* Bytes per slice of a listing: the next slice is made while one is being sent. */
#define CTLD_SLICE (16u << 10)
#define CTLD_FILTER_ITEMS 4096         /* items per list in a request */
#define CTLD_FILTER_TEXT (32u << 10)   /* bytes per text in such a list */
#define CTLD_REQUEST_MAX (128u << 10)  /* bytes of a request without its payload */
#define CTLD_ORDERS_MESSAGE (1u << 20) /* approximate bytes of payload per message */
#define CTLD_STOP_WAIT_MS 2000         /* time for node daemons to read the last message */
#define CTLD_STOP_COMMIT_MS 10000      /* time for the last changes to become durable */

struct ctld_options {
    const char *conf_path; /* NULL: use conf_path() */
    const char *log_file;  /* -L: overrides SlurmctldLogFile */
    /* --as: which SlurmctldHost this is; NULL: the one with this host's name */
    const char *as;
    bool is_reexec;         /* it has executed itself again (lead/reexec.c) */
    bool waits;             /* it led before and does not claim the lead back */
    bool yielded;           /* it has yielded the lead just before */
    const char *nice_value; /* -n; NULL: unchanged */
    bool foreground, clean, ignore_damage, check, systemd, change_dir;
    unsigned verbose;
};

struct answers;
struct backup;
struct diag;
struct http_metrics;
struct listing;
struct names;
struct node_dynamic_change;
struct node_session;
struct payload_cache;
struct peers;
struct registrant;
struct scripts;
struct send_queues;
struct submit_env;
struct submit_line;
struct submit_waits;
struct summons;
struct unnamed;

struct ctld {
    const struct ctld_options *options;
    char *conf_path, *host;
    char *name;                /* name in SlurmctldHost */
    struct conf *conf;         /* until control/ owns it: use ctld_conf() */
    struct conf_report warned; /* warnings about the configuration in force */
    /* Called once: the process leads, or is ready in standby. */
    void (*on_settled)(struct ctld *c);
    /* Continues a delayed request: dispatch_request(). */
    void (*dispatch)(void *ctx, const struct rpc_request *request);
    bool runs_scripts;        /* this process is the helper that runs scripts */
    struct scripts *scripts;  /* NULL: it does not lead */
    struct scripts *programs; /* programs that follow a change of the lead; NULL: none was run */
    struct env env;
    uint64_t boot; /* see env.boot */
    struct loop *loop;
    struct rpc_server *server;
    struct store *store;
    struct control *control; /* NULL: it does not lead */
    struct backup *backup;   /* NULL: it is the only controller, or leads */
    struct summons *summons; /* calls nodes after a takeover */
    struct peers *peers;     /* requests under way to other controllers */
    struct auth_key key;
    struct auth_jwt_key jwt_key;
    bool has_jwt_key; /* AuthAltTypes had auth/jwt at start */
    struct auth_signer *signer;
    uint8_t cred_public_key[AUTH_CRED_KEY_SIZE];
    struct outbox *outbox;
    struct store_batch *batch; /* uncommitted changes that the outbox waits for */
    struct answers *answers;
    struct payload_cache *payloads;
    struct send_queues *send_queues; /* see send.h */
    struct names *names;
    struct unnamed *unnamed;
    struct node_session *sessions_by_name, *sessions_by_id;
    uint64_t last_session;
    int64_t conf_sent_at; /* a moment, and the bytes sent to configless nodes in that second */
    size_t conf_sent;
    struct listing *listings;
    struct diag *diag;
    struct http_metrics *http_metrics; /* see http.c */
    struct submit_env *submit;         /* the site's job_submit plugins; NULL: there are none */
    /* Connection to their helper process; NULL: they need none. */
    struct submit_line *submit_line;
    struct submit_waits *submit_waits;
    int job_comp_fd;       /* 0: not open */
    uint64_t conf_changes; /* number of changes of the configuration in force */
    struct node_dynamic_change *node_dynamic_changes;
    bool node_dynamic_running;
    struct registrant *registrants; /* sessions of unknown nodes */
    size_t registrant_count;
    const struct rpc_request *serving; /* the request being handled; NULL: none */
    struct loop_timer *wake, *defer, *stop_timer,
        *watch;             /* defer: timer of a deferred commit; watch: checks the lead */
    int64_t stop_latest_ms; /* see on_stop(); 0: not reached yet */
    bool stop_waited;       /* whether requests were pending at the last check */
    struct loop_fd *signals;
    int signal_fd;
    int64_t boot_at_sec;
    uint64_t turns, commits;
    size_t jobs_peak; /* the maximum number of jobs since memory was returned to the system */
    unsigned trims;   /* number of commits after which memory is to be returned */
    /* The level was set by setdebug or SIGUSR2; until the configuration is read again. */
    bool debug_given;
    unsigned debug;  /* that log level */
    bool low;        /* the last value reported to control/ */
    char *successor; /* it stops for this controller, and continues in standby; NULL: it ends */
    bool begin_anew; /* after the loop has ended, the process executes itself again; */
    bool waits;      /* then without claiming the lead */
    bool failed;     /* it ends with a failure that was reported */
    bool stopping;   /* queued output still leaves, no further request is accepted */
    bool stop_left;  /* the queued output has left */
    bool stop_told;  /* an announced shutdown has begun */
    bool stop_all;   /* all daemons stop, and the announcement was sent */
    struct loop_timer
        /* Waits for nodes to register, so that they can be told to stop; NULL: does not wait. */
        *gather;
    int64_t gather_until_ms, leads_since_ms;
    int64_t commit_began_ms; /* start of the last commit */
    bool closed;             /* results of workers are dropped */
};

const struct conf *ctld_conf(const struct ctld *c); /* the configuration in force */
/* This controller's entry in SlurmctldHost; NULL: it is no longer listed. */
const struct conf_host *ctld_me(const struct ctld *c);
bool ctld_is_alone(const struct ctld *c);
/* Whether a flag of DebugFlags is set. */
bool ctld_debugs(const struct ctld *c, enum conf_debug flag);

/* Sets the server's request limits from the configuration in force. */
void ctld_limit_requests(struct ctld *c);

/* Replies through the outbox. */
void ctld_reply(struct ctld *c, uint64_t call, const ProtobufCMessage *reply);
void ctld_reply_part(struct ctld *c, uint64_t call, const struct str *bytes, bool more);
void ctld_reply_error(struct ctld *c, uint64_t call, int code, const char *text);
