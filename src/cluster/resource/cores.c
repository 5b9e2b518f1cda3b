/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/resource/cores.h"

#include <stdlib.h>

#include "base/ranges.h"
#include "cluster/cluster.h"
#include "cluster/resource/spec.h"

uint32_t cores_socket(const struct node *n, size_t unit)
{
    return (uint32_t)(spec_place(n, unit) / n->units_per_socket);
}

/* Returns the first unit of the socket, or of the next one with units. */
static size_t find_socket_begin(const struct node *n, size_t socket)
{
    return spec_units_before(n, socket * n->units_per_socket);
}

size_t cores_count_sockets(const struct node *n)
{
    return n->units ? cores_socket(n, n->units - 1) + (size_t)1 : 0;
}

struct socket {
    uint32_t room; /* units that may be taken there now */
    uint32_t rest; /* the same ignoring per_socket */
    bool near;
};

void cores_add_together(const struct node *n, uint32_t together, struct bitset *units)
{
    for (long i = together > 1 ? bitset_next(units, 0) : -1; i >= 0;) {
        size_t first = (size_t)i / together * together, left = n->units - first;
        bitset_set_range(units, first, left < together ? left : together);
        i = bitset_next(units, first + together);
    }
}

/* Returns the busy units plus free units that are allocated together with busy ones. NULL: units
 * are allocated individually. */
static struct bitset *fill_partly_busy(const struct node *n, const struct bitset *busy,
                                       uint32_t together)
{
    if (together < 2)
        return NULL;
    struct bitset *all = bitset_dup(busy);
    cores_add_together(n, together, all);
    return all;
}

/* 'busy': units of the node that are unavailable. */
static void count_free_cores(const struct node *n, const struct cores_want *want,
                             const struct bitset *busy, struct socket *sockets)
{
    uint32_t together = want->together ? want->together : 1;
    for (long i = bitset_next_clear(busy, 0); i >= 0; i = bitset_next_clear(busy, (size_t)i + 1)) {
        uint32_t at = cores_socket(n, (size_t)i);
        struct socket *s = &sockets[at];
        s->near = s->near || (want->near && bitset_test(want->near, (size_t)i));
        if (want->socket_left && s->rest >= want->socket_left[at] / together * together)
            continue;
        s->rest++;
        s->room += !want->per_socket || s->room < want->per_socket;
    }
}

/* Prefers near units; then the tightest sufficient socket, otherwise the one with the most. */
static bool is_better(const struct socket *a, const struct socket *b, uint32_t left)
{
    bool x = a->room >= left, y = b->room >= left;
    if (a->near != b->near)
        return a->near;
    if (x != y)
        return x;
    return x ? a->room < b->room : a->room > b->room;
}

static long best_socket(const struct socket *sockets, size_t count, uint32_t left)
{
    long best = -1;
    for (size_t i = 0; i < count; i++)
        if (sockets[i].room && (best < 0 || is_better(&sockets[i], &sockets[best], left)))
            best = (long)i;
    return best;
}

/* Takes up to this number of free units of the range, near ones first; returns how many. */
static uint32_t take_range(const struct bitset *busy, const struct bitset *near, size_t first,
                           size_t end, uint32_t most, struct bitset *out)
{
    uint32_t taken = 0;
    for (int far = near ? 0 : 1; far < 2; far++)
        for (long i = bitset_next_clear(busy, first); i >= 0 && (size_t)i < end && taken < most;
             i = bitset_next_clear(busy, (size_t)i + 1))
            if ((far || bitset_test(near, (size_t)i)) && !bitset_test(out, (size_t)i)) {
                bitset_set(out, (size_t)i);
                taken++;
            }
    return taken;
}

/* Whether the choice is trivial: each unit is a socket, all are on one socket, or all free units
 * are wanted. */
static bool is_plain(const struct node *n, const struct cores_want *want)
{
    return !want->per_socket && !want->socket_left && want->together < 2 &&
           (n->units_per_socket == 1 || cores_socket(n, 0) + (size_t)1 == cores_count_sockets(n) ||
            want->units == n->free_units);
}

/* Takes more units from each socket in turn, near ones first. */
static bool take_turns(const struct node *n, const struct cores_want *want,
                       const struct bitset *busy, uint32_t left, struct socket *sockets,
                       struct bitset *chosen)
{
    size_t count = cores_count_sockets(n);
    uint32_t step = want->together ? want->together : 1;
    for (int far = 0; far < 2; far++)
        for (bool more = true; more && left;) {
            more = false;
            for (size_t i = 0; i < count && left; i++) {
                if (sockets[i].room < step || left < step || !(far || sockets[i].near))
                    continue;
                take_range(busy, want->near, find_socket_begin(n, i), find_socket_begin(n, i + 1),
                           step, chosen);
                sockets[i].room -= step;
                sockets[i].rest -= step;
                left -= step;
                more = true;
            }
        }
    return left == 0;
}

