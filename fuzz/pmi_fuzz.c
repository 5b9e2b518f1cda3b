/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bytes as what two tasks say to their shepherd over PMI_FD. The first byte of each piece says who
 * speaks and how long. Whatever they say, each answer is one line within its size, and a barrier
 * ends only when both wait.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "slurmstepd/pmi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct pmi *pmi;
static uint32_t wanted_round;
static int in_fence;

static void on_send(void *ctx, uint32_t local, const char *line, size_t len)
{
    if (local > 1 || !len || line[len - 1] != '\n' || memchr(line, '\n', len - 1) ||
        len > PMI_VALUE_MAX + 256)
        abort();
}

static void on_fence(void *ctx, uint32_t round, const struct pmi_pair *put, size_t count)
{
    if (round != wanted_round)
        abort();
    for (size_t i = 0; i < count; i++)
        if (strlen(put[i].key) >= PMI_KEY_MAX || strlen(put[i].value) >= PMI_VALUE_MAX)
            abort();
    in_fence = 1;
}

static void on_abort(void *ctx, uint32_t local, int exit_code, const char *text)
{
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pmi_options options = {.kvs_name = "kvs",
                                  .size = 2,
                                  .local_count = 2,
                                  .mapping = "(vector,(0,1,2))",
                                  .universe_size = 2};
    struct pmi_events events = {on_send, on_fence, on_abort, NULL};
    int closed[2] = {0};

    pmi = pmi_new(&options, &events);
    wanted_round = 0;
    in_fence = 0;
    while (size) {
        uint32_t local = data[0] & 1;
        size_t len = data[0] >> 1;

        data++;
        size--;
        if (len > size)
            len = size;
        if (!closed[local])
            closed[local] = pmi_feed(pmi, local, data, len, NULL) != 0;
        data += len;
        size -= len;
        if (in_fence && pmi_fence_done(pmi, wanted_round, NULL, 0, NULL) == 0) {
            wanted_round++;
            in_fence = 0;
        }
    }
    pmi_free(pmi);
    return 0;
}
