/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a share of a node is, in the kernel's words. */
#include "slurmd/step/contain.h"

#define BP 10000 /* hundredths of a percent, in all */

/* Of so many MiB, in bytes. */
static uint64_t part_of(uint64_t mib, uint32_t bp)
{
    unsigned __int128 bytes = (unsigned __int128)mib * (1 << 20) * bp / BP;

    return bytes > INT64_MAX ? INT64_MAX : (uint64_t)bytes;
}

static uint64_t within(uint64_t value, uint64_t least, uint64_t most)
{
    return value > most ? most : value < least ? least : value;
}

void contain_limit(const struct conf_cgroup *c, uint64_t node_mib, uint64_t given_mib,
                   struct cgroup_memory_limit *out)
{
    uint32_t ram_bp = c->constrain_ram_space ? c->allowed_ram_space_bp : BP;
    uint64_t most = part_of(node_mib, c->max_ram_percent_bp);
    uint64_t most_swap = part_of(node_mib, c->max_swap_percent_bp);
    uint64_t least = part_of(c->min_ram_space_mib, BP);
    uint64_t swap;

    *out = (struct cgroup_memory_limit){.swappiness = -1};
    if (!c->constrain_ram_space && !c->constrain_swap_space)
        return;
    least = least < most ? least : most;
    out->hard = given_mib ? within(part_of(given_mib, ram_bp), least, most) : most;
    if (c->constrain_swap_space) {
        swap = given_mib ? part_of(given_mib, ram_bp) + part_of(given_mib, c->allowed_swap_space_bp)
                         : most_swap;
        out->with_swap = within(swap, out->hard, most_swap > out->hard ? most_swap : out->hard);
        if (c->memory_swappiness <= 100)
            out->swappiness = (int)c->memory_swappiness;
    }
    if (!c->constrain_ram_space)
        out->hard = out->with_swap;
    out->soft = given_mib ? within(part_of(given_mib, BP), 0, out->hard) : 0;
}

/* Consecutive numbers as ranges. */
static void put_set(const bool *in, size_t count, struct str *out)
{
    for (size_t i = 0; i < count; i++) {
        size_t last = i;

        if (!in[i])
            continue;
        while (last + 1 < count && in[last + 1])
            last++;
        str_printf(out, last > i ? "%s%zu-%zu" : "%s%zu", out->len ? "," : "", i, last);
        i = last;
    }
}

bool contain_cpus(const Pb__CpuMap *map, ProtobufCBinaryData cpu_set, struct str *out)
{
    bool in[HW_CPUS_MAX] = {false};

    for (size_t i = 0; i < map->n_number; i++) {
        size_t cpu = i / (map->each ? map->each : 1);

        if (map->number[i] < HW_CPUS_MAX && cpu / 8 < cpu_set.len)
            in[map->number[i]] = cpu_set.data[cpu / 8] >> (cpu % 8) & 1;
    }
    put_set(in, HW_CPUS_MAX, out);
    return out->len > 0;
}
