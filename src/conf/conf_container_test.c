/* SPDX-License-Identifier: GPL-3.0-or-later */
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
#include "conf/conf_container.h"

static char folder[64], slurm_conf[96];
static struct conf conf;

static void write_file(const char *text)
{
    _cleanup_free_ char *path = mem_printf("%s/job_container.conf", folder);

    assert_int_equal(path_write_file(path, text, strlen(text), 0644, NULL), 0);
}

static int set_up(void **state)
{
    snprintf(folder, sizeof(folder), "/tmp/container_test.XXXXXX");
    if (!mkdtemp(folder) || chmod(folder, 0755))
        return -1;
    snprintf(slurm_conf, sizeof(slurm_conf), "%s/slurm.conf", folder);
    conf.path = slurm_conf;
    conf.slurm_uid = conf.slurmd_uid = geteuid();
    return 0;
}

static int tear_down(void **state)
{
    _cleanup_free_ char *path = mem_printf("%s/job_container.conf", folder);

    unlink(path);
    return rmdir(folder);
}

static void invalid_lines_are_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } vectors[] = {
        {"BasePath\n", "job_container.conf:1: 'BasePath' is not KEY=VALUE"},
        {"\n=x\n", ":2: '=x' is not KEY=VALUE"},
        {"BasePath=\n", ":1: BasePath= has no value"},
        {"BasePath=x\n", ":1: BasePath=x: expected an absolute path"},
        {"InitScript=x\n", ":1: InitScript=x: expected an absolute path"},
        {"AutoBasePath=maybe\n", ":1: AutoBasePath=maybe: expected true or false"},
        {"Base=/x\n", ":1: unknown key Base"},
        {"BasePath=/x NodeName=n1\n", ":1: NodeName has to be the first key"},
        {"NodeName=n[1 BasePath=/x\n", ":1: NodeName=n[1: "},
        {"NodeName=n9 BasePath=x\n", ":1: BasePath=x: expected an absolute path"},
        {"Dirs=tmp\n", ":1: Dirs: 'tmp' is not an absolute path"},
        {"Dirs=/\n", ":1: Dirs: '/' is not an absolute path"},
        {"Dirs=/tmp/../etc\n", "is not an absolute path"},
        {"Dirs=,\n", "is not an absolute path"},
        {"CloneNSScript_Wait=0\n", "expected seconds, from 1"},
        {"BasePath=/tmp\n", "BasePath=/tmp is in /tmp"},
        {"BasePath=/dev/shm/x/\n", "is in /dev/shm"},
        {"BasePath=/var/x Dirs=/var\n", "BasePath=/var/x is in /var"},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct conf_container c = {0};
        struct err err = {0};

        write_file(vectors[i].text);
        assert_true(conf_container_load(&conf, "n1", &c, &err) < 0);
        if (!strstr(err.text, vectors[i].says))
            fail_msg("%s: %s", vectors[i].text, err.text);
        assert_null(c.base_path);
    }
}

static void lines_apply_to_their_nodes(void **state)
{
    struct conf_container c = {0};
    struct err err = {0};

    write_file(
        "# all\nAUTOBASEPATH=True basepath=\"/a\" # x\n\n"
        "NodeName=n[2-3] BasePath=/b Dirs=/tmp,/var/tmp/,/tmp Shared=yes\n"
        "NodeName=n5 BasePath=none\n"
        "NodeName=n4 BasePath=/var/%n EntireStepInNS=1 CloneNSEpilog=/e CloneNSEpilog_Wait=3\n");
    assert_int_equal(conf_container_load(&conf, "n1", &c, &err), 0);
    assert_string_equal(c.base_path, "/a");
    assert_true(c.auto_base_path && !c.shared);
    assert_int_equal(c.dirs.len, 2);
    assert_string_equal(c.dirs.data[1], "/dev/shm");
    conf_container_done(&c);
    assert_int_equal(conf_container_load(&conf, "n3", &c, &err), 0);
    assert_string_equal(c.base_path, "/b");
    assert_int_equal(c.dirs.len, 2);
    assert_string_equal(c.dirs.data[1], "/var/tmp");
    assert_true(c.shared && c.auto_base_path);
    conf_container_done(&c);
    assert_int_equal(conf_container_load(&conf, "n4", &c, &err), 0);
    assert_string_equal(c.clone_epilog, "/e");
    assert_int_equal(c.clone_epilog_sec, 3);
    assert_int_equal(c.clone_script_sec, CONF_CONTAINER_WAIT_SEC);
    conf_container_done(&c);
    assert_int_equal(conf_container_load(&conf, "n5", &c, &err), 0);
    assert_null(c.base_path);
    conf_container_done(&c);
}

static void lines_of_other_nodes_have_no_effect(void **state)
{
    struct conf_container c = {0};
    struct err err = {0};

    write_file("NodeName=n9 BasePath=/b\n");
    assert_int_equal(conf_container_load(&conf, "n1", &c, &err), 0);
    assert_null(c.base_path);
    conf_container_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(invalid_lines_are_refused),
                                       cmocka_unit_test(lines_apply_to_their_nodes),
                                       cmocka_unit_test(lines_of_other_nodes_have_no_effect)};

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
