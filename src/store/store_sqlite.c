/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "store/store_sqlite.h"

#define HOLDER_MAX 200

static char *lock_path(const char *dir)
{
    return mem_printf("%s/lock", dir);
}

/* Reads the holder's text. */
static char *holder_read(int fd)
{
    char text[HOLDER_MAX] = "";
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    if (n > 0)
        text[strcspn(text, "\n")] = '\0';
    return mem_strdup(text[0] ? text : "another process");
}

static int lock_held(const char *dir, int fd, struct err *err)
{
    _cleanup_free_ char *holder = holder_read(fd), *path = lock_path(dir);
    return err_set(err, -ERR_LEAD,
                   "%s is in use by another controller, %s, which holds %s: stop it first, or give "
                   "each controller its own StateSaveLocation",
                   dir, holder, path);
}

/* Only the holder may change files in the directory. The file is kept when the lock is released:
 * removing it could take it away from the next holder. */
static int take_lock_file(const char *dir, const char *holder, int *lock_fd, struct err *err)
{
    _cleanup_free_ char *path = lock_path(dir);
    _cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLK, &all)) {
        if (errno == EAGAIN || errno == EACCES)
            return lock_held(dir, fd, err);
        return err_set(err, -errno, "%s: cannot lock it: %s", path, strerror(errno));
    }
    if (ftruncate(fd, 0) || dprintf(fd, "%.*s\n", HOLDER_MAX - 2, holder) < 0)
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    *lock_fd = take_fd(&fd);
    return 0;
}

/* Returns 0 and the holder, NULL if there is none. The caller frees *holder. */
static int find_lock_holder(const char *dir, char **holder, struct err *err)
{
    _cleanup_free_ char *path = lock_path(dir);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT) {
        *holder = NULL;
        return 0;
    }
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fd < 0 || fcntl(fd, F_OFD_GETLK, &all))
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    *holder = all.l_type == F_UNLCK ? NULL : holder_read(fd);
    return 0;
}

#define APPLICATION_ID 0x534c5549 /* "SLUI", see file(1) */
#define TEXT(x) TEXT_(x)
#define TEXT_(x) #x

int store_db_error(sqlite3 *db, int rc, const char *path, const char *doing, struct err *err)
{
    int code = -ERR_STORE;
    if (rc == SQLITE_OK)
        rc = sqlite3_errcode(db);
    switch (rc & 0xff) {
    case SQLITE_FULL:
        code = -ERR_STORE_FULL;
        break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return err_set(err, -ERR_BUSY, "%s is in use by another program", path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return err_set(err, -ERR_STORE_DAMAGED,
                       "%s is damaged (%s): put a copy back, or start with -i to keep what can "
                       "be read of it",
                       path, sqlite3_errstr(rc));
    }
    int error = sqlite3_system_errno(db);
    return err_set(err, code, "%s: cannot %s: %s%s%s", path, doing, sqlite3_errmsg(db),
                   error ? ": " : "", error ? strerror(error) : "");
}

/* Reads the format from the file's header, so that a file of a newer version is not opened at
   all. */
static int format_check(const char *path, bool damage_is_ours, struct err *err)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : err_set(err, -errno, "%s: %s", path, strerror(errno));
    unsigned char head[100];
    ssize_t n = read(fd, head, sizeof(head));
    if (n < 0)
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    if (n == 0)
        return 0;
    if (n < (ssize_t)sizeof(head) || memcmp(head, "SQLite format 3", 16) != 0) {
        if (damage_is_ours)
            return 0;
        return err_set(err, -ERR_STORE_DAMAGED,
                       "%s is damaged (its head is not a database's): put a copy back, or start "
                       "with -i to go on without it",
                       path);
    }
    unsigned format =
        (unsigned)head[60] << 24 | (unsigned)head[61] << 16 | (unsigned)head[62] << 8 | head[63];
    if (format > STORE_FORMAT)
        return err_set(err, -ERR_VERSION,
                       "%s was written by a newer version (format %u, this program knows %u): "
                       "start that version; the file was not changed",
                       path, format, STORE_FORMAT);
    return 0;
}

