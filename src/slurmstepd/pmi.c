/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/pmi.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "slurmstepd/pmi_peer.h"

struct pmi *pmi_new(const struct pmi_options *options, const struct pmi_events *events)
{
    struct pmi *p = mem_new(struct pmi);

    p->events = *events;
    p->kvs_name = mem_strdup(options->kvs_name);
    p->mapping = mem_strdup(options->mapping);
    p->size = options->size;
    p->universe_size = options->universe_size;
    p->local_count = options->local_count;
    p->peers = mem_new_array(struct pmi_peer, p->local_count);
    for (uint32_t i = 0; i < p->local_count; i++)
        p->peers[i].in = STR_INIT_CAP(PMI_LINE_MAX);
    return p;
}

void pmi_free(struct pmi *p)
{
    if (!p)
        return;
    pmi_space_done(&p->space);
    for (uint32_t i = 0; i < p->local_count; i++)
        str_done(&p->peers[i].in);
    free(p->peers);
    free(p->kvs_name);
    free(p->mapping);
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

int pmi_fence(struct pmi *p, uint32_t local, struct err *err)
{
    struct pmi_pair *pairs;
    size_t count;

    if (p->peers[local].in_barrier)
        return err_set(err, -ERR_PROTOCOL, "PMI: task entered the barrier twice");
    p->peers[local].in_barrier = true;
    if (++p->waiting < p->local_count)
        return 0;
    pairs = pmi_space_take_fresh(&p->space, &count);
    p->events.fence(p->events.ctx, p->round, pairs, count);
    free(pairs);
    return 0;
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
        pmi1_barrier_out(p, i);
    }
    return 0;
}

/* A line that goes on beyond its limit: of an abort the beginning is enough. */
static int too_long(struct pmi *p, uint32_t local, const char *at, struct err *err)
{
    struct pmi_peer *peer = &p->peers[local];

    peer->in.overflow = false;
    str_append(&peer->in, at, PMI_LINE_MAX - peer->in.len);
    if (!str_starts(str_cstr(&peer->in), "cmd=abort "))
        return err_set(err, -ERR_LIMIT, "PMI: a line of more than %d bytes", PMI_LINE_MAX);
    return pmi1_handle(p, local, peer->in.data, err);
}

int pmi_feed(struct pmi *p, uint32_t local, const void *data, size_t len, struct err *err)
{
    struct pmi_peer *peer = &p->peers[local];
    const char *at = data;

    while (len && !peer->aborted) {
        const char *end = memchr(at, '\n', len);
        size_t part = end ? (size_t)(end - at) : len;
        int rc;

        if (memchr(at, '\0', part))
            return err_set(err, -ERR_PROTOCOL, "PMI: a NUL byte");
        str_append(&peer->in, at, part);
        if (peer->in.overflow)
            return too_long(p, local, at, err);
        if (!end)
            return 0;
        if (peer->in.len && peer->in.data[peer->in.len - 1] == '\r')
            peer->in.data[--peer->in.len] = '\0';
        rc = peer->in.len ? pmi1_handle(p, local, peer->in.data, err) : 0;
        str_clear(&peer->in);
        if (rc)
            return rc;
        at = end + 1;
        len -= part + 1;
    }
    return 0;
}
