/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Power loss at every write and every sync. The changes that SQLite makes to its files are
 * recorded. After each change the files are built as a crash may leave them: synced data is there;
 * of unsynced data nothing, everything, or any part in any order, with the last write torn between
 * sectors. Each such state opens without damage and consists of whole batches: all acknowledged
 * ones, and none that had not begun.
 */
#include "store/store_test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "store/store_sqlite.h"
#include "store/store_test_vfs.h"

enum { FILES = 3, SECTOR = 512, SUBSETS = 12, SUBSETS_RELEASE = 150, AGAIN_EVERY = 16 };

static const char *const suffixes[FILES] = {"", "-wal", "-journal"};

struct change {
    enum change_kind { CHANGE, BEGUN, ACKNOWLEDGED, DIRECTORY_SYNCED } what;
    struct test_vfs_event event;
    int file;
    char *data;
};

struct trace {
    VEC(struct change) changes;
    unsigned batches; /* committed so far */
};

/* A file as the disk has it, and the changes that are not synced. */
struct disk {
    struct str content[FILES];
    bool exists[FILES];
    VEC(const struct change *) pending; /* of all files, in their order */
};

struct run {
    struct trace trace;
    struct disk disk, after; /* after: what this crash leaves */
    unsigned begun, acknowledged, states;
    uint64_t random;
    const char *dir;
};

/* --- recording -------------------------------------------------------------------------------- */

static int find_file(const char *path)
{
    for (int i = 1; i < FILES; i++)
        if (strstr(path, suffixes[i]))
            return i;
    return 0;
}

static void on_change(void *ctx, const struct test_vfs_event *event)
{
    struct trace *t = ctx;
    struct change c = {.what = CHANGE, .event = *event, .file = find_file(event->path)};
    if (event->data) {
        c.data = mem_alloc(event->len);
        memcpy(c.data, event->data, event->len);
    }
    vec_push(&t->changes, c);
}

static void note_change(struct trace *t, enum change_kind what)
{
    vec_push(&t->changes, (struct change){.what = what});
}

/* The store's own syncs, by --wrap: SQLite leaves it open whether a deletion is durable. */
static struct trace *tracing;
int __real_fsync(int fd); /* NOLINT */
int __wrap_fsync(int fd); /* NOLINT */

int __wrap_fsync(int fd)
{
    struct stat st;
    if (tracing && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        note_change(tracing, DIRECTORY_SYNCED);
    return __real_fsync(fd);
}

static char *make_text(unsigned k, bool is_long)
{
    return mem_printf("record %0*u", is_long ? 9000 : 3, k);
}

/* A new record, a changed one, a deleted one, and at times one of several pages. */
static struct store_batch *make_batch(unsigned k)
{
    struct store_batch *b = store_batch_new();
    _cleanup_free_ char *text = make_text(k, false), *more = make_text(k, true);
    put_text(b, 2, k, NULL, text);
    put_text(b, 4, 0, "n", text);
    if (k > 3)
        store_delete(b, 2, k - 3, NULL);
    if (k % 4 == 0)
        put_text(b, 3, k, NULL, more);
    return b;
}

static void format_expected(struct str *out, unsigned k)
{
    str_clear(out);
    if (k > 0) {
        _cleanup_free_ char *text = make_text(k, false);
        str_printf(out, "4:n=%s\n", text);
    }
    for (unsigned i = k > 3 ? k - 2 : 1; i <= k; i++) {
        _cleanup_free_ char *text = make_text(i, false);
        str_printf(out, "2/%u=%s\n", i, text);
    }
    for (unsigned i = 4; i <= k; i += 4) {
        _cleanup_free_ char *text = make_text(i, true);
        str_printf(out, "3/%u=%s\n", i, text);
    }
}

static void commit_some(struct trace *t, struct store *s, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        note_change(t, BEGUN);
        commit_ok(s, make_batch(++t->batches));
        note_change(t, ACKNOWLEDGED);
    }
}

/* The log goes home twice while the store is open, is written from its beginning after that, and
 * once more when the store is closed. */
