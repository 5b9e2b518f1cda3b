/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Input: messages of two tasks to their step daemon over PMI_FD, in PMI-1 or PMI-2. The first byte
 * of each piece selects the task and the length. For any input, each reply is one line or command
 * within its maximum size, and a barrier ends only when both tasks wait.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "slurmstepd/mpi/pmi.h"
#include "slurmstepd/mpi/pmi_spawn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct pmi *pmi;
static uint32_t wanted_round, asked, asked_spawn;
static int in_fence;

static void on_send(void *ctx, uint32_t local, const char *line, size_t len)
{
    char length[7] = "";

    if (local > 1 || len < 7 || len > 4 * PMI_VALUE_MAX + 256)
        abort();
    if (line[len - 1] == '\n' && !memchr(line, '\n', len - 1))
        return;
    memcpy(length, line, 6);
    if ((size_t)atoi(length) != len - 6 || line[len - 1] != ';')
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

static void on_name(void *ctx, uint32_t local, uint32_t id, enum pmi_name_op op, const char *name,
                    const char *value)
{
    if (!*name || strlen(name) >= PMI_KEY_MAX || (op == PMI_NAME_PUBLISH) != (value != NULL) ||
        (value && strlen(value) >= PMI_VALUE_MAX))
        abort();
    asked = id;
}

static void on_spawn(void *ctx, uint32_t local, const Pb__Spawn *m)
{
    uint64_t tasks = 0;

    for (size_t i = 0; i < m->n_command; i++) {
        if (!m->command[i]->n_argv || !*m->command[i]->argv[0] || !m->command[i]->tasks)
            abort();
        tasks += m->command[i]->tasks;
    }
    if (!m->n_command || m->n_command > PMI_SPAWN_COMMANDS_MAX || tasks > PMI_SPAWN_TASKS_MAX ||
        protobuf_c_message_get_packed_size(&m->base) > 2 * PMI_SPAWN_BYTES_MAX)
        abort();
    asked_spawn = m->id;
}

static void on_begun(void *ctx)
{
}

static void on_abort(void *ctx, uint32_t local, int exit_code, const char *text)
{
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t ranks[] = {0, 1};
    struct pmi_options options = {.kvs_name = "kvs",
                                  .size = 2,
                                  .local_count = 2,
                                  .rank = ranks,
                                  .mapping = "(vector,(0,1,2))",
                                  .universe_size = 2};
    struct pmi_events events = {on_send, on_fence, on_abort, on_name, on_spawn, on_begun, NULL};
    int closed[2] = {0};

    pmi = pmi_new(&options, &events);
    wanted_round = 0;
    in_fence = 0;
    asked = asked_spawn = 0;
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
        if (asked)
            pmi_name_done(pmi, asked, asked & 1, "port");
        if (asked_spawn)
            pmi_spawned(pmi, asked_spawn, asked_spawn & 1 ? "kvs_1_1" : NULL, "no room");
        asked = asked_spawn = 0;
        if (in_fence && pmi_fence_done(pmi, wanted_round, NULL, 0, NULL) == 0) {
            wanted_round++;
            in_fence = 0;
        }
    }
    pmi_free(pmi);
    return 0;
}
