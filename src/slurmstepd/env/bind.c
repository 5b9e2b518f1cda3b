/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/env/bind.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/*
 * Distributes CPUs to tasks: each gets the number that it needs, in the order of distribution over
 * sockets and cores; then all CPUs of each core, socket or NUMA node that it touches. While there
 * are enough cores, tasks bound to cores or larger units share no core, unless the distribution is
 * to fill cores.
 */
struct deal {
    const Pb__CpuMap *map;
    const struct bitset *mine;      /* the CPUs to distribute; not empty */
    const struct bitset *around;    /* all CPUs that a core, socket or NUMA node may contribute */
    Pb__BindKind kind;              /* AUTO, THREADS, CORES, SOCKETS, LDOMS */
    enum dist_order sockets, cores; /* ANY: cyclic; for cores: the same as for sockets */
    Pb__BindKind otherwise;         /* kind to use if AUTO matches nothing; AUTO: all CPUs */
    uint32_t tasks, cpus_per_task;
};

static void deal_cpus(const struct deal *d, struct bitset **of_task);

static size_t count_all(const Pb__CpuMap *map)
{
    return map->each ? map->n_number / map->each : 0;
}

/* Translates CPUs to the kernel's numbers. */
static struct bitset *translate_cpus(const Pb__CpuMap *map, const struct bitset *cpus)
{
    struct bitset *set = bitset_new(BIND_KERNEL_MAX);

    bitset_foreach (cpus, i) {
        for (size_t k = (size_t)i * map->each; k < ((size_t)i + 1) * map->each; k++)
            if (k < map->n_number && map->number[k] < BIND_KERNEL_MAX)
                bitset_set(set, map->number[k]);
    }
    return set;
}

/* Returns the CPUs near one of these NUMA nodes. */
static struct bitset *find_near_cpus(const Pb__CpuMap *map, const struct bitset *mine,
                                     const struct bitset *nodes)
{
    struct bitset *set = bitset_new(mine->size);

    bitset_foreach (mine, i) {
        size_t k = (size_t)i * map->each;
        if (k < map->n_numa && map->numa[k] < nodes->size && bitset_test(nodes, map->numa[k]))
            bitset_set(set, (size_t)i);
    }
    return set;
}

void bind_format(const struct bitset *cpus, struct str *out)
{
    long last = bitset_last(cpus);
    size_t digits = last < 0 ? 1 : (size_t)last / 4 + 1;

    str_puts(out, "0x");
    for (size_t d = digits; d-- > 0;)
        str_putc(out, "0123456789abcdef"[cpus->word[d / 16] >> (d % 16 * 4) & 15]);
}

int bind_parse(const char *text, struct bitset *out, struct err *err)
{
    const char *digits = !strncasecmp(text, "0x", 2) ? text + 2 : text;
    size_t len = strlen(digits);

    for (size_t d = 0; d < len; d++) {
        char c = digits[len - 1 - d];
        unsigned value = isdigit((unsigned char)c)
                             ? (unsigned)c - '0'
                             : (unsigned)(tolower((unsigned char)c) - 'a' + 10);
        if (!isxdigit((unsigned char)c) || (value && d * 4 + 4 > out->size))
            return err_set(err, -ERR_BIND, "%s: invalid CPU set '%s'", err_text(ERR_BIND), text);
        for (unsigned bit = 0; bit < 4; bit++)
            if (value >> bit & 1)
                bitset_set(out, d * 4 + bit);
    }
    return len ? 0 : err_set(err, -ERR_BIND, "%s: invalid CPU set '%s'", err_text(ERR_BIND), text);
}

static int parse_bind_number(const char *text, struct bitset *out, struct err *err)
{
    char *end;
    unsigned long n = strtoul(text, &end, 0);

    if (!isdigit((unsigned char)*text) || *end || n >= out->size)
        return err_set(err, -ERR_BIND, "%s: invalid CPU number '%s'", err_text(ERR_BIND), text);
    bitset_set(out, n);
    return 0;
}

