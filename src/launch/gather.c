/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/gather.h"

#include "base/mem.h"
#include "base/str.h"

static struct gathered *with_text(struct gather *g, const char *text)
{
    struct gathered one;

    vec_foreach (&g->list, at)
        if (!strcmp(at->text, text))
            return at;
    one = (struct gathered){.text = mem_strdup(text), .nodes = hostlist_new()};
    vec_push(&g->list, one);
    return &vec_last(&g->list);
}

void gather_add(struct gather *g, const char *node, const char *text)
{
    hostlist_push(with_text(g, text)->nodes, node);
}

void gather_tell(struct gather *g, gather_fn *fn, void *ctx)
{
    vec_foreach (&g->list, at) {
        _cleanup_str_ struct str nodes = STR_INIT;

        hostlist_uniq(at->nodes);
        hostlist_format(at->nodes, &nodes);
        fn(ctx, str_cstr(&nodes), at->text);
    }
    gather_done(g);
}

void gather_done(struct gather *g)
{
    vec_foreach (&g->list, at) {
        free(at->text);
        hostlist_free(at->nodes);
    }
    vec_done(&g->list);
}
