/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time, and look-ups in the state of a world. These functions do not depend on the acting modules.
 */
#pragma once

#include "sim/state/state.h"

#define SIM_NO_CALL 0   /* number of a call whose reply nobody reads */
#define SIM_KEY 96      /* bytes of a record's key */
#define SIM_SET_MOST 16 /* maximum number of components; further ones of a plan are ignored */

/* time.c */
/* Takes ownership of event.body. */
void sim_push(struct sim *s, int64_t after_ms, struct sim_event event);
bool sim_pop(struct sim *s, struct sim_event *event);
void sim_event_done(struct sim_event *e);
#define sim_break(s, promise, ...) sim_break_promise(s, promise, promise ": " __VA_ARGS__)
void sim_break_promise(struct sim *s, const char *promise, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void sim_trace(struct sim *s, const void *data, size_t len);
void sim_say(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int64_t sim_wall_ms(const struct sim *s);
bool sim_net_loses(struct sim *s);      /* a message from or to a command that is sent now */
int64_t sim_net_late_ms(struct sim *s); /* delay of such a message */
/* How long daemons stay down after an announced shutdown. */
int64_t sim_off_ms(struct rng *rng);
bool sim_is_stopped(const struct sim *s, const struct sim_node *n);

/* find.c */
long sim_client_find(const struct sim *s, int64_t id);
long sim_node_index(const struct sim *s, const char *name);
bool sim_node_runs(const struct sim_node_job *j);
/* Builds the key of a record in the store; returns its length. */
size_t sim_store_key(char key[static SIM_KEY], enum record_kind kind, uint64_t number,
                     const char *name);
const struct sim_record *sim_store_find(const struct sim *s, enum record_kind kind, uint64_t number,
                                        const char *name);
struct sim_watch *sim_watch_find(const struct sim *s, uint32_t job_id);
/* Whether a job holds resources of the node, by the records of the last turn. */
bool sim_give_is_held(const struct sim *s, unsigned node);
bool sim_give_holds(const struct sim_watch *w); /* nodes, or resources that are not yet released */
const struct sim_share *sim_give_share(const struct sim_watch *w, unsigned node); /* NULL: none */
/* The count of the name in "gpu:a:2,gpu:1,nic:3"; only of the type, unless the type is empty. */
uint64_t sim_count_of_list(const char *list, const char *name, const char *type);
/* The component with this offset (1 or higher); NULL: there is none. */
struct sim_client *sim_set_component(struct sim *s, const struct sim_client *leader, size_t offset);
size_t sim_set_count(struct sim *s, const struct sim_client *leader); /* includes the leader */
bool sim_lead_is_cut(const struct sim *s, const struct sim_ctl *c, unsigned from);
/* The two controllers cannot reach each other. */
bool sim_lead_are_apart(const struct sim *s, const struct sim_ctl *a, const struct sim_ctl *b);
bool sim_lead_is_paused(const struct sim *s, const struct sim_ctl *c);
bool sim_lead_serves_node(const struct sim *s, const struct sim_ctl *c);

/* view.c: the contents of records */
bool sim_view_stored(const struct sim *s, uint32_t job_id, struct sim_view *view);
bool sim_view_is_final(int state);            /* a job in this state has ended its attempt */
uint64_t sim_view_elements(const char *text); /* bit mask of "1-9:2" */
void sim_view_scan(const void *data, size_t len, struct sim_view *view);
/* Whether the record on disk lists the node as one that is in no configuration file. */
bool sim_view_made(const struct sim *s, const char *node);
/* Fields 1 and 2 of a record, which are texts, and fields 3 and 4, which are numbers. */
void sim_view_named(const struct sim_record *r, char texts[2][SIM_NAME], uint64_t numbers[2]);
void sim_view_node(const struct sim_record *r, struct sim_node_view *view);
/* Id of the next job, and the epoch. A value that is missing in the record stays unchanged. */
void sim_view_meta(const struct sim_record *r, uint32_t *next_id, uint64_t *epoch);
void sim_view_shares(const struct sim *s, const void *data, size_t len, struct sim_watch *w);
