/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Truncated, overwritten and corrupted files: no damaged record is accepted, no valid record is
 * dropped, and the process does not crash. */
#include "store/store_test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORDS 2000
#define PAGE 4096

/* How many of something: a sample, and in the soak that percentage of the amount of a release. */
static unsigned get_amount(unsigned sample, unsigned release)
{
    const char *soak = getenv("SLUICE_SOAK");
    unsigned wanted = soak ? (unsigned)atoi(soak) * release / 100 : 0;
    return wanted > sample ? wanted : sample;
}

static int setup(void **state)
{
    *state = test_dir_new();
    return 0;
}

static int teardown(void **state)
{
    test_dir_free(*state);
    return 0;
}

static char *record_text(uint64_t i)
{
    return mem_printf("record %llu of a size that fills pages: %0100llu", (unsigned long long)i,
                      (unsigned long long)i);
}

static void fill_store(const char *dir)
{
    struct store *s = open_ok(dir, 0);
    struct store_batch *b = store_batch_new();
    for (uint64_t i = 1; i <= RECORDS; i++) {
        _cleanup_free_ char *text = record_text(i);
        put_text(b, 2, i, NULL, text);
    }
    put_text(b, 4, 0, "n1", "node");
    commit_ok(s, b);
    store_close(s);
}

/* Runs SQL on the file, as an administrator's slip would. */
static void alter_database(const char *dir, const char *sql)
{
    _cleanup_free_ char *path = mem_printf("%s/state.db", dir);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static size_t count_lines(const struct str *s)
{
    size_t n = 0;
    for (const char *p = str_cstr(s); *p; p++)
        n += *p == '\n';
    return n;
}

static void wrong_checksum_is_set_aside(void **state)
{
    fill_store(*state);
    alter_database(*state, "UPDATE numbered_2 SET data = 'other' WHERE id = 7;"
                           "UPDATE numbered_2 SET sum = sum + 1 WHERE id = 9;"
                           "UPDATE numbered_2 SET id = 5000 WHERE id = 11;" /* another's bytes */
                           "UPDATE named SET name = 'n2'");
    struct store *s = open_ok(*state, 0);
    struct seen seen = {0};
    assert_int_equal(store_load(s, 0, seen_record, seen_damaged, &seen, NULL), 0);
    assert_string_equal(str_cstr(&seen.damaged), "4:n2\n2/7\n2/9\n2/5000\n");
    assert_int_equal(count_lines(&seen.records), RECORDS - 3);
    seen_done(&seen);

    /* The second load finds them gone, and their bytes are kept for a person. */
    memset(&seen, 0, sizeof(seen));
    assert_int_equal(store_load(s, 0, seen_record, seen_damaged, &seen, NULL), 0);
    assert_string_equal(str_cstr(&seen.damaged), "");
    store_close(s);
    seen_done(&seen);
    _cleanup_free_ char *path = mem_printf("%s/state.db", (char *)*state);
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM damaged", -1, &st, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(st, 0), 4);
    sqlite3_finalize(st);
    sqlite3_close(db);
}

static void get_refuses_a_wrong_checksum(void **state)
{
    fill_store(*state);
    alter_database(*state, "UPDATE numbered_2 SET data = 'other' WHERE id = 7");
    struct store *s = open_ok(*state, 0);
    void *data = NULL;
    size_t len = 0;
    struct err err = {0};
    assert_int_equal(store_get(s, 2, 7, &data, &len, &err), -ERR_STORE_DAMAGED);
    assert_null(data);
    assert_non_null(strstr(err.text, "2/7"));
    store_close(s);
}

static void overwrite_bytes(const char *dir, const char *name, long at, size_t len)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", dir, name), *noise = mem_alloc(len);
    memset(noise, 0xa5, len);
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, noise, len, at), len);
    close(fd);
}

/* Each record was stored, is complete, and occurs once; records are loaded in order. */
static void assert_genuine(const struct seen *seen)
{
    uint64_t last = 0;
    for (const char *line = str_cstr(&seen->records), *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        assert_non_null(end);
        int len = (int)(end - line);
        if (last == 0 && len == 9 && strncmp(line, "4:n1=node", 9) == 0)
            continue;
        unsigned long long i = 0;
        assert_int_equal(sscanf(line, "2/%llu=", &i), 1);
        assert_true(i > last && i <= RECORDS);
        _cleanup_free_ char *text = record_text(i), *whole = mem_printf("2/%llu=%s", i, text);
        if ((int)strlen(whole) != len || strncmp(line, whole, (size_t)len))
            fail_msg("not what was stored: %.*s", len, line);
        last = i;
    }
}

