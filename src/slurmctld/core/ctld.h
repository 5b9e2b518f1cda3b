/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The state of the process around the controller machine: it gives control/ the real world (env.c),
 * carries requests in (dispatch.c, listing.c, node/nodes.c) and its output out, and keeps the
 * promise that nothing leaves before it is durable (control/lead/outbox.h). One thread, the loop's;
 * the store's commits and reads and the reading of configuration files run in the loop's workers.
 *
 * What belongs to one file is a pointer to a struct that the file's own header names: this header
 * is below all others.
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
#define CTLD_SLICE (16u << 10)         /* of a listing: the next is made while one travels */
#define CTLD_FILTER_ITEMS 4096         /* of one list in a request */
#define CTLD_FILTER_TEXT (32u << 10)   /* bytes of one text in it */
#define CTLD_REQUEST_MAX (128u << 10)  /* of all but a payload */
#define CTLD_ORDERS_MESSAGE (1u << 20) /* about so many bytes of payload go in one message */
#define CTLD_STOP_WAIT_MS 2000         /* for node daemons to take the last message */
#define CTLD_STOP_COMMIT_MS 10000      /* for the last changes to become durable */

struct ctld_options {
    const char *conf_path;  /* NULL: conf_path() */
    const char *log_file;   /* -L: in the place of SlurmctldLogFile */
    const char *as;         /* --as: which SlurmctldHost; NULL: by this host's name */
    bool is_reexec;         /* begun anew by itself (lead/reexec.c) */
    bool waits;             /* it had the lead: it does not claim it back */
    bool yielded;           /* just before */
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
    char *name;                /* as in SlurmctldHost */
    struct conf *conf;         /* until control/ has it: ctld_conf() */
    struct conf_report warned; /* what the configuration in force was warned of */
    /* Called once: it leads, or has settled down in standby. */
    void (*on_settled)(struct ctld *c);
    /* A request that waited goes on: dispatch_request(). */
    void (*dispatch)(void *ctx, const struct rpc_request *request);
    bool runs_scripts;        /* by its helper process, which is this program again */
    struct scripts *scripts;  /* NULL: it does not lead */
    struct scripts *programs; /* those that follow the lead; NULL: none was run */
    struct env env;
    uint64_t boot; /* see env.boot */
    struct loop *loop;
    struct rpc_server *server;
    struct store *store;
    struct control *control; /* NULL: it does not lead */
    struct backup *backup;   /* NULL: it is alone, or leads */
    struct summons *summons; /* of the nodes, after it has taken over */
    struct peers *peers;     /* who is being told something */
    struct auth_key key;
    struct auth_jwt_key jwt_key;
    bool has_jwt_key; /* AuthAltTypes=auth/jwt at the start */
    struct auth_signer *signer;
    uint8_t cred_public_key[AUTH_CRED_KEY_SIZE];
    struct outbox *outbox;
    struct store_batch *batch; /* the changes that the outbox waits for, and no commit has taken */
    struct answers *answers;
    struct payload_cache *payloads;
    struct send_queues *send_queues; /* see send.h */
    struct names *names;
    struct unnamed *unnamed;
    struct node_session *sessions_by_name, *sessions_by_id;
    uint64_t last_session;
    int64_t conf_sent_at; /* a moment, and how much configless nodes were sent in its second */
    size_t conf_sent;
    struct listing *listings;
    struct diag *diag;
    struct http_metrics *http_metrics; /* see http.c */
    struct submit_env *submit;         /* the site's job_submit plugins; NULL: there are none */
    struct submit_line *submit_line;   /* to their helper; NULL: they need none */
    struct submit_waits *submit_waits;
    int job_comp_fd;       /* 0: not open */
    uint64_t conf_changes; /* how often the configuration in force was replaced */
    struct node_dynamic_change *node_dynamic_changes;
    bool node_dynamic_running;
    struct registrant *registrants; /* sessions of nodes that are not known yet */
    size_t registrant_count;
    const struct rpc_request *serving; /* the request being handled; NULL between */
    struct loop_timer *wake, *defer, *stop_timer,
        *watch;             /* defer: of a commit; watch: of the lead */
    int64_t stop_latest_ms; /* see on_stop(); 0: it has not come so far */
    bool stop_waited;       /* for requests, when it looked last */
    struct loop_fd *signals;
    int signal_fd;
    int64_t boot_at_sec;
    uint64_t turns, commits;
    size_t jobs_peak; /* the most jobs since memory was given back to the system */
    unsigned trims;   /* commits after which memory is to be given back */
    bool debug_given; /* by setdebug or SIGUSR2, until the configuration is read again: */
    unsigned debug;   /* the log's level */
    bool low;         /* what control/ was last told */
    char *successor;  /* it stops for this one, and begins anew in standby; NULL: for good */
    bool begin_anew;  /* when the loop has ended; */
    bool waits;       /* then without a claim to the lead */
    bool failed;      /* it ends with a failure, which was told */
    bool stopping;    /* what is queued leaves, nothing new is taken */
    bool stop_left;   /* it has left */
    bool stop_told;   /* an announced shutdown has begun */
    bool stop_all;    /* all daemons stop, and what was announced of it has come */
    struct loop_timer
        *gather; /* the nodes are waited for, to be told to stop; NULL: they are not */
    int64_t gather_until_ms, leads_since_ms;
    int64_t commit_began_ms; /* the last one */
    bool closed;             /* what workers still finish is for nobody */
};

const struct conf *ctld_conf(const struct ctld *c); /* in force */
/* Its place among SlurmctldHost; NULL: the list does not name it any more. */
const struct conf_host *ctld_me(const struct ctld *c);
bool ctld_is_alone(const struct ctld *c);
/* Whether a flag of DebugFlags is set. */
bool ctld_debugs(const struct ctld *c, enum conf_debug flag);

/* The server's limits of requests, as the configuration in force says. */
void ctld_limit_requests(struct ctld *c);

/* Answers, through the outbox. */
void ctld_reply(struct ctld *c, uint64_t call, const ProtobufCMessage *reply);
void ctld_reply_part(struct ctld *c, uint64_t call, const struct str *bytes, bool more);
void ctld_reply_error(struct ctld *c, uint64_t call, int code, const char *text);
