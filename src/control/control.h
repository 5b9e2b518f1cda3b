/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The controller machine: one deterministic object that takes messages and the clock, and puts out
 * record changes and messages through its env. Same input, same output, byte for byte.
 * Single-threaded; the only room that knows cluster/ and sched/ and each transition of a job or
 * node, one file per transition.
 *
 * Use:  control_new, control_restore for every stored record, control_start; then for each turn any
 * number of inputs followed by one control_turn(), which plans and writes out what became dirty.
 *
 * A 'call' is the number of a request that wants exactly one reply, now or in a later turn, through
 * env.reply or env.reply_error. Messages in are borrowed for the call. The caller's rights by RPC
 * table were checked before; whose job it is is checked here, by 'who'.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "conf/conf.h"
#include "control/env.h"
#include "proto/burst.pb-c.h"
#include "proto/cast.pb-c.h"
#include "proto/ctl.pb-c.h"
#include "proto/event.pb-c.h"
#include "proto/job.pb-c.h"
#include "proto/license.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/part.pb-c.h"
#include "proto/prio.pb-c.h"
#include "proto/resv.pb-c.h"
#include "proto/script.pb-c.h"
#include "proto/step.pb-c.h"
#include "proto/trigger.pb-c.h"
#include "proto/why.pb-c.h"

struct control;

struct caller {
    uint32_t uid, gid;
    bool is_operator, is_admin;         /* is_admin implies is_operator */
    const char *user_name, *group_name; /* may be NULL */
    const char *host;
};

/* conf is taken over (freed by control_free, replaced by control_reconfigure). env is borrowed. */
struct control *control_new(struct conf *conf, const struct env *env);
void control_free(struct control *c);
/* How much of a pass over the queue is done in one turn, in looks at a node; at least one job is.
 */
void control_set_plan_work(struct control *c, uint64_t work);
/* Records of jobs are not put out: a replay has no use for them. Before control_start(). */
void control_set_forgetful(struct control *c);

/* Whether the records behind this RECORD_META are of a format that we read; -ERR_VERSION. To be
 * asked before anything else is done with them. */
int control_check_format(const void *meta, size_t len, struct err *err);
/* One stored record; a failure (unknown kind, record that does not decode or contradicts itself)
 * leaves it out. */
int control_restore(struct control *c, enum record_kind kind, uint64_t number, const char *name,
                    const void *data, size_t len, struct err *err);
/* A record that is not restored but was set aside, now, or (before) at an earlier start. To be
 * called after the last record. */
void control_set_aside(struct control *c, enum record_kind kind, uint64_t number, const char *name,
                       bool before);
/* Records have been lost, nobody knows which. */
void control_lost_records(struct control *c);
/* There are records, or were, and RECORD_META is not among them: which ids were given is not known.
 */
bool control_lacks_meta(const struct control *c);
void control_set_rank(struct control *c, uint32_t rank); /* among SlurmctldHost; before: */
void control_start(struct control *c); /* after the last record: new epoch, deadlines, nodes unknown
                                          until they register */

uint64_t
control_epoch(const struct control *c); /* of this start: nodes refuse orders of earlier ones */

/* Before an orderly end, in the last turn: gives back the job ids that were reserved and not used.
 * 'all': of all daemons, so that what was announced has come. */
void control_stop(struct control *c, bool all);

void control_turn(struct control *c);
void control_tick(struct control *c); /* when env.wake_at's time has come */

/* Requests of users. 'low' of control_set_store_low(): submissions are refused with ERR_STORE_FULL.
 */
#define CONTROL_ENV_MAX (2u << 20) /* bytes of the environment and arguments of a batch job */
void control_set_store_low(struct control *c, bool low);
/* What submissions may still add to the store, bytes; UINT64_MAX, as in the beginning: unknown. */
void control_set_store_free(struct control *c, uint64_t bytes);
void control_submit(struct control *c, uint64_t call, const struct caller *who,
                    const Pb__SubmitRequest *r);
void control_alloc(struct control *c, uint64_t call, const struct caller *who,
                   const Pb__AllocRequest *r);
/* The present key of a partition that demands one; -ERR_NO_PARTITION, -ERR_RANGE (it has none). */
int control_part_key(const struct control *c, const char *name, char key[CONTROL_PART_KEY_SIZE],
                     struct err *err);
/* Every group that the AllowGroups of a partition, or a reservation, names, some of them more than
 * once: env's user_in_group() will be asked of them. */
void control_allowed_groups(const struct control *c, void (*fn)(void *ctx, const char *group),
                            void *ctx);
/* The requests that dispatch hands on as they are: void control_NAME(c, call, who, r). */
#define REQUEST(rpc, name, type)                                                                   \
    void control_##name(struct control *c, uint64_t call, const struct caller *who, const type *r);
#include "control/request.def"
void control_node_update(struct control *c, uint64_t call, const struct caller *who,
                         const Pb__NodeUpdate *r);
void control_call_gone(struct control *c,
                       uint64_t call); /* the caller of an open call has closed */

/* May the caller read the script of this job? 0, -ERR_NO_JOB, -ERR_ACCESS. The owner of the store
 * then sends it: the record RECORD_PAYLOAD of this id, of so many bytes (0: not known). */
int control_may_read_script(struct control *c, const struct caller *who, const Pb__JobIdRequest *r,
                            uint32_t *payload, uint32_t *bytes, struct err *err);

/* Nodes. A session that ends is no failure yet: SlurmdTimeout decides. A node that is not in the
 * configuration may register too: it is told to end what it has, and its session is to be closed
 * behind that. */
void control_node_register(struct control *c, const char *node, const Pb__NodeRegister *r);
void control_node_report(struct control *c, const char *node, const Pb__NodeReport *r);
void control_node_lost(struct control *c, const char *node);

