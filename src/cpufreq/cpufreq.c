/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cpufreq/cpufreq.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "cpufreq/ledger.h"

#define NOTE_BYTES_MAX (4u << 20)
#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define BOOT_MAX 64
#define LOCK_TRIES 100
#define LOCK_WAIT_NS 10000000

/* What a call has open: the lock, the kernel's directory, the note. */
struct work {
    int lock, root;
    char *path;
    char boot[BOOT_MAX];
    struct ledger note;
};

static void close_work(struct work *w)
{
    if (w->lock >= 0)
        close(w->lock);
    if (w->root >= 0)
        close(w->root);
    ledger_done(&w->note);
    free(w->path);
}

static int lock_ledger(const char *spool, int *out, struct err *err)
{
    _cleanup_free_ char *path = mem_printf("%s/cpufreq.lock", spool);
    _cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    const struct timespec pause = {.tv_nsec = LOCK_WAIT_NS};

    for (int i = 0; fd >= 0 && i < LOCK_TRIES; i++) {
        if (!flock(fd, LOCK_EX | LOCK_NB)) {
            *out = take_fd(&fd);
            return 0;
        }
        if (errno == EWOULDBLOCK)
            nanosleep(&pause, NULL);
        else if (errno != EINTR)
            break;
    }
    return err_set(err, -errno, "cannot lock %s: %s", path, strerror(errno));
}

static void read_boot(char out[BOOT_MAX])
{
    _cleanup_str_ struct str text = STR_INIT;

    path_read_file(BOOT_ID, BOOT_MAX - 1, &text, NULL);
    memcpy(out, str_cstr(&text), text.len + 1);
    out[strcspn(out, " \n")] = '\0';
}

/* A damaged note is set aside, because its values cannot be trusted. */
static int read_note(struct work *w, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct err why = {0};
    int rc = path_read_file(w->path, NOTE_BYTES_MAX, &text, err);

    if (rc)
        return rc == -ENOENT ? 0 : rc;
    rc = ledger_parse(str_cstr(&text), w->boot, &w->note, &why);
    if (rc) {
        _cleanup_free_ char *aside = mem_printf("%s.damaged", w->path);

        rename(w->path, aside);
        return err_set(err, rc, "%s: %s; it is set aside, and CPUs keep their frequencies", aside,
                       why.text);
    }
    return 0;
}

