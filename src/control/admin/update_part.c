/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scontrol update partition. Runtime changes are stored together with the values of slurm.conf at
 * that time: after a restart a change applies, unless this field has been edited in the file since
 * then; the file is newer then and wins. A reconfiguration keeps changes according to
 * ReconfigFlags, by default none; changes that it keeps apply whatever the file says.
 */
#include "control/admin/update_part.h"
#include "cluster/part_change.h"

#include <assert.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/pb.h"
#include "control/core/reply.h"
#include "control/internal.h"
#include "control/life/enqueue.h"
#include "control/life/priority.h"
#include "control/life/resv.h"
#include "control/life/start.h"

#define PARTS_MOST 10000

static const ProtobufCMessageDescriptor *const type = &pb__part_record__descriptor;

/* Preserves fields that a newer version has put into a record. */
static void newer_keep(struct part *p, const Pb__PartChange *r)
{
    str_clear(&p->newer);
    if (!r->base.n_unknown_fields && !r->configured->base.n_unknown_fields)
        return;
    Pb__PartRecord set = PB__PART_RECORD__INIT, configured = PB__PART_RECORD__INIT;
    Pb__PartChange m = PB__PART_CHANGE__INIT;
    m.base = r->base;
    m.set = &set;
    m.configured = &configured;
    configured.base = r->configured->base;
    set.name = configured.name = r->set->name;
    pb_pack(&m.base, &p->newer);
}

/* 'configured' belongs to the change. The fields live in the arena. */
static void newer_add(const struct part *p, Pb__PartChange *change, Pb__PartRecord *configured,
                      struct arena *arena)
{
    const Pb__PartChange *m =
        arena_unpack(arena, &pb__part_change__descriptor, p->newer.data, p->newer.len);
    if (!m)
        return;
    change->base = m->base;
    configured->base = m->configured->base;
}

static void save_partition(struct control *c, const struct part *p)
{
    if (c->preview)
        return;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct str packed = STR_INIT;
    Pb__PartRecord row = PB__PART_RECORD__INIT, none = PB__PART_RECORD__INIT;
    Pb__PartChange change = PB__PART_CHANGE__INIT;
    none.name = (char *)p->conf.name;
    change.set = &none;
    if (p->changes.len)
        change.set = arena_unpack(&arena, type, p->changes.data, p->changes.len);
    part_describe(p->row, &arena, &row);
    change.configured = &row;
    change.has_created = change.created = p->own_name != NULL;
    newer_add(p, &change, &row, &arena);
    pb_pack(&change.base, &packed);
    c->env->put(c->env->ctx, RECORD_PART, 0, p->conf.name, packed.data, packed.len);
    str_done(&packed);
    c->cluster->stamp++;
}

/* Memory is set per CPU or per node: drops an earlier change that the new one replaces. */
static void drop_replaced_memory(const Pb__PartRecord *set, Pb__PartRecord *all)
{
    if (set->has_def_mem_per_cpu_mib && set->def_mem_per_cpu_mib)
        all->has_def_mem_per_node_mib = false;
    else if (set->has_def_mem_per_node_mib && set->def_mem_per_node_mib)
        all->has_def_mem_per_cpu_mib = false;
    if (set->has_max_mem_per_cpu_mib && set->max_mem_per_cpu_mib)
        all->has_max_mem_per_node_mib = false;
    else if (set->has_max_mem_per_node_mib && set->max_mem_per_node_mib)
        all->has_max_mem_per_cpu_mib = false;
}

/* Adds fields to the changes of the partition. */
static int change_partition(struct control *c, struct part *p, const Pb__PartRecord *set,
                            struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__PartRecord none = PB__PART_RECORD__INIT, *all = &none;
    none.name = (char *)p->conf.name;
    if (p->changes.len)
        all = arena_unpack(&arena, type, p->changes.data, p->changes.len);
    assert(all); /* our own bytes */
    pb_each_field (type, field)
        if (field->label != PROTOBUF_C_LABEL_REQUIRED && pb_has(&set->base, field))
            pb_copy_field(&all->base, &set->base, field);
    drop_replaced_memory(set, all);
    return part_change(c->cluster, p, all, err);
}

