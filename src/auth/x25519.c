/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * X25519 (RFC 7748): field elements modulo 2^255-19 in five limbs of 51 bits, and the Montgomery
 * ladder. OpenSSL offers it through EVP alone, see docs/adr/0032. No branch and no address depends
 * on a secret.
 */
#include "auth/noise.h"

#include <endian.h>
#include <string.h>

#include "base/mem.h"

typedef uint64_t fe[5];
__extension__ typedef unsigned __int128 u128;

#define MASK51 ((UINT64_C(1) << 51) - 1)
#define A24 121665

static uint64_t load64(const uint8_t *at)
{
    uint64_t v;

    memcpy(&v, at, sizeof(v));
    return le64toh(v);
}

static void store64(uint8_t *at, uint64_t v)
{
    v = htole64(v);
    memcpy(at, &v, sizeof(v));
}

/* The top bit is ignored, as the RFC wants it. */
static inline void fe_unpack(fe r, const uint8_t in[32])
{
    r[0] = load64(in) & MASK51;
    r[1] = load64(in + 6) >> 3 & MASK51;
    r[2] = load64(in + 12) >> 6 & MASK51;
    r[3] = load64(in + 19) >> 1 & MASK51;
    r[4] = load64(in + 24) >> 12 & MASK51;
}

/* Limbs below 2^51 but for the lowest, which may have a little more. */
static inline void fe_carry(fe r)
{
    for (unsigned i = 0; i < 4; i++) {
        r[i + 1] += r[i] >> 51;
        r[i] &= MASK51;
    }
    r[0] += 19 * (r[4] >> 51);
    r[4] &= MASK51;
}

/* The canonical form: reduced twice, then less p if that is not negative. */
static void fe_pack(uint8_t out[32], const fe a)
{
    fe t;
    uint64_t q;

    memcpy(t, a, sizeof(t));
    fe_carry(t);
    fe_carry(t);
    q = (t[0] + 19) >> 51;
    for (unsigned i = 1; i < 5; i++)
        q = (t[i] + q) >> 51;
    t[0] += 19 * q;
    for (unsigned i = 0; i < 4; i++) {
        t[i + 1] += t[i] >> 51;
        t[i] &= MASK51;
    }
    t[4] &= MASK51;
    store64(out, t[0] | t[1] << 51);
    store64(out + 8, t[1] >> 13 | t[2] << 38);
    store64(out + 16, t[2] >> 26 | t[3] << 25);
    store64(out + 24, t[3] >> 39 | t[4] << 12);
}

static inline void fe_add(fe r, const fe a, const fe b)
{
    for (unsigned i = 0; i < 5; i++)
        r[i] = a[i] + b[i];
}

/* a - b + 2p, where b is a product: its limbs are below 2^52. So all sums and differences of
 * products are below 2^53, of which products can be made without a carry before. */
static inline void fe_sub(fe r, const fe a, const fe b)
{
    r[0] = a[0] + 2 * (MASK51 - 18) - b[0];
    for (unsigned i = 1; i < 5; i++)
        r[i] = a[i] + 2 * MASK51 - b[i];
}

static inline void fe_reduce(fe r, u128 t[5])
{
    for (unsigned i = 0; i < 4; i++) {
        t[i + 1] += t[i] >> 51;
        r[i] = (uint64_t)t[i] & MASK51;
    }
    r[4] = (uint64_t)t[4] & MASK51;
    r[0] += 19 * (uint64_t)(t[4] >> 51);
    r[1] += r[0] >> 51;
    r[0] &= MASK51;
}

static inline void fe_mul(fe r, const fe a, const fe b)
{
    uint64_t b1 = 19 * b[1], b2 = 19 * b[2], b3 = 19 * b[3], b4 = 19 * b[4];
    u128 t[5];

    t[0] =
        (u128)a[0] * b[0] + (u128)a[1] * b4 + (u128)a[2] * b3 + (u128)a[3] * b2 + (u128)a[4] * b1;
    t[1] =
        (u128)a[0] * b[1] + (u128)a[1] * b[0] + (u128)a[2] * b4 + (u128)a[3] * b3 + (u128)a[4] * b2;
    t[2] = (u128)a[0] * b[2] + (u128)a[1] * b[1] + (u128)a[2] * b[0] + (u128)a[3] * b4 +
           (u128)a[4] * b3;
    t[3] = (u128)a[0] * b[3] + (u128)a[1] * b[2] + (u128)a[2] * b[1] + (u128)a[3] * b[0] +
           (u128)a[4] * b4;
    t[4] = (u128)a[0] * b[4] + (u128)a[1] * b[3] + (u128)a[2] * b[2] + (u128)a[3] * b[1] +
           (u128)a[4] * b[0];
    fe_reduce(r, t);
}

