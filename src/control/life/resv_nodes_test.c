/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nodes and cores of reservations: which are free, and how they change. */
#include "base/timefmt.h"
#include "control/life/resv_test_util.h"

/* Floating reservations keep their distance from now. */
static void floating_reservations_overlap_at_the_same_time(void **state)
{
    static const struct {
        const char *words;
        int code;
    } cases[] = {
        {"create name=b start=+900 length=600 nodes=n1 users=ann flags=TIME_FLOAT",
         ERR_RESV_OVERLAP},
        {"create name=b start=+300 length=600 nodes=n1 users=ann flags=TIME_FLOAT",
         ERR_RESV_OVERLAP},
        {"create name=b start=+660 length=60 nodes=n1 users=ann flags=TIME_FLOAT",
         ERR_RESV_OVERLAP},
        {"create name=b start=+60 length=6000 nodes=n1 users=ann flags=TIME_FLOAT",
         ERR_RESV_OVERLAP},
        {"create name=b start=+1200 length=600 nodes=n1 users=ann flags=TIME_FLOAT", 0},
        {"create name=b start=+60 length=540 nodes=n1 users=ann flags=TIME_FLOAT", 0},
        {"create name=b start=+900 length=600 nodes=n2 users=ann flags=TIME_FLOAT", 0},
    };
    struct fixture *f = resv_test_new();
    resv_test_apply(f, "create name=a start=+600 length=600 nodes=n1 users=ann flags=TIME_FLOAT");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        print_message("%s\n", cases[i].words);
        assert_int_equal(resv_test_request(f, cases[i].words), cases[i].code);
        if (cases[i].code == 0)
            resv_test_apply(f, "remove name=b");
    }
    fixture_free(f);
}

static void nodes_are_added_and_taken_away(void **state)
{
    static const struct {
        const char *words, *nodes;
    } steps[] = {
        {"name=r nodes=+n3", "n[1-3]"},           {"name=r nodes=-n[1,3]", "n2"},
        {"name=r nodes=+n[1,4-5]", "n[1-2,4-5]"}, {"name=r nodes=-n[4-5],+n3,-n1", "n[2-3]"},
        {"name=r nodes=+n4,-n2,+n5", "n[3-5]"},   {"name=r nodes=+n3", "n[3-5]"},
        {"name=r nodes=n[4-5]", "n[4-5]"},
    };
    static const struct {
        const char *words, *said;
        int code;
    } refused[] = {
        {"name=r nodes=+n9", "n9", ERR_NO_NODE},
        {"name=r nodes=-n9", "n9", ERR_NO_NODE},
        {"name=r nodes=-n8", "n8", ERR_NO_NODE},
        {"name=r nodes=-n1", "n1 is not among the nodes", ERR_NO_NODE},
        {"name=r nodes=+", "no node follows '+'", ERR_NO_NODE},
        {"name=r nodes=-", "no node follows '-'", ERR_NO_NODE},
        {"name=r nodes=-n4,n5", "no nodes would be left", ERR_RESV_INVALID},
        {"name=r nodes=+n3", "Requested reservation overlaps with another one: s",
         ERR_RESV_OVERLAP},
        {"create name=t start=+0 length=60 nodes=+n1 users=ann",
         "Nodes+= and Nodes-= change a reservation that exists", ERR_RESV_INVALID},
    };
    struct fixture *f = resv_test_new();
    resv_test_apply(f, "create name=r start=+0 length=6000 nodes=n[1-2] users=ann");
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        print_message("%s\n", steps[i].words);
        resv_test_apply(f, steps[i].words);
        resv_test_check(f, "r", steps[i].nodes, "SPEC_NODES", "ann");
    }
    resv_test_apply(f, "name=r nodes=+ALL");
    resv_test_check(f, "r", "n[1-5]", "SPEC_NODES,ALL_NODES", NULL);
    resv_test_apply(f, "name=r nodes=-n[1-3]");
    resv_test_check(f, "r", "n[4-5]", "SPEC_NODES", NULL);
    resv_test_apply(f, "create name=s start=+0 length=6000 nodes=n3 users=ann");
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        print_message("%s\n", refused[i].words);
        assert_int_equal(resv_test_request(f, refused[i].words), refused[i].code);
        assert_non_null(strstr(fixture_text(f, f->last_call), refused[i].said));
        resv_test_check(f, "r", "n[4-5]", NULL, NULL);
    }
    fixture_free(f);
}

