/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a controller knows about its nodes, their sessions and the active configuration, and
 * configurations that are read while the controller runs: for scontrol reconfigure, for nodes that
 * scontrol creates or deletes, and for nodes that register themselves. A worker reads for some
 * milliseconds. The result is applied, or read again if another configuration was applied in
 * between. See slurmctld/reload.c and slurmctld/node/node_dynamic.c.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "sim/controller/controller.h"
#include "sim/node/node.h"

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
static void learn_configuration(struct sim *s)
{
    if (s->c != s->lead)
        return;
    sim_ctl_learn_nodes(s);
    close_unknown(s);
}

struct sim_load {
    uint64_t call, life, session; /* session: of a node that registers itself; 0: none */
    unsigned seen, node, file;
    bool preview;
    struct str update; /* packed NodeUpdate; empty: the file is read again */
    struct node_dynamic_plan *plan;
    struct conf *conf;
    struct err err;
};

static void forget_load(struct sim_load *l)
{
    control_node_dynamic_free(take_ptr(l->plan));
    conf_free(take_ptr(l->conf));
    l->err = (struct err){0};
}

void sim_load_done(struct sim *s)
{
    vec_foreach (&s->loads, l) {
        forget_load(*l);
        str_done(&(*l)->update);
        free(*l);
    }
    vec_done(&s->loads);
}

int sim_load_conf(struct sim *s, const char *added_lines, struct conf **conf, struct err *err)
{
    struct conf_report report = {0};
    struct str text = STR_INIT;
    char path[64];
    int fd = memfd_create("slurm.conf", MFD_CLOEXEC), rc = 0;
    sim_plan_conf(s->plan, s->file, &text);
    if (fd < 0 || write(fd, text.data, text.len) != (ssize_t)text.len)
        rc = err_set(err, -ERR_GENERIC, "there is no memory for a file");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (rc == 0)
        rc = conf_load_with(path, added_lines, CONF_FULL, NULL, conf, &report, err);
    if (rc != 0)
        err_prefix(err, "version %u of slurm.conf", s->file);
    if (fd >= 0)
        close(fd);
    conf_report_done(&report);
    str_done(&text);
    return rc;
}

/* --- the worker ---------------------------------------------------------------------------------
 */

static void read_loaded_file(struct sim *s, struct sim_load *l)
{
    struct str lines = STR_INIT;
    control_node_dynamic_present(s->c->control, &lines);
    sim_load_conf(s, str_cstr(&lines), &l->conf, &l->err);
    str_done(&lines);
}

static void read_with_nodes(struct sim *s, struct sim_load *l)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct str lines = STR_INIT;
    size_t len = 0;
    const Pb__NodeUpdate *r =
        arena_unpack(&arena, &pb__node_update__descriptor, l->update.data, l->update.len);
    const char *text = conf_flat_text(control_conf(s->c->control), &len);
    l->plan = control_node_dynamic_begin(s->c->control);
    if (control_node_dynamic_add(s->c->control, l->plan, r, l->session != 0, &l->err) == 0) {
        control_node_dynamic_lines(l->plan, &lines);
        conf_load_again(text, len, "slurm.conf", str_cstr(&lines), CONF_FULL, NULL, &l->conf,
                        &l->err);
    }
    str_done(&lines);
}

static void begin_load(struct sim *s, unsigned index)
{
    struct sim_load *l = s->loads.data[index];
    forget_load(l);
    l->life = s->c->life;
    l->seen = s->c->conf_changes;
    l->file = s->file;
    if (l->update.len)
        read_with_nodes(s, l);
    else
        read_loaded_file(s, l);
    sim_push(s, rng_between(&s->rng, 0, 20),
             (struct sim_event){.kind = SIM_LOADED, .index = index});
}

static struct sim_load *add_load(struct sim *s, uint64_t call)
{
    struct sim_load *l = mem_new(struct sim_load);
    l->call = call;
    vec_push(&s->loads, l);
    return l;
}