/* Parses the list entry for this task. */
static int parse_task_entry(const struct bind_want *w, uint32_t task, struct bitset *out,
                            struct err *err)
{
    const Pb__Bind *b = w->cpu_bind;

    if (!b->n_list)
        return err_set(err, -ERR_BIND, "%s: an empty list", err_text(ERR_BIND));
    const char *entry = b->list[task % b->n_list];
    bool mask = b->kind == PB__BIND_KIND__BIND_MASK || b->kind == PB__BIND_KIND__BIND_MASK_LDOM;
    return mask ? bind_parse(entry, out, err) : parse_bind_number(entry, out, err);
}

static void report_problem(struct bind_set *out, const struct bitset *wanted,
                           const struct bitset *has)
{
    _cleanup_str_ struct str text = STR_INIT;

    if (out->complaint)
        return;
    str_puts(&text, "CPU binding outside of job step allocation: ");
    bind_format(wanted, &text);
    str_puts(&text, " asked for, the step has ");
    bind_format(has, &text);
    str_puts(&text, "; bound to all of that");
    out->complaint = str_take(&text);
}

/* Binds to a list of kernel CPU numbers, restricted to the step's CPUs. */
static int bind_listed(const struct bind_want *w, const struct bitset *mine, struct bind_set *out,
                       struct err *err)
{
    bool ldom = w->cpu_bind->kind >= PB__BIND_KIND__BIND_RANK_LDOM;
    _cleanup_bitset_ struct bitset *all = translate_cpus(w->map, mine);

    for (uint32_t i = 0; i < w->tasks; i++) {
        _cleanup_bitset_ struct bitset *wanted = bitset_new(BIND_KERNEL_MAX);
        int rc = parse_task_entry(w, i, wanted, err);
        if (rc)
            return rc;
        _cleanup_bitset_ struct bitset *near = ldom ? find_near_cpus(w->map, mine, wanted) : NULL;
        out->cpus[i] = near ? translate_cpus(w->map, near) : bitset_dup(wanted);
        bitset_and(out->cpus[i], all);
        if (bitset_count(out->cpus[i]) < bitset_count(near ? out->cpus[i] : wanted) ||
            bitset_empty(out->cpus[i])) {
            report_problem(out, wanted, all);
            bitset_copy(out->cpus[i], all);
        }
    }
    return 0;
}

/* Binds the n-th task to the n-th CPU or NUMA node. */
static void bind_by_rank(const struct bind_want *w, const struct bitset *mine, struct bind_set *out)
{
    bool ldom = w->cpu_bind->kind == PB__BIND_KIND__BIND_RANK_LDOM;
    _cleanup_bitset_ struct bitset *places = ldom ? bitset_new(BIND_KERNEL_MAX) : bitset_dup(mine);
    long at = -1;

    if (ldom)
        bitset_foreach (mine, i)
            bitset_set(places, w->map->numa[(size_t)i * w->map->each]);
    for (uint32_t i = 0; i < w->tasks; i++) {
        _cleanup_bitset_ struct bitset *one = bitset_new(places->size);
        at = bitset_next(places, (size_t)(at + 1));
        at = at < 0 ? bitset_next(places, 0) : at;
        bitset_set(one, (size_t)at);
        _cleanup_bitset_ struct bitset *near =
            ldom ? find_near_cpus(w->map, mine, one) : bitset_dup(one);
        out->cpus[i] = translate_cpus(w->map, near);
    }
}

/* Maximum number of threads per core that may be used. */
static uint32_t most_threads(const struct bind_want *w)
{
    const Pb__Bind *b = w->cpu_bind;

    if (b && b->has_threads_per_core && b->threads_per_core)
        return b->threads_per_core;
    return b && b->one_thread ? 1 : UINT32_MAX;
}

static struct bitset *read_cpus(const struct bind_want *w, ProtobufCBinaryData cpus)
{
    struct bitset *set = bitset_new(count_all(w->map));
    uint32_t threads = w->map->threads ? w->map->threads : 1, taken = 0, most = most_threads(w);

