/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Listings, put together from the packed forms of the records. */
#include <stdlib.h>

#include "base/hostlist.h"
#include "control/internal.h"

#define STAMP_BITS 40 /* of a listing's stamp; the epoch is above them */

/* The jobs a listing looks at, by rising id: all of them, or those asked for. */
struct walk {
    const struct cluster *cluster;
    VEC(uint32_t) ids; /* sorted */
    bool by_id;
    size_t at;
};

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* To the first job whose id is not below 'from'. */
static void walk_begin(struct walk *w, uint32_t from)
{
    size_t low = 0, high = w->by_id ? w->ids.len : w->cluster->jobs.len;
    if (w->by_id)
        qsort(w->ids.data, w->ids.len, sizeof(*w->ids.data), compare_ids);
    while (low < high) {
        size_t middle = (low + high) / 2;
        uint32_t id = w->by_id ? w->ids.data[middle] : w->cluster->jobs.data[middle]->id;
        if (id < from)
            low = middle + 1;
        else
            high = middle;
    }
    w->at = low;
}

static struct job *walk_next(struct walk *w)
{
    if (!w->by_id)
        return w->at < w->cluster->jobs.len ? w->cluster->jobs.data[w->at++] : NULL;
    while (w->at < w->ids.len) {
        uint32_t id = w->ids.data[w->at++];
        while (w->at < w->ids.len && w->ids.data[w->at] == id) /* asked for twice, told once */
            w->at++;
        struct job *j = cluster_find_job(w->cluster, id);
        if (j)
            return j;
    }
    return NULL;
}

/* The nodes named, without the unknown names: who asks about a node that is gone gets nothing of
 * it. NULL: nothing was said. */
static struct bitset *known_nodes(const struct cluster *c, const char *expr)
{
    _cleanup_hostlist_ struct hostlist *list = NULL;
    char name[HOSTLIST_NAME_MAX + 1];

    if (!expr)
        return NULL;
    struct bitset *set = bitset_new(c->nodes.len);
    if (str_case_eq(expr, "ALL"))
        bitset_fill(set);
    else if (hostlist_parse(expr, &list, NULL) == 0)
        for (size_t i = 0; i < hostlist_count(list); i++) {
            long index = conf_find_node(c->conf, hostlist_nth(list, i, name));
            if (index >= 0)
                bitset_set(set, (size_t)index);
        }
    return set;
}

static bool has_word(char *const *words, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(words[i], word))
            return true;
    return count == 0;
}

static bool has_number(const uint32_t *numbers, size_t count, uint32_t number)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == number)
            return true;
    return count == 0;
}

static bool in_part(const struct job *j, char *const *parts, size_t count)
{
    return has_word(parts, count, j->part ? j->part->conf.name : NULL);
}

static bool job_uses(const struct job *j, const struct bitset *nodes)
{
    vec_foreach (&j->alloc, a)
        if (bitset_test(nodes, a->node))
            return true;
    return false;
}

/* PrivateData: what ordinary users see of their own only, or not at all. */
static bool is_private(const struct control *c, const struct caller *who, const char *what)
{
    return !who->is_operator && !who->is_admin && conf_list_has(c->conf->private_data, what);
}

static int64_t full_stamp(const struct control *c, uint64_t stamp)
{
    /* The count begins anew with the process, so that the epoch tells its stamps from older ones.
     */
    uint64_t epoch = c->epoch & ((UINT64_C(1) << (63 - STAMP_BITS)) - 1);
    return (int64_t)(epoch << STAMP_BITS | (stamp & ((UINT64_C(1) << STAMP_BITS) - 1)));
}

bool control_unchanged_since(const struct control *c, int64_t stamp)
{
    return stamp == full_stamp(c, c->cluster->stamp);
}

/* --- jobs
 * ----------------------------------------------------------------------------------------- */

static bool state_fits(const struct job *j, const Pb__JobFilter *f)
{
    if (f->has_all_states && f->all_states)
        return true;
    if (f->n_state == 0) {
        bool asks_completing = f->has_completing && f->completing;
        if (f->n_job_id && !asks_completing)
            return true;
        return j->completing || (!asks_completing && !job_is_final(j));
    }
    for (size_t i = 0; i < f->n_state; i++)
        if (f->state[i] == j->state)
            return true;
    return j->completing && f->has_completing && f->completing;
}

static bool user_fits(const struct job *j, const Pb__JobSpec *spec, const Pb__JobFilter *f)
{
    long long uid;

    for (size_t i = 0; i < f->n_user; i++) {
        if (str_eq(f->user[i], spec->user_name))
            return true;
        if (str_parse_i64(f->user[i], 0, UINT32_MAX, &uid) == 0 && uid == j->uid)
            return true;
    }
    for (size_t i = 0; i < f->n_uid; i++)
        if (f->uid[i] == j->uid)
            return true;
    return false;
}