void update_part_down(struct control *c, const char *name)
{
    struct part *p = cluster_find_part(c->cluster, name);
    Pb__PartRecord set = PB__PART_RECORD__INIT;
    struct err err = {0};
    set.state = (char *)"DOWN";
    if (p && change_partition(c, p, &set, &err) == 0)
        save_partition(c, p);
}

/* There is one default partition: the previous one is reset. */
static void unset_default(struct control *c, const struct part *now)
{
    Pb__PartRecord set = PB__PART_RECORD__INIT;
    struct err err = {0};
    set.has_is_default = true;
    vec_foreach (&c->cluster->parts, at) {
        if (*at == now || !(*at)->conf.is_default)
            continue;
        if (change_partition(c, *at, &set, &err) == 0)
            save_partition(c, *at);
    }
}

static void report_overruled_field(struct control *c, const char *part, const char *field,
                                   struct str *report)
{
    const char *shown;
    part_may_change(field, &shown);
    if (!c->preview)
        control_log(c, LOG_LVL_INFO, "partition %s: %s was edited in slurm.conf, which now holds",
                    part, shown ? shown : field);
    if (report)
        str_printf(report,
                   "PartitionName=%s: %s is as edited in slurm.conf, not as set by scontrol\n",
                   part, shown ? shown : field);
}

/* Applies the stored changes that are still valid for the present row; fields edited since then are
 * dropped. */
static void restore_change(struct control *c, struct part *p, const Pb__PartChange *r,
                           struct str *report)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct err err = {0};
    bool overruled = false;
    Pb__PartRecord row = PB__PART_RECORD__INIT, set = PB__PART_RECORD__INIT;
    part_describe(p->row, &arena, &row);
    set.base = r->set->base;
    set.name = (char *)p->conf.name;
    newer_keep(p, r);
    pb_each_field (type, field) {
        if (field->label == PROTOBUF_C_LABEL_REQUIRED || !pb_has(&r->set->base, field))
            continue;
        if (pb_same_field(&r->configured->base, &row.base, field)) {
            pb_copy_field(&set.base, &r->set->base, field);
        } else {
            overruled = true;
            report_overruled_field(c, p->conf.name, field->name, report);
        }
    }
    if (part_change(c->cluster, p, &set, &err) != 0) {
        control_log(c, LOG_LVL_ERROR,
                    "partition %s: values that scontrol set are no longer valid: %s", p->conf.name,
                    err.text);
        str_clear(&p->changes);
        overruled = true;
    }
    if (overruled && c->started)
        save_partition(c, p);
}

/* --- created and removed partitions -------------------------------------------------------------
 */

/* Whether its line of slurm.conf is unchanged since scontrol removed the partition. */
static bool line_unchanged(const struct part *p, const Pb__PartChange *r)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__PartRecord row = PB__PART_RECORD__INIT;
    part_describe(p->row, &arena, &row);
    pb_each_field (type, field)
        if (!pb_same_field(&r->configured->base, &row.base, field))
            return false;
    return true;
}

static void remember_removed(struct control *c, const Pb__PartChange *r)
{
    struct str packed = STR_INIT;
    pb_pack(&r->base, &packed);
    vec_push(&c->cluster->removed_parts, packed);
}

/* 'report' NULL: after a restart. */
static void apply_change(struct control *c, const Pb__PartChange *r, struct str *report)
{
    struct part *p = cluster_find_part(c->cluster, r->set->name);
    bool created = r->has_created && r->created, removed = r->has_removed && r->removed;
    if (removed && p && line_unchanged(p, r)) {
        cluster_remove_part(c->cluster, p);
        remember_removed(c, r);
    } else if (created && !p) {
        restore_change(c, cluster_add_part(c->cluster, r->set->name), r, report);
    } else if (p && (removed || created)) {
        report_overruled_field(c, r->set->name, "name", report);
    } else if (p) {
        restore_change(c, p, r, report);
    }
}

int update_restore_part(struct control *c, const Pb__PartChange *r)
{
    apply_change(c, r, NULL);
    return 0;
}

/* --- a reconfiguration --------------------------------------------------------------------------
 */