static void record_changes(struct trace *t, const char *dir)
{
    store_test_vfs_trace(on_change, t);
    tracing = t;
    struct store *s = open_ok(dir, 0);
    commit_some(t, s, 5);
    assert_int_equal(store_sqlite_rest(s, NULL), 0);
    commit_some(t, s, 4);
    assert_int_equal(store_sqlite_rest(s, NULL), 0);
    commit_some(t, s, 2);
    store_close(s);
    s = open_ok(dir, 0);
    commit_some(t, s, 3);
    store_close(s);
    store_test_vfs_trace(NULL, NULL);
    tracing = NULL;
}

/* --- states after a crash --------------------------------------------------------------------- */

static uint64_t draw_number(struct run *r, uint64_t below)
{
    r->random ^= r->random << 13;
    r->random ^= r->random >> 7;
    r->random ^= r->random << 17;
    return r->random % below;
}

static void resize_text(struct str *s, size_t len)
{
    while (s->len < len)
        str_putc(s, '\0');
    s->len = len;
}

/* len: the number of bytes of a write that have reached the disk */
static void apply_change(struct disk *d, const struct change *c, size_t len)
{
    struct str *file = &d->content[c->file];
    d->exists[c->file] = c->event.change != TEST_VFS_DELETED;
    if (c->event.change == TEST_VFS_DELETED)
        str_clear(file);
    else if (c->event.change == TEST_VFS_TRUNCATED)
        resize_text(file, c->event.len);
    else {
        size_t end = (size_t)c->event.at + len;
        if (file->len < end)
            resize_text(file, end);
        memcpy(file->data + c->event.at, c->data, len);
    }
}

static void sync_file(struct disk *d, int file)
{
    size_t left = 0;
    vec_foreach (&d->pending, c)
        if ((*c)->file == file)
            apply_change(d, *c, (*c)->event.len);
        else
            d->pending.data[left++] = *c;
    d->pending.len = left;
}

static void sync_directory(struct disk *d)
{
    bool is_deleted[FILES] = {0};
    vec_foreach (&d->pending, c)
        is_deleted[(*c)->file] = (*c)->event.change == TEST_VFS_DELETED;
    for (int i = 0; i < FILES; i++)
        if (is_deleted[i])
            sync_file(d, i);
}

static void copy_disk(struct disk *to, const struct disk *from)
{
    for (int i = 0; i < FILES; i++) {
        str_clear(&to->content[i]);
        str_append(&to->content[i], from->content[i].data, from->content[i].len);
        to->exists[i] = from->exists[i];
    }
}

static void write_files(const struct run *r)
{
    for (int i = 0; i < FILES; i++) {
        _cleanup_free_ char *path = mem_printf("%s/state.db%s", r->dir, suffixes[i]);
        (void)unlink(path);
        const struct str *content = &r->after.content[i];
        if (r->after.exists[i])
            assert_int_equal(path_write_file(path, content->data, content->len, 0600, NULL), 0);
    }
}

static unsigned check_content(const struct run *r, const struct seen *seen, const char *how)
{
    _cleanup_str_ struct str expected = STR_INIT;
    if (seen->damaged.len)
        fail_msg("%s: damaged: %s", how, str_cstr(&seen->damaged));
    for (unsigned k = r->acknowledged; k <= r->begun; k++) {
        format_expected(&expected, k);
        if (str_eq(str_cstr(&seen->records), str_cstr(&expected)))
            return k;
    }
    fail_msg("%s: neither the state of batch %u, which was acknowledged, nor of %u: %.400s", how,
             r->acknowledged, r->begun, str_cstr(&seen->records));
    return 0;
}

static struct seen load_all(const char *dir, const char *how)
{
    struct store *s = NULL;
    struct err err = {0};
    struct store_where where = {.at = dir};
    struct seen seen = {0};
    if (store_open(&where, STORE_TAKE_LEAD, NULL, NULL, &s, &err) ||
        store_load(s, 0, seen_record, seen_damaged, &seen, &err))
        fail_msg("%s: %s", how, err.text);
    store_close(s);
    return seen;
}

