/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The resources and the state of a node, and their listing and storage. */
#include <string.h>

#include "base/pb.h"
#include "cluster/node/node_list.h"
#include "cluster/resource/gres_cores.h"
#include "cluster/resource/spec.h"

/* If processors are allocated individually, the configured ones count: credentials refer to
 * them. */
static bool counts_actual(const struct cluster *c, const struct node *n)
{
    return c->conf->select == CONF_SELECT_LINEAR && n->actual.cpus > n->row->cpus;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void set_amounts(struct node *n)
{
    const struct conf_node_row *row = n->row;
    const struct node_actual *actual = &n->actual;
#define NODE_AMOUNT(id, word, scarce, sentence, noun, member, configured, registered)              \
    n->amounts.member = amounts_bound(max_u64(configured, registered));
#include "cluster/resource/resource_kind.def"
    int64_t spec_mib = (int64_t)row->mem_spec_mib;
    n->mem_spec_mib = spec_mib < n->amounts.mem_mib ? row->mem_spec_mib : 0;
    n->amounts.mem_mib -= (int64_t)n->mem_spec_mib;
    n->tmp_mib = max_u64(actual->tmp_mib, row->tmp_disk_mib);
}

/* Counts cores; CPUs with CR_CPU or if cores have one thread; sockets with CR_Socket; without the
 * ones reserved for the system. */
static void count_units(const struct cluster *c, struct node *n, const struct node_actual *as)
{
    uint32_t cores = as->sockets * as->cores;
    bool one_thread = as->threads < 2 || as->cpus <= cores;
    bool by_socket = c->conf->cr & CONF_CR_SOCKET && as->cpus % as->sockets == 0;
    bool by_cpu = !by_socket && (c->conf->cr & CONF_CR_CPU || one_thread);
    n->sockets = as->sockets;
    n->cores = as->cores;
    n->threads = one_thread ? 1 : as->threads;
    n->units = by_socket ? as->sockets : by_cpu ? as->cpus : cores;
    n->cpus_per_unit = by_socket ? as->cpus / as->sockets : by_cpu ? 1 : as->threads;
    n->units_per_socket = (n->units + as->sockets - 1) / as->sockets;
    spec_keep(n, c->conf->sched.spec_cores_first);
    n->cpus = n->units * n->cpus_per_unit;
    n->spec_cpus = as->cpus > n->cpus ? as->cpus - n->cpus : 0;
}

void node_count_units(const struct cluster *c, struct node *n)
{
    const struct conf_node_row *row = n->row;
    struct node_actual as = {row->cpus, row->sockets, row->cores, row->threads, 0, 0};
    uint32_t before = n->cpus;
    if (counts_actual(c, n))
        as = n->actual;
    count_units(c, n, &as);
    if (n->cpus != before)
        vec_foreach (&c->parts, p)
            (*p)->most_cpus = 0;
    set_amounts(n);
    bitset_free(n->busy);
    free(take_ptr(n->use));
    n->busy = bitset_new(n->units);
    n->free_units = n->units;
    gres_cores_find(c, n);
}

/* Uses registered amounts at once, and registered processors when no job uses any, which alloc.c
 * ensures. */
static void use_actual(const struct cluster *c, struct node *n)
{
    set_amounts(n);
    if (n->jobs == 0)
        node_count_units(c, n);
}

bool node_take_actual(struct cluster *c, struct node *n, const Pb__NodeRegister *r)
{
    const struct node_actual *was = &n->actual;
    if (!c->conf->schedule_actual || !r->has_cpus ||
        (r->cpus == was->cpus && r->sockets == was->sockets && r->cores == was->cores &&
         r->threads == was->threads && r->real_memory_mib == was->mem_mib &&
         r->tmp_disk_mib == was->tmp_mib))
        return false;
    n->actual = (struct node_actual){r->cpus,    r->sockets,         r->cores,
                                     r->threads, r->real_memory_mib, r->tmp_disk_mib};
    use_actual(c, n);
    pool_update(c, n);
    return true;
}

bool node_is_usable(const struct node *n)
{
    return n->registered && n->connected && !n->down && !n->drain && !n->fail && !n->future &&
           n->reboot.phase != NODE_REBOOT_ISSUED && n->orphans.len == 0;
}

const char *node_active_features(const struct node *n)
{
    const char *active = n->active ? n->active : n->features;
    return active && *active ? active : NULL;
}

bool node_features_have(const char *features, const char *name, size_t len)
{
    for (const char *at = features; at && *at;) {
        size_t word = strcspn(at, ",");
        if (word == len && memcmp(at, name, len) == 0)
            return true;
        at += word + (at[word] == ',');
    }
    return false;
}

void node_set_reason(struct node *n, const char *reason, uint32_t uid, int64_t at_sec)
{
    char *copy = mem_strdup(reason);
    free(n->reason);
    n->reason = copy;
    n->reason_uid = uid;
    n->reason_at = reason ? at_sec : 0;
    n->dirty = true;
}

/* Units of ended jobs are not displayed as allocated, although they are not free yet. */
static uint32_t running_units(const struct node *n)
{
    if (n->jobs == n->completing + n->parked)
        return 0;
    uint32_t idle = n->free_units + n->completing_units; /* shared units may be counted in both */
    return n->exclusive ? n->units : n->units - (idle < n->units ? idle : n->units);
}

static Pb__NodeBase base_state(const struct node *n)
{
    if (n->future)
        return PB__NODE_BASE__NODE_FUTURE;
    if (n->down)
        return PB__NODE_BASE__NODE_DOWN;
    if (!n->registered)
        return PB__NODE_BASE__NODE_UNKNOWN;
    if (n->jobs == n->completing + n->parked)
        return PB__NODE_BASE__NODE_IDLE;
    return n->exclusive || running_units(n) == n->units ? PB__NODE_BASE__NODE_ALLOCATED
                                                        : PB__NODE_BASE__NODE_MIXED;
}

bool node_is_mixed(const struct node *n)
{
    return base_state(n) == PB__NODE_BASE__NODE_MIXED;
}

const char *node_cpu_bind(const struct node *n)
{
    if (n->cpu_bind)
        return str_case_eq(n->cpu_bind, "off") ? NULL : n->cpu_bind;
    return n->row->cpu_bind;
}

uint32_t node_usable_cpus(const struct node *n, uint32_t cpus, uint32_t use_threads)
{
    bool fewer = use_threads && use_threads < n->threads && n->cpus_per_unit >= n->threads;
    return fewer ? cpus / n->threads * use_threads : cpus;
}

const char *node_addr(const struct node *n)
{
    return n->addr ? n->addr : n->conf->addr;
}

/* A BcastAddr equal to NodeAddr follows changes of the node's address. */
const char *node_bcast_addr(const struct node *n)
{
    return str_eq(n->conf->bcast_addr, n->conf->addr) ? node_addr(n) : n->conf->bcast_addr;
}

const char *node_hostname(const struct node *n)
{
    return n->hostname ? n->hostname : n->conf->hostname;
}

const char *node_topology(const struct node *n)
{
    return n->topology ? n->topology : n->row->topology;
}

static void pack_reboot(const struct node *n, Pb__NodeRecord *m)
{
    const struct node_reboot *r = &n->reboot;
    if (r->phase == NODE_REBOOT_NONE)
        return;
    if (r->phase == NODE_REBOOT_REQUESTED)
        SET(m, reboot_requested, true);
    else
        SET(m, reboot_issued, true);
    m->next_state = r->to_down ? "DOWN" : r->to_resume ? "RESUME" : NULL;
}

static void pack_admin(const struct node *n, Pb__NodeRecord *m)
{
    if (n->drain)
        SET(m, drain, true);
    if (n->fail)
        SET(m, fail, true);
    if (n->reason) {
        m->reason = n->reason;
        SET(m, reason_uid, n->reason_uid);
        SET(m, reason_at, n->reason_at);
    }
    SET(m, weight, n->weight);
    m->features = n->features;
    m->comment = n->comment;
    m->extra = n->extra;
    m->cpu_bind = n->cpu_bind;
    m->addr = n->addr;
    m->hostname = n->hostname;
    m->topology = n->topology;
    pack_reboot(n, m);
    if (n->resume_at)
        SET(m, resume_at, n->resume_at);
}

static void pack_orphans(const struct node *n, Pb__NodeRecord *m, struct arena *arena)
{
    m->lost = arena_alloc(arena, sizeof(*m->lost) * (n->orphans.len + 1));
    vec_foreach (&n->orphans, g) {
        Pb__Presence *p = arena_alloc(arena, sizeof(*p));
        pb__presence__init(p);
        p->job_id = g->job_id;
        p->restarts = g->restarts;
        m->lost[m->n_lost++] = p;
    }
}

static void pack_actual(const struct node *n, Pb__NodeRecord *m)
{
    SET(m, real_cpus, n->actual.cpus);
    SET(m, real_sockets, n->actual.sockets);
    SET(m, real_cores, n->actual.cores);
    SET(m, real_threads, n->actual.threads);
    SET(m, real_mem_registered_mib, n->actual.mem_mib);
    SET(m, real_tmp_mib, n->actual.tmp_mib);
}

void node_pack_stored(const struct node *n, struct str *out)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__NodeRecord m = PB__NODE_RECORD__INIT;
    m.name = (char *)n->name;
    pack_admin(n, &m);
    pack_orphans(n, &m, &arena);
    SET(&m, state, n->down ? PB__NODE_BASE__NODE_DOWN : PB__NODE_BASE__NODE_IDLE);
    SET(&m, admin_down, n->admin_down);
    SET(&m, weight_set, n->weight_set);
    SET(&m, features_set, n->features_set);
    m.active_features = n->active;
    if (n->reboot.drained)
        SET(&m, reboot_drained, true);
    if (n->reboot.phase == NODE_REBOOT_ISSUED)
        SET(&m, reboot_issued_at, n->reboot.issued_at);
    m.reboot_incarnation = n->reboot.incarnation;
    if (n->actual.cpus)
        pack_actual(n, &m);
    pb_pack(&m.base, out);
    str_append(out, n->newer.data, n->newer.len);
}