/* The changes of scontrol that ReconfigFlags keeps: none, states and new partitions, or all. */
enum keep { KEEP_NOTHING, KEEP_STATES, KEEP_ALL };

static enum keep find_keep(const struct conf *conf)
{
    return conf_list_has(conf->reconfig_flags, "KeepPartInfo")    ? KEEP_ALL
           : conf_list_has(conf->reconfig_flags, "KeepPartState") ? KEEP_STATES
                                                                  : KEEP_NOTHING;
}

/* Keeps fields of a partition's change; reports the dropped ones. */
static void keep_fields(struct control *c, const Pb__PartRecord *set, enum keep keep,
                        Pb__PartRecord *kept, struct str *report)
{
    pb__part_record__init(kept);
    kept->base = set->base;
    kept->name = set->name;
    pb_each_field (type, field) {
        const char *shown;
        if (field->label == PROTOBUF_C_LABEL_REQUIRED || !pb_has(&set->base, field))
            continue;
        if (keep == KEEP_ALL || (keep == KEEP_STATES && strcmp(field->name, "state") == 0)) {
            pb_copy_field(&kept->base, &set->base, field);
            continue;
        }
        part_may_change(field->name, &shown);
        if (!c->preview)
            control_log(c, LOG_LVL_INFO, "partition %s: %s is as in slurm.conf again", set->name,
                        shown ? shown : field->name);
        if (report)
            str_printf(report,
                       "PartitionName=%s: %s is as in slurm.conf again, not as set by scontrol "
                       "(ReconfigFlags)\n",
                       set->name, shown ? shown : field->name);
    }
}

/* Drops the creation or removal of a partition by scontrol. */
static void drop_existence(struct control *c, const char *name, bool created, struct str *report)
{
    const char *what = created ? "removed, since slurm.conf does not define it"
                               : "created again, since slurm.conf defines it";
    if (!c->preview) {
        control_log(c, LOG_LVL_INFO, "partition %s %s", name, what);
        c->env->del(c->env->ctx, RECORD_PART, 0, name);
    }
    if (report)
        str_printf(report, "PartitionName=%s: %s (ReconfigFlags)\n", name, what);
}

/* Kept changes apply to the present line, edited or not: 'row' is set to that line. */
static void keep_over_edits(struct control *c, const struct part *now, const Pb__PartRecord *kept,
                            Pb__PartRecord *row, struct arena *arena, struct str *report)
{
    Pb__PartRecord edited = PB__PART_RECORD__INIT;
    part_describe(now->row, arena, &edited);
    pb_each_field (type, field) {
        const char *shown;
        if (field->label == PROTOBUF_C_LABEL_REQUIRED || !pb_has(&kept->base, field) ||
            pb_same_field(&row->base, &edited.base, field))
            continue;
        part_may_change(field->name, &shown);
        if (!c->preview)
            control_log(c, LOG_LVL_INFO, "partition %s: %s stays as scontrol set it", kept->name,
                        shown ? shown : field->name);
        if (report)
            str_printf(report,
                       "PartitionName=%s: %s stays as set by scontrol, not as edited in slurm.conf "
                       "(ReconfigFlags)\n",
                       kept->name, shown ? shown : field->name);
    }
    edited.base.n_unknown_fields = row->base.n_unknown_fields;
    edited.base.unknown_fields = row->base.unknown_fields;
    *row = edited;
}

/* 'edits': the file may have been edited since then. */
static void carry_one(struct control *c, const struct part *from, enum keep keep, bool edits,
                      struct str *report)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const struct part *now = cluster_find_part(c->cluster, from->conf.name);
    if (!from->changes.len && !from->own_name)
        return;
    if (from->own_name && !now && keep == KEEP_NOTHING) {
        drop_existence(c, from->conf.name, true, report);
        return;
    }
    Pb__PartRecord row = PB__PART_RECORD__INIT, none = PB__PART_RECORD__INIT;
    Pb__PartChange r = PB__PART_CHANGE__INIT;
    part_describe(from->row, &arena, &row);
    none.name = (char *)from->conf.name;
    r.configured = &row;
    r.set = &none;
    if (from->changes.len)
        r.set = arena_unpack(&arena, type, from->changes.data, from->changes.len);
    r.has_created = r.created = from->own_name != NULL;
    newer_add(from, &r, &row, &arena);
    Pb__PartRecord kept;
    if (now) /* a partition created by scontrol may be in the file now */
        r.created = false;
    keep_fields(c, r.set, r.created ? KEEP_ALL : keep, &kept, report);
    r.set = &kept;
    if (now && edits)
        keep_over_edits(c, now, &kept, &row, &arena, report);
    apply_change(c, &r, report);
    struct part *p = edits ? cluster_find_part(c->cluster, from->conf.name) : NULL;
    if (p)
        save_partition(c, p);
}

