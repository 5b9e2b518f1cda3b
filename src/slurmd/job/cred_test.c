/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "slurmd/job/cred.h"

#define NOW 1700000000000

static char dir[] = "/tmp/cred-test.XXXXXX", key_path[64];
static struct auth_signer *signer;
static uint8_t public_key[AUTH_CRED_KEY_SIZE];

static int set_up(void **state)
{
    if (!mkdtemp(dir))
        return 1;
    snprintf(key_path, sizeof(key_path), "%s/key", dir);
    if (auth_signer_load(key_path, geteuid(), &signer, NULL))
        return 1;
    auth_signer_public(signer, public_key);
    return 0;
}

static int tear_down(void **state)
{
    auth_signer_free(signer);
    unlink(key_path);
    return rmdir(dir);
}

static void make_of(int64_t issued, int64_t expires, const char *cluster, const char *incarnation,
                    struct str *bytes, uint8_t sig[AUTH_CRED_SIG_SIZE])
{
    Pb__Cred m = PB__CRED__INIT;
    Pb__StepNode a = PB__STEP_NODE__INIT, b = PB__STEP_NODE__INIT, *nodes[] = {&a, &b};

    a.node = "n1";
    b.node = "n2";
    a.addr = b.addr = "127.0.0.1";
    m.job_id = 42;
    m.cluster = (char *)cluster;
    m.issued_at_ms = issued;
    m.expires_at_ms = expires;
    m.nodes = nodes;
    m.n_nodes = 2;
    a.has_incarnation = incarnation != NULL;
    a.incarnation = incarnation ? str_hash(incarnation) : 0;
    str_clear(bytes);
    pb_pack(&m.base, bytes);
    auth_sign(signer, bytes->data, bytes->len, sig);
}

static void make_cred(int64_t issued, int64_t expires, const char *cluster, struct str *bytes,
                      uint8_t sig[AUTH_CRED_SIG_SIZE])
{
    make_of(issued, expires, cluster, NULL, bytes, sig);
}

static int check_cred(const char *node, const struct str *bytes, const uint8_t *sig, size_t sig_len)
{
    struct cred_checker c = {.public_key = public_key,
                             .cluster = "here",
                             .node = node,
                             .incarnation = "b:s",
                             .now_ms = NOW};
    _cleanup_arena_ struct arena arena;
    Pb__Cred *cred = NULL;
    uint32_t index = 77;
    int rc;

    arena_init(&arena, 0);
    rc = cred_check(&c, bytes->data, bytes->len, sig, sig_len, 0, &arena, &cred, &index, NULL);
    assert_true(rc <= 0);
    if (rc)
        assert_true(!cred && index == 77);
    else
        assert_true(cred->job_id == 42 && !strcmp(cred->nodes[index]->node, node));
    return rc;
}