/* A controller in standby, of this name, is there. */
void control_backup_heard(struct control *c, const char *name);

/* A program that env.run() was asked for has ended. */
void control_script_ended(struct control *c, const Pb__ScriptEnded *m);

/* Takes the new configuration over; running jobs are not disturbed. The reply lists what changed,
 * then 'note' (NULL: nothing), then the jobs it touches. */
void control_reconfigure(struct control *c, uint64_t call, struct conf *conf, const char *note);
/* The same reply, and nothing changes. conf is freed. */
void control_reconfigure_preview(struct control *c, uint64_t call, struct conf *conf,
                                 const char *note);
/* Bits of enum conf_debug: in the place of DebugFlags, until the configuration is read again. */
void control_set_debug(struct control *c, uint64_t flags);
/* Whether env.log_sched gets what the scheduler decides. Off without SlurmSchedLogFile. */
void control_set_sched_log(struct control *c, bool on);
bool control_get_sched_log(const struct control *c);
uint64_t control_get_debug(const struct control *c);

/* NodeAddr in force; borrowed until the next change of the node. */
const char *control_node_addr(const struct control *c, const char *name);
const struct conf *control_conf(const struct control *c); /* borrowed until the next reconfigure */
/* Nodes that are in no file. Their owner begins a plan, adds requests to it (NodeUpdate with create
 * or remove; dynamic: of the node itself), has the configuration read with the plan's lines behind
 * those of the file, and applies both, unless another configuration has come between. */
struct node_dynamic_plan;
struct node_dynamic_plan *control_node_dynamic_begin(const struct control *c);
int control_node_dynamic_add(const struct control *c, struct node_dynamic_plan *p,
                             const Pb__NodeUpdate *r, bool dynamic,
                             struct err *err); /* a failure leaves the plan as it was */
void control_node_dynamic_lines(const struct node_dynamic_plan *p, struct str *out);
int control_node_dynamic_apply(struct control *c, struct node_dynamic_plan *p, struct conf *conf,
                               struct err *err); /* conf is taken; p is to be freed */
void control_node_dynamic_free(struct node_dynamic_plan *p);
void control_node_dynamic_present(const struct control *c,
                                  struct str *out); /* lines of those there are */
int control_node_dynamic_stored(const void *data, size_t len, struct str *out,
                                struct err *err); /* of a RECORD_MADE, for control_new()'s conf */
void control_shutdown_nodes(struct control *c);   /* orders every node daemon to stop */
/* Whether the node's daemon is believed to run, by what was known before a restart. */
bool control_awaits_node(const struct control *c, const char *name);
/* A shutdown in so many seconds; negative: called off. Nothing starts any more; jobs that run then
 * are ended with KillWait's grace, and queued again where they may be. It outlives the controller
 * until control_stop() with 'all'. */
void control_announce(struct control *c, int64_t in_sec);
bool control_is_announced(const struct control *c);
bool control_may_shut_down(
    const struct control *c); /* after any turn: no job is left, or too long; and every node can be
                                 told, or was waited for */

/*
 * Listings: appends packed list elements (fields of JobList, NodeList...) to out until 'budget'
 * bytes are exceeded or all is said. *cursor starts at 0 and carries the place between calls;
 * returns true when there is more. The last part carries the stamp and 'now'. Served from each
 * record's packed form; never touches the planner.
 */
bool control_list_jobs(struct control *c, const struct caller *who, const Pb__JobFilter *f,
                       uint64_t *cursor, size_t budget, struct str *out);
bool control_list_steps(struct control *c, const struct caller *who, const Pb__StepFilter *f,
                        uint64_t *cursor, size_t budget, struct str *out);
bool control_list_nodes(struct control *c, const struct caller *who, const Pb__NodeFilter *f,
                        uint64_t *cursor, size_t budget, struct str *out);
bool control_list_parts(struct control *c, const struct caller *who, const Pb__PartFilter *f,
                        uint64_t *cursor, size_t budget, struct str *out);
/* Pending jobs and what their priorities are made of: PrioList. */
bool control_list_prio(struct control *c, const struct caller *who, const Pb__PrioFilter *f,
                       uint64_t *cursor, size_t budget, struct str *out);
/* Those that the caller may see; with PrivateData=reservations, by his name in who->user_name. */
bool control_list_resvs(struct control *c, const struct caller *who, const Pb__ResvFilter *f,
                        uint64_t *cursor, size_t budget, struct str *out);
bool control_list_triggers(struct control *c, const struct caller *who, const Pb__TriggerFilter *f,
                           uint64_t *cursor, size_t budget, struct str *out);
/* Whether PrivateData keeps this from the caller: "nodes" and "partitions", whose listings are then
 * to be refused; of jobs and reservations they have what he may see. */
bool control_hides(const struct control *c, const struct caller *who, const char *what);
/* True when nothing matching could have changed since the stamp: answer ERR_NO_CHANGE. */
bool control_unchanged_since(const struct control *c, int64_t stamp);

/* The licences of the cluster; borrows from the controller and the arena. */
void control_fill_licenses(const struct control *c, struct arena *arena, Pb__LicenseList *list);

uint32_t control_next_job_id(const struct control *c); /* of the next submission */
void control_stats(const struct control *c, Pb__CtlStats *stats);
void control_diag(const struct control *c, Pb__DiagCounters *out);
void control_diag_reset(struct control *c);

/* For the simulator and the tests: checks every invariant of DESIGN section 7 on the present state
 * (nothing over-allocated, no node held by an ended job, indexes agree with records). 0 or
 * -ERR_INTERNAL with the first breach. */
int control_check(const struct control *c, struct err *err);
