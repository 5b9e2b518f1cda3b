/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/attempt/note.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/crc32c.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/spare_file.h"
#include "base/step_id.h"
#include "base/str.h"

struct head { /* little-endian; then the packed 'about', then lines */
    uint32_t len, crc;
};

static char *note_path(const char *dir, uint32_t job_id, uint32_t restarts)
{
    return mem_printf("%s/jobs/%u.%u", dir, job_id, restarts);
}

void note_done(struct note *n)
{
    if (n->about)
        pb__node_attempt__free_unpacked(n->about, NULL);
    n->about = NULL;
    vec_done(&n->steps);
    vec_done(&n->adopted);
    vec_foreach (&n->early, signal)
        free(signal->say);
    vec_done(&n->early);
    free(take_ptr(n->why));
}

struct note_step *note_find_step(const struct note *n, uint32_t id)
{
    for (size_t i = n->steps.len; i > 0; i--)
        if (n->steps.data[i - 1].id == id)
            return &n->steps.data[i - 1];
    return NULL;
}

static int append_file(const char *path, const char *line, struct err *err)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    size_t len = strlen(line);
    off_t size;
    ssize_t n;

    if (fd < 0)
        return err_set(err, -ERR_NODE_FAULT, "cannot open %s: %s", path, strerror(errno));
    size = lseek(fd, 0, SEEK_END);
    /* A single write is either complete or absent if this process is killed. */
    n = write(fd, line, len);
    if (n == (ssize_t)len)
        return 0;
    err_set(err, -ERR_NODE_FAULT, "cannot write %s: %s", path, strerror(n < 0 ? errno : ENOSPC));
    if (n > 0 && ftruncate(fd, size)) /* otherwise the next line would be appended to this one */
        err_prefix(err, "and cannot be cut back (%s)", strerror(errno));
    return -ERR_NODE_FAULT;
}

static char *spares_path(const char *dir)
{
    return mem_printf("%s/spare", dir);
}

int note_create(const char *dir, const Pb__NodeAttempt *about, const char *line, struct err *err)
{
    _cleanup_free_ char *path = note_path(dir, about->job_id, about->restarts);
    _cleanup_free_ char *spares = spares_path(dir);
    _cleanup_str_ struct str text = STR_INIT;
    struct err why = {0};
    struct head h = {0};

    str_append(&text, &h, sizeof(h));
    pb_pack(&about->base, &text);
    h.len = htole32((uint32_t)(text.len - sizeof(h)));
    h.crc = htole32(crc32c(0, text.data + sizeof(h), text.len - sizeof(h)));
    memcpy(text.data, &h, sizeof(h));
    str_puts(&text, line);
    if (spare_file_write(spares, path, text.data, text.len, false, &why))
        return err_set(err, -ERR_NODE_FAULT, "%s", why.text);
    return 0;
}

int note_append(const char *dir, uint32_t job_id, uint32_t restarts, const char *line,
                struct err *err)
{
    _cleanup_free_ char *path = note_path(dir, job_id, restarts);

    return append_file(path, line, err);
}

void note_remove(const char *dir, uint32_t job_id, uint32_t restarts)
{
    _cleanup_free_ char *path = note_path(dir, job_id, restarts), *spares = spares_path(dir);

    spare_file_remove(spares, path);
}

