/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "conf/conf_test_util.h"

static void invalid_lines_are_refused(void **state)
{
    static const struct test_refusal cases[] = {
        {HEAD "nonsense\n", "t.conf:2: ", "'nonsense' is not of the form Key=Value"},
        {HEAD "=5\n", "t.conf:2: ", "'=5' is not of the form"},
        {HEAD "KillWait 5\n", "t.conf:2: ", "'KillWait' is not of the form"},
        {HEAD "KillWait=5 seconds\n", "t.conf:2: ", "'seconds' is not of the form"},
        {HEAD "Epilog=\"/a\n", "t.conf:2: ", "Epilog: a quote is opened"},
        {HEAD "Epilog=\"/a\"b\n", "t.conf:2: ", "text follows the closing quote"},
        {HEAD "Include\n", "t.conf:2: ", "'Include' is not of the form"},
        {HEAD "Include other.conf\n", "t.conf:2: ", "not allowed here"},
        {HEAD "# c\n\n  \nKillWait=\\\n7x\n", "t.conf:5: ", "KillWait=7x"}, /* its first line */
        {HEAD "A=\\\n\\\n\\\nKillWait=\nKillWait=x\n", "t.conf:6: ", "KillWait=x"},
    };

    (void)state;
    test_refused(cases, COUNT(cases));
}

static void nul_bytes_are_refused(void **state)
{
    static const char text[] = HEAD "Kill\0Wait=5\n";
    struct conf *c = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(
        conf_load_text(text, sizeof(text) - 1, "t.conf", CONF_FULL, NULL, &c, NULL, &err),
        -ERR_CONFIG);
    assert_string_equal(err.text, "t.conf:2: a NUL byte in the line; this is not a text file");
}

static void too_long_line_is_refused(void **state)
{
    size_t len = CONF_LINE_MAX + 100;
    _cleanup_free_ char *text = mem_alloc(len + 1);
    struct conf *c = NULL;
    struct err err = {0};

    (void)state;
    memset(text, 'x', len);
    memcpy(text, HEAD "Licenses=", strlen(HEAD "Licenses="));
    assert_int_equal(conf_load_text(text, len, "t.conf", CONF_FULL, NULL, &c, NULL, &err),
                     -ERR_CONFIG);
    assert_non_null(strstr(err.text, "t.conf:2: the line is longer"));
    for (size_t i = 50; i + 1 < len; i += 1000) { /* the same in continued pieces */
        text[i] = '\\';
        text[i + 1] = '\n';
    }
    assert_int_equal(conf_load_text(text, len, "t.conf", CONF_FULL, NULL, &c, NULL, &err),
                     -ERR_CONFIG);
    assert_non_null(strstr(err.text, "t.conf:2: the line is longer"));
}

/* One key in many notations; each text sets Epilog to 'value'. */
static void notations_of_a_line_are_equivalent(void **state)
{
    static const struct {
        const char *text, *value;
    } cases[] = {
        {"Epilog=/a\n", "/a"},
        {"Epilog=/a", "/a"},
        {"Epilog=/a\r\n", "/a"},
        {"  Epilog  =  /a  \n", "/a"},
        {"epilog=/a # b\n", "/a"},
        {"Epilog=/a#b\n", "/a"},
        {"Epilog=/a\\#b\n", "/a#b"},
        {"Epilog=\"/a # b\" # c\n", "/a # b"},
        {"Epilog=\"/a\\# b\"\n", "/a# b"},
        {"Epilog=/a\\b\n", "/a\\b"},
        {"Epilog=/a\\\nb\n", "/ab"},
        {"Epilog=\\\n/a\n", "/a"},
        {"Epilog=/a\\  \nb\n", "/ab"},
        {"# comment \\\nEpilog=/a\n", "/a"},
        {"Prolog=/p Epilog=/a\n", "/a"},
        {"Epilog=/a\\", "/a"},
        {"# Don't \"worry\nEpilog=/a # Don't\n", "/a"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        _cleanup_free_ char *text = mem_printf(HEAD "%s", cases[i].text);
        struct conf *c = test_load(text, NULL);
        if (!str_eq(c->epilog, cases[i].value))
            fail_msg("case %zu: got '%s'", i, c->epilog ? c->epilog : "NULL");
        conf_free(c);
    }
}

/* A directory with files; gone at the end of the test. */
static char dir[] = "/tmp/conf_lines_test.XXXXXX";
static const char *const names[] = {"slurm.conf", "sub/a.conf", "b.conf",
                                    "sun.conf",   "sub/c.conf", "sub"};

static int dir_make(void **state)
{
    (void)state;
    memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
    if (!mkdtemp(dir))
        return -1;
    _cleanup_free_ char *sub = mem_printf("%s/sub", dir);
    return mkdir(sub, 0700);
}

static int dir_remove(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        _cleanup_free_ char *path = mem_printf("%s/%s", dir, names[i]);
        remove(path);
    }
    return rmdir(dir);
}

static char *write_conf_file(const char *name, const char *text)
{
    char *path = mem_printf("%s/%s", dir, name);

    assert_int_equal(path_write_file(path, text, strlen(text), 0600, NULL), 0);
    return path;
}