    for (size_t i = 0; i < set->size && i / 8 < cpus.len; i++) {
        taken = i % threads ? taken : 0; /* threads of this core */
        if (!(cpus.data[i / 8] >> (i % 8) & 1) || taken >= most)
            continue;
        bitset_set(set, i);
        taken++;
    }
    return set;
}

static void bind_to(const struct bind_want *w, const struct bitset *mine, Pb__BindKind kind,
                    struct bind_set *out)
{
    _cleanup_bitset_ struct bitset *around = read_cpus(w, w->around);
    bitset_or(around, mine);
    const struct deal d = {.map = w->map,
                           .mine = mine,
                           .around = around,
                           .kind = kind,
                           .sockets = w->sockets,
                           .cores = w->cores,
                           .otherwise = w->cpu_bind ? w->cpu_bind->otherwise : 0,
                           .tasks = w->tasks,
                           .cpus_per_task = w->cpus_per_task ? w->cpus_per_task : 1};
    struct bitset **dealt = mem_new_array(struct bitset *, w->tasks);

    deal_cpus(&d, dealt);
    for (uint32_t i = 0; i < w->tasks; i++) {
        out->cpus[i] = translate_cpus(w->map, dealt[i]);
        bitset_free(dealt[i]);
    }
    free(dealt);
}

int bind_find(const struct bind_want *w, struct bind_set *out, struct err *err)
{
    Pb__BindKind kind = w->cpu_bind ? w->cpu_bind->kind : PB__BIND_KIND__BIND_AUTO;

    *out = (struct bind_set){.tasks = w->tasks, .bound = kind != PB__BIND_KIND__BIND_NONE};
    if (!out->bound)
        return 0;
    _cleanup_bitset_ struct bitset *mine = read_cpus(w, w->cpus);
    if (bitset_empty(mine)) {
        out->bound = false;
        return 0;
    }
    out->cpus = mem_new_array(struct bitset *, w->tasks);
    switch (kind) {
    case PB__BIND_KIND__BIND_MAP:
    case PB__BIND_KIND__BIND_MASK:
    case PB__BIND_KIND__BIND_MAP_LDOM:
    case PB__BIND_KIND__BIND_MASK_LDOM: {
        int rc = bind_listed(w, mine, out, err);
        if (rc)
            bind_set_done(out);
        return rc;
    }
    case PB__BIND_KIND__BIND_RANK:
    case PB__BIND_KIND__BIND_RANK_LDOM:
        bind_by_rank(w, mine, out);
        return 0;
    default:
        bind_to(w, mine, kind, out);
        return 0;
    }
}

void bind_set_done(struct bind_set *set)
{
    for (uint32_t i = 0; set->cpus && i < set->tasks; i++)
        bitset_free(set->cpus[i]);
    free(take_ptr(set->cpus));
    free(take_ptr(set->complaint));
}

struct table { /* state of the distribution */
    const struct deal *d;
    struct bitset *left;
    uint32_t threads, per_socket, sockets;
    enum dist_order cores;
    bool by_cores;       /* a task that uses a core gets all of it */
    uint32_t turn;       /* the next socket */
    uint32_t *core_turn; /* the next core of each socket */
};

static uint32_t clamp_to_one(uint32_t n)
{
    return n ? n : 1;
}

/* Returns the number of CPUs in the set, of the group of 'size' CPUs that begins with 'first'. */
static uint32_t count_in(const struct bitset *set, size_t first, uint32_t size)
{
    uint32_t count = 0;

    for (size_t i = first; i < first + size && i < set->size; i++)
        count += bitset_test(set, i);
    return count;
}

/* Returns the number of groups of CPUs (cores, sockets) with at least one CPU in the set. */
static uint32_t groups_of(const struct bitset *set, uint32_t size)
{
    uint32_t count = 0;

    for (size_t first = 0; first < set->size; first += size)
        count += count_in(set, first, size) > 0;
    return count;
}

