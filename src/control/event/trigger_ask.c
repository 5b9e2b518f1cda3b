/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * strigger's requests. Who may: the controller runs a trigger's program as the user who set it, so
 * that one that is not root itself takes them of SlurmUser alone; root and SlurmUser may set any,
 * others only with SlurmctldParameters=allow_user_triggers, for nodes and for jobs of their own.
 * Root and who has set it may clear one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/pb.h"
#include "control/core/private.h"
#include "control/internal.h"

static bool is_trusted(const struct control *c, uint32_t uid)
{
    return uid == 0 || uid == c->conf->slurm_uid;
}

static int check_who(const struct control *c, const struct caller *who, struct err *err)
{
    const char *why = NULL;
    if (c->conf->slurm_uid != 0 && who->uid != c->conf->slurm_uid)
        why = "slurmctld does not run as root, so that triggers are for SlurmUser alone";
    else if (!is_trusted(c, who->uid) && !c->conf->allow_user_triggers)
        why = "triggers are for SlurmUser and root, unless SlurmctldParameters has "
              "allow_user_triggers";
    return why ? err_set(err, -ERR_ACCESS, "%s: %s", err_text(ERR_ACCESS), why) : 0;
}

static int check_job(struct control *c, const struct caller *who, uint32_t id, struct err *err)
{
    const struct array *a = array_find(c->cluster, id);
    const struct job *j = a ? array_first(a) : cluster_find_job(c->cluster, id);
    if (!j || (!private_shows_job(c, who, j) && !control_owns(who, j)))
        return err_set(err, -ERR_NO_JOB, "%s: %u", err_text(ERR_NO_JOB), id);
    if (!control_owns(who, j))
        return err_set(err, -ERR_ACCESS, "%s: job %u is another user's", err_text(ERR_ACCESS), id);
    if (a ? array_is_over(a) : job_is_final(j) && !attempt_of(j)->requeue_after)
        return err_set(err, -ERR_JOB_DONE, "%s: %u", err_text(ERR_JOB_DONE), id);
    return 0;
}

static int check_room(const struct control *c, const struct caller *who, struct err *err)
{
    size_t own = 0;
    vec_foreach (&c->triggers.all, t)
        own += (*t)->uid == who->uid;
    if (c->triggers.all.len >= TRIGGER_MAX)
        return err_set(err, -ERR_LIMIT, "%s: there are %d triggers: clear some first",
                       err_text(ERR_LIMIT), TRIGGER_MAX);
    if (!is_trusted(c, who->uid) && own >= TRIGGER_MAX_OF_USER)
        return err_set(err, -ERR_LIMIT, "%s: you have %d triggers: clear some first",
                       err_text(ERR_LIMIT), TRIGGER_MAX_OF_USER);
    return 0;
}

static int check_nodes(const struct control *c, const Pb__TriggerRecord *m, struct err *err)
{
    struct bitset *set = NULL;
    int rc = m->nodes ? cluster_node_set(c->cluster, m->nodes, &set, err) : 0;
    bitset_free(set);
    return rc;
}

static bool is_alike(const struct trigger *t, const struct trigger *other)
{
    return t->uid == other->uid && t->types == other->types && t->job_id == other->job_id &&
           t->offset_sec == other->offset_sec && str_eq(t->nodes, other->nodes) &&
           str_eq(t->program, other->program) &&
           ((t->flags ^ other->flags) & TRIGGER_FRONT_END) == 0;
}

static struct trigger *find_alike(const struct control *c, const struct trigger *as, bool spent)
{
    vec_foreach (&c->triggers.all, t)
        if (*t != as && (*t)->spent == spent && is_alike(*t, as))
            return *t;
    return NULL;
}

/* What has happened since the one before it fired is its own; so is for whom that one has, and
 * when: a program that sets its trigger anew is not run all the time either. */
static void succeed(struct control *c, struct trigger *t, struct trigger *before)
{
    t->told = take_ptr(before->told);
    t->fired_ms = before->fired_ms;
    if (!before->hits)
        return;
    t->hits = before->hits;
    t->hit = take_ptr(before->hit);
    t->due_ms = control_mono(c) +
                (t->offset_sec > 0 && !(t->types & TRIGGER_IDLE) ? t->offset_sec * 1000 : 0);
    if (t->due_ms < t->fired_ms + TRIGGER_EVERY_MS)
        t->due_ms = t->fired_ms + TRIGGER_EVERY_MS;
    before->hits = 0;
    before->changed = t->changed = true;
}

static void reply_set(struct control *c, uint64_t call, const struct trigger *t)
{
    _cleanup_str_ struct str note = STR_INIT;
    Pb__TriggerReply reply = PB__TRIGGER_REPLY__INIT;
    reply.has_id = true;
    reply.id = t->id;
    if (!trigger_is_raised(t->types, t->flags)) {
        str_printf(&note, "trigger %u is kept, and nothing will ever raise it: there is no %s here",
                   t->id,
                   t->types & TRIGGER_PRI_CTLD_ACCT_FULL
                       ? "accounting storage"
                       : trigger_resource(t->types, t->flags, t->job_id));
        reply.note = (char *)str_cstr(&note);
    }
    c->env->reply(c->env->ctx, call, &reply.base);
}