static void restore_actual(const struct cluster *c, struct node *n, const Pb__NodeRecord *r)
{
    n->actual = (struct node_actual){
        r->real_cpus,   r->real_sockets, r->real_cores, r->real_threads, r->real_mem_registered_mib,
        r->real_tmp_mib};
    use_actual(c, n);
}

static void restore_reboot(struct node *n, const Pb__NodeRecord *r)
{
    free(n->reboot.incarnation);
    n->reboot = (struct node_reboot){
        .phase = r->reboot_issued      ? NODE_REBOOT_ISSUED
                 : r->reboot_requested ? NODE_REBOOT_REQUESTED
                                       : NODE_REBOOT_NONE,
        .to_down = str_eq(r->next_state, "DOWN"),
        .to_resume = str_eq(r->next_state, "RESUME"),
        .drained = r->reboot_drained,
        .issued_at = r->reboot_issued_at,
        .incarnation = mem_strdup(r->reboot_incarnation),
    };
}

void node_restore(struct cluster *c, struct node *n, const Pb__NodeRecord *r)
{
    if (c->conf->schedule_actual && r->real_cpus)
        restore_actual(c, n, r);
    n->drain = r->has_drain && r->drain;
    n->fail = r->has_fail && r->fail;
    n->down = r->has_state && r->state == PB__NODE_BASE__NODE_DOWN;
    n->admin_down = r->has_admin_down && r->admin_down;
    node_set_reason(n, r->reason, r->reason_uid, r->reason_at);
    n->dirty = false;
    vec_clear(&n->orphans);
    for (size_t i = 0; i < r->n_lost; i++)
        vec_push(&n->orphans, ((struct node_orphan){r->lost[i]->job_id, r->lost[i]->restarts}));
    n->weight_set = r->has_weight_set && r->weight_set;
    n->features_set = r->has_features_set && r->features_set;
    if (n->weight_set)
        n->weight = r->weight;
    if (n->features_set) {
        free(n->features);
        n->features = mem_strdup(r->features);
    }
    free(n->active);
    n->active = mem_strdup(r->active_features);
    free(n->comment);
    free(n->extra);
    free(n->cpu_bind);
    free(n->addr);
    free(n->hostname);
    free(n->topology);
    n->topology = mem_strdup(r->topology);
    n->addr = mem_strdup(r->addr);
    n->hostname = mem_strdup(r->hostname);
    n->resume_at = r->has_resume_at ? r->resume_at : 0;
    restore_reboot(n, r);
    n->comment = mem_strdup(r->comment);
    n->extra = mem_strdup(r->extra);
    n->cpu_bind = mem_strdup(r->cpu_bind);
    str_clear(&n->newer);
    pb_pick_unknown(&r->base, &n->newer);
    pool_update(c, n);
}

