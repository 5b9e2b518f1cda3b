/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/exe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define SEGMENTS_MAX 128
#define DYNAMIC_MAX 65536       /* maximum number of entries */
#define STRINGS_MAX (16u << 20) /* maximum bytes */
#define NEEDED_MAX 1024

/* The constants of the machine for which this program was built. */
#if __SIZEOF_POINTER__ == 8
#define OUR_CLASS ELFCLASS64
#else
#define OUR_CLASS ELFCLASS32
#endif
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OUR_DATA ELFDATA2LSB
#else
#define OUR_DATA ELFDATA2MSB
#endif

struct file {
    int fd;
    ElfW(Ehdr) head;
    ElfW(Phdr) segments[SEGMENTS_MAX];
};

void exe_done(struct exe *e)
{
    vec_foreach (&e->needed, n)
        free(*n);
    vec_done(&e->needed);
    free(e->rpath);
    free(e->runpath);
    *e = (struct exe){0};
}

static int read_at(int fd, uint64_t offset, void *to, size_t len, struct err *err)
{
    for (size_t got = 0; got < len;) {
        ssize_t n = offset + got > INT64_MAX
                        ? 0
                        : pread(fd, (char *)to + got, len - got, (off_t)(offset + got));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, -errno, "cannot read it: %s", strerror(errno));
        if (n == 0)
            return err_set(err, -ERR_PROTOCOL, "a broken ELF file: it ends too early");
        got += (size_t)n;
    }
    return 0;
}

/* The ELF machine number of this program. */
static unsigned our_machine(void)
{
    ElfW(Ehdr) head = {0};
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        if (read_at(fd, 0, &head, sizeof(head), NULL) < 0)
            head.e_machine = EM_NONE;
        close(fd);
    }
    return head.e_machine;
}

static int read_head(struct file *f, struct err *err)
{
    unsigned char ident[EI_NIDENT] = {0};
    unsigned ours = our_machine();
    int rc;

    if (pread(f->fd, ident, sizeof(ident), 0) != (ssize_t)sizeof(ident) ||
        memcmp(ident, ELFMAG, SELFMAG) != 0)
        return err_set(err, -ERR_PARSE, "not an ELF file");
    if (ident[EI_CLASS] != OUR_CLASS || ident[EI_DATA] != OUR_DATA)
        return err_set(err, -ERR_NOT_SUPPORTED, "an ELF file for another kind of machine");
    rc = read_at(f->fd, 0, &f->head, sizeof(f->head), err);
    if (rc < 0)
        return rc;
    if (ours != EM_NONE && f->head.e_machine != ours)
        return err_set(err, -ERR_NOT_SUPPORTED,
                       "an ELF file for another machine (number %u, this is %u)", f->head.e_machine,
                       ours);
    if ((f->head.e_type != ET_EXEC && f->head.e_type != ET_DYN) || f->head.e_phnum > SEGMENTS_MAX ||
        f->head.e_phentsize != sizeof(f->segments[0]))
        return err_set(err, -ERR_PROTOCOL, "an ELF file, but no program and no library");
    return read_at(f->fd, f->head.e_phoff, f->segments, f->head.e_phnum * sizeof(f->segments[0]),
                   err);
}

/* Finds the file offset of the data at an address. */
static int find_offset(const struct file *f, ElfW(Addr) address, uint64_t *offset, struct err *err)
{
    for (unsigned i = 0; i < f->head.e_phnum; i++) {
        const ElfW(Phdr) *p = &f->segments[i];

        if (p->p_type == PT_LOAD && address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz) {
            *offset = (uint64_t)p->p_offset + (address - p->p_vaddr);
            return 0;
        }
    }
    return err_set(err, -ERR_PROTOCOL, "a broken ELF file: an address that is not in it");
}

static char *text_at(const char *strings, size_t size, ElfW(Xword) offset)
{
    return offset < size ? mem_strndup(strings + offset, size - offset) : NULL;
}

static void collect_needed(const ElfW(Dyn) * dyn, size_t count, const char *strings, size_t size,
                           struct exe *out)
{
    for (size_t i = 0; i < count && dyn[i].d_tag != DT_NULL; i++) {
        char *text =
            dyn[i].d_tag == DT_NEEDED || dyn[i].d_tag == DT_RPATH || dyn[i].d_tag == DT_RUNPATH
                ? text_at(strings, size, dyn[i].d_un.d_val)
                : NULL;

        if (text == NULL)
            continue;
        if (dyn[i].d_tag == DT_RPATH && out->rpath == NULL)
            out->rpath = take_ptr(text);
        else if (dyn[i].d_tag == DT_RUNPATH && out->runpath == NULL)
            out->runpath = take_ptr(text);
        else if (dyn[i].d_tag == DT_NEEDED && out->needed.len < NEEDED_MAX)
            vec_push(&out->needed, take_ptr(text));
        free(text);
    }
}

static int read_dynamic(const struct file *f, const ElfW(Phdr) * p, struct exe *out,
                        struct err *err)
{
    size_t count = p->p_filesz / sizeof(ElfW(Dyn));
    _cleanup_free_ ElfW(Dyn) *dyn = NULL;
    _cleanup_free_ char *strings = NULL;
    uint64_t table = 0, size = 0, offset = 0;
    int rc;

    if (count > DYNAMIC_MAX)
        return err_set(err, -ERR_LIMIT, "a dynamic section of more than %d entries", DYNAMIC_MAX);
    dyn = mem_new_array(ElfW(Dyn), count + 1);
    rc = read_at(f->fd, p->p_offset, dyn, count * sizeof(*dyn), err);
    for (size_t i = 0; rc == 0 && i < count && dyn[i].d_tag != DT_NULL; i++) {
        if (dyn[i].d_tag == DT_STRTAB)
            table = dyn[i].d_un.d_ptr;
        else if (dyn[i].d_tag == DT_STRSZ)
            size = dyn[i].d_un.d_val;
    }
    if (rc == 0 && size > STRINGS_MAX)
        rc = err_set(err, -ERR_LIMIT, "more than %u bytes of names", STRINGS_MAX);
    if (rc == 0)
        rc = find_offset(f, (ElfW(Addr))table, &offset, err);
    if (rc < 0)
        return rc;
    strings = mem_alloc((size_t)size + 1);
    rc = read_at(f->fd, offset, strings, (size_t)size, err);
    if (rc < 0)
        return rc;
    out->dynamic = true;
    collect_needed(dyn, count, strings, (size_t)size, out);
    return 0;
}

int exe_read_fd(int fd, struct exe *out, struct err *err)
{
    _cleanup_free_ struct file *f = mem_new(struct file);
    struct exe found = {0};
    int rc;

    f->fd = fd;
    rc = read_head(f, err);
    for (unsigned i = 0; rc == 0 && i < f->head.e_phnum; i++)
        if (f->segments[i].p_type == PT_DYNAMIC) {
            rc = read_dynamic(f, &f->segments[i], &found, err);
            break;
        }
    if (rc == 0)
        *out = found;
    else
        exe_done(&found);
    return rc;
}

int exe_read(const char *path, struct exe *out, struct err *err)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(err, -errno, "cannot open it: %s", strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(err, -ERR_PARSE, "not a regular file");
    return exe_read_fd(fd, out, err);
}