static void set(struct control *c, uint64_t call, const struct caller *who, struct trigger *t)
{
    struct triggers *s = &c->triggers;
    struct trigger *before = find_alike(c, t, true);
    t->id = s->last_id + 1;
    t->changed = true;
    trigger_add(c, t);
    trigger_watch(c);
    if (before)
        succeed(c, t, before);
    control_save_meta(c); /* its id is not given again */
    control_log(c, LOG_LVL_INFO, "trigger %u set by uid %u: %s", t->id, who->uid, t->program);
    reply_set(c, call, t);
}

static int check_all(struct control *c, const struct caller *who, const Pb__TriggerRecord *m,
                     struct err *err)
{
    int rc = check_who(c, who, err);
    if (rc == 0)
        rc = trigger_check(m, err);
    if (rc == 0 && m->has_job_id)
        rc = check_job(c, who, m->job_id, err);
    if (rc == 0)
        rc = check_nodes(c, m, err);
    if (rc == 0)
        rc = check_room(c, who, err);
    return rc;
}

void control_trigger_set(struct control *c, uint64_t call, const struct caller *who,
                         const Pb__TriggerRecord *m)
{
    struct err err = {0};
    if (check_all(c, who, m, &err) != 0) {
        control_refuse(c, call, &err);
        return;
    }
    trigger_look(c); /* what has happened before it was not meant */
    struct trigger *t = trigger_new(c, m);
    t->uid = who->uid;
    t->gid = who->gid;
    const struct trigger *same = find_alike(c, t, false);
    bool again = same && m->request_id.len == sizeof t->request_id &&
                 memcmp(same->request_id, t->request_id, sizeof t->request_id) == 0;
    if (again)
        reply_set(c, call, same); /* its answer was lost */
    else if (same)
        control_refuse_code(c, call, ERR_TRIGGER_EXISTS, NULL);
    else
        set(c, call, who, take_ptr(t));
    if (t)
        trigger_free(t);
}

/* --- which are meant ---------------------------------------------------------------------------
 */

static bool has(const uint32_t *list, size_t count, uint32_t number)
{
    bool found = count == 0;
    for (size_t i = 0; i < count; i++)
        found = found || list[i] == number;
    return found;
}

static bool is_meant(const struct trigger *t, const Pb__TriggerFilter *f,
                     const struct bitset *nodes)
{
    return !t->spent && !t->cleared && has(f->id, f->n_id, t->id) &&
           has(f->job_id, f->n_job_id, t->job_id) && has(f->uid, f->n_uid, t->uid) &&
           (!f->types || t->types & f->types) &&
           (!f->nodes || (!t->job_id && nodes && (!t->of || bitset_intersects(t->of, nodes))));
}

static bool is_shown(struct control *c, const struct caller *who, const struct trigger *t)
{
    if (t->uid == who->uid)
        return true;
    const struct job *j = t->job_id ? cluster_find_job(c->cluster, t->job_id) : NULL;
    if (t->job_id)
        return !control_hides(c, who, "jobs") || (j && j->uid == who->uid);
    return !control_hides(c, who, "nodes");
}

/* --- cleared -----------------------------------------------------------------------------------
 */

static bool may_clear(const struct caller *who, const struct trigger *t)
{
    return who->uid == 0 || who->uid == t->uid;
}

void control_trigger_clear(struct control *c, uint64_t call, const struct caller *who,
                           const Pb__TriggerFilter *f)
{
    struct triggers *s = &c->triggers;
    Pb__TriggerReply reply = PB__TRIGGER_REPLY__INIT;
    size_t denied = 0;
    if (!f->n_id && !f->n_job_id && !f->n_uid) {
        control_refuse_code(c, call, ERR_PARSE, "--id, --jobid or --user says which to clear");
        return;
    }
    for (size_t i = s->all.len; i-- > 0;) {
        struct trigger *t = s->all.data[i];
        if (!is_meant(t, f, NULL) || !is_shown(c, who, t))
            continue;
        if (!may_clear(who, t)) {
            denied++;
            continue;
        }
        control_log(c, LOG_LVL_INFO, "trigger %u cleared by uid %u", t->id, who->uid);
        trigger_clear(c, t);
        reply.cleared++;
    }
    reply.has_cleared = true;
    if (reply.cleared)
        c->env->reply(c->env->ctx, call, &reply.base);
    else
        control_refuse_code(c, call, denied ? ERR_ACCESS : ERR_NO_TRIGGER, NULL);
}

/* --- shown -------------------------------------------------------------------------------------
 */

bool control_list_triggers(struct control *c, const struct caller *who, const Pb__TriggerFilter *f,
                           uint64_t *cursor, size_t budget, struct str *out)
{
    _cleanup_str_ struct str packed = STR_INIT;
    _cleanup_bitset_ struct bitset *nodes = NULL;
    size_t start = out->len;
    if (f->nodes)
        (void)cluster_node_set(c->cluster, f->nodes, &nodes, NULL);
    vec_foreach (&c->triggers.all, at) {
        const struct trigger *t = *at;
        Pb__TriggerRecord m;
        if (t->id <= *cursor || !is_meant(t, f, nodes) || !is_shown(c, who, t))
            continue;
        if (out->len - start > budget)
            return true;
        trigger_fill(t, &m);
        str_clear(&packed);
        pb_pack(&m.base, &packed);
        pb_pack_field(1, packed.data, packed.len, out);
        *cursor = t->id;
    }
    return false;
}
