/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/crc32c.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>
#include <pthread.h>
#include <stdatomic.h>

/* The instruction has a latency of three cycles and a throughput of one per cycle, so three
 * stripes of large data are processed in parallel. */
#define STRIPE 4096
#define MUCH (64u << 10)
#endif

/* Four bits at a time with a table of 64 bytes, for processors without the instruction. */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t len)
{
    static const uint32_t table[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };
    const unsigned char *p = data;
    crc = ~crc;
    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

#if defined(__x86_64__)
/* The effect of STRIPE zero bytes on a state, which is a linear function: one table for each byte
 * of the state. */
static uint32_t by_zeros[4][256];

__attribute__((target("sse4.2"))) static uint64_t step(uint64_t state, const unsigned char *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof(word));
    return _mm_crc32_u64(state, word);
}

__attribute__((target("sse4.2"))) static void make_by_zeros(void)
{
    for (unsigned byte = 0; byte < 4; byte++)
        for (unsigned bit = 0; bit < 8; bit++) {
            uint64_t state = UINT64_C(1) << (8 * byte + bit);

            for (size_t i = 0; i < STRIPE; i += 8)
                state = _mm_crc32_u64(state, 0);
            for (unsigned i = 0; i < 256; i++)
                if (i >> bit & 1)
                    by_zeros[byte][i] ^= (uint32_t)state;
        }
}

static uint64_t over_zeros(uint64_t state)
{
    return by_zeros[0][state & 255] ^ by_zeros[1][state >> 8 & 255] ^
           by_zeros[2][state >> 16 & 255] ^ by_zeros[3][state >> 24 & 255];
}

/* Combines three stripes: the checksum of the first followed by zeros, and so on. */
__attribute__((target("sse4.2"))) static uint64_t sum_stripes(uint64_t state,
                                                              const unsigned char *p)
{
    uint64_t second = 0, third = 0;

    for (size_t i = 0; i < STRIPE; i += 8) {
        state = step(state, p + i);
        second = step(second, p + STRIPE + i);
        third = step(third, p + 2 * STRIPE + i);
    }
    return over_zeros(over_zeros(state) ^ second) ^ third;
}

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *data,
                                                               size_t len)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const unsigned char *p = data;
    uint64_t state = ~crc;

    if (len >= MUCH) {
        pthread_once(&once, make_by_zeros);
        for (; len >= 3 * STRIPE; p += 3 * STRIPE, len -= 3 * STRIPE)
            state = sum_stripes(state, p);
    }
    for (; len >= 8; p += 8, len -= 8)
        state = step(state, p);
    for (; len; p++, len--)
        state = _mm_crc32_u8((uint32_t)state, *p);
    return ~(uint32_t)state;
}
#endif

#if defined(__x86_64__)
/* Checked on first use. The constructor of __builtin_cpu_supports() runs at the start of every
 * program linked with it and executes nine CPUID instructions, each of which takes 10 us or more
 * in a virtual machine. */
static bool has_sse42(void)
{
    static atomic_int known; /* 0: unknown, 1: no, 2: yes */
    int has = atomic_load_explicit(&known, memory_order_relaxed);
    unsigned a, b, c = 0, d;

    if (!has) {
        has = __get_cpuid(1, &a, &b, &c, &d) && c & bit_SSE4_2 ? 2 : 1;
        atomic_store_explicit(&known, has, memory_order_relaxed);
    }
    return has == 2;
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
#if defined(__x86_64__)
    if (has_sse42())
        return crc32c_sse42(crc, data, len);
#endif
    return crc32c_portable(crc, data, len);
}
