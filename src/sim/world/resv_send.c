/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reservations that virtual operators make, change and delete. */
#include "base/mem.h"
#include "sim/world/parts.h"

static void send_delete(struct sim *s, unsigned index, const struct sim_item *a)
{
    Pb__ResvDelete m = PB__RESV_DELETE__INIT;
    m.name = (char *)a->name;
    sim_call(s, SIM_OF_ACT, SIM_RESV_DELETE, index, &s->rng, &m.base);
}

/* 'value': it begins so many seconds from now, 'for_ms': and is so long. */
static void send_update(struct sim *s, unsigned index, const struct sim_item *a)
{
    Pb__ResvUpdate m = PB__RESV_UPDATE__INIT;
    Pb__ResvRecord set = PB__RESV_RECORD__INIT;
    _cleanup_free_ char *users = mem_printf("%lld", (long long)a->uid);
    set.name = (char *)a->name;
    m.set = &set;
    m.has_create = m.create = a->what == SIM_DO_RESV_CREATE;
    set.users = users;
    set.has_end_at = true;
    set.has_start_at = a->what == SIM_DO_RESV_CREATE;
    set.start_at = sim_wall_ms(s) / 1000 + a->value;
    set.end_at = set.start_at + a->for_ms / 1000;
    if (a->what == SIM_DO_RESV_CREATE) {
        set.flags = (char *)a->text;
        set.has_node_count = a->id > 0;
        set.node_count = (uint32_t)a->id;
        if (!set.has_node_count)
            set.nodes = (char *)a->nodes;
    }
    sim_call(s, SIM_OF_ACT, SIM_RESV_UPDATE, index, &s->rng, &m.base);
}

void sim_resv_send(struct sim *s, unsigned index, const struct sim_item *a)
{
    if (a->what == SIM_DO_RESV_DELETE)
        send_delete(s, index, a);
    else
        send_update(s, index, a);
}

/* Those that wait for their ends would wait for long. */
void sim_resv_settle(struct sim *s, uint64_t (*new_call)(struct sim *s))
{
    static const struct caller root = {.is_operator = true, .is_admin = true};
    for (size_t i = s->resvs.len; i-- > 0;) {
        Pb__ResvDelete m = PB__RESV_DELETE__INIT;
        _cleanup_free_ char *name = mem_strdup(s->resvs.data[i].name);
        m.name = name;
        control_resv_delete(s->c->control, new_call(s), &root, &m);
    }
}
