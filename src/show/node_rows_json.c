/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/node_rows.h"

#include "base/mem.h"
#include "show/json_out.h"
#include "show/names.h"
#include "show/node_state.h"
#include "show/show.h"

static void put_member(json_t *o, const char *key, json_t *value)
{
    json_object_set_new(o, key, value);
}

static json_t *pack_counts(int64_t allocated, int64_t idle, int64_t total)
{
    return json_pack("{s:I, s:I, s:I, s:I}", "allocated", (json_int_t)allocated, "idle",
                     (json_int_t)idle, "other", (json_int_t)(total - allocated - idle), "total",
                     (json_int_t)total);
}

static void put_range(json_t *o, const struct node_row *row, enum node_range which)
{
    put_member(o, "minimum", json_integer(row->least[which]));
    put_member(o, "maximum", json_integer(row->most[which]));
}

static json_t *pack_range(const struct node_row *row, enum node_range which)
{
    json_t *o = json_object();
    put_range(o, row, which);
    return o;
}

/* The value is negative while the node has not reported it. */
static json_t *pack_known(int64_t value)
{
    return json_out_number(value >= 0, false, value);
}

static json_t *host_array(const struct hostlist *list)
{
    json_t *array = json_array();
    char name[HOSTLIST_NAME_MAX + 1];
    for (size_t i = 0; list && i < hostlist_count(list); i++)
        json_array_append_new(array, json_out_text(hostlist_nth(list, i, name)));
    return array;
}

static json_t *pack_nodes(const struct node_row *row)
{
    json_t *o = pack_counts(row->nodes_alloc, row->nodes_idle, row->nodes);
    put_member(o, "hostnames", host_array(row->hostnames));
    put_member(o, "addresses", host_array(row->addresses));
    put_member(o, "nodes", host_array(row->names));
    return o;
}

static json_t *pack_cpus(const struct node_row *row)
{
    uint32_t most = row->part->max_cpus_per_node;
    bool unlimited = most == 0 || most == UINT32_MAX;
    json_t *o = pack_counts(row->cpus_alloc, row->cpus_idle, row->cpus);
    put_range(o, row, RANGE_CPUS);
    put_member(o, "load", pack_range(row, RANGE_LOAD));
    put_member(o, "per_node", json_pack("{s:o}", "max", json_out_number(true, unlimited, most)));
    return o;
}

static json_t *pack_memory(const struct node_row *row)
{
    json_t *o = pack_range(row, RANGE_MEMORY);
    int64_t least = row->node ? row->least[RANGE_FREE] : -1;
    int64_t most = row->node ? row->most[RANGE_FREE] : -1;
    put_member(o, "free",
               json_pack("{s:o, s:o}", "minimum", pack_known(least), "maximum", pack_known(most)));
    put_member(o, "allocated", json_integer(row->mem_alloc));
    return o;
}

static json_t *pack_reason(const Pb__NodeRecord *n)
{
    bool there = n && n->reason && *n->reason;
    return json_pack("{s:o, s:o, s:o}", "description", json_out_text(there ? n->reason : ""),
                     "time", json_out_number(there, false, there ? n->reason_at : 0), "user",
                     json_out_text(there && n->has_reason_uid ? names_user(n->reason_uid) : ""));
}

json_t *node_rows_json(const struct node_row *row, const char *cluster)
{
    static const Pb__NodeRecord none = PB__NODE_RECORD__INIT;
    const Pb__NodeRecord *n = row->node ? row->node : &none;
    const char *active = node_state_active_features(n);
    json_t *o = json_object();
    put_member(o, "port", json_integer(n->port));
    put_member(o, "node",
               json_pack("{s:o}", "state", row->node ? show_node_states_json(n) : json_array()));
    put_member(o, "nodes", pack_nodes(row));
    put_member(o, "cpus", pack_cpus(row));
    put_member(o, "sockets", pack_range(row, RANGE_SOCKETS));
    put_member(o, "cores", pack_range(row, RANGE_CORES));
    put_member(o, "threads", pack_range(row, RANGE_THREADS));
    put_member(o, "disk", pack_range(row, RANGE_DISK));
    put_member(o, "memory", pack_memory(row));
    put_member(o, "weight", pack_range(row, RANGE_WEIGHT));
    put_member(o, "features",
               json_pack("{s:o, s:o}", "total", json_out_text(n->features), "active",
                         json_out_text(active)));
    put_member(o, "gres",
               json_pack("{s:o, s:s}", "total", json_out_text(n->gres), "used",
                         n->gres_used ? n->gres_used : ""));
    put_member(o, "cluster", json_out_text(cluster));
    put_member(o, "comment", json_out_text(n->comment));
    put_member(o, "extra", json_out_text(n->extra));
    put_member(o, "reason", pack_reason(row->node));
    put_member(o, "reservation", json_string(""));
    put_member(o, "partition", show_part_json(row->part, cluster));
    return o;
}
