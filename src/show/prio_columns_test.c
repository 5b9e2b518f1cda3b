/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The output is identical to Slurm's for the same jobs, including blanks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "show/prio_columns.h"

static char *tres_names[] = {"cpu", "mem"};
static double tres_weights[] = {1000, 500};

static Pb__PrioWeights make_weights(void)
{
    Pb__PrioWeights w = PB__PRIO_WEIGHTS__INIT;
    w.age = w.size = w.part = 1000;
    w.qos = 100;
    w.tres = "CPU=1000,Mem=500";
    w.tres_name = tres_names;
    w.tres_weight = tres_weights;
    w.n_tres_name = w.n_tres_weight = 2;
    return w;
}

static Pb__PrioJob make_job(double *tres)
{
    Pb__PrioJob j = PB__PRIO_JOB__INIT;
    j.job_id = 2;
    j.partition = "main";
    j.priority = 1564;
    j.has_sum = 1;
    j.sum = 1564.875;
    j.nice = 7;
    j.size = 0.6875;
    j.part = 0.5;
    j.tres = tres;
    j.n_tres = 2;
    return j;
}

static void expect_priority_line(const Pb__PrioWeights *w, const Pb__PrioJob *j, bool norm,
                                 bool all, const char *header, const char *row)
{
    struct listing l;
    _cleanup_str_ struct str format = STR_INIT, out = STR_INIT;
    struct prio_columns_view view = {j, w, "c"};
    prio_columns_format(w, norm, all, all, &format);
    listing_init(&l, &prio_columns);
    listing_set_letters(&l, str_cstr(&format));
    listing_print_header(&l, &out);
    assert_string_equal(str_cstr(&out), header);
    str_clear(&out);
    listing_add(&l, &view);
    listing_print_rows(&l, &out);
    assert_string_equal(str_cstr(&out), row);
    listing_done(&l);
}

#define HEAD                                                                                       \
    "          JOBID PARTITION   PRIORITY       SITE        AGE    JOBSIZE  PARTITION        QOS " \
    " "                                                                                            \
    "               TRES\n"
#define NORM                                                                                       \
    "          JOBID PARTITION PRIORITY   AGE        JOBSIZE    PARTITION  QOS        TRES       " \
    " "                                                                                            \
    "        \n"

static void test_priorities_are_printed_as_slurm_does(void **state)
{
    double tres[] = {0.375, 0.01875};
    Pb__PrioWeights w = make_weights();
    Pb__PrioJob j = make_job(tres);
    expect_priority_line(
        &w, &j, false, false, HEAD,
        "              2 main            1564          0          0        688        500       "
        "   0        cpu=375,mem=9\n");
    expect_priority_line(
        &w, &j, true, false, NORM,
        "              2 main      0.00000036 0.0000000  0.6875000  0.5000000  0.0000000  "
        "cpu=0.38,mem=0.02   \n");
    expect_priority_line(
        &w, NULL, false, false, HEAD,
        "        Weights                               1       1000       1000       1000       "
        " 100     CPU=1000,Mem=500\n");
    expect_priority_line(
        &w, NULL, true, false, NORM,
        "        Weights                      1000       1000       1000       100              "
        "              \n");
}

static void test_given_priority_is_printed(void **state)
{
    Pb__PrioWeights w = make_weights();
    Pb__PrioJob j = PB__PRIO_JOB__INIT;
    j.job_id = 7;
    j.partition = "b";
    j.priority = 123;
    j.account = "physics";
    j.qos_name = "normal";
    expect_priority_line(
        &w, &j, false, true,
        "          JOBID PARTITION     USER  ACCOUNT   PRIORITY       SITE        AGE      ASSOC  "
        "FAIRSHARE    JOBSIZE  PARTITION    QOSNAME        QOS        NICE                 TRES\n",
        "              7 b             root  physics        123          0          0          0  "
        "        0          0          0     normal          0           0                     \n");
}

static void test_columns_without_weights_are_left_out(void **state)
{
    Pb__PrioWeights w = PB__PRIO_WEIGHTS__INIT;
    Pb__PrioJob j = make_job(NULL);
    j.n_tres = 0;
    expect_priority_line(&w, &j, false, false, "          JOBID PARTITION   PRIORITY       SITE\n",
                         "              2 main            1564          0\n");
}