/* What is known only to the packed request: it is unpacked for these filters alone. */
static bool spec_fits(const struct job *j, const Pb__JobFilter *f)
{
    _cleanup_arena_ struct arena arena;

    if (f->n_name == 0 && f->n_user == 0)
        return true;
    arena_init(&arena, 0);
    const Pb__JobSpec *spec = job_unpack_spec(j, &arena);
    return spec && has_word(f->name, f->n_name, spec->name) &&
           (f->n_user == 0 || user_fits(j, spec, f));
}

static bool job_fits(const struct job *j, const Pb__JobFilter *f, const struct bitset *nodes)
{
    return state_fits(j, f) && in_part(j, f->partition, f->n_partition) &&
           (f->n_user || has_number(f->uid, f->n_uid, j->uid)) && (!nodes || job_uses(j, nodes)) &&
           spec_fits(j, f);
}

static void put_job(struct control *c, struct job *j, bool with_steps, struct str *scratch,
                    struct str *out)
{
    if (j->dirty)
        job_pack_live(c->cluster, j);
    str_clear(scratch);
    if (with_steps) {
        job_pack_record(j, scratch);
    } else {
        pb_pack_field(1, j->spec.data, j->spec.len, scratch);
        pb_pack_field(2, j->live.data, j->live.len, scratch);
    }
    pb_pack_field(1, scratch->data, scratch->len, out);
}

static void end_jobs(struct control *c, uint32_t first_stamp, struct str *out)
{
    Pb__JobList end = PB__JOB_LIST__INIT;

    /* Its first part may be older than its last: what changed between them is told again. */
    uint64_t stamp = c->cluster->stamp - (uint32_t)((uint32_t)c->cluster->stamp - first_stamp);
    end.has_stamp = end.has_now = true;
    end.stamp = full_stamp(c, stamp);
    end.now = control_wall(c);
    pb_pack(&end.base, out);
}

bool control_list_jobs(struct control *c, const struct caller *who, const Pb__JobFilter *f,
                       uint64_t *cursor, size_t budget, struct str *out)
{
    _cleanup_bitset_ struct bitset *nodes = known_nodes(c->cluster, f->nodes);
    _cleanup_str_ struct str scratch = STR_INIT;
    struct walk w = {.cluster = c->cluster, .by_id = f->n_job_id > 0};
    bool own = is_private(c, who, "jobs"), more = false;
    size_t begin = out->len;
    struct job *j;

    /* The cursor: the id to go on with, and above it the stamp of the first part. */
    if (*cursor == 0)
        *cursor = c->cluster->stamp << 32;
    uint64_t first_stamp = *cursor >> 32;
    for (size_t i = 0; i < f->n_job_id; i++)
        vec_push(&w.ids, f->job_id[i]);
    walk_begin(&w, (uint32_t)*cursor);
    while (!more && (j = walk_next(&w))) {
        if ((own && j->uid != who->uid) || !job_fits(j, f, nodes))
            continue;
        put_job(c, j, f->has_with_steps && f->with_steps, &scratch, out);
        *cursor = first_stamp << 32 | (j->id + 1);
        more = out->len - begin > budget;
    }
    if (!more)
        end_jobs(c, (uint32_t)first_stamp, out);
    vec_done(&w.ids);
    return more;
}

/* --- steps
 * ---------------------------------------------------------------------------------------- */

static bool step_asked(const Pb__StepFilter *f, uint32_t job_id, uint32_t step_id)
{
    for (size_t i = 0; i < f->n_ids; i++)
        if (f->ids[i]->job_id == job_id &&
            (!f->ids[i]->has_step_id || f->ids[i]->step_id == step_id))
            return true;
    return f->n_ids == 0;
}

static bool step_uses(const struct job *j, const struct step *s, const struct bitset *nodes)
{
    vec_foreach (&s->nodes, sn)
        if (bitset_test(nodes, j->alloc.data[sn->at].node))
            return true;
    return false;
}

static bool has_batch_step(const struct job *j)
{
    return j->batch && j->alloc.len &&
           (j->state == PB__JOB_STATE__RUNNING || j->state == PB__JOB_STATE__SUSPENDED);
}

/* The script is no step in the records, and one in every list. */
static void put_batch_step(const struct control *c, const struct job *j, struct str *scratch,
                           struct str *out)
{
    Pb__StepRecord r = PB__STEP_RECORD__INIT;
    const struct alloc_node *first = &j->alloc.data[0];

    r.job_id = j->id;
    r.step_id = CLUSTER_BATCH_STEP;
    r.name = (char *)"batch";
    r.nodes = (char *)c->cluster->nodes.data[first->node]->name;
    r.partition = j->part ? (char *)j->part->conf.name : NULL;
    r.has_state = r.has_start_at = r.has_num_tasks = r.has_num_cpus = r.has_num_nodes = true;
    r.state = PB__STEP_STATE__STEP_RUNNING;
    r.start_at = j->start_at;
    r.num_tasks = r.num_nodes = 1;
    r.num_cpus = first->cpus;
    r.has_uid = true;
    r.uid = j->uid;
    str_clear(scratch);
    pb_pack(&r.base, scratch);
    pb_pack_field(1, scratch->data, scratch->len, out);
}

