/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/sluid.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#define JOB_ID_BITS 26
#define TIME_BITS 38
#define DIGIT_BITS 5
#define DIGITS (SLUID_LEN - 1)

static_assert(JOB_ID_BITS + TIME_BITS == 64 && (DIGITS - 1) * DIGIT_BITS < 64,
              "the bits of a SLUID");

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

const char *sluid_text(uint32_t job_id, int64_t submit_at_sec, char buf[SLUID_TEXT_MAX])
{
    const int64_t latest = (INT64_C(1) << TIME_BITS) - 1;
    int64_t at = submit_at_sec < 0 ? 0 : submit_at_sec > latest ? latest : submit_at_sec;
    uint64_t bits = (uint64_t)at << JOB_ID_BITS | (job_id & ((1u << JOB_ID_BITS) - 1));

    buf[0] = 's';
    for (size_t i = DIGITS; i > 0; i--, bits >>= DIGIT_BITS)
        buf[i] = digits[bits & ((1u << DIGIT_BITS) - 1)];
    buf[SLUID_LEN] = '\0';
    return buf;
}

bool sluid_parse(const char *text, uint32_t *job_id, int64_t *submit_at_sec)
{
    uint64_t bits = 0;

    if (*text != 's')
        return false;
    for (size_t i = 1; i <= DIGITS; i++) {
        const char *digit = text[i] ? strchr(digits, toupper((unsigned char)text[i])) : NULL;
        uint64_t value = digit ? (uint64_t)(digit - digits) : 0;
        if (!digit || (i == 1 && value > UINT64_MAX >> (DIGITS - 1) * DIGIT_BITS))
            return false;
        bits = bits << DIGIT_BITS | value;
    }
    if (isalnum((unsigned char)text[SLUID_LEN]))
        return false;
    *job_id = (uint32_t)(bits & ((1u << JOB_ID_BITS) - 1));
    *submit_at_sec = (int64_t)(bits >> JOB_ID_BITS);
    return true;
}
