/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The process around the controller machine: it gives control/ the real world (env.c), carries
 * requests in (dispatch.c, listing.c, nodes.c) and its output out, and keeps the promise that
 * nothing leaves before it is durable (control/lead/outbox.h). One thread, the loop's; the store's
 * commits and reads and the reading of configuration files run in the loop's workers.
 */
#pragma once

#include "auth/auth.h"
#include "base/log.h"
#include "conf/conf.h"
#include "control/control.h"
#include "control/env.h"
#include "control/lead/outbox.h"
#include "loop/loop.h"
#include "proto/submit.pb-c.h"
#include "rpc/server.h"
#include "rpc/session.h"
#include "slurmctld/names.h"
#include "slurmctld/node/payload.h"
#include "slurmctld/script/scripts.h"
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

struct backup;
struct peers;
struct summons;

struct ctld {
    const struct ctld_options *options;
    char *conf_path, *host;
    char *name;        /* as in SlurmctldHost */
    struct conf *conf; /* until control/ has it: ctld_conf() */
    /* Called once: it leads, or has settled down in standby. */
    void (*on_settled)(struct ctld *c);
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

/*
 * ctld.c. The configuration becomes the controller's; 'me' is its place among SlurmctldHost. One
 * that is alone opens, takes the lead, then listens: it touches nothing that another process may
 * use. One of several listens from the start, and takes the lead when backup.c finds it due.
 */
int ctld_open(struct ctld *c, struct conf *conf, size_t me, struct err *err);
int ctld_listen(struct ctld *c, struct err *err);
void ctld_limit_requests(struct ctld *c); /* as the configuration in force says */
void ctld_run(struct ctld *c);            /* until it is told to stop */
void ctld_close(struct ctld *c);
const struct conf *ctld_conf(const struct ctld *c);
const struct conf_host *
ctld_me(const struct ctld *c); /* NULL: the list does not name it any more */
bool ctld_is_alone(const struct ctld *c);

/* lead.c: opens the store, and goes on from what is in it. With *taken false nothing has changed:
 * the store is not to be had. */
int restore_state(struct ctld *c, struct err *err); /* out of c->store, into c->control */
int lead_take(struct ctld *c, bool *taken, struct err *err);
void lead_watch(struct ctld *c); /* when there may be others: looks for a lead that was lost */
struct store_where lead_where(const struct conf *conf); /* borrows from it */
/* Its end, for another controller's; and what a controller says of itself. */
void lead_yield(struct ctld *c, const struct rpc_request *request);
void lead_answer_ping(struct ctld *c, const struct rpc_request *request, bool leads,
                      const char *leader);
/* SlurmctldPrimaryOnProg or ...OffProg, where there is one. */
void lead_run_program(struct ctld *c, bool leads);

/* shared.c: whether the store that a backup would take over with is the leader's: while the leader
 * answers, somebody must lead in it. Looks at once and then now and again, in a worker. */
struct shared;
struct shared *shared_open(struct ctld *c);
void shared_close(struct shared *s);
void shared_look(struct shared *s, const char *leader); /* who has just said that it leads */
/* Looks for signs of the leader's work that often; what was seen since the last call. */
enum shared_sign { SHARED_UNSEEN, SHARED_SAME, SHARED_CHANGED };
enum shared_sign shared_sign(struct shared *s, int64_t every_ms);
bool shared_is_good(const struct shared *s);      /* it was seen to be */
const char *shared_fault(const struct shared *s); /* NULL: none is known */

/* backup.c: standby, between the start or a lost lead and the next lead. */
void backup_open(struct ctld *c);
void backup_close(struct ctld *c);
void backup_request(struct ctld *c, const struct rpc_request *request);
void backup_call_gone(struct ctld *c, uint64_t call);
/* Begins anew with the configuration as it is now, unless that has an error. */
int backup_reload(struct ctld *c, struct err *err);

/* peers.c: the same request to every other controller, once; done() when all have answered or it
 * has taken too long, also at once when there is none. */
void peers_tell(struct ctld *c, enum rpc_number rpc, const ProtobufCMessage *request,
                void (*done)(struct ctld *c));
void peers_end(struct ctld *c);

/* summon.c: every node daemon that has no session here is told, for a while, who leads. */
void summon_nodes(struct ctld *c);

void summon_end(struct ctld *c);

/* Answers, through the outbox. */
void ctld_reply(struct ctld *c, uint64_t call, const ProtobufCMessage *reply);
void ctld_reply_part(struct ctld *c, uint64_t call, const struct str *bytes, bool more);

/* answers.c: to questions, which a slow disk does not keep for long. */
struct answers;
struct answers *answers_new(struct ctld *c);
void answers_free(struct answers *a);
void answers_give(struct answers *a, uint64_t call, const struct str *bytes, bool more);
void answers_give_message(struct answers *a, uint64_t call, const ProtobufCMessage *reply);
void answers_send(struct answers *a, uint64_t number); /* its turn in the outbox has come */
void answers_forget(struct answers *a, uint64_t call); /* the caller has gone */
void ctld_reply_error(struct ctld *c, uint64_t call, int code, const char *text);

/* files.c: opens, or opens again. While starting, errors go to the caller's terminal too. */
void files_open_log(struct ctld *c, const struct conf *conf, bool starting);
/* Again, with the level that slurm.conf has by now; the rest of the file is not used. */
void files_reopen_log(struct ctld *c);

/* env.c */
void env_init(struct env *env, struct ctld *c);

/* dispatch.c: a request that passed the table's check of rights. */
void dispatch_announced(struct ctld *c); /* after a turn: an announced shutdown that is due */
void dispatch_request(void *ctx, const struct rpc_request *request);

/* unnamed.c: requests that wait for the name service. */
bool unnamed_needs(const struct ctld *c, unsigned rpc);               /* the caller's name */
bool unnamed_keep(struct ctld *c, const struct rpc_request *request); /* dispatched again, later */
void unnamed_continue(void *ctx);                                     /* names have come */
void unnamed_drop(struct ctld *c, uint64_t call);
void unnamed_drop_all(struct ctld *c);

/* Whether a flag of DebugFlags is set. */
bool ctld_debugs(const struct ctld *c, enum conf_debug flag);

/* job_comp.c: JobCompType. */
const char *job_comp_path(const struct conf *conf); /* NULL: no file is written */
void job_comp_ended(void *ctx, const struct env_job_end *e);
void job_comp_write(struct ctld *c, const void *line, size_t len);
void job_comp_close(struct ctld *c); /* the next line opens the file again */

/* submit_env.c: job_submit plugins. */
void submit_env_init(struct env *env);
void submit_env_begin(struct ctld *c); /* as the configuration in force says; loads them anew */
void submit_env_done(struct ctld *c);
/* Whether the plugins of a configuration can be used: they are there, and the script loads. Any
 * thread. */
int submit_env_check(const struct conf *conf, struct err *err);

/* submit_wait.c: requests that wait for them. */
int submit_wait_ask(struct ctld *c, struct env_submit *ask, struct err *err); /* ENV_SUBMIT_LATER */
/* The same of burst_buffer.lua, as env.ask_burst; and its answer: false, it is none. */
int submit_wait_ask_burst(void *ctx, Pb__ScriptRun *question, struct err *err);
bool submit_wait_burst_answer(struct ctld *c, const Pb__ScriptEnded *m);
void submit_wait_keep(struct ctld *c, const struct rpc_request *r); /* it was dispatched */
void submit_wait_answer(void *ctx, const Pb__SubmitAnswer *a);
void submit_wait_again(struct ctld *c); /* those who are to answer are others now */
void submit_wait_drop(struct ctld *c, uint64_t call);
void submit_wait_done(struct ctld *c);

/* http.c: probes and metrics, to anybody. */
void http_answer(void *ctx, const struct rpc_http *request, struct rpc_http_answer *a);
void http_done(struct ctld *c);

/* listing.c: answers that go out in slices. */
typedef bool listing_fn(struct control *c, const struct caller *who, const ProtobufCMessage *filter,
                        uint64_t *cursor, size_t budget, struct str *out);
void listing_start(struct ctld *c, const struct rpc_request *request, const struct caller *who,
                   listing_fn *list);
void listing_continue(void *ctx, uint64_t call); /* its bytes have gone; others are ignored */
void listing_drop(struct ctld *c, uint64_t call);
void listing_drop_all(struct ctld *c);

/* nodes.c: the kept sessions of node daemons. */
void nodes_accept(void *ctx, struct rpc_session *s, const char *name);
/* A node that is not in the configuration: it is told to end its jobs, then its session is closed.
 */
void nodes_dismiss(struct ctld *c, struct rpc_session *s, const char *name,
                   const Pb__NodeRegister *r);
uint64_t nodes_session(struct ctld *c, const char *node);          /* 0: none */
struct rpc_session *nodes_find(struct ctld *c, uint64_t session);  /* NULL: it has ended */
const char *nodes_name(struct ctld *c, uint64_t session);          /* of its node, or NULL */
void nodes_close(struct ctld *c, const char *node);                /* at once */
void nodes_close_unknown(struct ctld *c, const struct conf *conf); /* not in it any more */
void nodes_finish(struct ctld *c);                                 /* send what is queued, close */
void nodes_forget(struct ctld *c);                                 /* the server closes them */

/* configless.c: nodes without a slurm.conf of their own. */
void configless_answer(struct ctld *c, struct rpc_session *s);
void configless_accept(struct ctld *c, struct rpc_session *s); /* it will only ask for that */

/* made.c: nodes that are in no file. */
void node_dynamic_request(struct ctld *c, uint64_t call, const struct caller *who,
                          const Pb__NodeUpdate *r);
bool node_dynamic_accept(struct ctld *c, struct rpc_session *s,
                         const char *name); /* false: there is no room */
/* Before there is a control: the configuration with the nodes that are stored. */
int node_dynamic_load(struct ctld *c, struct conf **conf, struct err *err);
void node_dynamic_done(struct ctld *c);

/* reload.c: call 0: by signal, there is nobody to answer. */
void reload_start(struct ctld *c, uint64_t call, bool preview);

/* stop.c */
/* Once what is queued has left; for good, also when it was to begin anew. */
void stop_begin(struct ctld *c);
/* The controllers, and with nodes_too all node daemons, by order of an administrator. */
void stop_daemons(struct ctld *c, bool nodes_too);
void stop_to_begin_anew(struct ctld *c, bool waits); /* unless it is stopping already */
void stop_now(struct ctld *c);                       /* everything before it has left */
void stop_session_closed(struct ctld *c);