static inline void fe_square(fe r, const fe a)
{
    uint64_t a0 = 2 * a[0], a1 = 2 * a[1], a3 = 19 * a[3], a4 = 19 * a[4];
    u128 t[5];

    t[0] = (u128)a[0] * a[0] + (u128)a1 * a4 + (u128)(2 * a[2]) * a3;
    t[1] = (u128)a0 * a[1] + (u128)(2 * a[2]) * a4 + (u128)a[3] * a3;
    t[2] = (u128)a0 * a[2] + (u128)a[1] * a[1] + (u128)(2 * a[3]) * a4;
    t[3] = (u128)a0 * a[3] + (u128)a1 * a[2] + (u128)a[4] * a4;
    t[4] = (u128)a0 * a[4] + (u128)a1 * a[3] + (u128)a[2] * a[2];
    fe_reduce(r, t);
}

static inline void fe_mul_small(fe r, const fe a, uint64_t b)
{
    u128 t[5];

    for (unsigned i = 0; i < 5; i++)
        t[i] = (u128)a[i] * b;
    fe_reduce(r, t);
}

static void square_times(fe r, const fe a, unsigned times)
{
    fe_square(r, a);
    while (--times)
        fe_square(r, r);
}

/* a^(p-2). */
static void fe_invert(fe r, const fe a)
{
    fe a2, a9, a11, x5, x10, x20, x50, x100, t;

    fe_square(a2, a);
    square_times(t, a2, 2);
    fe_mul(a9, t, a);
    fe_mul(a11, a9, a2);
    fe_square(t, a11);
    fe_mul(x5, t, a9); /* a^(2^5-1), and so on */
    square_times(t, x5, 5);
    fe_mul(x10, t, x5);
    square_times(t, x10, 10);
    fe_mul(x20, t, x10);
    square_times(t, x20, 20);
    fe_mul(t, t, x20);
    square_times(t, t, 10);
    fe_mul(x50, t, x10);
    square_times(t, x50, 50);
    fe_mul(x100, t, x50);
    square_times(t, x100, 100);
    fe_mul(t, t, x100);
    square_times(t, t, 50);
    fe_mul(t, t, x50);
    square_times(t, t, 5);
    fe_mul(r, t, a11);
}

static void swap_if(uint64_t bit, fe a, fe b)
{
    uint64_t mask = -bit;

    for (unsigned i = 0; i < 5; i++) {
        uint64_t x = mask & (a[i] ^ b[i]);
        a[i] ^= x;
        b[i] ^= x;
    }
}

/* One step of the ladder, in the names of RFC 7748, section 5. */
static void step(const fe x1, fe x2, fe z2, fe x3, fe z3)
{
    fe a, b, c, d, e, aa, bb, da, cb;

    fe_add(a, x2, z2);
    fe_sub(b, x2, z2);
    fe_add(c, x3, z3);
    fe_sub(d, x3, z3);
    fe_square(aa, a);
    fe_square(bb, b);
    fe_sub(e, aa, bb);
    fe_mul(da, d, a);
    fe_mul(cb, c, b);
    fe_add(x3, da, cb);
    fe_square(x3, x3);
    fe_sub(z3, da, cb);
    fe_square(z3, z3);
    fe_mul(z3, z3, x1);
    fe_mul(x2, aa, bb);
    fe_mul_small(z2, e, A24);
    fe_add(z2, z2, aa);
    fe_mul(z2, z2, e);
}

int auth_x25519(uint8_t out[AUTH_X25519_SIZE], const uint8_t scalar[AUTH_X25519_SIZE],
                const uint8_t point[AUTH_X25519_SIZE])
{
    struct {
        uint8_t k[32];
        fe x1, x2, z2, x3, z3;
    } s = {.x2 = {1}, .z3 = {1}};
    uint64_t swap = 0;
    uint8_t any = 0;

    memcpy(s.k, scalar, sizeof(s.k));
    s.k[0] &= 248;
    s.k[31] = (s.k[31] & 127) | 64;
    fe_unpack(s.x1, point);
    memcpy(s.x3, s.x1, sizeof(s.x3));
    for (int at = 254; at >= 0; at--) {
        uint64_t bit = s.k[at / 8] >> (at % 8) & 1;
        swap_if(swap ^ bit, s.x2, s.x3);
        swap_if(swap ^ bit, s.z2, s.z3);
        swap = bit;
        step(s.x1, s.x2, s.z2, s.x3, s.z3);
    }
    swap_if(swap, s.x2, s.x3);
    swap_if(swap, s.z2, s.z3);
    fe_invert(s.z2, s.z2);
    fe_mul(s.x2, s.x2, s.z2);
    fe_pack(out, s.x2);
    mem_wipe(&s, sizeof(s));
    for (unsigned i = 0; i < AUTH_X25519_SIZE; i++)
        any |= out[i];
    return any ? 0 : -ERR_AUTH;
}

void auth_x25519_base(uint8_t out[AUTH_X25519_SIZE], const uint8_t scalar[AUTH_X25519_SIZE])
{
    static const uint8_t nine[AUTH_X25519_SIZE] = {9};

    (void)auth_x25519(out, scalar, nine);
}
