/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "slurmstepd/mpi/pmi.h"
#include "slurmstepd/mpi/pmi_peer.h"

struct pmi_space_entry {
    char *key, *value;
    bool fresh;
    UT_hash_handle hh;
};

static void free_space(struct pmi_space *s)
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

/* Whether the pairs put since the last barrier are too large for one message, so that the next
   barrier cannot end. */
static bool is_swamped(const struct pmi_space *s)
{
    return s->fresh_bytes > PMI_ROUND_BYTES_MAX;
}

/* Takes the fresh pairs, which are then no longer fresh. The caller frees the array, but not the
   strings. */
static struct pmi_pair *take_fresh_pairs(struct pmi_space *s, size_t *count)
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

#define LENGTH_SIZE 6 /* digits of a command's length, padded with blanks */

struct pmi *pmi_new(const struct pmi_options *options, const struct pmi_events *events)
{
    struct pmi *p = mem_new(struct pmi);

    p->events = *events;
    p->kvs_name = mem_strdup(options->kvs_name);
    p->mapping = mem_strdup(options->mapping);
    p->size = options->size;
    p->universe_size = options->universe_size;
    p->local_count = options->local_count;
    p->rank = mem_new_array(uint32_t, p->local_count);
    memcpy(p->rank, options->rank, p->local_count * sizeof(*p->rank));
    p->spawner = mem_strdup(options->spawner);
    p->app_count = options->app_count;
    p->app_tasks = mem_new_array(uint32_t, p->app_count + 1);
    for (size_t i = 0; i < p->app_count; i++)
        p->app_tasks[i] = options->app_tasks[i];
    for (size_t i = 0; i < options->preput_count; i++)
        if (pmi_is_pair(options->preput[i].key, options->preput[i].value))
            pmi_space_put(&p->space, options->preput[i].key, options->preput[i].value, false, NULL);
    p->peers = mem_new_array(struct pmi_peer, p->local_count);
    for (uint32_t i = 0; i < p->local_count; i++)
        p->peers[i].in = STR_INIT_CAP(PMI_LINE_MAX); /* until it selects PMI-2 */
    return p;
}

void pmi_free(struct pmi *p)
{
    if (!p)
        return;
    free_space(&p->space);
    free_space(&p->node_attrs);
    for (uint32_t i = 0; i < p->local_count; i++) {
        while (p->peers[i].waits)
            pmi_wait_done(p, i, p->peers[i].waits);
        str_done(&p->peers[i].in);
        pmi_spawn_free(p->peers[i].spawn);
    }
    free(p->rank);
    free(p->peers);
    free(p->kvs_name);
    free(p->mapping);
    free(p->spawner);
    free(p->app_tasks);
    free(p);
}

void pmi_aborted(struct pmi *p, uint32_t local, const char *code, const char *text)
{
    long long number = 1;

    if (code && str_parse_i64(code, INT32_MIN, INT32_MAX, &number))
        number = 1;
    p->peers[local].aborted = true;
    p->events.abort(p->events.ctx, local, (int)number, text);
}

bool pmi_is_pair(const char *key, const char *value)
{
    return key && value && *key && strlen(key) < PMI_KEY_MAX && strlen(value) < PMI_VALUE_MAX &&
           !strchr(key, '\n') && !strchr(value, '\n'); /* PMI-1 could not transfer it */
}

int pmi_put(struct pmi *p, const char *key, const char *value, struct err *err)
{
    int rc = pmi_space_put(&p->space, key, value, true, NULL);

    if (is_swamped(&p->space))
        return err_set(err, -ERR_LIMIT, "PMI: more than %u bytes put between two barriers",
                       PMI_ROUND_BYTES_MAX);
    return rc ? err_set(err, -ERR_BUSY, "PMI: the key-value space is full") : 0;
}

const char *pmi_get(const struct pmi *p, const char *key)
{
    const char *value = pmi_space_find(&p->space, key);

    return !value && !strcmp(key, "PMI_process_mapping") ? p->mapping : value;
}

struct pmi_wait *pmi_wait_new(struct pmi *p, uint32_t local, enum pmi_wait_kind kind)
{
    struct pmi_peer *peer = &p->peers[local];
    struct pmi_wait *w, **end = &peer->waits;

    if (peer->wait_count >= PMI_WAITS_MAX)
        return NULL;
    peer->wait_count++;
    w = mem_new(struct pmi_wait);
    w->kind = kind;
    while (*end)
        end = &(*end)->next;
    *end = w;
    return w;
}