void note_put_hex(const struct str *bytes, struct str *out)
{
    for (size_t i = 0; i < bytes->len; i++)
        str_printf(out, "%02x", (unsigned char)bytes->data[i]);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads what the node learned later about the job's share. Text in another format is ignored. */
static void read_share(struct note *n, const char *hex)
{
    _cleanup_str_ struct str bytes = STR_INIT;

    for (; *hex; hex += 2) {
        int high = hex_digit(hex[0]), low = hex_digit(hex[1]);
        if (high < 0 || low < 0)
            break;
        str_putc(&bytes, (char)(high << 4 | low));
    }
    if (!*hex && bytes.len && !n->about->share)
        n->about->share = pb_unpack(&pb__node_share__descriptor, str_cstr(&bytes), bytes.len);
}

/* Replays an event; an event that is impossible in this phase is ignored. */
static void replay_event(struct note *n, enum attempt_event event)
{
    attempt_phase_next(n->phase, event, &n->phase);
}

/* The line may occur without the line of the prolog's start. */
static void read_prolog_done(struct note *n)
{
    replay_event(n, ATTEMPT_ON_PROLOG_BEGINS);
    replay_event(n, ATTEMPT_ON_PROLOG_SUCCEEDED);
}

/* The prolog has ended before, whatever its result. */
static void read_epilog(struct note *n, pid_t pid)
{
    replay_event(n, ATTEMPT_ON_PROLOG_LOST);
    n->epilog_begun = true;
    n->epilog_pid = pid;
}

static void read_note_line(struct note *n, const char *line)
{
    unsigned long long key;
    unsigned number;
    int at = 0, value;

    if (!strcmp(line, "1"))
        n->single_node = true;
    else if (!strcmp(line, "A"))
        n->prepared = true;
    else if (!strcmp(line, "C"))
        n->contain = true;
    else if (str_starts(line, "N "))
        read_share(n, line + 2);
    else if (!strcmp(line, "P"))
        read_prolog_done(n);
    else if (!strcmp(line, "B"))
        n->batch = NOTE_BATCH_STARTED;
    else if (!strcmp(line, "b"))
        n->batch = NOTE_BATCH_ACKNOWLEDGED;
    else if (!strcmp(line, "K"))
        vec_clear(&n->early);
    else if (sscanf(line, "S %u %llx", &number, &key) == 2)
        vec_push(&n->steps, ((struct note_step){.id = number, .key = key}));
    else if (sscanf(line, "a %d %llu", &value, &key) == 2) {
        vec_push(&n->adopted, ((struct note_adopted){.pid = value, .started_ticks = key}));
        n->ever_adopted = true;
    } else if (sscanf(line, "k %d %u %llu", &value, &number, &key) == 3) {
        vec_push(&n->early, ((struct note_signal){STEP_ID_BATCH, value, number != 0, key, NULL}));
    } else if (sscanf(line, "s %u", &number) == 1 && note_find_step(n, number))
        note_find_step(n, number)->over = true;
    else if (sscanf(line, "H %u %d", &number, &value) == 2) {
        n->halt_number = number;
        n->halted = value;
    } else if (sscanf(line, "T %u %n", &number, &at) == 1 && at) {
        replay_event(n, ATTEMPT_ON_END_ORDERED);
        n->grace_sec = number;
        free(n->why);
        n->why = mem_strdup(line + at);
    } else if (sscanf(line, "d %d", &value) == 1) {
        n->about->has_derived_status = true;
        n->about->derived_status = value;
    } else if (sscanf(line, "p %d", &value) == 1) {
        replay_event(n, ATTEMPT_ON_PROLOG_BEGINS);
        n->prolog_pid = value;
    } else if (sscanf(line, "E %d", &value) == 1) {
        read_epilog(n, value);
    } else if (sscanf(line, "G %d", &value) == 1) {
        n->phase = ATTEMPT_GONE;
        n->epilog_status = value;
    }
}

int note_load(const char *path, struct note *n, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    char *line, *end;
    struct head h;
    int rc = path_read_file(path, NOTE_SIZE_MAX, &text, err);

    if (rc)
        return rc;
    if (text.len < sizeof(h))
        return err_set(err, -ERR_STORE_DAMAGED, "%s is cut short", path);
    memcpy(&h, text.data, sizeof(h));
    h.len = le32toh(h.len);
    if (h.len > text.len - sizeof(h) || crc32c(0, text.data + sizeof(h), h.len) != le32toh(h.crc))
        return err_set(err, -ERR_STORE_DAMAGED, "%s is damaged", path);
    n->about = pb_unpack(&pb__node_attempt__descriptor, text.data + sizeof(h), h.len);
    if (!n->about)
        return err_set(err, -ERR_STORE_DAMAGED, "%s does not decode", path);
    for (line = text.data + sizeof(h) + h.len; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        read_note_line(n, line);
    }
    return 0;
}

int note_each(const char *dir, note_fn *fn, void *ctx, struct err *err)
{
    _cleanup_free_ char *jobs = mem_printf("%s/jobs", dir);
    struct dirent *entry;
    DIR *d = opendir(jobs);
    int rc = 0;

    if (!d)
        return err_set(err, -errno, "cannot open %s: %s", jobs, strerror(errno));
    while (!rc && (errno = 0, entry = readdir(d))) {
        _cleanup_free_ char *path = NULL;

        if (entry->d_name[0] == '.')
            continue;
        path = mem_printf("%s/%s", jobs, entry->d_name);
        rc = fn(ctx, path, err);
    }
    if (!rc && errno)
        rc = err_set(err, -errno, "cannot read %s: %s", jobs, strerror(errno));
    closedir(d);
    return rc;
}