static void pack_registered(const struct node *n, Pb__NodeRecord *m, struct arena *arena)
{
    const Pb__NodeRegister *seen =
        arena_unpack(arena, &pb__node_register__descriptor, n->seen.data, n->seen.len);
    if (!seen)
        return;
    m->arch = seen->arch;
    m->os = seen->os;
    m->version = seen->version;
    m->has_boot_at = seen->has_boot_at;
    m->boot_at = seen->boot_at;
    m->has_daemon_start_at = seen->has_daemon_start_at;
    m->daemon_start_at = seen->daemon_start_at;
    if (seen->has_cpus)
        SET(m, real_cpus, seen->cpus);
    if (seen->has_real_memory_mib)
        SET(m, real_mem_registered_mib, seen->real_memory_mib);
    if (seen->has_sockets)
        SET(m, real_sockets, seen->sockets);
    if (seen->has_cores)
        SET(m, real_cores, seen->cores);
    if (seen->has_threads)
        SET(m, real_threads, seen->threads);
    if (seen->has_tmp_disk_mib)
        SET(m, real_tmp_mib, seen->tmp_disk_mib);
}

/* Returns the configured state if the node is initially out of service. */
static const char *configured_state(enum conf_node_state state)
{
    switch (state) {
    case CONF_NODE_DOWN:
        return "DOWN";
    case CONF_NODE_DRAIN:
        return "DRAIN";
    case CONF_NODE_FAIL:
        return "FAIL";
    default:
        return NULL;
    }
}

