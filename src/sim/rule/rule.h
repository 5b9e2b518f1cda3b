/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is held against the records and what happens on nodes. Rules look at the state and say what
 * breaks a promise; they do not act in the world. */
#pragma once

#include "sim/state/find.h"

/* end.c: why attempts end */
void sim_end_of_script(struct sim *s, struct sim_key key, int status);
void sim_end_of_step(struct sim *s, struct sim_key key, int status);
void sim_end_by_owner(struct sim *s, struct sim_key key, int status);
void sim_end_not_launched(struct sim *s, struct sim_key key);
void sim_end_node_lost(struct sim *s, unsigned node);
void sim_end_begins(struct sim_watch *w,
                    int64_t now_ms); /* an attempt, with the nodes of its record */
void sim_end_check(struct sim *s, const struct sim_watch *w); /* of a final record */
void sim_end_done(struct sim *s);

/* watch.c: every record as it is put */
void sim_watch_put(struct sim *s, const struct sim_record *r);
void sim_watch_turn(struct sim *s); /* after all records of a turn: what was given away in it */
void sim_watch_lead(struct sim *s);
void sim_watch_restart(struct sim *s); /* what is on disk is what is so */
void sim_watch_done(struct sim *s);
#define SIM_ANNOUNCE_EARLY_MS 1000 /* a shutdown may come this long before its time */
void sim_announce_check_late(struct sim *s);

/* give.c: what is given away of nodes */
/* Only for a job of a higher tier, that waits or has just begun. */
void sim_give_check_displaced(struct sim *s, const struct sim_watch *w);
void sim_give_check(struct sim *s, const struct sim_watch *w);

/* wish.c: what a job that has just got its nodes asked for beside cores and memory */
void sim_wish_check(struct sim *s, const struct sim_watch *w);
unsigned sim_wish_leaf_nodes(struct sim *s); /* of each leaf of the network; 0: it is flat */
bool sim_wish_waits(struct sim *s);          /* some job does, for switches, and may */
void sim_wish_check_late(struct sim *s, const struct sim_watch *w); /* deadlines */

/* license.c: licences, also those that are tied to nodes */
bool sim_license_holds(const struct sim_watch *w); /* it runs, or is suspended */
/* Of a job that has just got its nodes, or more of some licences: nothing of them is used twice. */
void sim_license_check(struct sim *s, const struct sim_watch *w, const char *names);
/* An operator has changed what a running job holds. */
void sim_license_note_raised(struct sim *s, struct sim_watch *w, const struct sim_view *before);
/* What the controller has counted, against what the records and the file say. */
void sim_license_check_all(struct sim *s);
void sim_license_put(struct sim *s, const struct sim_record *r); /* a count, set by an operator */

/* array.c: elements of job arrays */
void sim_array_check_start(struct sim *s, struct sim_key key, const struct sim_view *v);
void sim_array_check_given(struct sim *s, const struct sim_watch *w);
void sim_array_check_end(struct sim *s, unsigned client);
void sim_array_done(struct sim *s);

/* set.c: job sets */
struct sim_client *sim_set_leader(struct sim *s,
                                  const struct sim_client *c); /* NULL: it has none */
bool sim_set_must_fit(struct sim *s, uint32_t set_id);         /* when nothing else runs */
struct sim_watch *sim_set_watch(const struct sim *s, uint32_t set_id, uint32_t offset);
void sim_set_put(struct sim *s, struct sim_watch *w, const struct sim_view *before);
void sim_set_turn(struct sim *s);
void sim_set_restart(struct sim *s);
void sim_set_promised(struct sim *s, const struct sim_client *leader);
void sim_set_cancelled(struct sim *s, const struct sim_client *leader);
void sim_set_check_order(struct sim *s, const struct sim_client *c, const struct sim_item *a);

/* resv.c */
void sim_resv_put(struct sim *s, const struct sim_record *r);
void sim_resv_clear(struct sim *s);
void sim_resv_check(struct sim *s, const struct sim_watch *w); /* that has just started */
const Pb__ResvRecord *sim_resv_read(const struct sim_stored_resv *r, struct arena *arena);
/* Whether it takes something of that time, in wall seconds, as foreseen at 'from'; *at: from when.
 */
bool sim_resv_meets(const Pb__ResvRecord *r, int64_t from, int64_t until, int64_t *at);
/* The same of the time between 'since' and 'until'. */
bool sim_resv_meets_since(const Pb__ResvRecord *r, int64_t from, int64_t since, int64_t until,
                          int64_t *at);
/* The first begin of an hourly reservation at or after 'since'; 0: the reservation is not hourly.
 */
int64_t sim_resv_begins(const Pb__ResvRecord *r, int64_t since);
/* When a running job ends by its limit. */
int64_t sim_resv_end_of_job(const struct sim_watch *w);

/* Jobs that share, also by taking turns. */
void sim_turn_check(struct sim *s);      /* that they are fair, after each turn of the controller */
void sim_turn_check_list(struct sim *s); /* that they are listed as they are, then, too */
void sim_turn_note(struct sim *s, const struct sim_item *item); /* of the configuration */
bool sim_turn_awaited(const struct sim_watch *w); /* it stands still until others have had theirs */
bool sim_turn_crosses_partitions(const struct sim *s); /* jobs share with those of other ones */
bool sim_turn_of_sets(const struct sim *s);            /* components of one job may share cores */
uint32_t sim_turn_most(const struct sim *s);           /* jobs of a core that run at once */
bool sim_turn_knows_cpus(const struct sim *s);         /* which ones a job has matters */

/* check.c: promises */
void sim_check_start(struct sim *s, unsigned node, struct sim_key key, bool batch);
void sim_check_node(struct sim *s, unsigned node);
void sim_check_turn(struct sim *s);
void sim_check_claims(struct sim *s, const struct sim_client *c, const struct sim_view *v,
                      const char *where);
void sim_check_listing(struct sim *s, const char *when); /* memory says what the records say */
void sim_check_over(struct sim *s, uint32_t job_id, const char *why); /* by the disk */
void sim_check_end(struct sim *s);

/* events.c */
void sim_events_follow(struct sim *s); /* a controller has started for the first time */
void sim_events_check(struct sim *s);  /* at the end */

bool sim_check_all_over(struct sim *s);
