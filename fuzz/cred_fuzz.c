/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Input: a job credential or a token. The first byte selects:
 *
 *   0  a credential after 64 bytes of signature: never valid
 *   1  a credential that the controller has signed: if valid, it names this node and cluster
 *   2  a token: never valid
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "slurmd/job/cred.h"

#define NOW_MS INT64_C(1774000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct auth_signer *signer;
static uint8_t public_key[AUTH_CRED_KEY_SIZE];

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void make_signer(void)
{
    char dir[] = "/tmp/cred-fuzz-XXXXXX", path[64];
    uint8_t seed[32];
    require(mkdtemp(dir) != NULL);
    memset(seed, 7, sizeof(seed));
    snprintf(path, sizeof(path), "%s/key", dir);
    require(path_write_file(path, seed, sizeof(seed), 0600, NULL) == 0);
    require(auth_signer_load(path, geteuid(), &signer, NULL) == 0);
    unlink(path);
    rmdir(dir);
    auth_signer_public(signer, public_key);
}

static void check_cred(const void *data, size_t len, const uint8_t *sig, bool is_signed)
{
    struct cred_checker checker = {.public_key = public_key,
                                   .cluster = "c",
                                   .node = "n1",
                                   .incarnation = "i",
                                   .now_ms = NOW_MS};
    _cleanup_arena_ struct arena arena;
    Pb__Cred *out = NULL;
    uint32_t index = UINT32_MAX;
    struct err err = {0};
    arena_init(&arena, 0);
    int rc = cred_check(&checker, data, len, sig, AUTH_CRED_SIG_SIZE, CRED_PART_ANY, &arena, &out,
                        &index, &err);
    require(rc == 0 || (rc < 0 && err.code == rc));
    require(rc != 0 || (is_signed && out && str_eq(out->cluster, "c")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t sig[AUTH_CRED_SIG_SIZE];
    if (!signer)
        make_signer();
    if (size < 1)
        return 0;
    unsigned how = data[0] % 3;
    data++, size--;
    if (how == 0 && size >= sizeof(sig)) {
        check_cred(data + sizeof(sig), size - sizeof(sig), data, false);
    } else if (how == 1) {
        auth_sign(signer, data, size, sig);
        check_cred(data, size, sig, true);
    } else if (how == 2) {
        struct auth_key key = {0};
        uid_t payer = 0;
        struct err err = {0};
        auth_random(&key, sizeof(key));
        require(auth_token_precheck(&key, data, size, "n1", NOW_MS, 0, &payer, &err) != 0);
    }
    return 0;
}