static void put_steps(const struct control *c, const struct job *j, const Pb__StepFilter *f,
                      const struct bitset *nodes, struct str *scratch, struct str *out)
{
    if (has_batch_step(j) && step_asked(f, j->id, CLUSTER_BATCH_STEP) &&
        (!nodes || bitset_test(nodes, j->alloc.data[0].node)))
        put_batch_step(c, j, scratch, out);
    vec_foreach (&j->steps, s)
        if (step_asked(f, j->id, s->id) && (!nodes || step_uses(j, s, nodes)))
            pb_pack_field(1, s->record.data, s->record.len, out);
}

bool control_list_steps(struct control *c, const struct caller *who, const Pb__StepFilter *f,
                        uint64_t *cursor, size_t budget, struct str *out)
{
    _cleanup_bitset_ struct bitset *nodes = known_nodes(c->cluster, f->nodes);
    _cleanup_str_ struct str scratch = STR_INIT;
    struct walk w = {.cluster = c->cluster, .by_id = f->n_ids > 0};
    bool own = is_private(c, who, "jobs"), more = false;
    size_t begin = out->len;
    struct job *j;

    for (size_t i = 0; i < f->n_ids; i++)
        vec_push(&w.ids, f->ids[i]->job_id);
    walk_begin(&w, (uint32_t)*cursor);
    while (!more && (j = walk_next(&w))) {
        if ((own && j->uid != who->uid) || !has_number(f->uid, f->n_uid, j->uid) ||
            !in_part(j, f->partition, f->n_partition))
            continue;
        put_steps(c, j, f, nodes, &scratch, out);
        *cursor = (uint64_t)j->id + 1;
        more = out->len - begin > budget;
    }
    if (!more) {
        Pb__StepList end = PB__STEP_LIST__INIT;
        end.has_now = true;
        end.now = control_wall(c);
        pb_pack(&end.base, out);
    }
    vec_done(&w.ids);
    return more;
}

/* --- nodes and partitions
 * ------------------------------------------------------------------------- */

/* The nodes a filter leaves. The caller frees. */
static struct bitset *filtered_nodes(const struct control *c, const Pb__NodeFilter *f)
{
    struct bitset *set = known_nodes(c->cluster, f->nodes);

    if (!set) {
        set = bitset_new(c->cluster->nodes.len);
        bitset_fill(set);
    }
    if (f->n_partition) {
        _cleanup_bitset_ struct bitset *in = bitset_new(c->cluster->nodes.len);
        vec_foreach (&c->cluster->parts, p)
            if (has_word(f->partition, f->n_partition, (*p)->conf.name))
                bitset_or(in, (*p)->nodes);
        bitset_and(set, in);
    }
    return set;
}

bool control_list_nodes(struct control *c, const struct caller *who, const Pb__NodeFilter *f,
                        uint64_t *cursor, size_t budget, struct str *out)
{
    _cleanup_bitset_ struct bitset *set = filtered_nodes(c, f);
    _cleanup_str_ struct str scratch = STR_INIT;
    Pb__NodeList end = PB__NODE_LIST__INIT;
    size_t begin = out->len;

    if (is_private(c, who, "nodes"))
        bitset_zero(set);
    for (long i = bitset_next(set, *cursor); i >= 0; i = bitset_next(set, *cursor)) {
        str_clear(&scratch);
        node_pack(c->cluster, c->cluster->nodes.data[i], &scratch);
        pb_pack_field(1, scratch.data, scratch.len, out);
        *cursor = (uint64_t)i + 1;
        if (out->len - begin > budget)
            return true;
    }
    end.has_now = true;
    end.now = control_wall(c);
    pb_pack(&end.base, out);
    return false;
}

bool control_list_parts(struct control *c, const struct caller *who, const Pb__PartFilter *f,
                        uint64_t *cursor, size_t budget, struct str *out)
{
    _cleanup_str_ struct str scratch = STR_INIT;
    Pb__PartList end = PB__PART_LIST__INIT;
    size_t begin = out->len, count = c->cluster->parts.len;

    if (is_private(c, who, "partitions"))
        count = 0;
    for (; *cursor < count; (*cursor)++) {
        const struct part *p = c->cluster->parts.data[*cursor];
        if (!has_word(f->name, f->n_name, p->conf.name))
            continue;
        if (out->len - begin > budget)
            return true;
        str_clear(&scratch);
        part_pack(c->cluster, p, &scratch);
        pb_pack_field(1, scratch.data, scratch.len, out);
    }
    end.has_now = true;
    end.now = control_wall(c);
    pb_pack(&end.base, out);
    return false;
}