static void pack_config(const struct node *n, Pb__NodeRecord *m)
{
    m->hostname = (char *)node_hostname(n);
    m->addr = (char *)node_addr(n);
    if (!str_eq(node_bcast_addr(n), node_addr(n)))
        m->bcast_addr = (char *)node_bcast_addr(n);
    SET(m, port, n->conf->port);
    SET(m, cpus, n->cpus + n->spec_cpus);
    if (n->spec_cpus)
        SET(m, spec_cpus, n->spec_cpus);
    SET(m, boards, n->row->boards);
    SET(m, sockets, n->row->sockets);
    SET(m, cores, n->row->cores);
    SET(m, threads, n->row->threads);
    SET(m, real_memory_mib, (uint64_t)n->amounts.mem_mib + n->mem_spec_mib);
    if (n->mem_spec_mib)
        SET(m, mem_spec_mib, n->mem_spec_mib);
    SET(m, tmp_disk_mib, n->tmp_mib);
    m->active_features = n->active ? n->active : n->features;
    m->gres = (char *)n->row->gres;
    if (n->row->state == CONF_NODE_CLOUD)
        SET(m, cloud, true);
    if (n->dynamic)
        SET(m, dynamic, true);
    m->configured_state = (char *)configured_state(n->row->state);
    m->configured_reason = (char *)n->row->reason;
    if (!m->comment)
        m->comment = (char *)n->row->comment;
    if (!m->extra)
        m->extra = (char *)n->row->extra;
    m->cpu_bind = (char *)node_cpu_bind(n);
    m->topology = (char *)node_topology(n);
}