static void each_column_prints_its_value(void **state)
{
    static const struct {
        const char *id;
        char letter;
        const char *of_job, *of_weights;
    } cases[] = {
        {"age_norm", 'a', "0.1000000\n", "11\n"},
        {"age", 'A', "1\n", "11\n"},
        {"assoc_norm", 'b', "0.2000000\n", "12\n"},
        {"assoc", 'B', "2\n", "12\n"},
        {"cluster", 'c', "c\n", "\n"},
        {"fairshare_norm", 'f', "0.3000000\n", "13\n"},
        {"fairshare", 'F', "4\n", "13\n"},
        {"job_id", 'i', "2\n", "Weights\n"},
        {"size_norm", 'j', "0.6875000\n", "14\n"},
        {"size", 'J', "10\n", "14\n"},
        {"nice", 'N', "7\n", "\n"},
        {"qos_name", 'n', "normal\n", "\n"},
        {"account", 'o', "physics\n", "\n"},
        {"part_norm", 'p', "0.5000000\n", "15\n"},
        {"part", 'P', "8\n", "15\n"},
        {"qos_norm", 'q', "0.8000000\n", "16\n"},
        {"qos", 'Q', "13\n", "16\n"},
        {"partition", 'r', "main\n", "\n"},
        {"sluid", 's', NULL, "\n"},
        {"site", 'S', "99\n", "1\n"},
        {"tres_norm", 't', "cpu=0.38,mem=0.02\n", "\n"},
        {"tres", 'T', "cpu=375,mem=9\n", "CPU=1000,Mem=500\n"},
        {"user", 'u', "root\n", "\n"},
        {"priority_norm", 'y', "0.00000036435085\n", "\n"},
        {"priority", 'Y', "1564\n", "\n"},
    };
    double tres[] = {0.375, 0.01875};
    Pb__PrioWeights w = make_weights();
    Pb__PrioJob j = make_job(tres);
    (void)state;
    assert_int_equal(sizeof(cases) / sizeof(cases[0]), prio_columns.count);
    w.age = 11;
    w.assoc = 12;
    w.fairshare = 13;
    w.size = 14;
    w.part = 15;
    w.qos = 16;
    j.age = 0.1;
    j.assoc = 0.2;
    j.fairshare = 0.3;
    j.qos = 0.8;
    j.site = 99;
    j.qos_name = "normal";
    j.account = "physics";
    for (size_t i = 0; i < prio_columns.count; i++)
        for (int line = 0; line < 2; line++) {
            const char *wanted = line ? cases[i].of_weights : cases[i].of_job;
            struct listing l;
            _cleanup_str_ struct str out = STR_INIT;
            listing_init(&l, &prio_columns);
            listing_set_letters(&l, (char[]){'%', cases[i].letter, 0});
            listing_add(&l, &(struct prio_columns_view){line ? NULL : &j, &w, "c"});
            listing_print_rows(&l, &out);
            if (wanted ? !str_eq(str_cstr(&out), wanted) : !str_starts(str_cstr(&out), "s"))
                fail_msg("%s: '%s'", cases[i].id, str_cstr(&out));
            listing_done(&l);
        }
}

/* A priority is at least 1, however large the nice value. */
static void normalised_priority_is_between_0_and_1(void **state)
{
    static const struct {
        double sum;
        uint32_t priority;
        const char *shown;
    } cases[] = {
        {-5, 1, "0.00000000023283\n"},  {0.5, 1, "0.00000000023283\n"},
        {1.5, 1, "0.00000000034925\n"}, {5e9, UINT32_MAX, "1.00000000000000\n"},
        {0, 0, "0.00000000000000\n"},
    };
    Pb__PrioWeights w = make_weights();
    Pb__PrioJob j = make_job(NULL);
    struct prio_columns_view view = {&j, &w, "c"};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct listing l;
        _cleanup_str_ struct str out = STR_INIT;
        j.sum = cases[i].sum;
        j.priority = cases[i].priority;
        listing_init(&l, &prio_columns);
        listing_set_letters(&l, "%y");
        listing_add(&l, &view);
        listing_print_rows(&l, &out);
        assert_string_equal(str_cstr(&out), cases[i].shown);
        listing_done(&l);
    }
}

/* Factors without a name must not be read. */
static void test_unnamed_factors_are_ignored(void **state)
{
    double tres[] = {0.5, 0.5};
    Pb__PrioWeights w = make_weights();
    Pb__PrioJob j = make_job(tres);
    struct listing l;
    _cleanup_str_ struct str out = STR_INIT;
    struct prio_columns_view view = {&j, &w, "c"};
    w.n_tres_name = 1;
    listing_init(&l, &prio_columns);
    listing_set_letters(&l, "%t|%T|%c");
    listing_add(&l, &view);
    listing_print_rows(&l, &out);
    assert_string_equal(str_cstr(&out), "cpu=0.50|cpu=500|c\n");
    listing_done(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_priorities_are_printed_as_slurm_does),
        cmocka_unit_test(test_given_priority_is_printed),
        cmocka_unit_test(test_columns_without_weights_are_left_out),
        cmocka_unit_test(each_column_prints_its_value),
        cmocka_unit_test(normalised_priority_is_between_0_and_1),
        cmocka_unit_test(test_unnamed_factors_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
