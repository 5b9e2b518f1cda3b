/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layers of hierarchical resources that have less than a job requests: which ones would have to
 * have more, and the commands that give it to them. */
#include "base/str.h"
#include "cluster/job/license_layer.h"
#include "cluster/job/license_tied.h"
#include "sched/why/why_state.h"

struct remedy {
    struct str lack, what, command;
    bool is_enough; /* the job can have all that it requests with these counts */
};

/* Adds the layers of one need that would have to have more. */
static void add_raises(const struct why *w, const struct license_raise *raises, size_t count,
                       struct remedy *m)
{
    const struct license *pools = w->cluster->licenses.list.data;
    for (size_t i = 0; i < count; i++) {
        const struct license *l = &pools[raises[i].at];
        const char *also = m->lack.len ? ", " : "";
        str_puts(&m->lack, also);
        license_format_total(l, &m->lack);
        str_puts(&m->what, *also ? ", and " : "");
        str_printf(&m->command, "%sscontrol update license='", *also ? " && " : "");
        license_format_pool(l, &m->command);
        if (raises[i].is_enough_file) {
            str_puts(&m->what, "the count of resources.yaml for ");
            str_puts(&m->command, "' count=file");
        } else {
            unsigned long long enough = raises[i].total + l->base;
            str_printf(&m->what, "a count of %llu for ", enough);
            str_printf(&m->command, "' count=%llu", enough);
            m->is_enough = m->is_enough && enough <= CONF_HRES_COUNT_MAX;
        }
        license_format_pool(l, &m->what);
    }
}

static void put_first(struct why *w, const struct license_need *need,
                      const struct license_raise *raise)
{
    const struct license *l = &w->cluster->licenses.list.data[raise->at];
    why_put_short(w, why_name_pool(w, need, l), l->total, raise->total);
}

/* All needs that are never met are mended together: one of them would not help the job. */
bool why_put_raises(struct why *w, const struct job *j)
{
    struct remedy m = {STR_INIT, STR_INIT, STR_INIT, true};
    vec_foreach (&j->want.licenses.list, need) {
        struct license_raise raises[LICENSE_RAISES_MAX];
        if (license_need_is_possible(w->cluster, j, need))
            continue;
        size_t count = license_is_tied(w->cluster, need)
                           ? license_find_raises(w->cluster, j, need, raises)
                           : 0;
        m.is_enough = m.is_enough && count;
        if (count && !m.lack.len)
            put_first(w, need, &raises[0]);
        add_raises(w, raises, count, &m);
    }
    bool any = m.lack.len > 0;
    if (any)
        why_put_lack(w, &m.lack);
    if (any && m.is_enough) {
        w->count_what = arena_strdup(&w->arena, str_cstr(&m.what));
        w->count_command = arena_strdup(&w->arena, str_cstr(&m.command));
    }
    str_done(&m.lack);
    str_done(&m.what);
    str_done(&m.command);
    return any;
}