static void test_altered_credentials_are_refused(void **state)
{
    _cleanup_str_ struct str bytes = STR_INIT;
    uint8_t sig[AUTH_CRED_SIG_SIZE];

    make_cred(NOW, NOW + 1, "here", &bytes, sig);
    assert_int_equal(check_cred("n1", &bytes, sig, 64), 0);
    for (size_t bit = 0; bit < 8 * bytes.len; bit++) {
        bytes.data[bit / 8] ^= (char)(1 << bit % 8);
        assert_int_equal(check_cred("n1", &bytes, sig, 64), -ERR_CREDENTIAL);
        bytes.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    for (size_t bit = 0; bit < 8 * sizeof(sig); bit++) {
        sig[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(check_cred("n1", &bytes, sig, 64), -ERR_CREDENTIAL);
        sig[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(check_cred("n1", &bytes, sig, 63), -ERR_CREDENTIAL);
    assert_int_equal(check_cred("n1", &bytes, sig, 0), -ERR_CREDENTIAL);
    str_putc(&bytes, 'x');
    assert_int_equal(check_cred("n1", &bytes, sig, 64), -ERR_CREDENTIAL);
}

static void test_fields_of_a_credential_are_checked(void **state)
{
    static const struct {
        int64_t issued, expires;
        const char *cluster, *node;
        int code;
    } vectors[] = {
        {NOW, NOW, "here", "n1", 0},
        {NOW, NOW + 1000, "here", "n2", 0},
        {NOW, NOW - 1, "here", "n1", ERR_CREDENTIAL_EXPIRED},
        {NOW, 0, "here", "n1", ERR_CREDENTIAL_EXPIRED},
        {NOW, -1, "here", "n1", ERR_CREDENTIAL_EXPIRED},
        {NOW + AUTH_SKEW_MS, NOW + 99999, "here", "n1", 0},
        {NOW + AUTH_SKEW_MS + 1, NOW + 99999, "here", "n1", ERR_SKEW},
        {NOW, NOW + 1, "Here", "n1", ERR_CREDENTIAL},
        {NOW, NOW + 1, "", "n1", ERR_CREDENTIAL},
        {NOW, NOW + 1, "here", "n3", ERR_CREDENTIAL},
        {NOW, NOW + 1, "here", "n", ERR_CREDENTIAL},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        _cleanup_str_ struct str bytes = STR_INIT;
        uint8_t sig[AUTH_CRED_SIG_SIZE];

        make_cred(vectors[i].issued, vectors[i].expires, vectors[i].cluster, &bytes, sig);
        assert_int_equal(check_cred(vectors[i].node, &bytes, sig, 64), -vectors[i].code);
    }
}

/* After a reboot nothing of before is started; without a boot id from the controller, everything
   is accepted. */
static void test_credential_of_another_incarnation_is_refused(void **state)
{
    static const struct {
        const char *incarnation;
        int code;
    } vectors[] = {
        {"b:s", 0}, {NULL, 0}, {"b:t", ERR_CREDENTIAL_REVOKED}, {"", ERR_CREDENTIAL_REVOKED}};

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        _cleanup_str_ struct str bytes = STR_INIT;
        uint8_t sig[AUTH_CRED_SIG_SIZE];

        make_of(NOW, NOW + 1, "here", vectors[i].incarnation, &bytes, sig);
        assert_int_equal(check_cred("n1", &bytes, sig, 64), -vectors[i].code);
        assert_int_equal(check_cred("n2", &bytes, sig, 64), 0); /* the other node's says nothing */
    }
}

static void test_credential_without_a_key_is_refused(void **state)
{
    struct cred_checker c = {.cluster = "here", .node = "n1", .incarnation = "b:s", .now_ms = NOW};
    _cleanup_str_ struct str bytes = STR_INIT;
    uint8_t sig[AUTH_CRED_SIG_SIZE];
    Pb__Cred *cred;
    uint32_t index;

    make_cred(NOW, NOW + 1, "here", &bytes, sig);
    assert_int_equal(
        cred_check(&c, bytes.data, bytes.len, sig, sizeof(sig), 0, NULL, &cred, &index, NULL),
        -ERR_CREDENTIAL);
}

/* Signed garbage: from the controller, but checked nevertheless. */
static void test_signed_garbage_is_refused(void **state)
{
    _cleanup_str_ struct str bytes = STR_INIT;
    uint8_t sig[AUTH_CRED_SIG_SIZE];

    str_puts(&bytes, "\x08\xff\xff\xff\xff rubbish");
    auth_sign(signer, bytes.data, bytes.len, sig);
    assert_int_equal(check_cred("n1", &bytes, sig, sizeof(sig)), -ERR_CREDENTIAL);
}

/* A step of three parts, two of them on one node: each part is a separate job, and the part named
 * by the launch is checked. */
static void test_parts_of_a_step_are_checked(void **state)
{
    struct cred_checker c = {
        .public_key = public_key, .cluster = "here", .incarnation = "b:s", .now_ms = NOW};
    Pb__Cred m = PB__CRED__INIT;
    Pb__StepNode rows[3], *nodes[3];
    Pb__CredPart parts[3], *list[3];
    Pb__NodeShare row = PB__NODE_SHARE__INIT, *share = &row;
    static const char *const names[] = {"n1", "n2", "n1"};
    static const struct {
        const char *node;
        int64_t part;
        int rc;
        uint32_t job_id, index;
    } tries[] = {{"n1", 0, 0, 40, 0},
                 {"n2", 1, 0, 41, 1},
                 {"n1", 2, 0, 42, 2},
                 {"n1", 1, -ERR_CREDENTIAL, 0, 0},
                 {"n2", 0, -ERR_CREDENTIAL, 0, 0},
                 {"n1", 3, -ERR_CREDENTIAL, 0, 0},
                 {"n1", UINT32_MAX, -ERR_CREDENTIAL, 0, 0}, /* of a message */
                 {"n3", CRED_PART_ANY, -ERR_CREDENTIAL, 0, 0},
                 {"n1", CRED_PART_ANY, 0, 40, 0},
                 {"n2", CRED_PART_ANY, 0, 41, 1}};
    _cleanup_str_ struct str bytes = STR_INIT;
    uint8_t sig[AUTH_CRED_SIG_SIZE];
    (void)state;

    row.node = "n1";
    for (uint32_t i = 0; i < 3; i++) {
        pb__step_node__init(&rows[i]);
        pb__cred_part__init(&parts[i]);
        rows[i].node = (char *)names[i];
        rows[i].addr = "127.0.0.1";
        rows[i].has_part = i > 0;
        rows[i].part = i;
        parts[i].job_id = 40 + i;
        parts[i].restarts = i;
        parts[i].n_job_nodes = i ? 0 : 1;
        parts[i].job_nodes = &share;
        parts[i].has_exact = parts[i].exact = i == 2;
        nodes[i] = &rows[i];
        list[i] = &parts[i];
    }
    m.job_id = 40;
    m.cluster = "here";
    m.issued_at_ms = NOW;
    m.expires_at_ms = NOW + 1;
    m.nodes = nodes;
    m.parts = list;
    m.n_nodes = m.n_parts = 3;
    pb_pack(&m.base, &bytes);
    auth_sign(signer, bytes.data, bytes.len, sig);
    for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
        _cleanup_arena_ struct arena arena;
        Pb__Cred *cred = NULL;
        uint32_t index = 77;

        arena_init(&arena, 0);
        c.node = tries[i].node;
        assert_int_equal(cred_check(&c, bytes.data, bytes.len, sig, sizeof(sig), tries[i].part,
                                    &arena, &cred, &index, NULL),
                         tries[i].rc);
        if (tries[i].rc)
            continue;
        assert_int_equal(cred->job_id, tries[i].job_id);
        assert_int_equal(cred->restarts, tries[i].job_id - 40);
        assert_int_equal(cred->exact, tries[i].job_id == 42);
        assert_int_equal(index, tries[i].index);
        assert_true(cred->n_nodes == 3 && cred->part == index); /* it knows of all nodes */
    }
    /* Two parts in one job: the first one identifies it. */
    parts[2].job_id = 40;
    str_clear(&bytes);
    pb_pack(&m.base, &bytes);
    auth_sign(signer, bytes.data, bytes.len, sig);
    for (uint32_t part = 0; part < 3; part++) {
        _cleanup_arena_ struct arena arena;
        Pb__Cred *cred = NULL;
        uint32_t index = 77;

        arena_init(&arena, 0);
        c.node = names[part];
        assert_int_equal(cred_check(&c, bytes.data, bytes.len, sig, sizeof(sig), part, &arena,
                                    &cred, &index, NULL),
                         0);
        assert_int_equal(cred->n_job_nodes, part == 1 ? 0 : 1);
    }
    /* A credential that lacks the parts that its nodes are of. */
    m.n_parts = 1;
    str_clear(&bytes);
    pb_pack(&m.base, &bytes);
    auth_sign(signer, bytes.data, bytes.len, sig);
    c.node = "n2";
    Pb__Cred *cred = NULL;
    uint32_t index = 77;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    assert_int_equal(
        cred_check(&c, bytes.data, bytes.len, sig, sizeof(sig), 1, &arena, &cred, &index, NULL),
        -ERR_CREDENTIAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_altered_credentials_are_refused),
        cmocka_unit_test(test_parts_of_a_step_are_checked),
        cmocka_unit_test(test_fields_of_a_credential_are_checked),
        cmocka_unit_test(test_credential_of_another_incarnation_is_refused),
        cmocka_unit_test(test_credential_without_a_key_is_refused),
        cmocka_unit_test(test_signed_garbage_is_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
