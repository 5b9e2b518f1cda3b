/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/attempt/cancelled.h"

#include <assert.h>
#include <string.h>

bool cancelled_has(const struct cancelled *c, const struct cancelled_step *s)
{
    for (size_t i = 0; i < c->list.len; i++)
        if (!memcmp(&c->list.data[i], s, sizeof(*s)))
            return true;
    return false;
}

bool cancelled_add(struct cancelled *c, const struct cancelled_step *s)
{
    if (cancelled_has(c, s))
        return false;
    if (c->list.len < CANCELLED_MAX) {
        vec_push(&c->list, *s);
    } else {
        assert(c->next < c->list.len);
        c->list.data[c->next] = *s;
        c->next = (c->next + 1) % CANCELLED_MAX;
    }
    return true;
}

void cancelled_done(struct cancelled *c)
{
    vec_done(&c->list);
}