static void check_state(struct run *r, size_t at, const char *variant)
{
    _cleanup_free_ char *how = mem_printf("crash after change %zu, %s", at, variant);
    write_files(r);
    struct seen seen = load_all(r->dir, how);
    unsigned k = check_content(r, &seen, how);
    seen_done(&seen);
    if (r->states++ % AGAIN_EVERY)
        return;
    /* The store continues from there. */
    struct store *s = open_ok(r->dir, 0);
    commit_ok(s, make_batch(k + 1));
    store_close(s);
    _cleanup_str_ struct str expected = STR_INIT;
    format_expected(&expected, k + 1);
    assert_records(r->dir, str_cstr(&expected));
}

/* Applies each pending change or not. torn: only some sectors of the last write. */
static void check_part(struct run *r, size_t at, unsigned one_in, bool torn, const char *variant)
{
    const struct disk *d = &r->disk;
    copy_disk(&r->after, d);
    for (size_t i = 0; i < d->pending.len; i++) {
        const struct change *c = d->pending.data[i];
        size_t len = c->event.len;
        if (one_in > 1 && draw_number(r, one_in))
            continue;
        if (torn && i + 1 == d->pending.len && c->event.change == TEST_VFS_WROTE) {
            size_t begins = (size_t)c->event.at % SECTOR;
            size_t end = draw_number(r, (begins + len) / SECTOR + 1) * SECTOR;
            len = end > begins ? end - begins : 0;
        }
        apply_change(&r->after, c, len);
    }
    check_state(r, at, variant);
}

static void crash_at(struct run *r, size_t at, unsigned subsets)
{
    check_part(r, at, 1, false, "all is there");
    if (r->disk.pending.len == 0)
        return;
    copy_disk(&r->after, &r->disk);
    check_state(r, at, "nothing that was not synced is there");
    check_part(r, at, 1, true, "the last write is torn");
    for (unsigned i = 0; r->disk.pending.len > 1 && i < subsets; i++)
        check_part(r, at, 2, i % 2, "some changes are there");
}

static void take_change(struct run *r, const struct change *c)
{
    if (c->what == BEGUN)
        r->begun++;
    else if (c->what == ACKNOWLEDGED)
        r->acknowledged++;
    else if (c->what == DIRECTORY_SYNCED)
        sync_directory(&r->disk);
    else if (c->event.change == TEST_VFS_SYNCED)
        sync_file(&r->disk, c->file);
    else
        vec_push(&r->disk.pending, c);
    if (c->what == CHANGE && c->event.change == TEST_VFS_DELETED && c->event.is_durable)
        sync_file(&r->disk, c->file);
}

static void every_crash_leaves_whole_batches(void **state)
{
    char first[] = "/dev/shm/store-crash-XXXXXX", second[] = "/dev/shm/store-crash-XXXXXX";
    const char *seed = getenv("SLUICE_SEED"), *soak = getenv("SLUICE_SOAK"); /* percent */
    unsigned subsets = soak ? (unsigned)atoi(soak) * SUBSETS_RELEASE / 100 : 0;
    struct run r = {.random = (seed ? strtoull(seed, NULL, 10) : 0) + 88172645463325252u};
    assert_true(mkdtemp(first) && mkdtemp(second));
    store_test_vfs_install();
    record_changes(&r.trace, first);
    r.dir = second;
    r.disk.exists[0] = true; /* made, and its directory synced, before SQLite opens it */
    vec_foreach (&r.trace.changes, c) {
        take_change(&r, c);
        crash_at(&r, (size_t)(c - r.trace.changes.data), subsets > SUBSETS ? subsets : SUBSETS);
    }
    assert_int_equal(r.acknowledged, r.trace.batches);
    print_message("%u states after %zu changes\n", r.states, r.trace.changes.len);
    assert_true(r.states >= 1000);
    vec_foreach (&r.trace.changes, c)
        free(c->data);
    vec_done(&r.trace.changes);
    vec_done(&r.disk.pending);
    for (int i = 0; i < FILES; i++) {
        str_done(&r.disk.content[i]);
        str_done(&r.after.content[i]);
    }
    assert_int_equal(nftw(first, test_dir_remove, 8, FTW_DEPTH | FTW_PHYS), 0);
    assert_int_equal(nftw(second, test_dir_remove, 8, FTW_DEPTH | FTW_PHYS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_crash_leaves_whole_batches)};
    return cmocka_run_group_tests_name("store_sqlite_crash", tests, NULL, NULL);
}