static void included_files_are_read(void **state)
{
    _cleanup_free_ char *main_file = write_conf_file(
        "slurm.conf", HEAD "ClusterName=sun\nINCLUDE sub/a.conf\nInclude \"%c.conf\"\n"
                           "include sub/c.conf\nKillWait=9\n");
    _cleanup_free_ char *a = write_conf_file("sub/a.conf", "Include ../b.conf\nNodeName=a\n");
    free(write_conf_file("b.conf", "NodeName=DEFAULT Weight=4\n"));
    free(write_conf_file("sun.conf", "Epilog=/e\n"));
    free(write_conf_file("sub/c.conf", "MessageTimeout=11\n"));
    struct conf *c = NULL;
    struct err err = {0};

    (void)state;
    if (conf_load(main_file, CONF_FULL, NULL, &c, NULL, &err) != 0)
        fail_msg("%s", err.text);
    assert_string_equal(c->path, main_file);
    assert_string_equal(c->epilog, "/e");
    assert_int_equal(c->kill_wait_sec, 9);
    assert_int_equal(c->message_timeout_sec, 11);
    assert_int_equal(c->node_rows.data[0].weight, 4);
    assert_string_equal(c->node_rows.data[0].file, a);
    assert_true(c->read_at > 0);
    conf_free(c);
}

/* path is refused with 'code', 'says' in the message; the message begins with DIR/place. */
static void assert_file_refused(const char *path, int code, const char *place, const char *says)
{
    struct conf *c = NULL;
    struct err err = {0};
    int rc = conf_load(path, CONF_FULL, NULL, &c, NULL, &err);
    _cleanup_free_ char *begin = mem_printf("%s/%s", dir, place);

    if (rc != code || err.code != code || !str_starts(err.text, begin) || !strstr(err.text, says))
        fail_msg("%d %d '%s', expected %d '%s...%s'", rc, err.code, err.text, code, begin, says);
    assert_null(c);
}

static void error_in_an_included_file_names_the_file(void **state)
{
    _cleanup_free_ char *main_file = write_conf_file("slurm.conf", HEAD "Include sub/a.conf\n");
    free(write_conf_file("sub/a.conf", "\nInclude ../b.conf\n"));
    free(write_conf_file("b.conf", "KillWait=x\n"));
    _cleanup_free_ char *missing = mem_printf("%s/missing.conf", dir);
    struct conf *c = NULL;

    (void)state;
    assert_file_refused(missing, -ENOENT, "missing.conf", "No such file");
    assert_int_equal(conf_load(dir, CONF_FULL, NULL, &c, NULL, NULL), -EINVAL);
    assert_file_refused(main_file, -ERR_CONFIG, "sub/../b.conf:1: ", "KillWait=x");
    free(write_conf_file("b.conf", "Include slurm.conf\n"));
    assert_file_refused(main_file, -ERR_CONFIG, "sub/../b.conf:1: ", "includes itself");
    free(write_conf_file("b.conf", "Include b.conf\n"));
    assert_file_refused(main_file, -ERR_CONFIG, "sub/../b.conf:1: ", "includes itself");
    free(write_conf_file("b.conf", "Include nothing.conf\n"));
    assert_file_refused(main_file, -ERR_CONFIG, "sub/../b.conf:1: ", "nothing.conf");
    free(write_conf_file("b.conf", "Include sub\n"));
    assert_file_refused(main_file, -ERR_CONFIG, "sub/../b.conf:1: ", "not a regular file");
    free(write_conf_file("b.conf", "Include \"\"\n"));
    assert_file_refused(main_file, -ERR_CONFIG, "sub/../b.conf:1: ", "without the name");
}

/* Seventeen files deep. */
static void depth_of_includes_is_limited(void **state)
{
    _cleanup_free_ char *first = mem_printf("%s/d0", dir);

    (void)state;
    for (int i = 0; i <= CONF_DEPTH_MAX; i++) {
        _cleanup_free_ char *name = mem_printf("d%d", i);
        _cleanup_free_ char *text = i == CONF_DEPTH_MAX ? mem_strdup("\n")
                                    : i                 ? mem_printf("Include d%d\n", i + 1)
                                                        : mem_printf(HEAD "Include d%d\n", i + 1);
        free(write_conf_file(name, text));
    }
    assert_file_refused(first, -ERR_CONFIG, "d15:1: ", "more than 16");
    free(write_conf_file("d15", "\n"));
    struct conf *c = NULL;
    assert_int_equal(conf_load(first, CONF_FULL, NULL, &c, NULL, NULL), 0);
    conf_free(c);
    for (int i = 0; i <= CONF_DEPTH_MAX; i++) {
        _cleanup_free_ char *path = mem_printf("%s/d%d", dir, i);
        remove(path);
    }
}

static uint64_t hash_of(const char *text, enum conf_scope scope)
{
    struct conf *c = NULL;

    assert_int_equal(conf_load_text(text, strlen(text), "t.conf", scope, "a", &c, NULL, NULL), 0);
    uint64_t hash = c->hash;
    conf_free(c);
    return hash;
}

/* The hash depends on the content: not on comments, nor on the reader. */
static void hash_depends_on_the_content_only(void **state)
{
    static const char text[] = HEAD "NodeName=a\n";
    uint64_t h = hash_of(text, CONF_FULL);

    (void)state;
    assert_true(h == hash_of(text, CONF_NODE));
    assert_true(h == hash_of(text, CONF_CLIENT));
    assert_true(h == hash_of("# x\n" HEAD "\n  NodeName=a  # y\n", CONF_FULL));
    assert_true(h != hash_of(HEAD "NodeName=a Weight=2\n", CONF_FULL));
    assert_true(h != hash_of("NodeName=a\n" HEAD, CONF_FULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_lines_are_refused),
        cmocka_unit_test(nul_bytes_are_refused),
        cmocka_unit_test(too_long_line_is_refused),
        cmocka_unit_test(notations_of_a_line_are_equivalent),
        cmocka_unit_test_setup_teardown(included_files_are_read, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(error_in_an_included_file_names_the_file, dir_make,
                                        dir_remove),
        cmocka_unit_test_setup_teardown(depth_of_includes_is_limited, dir_make, dir_remove),
        cmocka_unit_test(hash_depends_on_the_content_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