void update_carry_parts(struct control *c, const struct cluster *from, bool keep_all,
                        struct str *report)
{
    enum keep keep = keep_all ? KEEP_ALL : find_keep(c->conf);
    vec_foreach (&from->parts, p)
        carry_one(c, *p, keep, !keep_all, report);
    vec_foreach (&from->removed_parts, packed) {
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        const Pb__PartChange *r =
            arena_unpack(&arena, &pb__part_change__descriptor, packed->data, packed->len);
        if (keep == KEEP_ALL)
            apply_change(c, r, report);
        else if (cluster_find_part(c->cluster, r->set->name))
            drop_existence(c, r->set->name, false, report);
    }
}

/* Drops the removal of a partition of this name: it exists again. */
static void forget_removed(struct control *c, const char *name)
{
    for (size_t i = c->cluster->removed_parts.len; i-- > 0;) {
        struct str *packed = &c->cluster->removed_parts.data[i];
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        const Pb__PartChange *r =
            arena_unpack(&arena, &pb__part_change__descriptor, packed->data, packed->len);
        if (!str_eq(r->set->name, name))
            continue;
        str_done(packed);
        vec_remove(&c->cluster->removed_parts, i);
    }
}

static int create_partition(struct control *c, const Pb__PartRecord *set, struct err *err)
{
    const char *fault = conf_part_name_fault(set->name);
    if (!fault && str_case_eq(set->name, "DEFAULT"))
        fault = "a reserved word of slurm.conf";
    if (fault)
        return err_set(err, -ERR_PARSE, "PartitionName=%s: %s", set->name, fault);
    if (cluster_find_part(c->cluster, set->name))
        return err_set(err, -ERR_PART_EXISTS, "%s: %s", err_text(ERR_PART_EXISTS), set->name);
    if (c->cluster->parts.len >= PARTS_MOST)
        return err_set(err, -ERR_LIMIT, "%s: there are %d partitions", err_text(ERR_LIMIT),
                       PARTS_MOST);
    struct part *p = cluster_add_part(c->cluster, set->name);
    int rc = change_partition(c, p, set, err);
    if (rc != 0)
        cluster_remove_part(c->cluster, p);
    else
        forget_removed(c, set->name);
    return rc;
}

static int remove_part(struct control *c, struct part *p, struct err *err)
{
    vec_foreach (&c->cluster->jobs, j)
        if (job_partitions_has(*j, p) && (!job_is_final(*j) || attempt_of((*j))->completing))
            return err_set(err, -ERR_PART_IN_USE, "%s: %s has job %s", err_text(ERR_PART_IN_USE),
                           p->conf.name, JOB_ID_TEXT(*j));
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct str packed = STR_INIT;
    Pb__PartRecord row = PB__PART_RECORD__INIT, set = PB__PART_RECORD__INIT;
    Pb__PartChange r = PB__PART_CHANGE__INIT;
    part_describe(p->row, &arena, &row);
    set.name = row.name;
    r.configured = &row;
    r.set = &set;
    r.has_removed = r.removed = true;
    pb_pack(&r.base, &packed);
    if (p->own_name) {
        c->env->del(c->env->ctx, RECORD_PART, 0, p->conf.name);
    } else {
        c->env->put(c->env->ctx, RECORD_PART, 0, p->conf.name, packed.data, packed.len);
        remember_removed(c, &r);
    }
    str_done(&packed);
    start_drop_plan(c);
    plan_notes_clear(&c->plan_notes);
    cluster_remove_part(c->cluster, p);
    return 0;
}

