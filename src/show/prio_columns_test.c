/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lines that Slurm prints for the same jobs, to the blank. */
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

static void prints(const Pb__PrioWeights *w, const Pb__PrioJob *j, bool norm, bool all,
                   const char *header, const char *row)
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

static void test_as_slurm(void **state)
{
    double tres[] = {0.375, 0.01875};
    Pb__PrioWeights w = make_weights();
    Pb__PrioJob j = make_job(tres);
    prints(&w, &j, false, false, HEAD,
           "              2 main            1564          0          0        688        500       "
           "   0        cpu=375,mem=9\n");
    prints(&w, &j, true, false, NORM,
           "              2 main      0.00000036 0.0000000  0.6875000  0.5000000  0.0000000  "
           "cpu=0.38,mem=0.02   \n");
    prints(&w, NULL, false, false, HEAD,
           "        Weights                               1       1000       1000       1000       "
           " 100     CPU=1000,Mem=500\n");
    prints(&w, NULL, true, false, NORM,
           "        Weights                      1000       1000       1000       100              "
           "              \n");
}

static void test_given(void **state)
{
    Pb__PrioWeights w = make_weights();
    Pb__PrioJob j = PB__PRIO_JOB__INIT;
    j.job_id = 7;
    j.partition = "b";
    j.priority = 123;
    j.account = "physics";
    j.qos_name = "normal";
    prints(
        &w, &j, false, true,
        "          JOBID PARTITION     USER  ACCOUNT   PRIORITY       SITE        AGE      ASSOC  "
        "FAIRSHARE    JOBSIZE  PARTITION    QOSNAME        QOS        NICE                 TRES\n",
        "              7 b             root  physics        123          0          0          0  "
        "        0          0          0     normal          0           0                     \n");
}

static void test_nothing_has_a_weight(void **state)
{
    Pb__PrioWeights w = PB__PRIO_WEIGHTS__INIT;
    Pb__PrioJob j = make_job(NULL);
    j.n_tres = 0;
    prints(&w, &j, false, false, "          JOBID PARTITION   PRIORITY       SITE\n",
           "              2 main            1564          0\n");
}

/* More factors than names must not be read. */
static void test_mismatch(void **state)
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
        cmocka_unit_test(test_as_slurm),
        cmocka_unit_test(test_given),
        cmocka_unit_test(test_nothing_has_a_weight),
        cmocka_unit_test(test_mismatch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
