/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The licences of the cluster, to be shown. */
#include "base/pb.h"
#include "control/internal.h"

/* By reservations that are active. */
static uint64_t reserved(const struct control *c, int32_t at)
{
    uint64_t sum = 0;
    vec_foreach (&c->cluster->resvs, r)
        vec_foreach (&(*r)->stock, s)
            sum += s->at == at && resv_is_now(*r, control_wall(c)) ? s->count : 0;
    return sum;
}

void control_list_licenses(struct control *c, uint64_t call)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__LicenseList list = PB__LICENSE_LIST__INIT;
    list.licenses =
        arena_alloc(&arena, sizeof(*list.licenses) * (c->cluster->licenses.list.len + 1));
    vec_foreach (&c->cluster->licenses.list, l) {
        Pb__LicenseRecord *r = arena_alloc(&arena, sizeof(*r));
        pb__license_record__init(r);
        r->name = l->name;
        SET(r, total, l->total);
        SET(r, used, l->used);
        SET(r, reserved, reserved(c, (int32_t)(l - c->cluster->licenses.list.data)));
        list.licenses[list.n_licenses++] = r;
    }
    c->env->reply(c->env->ctx, call, &list.base);
}
