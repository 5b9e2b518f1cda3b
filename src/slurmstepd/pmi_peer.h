/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What pmi.c shares with the files of each protocol, and nobody else includes: a task's place in
 * it. pmi.c has the bytes of a line, and the barrier; pmi1.c what lines mean.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "slurmstepd/pmi.h"

struct pmi_peer {
    struct str in; /* an unfinished line */
    bool initialised, in_barrier, in_mcmd;
    bool aborted; /* says nothing more that counts */
};

struct pmi {
    struct pmi_events events;
    char *kvs_name, *mapping;
    uint32_t size, universe_size, local_count, waiting, round;
    struct pmi_space space;
    struct pmi_peer *peers;
};

/* Enters the barrier; the last one of this node sends what was put. */
int pmi_fence(struct pmi *p, uint32_t local, struct err *err);
void pmi_aborted(struct pmi *p, uint32_t local, const char *code, const char *text);

/* PMI-1. A line of a task without its end, which is changed; the answer to a barrier. */
int pmi1_handle(struct pmi *p, uint32_t local, char *text, struct err *err);
void pmi1_barrier_out(struct pmi *p, uint32_t local);
