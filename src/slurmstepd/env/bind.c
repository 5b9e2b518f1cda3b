/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/env/bind.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "slurmstepd/env/bind_deal.h"

static size_t count_all(const Pb__CpuMap *map)
{
    return map->each ? map->n_number / map->each : 0;
}

/* What the kernel calls these CPUs. */
static struct bitset *translate(const Pb__CpuMap *map, const struct bitset *cpus)
{
    struct bitset *set = bitset_new(BIND_KERNEL_MAX);

    bitset_foreach (cpus, i) {
        for (size_t k = (size_t)i * map->each; k < ((size_t)i + 1) * map->each; k++)
            if (k < map->n_number && map->number[k] < BIND_KERNEL_MAX)
                bitset_set(set, map->number[k]);
    }
    return set;
}

/* Those near one of these NUMA nodes. */
static struct bitset *near_to(const Pb__CpuMap *map, const struct bitset *mine,
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

static int parse_number(const char *text, struct bitset *out, struct err *err)
{
    char *end;
    unsigned long n = strtoul(text, &end, 0);

    if (!isdigit((unsigned char)*text) || *end || n >= out->size)
        return err_set(err, -ERR_BIND, "%s: invalid CPU number '%s'", err_text(ERR_BIND), text);
    bitset_set(out, n);
    return 0;
}

/* The entry of the list that is the task's turn. */
static int of_list(const struct bind_want *w, uint32_t task, struct bitset *out, struct err *err)
{
    const Pb__Bind *b = w->cpu_bind;

    if (!b->n_list)
        return err_set(err, -ERR_BIND, "%s: an empty list", err_text(ERR_BIND));
    const char *entry = b->list[task % b->n_list];
    bool mask = b->kind == PB__BIND_KIND__BIND_MASK || b->kind == PB__BIND_KIND__BIND_MASK_LDOM;
    return mask ? bind_parse(entry, out, err) : parse_number(entry, out, err);
}

static void complain(struct bind_set *out, const struct bitset *wanted, const struct bitset *has)
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

/* What was asked for by the kernel's numbers, as far as it is the step's. */
static int bind_listed(const struct bind_want *w, const struct bitset *mine, struct bind_set *out,
                       struct err *err)
{
    bool ldom = w->cpu_bind->kind >= PB__BIND_KIND__BIND_RANK_LDOM;
    _cleanup_bitset_ struct bitset *all = translate(w->map, mine);

    for (uint32_t i = 0; i < w->tasks; i++) {
        _cleanup_bitset_ struct bitset *wanted = bitset_new(BIND_KERNEL_MAX);
        int rc = of_list(w, i, wanted, err);
        if (rc)
            return rc;
        _cleanup_bitset_ struct bitset *near = ldom ? near_to(w->map, mine, wanted) : NULL;
        out->cpus[i] = near ? translate(w->map, near) : bitset_dup(wanted);
        bitset_and(out->cpus[i], all);
        if (bitset_count(out->cpus[i]) < bitset_count(near ? out->cpus[i] : wanted) ||
            bitset_empty(out->cpus[i])) {
            complain(out, wanted, all);
            bitset_copy(out->cpus[i], all);
        }
    }
    return 0;
}

/* The n-th of the CPUs, or of the NUMA nodes, for the n-th task. */
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
        _cleanup_bitset_ struct bitset *near = ldom ? near_to(w->map, mine, one) : bitset_dup(one);
        out->cpus[i] = translate(w->map, near);
    }
}

/* Threads of a core that may be used. */
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
        taken = i % threads ? taken : 0; /* of this core */
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

    bind_deal_find(&d, dealt);
    for (uint32_t i = 0; i < w->tasks; i++) {
        out->cpus[i] = translate(w->map, dealt[i]);
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
