/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"

#define LOG_ROOM "test"

static char folder[64], file[96], moved[96];

static int set_up(void **state)
{
    snprintf(folder, sizeof(folder), "/tmp/log_test.XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(file, sizeof(file), "%s/log", folder);
    snprintf(moved, sizeof(moved), "%s/log.1", folder);
    return 0;
}

static int tear_down(void **state)
{
    log_close();
    unlink(file);
    unlink(moved);
    return rmdir(folder);
}

static void open_log(enum log_level level)
{
    struct log_options options = {.program = "prog", .file = file, .file_level = level};
    assert_int_equal(log_open(&options), 0);
}

static char *read_text_of(const char *path)
{
    struct str text = STR_INIT;
    assert_int_equal(path_read_file(path, 1 << 20, &text, NULL), 0);
    return str_take(&text);
}

static void assert_matches(const char *text, const char *pattern)
{
    regex_t re;
    assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
    int rc = regexec(&re, text, 0, NULL, 0);
    regfree(&re);
    if (rc)
        fail_msg("\"%s\" does not match %s", text, pattern);
}

static void level_names_are_parsed(void **state)
{
    static const struct {
        const char *word;
        int level;
    } rows[] = {
        {NULL, -1},
        {"", -1},
        {"loud", -1},
        {"-1", -1},
        {"10", -1},
        {"debug6", -1},
        {"quiet", LOG_LVL_QUIET},
        {"Fatal", LOG_LVL_FATAL},
        {"error", LOG_LVL_ERROR},
        {"INFO", LOG_LVL_INFO},
        {"verbose", LOG_LVL_VERBOSE},
        {"debug", LOG_LVL_DEBUG},
        {"debug2", LOG_LVL_DEBUG2},
        {"debug5", LOG_LVL_DEBUG3},
        {"0", LOG_LVL_QUIET},
        {"3", LOG_LVL_INFO},
        {"5", LOG_LVL_DEBUG},
        {"9", LOG_LVL_DEBUG3},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(log_parse_level(rows[i].word), rows[i].level);
}

static void failed_open_keeps_the_old_log(void **state)
{
    open_log(LOG_LVL_INFO);
    struct log_options bad = {.program = "other", .file = "/nonexistent/log"};
    assert_int_equal(log_open(&bad), -ENOENT);
    log_info("still here");
    _cleanup_free_ char *text = read_text_of(file);
    assert_non_null(strstr(text, "still here"));
}

static void lines_have_their_form(void **state)
{
    open_log(LOG_LVL_DEBUG);
    errno = EAGAIN;
    log_error("one %d", 1);
    log_info("two");
    log_debug("three");
    log_write(LOG_LVL_DEBUG2, LOG_ROOM, "four");
    log_write(LOG_LVL_QUIET, LOG_ROOM, "five");
    log_write(LOG_LVL_FATAL, NULL, "six");
    assert_int_equal(errno, EAGAIN);
    _cleanup_free_ char *text = read_text_of(file);
#define STAMP "\\[[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}\\] "
    assert_matches(text, "^" STAMP "error: test: one 1\n" STAMP "test: two\n" STAMP
                         "debug:  test: three\n" STAMP "fatal: six\n$");
}

static void text_can_not_forge_lines(void **state)
{
    open_log(LOG_LVL_INFO);
    log_info("%s", "a\n[2026-01-01] error: b\033[2J\rc\td\177");
    _cleanup_free_ char *text = read_text_of(file);
    assert_non_null(strstr(text, "a [2026-01-01] error: b?[2J?c d?\n"));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void long_lines_are_cut(void **state)
{
    open_log(LOG_LVL_INFO);
    _cleanup_free_ char *big = mem_alloc(100001);
    memset(big, 'x', 100000);
    log_info("%s", big);
    log_info("next");
    _cleanup_free_ char *text = read_text_of(file);
    char *end = strchr(text, '\n');
    assert_non_null(end);
    assert_true(end - text > 4000 && end - text < 5000);
    assert_non_null(strstr(end, "test: next\n"));
}

static void log_wants_follows_file_and_stderr_levels(void **state)
{
    log_set_stderr(LOG_LVL_QUIET);
    open_log(LOG_LVL_ERROR);
    assert_true(log_wants(LOG_LVL_ERROR));
    assert_false(log_wants(LOG_LVL_INFO) || log_wants(LOG_LVL_QUIET));
    log_close();
    assert_false(log_wants(LOG_LVL_FATAL));
    log_error("nowhere");
    log_set_stderr(LOG_LVL_VERBOSE);
    assert_true(log_wants(LOG_LVL_VERBOSE));
    log_set_stderr(LOG_LVL_QUIET);
}

static void syslog_level_follows_file_and_foreground(void **state)
{
    static const struct {
        uint32_t given;
        bool file, foreground;
        enum log_level level, expected;
    } cases[] = {
        {LOG_LVL_UNSET, false, false, LOG_LVL_DEBUG, LOG_LVL_DEBUG},
        {LOG_LVL_UNSET, false, false, LOG_LVL_QUIET, LOG_LVL_FATAL},
        {LOG_LVL_UNSET, true, false, LOG_LVL_DEBUG, LOG_LVL_FATAL},
        {LOG_LVL_UNSET, false, true, LOG_LVL_DEBUG, LOG_LVL_QUIET},
        {LOG_LVL_ERROR, true, true, LOG_LVL_DEBUG, LOG_LVL_ERROR},
        {LOG_LVL_QUIET, false, false, LOG_LVL_DEBUG, LOG_LVL_QUIET},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(
            log_syslog_level(cases[i].given, cases[i].file, cases[i].foreground, cases[i].level),
            cases[i].expected);
}

static void file_is_private_and_reopened(void **state)
{
    mode_t before = umask(0);
    open_log(LOG_LVL_INFO);
    umask(before);
    struct stat st;
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    log_info("old");
    assert_int_equal(rename(file, moved), 0);
    open_log(LOG_LVL_INFO);
    log_info("new");
    _cleanup_free_ char *a = read_text_of(moved), *b = read_text_of(file);
    assert_non_null(strstr(a, "old"));
    assert_null(strstr(a, "new"));
    assert_non_null(strstr(b, "new"));
}

/* Returns the stderr output of some lines; NULL: JOURNAL_STREAM refers to stderr, otherwise it has
   this value. */
static char *log_to_stderr(const char *stream)
{
    struct log_options options = {.program = "slurmctld", .stderr_level = LOG_LVL_INFO};
    int out = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600), saved = dup(STDERR_FILENO);
    char own[64];
    struct stat st;

    assert_true(out >= 0 && saved >= 0 && !fstat(out, &st));
    snprintf(own, sizeof(own), "%llu:%llu", (unsigned long long)st.st_dev,
             (unsigned long long)st.st_ino);
    setenv("JOURNAL_STREAM", stream ? stream : own, 1);
    dup2(out, STDERR_FILENO);
    int rc = log_open(&options);
    log_error("x");
    log_info("y");
    log_set_stderr(LOG_LVL_QUIET);
    log_error("z");
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(out);
    unsetenv("JOURNAL_STREAM");
    assert_int_equal(rc, 0);
    return read_text_of(file);
}

/* Also if the variable was inherited and refers to another file, or is invalid. */
static void stderr_carries_the_program(void **state)
{
    static const char *const streams[] = {"", "1:1", "1:", "x"};

    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        _cleanup_free_ char *text = log_to_stderr(streams[i]);
        assert_string_equal(text, "slurmctld: error: test: x\nslurmctld: test: y\n");
        unlink(file);
    }
}

/* CORE-233 */
static void the_journal_gets_severities(void **state)
{
    _cleanup_free_ char *text = log_to_stderr(NULL);

    assert_string_equal(text, "<3>error: test: x\n<6>test: y\n");
}

static void limit_counts_what_it_drops(void **state)
{
    open_log(LOG_LVL_INFO);
    struct log_limit none = {.burst = 0};
    assert_false(log_allow(&none));
    struct log_limit limit = {.burst = 3};
    log_allow(&limit); /* into this minute */
    limit.count = 0;
    long minute = limit.minute;
    int allowed = 0;
    for (int i = 0; i < 10; i++)
        allowed += log_allow(&limit);
    if (limit.minute == minute)
        assert_int_equal(allowed, 3);
    limit.minute--; /* a minute later */
    limit.count = 10;
    assert_true(log_allow(&limit));
    _cleanup_free_ char *text = read_text_of(file);
    assert_non_null(strstr(text, "7 similar lines left out"));
}

static void limits_count_each_source(void **state)
{
    struct log_limits limits = {.burst = 2};
    unsigned allowed[LOG_SOURCES + 10] = {0};
    open_log(LOG_LVL_INFO);
    do { /* all of it in one minute */
        limits.minute = 0;
        limits.len = 0;
        memset(allowed, 0, sizeof(allowed));
        allowed[0] += log_allow_source(&limits, 1000);
        long minute = limits.minute;
        for (unsigned i = 0; i < 99; i++)
            allowed[0] += log_allow_source(&limits, 1000);
        for (unsigned source = 1; source < LOG_SOURCES + 10; source++)
            for (unsigned i = 0; i < 3; i++)
                allowed[source] += log_allow_source(&limits, 1000 + source);
        if (limits.minute == minute)
            break;
    } while (true);
    for (unsigned source = 0; source < LOG_SOURCES; source++)
        assert_int_equal(allowed[source], 2);
    unsigned shared = 0;
    for (unsigned source = LOG_SOURCES; source < LOG_SOURCES + 10; source++)
        shared += allowed[source];
    assert_int_equal(shared, 2);
    limits.minute--; /* a minute later */
    assert_true(log_allow_source(&limits, 1000));
    _cleanup_free_ char *text = read_text_of(file);
    assert_non_null(strstr(text, "189 similar lines left out, which have 65 sources"));
    assert_true(log_source("10.0.0.1:4711") == log_source("10.0.0.1:12"));
    assert_true(log_source("10.0.0.1:4711") != log_source("10.0.0.2:4711"));
    assert_true(log_source("local uid 1000") != log_source("local uid 1001"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(level_names_are_parsed),
        TEST(failed_open_keeps_the_old_log),
        TEST(lines_have_their_form),
        TEST(text_can_not_forge_lines),
        TEST(long_lines_are_cut),
        TEST(log_wants_follows_file_and_stderr_levels),
        TEST(file_is_private_and_reopened),
        TEST(stderr_carries_the_program),
        TEST(the_journal_gets_severities),
        TEST(syslog_level_follows_file_and_foreground),
        TEST(limit_counts_what_it_drops),
        TEST(limits_count_each_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
