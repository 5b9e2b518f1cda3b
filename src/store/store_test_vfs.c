/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sqlite3.h>
#include <string.h>

#include "store/store_test_vfs.h"

struct fault {
    unsigned count, nth;
    bool for_ever;
    int code;
};
struct file { /* our part, followed by the real VFS's file */
    sqlite3_file base;
    sqlite3_file *real;
    const char *path; /* owned by SQLite while the file is open */
};

static struct fault faults[TEST_VFS_OPS];
static sqlite3_vfs shim, *real_vfs;
static sqlite3_io_methods methods;
static test_vfs_trace_fn *trace_fn;
static void *trace_ctx;

static int fault_hit(enum test_vfs_op op)
{
    struct fault *f = &faults[op];
    f->count++;
    if (f->code && (f->count == f->nth || (f->for_ever && f->count >= f->nth)))
        return f->code;
    return SQLITE_OK;
}

static int trace_event(int rc, struct test_vfs_event event)
{
    if (rc == SQLITE_OK && trace_fn && event.path)
        trace_fn(trace_ctx, &event);
    return rc;
}

static const char *path_of(sqlite3_file *f)
{
    return ((struct file *)(void *)f)->path;
}

static sqlite3_file *real_of(sqlite3_file *f)
{
    return ((struct file *)(void *)f)->real;
}

static int on_close(sqlite3_file *f)
{
    return real_of(f)->pMethods->xClose(real_of(f));
}
static int on_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    return real_of(f)->pMethods->xRead(real_of(f), p, n, at);
}
static int on_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    int rc = fault_hit(TEST_VFS_WRITE);
    if (rc == SQLITE_OK)
        rc = real_of(f)->pMethods->xWrite(real_of(f), p, n, at);
    return trace_event(
        rc,
        (struct test_vfs_event){
            .change = TEST_VFS_WROTE, .path = path_of(f), .data = p, .len = (size_t)n, .at = at});
}
static int on_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    int rc = real_of(f)->pMethods->xTruncate(real_of(f), size);
    return trace_event(rc, (struct test_vfs_event){.change = TEST_VFS_TRUNCATED,
                                                   .path = path_of(f),
                                                   .len = (size_t)size});
}
static int on_sync(sqlite3_file *f, int flags)
{
    int rc = fault_hit(TEST_VFS_SYNC);
    if (rc == SQLITE_OK)
        rc = real_of(f)->pMethods->xSync(real_of(f), flags);
    return trace_event(rc, (struct test_vfs_event){.change = TEST_VFS_SYNCED, .path = path_of(f)});
}
static int on_size(sqlite3_file *f, sqlite3_int64 *size)
{
    return real_of(f)->pMethods->xFileSize(real_of(f), size);
}
static int on_lock(sqlite3_file *f, int level)
{
    return real_of(f)->pMethods->xLock(real_of(f), level);
}
static int on_unlock(sqlite3_file *f, int level)
{
    return real_of(f)->pMethods->xUnlock(real_of(f), level);
}
static int on_check(sqlite3_file *f, int *out)
{
    return real_of(f)->pMethods->xCheckReservedLock(real_of(f), out);
}
static int on_control(sqlite3_file *f, int op, void *arg)
{
    return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}
static int on_sector(sqlite3_file *f)
{
    return real_of(f)->pMethods->xSectorSize(real_of(f));
}
static int on_traits(sqlite3_file *f)
{
    return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

static int on_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
    struct file *mine = (struct file *)(void *)f;
    mine->real = (sqlite3_file *)(void *)(mine + 1);
    int rc = real_vfs->xOpen(real_vfs, name, mine->real, flags, out);
    mine->base.pMethods = rc == SQLITE_OK ? &methods : NULL;
    mine->path = name;
    return rc;
}

static int on_delete(sqlite3_vfs *vfs, const char *name, int sync_directory)
{
    int rc = real_vfs->xDelete(real_vfs, name, sync_directory);
    return trace_event(rc, (struct test_vfs_event){.change = TEST_VFS_DELETED,
                                                   .path = name,
                                                   .is_durable = sync_directory});
}

void store_test_vfs_install(void)
{
    if (real_vfs)
        return;
    real_vfs = sqlite3_vfs_find(NULL);
    shim = *real_vfs;
    shim.zName = "fail-on-order";
    shim.szOsFile = (int)sizeof(struct file) + real_vfs->szOsFile;
    shim.xOpen = on_open;
    shim.xDelete = on_delete;
    /* Version 1: no shared memory and no mapping, which an exclusive log does not need. */
    methods = (sqlite3_io_methods){.iVersion = 1,
                                   .xClose = on_close,
                                   .xRead = on_read,
                                   .xWrite = on_write,
                                   .xTruncate = on_truncate,
                                   .xSync = on_sync,
                                   .xFileSize = on_size,
                                   .xLock = on_lock,
                                   .xUnlock = on_unlock,
                                   .xCheckReservedLock = on_check,
                                   .xFileControl = on_control,
                                   .xSectorSize = on_sector,
                                   .xDeviceCharacteristics = on_traits};
    sqlite3_vfs_register(&shim, 1);
}

void store_test_vfs_fail(enum test_vfs_op op, unsigned nth, bool for_ever, int sqlite_code)
{
    faults[op] = (struct fault){.nth = nth, .for_ever = for_ever, .code = sqlite_code};
}

unsigned store_test_vfs_count(enum test_vfs_op op)
{
    return faults[op].count;
}

void store_test_vfs_trace(test_vfs_trace_fn *fn, void *ctx)
{
    trace_fn = fn;
    trace_ctx = ctx;
}
