/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/stream/xauth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"

#define LONG 60 /* seconds */

static const struct xauth_entry ours = {
    .display = 10, .cookie = "0123456789abcdef", .cookie_len = 16};
static const struct xauth_entry none = {.display = 10};
static const struct xauth_entry other = {.display = 1, .cookie = "x", .cookie_len = 1};

/* The user's other entries are unchanged, and the entry of the display is replaced or removed. */
static void only_the_entry_of_the_display_changes(void **state)
{
    _cleanup_str_ struct str old = STR_INIT, made = STR_INIT, again = STR_INIT, removed = STR_INIT;
    struct xauth_entry stale = ours;

    stale.cookie = "an older cookie.";
    xauth_put(XAUTH_FAMILY_LOCAL, "here", &other, &old);
    xauth_put(XAUTH_FAMILY_LOCAL, "there", &ours, &old);
    xauth_put(XAUTH_FAMILY_WILD, "", &ours, &old);
    assert_int_equal(xauth_edit(old.data, old.len, "here", &stale, &made), 0);
    assert_int_equal(xauth_edit(made.data, made.len, "here", &ours, &again), 0);
    assert_int_equal(again.len, made.len);
    assert_memory_equal(again.data, old.data, old.len);
    assert_memory_equal(again.data + again.len - 16, ours.cookie, 16);
    assert_int_equal(xauth_edit(again.data, again.len, "here", &none, &removed), 0);
    assert_int_equal(removed.len, old.len);
    assert_memory_equal(removed.data, old.data, old.len);
    for (size_t len = 1; len < again.len; len++) { /* cut */
        _cleanup_str_ struct str out = STR_INIT;
        int rc = xauth_edit(again.data, len, "nowhere", &none, &out);
        assert_true(rc == 0 ? out.len == len : rc == -ERR_PARSE);
    }
}

/* The child stops before it does anything, like after a signal of its user. */
static bool stops;

int __real_become_user(uid_t uid, gid_t gid, const gid_t *groups, size_t count, struct err *err);
int __wrap_become_user(uid_t uid, gid_t gid, const gid_t *groups, size_t count, struct err *err);
int __wrap_become_user(uid_t uid, gid_t gid, const gid_t *groups, size_t count, struct err *err)
{
    if (stops)
        raise(SIGSTOP);
    return __real_become_user(uid, gid, groups, count, err);
}

/* The child stops while it holds the lock: it asks for the host name to sign the lock, and then
   for the entry. */
static unsigned hostnames_before_stop;
static void (*on_hostname)(void); /* once, in the child, when it has read the lock */
#define PID_OF_NOBODY 4194304     /* the kernel gives less */

int __real_gethostname(char *name, size_t len);
int __wrap_gethostname(char *name, size_t len);
int __wrap_gethostname(char *name, size_t len)
{
    if (hostnames_before_stop && --hostnames_before_stop == 0)
        raise(SIGSTOP);
    if (on_hostname)
        on_hostname();
    on_hostname = NULL;
    return __real_gethostname(name, len);
}

static char dir[64], path[80], made[96], linked[96];

