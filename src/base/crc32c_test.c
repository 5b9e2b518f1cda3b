/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/crc32c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* RFC 3720, B.4, and the check value of the algorithm. */
static void crc32c_matches_rfc_3720(void **state)
{
    unsigned char zeros[32] = {0}, ones[32], up[32], down[32];
    memset(ones, 0xff, sizeof(ones));
    for (unsigned char i = 0; i < 32; i++) {
        up[i] = i;
        down[i] = (unsigned char)(31 - i);
    }
    const struct {
        const void *data;
        size_t len;
        uint32_t crc;
    } rows[] = {
        {"", 0, 0},
        {"123456789", 9, 0xe3069283},
        {zeros, 32, 0x8a9136aa},
        {ones, 32, 0x62a8ab43},
        {up, 32, 0x46dd794e},
        {down, 32, 0x113fdb5c},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(crc32c(0, rows[i].data, rows[i].len), rows[i].crc);
        assert_int_equal(crc32c_portable(0, rows[i].data, rows[i].len), rows[i].crc);
    }
}

static void hardware_and_portable_sums_agree_in_pieces(void **state)
{
    unsigned char data[300];
    srandom(1);
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)random();
    for (size_t from = 0; from < 9; from++)
        for (size_t len = 0; len + from <= sizeof(data); len++) {
            uint32_t whole = crc32c_portable(0, data + from, len);
            assert_int_equal(crc32c(0, data + from, len), whole);
            size_t half = len / 3;
            assert_int_equal(crc32c(crc32c(0, data + from, half), data + from + half, len - half),
                             whole);
        }
}

/* Where large data is processed in stripes, compared byte by byte. */
static void hardware_and_portable_sums_agree_on_large_data(void **state)
{
    size_t most = (200u << 10) + 17;
    unsigned char *data = malloc(most);

    assert_non_null(data);
    srandom(2);
    for (size_t i = 0; i < most; i++)
        data[i] = (unsigned char)random();
    for (size_t len = 65530; len < 65546; len++)
        assert_int_equal(crc32c(7, data + len % 3, len), crc32c_portable(7, data + len % 3, len));
    for (size_t len = most; len > 100; len = len * 7 / 8)
        assert_int_equal(crc32c(0, data, len), crc32c_portable(0, data, len));
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc32c_matches_rfc_3720),
        cmocka_unit_test(hardware_and_portable_sums_agree_in_pieces),
        cmocka_unit_test(hardware_and_portable_sums_agree_on_large_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