static void pack_live(const struct node *n, Pb__NodeRecord *m)
{
    SET(m, state, base_state(n));
    if (n->completing || (n->orphans.len && n->connected))
        SET(m, completing, true);
    if (!n->connected && !n->future)
        SET(m, no_respond, true);
    SET(m, alloc_cpus, running_units(n) * n->cpus_per_unit);
    SET(m, alloc_mem_mib, (uint64_t)n->used.mem_mib);
    if (n->seen.len) {
        SET(m, free_mem_mib, n->free_mem_mib);
        SET(m, cpu_load_centi, n->load_centi);
    }
    if (n->last_busy_at)
        SET(m, last_busy_at, n->last_busy_at);
    m->incarnation = n->incarnation;
}

#define NODE_GRES_USED 56 /* field number */

static bool wants_fields(const struct pb_fields *fields, unsigned first, unsigned last)
{
    for (unsigned number = first; number <= last; number++)
        if (pb_fields_have(fields, number))
            return true;
    return false;
}

/* Whether fields from the unpacked registration are wanted: arch to daemon_start_at, real_... */
static bool wants_registered(const struct pb_fields *fields)
{
    return wants_fields(fields, 24, 28) || wants_fields(fields, 37, 38) ||
           wants_fields(fields, 42, 45);
}

void node_view_init(struct node_view *v)
{
    *v = (struct node_view){0};
    arena_init(&v->arena, 0);
}

void node_view_done(struct node_view *v)
{
    arena_done(&v->arena);
    str_done(&v->parts);
    str_done(&v->gres);
    str_done(&v->spec);
    str_done(&v->restricted);
}

void node_view_set(struct node_view *v, const struct cluster *c, const struct node *n,
                   const struct pb_fields *fields)
{
    Pb__NodeRecord *m = &v->record;
    pb__node_record__init(m);
    m->name = (char *)n->name;
    pack_admin(n, m);
    pack_config(n, m);
    pack_live(n, m);
    if (n->places) {
        str_clear(&v->spec);
        spec_put_list(n, &v->spec);
        m->spec_list = (char *)str_cstr(&v->spec);
    }
    if (n->restricted) {
        SET(m, restricted_cores, n->row->restricted_cores);
        str_clear(&v->restricted);
        gres_cores_put_list(n, &v->restricted);
        m->restricted_list = (char *)str_cstr(&v->restricted);
    }
    if (n->gres.len && wants_fields(fields, NODE_GRES_USED, NODE_GRES_USED)) {
        str_clear(&v->gres);
        gres_held_format_node(c, n, true, &v->gres);
        m->gres_used = (char *)str_cstr(&v->gres);
    }
    vec_foreach (&c->resvs, r)
        if ((*r)->active && bitset_test((*r)->nodes, n->index)) {
            SET(m, reserved, true);
            if ((*r)->flags & RESV_MAINT)
                SET(m, maint, true);
            m->reservation = (*r)->name;
        }
    if (n->seen.len && wants_registered(fields)) {
        arena_reset(&v->arena, 0);
        pack_registered(n, m, &v->arena);
    }
    if (!wants_fields(fields, 33, 33))
        return;
    str_clear(&v->parts);
    vec_foreach (&c->parts, p) {
        if (!bitset_test((*p)->nodes, n->index))
            continue;
        if (v->parts.len)
            str_putc(&v->parts, ',');
        str_puts(&v->parts, (*p)->conf.name);
    }
    m->partitions = (char *)str_cstr(&v->parts);
}