/* If the tasks need exactly as many threads, cores or sockets as there are, they are bound to these
 * units; otherwise the configured kind is used, or all CPUs. */
static Pb__BindKind choose_kind(const struct table *t)
{
    const struct bitset *mine = t->d->mine;
    uint64_t need = (uint64_t)t->d->tasks * t->d->cpus_per_task;

    if (need == bitset_count(mine))
        return PB__BIND_KIND__BIND_THREADS;
    if (need == groups_of(mine, t->threads))
        return PB__BIND_KIND__BIND_CORES;
    if (need == groups_of(mine, t->per_socket))
        return PB__BIND_KIND__BIND_SOCKETS;
    return t->d->otherwise;
}

/* Finds a core with that number of free CPUs, among 'count' cores from 'first' on, starting with
 * number 'turn'. Returns its first CPU; negative: there is none. */
static long find_core(const struct table *t, size_t first, uint32_t count, uint32_t turn,
                      uint32_t least)
{
    for (uint32_t i = 0; i < count; i++) {
        size_t core = first + (size_t)((turn + i) % count) * t->threads;
        if (count_in(t->left, core, t->threads) >= least)
            return (long)core;
    }
    return -1;
}

/* Takes up to 'count' CPUs of a core; if whole cores are distributed, its other CPUs become used
   as well. Returns the number that is missing. */
static uint32_t use_core(struct table *t, size_t core, uint32_t count, struct bitset *to)
{
    for (size_t i = core; i < core + t->threads && i < t->left->size; i++) {
        if (!bitset_test(t->left, i) || (!count && !t->by_cores))
            continue;
        bitset_unset(t->left, i);
        if (count) {
            bitset_set(to, i);
            count--;
        }
    }
    return count;
}

/* Takes up to 'count' CPUs of a socket. Returns the number that is missing. */
static uint32_t use_socket(struct table *t, uint32_t socket, uint32_t count, struct bitset *to)
{
    size_t first = (size_t)socket * t->per_socket;
    uint32_t cores = (t->per_socket + t->threads - 1) / t->threads;

    while (count) {
        bool block = t->cores == DIST_BLOCK, each = t->cores == DIST_FCYCLIC;
        uint32_t turn = block ? 0 : t->core_turn[socket], some = each ? 1 : count;
        uint32_t whole = some < t->threads ? some : t->threads;
        long core = find_core(t, first, cores, turn, block ? 1 : whole);
        core = core < 0 ? find_core(t, first, cores, turn, 1) : core;
        if (core < 0)
            break;
        count -= some - use_core(t, (size_t)core, some, to);
        t->core_turn[socket] = (uint32_t)(((size_t)core - first) / t->threads + 1) % cores;
    }
    return count;
}

/* Takes each CPU from the next socket that has a free one. */
static uint32_t deal_fully_cyclic(struct table *t, uint32_t need, struct bitset *to)
{
    for (uint32_t misses = 0; need && misses < t->sockets; t->turn = (t->turn + 1) % t->sockets) {
        uint32_t rest = use_socket(t, t->turn, 1, to);
        misses = rest ? misses + 1 : 0;
        need -= !rest;
    }
    return need;
}

/* Takes all CPUs from the next socket that has enough. */
static uint32_t deal_cyclic(struct table *t, uint32_t need, struct bitset *to)
{
    for (uint32_t i = 0; i < t->sockets && need; i++) {
        uint32_t socket = (t->turn + i) % t->sockets;
        if (count_in(t->left, (size_t)socket * t->per_socket, t->per_socket) < need)
            continue;
        need = use_socket(t, socket, need, to);
        t->turn = (socket + 1) % t->sockets;
        break;
    }
    return need;
}

