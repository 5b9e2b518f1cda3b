/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/mpi/kvs.h"

#include <string.h>

#include "base/bitset.h"
#include "base/hash.h"
#include "base/mem.h"

struct pair {
    UT_hash_handle hh;
    struct Pb__KvsEntry entry;
};

struct kvs {
    uint32_t nodes, round, arrived;
    size_t bytes;
    struct bitset *here; /* nodes that have joined this round */
    struct pair *pairs;  /* pairs of this round, in order of arrival */
    struct Pb__KvsFence all;
    bool complete; /* 'all' was returned: reset at the next call */
};

struct kvs *kvs_new(uint32_t nodes)
{
    struct kvs *k = mem_new(struct kvs);

    k->nodes = nodes;
    k->here = bitset_new(nodes);
    pb__kvs_fence__init(&k->all);
    return k;
}

static void drop_pairs(struct kvs *k)
{
    struct pair *p, *next;

    HASH_ITER (hh, k->pairs, p, next) {
        HASH_DELETE(hh, k->pairs, p);
        free(p->entry.key);
        free(p->entry.value);
        free(p);
    }
    free(k->all.put);
    k->all.put = NULL;
    k->all.n_put = 0;
}

void kvs_free(struct kvs *k)
{
    if (k == NULL)
        return;
    drop_pairs(k);
    bitset_free(k->here);
    free(k);
}

static void next_round(struct kvs *k)
{
    drop_pairs(k);
    bitset_zero(k->here);
    k->arrived = 0;
    k->bytes = 0;
    k->round++;
    k->complete = false;
}

static void put_pair(struct kvs *k, const struct Pb__KvsEntry *entry)
{
    struct pair *p;

    HASH_FIND_STR(k->pairs, entry->key, p);
    if (p == NULL) {
        p = mem_new(struct pair);
        pb__kvs_entry__init(&p->entry);
        p->entry.key = mem_strdup(entry->key);
        HASH_ADD_KEYPTR(hh, k->pairs, p->entry.key, strlen(p->entry.key), p);
    }
    free(p->entry.value);
    p->entry.value = mem_strdup(entry->value);
}

static void gather_pairs(struct kvs *k)
{
    size_t n = 0;

    k->all.round = k->round;
    k->all.put = mem_new_array(struct Pb__KvsEntry *, HASH_COUNT(k->pairs));
    for (struct pair *p = k->pairs; p != NULL; p = p->hh.next)
        k->all.put[n++] = &p->entry;
    k->all.n_put = n;
}

int kvs_fence(struct kvs *k, uint32_t node, const struct Pb__KvsFence *part,
              const struct Pb__KvsFence **all, struct err *err)
{
    size_t bytes = 0;

    if (k->complete)
        next_round(k);
    if (node >= k->nodes)
        return err_set(err, -ERR_PROTOCOL, "MPI barrier of node %u of %u", node, k->nodes);
    if (k->arrived == 0)
        k->round = part->round;
    if (part->round != k->round || bitset_test(k->here, node))
        return err_set(err, -ERR_PROTOCOL, "node %u is in MPI barrier %u, barrier %u is not over",
                       node, part->round, k->round);
    for (size_t i = 0; i < part->n_put; i++)
        bytes += strlen(part->put[i]->key) + strlen(part->put[i]->value);
    if (bytes > KVS_ROUND_MAX - k->bytes)
        return err_set(err, -ERR_LIMIT, "MPI key-value space: more than %u bytes in one barrier",
                       KVS_ROUND_MAX);
    k->bytes += bytes;
    for (size_t i = 0; i < part->n_put; i++)
        put_pair(k, part->put[i]);
    bitset_set(k->here, node);
    if (++k->arrived < k->nodes)
        return 0;
    gather_pairs(k);
    k->complete = true;
    *all = &k->all;
    return 1;
}