/* Takes more units socket by socket. */
static bool take_sockets(const struct node *n, const struct cores_want *want,
                         const struct bitset *busy, uint32_t left, struct socket *sockets,
                         struct bitset *chosen)
{
    if (want->cyclic)
        return take_turns(n, want, busy, left, sockets, chosen);
    while (left) {
        long best = best_socket(sockets, cores_count_sockets(n), left);
        if (best < 0)
            return false;
        uint32_t most = sockets[best].room < left ? sockets[best].room : left;
        most = take_range(busy, want->near, find_socket_begin(n, (size_t)best),
                          find_socket_begin(n, (size_t)best + 1), most, chosen);
        left -= most;
        sockets[best].rest -= most;
        sockets[best].room = 0;
    }
    return true;
}

/* Chooses the units under per_socket first: the others may be anywhere. */
static bool choose_cores(const struct node *n, const struct cores_want *want,
                         const struct bitset *busy, struct bitset *out)
{
    size_t count = cores_count_sockets(n);
    _cleanup_free_ struct socket *sockets = mem_new_array(struct socket, count + 1);
    _cleanup_bitset_ struct bitset *chosen = bitset_new(n->units);
    count_free_cores(n, want, busy, sockets);
    if (!take_sockets(n, want, busy, want->units - want->beyond, sockets, chosen))
        return false;
    for (size_t i = 0; i < count; i++)
        sockets[i].room = sockets[i].rest;
    if (!take_sockets(n, want, busy, want->beyond, sockets, chosen))
        return false;
    bitset_or(out, chosen);
    return true;
}

bool cores_choose_beside(const struct node *n, const struct cores_want *want,
                         const struct bitset *busy, struct bitset *out)
{
    _cleanup_bitset_ struct bitset *all = fill_partly_busy(n, busy, want->together);
    return choose_cores(n, want, all ? all : busy, out);
}

bool cores_choose(const struct node *n, const struct cores_want *want, struct bitset *out)
{
    if (want->units > n->free_units)
        return false;
    if (want->only) {
        _cleanup_bitset_ struct bitset *busy = bitset_new(n->units);
        bitset_fill(busy);
        bitset_andnot(busy, want->only);
        bitset_or(busy, n->busy);
        return cores_choose_beside(n, want, busy, out);
    }
    if (!is_plain(n, want))
        return cores_choose_beside(n, want, n->busy, out);
    take_range(n->busy, want->near, 0, n->units, want->units, out);
    return true;
}

bool cores_choose_among(const struct node *n, const struct cores_want *want,
                        const struct bitset *among, struct bitset *out)
{
    _cleanup_bitset_ struct bitset *busy = bitset_new(n->units);
    bitset_fill(busy);
    bitset_andnot(busy, among);
    return bitset_count(among) >= want->units && choose_cores(n, want, busy, out);
}

uint32_t cores_tasks(const struct node *n, const struct cores_pack *pack)
{
    size_t count = cores_count_sockets(n);
    _cleanup_free_ struct socket *sockets = mem_new_array(struct socket, count + 1);
    uint32_t sum = 0, together = pack->together ? pack->together : 1;
    const struct bitset *busy = pack->busy ? pack->busy : n->busy;
    _cleanup_bitset_ struct bitset *all = fill_partly_busy(n, busy, together);
    const struct cores_want want = {.socket_left = pack->socket_left, .together = together};
    count_free_cores(n, &want, all ? all : busy, sockets);
    for (size_t i = 0; i < count; i++) {
        uint64_t units = sockets[i].room / together;
        uint64_t tasks = units * pack->used / pack->cpus;
        uint64_t by_unit = pack->per_unit ? units * pack->per_unit : tasks;
        tasks = by_unit < tasks ? by_unit : tasks;
        sum += tasks < pack->per_socket ? (uint32_t)tasks : pack->per_socket;
    }
    return sum;
}

uint32_t cores_room(const struct node *n, const struct bitset *busy, uint32_t per_socket,
                    const uint32_t *socket_left, uint32_t together)
{
    size_t count = cores_count_sockets(n);
    _cleanup_free_ struct socket *sockets = mem_new_array(struct socket, count + 1);
    busy = busy ? busy : n->busy;
    _cleanup_bitset_ struct bitset *all = fill_partly_busy(n, busy, together);
    const struct cores_want want = {
        .per_socket = per_socket, .socket_left = socket_left, .together = together};
    uint32_t sum = 0;
    count_free_cores(n, &want, all ? all : busy, sockets);
    for (size_t i = 0; i < count; i++)
        sum += sockets[i].room;
    return sum;
}

void cores_of_list(const struct node *n, const char *list, struct bitset *out)
{
    ranges_foreach (list, r) {
        size_t from = r.first * n->units_per_socket / n->cores;
        size_t to = ((r.last + 1) * n->units_per_socket + n->cores - 1) / n->cores;
        from = spec_units_before(n, from);
        to = spec_units_before(n, to);
        for (size_t i = from; i < to && i < out->size; i++)
            bitset_set(out, i);
    }
}
