/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
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
#include "spank/plugstack.h"

static char folder[64];
static struct conf conf;

static void write_file(const char *name, const char *text)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", folder, name);

    assert_int_equal(path_write_file(path, text, strlen(text), 0644, NULL), 0);
}

static void remove_file(const char *name)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", folder, name);

    unlink(path);
}

static int set_up(void **state)
{
    static char path[80];

    snprintf(folder, sizeof(folder), "/tmp/plugstack_test.XXXXXX");
    if (!mkdtemp(folder) || chmod(folder, 0755))
        return -1;
    snprintf(path, sizeof(path), "%s/slurm.conf", folder);
    conf.path = path;
    conf.plugin_dir = folder;
    conf.slurm_uid = conf.slurmd_uid = geteuid();
    write_file("a.so", "");
    write_file("b.so", "");
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"a.so", "b.so", "plugstack.conf", "more.conf"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        remove_file(names[i]);
    return rmdir(folder);
}

/* the file and the line are named. */
static void invalid_lines_are_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } vectors[] = {
        {"a.so\n", "plugstack.conf:1: \"a.so\" is neither required, optional nor include"},
        {"\n# x\nrequired\n", "plugstack.conf:3: required: the plugin is missing"},
        {"required # a.so\n", ":1: required: the plugin is missing"},
        {"required c.so\n", ":1: the required plugin c.so is not in "},
        {"required ../a.so\n", ":1: ../a.so is neither an absolute path nor a name"},
        {"optional a.so \"x", ":1: a quote is not closed"},
        {"include\n", ":1: include takes one pattern"},
        {"include a b\n", ":1: include takes one pattern"},
        {"include plugstack.conf\n", "nested more than 8 deep"},
        {"include more.conf\n", "more.conf:2: \"oh\" is neither"},
    };

    write_file("more.conf", "optional a.so\noh no\n");
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct plugstack p = {0};
        struct err err = {0};

        write_file("plugstack.conf", vectors[i].text);
        assert_true(plugstack_load(&conf, &p, &err) < 0);
        if (!strstr(err.text, vectors[i].says))
            fail_msg("%s: %s", vectors[i].text, err.text);
        assert_int_equal(p.plugins.len, 0);
    }
}

static void too_many_plugins_are_refused(void **state)
{
    struct str text = STR_INIT;
    struct plugstack p = {0};
    struct err err = {0};

    for (int i = 0; i <= PLUGSTACK_PLUGINS_MAX; i++)
        str_puts(&text, "optional a.so\n");
    write_file("plugstack.conf", str_cstr(&text));
    assert_true(plugstack_load(&conf, &p, &err) < 0);
    assert_non_null(strstr(err.text, ":257: more than 256 plugins"));
    str_clear(&text);
    str_puts(&text, "optional a.so");
    for (int i = 0; i < 300; i++)
        str_puts(&text, " x");
    write_file("plugstack.conf", str_cstr(&text));
    assert_true(plugstack_load(&conf, &p, &err) < 0);
    assert_non_null(strstr(err.text, ":1: more than 256 words"));
    str_done(&text);
}

static void empty_files_name_no_plugin(void **state)
{
    static const char *const texts[] = {"", "\n\n", "# none\n  # none\n", "optional c.so\n",
                                        "include none.d/*\n"};
    struct plugstack p = {0};
    struct err err = {0};

    remove_file("plugstack.conf");
    assert_int_equal(plugstack_load(&conf, &p, &err), 0);
    assert_int_equal(p.plugins.len, 0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        write_file("plugstack.conf", texts[i]);
        assert_int_equal(plugstack_load(&conf, &p, &err), 0);
        assert_int_equal(p.plugins.len, 0);
    }
}

static void lines_and_includes_are_read(void **state)
{
    struct plugstack p = {0};
    struct err err = {0};

    write_file("more.conf", "optional b.so");
    write_file("plugstack.conf", "REQUIRED a.so one 'two words' t\"hr\"ee#rest\r\n"
                                 "\tinclude more.*  # and so on\n"
                                 "optional a.so\n");
    assert_int_equal(plugstack_load(&conf, &p, &err), 0);
    assert_int_equal(p.plugins.len, 3);
    const Pb__SpankPlugin *a = p.plugins.data[0], *b = p.plugins.data[1];
    assert_true(a->must && !b->must);
    assert_int_equal(a->n_args, 3);
    assert_string_equal(a->args[1], "two words");
    assert_string_equal(a->args[2], "three");
    assert_non_null(strstr(a->path, "/a.so"));
    assert_non_null(strstr(a->place, "plugstack.conf:1"));
    assert_non_null(strstr(b->place, "more.conf:1"));
    plugstack_done(&p);
}

static void configured_file_is_read(void **state)
{
    struct plugstack p = {0};
    struct err err = {0};
    char path[100];

    snprintf(path, sizeof(path), "%s/elsewhere.conf", folder);
    conf.plugstack_config = path;
    assert_int_equal(plugstack_load(&conf, &p, &err), -ENOENT); /* it is meant to be there */
    conf.plugstack_config = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_lines_are_refused),
        cmocka_unit_test(too_many_plugins_are_refused),
        cmocka_unit_test(empty_files_name_no_plugin),
        cmocka_unit_test(lines_and_includes_are_read),
        cmocka_unit_test(configured_file_is_read),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
