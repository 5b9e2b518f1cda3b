/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Listings of nodes, individually or in groups. A table of a large cluster shows few fields, in
 * which most nodes are equal: such a group is one element, so that the size of the listing grows
 * with the differences and not with the number of nodes.
 */
#include <assert.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/pb.h"
#include "cluster/node/node_list.h"

#define LOOK_MAX 4096 /* nodes visited in one call: under a millisecond */
#define NAME_FIELD 1
#define COUNT_FIELD 55
#define COMPARED_MAX 128 /* fields of NodeRecord */

struct run { /* consecutive equal nodes */
    const struct node_query *query;
    const ProtobufCFieldDescriptor *compared[COMPARED_MAX];
    size_t compared_count;
    struct node_view views[2]; /* the first node of the run, and the next node */
    unsigned first;            /* index of the first node's view */
    size_t count;              /* number of nodes; 0: no run */
    struct hostlist *names;    /* of two or more nodes */
    struct str packed, some;
};

static void run_init(struct run *r, const struct node_query *q)
{
    *r = (struct run){.query = q};
    node_view_init(&r->views[0]);
    node_view_init(&r->views[1]);
    assert(pb__node_record__descriptor.n_fields <= COMPARED_MAX);
    pb_each_field (&pb__node_record__descriptor, field)
        if (pb_fields_have(&q->fields, field->id) && field->id != NAME_FIELD &&
            field->label != PROTOBUF_C_LABEL_REPEATED)
            r->compared[r->compared_count++] = field;
}

static void run_done(struct run *r)
{
    node_view_done(&r->views[0]);
    node_view_done(&r->views[1]);
    hostlist_free(r->names);
    str_done(&r->packed);
    str_done(&r->some);
}

static bool has_more_nodes(const struct run *r)
{
    for (size_t i = 0; i < r->compared_count; i++)
        if (!pb_same_field(&r->views[0].record.base, &r->views[1].record.base, r->compared[i]))
            return false;
    return r->count > 0;
}

static void run_end(struct run *r, struct str *out)
{
    Pb__NodeRecord *m = &r->views[r->first].record;
    struct pb_fields fields = r->query->fields;
    pb_fields_put(&fields, NAME_FIELD, true);
    _cleanup_str_ struct str names = STR_INIT;
    if (!r->count)
        return;
    if (r->names) {
        hostlist_format(r->names, &names);
        hostlist_free(take_ptr(r->names));
        m->name = (char *)str_cstr(&names);
        m->has_count = true;
        m->count = (uint32_t)r->count;
        pb_fields_put(&fields, COUNT_FIELD, true);
    }
    r->count = 0;
    str_clear(&r->packed);
    str_clear(&r->some);
    pb_pack(&m->base, &r->packed);
    bool all = pb_fields_are_all(&fields);
    if (!all)
        pb_pick_fields(r->packed.data, r->packed.len, &fields, &r->some);
    const struct str *bytes = all ? &r->packed : &r->some;
    pb_pack_field(1, bytes->data, bytes->len, out);
}

static bool is_name(const char *text, const char *name)
{
    return text && strcmp(text, name) == 0;
}

static bool is_planned(const struct cluster *c, const struct node_query *q, const struct node *n)
{
    return q->planned && n->index < q->planned->size && bitset_test(q->planned, n->index) &&
           (c->pool.now.whole[n->index] || node_is_mixed(n)) &&
           bitset_test(c->pool.usable, n->index);
}

static void run_add(struct run *r, const struct cluster *c, const struct node *n, struct str *out)
{
    struct node_view *next = &r->views[!r->first];
    node_view_set(next, c, n, &r->query->fields);
    if (r->query->blocked && bitset_test(r->query->blocked, n->index))
        SET(&next->record, blocked, true);
    if (is_planned(c, r->query, n))
        SET(&next->record, planned, true);
    if (r->query->group) {
        if (is_name(next->record.hostname, n->name))
            next->record.hostname = NULL;
        if (is_name(next->record.addr, n->name))
            next->record.addr = NULL;
    }
    if (!r->query->group || !has_more_nodes(r)) {
        run_end(r, out);
        r->first = !r->first;
        r->count = 1;
        return;
    }
    if (r->count++ == 1) {
        r->names = hostlist_new();
        hostlist_push(r->names, r->views[r->first].record.name);
    }
    hostlist_push(r->names, n->name);
}

bool node_list(const struct cluster *c, const struct node_query *q, uint64_t *cursor, size_t budget,
               struct str *out)
{
    struct run run;
    size_t start = out->len, looked = 0;
    run_init(&run, q);
    for (; *cursor < c->nodes.len && out->len - start <= budget && looked < LOOK_MAX; ++*cursor) {
        const struct node *n = c->nodes.data[*cursor];
        if (q->nodes && !bitset_test(q->nodes, n->index))
            continue;
        run_add(&run, c, n, out);
        looked++;
    }
    run_end(&run, out);
    run_done(&run);
    return *cursor < c->nodes.len;
}
