/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"
#include "conf/conf.h"

#define SLURM 4710
#define EVE 4711

static char folder[64];

static char *write_file(const char *name, const char *text)
{
    char *path = mem_printf("%s/%s", folder, name);

    assert_int_equal(path_write_file(path, text, strlen(text), 0644, NULL), 0);
    return path;
}

static int set_up(void **state)
{
    snprintf(folder, sizeof(folder), "/tmp/trust_test.XXXXXX");
    return mkdtemp(folder) && chmod(folder, 0755) == 0 ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

static int tear_down(void **state)
{
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0 ? 0 : -1;
}

/* Owner and mode of the file itself and of its included files. */
static void files_of_other_users_are_refused(void **state)
{
    _cleanup_free_ char *more = write_file("more.conf", "SlurmctldPort=7001\n");
    _cleanup_free_ char *main_file = write_file("slurm.conf", "ClusterName=c\nSlurmctldHost=h\n"
                                                              "SlurmUser=#4710\n"
                                                              "Include more.conf\n"
                                                              "NodeName=n1\n"
                                                              "PartitionName=p Nodes=ALL\n");
    const char *const each[] = {main_file, more};
    struct conf *conf = NULL;
    struct err err = {0};

    if (conf_load(main_file, CONF_FULL, NULL, &conf, NULL, &err))
        fail_msg("%s", err.text);
    conf->slurm_uid = SLURM;
    assert_int_equal(conf_trust_files(conf, &err), 0);
    for (int i = 0; i < 2 && geteuid() == 0; i++) {
        assert_int_equal(chmod(each[i], 0666), 0);
        assert_int_equal(conf_trust_files(conf, &err), -ERR_ACCESS);
        assert_non_null(strstr(err.text, each[i]));
        assert_non_null(strstr(err.text, "chmod go-w"));
        assert_int_equal(chmod(each[i], 0644), 0);
        assert_int_equal(chown(each[i], EVE, EVE), 0);
        assert_int_equal(conf_trust_files(conf, &err), -ERR_ACCESS);
        assert_non_null(strstr(err.text, "uid 4711"));
        assert_int_equal(chown(each[i], SLURM, EVE), 0);
        assert_int_equal(conf_trust_files(conf, &err), 0);
    }
    /* A controller that has dropped root, with node daemons that run as root, and with others. */
    if (geteuid() == 0) {
        assert_int_equal(chmod(main_file, 0666), 0);
        assert_int_equal(seteuid(SLURM), 0);
        conf->slurmd_uid = SLURM;
        assert_int_equal(conf_trust_files(conf, &err), 0);
        conf->slurmd_uid = 0;
        assert_int_equal(conf_trust_files(conf, &err), -ERR_ACCESS);
        assert_int_equal(seteuid(0), 0);
        assert_int_equal(seteuid(EVE), 0); /* a user who only reads it */
        assert_int_equal(conf_trust_files(conf, &err), 0);
        assert_int_equal(seteuid(0), 0);
    }
    conf_free(conf);
}

static void programs_of_other_users_are_refused(void **state)
{
    _cleanup_free_ char *program = write_file("prolog", "#!/bin/sh\n");
    struct conf conf = {.slurm_uid = SLURM};
    struct err err = {0};

    assert_int_equal(conf_trust_path(&conf, "Prolog", NULL, &err), 0);
    assert_int_equal(conf_trust_path(&conf, "Prolog", program, &err), 0);
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(program, 0757), 0);
    assert_int_equal(conf_trust_path(&conf, "Prolog", program, &err), -ERR_ACCESS);
    assert_non_null(strstr(err.text, "Prolog: /tmp/"));
    assert_int_equal(chmod(program, 0755), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(conf_trust_path(&conf, "Prolog", program, &err), -ERR_ACCESS);
    assert_int_equal(seteuid(EVE), 0); /* a cluster of her own */
    assert_int_equal(conf_trust_path(&conf, "Prolog", program, &err), 0);
    assert_int_equal(seteuid(0), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(files_of_other_users_are_refused),
                                       TEST(programs_of_other_users_are_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