int store_db_number(sqlite3 *db, const char *sql, int *value)
{
    sqlite3_stmt *st;
    int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
    if (rc != SQLITE_OK)
        return rc;
    if (sqlite3_step(st) == SQLITE_ROW)
        *value = sqlite3_column_int(st, 0);
    return sqlite3_finalize(st);
}

/* The format number is written before the log is enabled, because format_check() reads the file
   only. */
static const char schema_sql[] = "PRAGMA application_id = " TEXT(
    APPLICATION_ID) ";"
                    "BEGIN;"
                    "CREATE TABLE named(kind INTEGER NOT NULL, name TEXT NOT NULL, sum INTEGER NOT "
                    "NULL,"
                    " data BLOB NOT NULL, PRIMARY KEY(kind, name)) WITHOUT ROWID;"
                    "CREATE TABLE damaged(kind INTEGER NOT NULL, number INTEGER, name TEXT, sum "
                    "INTEGER,"
                    " data BLOB, why TEXT, found_at INTEGER);"
                    "PRAGMA user_version = " TEXT(STORE_FORMAT) ";"
                                                                "COMMIT;";

/* secure_delete, a compile-time default in distributions, writes all deleted bytes to the log, so
 * that deleting would need the most space when there is none. */
static int db_configure(sqlite3 *db)
{
    sqlite3_extended_result_codes(db, 1);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    int rc = sqlite3_exec(
        db,
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA page_size = 4096;"
        "PRAGMA cache_size = -" TEXT(
            STORE_CACHE_KIB) ";"
                             "PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;"
                             "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864;"
                             "PRAGMA wal_autocheckpoint = 0;"
                             "PRAGMA secure_delete = OFF;",
        NULL, NULL, NULL);
    int format = 0, tables = 0;
    if (rc == SQLITE_OK)
        rc = store_db_number(db, "PRAGMA user_version", &format);
    if (rc == SQLITE_OK)
        rc = store_db_number(db, "SELECT count(*) FROM sqlite_master", &tables);
    if (rc == SQLITE_OK && format == 0 && tables == 0)
        rc = sqlite3_exec(db, schema_sql, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
    return rc;
}

int store_db_open(const char *path, sqlite3 **db, struct err *err)
{
    /* The file is created here, because SQLite would use the umask for a file that has users'
       scripts. */
    _cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || fchmod(fd, 0600))
        return err_set(err, -errno, "%s: cannot open it: %s", path, strerror(errno));

    sqlite3 *made = NULL;
    int rc = sqlite3_open_v2(path, &made, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        rc = db_configure(made);
    if (rc != SQLITE_OK) {
        int code = store_db_error(made, 0, path, "open it", err);
        sqlite3_db_config(made, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        sqlite3_close(made);
        return code;
    }
    *db = made;
    return 0;
}

static void directory_sync(const char *dir)
{
    _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        (void)fsync(fd);
}

int store_move_aside(const char *path, const char *to, struct err *err)
{
    _cleanup_free_ char *log = mem_printf("%s-wal", path), *log_to = mem_printf("%s-wal", to);
    _cleanup_free_ char *journal = mem_printf("%s-journal", path);
    (void)unlink(log_to);
    /* The file is renamed before its log. After a crash in between, SQLite drops a log beside a
     * new file; a file without its log would lose the log's content. */
    if (rename(path, to) && errno != ENOENT)
        return err_set(err, -errno, "%s: cannot rename it to %s: %s", path, to, strerror(errno));
    if (rename(log, log_to) && errno != ENOENT)
        return err_set(err, -errno, "%s: cannot rename it to %s: %s", log, log_to, strerror(errno));
    (void)unlink(journal);
    return 0;
}

static int on_wal(void *ctx, sqlite3 *db, const char *name, int pages)
{
    struct store_sqlite *q = ctx;
    q->wal_pages = (unsigned)pages;
    if (q->log_pages < q->wal_pages)
        q->log_pages = q->wal_pages;
    return SQLITE_OK;
}

static int salvage_file(struct store *s, struct store_sqlite *q, struct err *err)
{
    _cleanup_free_ char *aside = NULL;
    size_t saved = 0;
    int rc = store_salvage(q->path, &aside, &saved, err);
    if (rc || !aside)
        return rc;
    struct err why = {0};
    err_set(&why, -ERR_STORE_DAMAGED, "%s was damaged: %zu records could be kept; it is now %s",
            q->path, saved, aside);
    s->was_damaged = true;
    store_trouble(s, &why);
    return 0;
}

/* Does everything that can fail. sqlite_free() releases what was acquired. */
static int open_files(struct store *s, struct store_sqlite *q, const struct store_where *where,
                      unsigned flags, struct err *err)
{
    _cleanup_free_ char *holder = store_holder(where);
    if ((flags & STORE_EXISTING) && access(q->path, F_OK))
        return err_set(err, -errno, "%s: %s", q->path,
                       errno == ENOENT ? "there is no saved state" : strerror(errno));
    int rc = path_mkdirs(q->dir, 0700, err);
    if (rc == 0)
        rc = take_lock_file(q->dir, holder, &q->lock_fd, err);
    if (rc == 0 && (flags & STORE_CLEAN)) {
        _cleanup_free_ char *old = mem_printf("%s.old", q->path);
        rc = store_move_aside(q->path, old, err);
    }
    if (rc == 0)
        rc = format_check(q->path, flags & STORE_IGNORE_DAMAGE, err);
    if (rc == 0 && (flags & STORE_IGNORE_DAMAGE))
        rc = salvage_file(s, q, err);
    _cleanup_free_ char *log = mem_printf("%s-wal", q->path);
    struct stat st;
    q->had_log = stat(log, &st) == 0 && st.st_size > 0;
    q->log_pages = q->wal_pages = q->had_log ? (unsigned)(st.st_size / STORE_PAGE) : 0;
    if (rc == 0)
        rc = store_db_open(q->path, &q->db, err);
    if (rc)
        return rc;
    directory_sync(q->dir);
    sqlite3_wal_hook(q->db, on_wal, q);
    q->space = mem_new(struct store_space);
    store_space_measure(q->space, q->db, q->path);
    store_space_open(q->space, q->dir);
    return 0;
}

static void sqlite_free(struct store_sqlite *q)
{
    if (q->db) {
        store_statements_free(q);
        if (q->space)
            store_space_free_statements(q->space);
        /* After a failed sync only the log can be trusted. A process that has only read another's
         * database leaves it unchanged. */
        if (q->dead || (!q->wrote && q->had_log))
            sqlite3_db_config(q->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        sqlite3_close(q->db);
    }
    if (q->space) {
        store_space_done(q->space);
        free(q->space);
    }
    if (q->lock_fd >= 0)
        close(q->lock_fd);
    pthread_mutex_destroy(&q->lock);
    free(q->dir);
    free(q->path);
    free(q);
}

static int sqlite_open(struct store *s, const struct store_where *where, unsigned flags,
                       struct err *err)
{
    struct store_sqlite *q = mem_new(struct store_sqlite);
    q->dir = mem_strdup(where->at);
    q->path = mem_printf("%s/state.db", where->at);
    q->lock_fd = -1;
    pthread_mutex_init(&q->lock, NULL);
    int rc = open_files(s, q, where, flags, err);
    if (rc) {
        sqlite_free(q);
        return rc;
    }
    s->own = q;
    s->epoch = flags & STORE_TAKE_LEAD ? 1 : 0;
    s->settled = true;
    return 0;
}

static void sqlite_close(struct store *s)
{
    sqlite_free(s->own);
}

static int sqlite_lead(const struct store_where *where, uint64_t *epoch, char **holder,
                       struct err *err)
{
    int rc = find_lock_holder(where->at, holder, err);
    if (rc == 0)
        *epoch = *holder ? 1 : 0;
    return rc;
}

static bool sqlite_low(const struct store *s, uint64_t more)
{
    const struct store_sqlite *q = s->own;
    return store_space_low(q->space, more);
}

static uint64_t sqlite_free_bytes(const struct store *s)
{
    const struct store_sqlite *q = s->own;
    return store_space_free(q->space);
}

const struct store_driver store_sqlite_driver = {
    .open = sqlite_open,
    .close = sqlite_close,
    .lead = sqlite_lead,
    .commit = store_sqlite_commit,
    .rest_due = store_sqlite_rest_due,
    .rest = store_sqlite_rest,
    .load = store_sqlite_load,
    .load_aside = store_sqlite_load_aside,
    .get = store_sqlite_get,
    .low = sqlite_low,
    .free = sqlite_free_bytes,
};
