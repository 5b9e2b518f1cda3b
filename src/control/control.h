/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The controller machine: one deterministic object whose inputs are messages and the clock, and
 * whose outputs are record changes and messages through its env. Equal inputs give equal outputs,
 * byte for byte. Single-threaded. It is the only room that includes cluster/ and sched/ and
 * performs each transition of a job or node, with one file per transition.
 *
 * Use:  control_new, control_restore for every stored record, control_start; then for each turn any
 * number of inputs followed by one control_turn(), which plans and writes out dirty records.
 *
 * A 'call' is the number of a request that gets exactly one reply, in this or a later turn, through
 * env.reply or env.reply_error. Input messages are borrowed for the call. The caller's rights by
 * RPC table were checked before; ownership of jobs is checked here, by 'who'.
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

/* conf is owned (freed by control_free, replaced by control_reconfigure). env is borrowed. */
struct control *control_new(struct conf *conf, const struct env *env);
void control_free(struct control *c);
/* Sets the share of a scheduling pass that is done in one turn, counted in visited nodes; at least
 * one job is examined. */
void control_set_plan_work(struct control *c, uint64_t work);
/* Disables the output of job records, which a replay does not need. To be called before
 * control_start(). */
void control_set_forgetful(struct control *c);

/* Whether this version can read the format of the records that come with this RECORD_META;
 * -ERR_VERSION. To be called before anything else is done with them. */
int control_check_format(const void *meta, size_t len, struct err *err);
/* Restores one stored record. A record with an error (unknown kind, undecodable, inconsistent) is
 * skipped. */
int control_restore(struct control *c, enum record_kind kind, uint64_t number, const char *name,
                    const void *data, size_t len, struct err *err);
/* Reports a record that was set aside instead of restored: now, or (before) at an earlier start. To
 * be called after the last record. */
void control_set_aside(struct control *c, enum record_kind kind, uint64_t number, const char *name,
                       bool before);
/* Reports that an unknown number of unknown records is lost. */
void control_lost_records(struct control *c);
/* Whether there are or were records without a RECORD_META: the job ids in use are unknown. */
bool control_lacks_meta(const struct control *c);
/* Index in SlurmctldHost; to be called before control_start(). */
void control_set_rank(struct control *c, uint32_t rank);
/* After the last record: begins a new epoch, sets deadlines; nodes are unknown until they
 * register. */
void control_start(struct control *c);

/* The epoch of this start: nodes reject orders of earlier ones. */
uint64_t control_epoch(const struct control *c);

/* Called in the last turn before an orderly end: returns reserved job ids that were not used.
 * 'all': all daemons are stopped, which completes an announced shutdown. */
void control_stop(struct control *c, bool all);

void control_turn(struct control *c);
void control_tick(struct control *c); /* at the time of env.wake_at */

/* Requests of users. If control_set_store_low() has set 'low', submissions fail with
 * ERR_STORE_FULL. */
#define CONTROL_ENV_MAX (2u << 20) /* bytes of the environment and arguments of a batch job */
void control_set_store_low(struct control *c, bool low);
/* Sets the bytes that submissions may still add to the store; UINT64_MAX, the initial value:
 * unknown. */
void control_set_store_free(struct control *c, uint64_t bytes);
void control_submit(struct control *c, uint64_t call, const struct caller *who,
                    const Pb__SubmitRequest *r);
void control_alloc(struct control *c, uint64_t call, const struct caller *who,
                   const Pb__AllocRequest *r);
/* Returns the present key of a partition that requires one; -ERR_NO_PARTITION, -ERR_RANGE (it
 * requires none). */
int control_part_key(const struct control *c, const char *name, char key[CONTROL_PART_KEY_SIZE],
                     struct err *err);
/* Calls fn for every group in AllowGroups of a partition, or in a reservation, possibly several
 * times: env's user_in_group() will be called for these groups. */
void control_allowed_groups(const struct control *c, void (*fn)(void *ctx, const char *group),
                            void *ctx);
/* Requests that dispatch passes on unchanged: void control_NAME(c, call, who, r). */
#define REQUEST(rpc, name, type)                                                                   \
    void control_##name(struct control *c, uint64_t call, const struct caller *who, const type *r);
#include "control/request.def"
void control_node_update(struct control *c, uint64_t call, const struct caller *who,
                         const Pb__NodeUpdate *r);
void control_call_gone(struct control *c,
                       uint64_t call); /* the client of an open call has disconnected */

/* Whether the caller may read the script of this job: 0, -ERR_NO_JOB, -ERR_ACCESS. The owner of the
 * store then sends RECORD_PAYLOAD of the id 'payload', with this size in bytes (0: unknown). */
int control_may_read_script(struct control *c, const struct caller *who, const Pb__JobIdRequest *r,
                            uint32_t *payload, uint32_t *bytes, struct err *err);

/* Nodes. The end of a session is not a failure: SlurmdTimeout decides. A node that is not in the
 * configuration may also register: it is ordered to end its jobs, and its session is closed after
 * these orders. */
void control_node_register(struct control *c, const char *node, const Pb__NodeRegister *r);
void control_node_report(struct control *c, const char *node, const Pb__NodeReport *r);
void control_node_lost(struct control *c, const char *node);

/* A standby controller of this name is alive. */
void control_backup_heard(struct control *c, const char *name);

/* A program started by env.run() has ended. */
void control_script_ended(struct control *c, const Pb__ScriptEnded *m);