/* Not checked for a restored change: the other partition may follow it. */
static int check_alternate(const struct control *c, const Pb__PartRecord *set, struct err *err)
{
    const char *name = set->alternate;
    if (!name || !*name || str_case_eq(name, "none"))
        return 0;
    if (!cluster_find_part(c->cluster, name))
        return err_set(err, -ERR_NO_PARTITION, "%s: Alternate=%s", err_text(ERR_NO_PARTITION),
                       name);
    if (str_eq(name, set->name))
        return err_set(err, -ERR_RANGE, "Alternate=%s is the partition itself", name);
    return 0;
}

/* Not checked for a restored change: without the topology the cluster's default is used. */
static int check_topology(const struct control *c, const Pb__PartRecord *set, struct err *err)
{
    const char *name = set->topology;
    if (!name || !*name || conf_find_network(c->conf, name) >= 0)
        return 0;
    return err_set(err, -ERR_RANGE, "unknown topology '%s': see 'scontrol show topoconf'", name);
}

static int check_fields(const struct control *c, const Pb__PartUpdate *r, struct err *err)
{
    const char *shown;
    if (r->n_refused_field)
        return err_set(err, -ERR_CANNOT_UPDATE, "%s: %s", err_text(ERR_CANNOT_UPDATE),
                       r->refused_field[0]);
    pb_each_field (type, field)
        if (pb_has(&r->set->base, field) && !part_may_change(field->name, &shown))
            return err_set(err, -ERR_CANNOT_UPDATE, "%s: %s", err_text(ERR_CANNOT_UPDATE),
                           shown ? shown : field->name);
    int rc = check_alternate(c, r->set, err);
    return rc == 0 ? check_topology(c, r->set, err) : rc;
}

/* Updates the jobs that wait in the partition. */
static void settle_jobs(struct control *c, struct part *p)
{
    if (p->conf.is_default)
        unset_default(c, p);
    save_partition(c, p);
    resv_follow(c);
    for (size_t i = 0; i < c->cluster->jobs.len; i++) {
        struct job *j = c->cluster->jobs.data[i];
        if (job_partitions_has(j, p) && j->state == PB__JOB_STATE__PENDING)
            enqueue_job(c, j);
    }
}

static int change_nodes(struct control *c, const struct part *p, Pb__PartRecord *set,
                        struct arena *arena, struct err *err)
{
    _cleanup_bitset_ struct bitset *nodes = bitset_dup(p->nodes);
    int rc = cluster_edit_nodes(c->cluster, set->nodes, nodes, err);
    if (rc != 0)
        return rc;
    _cleanup_hostlist_ struct hostlist *list = hostlist_new();
    _cleanup_str_ struct str text = STR_INIT;
    bitset_foreach (nodes, i)
        hostlist_push(list, c->cluster->nodes.data[i]->name);
    hostlist_format(list, &text);
    set->nodes = arena_strdup(arena, str_cstr(&text));
    return 0;
}

void control_part_update(struct control *c, uint64_t call, const struct caller *who,
                         const Pb__PartUpdate *r)
{
    struct err err = {0};
    bool adds = r->has_create && r->create, removes = r->has_remove && r->remove;
    struct part *p = adds ? NULL : cluster_find_part(c->cluster, r->set->name);
    int rc = p || adds ? check_fields(c, r, &err)
                       : err_set(&err, -ERR_NO_PARTITION, "%s: %s", err_text(ERR_NO_PARTITION),
                                 r->set->name);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__PartRecord set = *r->set;
    if (rc == 0 && p && set.nodes && cluster_is_edit(set.nodes))
        rc = change_nodes(c, p, &set, &arena, &err);
    if (rc == 0)
        rc = adds      ? create_partition(c, r->set, &err)
             : removes ? remove_part(c, p, &err)
                       : change_partition(c, p, &set, &err);
    if (rc != 0) {
        control_refuse(c, call, &err);
        return;
    }
    priority_forget(c);
    if (!removes)
        settle_jobs(c, cluster_find_part(c->cluster, r->set->name));
    control_log(c, LOG_LVL_INFO, "partition %s %s by uid %u", r->set->name,
                adds      ? "created"
                : removes ? "removed"
                          : "changed",
                who->uid);
    c->plan_wanted = true;
    control_done(c, call);
}
