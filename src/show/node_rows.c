/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/node_rows.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/pb.h"
#include "base/timefmt.h"
#include "show/json_out.h"
#include "show/listing_value.h"
#include "show/names.h"
#include "show/node_state.h"
#include "show/show.h"

enum field_class { OF_PART, OF_NODE, OF_NAME, OF_RANGE, OF_SUM };

/* sinfo filters and groups by these fields, even if it does not show them. */
#define ROWS_NEEDS                                                                                 \
    "state drain completing reboot_requested reboot_issued no_respond fail reason partitions "     \
    "reserved maint blocked planned"

struct node_row_index {
    struct node_row *row;
    char *key;
    UT_hash_handle hh;
};

static const char *get_availability(const Pb__PartRecord *part)
{
    if (!part->state || str_case_eq(part->state, "UP"))
        return "up";
    if (str_case_eq(part->state, "DRAIN"))
        return "drain";
    return str_case_eq(part->state, "INACTIVE") ? "inactive" : "down";
}

static const char *node_counts(const struct node_row *row, bool all, struct str *out)
{
    str_printf(out, "%lld/%lld", (long long)row->nodes_alloc, (long long)row->nodes_idle);
    if (all)
        str_printf(out, "/%lld/%lld", (long long)(row->nodes - row->nodes_alloc - row->nodes_idle),
                   (long long)row->nodes);
    return str_cstr(out);
}

static const char *cpu_counts(const struct node_row *row, struct str *out)
{
    str_printf(out, "%lld/%lld/%lld/%lld", (long long)row->cpus_alloc, (long long)row->cpus_idle,
               (long long)(row->cpus - row->cpus_alloc - row->cpus_idle), (long long)row->cpus);
    return str_cstr(out);
}

static const char *count_or_unlimited(uint32_t count, struct str *out)
{
    if (count == 0 || count == UINT32_MAX)
        return "UNLIMITED";
    str_printf(out, "%u", count);
    return str_cstr(out);
}

static void put_least(const struct node_row *row, enum node_range which, struct str *out)
{
    str_printf(out, "%lld%s", (long long)row->least[which],
               row->most[which] > row->least[which] ? "+" : "");
}

static struct listing_value make_range_value(const struct node_row *row, enum node_range which,
                                             struct str *out)
{
    put_least(row, which, out);
    return (struct listing_value){
        .kind = LISTING_RANKED, .text = str_cstr(out), .number = row->least[which]};
}

static const char *sockets_cores_threads(const struct node_row *row, struct str *out)
{
    put_least(row, RANGE_SOCKETS, out);
    str_putc(out, ':');
    put_least(row, RANGE_CORES, out);
    str_putc(out, ':');
    put_least(row, RANGE_THREADS, out);
    return str_cstr(out);
}

static void put_load(int64_t centi, struct str *out)
{
    if (centi < 0)
        str_puts(out, "N/A");
    else
        str_printf(out, "%lld.%02lld", (long long)centi / 100, (long long)centi % 100);
}

static const char *cpu_load(const struct node_row *row, struct str *out)
{
    put_load(row->node ? row->least[RANGE_LOAD] : -1, out);
    if (row->least[RANGE_LOAD] != row->most[RANGE_LOAD]) {
        str_putc(out, '-');
        put_load(row->most[RANGE_LOAD], out);
    }
    return str_cstr(out);
}

static void put_free(int64_t mib, struct str *out)
{
    if (mib < 0)
        str_puts(out, "N/A");
    else
        str_printf(out, "%lld", (long long)mib);
}

static const char *free_memory(const struct node_row *row, struct str *out)
{
    put_free(row->node ? row->least[RANGE_FREE] : -1, out);
    if (row->least[RANGE_FREE] != row->most[RANGE_FREE]) {
        str_putc(out, '-');
        put_free(row->most[RANGE_FREE], out);
    }
    return str_cstr(out);
}

static const char *get_node_reason(const Pb__NodeRecord *node)
{
    return node && node->reason && *node->reason ? node->reason : "none";
}

static const char *reason_user(const Pb__NodeRecord *node, bool with_number, struct str *out)
{
    if (!node || !node->reason || !*node->reason)
        return "Unknown";
    str_puts(out, names_user(node->reason_uid));
    if (with_number)
        str_printf(out, "(%u)", node->reason_uid);
    return str_cstr(out);
}

static const char *format_date(int64_t at, struct str *out)
{
    char buf[TIME_TEXT_MAX];
    str_puts(out, time_format_date(at, "Unknown", buf));
    return str_cstr(out);
}

static const char *format_time_limit(int64_t sec, struct str *out)
{
    char buf[TIME_TEXT_MAX];
    if (sec >= TIME_UNLIMITED)
        return "infinite";
    str_puts(out, time_format_short(sec, buf));
    return str_cstr(out);
}

static const char *all_or(const char *list)
{
    return !list || str_case_eq(list, "ALL") ? "all" : list;
}