/* CPUs that no single socket can provide are taken from one socket after another. */
static void deal_task(struct table *t, struct bitset *to)
{
    uint32_t need = t->d->cpus_per_task;

    if (t->d->sockets == DIST_FCYCLIC)
        need = deal_fully_cyclic(t, need, to);
    else if (t->d->sockets != DIST_BLOCK)
        need = deal_cyclic(t, need, to);
    for (uint32_t i = 0; i < t->sockets && need; i++)
        need = use_socket(t, i, need, to);
}

/* Distributes to all tasks. When nothing is left, for example because there are more tasks than
 * CPUs, distribution starts again with all CPUs. */
static void deal_all(struct table *t, struct bitset **of_task)
{
    for (uint32_t i = 0; i < t->d->tasks; i++) {
        of_task[i] = bitset_new(t->left->size);
        if (bitset_count(t->left) < t->d->cpus_per_task) {
            bitset_copy(t->left, t->d->mine);
            memset(t->core_turn, 0, t->sockets * sizeof(*t->core_turn));
            t->turn = 0;
        }
        deal_task(t, of_task[i]);
    }
}

/* Whether each task can have its own cores. If the distribution is to fill cores, tasks may share
   them. */
static bool has_own_cores(const struct table *t, Pb__BindKind kind)
{
    uint64_t each = t->cores == DIST_FCYCLIC ? t->d->cpus_per_task
                                             : (t->d->cpus_per_task + t->threads - 1) / t->threads;

    return kind != PB__BIND_KIND__BIND_THREADS && t->d->cores != DIST_BLOCK &&
           each * t->d->tasks <= groups_of(t->d->mine, t->threads);
}

/* Returns the index of the core, socket or NUMA node of a CPU, or the CPU itself. */
static size_t find_unit_place(const struct table *t, Pb__BindKind kind, size_t cpu)
{
    const Pb__CpuMap *map = t->d->map;
    size_t k = cpu * map->each;

    if (kind == PB__BIND_KIND__BIND_CORES)
        return cpu / t->threads;
    if (kind == PB__BIND_KIND__BIND_SOCKETS)
        return cpu / t->per_socket;
    if (kind == PB__BIND_KIND__BIND_LDOMS)
        return k < map->n_numa && map->numa[k] < BIND_KERNEL_MAX ? map->numa[k] : 0;
    return cpu;
}

/* Adds all usable CPUs of the same core, socket or NUMA node. */
static void widen_set(const struct table *t, Pb__BindKind kind, struct bitset *set)
{
    size_t most = set->size > BIND_KERNEL_MAX ? set->size : BIND_KERNEL_MAX;
    _cleanup_bitset_ struct bitset *begun = bitset_new(most);

    bitset_foreach (set, i)
        bitset_set(begun, find_unit_place(t, kind, (size_t)i));
    bitset_foreach (t->d->around, i) {
        if (bitset_test(begun, find_unit_place(t, kind, (size_t)i)))
            bitset_set(set, (size_t)i);
    }
}

static void deal_cpus(const struct deal *d, struct bitset **of_task)
{
    struct table t = {.d = d,
                      .left = bitset_dup(d->mine),
                      .threads = clamp_to_one(d->map->threads),
                      .per_socket = clamp_to_one(d->map->per_socket),
                      .cores = d->cores ? d->cores : d->sockets};
    Pb__BindKind kind = d->kind == PB__BIND_KIND__BIND_AUTO ? choose_kind(&t) : d->kind;

    t.sockets = (uint32_t)((d->mine->size + t.per_socket - 1) / t.per_socket);
    t.core_turn = mem_new_array(uint32_t, clamp_to_one(t.sockets));
    t.by_cores = has_own_cores(&t, kind);
    if (kind == PB__BIND_KIND__BIND_AUTO) {
        for (uint32_t i = 0; i < d->tasks; i++)
            of_task[i] = bitset_dup(d->mine);
    } else {
        deal_all(&t, of_task);
        for (uint32_t i = 0; i < d->tasks; i++)
            widen_set(&t, kind, of_task[i]);
    }
    free(t.core_turn);
    bitset_free(t.left);
}
