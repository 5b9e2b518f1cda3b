/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "auth/auth.h"
#include "base/path.h"

static char dir[64], path[96];
static const char cred[] = "uid 1000 may run step 7.0 on n[1-4] until noon";

static int setup(void **state)
{
    snprintf(dir, sizeof(dir), "/tmp/auth_cred_test.XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof(path), "%s/jobcred.key", dir);
    return 0;
}

static int teardown(void **state)
{
    unlink(path);
    return rmdir(dir);
}

static void altered_credentials_are_refused(void **state)
{
    struct auth_signer *s = NULL;
    uint8_t public_key[AUTH_CRED_KEY_SIZE], sig[AUTH_CRED_SIG_SIZE + 1] = {0};
    char data[sizeof(cred) + 1] = {0};
    struct err err = {0};

    assert_int_equal(auth_signer_load(path, geteuid(), &s, NULL), 0);
    auth_signer_public(s, public_key);
    auth_sign(s, cred, sizeof(cred), sig);
    memcpy(data, cred, sizeof(cred));
    assert_int_equal(auth_verify(public_key, data, sizeof(cred), sig, AUTH_CRED_SIG_SIZE, NULL), 0);

    for (size_t bit = 0; bit < sizeof(cred) * 8; bit++) {
        data[bit / 8] ^= (char)(1u << bit % 8);
        assert_int_equal(auth_verify(public_key, data, sizeof(cred), sig, AUTH_CRED_SIG_SIZE, &err),
                         -ERR_CREDENTIAL);
        data[bit / 8] ^= (char)(1u << bit % 8);
    }
    for (size_t bit = 0; bit < AUTH_CRED_SIG_SIZE * 8; bit++) {
        sig[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(auth_verify(public_key, data, sizeof(cred), sig, AUTH_CRED_SIG_SIZE, &err),
                         -ERR_CREDENTIAL);
        sig[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t bit = 0; bit < AUTH_CRED_KEY_SIZE * 8; bit++) {
        public_key[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(auth_verify(public_key, data, sizeof(cred), sig, AUTH_CRED_SIG_SIZE, &err),
                         -ERR_CREDENTIAL);
        public_key[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t len = 0; len <= sizeof(data); len++)
        assert_int_equal(auth_verify(public_key, data, len, sig, AUTH_CRED_SIG_SIZE, &err),
                         len == sizeof(cred) ? 0 : -ERR_CREDENTIAL);
    for (size_t len = 0; len <= sizeof(sig); len++)
        assert_int_equal(auth_verify(public_key, data, sizeof(cred), sig, len, &err),
                         len == AUTH_CRED_SIG_SIZE ? 0 : -ERR_CREDENTIAL);
    auth_signer_free(s);
}

/* RFC 8032, section 7.1, test 2: our files and signatures are plain Ed25519. */
static void signature_matches_rfc_8032(void **state)
{
    static const char seed[] = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb";
    static const char public_hex[] =
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
    static const char sig_hex[] =
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00";
    uint8_t bytes[32], want[64], got[64];
    struct auth_signer *s = NULL;

    for (int i = 0; i < 32; i++)
        sscanf(seed + 2 * i, "%2hhx", &bytes[i]);
    assert_int_equal(path_write_file(path, bytes, sizeof(bytes), 0600, NULL), 0);
    assert_int_equal(auth_signer_load(path, geteuid(), &s, NULL), 0);
    for (int i = 0; i < 32; i++)
        sscanf(public_hex + 2 * i, "%2hhx", &want[i]);
    auth_signer_public(s, got);
    assert_memory_equal(got, want, 32);
    for (int i = 0; i < 64; i++)
        sscanf(sig_hex + 2 * i, "%2hhx", &want[i]);
    auth_sign(s, "\x72", 1, got);
    assert_memory_equal(got, want, 64);
    auth_signer_free(s);
}

static void invalid_key_files_are_refused(void **state)
{
    struct auth_signer *a = NULL, *b = NULL;
    uint8_t pa[AUTH_CRED_KEY_SIZE], pb[AUTH_CRED_KEY_SIZE];
    struct stat st;
    char bytes[64] = {0};

    for (size_t len = 0; len < sizeof(bytes); len++) {
        struct err err = {0};
        if (len == 32)
            continue;
        unlink(path);
        assert_int_equal(path_write_file(path, bytes, len, 0600, NULL), 0);
        assert_int_equal(auth_signer_load(path, geteuid(), &a, &err), -ERR_CONFIG);
        assert_null(a);
        assert_non_null(strstr(err.text, path));
    }
    unlink(path);
    assert_int_equal(auth_signer_load(path, geteuid(), &a, NULL), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(auth_signer_load(path, geteuid(), &b, NULL), 0);
    auth_signer_public(a, pa);
    auth_signer_public(b, pb);
    assert_memory_equal(pa, pb, sizeof(pa));
    auth_signer_free(a);
    auth_signer_free(b);
    b = NULL;
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(auth_signer_load(path, geteuid(), &b, NULL), -ERR_CONFIG);
    assert_null(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(altered_credentials_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(signature_matches_rfc_8032, setup, teardown),
        cmocka_unit_test_setup_teardown(invalid_key_files_are_refused, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