static struct listing_value make_partition_value(const Pb__PartRecord *part)
{
    return (struct listing_value){
        .kind = LISTING_TEXT, .text = part->name, .mark = part->is_default ? '*' : 0};
}

static const char *job_size(const Pb__PartRecord *part, struct str *out)
{
    uint32_t least = part->min_nodes ? part->min_nodes : 1;
    if (!part->has_max_nodes || part->max_nodes == UINT32_MAX)
        str_printf(out, "%u-infinite", least);
    else if (part->max_nodes == least)
        str_printf(out, "%u", least);
    else
        str_printf(out, "%u-%u", least, part->max_nodes);
    return str_cstr(out);
}

static const char *format_state(const Pb__NodeRecord *node,
                                void (*put)(const Pb__NodeRecord *, struct str *), struct str *out)
{
    if (!node)
        return "n/a";
    put(node, out);
    for (size_t i = 0; i < out->len; i++)
        if (out->data[i] >= 'A' && out->data[i] <= 'Z')
            out->data[i] = (char)(out->data[i] + 32);
    return str_cstr(out);
}

/* The hosts of a line. A line of a single node has no list: the result is 'one'. */
static const char *format_hosts(struct hostlist *list, const char *one, struct str *out)
{
    if (!list)
        return one ? one : "";
    hostlist_uniq(list);
    hostlist_format(list, out);
    return str_cstr(out);
}

static struct listing_value node_list(const struct node_row *row, struct str *out)
{
    const char *first = row->node ? row->node->name : "";
    return (struct listing_value){
        .kind = LISTING_TEXT, .text = format_hosts(row->names, first, out), .key = first};
}

static const char *host_of(const Pb__NodeRecord *n)
{
    return n && n->hostname ? n->hostname : n ? n->name : NULL;
}

static const char *address_of(const Pb__NodeRecord *n)
{
    return n && n->addr ? n->addr : n ? n->name : NULL;
}

#define RANGED(which) make_range_value(row, which, out)

#define FIELD(id, name, letter, title, status, class, needs, value, help)                          \
    static struct listing_value get_##id(const void *record, struct str *out)                      \
    {                                                                                              \
        const struct node_row *row = record;                                                       \
        const Pb__PartRecord *part = row->part;                                                    \
        const Pb__NodeRecord *node = row->node;                                                    \
        (void)out;                                                                                 \
        (void)part;                                                                                \
        (void)node;                                                                                \
        return value;                                                                              \
    }
#include "show/node_columns.def"
#undef FIELD