/* Replaces the configuration; running jobs continue. The reply lists the changes, then 'note'
 * (NULL: none), then the affected jobs. */
void control_reconfigure(struct control *c, uint64_t call, struct conf *conf, const char *note);
/* Sends the same reply without any change. conf is freed. */
void control_reconfigure_preview(struct control *c, uint64_t call, struct conf *conf,
                                 const char *note);
/* Sets bits of enum conf_debug, which replace DebugFlags until the next reconfiguration. */
void control_set_debug(struct control *c, uint64_t flags);
/* Enables env.log_sched for the scheduler's decisions. Off without SlurmSchedLogFile. */
void control_set_sched_log(struct control *c, bool on);
bool control_get_sched_log(const struct control *c);
uint64_t control_get_debug(const struct control *c);

/* Returns the NodeAddr in effect; borrowed until the next change of the node. */
const char *control_node_addr(const struct control *c, const char *name);
const struct conf *control_conf(const struct control *c); /* borrowed until the next reconfigure */
/* Dynamic nodes. The owner of the configuration begins a plan, adds requests to it (NodeUpdate with
 * create or remove; dynamic: sent by the node itself), reads the configuration with the plan's
 * lines appended to the file's, and applies both, unless another configuration was applied
 * meanwhile. */
struct node_dynamic_plan;
struct node_dynamic_plan *control_node_dynamic_begin(const struct control *c);
int control_node_dynamic_add(const struct control *c, struct node_dynamic_plan *p,
                             const Pb__NodeUpdate *r, bool dynamic,
                             struct err *err); /* on failure the plan is unchanged */
void control_node_dynamic_lines(const struct node_dynamic_plan *p, struct str *out);
int control_node_dynamic_apply(struct control *c, struct node_dynamic_plan *p, struct conf *conf,
                               struct err *err); /* conf is owned; the caller still frees p */
void control_node_dynamic_free(struct node_dynamic_plan *p);
void control_node_dynamic_present(const struct control *c,
                                  struct str *out); /* lines of the existing dynamic nodes */
/* Of a RECORD_MADE, for the conf of control_new(). */
int control_node_dynamic_stored(const void *data, size_t len, struct str *out, struct err *err);
void control_shutdown_nodes(struct control *c); /* orders every node daemon to stop */
/* Whether the node's daemon is assumed to run, by its state before a restart. */
bool control_awaits_node(const struct control *c, const char *name);
/* Announces a shutdown in this number of seconds; negative: withdraws it. From now on no job
 * starts; jobs that still run then are ended with KillWait's grace, and requeued if permitted. The
 * announcement survives restarts of the controller until control_stop() with 'all'. */
void control_announce(struct control *c, int64_t in_sec);
bool control_is_announced(const struct control *c);
/* After any turn: no job is left, or ending jobs were awaited long enough; and every node is
 * reachable or was awaited. */
bool control_may_shut_down(const struct control *c);

/*
 * Listings: append packed list elements (fields of JobList, NodeList...) to out until they exceed
 * 'budget' bytes or the list is complete. *cursor starts at 0 and keeps the position between calls;
 * returns true when elements are left. The last part has the stamp and 'now'. Listings use each
 * record's packed form and never the planner.
 */
bool control_list_jobs(struct control *c, const struct caller *who, const Pb__JobFilter *f,
                       uint64_t *cursor, size_t budget, struct str *out);
bool control_list_steps(struct control *c, const struct caller *who, const Pb__StepFilter *f,
                        uint64_t *cursor, size_t budget, struct str *out);
bool control_list_nodes(struct control *c, const struct caller *who, const Pb__NodeFilter *f,
                        uint64_t *cursor, size_t budget, struct str *out);
bool control_list_parts(struct control *c, const struct caller *who, const Pb__PartFilter *f,
                        uint64_t *cursor, size_t budget, struct str *out);
/* Pending jobs and the factors of their priorities: PrioList. */
bool control_list_prio(struct control *c, const struct caller *who, const Pb__PrioFilter *f,
                       uint64_t *cursor, size_t budget, struct str *out);
/* Reservations that the caller may see; PrivateData=reservations uses the name in
 * who->user_name. */
bool control_list_resvs(struct control *c, const struct caller *who, const Pb__ResvFilter *f,
                        uint64_t *cursor, size_t budget, struct str *out);
bool control_list_triggers(struct control *c, const struct caller *who, const Pb__TriggerFilter *f,
                           uint64_t *cursor, size_t budget, struct str *out);
/* Whether PrivateData hides this from the caller: for "nodes" and "partitions" the whole listing
 * must be denied; listings of jobs and reservations contain what the caller may see. */
bool control_hides(const struct control *c, const struct caller *who, const char *what);
/* True: no matching record can have changed since the stamp; the answer is ERR_NO_CHANGE. */
bool control_unchanged_since(const struct control *c, int64_t stamp);

/* The licences of the cluster; borrows from the controller and the arena. */
void control_fill_licenses(const struct control *c, struct arena *arena, Pb__LicenseList *list);

uint32_t control_next_job_id(const struct control *c); /* id of the next submission */
void control_stats(const struct control *c, Pb__CtlStats *stats);
void control_diag(const struct control *c, Pb__DiagCounters *out);
void control_diag_reset(struct control *c);

/* For the simulator and the tests: checks every invariant of DESIGN section 7 on the present state
 * (nothing over-allocated, no node held by an ended job, indexes agree with records). 0 or
 * -ERR_INTERNAL with the first breach. */
int control_check(const struct control *c, struct err *err);