static int open_work(const struct cpufreq_place *place, struct work *w, struct err *err)
{
    int rc;

    w->root = open(place->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (w->root < 0)
        return err_set(err, -errno, "cannot open %s: %s", place->root, strerror(errno));
    w->path = mem_printf("%s/" CPUFREQ_NOTE, place->spool);
    read_boot(w->boot);
    rc = lock_ledger(place->spool, &w->lock, err);
    return rc ? rc : read_note(w, err);
}

static int write_note(struct work *w, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    if (!w->note.steps.len) {
        unlink(w->path);
        return 0;
    }
    ledger_format(&w->note, w->boot, &text);
    return path_write_file(w->path, text.data, text.len, 0600, err);
}

/* Sets the CPU as requested by its last step, or to its original state. */
static int settle_cpu(struct work *w, uint32_t cpu, struct err *err)
{
    const struct ledger_cpu *known = ledger_find_cpu(&w->note, cpu);
    long last = ledger_last_on(&w->note, cpu);
    struct kernel_setting s;
    int rc = 0;

    if (!known)
        return 0;
    s = known->was;
    if (last >= 0)
        rc = kernel_resolve(w->root, cpu, &w->note.steps.data[last].want, &known->was, &s, err);
    /* If the request is impossible, the CPU keeps its setting. */
    int written = kernel_write(w->root, cpu, &s, rc ? NULL : err);
    return rc ? rc : written;
}

/* Sets all of them; returns the first failure. */
static int settle_all(struct work *w, const struct idset *cpus, struct err *err)
{
    int rc = 0;

    idset_foreach(cpus, cpu)
    {
        int one = settle_cpu(w, (uint32_t)cpu, rc ? NULL : err);

        rc = rc ? rc : one;
    }
    return rc;
}

static int note_cpu(struct work *w, uint32_t cpu, struct err *err)
{
    struct ledger_cpu c = {.cpu = cpu};
    int rc;

    if (ledger_find_cpu(&w->note, cpu))
        return 0;
    rc = kernel_read(w->root, cpu, &c.was, err);
    if (rc == 0)
        vec_push(&w->note.cpus, c);
    return rc;
}

/* Maps the CPUs to those that represent their policies, and records their present state. */
static int gather_cpus(struct work *w, const struct bitset *cpus, struct idset *out,
                       struct err *err)
{
    uint32_t first;

    bitset_foreach (cpus, cpu) {
        if (cpu >= LEDGER_CPUS || kernel_find(w->root, (uint32_t)cpu, &first))
            continue;
        int rc = idset_has(out, first) ? 0 : note_cpu(w, first, err);
        if (rc)
            return rc;
        idset_add(out, first);
    }
    if (out->runs.len)
        return 0;
    return err_set(err, -ENOENT, "the kernel has no cpufreq for its CPUs");
}

static int end_step(struct work *w, size_t at, struct err *err)
{
    struct idset cpus = {0};

    idset_move(&cpus, &w->note.steps.data[at].cpus);
    ledger_remove_step(&w->note, at);
    int rc = settle_all(w, &cpus, err);
    ledger_drop_unused(&w->note);
    idset_done(&cpus);
    return rc;
}

static int begin_step(struct work *w, const struct cpufreq_step *who, const struct bitset *cpus,
                      const struct conf_freq *want, struct err *err)
{
    struct ledger_step s = {.who = *who, .want = *want};
    long before = ledger_find_step(&w->note, who);
    struct idset own = {0};

    if (before >= 0)
        end_step(w, (size_t)before, NULL);
    int rc = gather_cpus(w, cpus, &s.cpus, err);
    if (rc) {
        idset_done(&s.cpus);
        return rc;
    }
    idset_copy(&own, &s.cpus);
    vec_push(&w->note.steps, s);
    rc = write_note(w, err);
    if (rc == 0)
        rc = settle_all(w, &own, err);
    idset_done(&own);
    return rc;
}

int cpufreq_begin(const struct cpufreq_place *place, const struct cpufreq_step *who,
                  const struct bitset *cpus, const struct conf_freq *want, struct err *err)
{
    struct work w = {.lock = -1, .root = -1};
    int rc = open_work(place, &w, err);

    if (rc == 0)
        rc = begin_step(&w, who, cpus, want, err);
    close_work(&w);
    return rc;
}

bool cpufreq_has(const char *root, uint32_t cpu)
{
    _cleanup_free_ char *path = mem_printf("%s/cpu%u/cpufreq", root, cpu);

    return access(path, F_OK) == 0;
}

/* Cheap in the usual case that no step has requested a frequency. */
static bool is_noted(const struct cpufreq_place *place)
{
    _cleanup_free_ char *path = mem_printf("%s/" CPUFREQ_NOTE, place->spool);

    return access(path, F_OK) == 0;
}

static bool is_other(void *ctx, const struct cpufreq_step *s)
{
    const struct cpufreq_step *who = ctx;

    return s->job_id != who->job_id || s->restarts != who->restarts || s->step_id != who->step_id;
}

int cpufreq_sweep(const struct cpufreq_place *place, cpufreq_lives_fn *lives, void *ctx,
                  struct err *err)
{
    struct work w = {.lock = -1, .root = -1};
    size_t ended = 0;
    int rc;

    if (!is_noted(place))
        return 0;
    rc = open_work(place, &w, err);
    for (size_t i = rc ? 0 : w.note.steps.len; i-- > 0;)
        if (!lives(ctx, &w.note.steps.data[i].who)) {
            int one = end_step(&w, i, rc ? NULL : err);

            rc = rc ? rc : one;
            ended++;
        }
    if (w.lock >= 0 && (ended || !w.note.steps.len)) {
        int one = write_note(&w, rc ? NULL : err);

        rc = rc ? rc : one;
    }
    close_work(&w);
    return rc;
}

int cpufreq_end(const struct cpufreq_place *place, const struct cpufreq_step *who, struct err *err)
{
    return cpufreq_sweep(place, is_other, (void *)who, err);
}