void pmi_wait_done(struct pmi *p, uint32_t local, struct pmi_wait *w)
{
    struct pmi_wait **at = &p->peers[local].waits;

    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    p->peers[local].wait_count--;
    free(w);
}

int pmi_ask_name(struct pmi *p, uint32_t local, const char *thread, enum pmi_name_op op,
                 const char *name, const char *value)
{
    struct pmi_wait *w = pmi_wait_new(p, local, PMI_WAIT_NAME);

    if (!w)
        return -ERR_BUSY;
    w->id = ++p->next_id;
    w->op = op;
    strncpy(w->thread, thread, sizeof(w->thread) - 1);
    p->events.name(p->events.ctx, local, w->id, op, name, value);
    return 0;
}

void pmi_name_done(struct pmi *p, uint32_t id, bool done, const char *value)
{
    for (uint32_t i = 0; i < p->local_count; i++)
        for (struct pmi_wait *w = p->peers[i].waits; w; w = w->next) {
            if (w->kind != PMI_WAIT_NAME || w->id != id)
                continue;
            if (p->peers[i].version == 2)
                pmi2_named(p, i, w, done, value);
            else
                pmi1_named(p, i, w, done, value);
            pmi_wait_done(p, i, w);
            return;
        }
}

int pmi_ask_spawn(struct pmi *p, uint32_t local, const char *thread, struct pmi_spawn *s,
                  struct err *err)
{
    Pb__Spawn *m;
    int rc = pmi_spawn_finish(s, &m, err);
    struct pmi_wait *w = rc ? NULL : pmi_wait_new(p, local, PMI_WAIT_SPAWN);

    if (rc)
        return rc;
    if (!w)
        return err_set(err, -ERR_BUSY, "too many questions are not answered yet");
    w->id = m->id = ++p->next_id;
    strncpy(w->thread, thread, sizeof(w->thread) - 1);
    p->events.spawn(p->events.ctx, local, m);
    return 0;
}

void pmi_spawned(struct pmi *p, uint32_t id, const char *job, const char *why)
{
    for (uint32_t i = 0; i < p->local_count; i++)
        for (struct pmi_wait *w = p->peers[i].waits; w; w = w->next) {
            if (w->kind != PMI_WAIT_SPAWN || w->id != id)
                continue;
            p->has_spawned |= job != NULL;
            if (p->peers[i].version == 2)
                pmi2_spawned(p, i, w, job, why);
            else
                pmi1_spawned(p, i, w, job != NULL);
            pmi_wait_done(p, i, w);
            return;
        }
}

void pmi_begun(struct pmi *p, uint32_t local)
{
    struct pmi_peer *peer = &p->peers[local];

    peer->initialised = true;
    if (peer->begun)
        return;
    peer->begun = true;
    if (++p->begun_count == p->local_count)
        p->events.begun(p->events.ctx);
}

uint32_t pmi_appnum(const struct pmi *p, uint32_t local)
{
    uint64_t end = 0;

    for (size_t i = 0; i < p->app_count; i++) {
        end += p->app_tasks[i];
        if (p->rank[local] < end)
            return (uint32_t)i;
    }
    return 0;
}

int pmi_fence(struct pmi *p, uint32_t local, struct err *err)
{
    struct pmi_pair *pairs;
    size_t count;

    if (p->peers[local].in_barrier)
        return err_set(err, -ERR_PROTOCOL, "PMI: task entered the barrier twice");
    for (uint32_t i = 0; i < p->local_count; i++)
        if (p->peers[i].ended_early)
            return err_set(err, -ERR_PROTOCOL,
                           "it would wait for task %u, which has ended without MPI_Finalize",
                           p->rank[i]);
    p->peers[local].in_barrier = true;
    if (++p->waiting < p->local_count)
        return 0;
    pairs = take_fresh_pairs(&p->space, &count);
    p->events.fence(p->events.ctx, p->round, pairs, count);
    free(pairs);
    return 0;
}

int pmi_ended(struct pmi *p, uint32_t local, bool failed, struct err *err)
{
    struct pmi_peer *peer = &p->peers[local];

    bool is_related = p->spawner || p->has_spawned;

    if (p->spawner && !peer->begun && !peer->aborted)
        return err_set(err, -ERR_PROTOCOL, "it has ended before MPI_Init");
    if (!peer->initialised || peer->aborted || (p->size == 1 && !is_related))
        return 0;
    peer->ended_early = true;
    if (!failed && !p->waiting && !is_related)
        return 0;
    return err_set(err, -ERR_PROTOCOL,
                   "it has ended without MPI_Finalize, and the others would wait for it");
}

