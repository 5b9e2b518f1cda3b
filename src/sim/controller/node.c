/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a controller knows about its nodes: their sessions, and the nodes of the active
 * configuration. */
#include "sim/node/node.h"
#include "sim/controller/controller.h"

/* The controller ends its session with the node: messages under way arrive first, then the end. */
void sim_ctl_end_session(struct sim *s, struct sim_node *n)
{
    if (!n->at[s->c->index].session)
        return;
    n->at[s->c->index].ended = n->at[s->c->index].session;
    n->at[s->c->index].session = 0;
    sim_node_end(s, (unsigned)(n - s->nodes.data), n->at[s->c->index].ended);
}

/* Ends the session of an unknown node. */
void sim_ctl_hang_up(struct sim *s, unsigned index)
{
    struct sim_node *n = &s->nodes.data[index];
    sim_push(s, rng_between(&n->rng, 0, 3),
             (struct sim_event){
                 .kind = SIM_HANGUP, .index = index, .generation = n->at[s->c->index].registrant});
    n->at[s->c->index].registrant = 0;
}

/* Closes the session after the messages that are queued for the node. */
void sim_ctl_close_session(struct sim *s, unsigned index)
{
    uint64_t *session = &s->nodes.data[index].at[s->c->index].session;
    sim_store_say(
        s, (struct sim_event){
               .kind = SIM_TO_NODE, .message = SIM_CLOSE, .index = index, .generation = *session});
    *session = 0;
}

/* --- configuration ------------------------------------------------------------------------------
 */

static int64_t over_ms(const struct conf *conf)
{
    int64_t most = conf->over_time_limit_sec;
    vec_foreach (&conf->parts, p)
        most = p->over_time_limit_sec > most ? p->over_time_limit_sec : most;
    return most > 86400 ? INT64_MAX : most * 1000;
}

/* Scripts of a newly active configuration. A promise covers only scripts that were configured all
 * the time. */
static void learn_scripts(struct sim *s, const struct conf *conf)
{
    s->no_prolog = s->no_prolog || !conf->prolog_slurmctld;
    s->no_epilog = s->no_epilog || !conf->epilog_slurmctld;
}

/* The nodes of the active configuration, and the most resources that any configuration gave them.
 */
void sim_ctl_learn_nodes(struct sim *s)
{
    const struct conf *conf = control_conf(s->c->control);
    int64_t over = over_ms(conf);
    learn_scripts(s, conf);
    s->over_ms = over > s->over_ms ? over : s->over_ms;
    vec_foreach (&s->nodes, n) {
        long at = conf_find_node(conf, n->name);
        if (at >= 0 && !n->configured && s->quiet) /* the node had given up connecting */
            sim_push(
                s, 0,
                (struct sim_event){.kind = SIM_CONNECT, .index = (unsigned)(n - s->nodes.data)});
        if (n->configured && at < 0)
            sim_end_node_lost(s, (unsigned)(n - s->nodes.data));
        n->configured = at >= 0;
        if (at < 0)
            continue;
        const struct conf_node_row *row = &conf->node_rows.data[conf->nodes.data[at].row];
        n->cpus = row->cpus > n->cpus ? row->cpus : n->cpus;
        n->mem_mib = row->real_memory_mib > n->mem_mib ? row->real_memory_mib : n->mem_mib;
    }
}

/* Closes the sessions of removed nodes, after the messages that are queued for them. */
static void close_unknown(struct sim *s)
{
    for (unsigned i = 0; i < s->nodes.len; i++) {
        if (!s->nodes.data[i].configured && s->nodes.data[i].at[s->c->index].session)
            sim_ctl_close_session(s, i);
    }
}

/* Notes that a configuration has become active. */
void sim_ctl_learn(struct sim *s)
{
    if (s->c != s->lead)
        return;
    sim_ctl_learn_nodes(s);
    close_unknown(s);
}
