/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PMI-1 as MPICH's processes speak it ("simple PMI", lines "cmd=put key=... value=...") over the
 * descriptor named by PMI_FD. One object per step and node: the key-value space and each local
 * task's place in the protocol. Pure: bytes in by pmi_feed(), lines out by events. What the tasks
 * send is hostile input: lines, keys, values and the whole space are bounded.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "slurmstepd/pmi_space.h"

#define PMI_KVSNAME_MAX 256 /* sizes with their NUL, as told to the tasks */
#define PMI_KEY_MAX 64
#define PMI_VALUE_MAX 1024
#define PMI_LINE_MAX 4096 /* bytes of a line without its newline */

struct pmi;

struct pmi_events {
    void (*send)(void *ctx, uint32_t local, const char *line, size_t len);
    /* Every local task waits in the barrier. 'put' is what they put since the last one; the
     * barrier ends by pmi_fence_done(), at once or later. */
    void (*fence)(void *ctx, uint32_t round, const struct pmi_pair *put, size_t count);
    void (*abort)(void *ctx, uint32_t local, int exit_code, const char *text);
    void *ctx;
};

struct pmi_options {
    const char *kvs_name;
    uint32_t size;        /* tasks of the step */
    uint32_t local_count; /* of them here */
    const char *mapping;  /* PMI_process_mapping, or NULL */
    uint32_t universe_size;
};

struct pmi *pmi_new(const struct pmi_options *options, const struct pmi_events *events);
void pmi_free(struct pmi *p);

/* Bytes from local task number 'local'. -ERR_PROTOCOL or -ERR_LIMIT: it does not speak PMI, or
 * wants too much, and the others would wait for it for ever: end the step. Of an abort's text only
 * what fits into a line is kept. */
int pmi_feed(struct pmi *p, uint32_t local, const void *data, size_t len, struct err *err);

/* The pairs of every node after barrier number 'round'; frees the waiting tasks. A round nobody
 * waits for is ignored. -ERR_LIMIT when the space is full (the tasks stay in the barrier). */
int pmi_fence_done(struct pmi *p, uint32_t round, const struct pmi_pair *put, size_t count,
                   struct err *err);