static int make_home(void **state)
{
    snprintf(dir, sizeof(dir), "/tmp/xauth_test.XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof(path), "%s/.Xauthority", dir);
    snprintf(made, sizeof(made), "%s-c", path);
    snprintf(linked, sizeof(linked), "%s-l", path);
    return 0;
}

static int remove_home(void **state)
{
    unlink(path);
    return rmdir(dir); /* no lock, no new file */
}

static int change_entry(const struct xauth_entry *entry, unsigned limit_sec, struct err *err)
{
    struct step step = {.uid = geteuid(), .gid = getegid()};
    int rc = xauth_change(&step, path, entry, limit_sec, err);

    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    return rc;
}

static void assert_fails(const struct xauth_entry *entry, unsigned limit_sec, const char *why)
{
    struct err err;

    assert_int_equal(change_entry(entry, limit_sec, &err), -ERR_LAUNCH);
    assert_non_null(strstr(err.text, why));
    assert_non_null(strstr(err.text, path));
}

static void file_is_made_and_removed(void **state)
{
    struct stat st;

    assert_int_equal(change_entry(&none, LONG, NULL), 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(change_entry(&ours, LONG, NULL), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(change_entry(&none, LONG, NULL), 0); /* the last one */
    assert_int_equal(access(path, F_OK), -1);
}

/* A lock held by another program is waited for and not touched; the lock of a killed one is
   removed. */
static void locks_are_kept(void **state)
{
    _cleanup_str_ struct str text = STR_INIT;

    assert_int_equal(change_entry(&ours, LONG, NULL), 0);
    assert_int_equal(path_write_file(made, "", 0, 0600, NULL), 0);
    assert_int_equal(path_write_file(linked, "", 0, 0600, NULL), 0);
    assert_fails(&none, 1, "it took longer than 1 seconds; is the home directory reachable, and");
    assert_int_equal(path_read_file(path, 1000, &text, NULL), 0);
    assert_non_null(memmem(text.data, text.len, ours.cookie, 16));
    assert_int_equal(unlink(made), 0);
    assert_int_equal(access(linked, F_OK), 0); /* half of a lock */
    assert_int_equal(change_entry(&none, LONG, NULL), 0);
    assert_int_equal(access(path, F_OK), -1);
}

static void lock_of_a_killed_child_is_removed_by_the_next(void **state)
{
    _cleanup_str_ struct str text = STR_INIT;

    hostnames_before_stop = 2;
    assert_fails(&ours, 1, "it took longer than 1 seconds");
    hostnames_before_stop = 0;
    assert_int_equal(access(made, F_OK), 0);
    assert_int_equal(access(linked, F_OK), 0);
    assert_int_equal(change_entry(&ours, LONG, NULL), 0);
    assert_int_equal(path_read_file(path, 1000, &text, NULL), 0);
    assert_non_null(memmem(text.data, text.len, ours.cookie, 16));
    assert_int_equal(access(made, F_OK), -1);
    assert_int_equal(access(linked, F_OK), -1);
}

static void lock_of_a_living_process_and_of_another_host_is_kept(void **state)
{
    char host[256] = "";
    _cleanup_free_ char *own = NULL;

    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    own = mem_printf("%s %d\n", host, (int)getpid());
    const char *const signed_by[] = {own, "elsewhere.invalid 4194304\n", "4194304\n", ""};
    for (size_t i = 0; i < sizeof(signed_by) / sizeof(signed_by[0]); i++) {
        assert_int_equal(path_write_file(made, signed_by[i], strlen(signed_by[i]), 0600, NULL), 0);
        assert_int_equal(link(made, linked), 0);
        assert_fails(&ours, 1, "-c' another program's lock?");
        assert_int_equal(access(linked, F_OK), 0);
        assert_int_equal(unlink(linked), 0);
        assert_int_equal(unlink(made), 0);
    }
}

static void write_lock_of(pid_t pid)
{
    char host[256] = "";
    _cleanup_free_ char *text = NULL;

    assert_int_equal(__real_gethostname(host, sizeof(host) - 1), 0);
    text = mem_printf("%s %d\n", host, (int)pid);
    assert_int_equal(path_write_file(made, text, strlen(text), 0600, NULL), 0);
    assert_int_equal(link(made, linked), 0);
}

/* Acts like another process that has found the same stale lock. */
static void take_stale_lock(void)
{
    unlink(linked);
    unlink(made);
    write_lock_of(getppid());
}

static void lock_replaced_by_another_process_is_kept(void **state)
{
    write_lock_of(PID_OF_NOBODY);
    on_hostname = take_stale_lock;
    assert_fails(&ours, 1, "it took longer than 1 seconds");
    on_hostname = NULL;
    assert_int_equal(access(made, F_OK), 0);
    assert_int_equal(access(linked, F_OK), 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(unlink(linked), 0);
    assert_int_equal(unlink(made), 0);
}

static void child_that_the_user_stops_is_ended(void **state)
{
    stops = true;
    assert_fails(&ours, 0, "it took longer than 0 seconds");
    assert_fails(&ours, 1, "it took longer than 1 seconds");
    stops = false;
    assert_int_equal(access(path, F_OK), -1);
}

static void changes_that_fail_say_why(void **state)
{
    _cleanup_free_ char *big = mem_alloc((1 << 20) + 1);

    assert_int_equal(path_write_file(path, "\1", 1, 0600, NULL), 0);
    assert_fails(&ours, LONG, "the file is malformed; remove it");
    memset(big, 0, (1 << 20) + 1);
    assert_int_equal(path_write_file(path, big, (1 << 20) + 1, 0600, NULL), 0);
    assert_fails(&ours, LONG, "the file is larger than 1 MiB; remove it");
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_fails(&none, LONG, "it is not a regular file; remove it");
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_fails(&ours, LONG, "it is not a regular file; remove it");
    rmdir(path);
    rmdir(dir);
    assert_fails(&ours, LONG, "No such file or directory");
    assert_int_equal(mkdir(dir, 0700), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_entry_of_the_display_changes),
        cmocka_unit_test_setup_teardown(file_is_made_and_removed, make_home, remove_home),
        cmocka_unit_test_setup_teardown(locks_are_kept, make_home, remove_home),
        cmocka_unit_test_setup_teardown(lock_of_a_killed_child_is_removed_by_the_next, make_home,
                                        remove_home),
        cmocka_unit_test_setup_teardown(lock_of_a_living_process_and_of_another_host_is_kept,
                                        make_home, remove_home),
        cmocka_unit_test_setup_teardown(lock_replaced_by_another_process_is_kept, make_home,
                                        remove_home),
        cmocka_unit_test_setup_teardown(child_that_the_user_stops_is_ended, make_home, remove_home),
        cmocka_unit_test_setup_teardown(changes_that_fail_say_why, make_home, remove_home),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
