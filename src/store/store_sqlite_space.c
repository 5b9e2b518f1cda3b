/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/store_sqlite.h"

/* Free bytes below which the log is kept small. */
#define STORE_SCARCE (32ull << 20)

static uint64_t space_free(const struct store_space *sp)
{
    struct statvfs fs;
    if (statvfs(sp->dir, &fs))
        return 0;
    return (uint64_t)fs.f_bavail * fs.f_frsize;
}

static bool reserve_make(struct store_space *sp)
{
    _cleanup_close_ int fd =
        open(sp->reserve, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (fd < 0)
        return false;
    struct stat st;
    if (!fstat(fd, &st) && (uint64_t)st.st_size == STORE_RESERVE &&
        (uint64_t)st.st_blocks * 512 >= STORE_RESERVE)
        return true;
    /* Only if there is plenty of space: a reserve that takes the last space would be given up at
       once. */
    if (space_free(sp) >= 2 * (uint64_t)STORE_RESERVE && !posix_fallocate(fd, 0, STORE_RESERVE))
        return true;
    unlink(sp->reserve);
    return false;
}

static void check_space(struct store_space *sp)
{
    if (!sp->have_reserve)
        sp->have_reserve = reserve_make(sp);
    sp->free = space_free(sp);
    sp->low = !sp->have_reserve || sp->free < STORE_RESERVE + sp->owed;
    sp->checked_at_ms = loop_mono_ms();
}

void store_space_open(struct store_space *sp, const char *dir)
{
    sp->dir = mem_strdup(dir);
    sp->reserve = mem_printf("%s/reserve", dir);
    pthread_mutex_init(&sp->lock, NULL);
    check_space(sp);
}

void store_space_done(struct store_space *sp)
{
    pthread_mutex_destroy(&sp->lock);
    free(sp->dir);
    free(sp->reserve);
}

void store_space_check(struct store_space *sp)
{
    pthread_mutex_lock(&sp->lock);
    check_space(sp);
    pthread_mutex_unlock(&sp->lock);
}

bool store_space_release(struct store_space *sp)
{
    pthread_mutex_lock(&sp->lock);
    bool had = sp->have_reserve;
    if (had) {
        unlink(sp->reserve);
        sp->have_reserve = false;
    }
    sp->low = true;
    pthread_mutex_unlock(&sp->lock);
    return had;
}

bool store_space_is_scarce(const struct store_space *sp)
{
    return sp->low || sp->free < STORE_SCARCE + sp->owed;
}

void store_space_free_statements(struct store_space *sp)
{
    sqlite3_finalize(take_ptr(sp->page_count));
    sqlite3_finalize(take_ptr(sp->unused_count));
}

/* The statement is prepared once, since parsing it takes longer than executing it. */
static int read_count(sqlite3 *db, sqlite3_stmt **prepared, const char *sql, int *count)
{
    int rc = store_db_prepare(db, sql, prepared);
    if (rc != SQLITE_OK)
        return rc;
    if (sqlite3_step(*prepared) == SQLITE_ROW)
        *count = sqlite3_column_int(*prepared, 0);
    return sqlite3_reset(*prepared);
}

void store_space_measure(struct store_space *sp, sqlite3 *db, const char *path)
{
    struct stat st;
    int pages = 0, unused = 0;
    if (stat(path, &st) ||
        read_count(db, &sp->page_count, "PRAGMA page_count", &pages) != SQLITE_OK ||
        read_count(db, &sp->unused_count, "PRAGMA freelist_count", &unused) != SQLITE_OK)
        return;
    uint64_t whole = (uint64_t)pages * STORE_PAGE, now = (uint64_t)st.st_size;
    sp->owed = whole > now ? whole - now : 0;
    sp->spare = (uint64_t)unused * STORE_PAGE;
}

/* Counts the bytes once for the log, and once for the database as far as it has no unused
   space. */
static bool has_space(const struct store_space *sp, uint64_t more)
{
    if (more == 0)
        return true;
    more += more / 64 + STORE_SCARCE_PAGES * STORE_PAGE / 4;
    uint64_t grows = more > sp->spare ? more - sp->spare : 0;
    return sp->free >= STORE_RESERVE + sp->owed + more + grows;
}

bool store_space_low(struct store_space *sp, uint64_t more)
{
    if (!sp->low && has_space(sp, more))
        return false;
    /* No commits occur while submissions are refused, so the end of the shortage is detected
       here. */
    pthread_mutex_lock(&sp->lock);
    if (loop_mono_ms() - sp->checked_at_ms >= STORE_RETRY_MS)
        check_space(sp);
    pthread_mutex_unlock(&sp->lock);
    return sp->low || !has_space(sp, more);
}

uint64_t store_space_free(struct store_space *sp)
{
    uint64_t taken = STORE_RESERVE + sp->owed;
    return sp->free > taken ? (sp->free - taken + sp->spare) / 2 : 0;
}