static int load_count(const char *dir, unsigned flags, size_t *count, struct err *err)
{
    struct store *s = NULL;
    struct store_where where = {.at = dir};
    int rc = store_open(&where, flags | STORE_TAKE_LEAD, NULL, NULL, &s, err);
    if (rc)
        return rc;
    struct seen seen = {0};
    rc = store_load(s, 0, seen_record, seen_damaged, &seen, err);
    *count = count_lines(&seen.records);
    assert_genuine(&seen);
    seen_done(&seen);
    store_close(s);
    return rc;
}

/* Every page in turn is overwritten: without -i the store refuses with the remedy (or the page was
 * unused), with -i everything on the other pages is kept. */
static void damaged_pages_are_survived(void **state)
{
    fill_store(*state);
    _cleanup_free_ char *path = mem_printf("%s/state.db", (char *)*state);
    _cleanup_str_ struct str good = STR_INIT;
    assert_int_equal(path_read_file(path, 16 << 20, &good, NULL), 0);
    long pages = (long)(good.len / PAGE);
    assert_true(pages > 50);
    bool lost_all_only_with_root = true;
    for (long page = 0; page < pages; page++) {
        assert_int_equal(path_write_file(path, good.data, good.len, 0600, NULL), 0);
        overwrite_bytes(*state, "state.db", page * PAGE, PAGE);
        size_t count = 0;
        struct err err = {0};
        int rc = load_count(*state, 0, &count, &err);
        if (rc) {
            assert_int_equal(rc, -ERR_STORE_DAMAGED);
            assert_non_null(strstr(err.text, "-i"));
        }
        rc = load_count(*state, STORE_IGNORE_DAMAGE, &count, &err);
        if (rc)
            fail_msg("page %ld: %s", page, err.text);
        /* A leaf holds some 25 records; the two inner pages hold the way to all. */
        if (count < RECORDS - 60 && page > 8)
            lost_all_only_with_root = false;
    }
    assert_true(lost_all_only_with_root);
}

/* Valid pages between two damaged pages are reached. */
static void records_between_damaged_pages_are_kept(void **state)
{
    fill_store(*state);
    _cleanup_free_ char *path = mem_printf("%s/state.db", (char *)*state);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    for (int third = 1; third <= 2; third++)
        overwrite_bytes(*state, "state.db", (long)st.st_size / PAGE * third / 3 * PAGE, PAGE);
    size_t count = 0;
    assert_int_equal(load_count(*state, STORE_IGNORE_DAMAGE, &count, NULL), 0);
    assert_in_range(count, RECORDS - 120, RECORDS - 1);
}

/* Truncated at many lengths, -i always continues, and no wrong record is read. */
static void truncated_files_are_survived(void **state)
{
    fill_store(*state);
    _cleanup_free_ char *path = mem_printf("%s/state.db", (char *)*state);
    _cleanup_str_ struct str good = STR_INIT;
    assert_int_equal(path_read_file(path, 16 << 20, &good, NULL), 0);
    for (size_t len = 0; len < good.len; len = len * 3 / 2 + 37) {
        assert_int_equal(path_write_file(path, good.data, len, 0600, NULL), 0);
        size_t count = 0;
        struct err err = {0};
        int rc = load_count(*state, 0, &count, &err);
        if (len > 0)
            assert_int_equal(rc, -ERR_STORE_DAMAGED);
        rc = load_count(*state, STORE_IGNORE_DAMAGE, &count, &err);
        if (rc)
            fail_msg("cut at %zu: %s", len, err.text);
        assert_true(count <= RECORDS + 1);
    }
}

/* A log cut at any length is a state that was committed: a prefix of the batches. */
static void truncated_log_gives_a_prefix_of_the_commits(void **state)
{
    char *dir = *state;
    _cleanup_free_ char *path = mem_printf("%s/state.db", dir), *log = mem_printf("%s-wal", path);
    _cleanup_str_ struct str db = STR_INIT, wal = STR_INIT;
    struct store *s = open_ok(dir, 0);
    for (uint64_t i = 1; i <= 8; i++) {
        struct store_batch *b = store_batch_new();
        put_text(b, 2, i, NULL, "x");
        commit_ok(s, b);
    }
    /* The files as a kill would leave them. */
    assert_int_equal(path_read_file(path, 16 << 20, &db, NULL), 0);
    assert_int_equal(path_read_file(log, 16 << 20, &wal, NULL), 0);
    store_close(s);
    size_t last = 0, step = wal.len / get_amount((unsigned)(wal.len / 211), (unsigned)wal.len);
    for (size_t len = 0; len <= wal.len;
         len = len < wal.len && len + step > wal.len ? wal.len : len + step) {
        assert_int_equal(path_write_file(path, db.data, db.len, 0600, NULL), 0);
        assert_int_equal(path_write_file(log, wal.data, len, 0600, NULL), 0);
        s = open_ok(dir, 0);
        struct seen seen = {0};
        assert_int_equal(store_load(s, 0, seen_record, seen_damaged, &seen, NULL), 0);
        _cleanup_str_ struct str expected = STR_INIT;
        size_t count = count_lines(&seen.records);
        for (size_t i = 1; i <= count; i++)
            str_printf(&expected, "2/%zu=x\n", i);
        assert_string_equal(str_cstr(&seen.records), str_cstr(&expected));
        assert_true(count >= last);
        last = count;
        seen_done(&seen);
        store_close(s);
    }
    assert_int_equal(last, 8);
}

