/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/mpi/pmi_space.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

struct pmi_space_entry {
    char *key, *value;
    bool fresh;
    UT_hash_handle hh;
};

void pmi_space_done(struct pmi_space *s)
{
    struct pmi_space_entry *e, *next;

    HASH_ITER (hh, s->entries, e, next) {
        HASH_DEL(s->entries, e);
        free(e->key);
        free(e->value);
        free(e);
    }
    *s = (struct pmi_space){0};
}

static struct pmi_space_entry *find_key(const struct pmi_space *s, const char *key)
{
    struct pmi_space_entry *e;

    HASH_FIND(hh, s->entries, key, strlen(key), e);
    return e;
}

int pmi_space_put(struct pmi_space *s, const char *key, const char *value, bool fresh,
                  struct err *err)
{
    size_t key_len = strlen(key), value_len = strlen(value);
    struct pmi_space_entry *e = find_key(s, key);

    if (fresh)
        s->fresh_bytes += key_len + value_len;
    if (s->bytes + key_len + value_len + PMI_PAIR_COST > PMI_SPACE_MAX ||
        (fresh && s->fresh >= PMI_ROUND_PUTS_MAX))
        return err_set(err, -ERR_LIMIT, "the step's MPI key-value space is full (%u bytes)",
                       PMI_SPACE_MAX);
    if (e) {
        s->bytes -= strlen(e->value);
        free(e->value);
    } else {
        e = mem_new(struct pmi_space_entry);
        e->key = mem_strdup(key);
        HASH_ADD_KEYPTR(hh, s->entries, e->key, key_len, e);
        s->bytes += key_len + PMI_PAIR_COST;
    }
    e->value = mem_strdup(value);
    s->bytes += value_len;
    if (fresh && !e->fresh)
        s->fresh++;
    e->fresh = fresh;
    return 0;
}

const char *pmi_space_find(const struct pmi_space *s, const char *key)
{
    struct pmi_space_entry *e = find_key(s, key);

    return e ? e->value : NULL;
}

bool pmi_space_is_swamped(const struct pmi_space *s)
{
    return s->fresh_bytes > PMI_ROUND_BYTES_MAX;
}

struct pmi_pair *pmi_space_take_fresh(struct pmi_space *s, size_t *count)
{
    struct pmi_pair *pairs = mem_new_array(struct pmi_pair, s->fresh ? s->fresh : 1);
    struct pmi_space_entry *e, *next;

    *count = 0;
    HASH_ITER (hh, s->entries, e, next) {
        if (e->fresh)
            pairs[(*count)++] = (struct pmi_pair){e->key, e->value};
        e->fresh = false;
    }
    s->fresh = 0;
    s->fresh_bytes = 0;
    return pairs;
}
