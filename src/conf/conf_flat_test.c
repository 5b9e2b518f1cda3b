/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "conf/conf_test_util.h"

#define ON HEAD "SlurmctldParameters=enable_configless\n"

static struct conf *load_flat_text(const struct conf *c)
{
    size_t len;
    const char *text = conf_flat_text(c, &len);

    assert_non_null(text);
    assert_int_equal(strlen(text), len);
    return test_load(text, NULL);
}

static void flat_text_is_kept_for_configless_clusters_only(void **state)
{
    static const char *const texts[] = {HEAD,
                                        HEAD "SlurmctldParameters=cloud_dns,disable_configless\n"};
    struct conf *c;
    size_t len;

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        c = test_load(texts[i], NULL);
        assert_false(c->enable_configless);
        assert_null(conf_flat_text(c, &len));
        conf_free(c);
    }
    assert_int_equal(conf_load_text(ON, strlen(ON), "t.conf", CONF_CLIENT, NULL, &c, NULL, NULL),
                     0);
    assert_true(c->enable_configless);
    assert_null(conf_flat_text(c, &len));
    conf_free(c);
}

/* The flat text, read again, has the same hash and the same values. */
static void flat_text_has_the_same_meaning(void **state)
{
    static const struct {
        const char *line, *epilog;
    } cases[] = {
        {"Epilog=/a\n", "/a"},
        {"Epilog=/a # c", "/a"},
        {"  Epilog = \"/a # b\" # c\n", "/a # b"},
        {"Epilog=/a\\#b\n", "/a#b"},
        {"Epilog=/a\\\\#b\n", "/a\\#b"},
        {"Epilog=/a\\#\n", "/a#"},
        {"Epilog=/a\\ # c\nKillWait=9\n", "/a\\"}, /* must not join the next line */
        {"Epilog=/\\\n\\\na\nKillWait=9\n", "/a"},
        {"Epilog=\"/a\\# b\"\n", "/a# b"},
        {"# Epilog=/x\n\n \nEpilog=/a\n", "/a"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        _cleanup_free_ char *text = mem_printf(ON "%s", cases[i].line);
        struct conf *c = test_load(text, NULL);
        struct conf *d = load_flat_text(c);
        if (!str_eq(d->epilog, cases[i].epilog) || !str_eq(c->epilog, d->epilog) ||
            c->hash != d->hash || c->kill_wait_sec != d->kill_wait_sec)
            fail_msg("case %zu: '%s' became '%s'", i, c->epilog ? c->epilog : "NULL",
                     d->epilog ? d->epilog : "NULL");
        conf_free(c);
        conf_free(d);
    }
}

/* Lines of other files are part of the flat text, and are restored from it. */
static void other_files_are_part_of_the_flat_text(void **state)
{
    static const char *const bad[] = {"FileConf=x.conf y",
                                      "FileConf=/etc/plugstack.conf y",
                                      "FileConf=plugstack.conf %",
                                      "FileConf=plugstack.conf %2",
                                      "FileConf=plugstack.conf %zz",
                                      "FileConf=plugstack.conf %00",
                                      "FileConf=",
                                      "FileConf= plugstack.conf"};
    const char *text;
    size_t len;
    struct conf *c = test_load(ON "FileConf=plugstack.conf required%20%09x%5c\n"
                                  "FileConf=plugstack.conf\n"
                                  "FileConf=plugstack.conf a  b%20 # not of it\n",
                               NULL);

    (void)state;
    assert_string_equal(conf_extra_file(c, CONF_EXTRA_PLUGSTACK, &text, &len), "plugstack.conf");
    assert_string_equal(text, "required \tx\\\n\na  b \n");
    assert_int_equal(strlen(text), len);
    conf_extra_file(c, CONF_EXTRA_CONTAINER, &text, &len);
    assert_true(!text && !len);
    conf_free(c);
    for (size_t i = 0; i < COUNT(bad); i++) {
        _cleanup_free_ char *whole = mem_printf(ON "%s\n", bad[i]);
        struct err err = {0};
        assert_int_equal(
            conf_load_text(whole, strlen(whole), "t.conf", CONF_FULL, NULL, &c, NULL, &err),
            -ERR_CONFIG);
        assert_non_null(strstr(err.text, "FileConf"));
    }
}

/* Include files are inserted at their places: DEFAULT lines in one apply to the lines after it. */
static void include_files_are_inserted_at_their_places(void **state)
{
    char dir[] = "/tmp/conf_flat_test.XXXXXX";
    static const char *const names[] = {"slurm.conf", "nodes.conf", "sun.conf"};
    static const char *const texts[] = {
        ON "ClusterName=sun\nInclude nodes.conf\nNodeName=b\nInclude %c.conf\n",
        "NodeName=DEFAULT Weight=4\nNodeName=a Weight=3", "PartitionName=p Nodes=ALL\n"};
    struct conf *c = NULL;

    (void)state;
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < COUNT(names); i++) {
        _cleanup_free_ char *path = mem_printf("%s/%s", dir, names[i]);
        assert_int_equal(path_write_file(path, texts[i], strlen(texts[i]), 0600, NULL), 0);
    }
    _cleanup_free_ char *path = mem_printf("%s/slurm.conf", dir);
    assert_int_equal(conf_load(path, CONF_FULL, NULL, &c, NULL, NULL), 0);
    struct conf *d = load_flat_text(c);
    assert_true(c->hash == d->hash);
    assert_int_equal(d->nodes.len, 2);
    assert_int_equal(d->node_rows.data[1].weight, 4);
    assert_int_equal(d->parts.len, 1);
    conf_free(c);
    conf_free(d);
    for (size_t i = 0; i < COUNT(names); i++) {
        _cleanup_free_ char *file = mem_printf("%s/%s", dir, names[i]);
        remove(file);
    }
    rmdir(dir);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(flat_text_is_kept_for_configless_clusters_only),
        cmocka_unit_test(flat_text_has_the_same_meaning),
        cmocka_unit_test(other_files_are_part_of_the_flat_text),
        cmocka_unit_test(include_files_are_inserted_at_their_places),
    };

    return cmocka_run_group_tests_name("conf_flat", tests, NULL, NULL);
}