/* One bit flipped anywhere in the file: a load returns only stored records, and either all of them
 * or a report. */
static void flipped_bits_are_noticed(void **state)
{
    fill_store(*state);
    _cleanup_free_ char *path = mem_printf("%s/state.db", (char *)*state);
    _cleanup_str_ struct str good = STR_INIT;
    assert_int_equal(path_read_file(path, 16 << 20, &good, NULL), 0);
    _cleanup_str_ struct str full = STR_INIT;
    str_puts(&full, "4:n1=node\n");
    for (uint64_t i = 1; i <= RECORDS; i++) {
        _cleanup_free_ char *text = record_text(i);
        str_printf(&full, "2/%llu=%s\n", (unsigned long long)i, text);
    }
    uint64_t random = 88172645463325252u;
    for (unsigned round = get_amount(300, 10000); round > 0; round--) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        size_t at = PAGE + random % (good.len - PAGE);
        good.data[at] = (char)(good.data[at] ^ (1 << (random >> 61)));
        assert_int_equal(path_write_file(path, good.data, good.len, 0600, NULL), 0);
        good.data[at] = (char)(good.data[at] ^ (1 << (random >> 61)));
        struct store *s = NULL;
        struct store_where where = {.at = *state};
        if (store_open(&where, 0, NULL, NULL, &s, NULL))
            continue;
        struct seen seen = {0};
        int rc = store_load(s, 0, seen_record, seen_damaged, &seen, NULL);
        if (rc == 0 && seen.damaged.len == 0)
            assert_string_equal(str_cstr(&seen.records), str_cstr(&full));
        assert_genuine(&seen);
        seen_done(&seen);
        store_close(s);
    }
}

/* Many bits flipped, with -i: the salvage ends, and the store continues with stored records. */
static void flipped_bits_are_survived(void **state)
{
    fill_store(*state);
    _cleanup_free_ char *path = mem_printf("%s/state.db", (char *)*state);
    _cleanup_str_ struct str good = STR_INIT, bad = STR_INIT;
    assert_int_equal(path_read_file(path, 16 << 20, &good, NULL), 0);
    uint64_t random = 88172645463325252u;
    for (int round = 0; round < 60; round++) {
        str_clear(&bad);
        str_append(&bad, good.data, good.len);
        for (int flips = 1 + round % 40; flips > 0; flips--) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            size_t at = PAGE + random % (good.len - PAGE);
            at = round % 3 ? at / PAGE * PAGE + at % 12 : at; /* the heads of pages matter most */
            bad.data[at] = (char)(bad.data[at] ^ (1 << (random >> 61)));
        }
        assert_int_equal(path_write_file(path, bad.data, bad.len, 0600, NULL), 0);
        size_t count = 0;
        struct err err = {0};
        if (load_count(*state, STORE_IGNORE_DAMAGE, &count, &err))
            fail_msg("round %d: %s", round, err.text);
        assert_true(count <= RECORDS + 1);
    }
}

/* A mistake of an administrator: another file in place of ours. */
static void foreign_files_are_refused(void **state)
{
    _cleanup_free_ char *path = mem_printf("%s/state.db", (char *)*state);
    assert_int_equal(path_write_file(path, "hello, world\n", 13, 0600, NULL), 0);
    struct store *s = NULL;
    struct store_where where = {.at = *state};
    struct err err = {0};
    assert_int_equal(store_open(&where, 0, NULL, NULL, &s, &err), -ERR_STORE_DAMAGED);
    assert_non_null(strstr(err.text, path));
    size_t count = 1;
    assert_int_equal(load_count(*state, STORE_IGNORE_DAMAGE, &count, &err), 0);
    assert_int_equal(count, 0);
    /* And it was kept. */
    DIR *d = opendir(*state);
    bool kept = false;
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        kept |= str_starts(e->d_name, "state.db.damaged-");
    closedir(d);
    assert_true(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(foreign_files_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_checksum_is_set_aside, setup, teardown),
        cmocka_unit_test_setup_teardown(get_refuses_a_wrong_checksum, setup, teardown),
        cmocka_unit_test_setup_teardown(damaged_pages_are_survived, setup, teardown),
        cmocka_unit_test_setup_teardown(records_between_damaged_pages_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(truncated_files_are_survived, setup, teardown),
        cmocka_unit_test_setup_teardown(truncated_log_gives_a_prefix_of_the_commits, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(flipped_bits_are_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(flipped_bits_are_survived, setup, teardown),
    };
    return cmocka_run_group_tests_name("store_sqlite_damage", tests, NULL, NULL);
}