int pmi_fence_done(struct pmi *p, uint32_t round, const struct pmi_pair *pairs, size_t count,
                   struct err *err)
{
    if (round != p->round || p->waiting < p->local_count)
        return 0;
    for (size_t i = 0; i < count; i++) {
        int rc = pmi_space_put(&p->space, pairs[i].key, pairs[i].value, false, err);

        if (rc)
            return rc;
    }
    p->round++;
    p->waiting = 0;
    for (uint32_t i = 0; i < p->local_count; i++) {
        p->peers[i].in_barrier = false;
        if (p->peers[i].version == 2)
            pmi2_fence_out(p, i);
        else
            pmi1_barrier_out(p, i);
    }
    return 0;
}

/* A line exceeds its limit; the beginning of an abort message is sufficient. */
static int too_long(struct pmi *p, uint32_t local, const char *at, struct err *err)
{
    struct pmi_peer *peer = &p->peers[local];

    peer->in.overflow = false;
    str_append(&peer->in, at, PMI_LINE_MAX - peer->in.len);
    if (!str_starts(str_cstr(&peer->in), "cmd=abort "))
        return err_set(err, -ERR_LIMIT, "PMI: a line of more than %d bytes", PMI_LINE_MAX);
    return pmi1_handle(p, local, peer->in.data, err);
}

/* Consumes bytes of a line, up to len; *used is their number. */
static int feed_line(struct pmi *p, uint32_t local, const char *at, size_t len, size_t *used,
                     struct err *err)
{
    struct pmi_peer *peer = &p->peers[local];
    const char *end = memchr(at, '\n', len);
    size_t part = end ? (size_t)(end - at) : len;
    int rc;

    *used = end ? part + 1 : len;
    if (memchr(at, '\0', part))
        return err_set(err, -ERR_PROTOCOL, "PMI: a NUL byte");
    str_append(&peer->in, at, part);
    if (peer->in.overflow) {
        *used = len;
        return too_long(p, local, at, err);
    }
    if (!end)
        return 0;
    if (peer->in.len && peer->in.data[peer->in.len - 1] == '\r')
        peer->in.data[--peer->in.len] = '\0';
    rc = peer->in.len ? pmi1_handle(p, local, peer->in.data, err) : 0;
    str_clear(&peer->in);
    return rc;
}

/* Computes the number of missing bytes of an incomplete command, including its length;
   -ERR_LIMIT. */
static int command_left(const struct str *in, size_t *left, struct err *err)
{
    char length[LENGTH_SIZE + 1] = "";
    long long bytes;

    *left = LENGTH_SIZE - in->len;
    if (in->len < LENGTH_SIZE)
        return 0;
    memcpy(length, in->data, LENGTH_SIZE);
    if (str_parse_i64(str_trim(length), 1, PMI_COMMAND_MAX, &bytes))
        return err_set(err, -ERR_PROTOCOL, "PMI-2: a command whose length is not 1 to %u",
                       PMI_COMMAND_MAX);
    *left = LENGTH_SIZE + (size_t)bytes - in->len;
    return 0;
}

static int feed_command(struct pmi *p, uint32_t local, const char *at, size_t len, size_t *used,
                        struct err *err)
{
    struct pmi_peer *peer = &p->peers[local];
    size_t left;
    int rc = command_left(&peer->in, &left, err);

    if (rc)
        return rc;
    *used = len < left ? len : left;
    if (memchr(at, '\0', *used))
        return err_set(err, -ERR_PROTOCOL, "PMI-2: a NUL byte");
    str_append(&peer->in, at, *used);
    rc = command_left(&peer->in, &left, err);
    if (rc || left)
        return rc;
    rc = pmi2_handle(p, local, peer->in.data + LENGTH_SIZE, err);
    str_clear(&peer->in);
    return rc;
}

int pmi_feed(struct pmi *p, uint32_t local, const void *data, size_t len, struct err *err)
{
    struct pmi_peer *peer = &p->peers[local];
    const char *at = data;

    while (len && !peer->aborted) {
        size_t used = 0;
        int rc = peer->version == 2 ? feed_command(p, local, at, len, &used, err)
                                    : feed_line(p, local, at, len, &used, err);

        if (rc)
            return rc;
        at += used;
        len -= used;
    }
    return 0;
}
