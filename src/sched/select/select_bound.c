/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --gres-flags=enforce-binding in the selection of nodes. For a node in another view than the
 * present one it is only tested whether an idle node would do: the CPUs that will be free are
 * unknown. */
#include <stdlib.h>
#include <string.h>

#include "cluster/job/whole_cores.h"
#include "cluster/resource/gres_bind.h"
#include "cluster/resource/gres_cores.h"
#include "sched/select/select.h"

/* Returns the units that the job is confined to by RestrictedCoresPerGPU; NULL: it is not. */
static struct bitset *find_others(const struct node *n, const struct job *j)
{
    return n->restricted && !gres_cores_may(&j->want.gres) ? gres_cores_others(n) : NULL;
}

static bool fits_room(const struct cluster *c, const struct job *j, const struct node_kind *k,
                      const struct select_room *room, uint32_t tasks, uint64_t more)
{
    const struct request *r = &j->want;
    size_t kinds = c->pool.gres_kinds;
    struct gres_amount amounts[GRES_KINDS_MAX];
    uint64_t rest[GRES_KINDS_MAX];
    const uint64_t *have = select_gres_room(r, k, room->gres, kinds, rest);
    if (have != rest)
        memcpy(rest, have, kinds * sizeof(*rest));
    uint64_t gpus = select_count_gpus(r, tasks, more);
    _cleanup_free_ uint32_t *left = cores_part_left(c, j->part, room->like);
    struct gres_bind bind = {.amounts = amounts};
    bind.count = gres_deal(&r->gres, kinds, rest, tasks, more, amounts);
    bind.want = select_units(r, k, tasks, r->cpus_per_gpu ? gpus : 0);
    bind.want.socket_left = left;
    _cleanup_bitset_ struct bitset *others = find_others(room->like, j);
    bind.want.only = others;
    return gres_bind_fits(room->like, &bind, !room->node);
}

bool select_is_bound(const struct cluster *c, const struct job *j, const struct free_view *view,
                     const struct share *s, const struct selection *out)
{
    const struct node *n = c->nodes.data[s->node];
    _cleanup_free_ uint32_t *left = cores_part_left(c, j->part, n);
    _cleanup_bitset_ struct bitset *others = find_others(n, j);
    const struct cores_want want = {.units = s->units,
                                    .only = others,
                                    .per_socket = s->per_socket,
                                    .beyond = s->beyond,
                                    .together = whole_units_on(&j->want, n),
                                    .socket_left = left};
    const struct gres_bind bind = {out->gres.data + s->gres_at, s->gres_len, want};
    return gres_bind_fits(n, &bind, !view->present);
}

uint32_t select_tasks_bound(const struct cluster *c, const struct job *j, const struct node_kind *k,
                            const struct select_room *room, uint32_t tasks, uint64_t *more)
{
    const struct request *r = &j->want;
    uint64_t least = more && *more ? 1 : 0;
    tasks = tasks < r->tasks ? tasks : r->tasks;
    while (tasks && !fits_room(c, j, k, room, tasks, least))
        tasks--;
    while (tasks && least && *more > 1 && !fits_room(c, j, k, room, tasks, *more))
        --*more;
    return tasks;
}