static void cores_follow_nodes_that_are_added_and_taken_away(void **state)
{
    struct fixture *f = resv_test_new();
    resv_test_apply(f, "create name=r start=+0 length=6000 nodes=n[1-3] cores=1,2,3 users=ann");
    resv_test_apply(f, "name=r nodes=-n1");
    resv_test_check_cores(f, "r", "n2:2 n3:3");
    assert_int_equal(resv_test_request(f, "name=r nodes=+n4"), ERR_RESV_INVALID);
    assert_non_null(
        strstr(fixture_text(f, f->last_call), "CoreCnt=2,3 has a number for each node"));
    resv_test_apply(f, "name=r nodes=+n4 cores=2,3,1");
    resv_test_check_cores(f, "r", "n2:2 n3:3 n4:1");
    resv_test_apply(f, "create name=s start=+0 length=6000 nodes=n1 cores=4 users=ann");
    assert_int_equal(
        resv_test_request(f, "create start=+0 length=60 nodes=n[2-4] cores=2 users=ann"),
        ERR_RESV_INVALID);
    assert_non_null(strstr(fixture_text(f, f->last_call), "CoreCnt=2 is fewer cores than 3 nodes"));
    assert_int_equal(resv_test_request(f, "create start=+0 length=60 nodes=n2 cores=2,1 users=ann"),
                     ERR_RESV_INVALID);
    assert_non_null(strstr(fixture_text(f, f->last_call), "CoreCnt has 2 numbers for 1 node"));
    resv_test_apply(f, "name=s nodes=+n5"); /* a total */
    resv_test_check_cores(f, "s", "n1:2 n5:2");
    fixture_free(f);
}

static void refusal_names_missing_nodes_and_the_time_they_are_free(void **state)
{
    static const struct {
        const char *words, *said;
        int later_sec; /* when enough are free, from the test's begin; 0: no date in the text */
    } cases[] = {
        {"create start=+60 length=600 count=4 part=a users=ann",
         "4 nodes of partition a needed, 2 free at the start", 3600},
        {"create start=+60 length=600 count=3 part=a users=ann",
         "3 nodes of partition a needed, 2 free at the start", 600},
        {"create start=+1800 length=600 count=4 part=a users=ann",
         "4 nodes of partition a needed, 3 free at the start", 3600},
        {"create start=+60 length=600 count=5 part=a users=ann",
         "5 nodes of partition a needed, 2 free at the start", 0},
        {"create start=+60 length=600 cores=9 part=a users=ann",
         "9 cores of partition a needed, 8 free at the start", 600},
        {"create start=+60 length=600 count=4 part=a users=ann flags=DAILY",
         "4 nodes of partition a needed, 2 free at the start", 0},
    };
    struct fixture *f = resv_test_new();
    struct caller ann = FIXTURE_USER;
    int64_t begin_sec = f->wall_ms / 1000;
    resv_test_check_runs(f, resv_test_submit(f, &ann, NULL, 10, "n2"), "n2", NULL);
    resv_test_apply(f, "create name=held start=+0 length=3600 nodes=n3 users=ann");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char date[TIME_TEXT_MAX];
        bool has_date = cases[i].later_sec > 0;
        time_format_date(begin_sec + cases[i].later_sec, "", date);
        _cleanup_free_ char *said =
            mem_printf("Requested nodes are busy: %s%s%s", cases[i].said,
                       has_date ? "; enough are free at " : "", has_date ? date : "");
        assert_int_equal(resv_test_request(f, cases[i].words), ERR_NODES_BUSY);
        assert_string_equal(fixture_text(f, f->last_call), said);
    }
    fixture_free(f);
}

static void cores_keep_their_nodes_when_the_partition_changes(void **state)
{
    static const struct {
        const char *nodes, *kept;
    } steps[] = {
        {"n[4-5]", "n4:2 n5:3"},               /* n3 was removed */
        {"n[1-2,4-5]", "n1:1 n2:0 n4:2 n5:3"}, /* the rest of 6 */
        {"n[2,5]", "n2:0 n5:3"},
        {"n[2-3,5]", "n2:0 n3:3 n5:3"},
        {"n1", "n1:4"}, /* all of it */
        {"n[1-5]", "n1:4 n2:1 n3:1 n4:0 n5:0"},
    };
    struct fixture *f = resv_test_new();
    resv_test_apply(f, "create name=p start=+0 length=60000 nodes=ALL part=b cores=1,2,3 users=ann "
                       "flags=PART_NODES,MAINT");
    resv_test_check_cores(f, "p", "n3:1 n4:2 n5:3");
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        resv_test_set_nodes(f, "b", steps[i].nodes);
        resv_test_check_cores(f, "p", steps[i].kept);
        fixture_restart(f);
        resv_test_register_nodes(f);
        resv_test_check_cores(f, "p", steps[i].kept);
    }
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floating_reservations_overlap_at_the_same_time),
        cmocka_unit_test(nodes_are_added_and_taken_away),
        cmocka_unit_test(cores_follow_nodes_that_are_added_and_taken_away),
        cmocka_unit_test(refusal_names_missing_nodes_and_the_time_they_are_free),
        cmocka_unit_test(cores_keep_their_nodes_when_the_partition_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
