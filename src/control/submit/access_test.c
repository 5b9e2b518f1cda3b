/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Partitions with a key (CORE-080, CORE-213), and jobs that root submits for others. */
#include <string.h>

#include "control/fixture.h"

#define CONF                                                                                       \
    "SelectTypeParameters=CR_Core_Memory\nSlurmdTimeout=0\nNodeName=n[1-2] CPUs=4 "                \
    "RealMemory=4000\n"                                                                            \
    "PartitionName=a Nodes=ALL Default=YES\nPartitionName=k Nodes=ALL Key=YES\n"                   \
    "PartitionName=some Nodes=ALL AllowAccounts=phys,chem DenyAccounts=phys\n"                     \
    "PartitionName=others Nodes=ALL DenyAccounts=phys\n"                                           \
    "PartitionName=g Nodes=ALL AllowGroups=ann\nPartitionName=d Nodes=ALL DisableRootJobs=YES\n"
#define KEY "k0000000000000000000000000000000"
#define KEY_7 "k0000000000000000000000000000007"

static int64_t submit_job(struct fixture *f, bool root, const char *part, const char *key)
{
    struct caller user = FIXTURE_USER, admin = FIXTURE_ROOT;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.partition = (char *)part;
    s.partition_key = (char *)key;
    return fixture_submit(f, root ? &admin : &user, &s);
}

static void partition_key_permits_submission(void **state)
{
    struct fixture *f = fixture_new(CONF);
    char key[CONTROL_PART_KEY_SIZE];
    struct err err = {0};
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    assert_int_equal(control_part_key(f->control, "none", key, &err), -ERR_NO_PARTITION);
    assert_int_equal(control_part_key(f->control, "a", key, &err), -ERR_RANGE);
    assert_int_equal(control_part_key(f->control, "k", key, &err), 0);
    assert_string_equal(key, KEY);
    static const char *const wrong[] = {NULL, "", "k", KEY "0", "k0000000000000000000000000000001"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(submit_job(f, true, "k", wrong[i]), -ERR_ACCESS);
    assert_int_equal(submit_job(f, false, "k", KEY), -ERR_ACCESS); /* a stolen key */
    int64_t id = submit_job(f, true, "k", KEY);
    assert_true(id > 0);
    assert_null(fixture_job(f, &arena, (uint32_t)id)->spec->partition_key);
    assert_true(submit_job(f, false, "a", "nonsense") > 0); /* the partition needs no key */

    Pb__PartRecord set = PB__PART_RECORD__INIT;
    set.name = (char *)"k";
    set.has_key_number = true;
    set.key_number = 7;
    assert_int_equal(fixture_update_part(f, &set), 0);
    fixture_restart(f);
    assert_int_equal(submit_job(f, true, "k", KEY), -ERR_ACCESS);
    assert_true(submit_job(f, true, "k", KEY_7) > 0);
    fixture_free(f);
}

static void partitions_take_jobs_of_their_accounts(void **state)
{
    static const struct {
        const char *part, *account;
        bool is_refused;
    } cases[] = {
        {"some", NULL, true},     {"some", "bio", true},    {"some", "phys", false},
        {"some", "Chem", false},  {"some", "phy", true},    {"some", "phys,chem", true},
        {"others", NULL, false},  {"others", "phys", true}, {"others", "PHYS", true},
        {"others", "bio", false}, {"others", "phy", false}, {"a", "phys", false},
    };
    struct fixture *f = fixture_new(CONF);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct caller admin = FIXTURE_ROOT; /* AllowGroups does not apply to root */
        Pb__JobSpec s = PB__JOB_SPEC__INIT;
        s.partition = (char *)cases[i].part;
        s.account = (char *)cases[i].account;
        int64_t id = fixture_submit(f, &admin, &s);
        if (cases[i].is_refused ? id != -ERR_ACCOUNT : id <= 0)
            fail_msg("case %zu: %lld", i, (long long)id);
    }
    fixture_free(f);
}

static int64_t submit_for(struct fixture *f, bool root, const char *part, int64_t uid, int64_t gid)
{
    struct caller user = FIXTURE_USER, admin = FIXTURE_ROOT;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.partition = (char *)part;
    s.has_uid = uid >= 0;
    s.uid = (uint32_t)uid;
    s.has_gid = gid >= 0;
    s.gid = (uint32_t)gid;
    s.has_request_id = true;
    s.request_id = (ProtobufCBinaryData){16, (uint8_t *)"0123456789abcdef"};
    return fixture_submit(f, root ? &admin : &user, &s);
}

static void root_submits_for_others(void **state)
{
    struct fixture *f = fixture_new(CONF);
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    assert_int_equal(submit_for(f, false, "a", 0, 0), -ERR_ACCESS);
    assert_int_equal(submit_for(f, false, "a", 1001, 100), -ERR_ACCESS);
    assert_int_equal(submit_for(f, false, "a", -1, user.gid + 1), -ERR_ACCESS);
    /* root's group is not permitted. */
    assert_int_equal(submit_for(f, true, "a", 1000, -1), -ERR_ACCESS);
    assert_int_equal(submit_for(f, true, "a", 4444, 100), -ERR_USER);
    assert_int_equal(submit_for(f, true, "g", 1001, 100), -ERR_GROUPS);
    assert_int_equal(submit_for(f, true, "d", -1, -1), -ERR_ACCESS);
    int64_t id = submit_for(f, true, "g", 1000, 100);
    assert_true(id > 0);
    assert_int_equal(submit_for(f, true, "g", 1000, 100), id); /* the repeated request */
    fixture_restart(f);
    assert_int_equal(submit_for(f, true, "g", 1000, 100), id); /* its reply was lost */
    assert_true(submit_for(f, true, "d", 1001, 100) > id);
    const Pb__JobSpec *spec = fixture_job(f, &arena, (uint32_t)id)->spec;
    assert_int_equal(spec->uid, 1000);
    assert_int_equal(spec->gid, 100);
    assert_string_equal(spec->user_name, "ann");
    Pb__JobUpdate hold = PB__JOB_UPDATE__INIT;
    hold.job_id = (uint32_t)id;
    hold.has_hold = hold.hold = true;
    assert_int_equal(fixture_update_job(f, &user, &hold), 0); /* it is her job */
    assert_true(submit_for(f, false, "a", user.uid, user.gid) > 0);
    fixture_free(f);
}

static void partition_must_exist_and_be_up(void **state)
{
    struct fixture *f = fixture_new("NodeName=n[1-2] CPUs=4\nPartitionName=a Nodes=ALL\n"
                                    "PartitionName=r Nodes=ALL State=DRAIN\n"
                                    "PartitionName=i Nodes=ALL State=INACTIVE\n");
    (void)state;
    assert_int_equal(submit_job(f, true, NULL, NULL), -ERR_NO_DEFAULT_PARTITION);
    assert_int_equal(submit_job(f, true, "x", NULL), -ERR_NO_PARTITION);
    assert_int_equal(submit_job(f, true, "r", NULL), -ERR_PARTITION_DOWN);
    assert_int_equal(submit_job(f, true, "i", NULL), -ERR_PARTITION_DOWN);
    assert_true(submit_job(f, true, "a", NULL) > 0);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partition_key_permits_submission),
        cmocka_unit_test(partitions_take_jobs_of_their_accounts),
        cmocka_unit_test(root_submits_for_others),
        cmocka_unit_test(partition_must_exist_and_be_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