static const struct listing_field fields[] = {
#define FIELD(id, name, letter, title, status, class, needs, value, help)                          \
    {name, letter, title, get_##id, help},
#include "show/node_columns.def"
#undef FIELD
};
static const struct {
    enum field_class class;
    const char *needs;
} traits[] = {
#define FIELD(id, name, letter, title, status, class, needs, value, help) {class, needs},
#include "show/node_columns.def"
#undef FIELD
};
const struct listing_table node_columns = {fields, sizeof(fields) / sizeof(fields[0]), "node"};

static enum field_class class_of(const struct listing_field *f)
{
    return traits[f - fields].class;
}

bool node_rows_show_partition(const struct listing *l)
{
    vec_foreach (&l->columns, c)
        if (c->field && (c->field->letter == 'P' || c->field->letter == 'R'))
            return true;
    return false;
}

bool node_rows_show_hosts(const struct listing *l)
{
    vec_foreach (&l->columns, c)
        if (c->field && class_of(c->field) == OF_NAME)
            return true;
    vec_foreach (&l->keys, key)
        if (class_of(key->field) == OF_NAME)
            return true;
    return false;
}

static void add_needs(struct pb_fields *needs, const struct listing_field *f)
{
    pb_fields_add(needs, &pb__node_record__descriptor, traits[f - fields].needs);
}

struct pb_fields node_rows_needs(const struct listing *l)
{
    struct pb_fields needs = {0};
    pb_fields_add(&needs, &pb__node_record__descriptor, ROWS_NEEDS);
    vec_foreach (&l->columns, c)
        if (c->field)
            add_needs(&needs, c->field);
    vec_foreach (&l->keys, key)
        add_needs(&needs, key->field);
    return needs;
}

/* Fills in what a single node contributes to each range. */
static void measure_node(const Pb__NodeRecord *n, int64_t value[RANGE_COUNT])
{
    value[RANGE_CPUS] = n->cpus;
    value[RANGE_SOCKETS] = n->sockets;
    value[RANGE_CORES] = n->cores;
    value[RANGE_THREADS] = n->threads;
    value[RANGE_MEMORY] = (int64_t)n->real_memory_mib;
    value[RANGE_DISK] = (int64_t)n->tmp_disk_mib;
    value[RANGE_WEIGHT] = n->weight;
    value[RANGE_LOAD] = n->has_cpu_load_centi ? (int64_t)n->cpu_load_centi : -1;
    value[RANGE_FREE] = n->has_free_mem_mib ? (int64_t)n->free_mem_mib : -1;
}

static void put_key_value(const struct node_rows *r, const struct listing_field *f,
                          const struct node_row *single, struct str *key)
{
    enum field_class class = class_of(f);
    if (class == OF_SUM || (class == OF_RANGE && !r->exact))
        return;
    _cleanup_str_ struct str scratch = STR_INIT;
    struct listing_value v = f->get(single, &scratch);
    str_putc(key, '\1');
    if (v.kind == LISTING_NUMBER)
        str_printf(key, "%lld", (long long)v.number);
    else
        str_puts(key, v.text);
}

/* Nodes with equal keys share a line. The key has the values of all columns, and no sort keys. */
static void put_key(const struct node_rows *r, const struct node_row *single, struct str *key)
{
    vec_foreach (&r->listing->columns, c)
        if (c->field)
            put_key_value(r, c->field, single, key);
}

static struct node_row *new_row(struct node_rows *r, const Pb__PartRecord *part, size_t part_index)
{
    struct node_row *row = mem_new(struct node_row);
    row->part = part;
    row->part_index = part_index;
    vec_push(&r->list, row);
    return row;
}

static void count_unit(const struct node_rows *r, struct node_row *row,
                       const struct node_rows_unit *u)
{
    const Pb__NodeRecord *n = u->node;
    int64_t value[RANGE_COUNT];
    uint32_t busy = n->alloc_cpus < n->cpus ? n->alloc_cpus : n->cpus;
    measure_node(n, value);
    for (int i = 0; i < RANGE_COUNT; i++) {
        if (!row->nodes || value[i] < row->least[i])
            row->least[i] = value[i];
        if (!row->nodes || value[i] > row->most[i])
            row->most[i] = value[i];
    }
    row->nodes += u->count;
    row->cpus += u->count * n->cpus;
    row->cpus_alloc += u->count * busy;
    row->mem_alloc += u->count * (int64_t)n->alloc_mem_mib;
    if (node_state_is_usable(n))
        row->cpus_idle += u->count * (n->cpus - busy);
    if (node_state_is_allocated(n) || n->completing)
        row->nodes_alloc += u->count;
    else if (node_state_is_usable(n))
        row->nodes_idle += u->count;
    if (u->names)
        hostlist_push_list(row->names, u->names);
    else if (row->names)
        hostlist_push(row->names, n->name);
    if (r->hosts) {
        hostlist_push(row->hostnames, host_of(n));
        hostlist_push(row->addresses, address_of(n));
    }
}

static struct node_row *new_unit_row(struct node_rows *r, const Pb__PartRecord *part,
                                     size_t part_index, const Pb__NodeRecord *node)
{
    struct node_row *row = new_row(r, part, part_index);
    row->node = node;
    row->names = r->by_node && !r->hosts ? NULL : hostlist_new();
    row->hostnames = r->hosts ? hostlist_new() : NULL;
    row->addresses = r->hosts ? hostlist_new() : NULL;
    return row;
}

/* Finds the line whose columns show the same values as the node, or makes a new line. */
static struct node_row *find_row(struct node_rows *r, const Pb__PartRecord *part, size_t part_index,
                                 const Pb__NodeRecord *node)
{
    struct node_row single = {.part = part, .part_index = part_index, .node = node, .nodes = 1};
    struct node_row_index *found = NULL;
    _cleanup_str_ struct str key = STR_INIT;
    measure_node(node, single.least);
    measure_node(node, single.most);
    put_key(r, &single, &key);
    HASH_FIND(hh, r->by_key, str_cstr(&key), key.len, found);
    if (!found) {
        found = mem_new(struct node_row_index);
        found->key = mem_strndup(str_cstr(&key), key.len);
        found->row = new_unit_row(r, part, part_index, node);
        HASH_ADD_KEYPTR(hh, r->by_key, found->key, key.len, found);
    }
    return found->row;
}

void node_rows_add(struct node_rows *r, const Pb__PartRecord *part, size_t part_index,
                   struct node_rows_unit *u)
{
    struct node_row *row = r->by_node ? new_unit_row(r, part, part_index, u->node)
                                      : find_row(r, part, part_index, u->node);
    vec_foreach (&u->in, other)
        if (*other == row)
            return;
    if (!r->by_node)
        vec_push(&u->in, row);
    count_unit(r, row, u);
}

void node_rows_add_empty(struct node_rows *r, const Pb__PartRecord *part, size_t part_index)
{
    new_row(r, part, part_index);
}

void node_rows_done(struct node_rows *r)
{
    struct node_row_index *i, *next;
    HASH_ITER (hh, r->by_key, i, next) {
        HASH_DEL(r->by_key, i);
        free(i->key);
        free(i);
    }
    vec_foreach (&r->list, row) {
        hostlist_free((*row)->names);
        hostlist_free((*row)->hostnames);
        hostlist_free((*row)->addresses);
        free(*row);
    }
    vec_done(&r->list);
}

/* --- JSON ----------------------------------------------------------------------------------------
 */

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