void sim_load_file(struct sim *s, uint64_t call, bool preview)
{
    add_load(s, call)->preview = preview;
    begin_load(s, (unsigned)s->loads.len - 1);
}

void sim_load_nodes(struct sim *s, uint64_t call, const Pb__NodeUpdate *r)
{
    pb_pack(&r->base, &add_load(s, call)->update);
    begin_load(s, (unsigned)s->loads.len - 1);
}

/* The first registration of a node, as with slurmd -Z. */
void sim_load_registrant(struct sim *s, unsigned node, const Pb__NodeRegister *r)
{
    struct sim_node *n = &s->nodes.data[node];
    Pb__NodeUpdate update = PB__NODE_UPDATE__INIT;
    struct sim_load *l = add_load(s, 0);
    l->node = node;
    l->session = n->at[s->c->index].registrant;
    update.nodes = n->name;
    update.create = r->dynamic;
    pb_pack(&update.base, &l->update);
    begin_load(s, (unsigned)s->loads.len - 1);
}

/* --- the configuration that was read ------------------------------------------------------------
 */

/* The node connects again: it is configured then, or registers once more. */
static void answer_load(struct sim *s, const struct sim_load *l)
{
    static const Pb__Empty done = PB__EMPTY__INIT;
    if (l->call && l->err.code)
        s->env.reply_error(s, l->call, l->err.code, l->err.text);
    else if (l->call)
        s->env.reply(s, l->call, &done.base);
    else if (s->nodes.data[l->node].at[s->c->index].registrant == l->session)
        sim_ctl_hang_up(s, l->node);
}

static void preview_conf(struct sim *s, struct sim_load *l)
{
    size_t before = s->c->next ? s->c->next->changes.len : 0;
    control_reconfigure_preview(s->c->control, l->call, take_ptr(l->conf), NULL);
    if ((s->c->next ? s->c->next->changes.len : 0) != before)
        sim_break(s, "a preview changed something", "%zu records",
                  s->c->next->changes.len - before);
    s->c->list_due = "after a preview";
}

/* No job may hold a deleted node. A deposed controller does not know the jobs of its successor; its
 * changes are never committed and are not checked. */
static void check_deleted(struct sim *s, const struct sim_load *l)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__NodeUpdate *r =
        arena_unpack(&arena, &pb__node_update__descriptor, l->update.data, l->update.len);
    long index = r && r->remove ? sim_node_index(s, r->nodes) : -1;
    if (index >= 0 && s->c->deposed_ms == INT64_MAX && sim_give_is_held(s, (unsigned)index))
        sim_break(s, "a node was deleted under a job", "%s", r->nodes);
}

static void in_force(struct sim *s, const char *what)
{
    s->c->conf_changes++;
    learn_configuration(s);
    s->shrunk = true;
    s->c->list_due = what;
}

static void apply_load(struct sim *s, struct sim_load *l)
{
    if (!l->conf) {
        answer_load(s, l);
    } else if (l->plan) {
        if (control_node_dynamic_apply(s->c->control, l->plan, take_ptr(l->conf), &l->err) == 0) {
            check_deleted(s, l);
            in_force(s, "after nodes were made");
        }
        answer_load(s, l);
    } else if (l->preview) {
        preview_conf(s, l);
    } else {
        s->c->file = l->file;
        control_reconfigure(s->c->control, l->call, take_ptr(l->conf), NULL);
        in_force(s, "after a reconfiguration");
    }
}

void sim_load_ready(struct sim *s, unsigned index)
{
    struct sim_load *l = s->loads.data[index];
    if (!s->c->control || l->life != s->c->life) {
        forget_load(l);
    } else if (l->seen != s->c->conf_changes) {
        begin_load(s, index);
    } else {
        apply_load(s, l);
        forget_load(l);
        sim_ctl_turn(s);
    }
}
