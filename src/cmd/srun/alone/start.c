/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The first instructions of the static program. Its addresses have to be relocated, and each page
 * with addresses would cause a separate page fault, which costs more than the rest of a start,
 * above all in virtual machines. One system call maps all of them. If an older kernel rejects the
 * call, the page faults happen. Code and constants are left to page faults, each of which maps 16
 * pages: a start reads only a fraction of them.
 *
 * Nothing is relocated yet: no calls to other files, no tables with addresses, no stack protector.
 */
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#ifndef MADV_POPULATE_WRITE /* before glibc 2.35 */
#define MADV_POPULATE_WRITE 23
#endif

#define PAGE UINT64_C(4096)

void start_populate(void);
/* Defined by the linker. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/* Of what the C library needs to begin: below this it crashes. The kernel itself ends a program
 * that has less than its sections. */
#define DATA_LEAST (UINT64_C(1) << 20)
#define ADDRESSES_LEAST (UINT64_C(4) << 20)

static long call_kernel(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    register uint64_t fourth __asm__("r10") = d;
    long rc;

    __asm__ volatile("syscall"
                     : "=a"(rc)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return rc;
}

static void populate_pages(uint64_t from, uint64_t end)
{
    from &= ~(PAGE - 1);
    call_kernel(SYS_madvise, from, end - from, MADV_POPULATE_WRITE, 0);
}

/* message: of len bytes, in one piece: nothing can be formatted yet. */
static void require_limit(uint64_t resource, uint64_t least, const char *message, uint64_t len)
{
    struct rlimit64 limit;
    long rc = call_kernel(SYS_prlimit64, 0, resource, 0, (uint64_t)&limit);

    if (rc != 0 || limit.rlim_cur >= least)
        return;
    call_kernel(SYS_write, 2, (uint64_t)message, len, 0);
    call_kernel(SYS_exit_group, 1, 0, 0, 0);
}

#define REQUIRE_LIMIT(resource, least, message)                                                    \
    require_limit(resource, least, message, sizeof(message) - 1)

__attribute__((used, visibility("hidden"))) void start_populate(void)
{
    REQUIRE_LIMIT(RLIMIT_DATA, DATA_LEAST,
                  "srun: error: RLIMIT_DATA is below 1 MiB, which srun needs: raise it with "
                  "'ulimit -d'\n");
    REQUIRE_LIMIT(RLIMIT_AS, ADDRESSES_LEAST,
                  "srun: error: RLIMIT_AS is below 4 MiB, which srun needs: raise it with "
                  "'ulimit -v'\n");
    uint64_t base = (uint64_t)&__ehdr_start;
    const ElfW(Phdr) *p = (const ElfW(Phdr) *)(base + __ehdr_start.e_phoff);

    for (unsigned i = 0; i < __ehdr_start.e_phnum; i++)
        if (p[i].p_type == PT_LOAD && (p[i].p_flags & PF_W))
            populate_pages(base + p[i].p_vaddr, base + p[i].p_vaddr + p[i].p_filesz);
}

/* %rdx is for the C library, and the stack must be as the kernel has set it up. */
__asm__(".text\n"
        ".globl start_program\n"
        ".hidden start_program\n"
        ".type start_program, @function\n"
        "start_program:\n"
        "push %rdx\n"
        "sub $8, %rsp\n"
        "call start_populate\n"
        "add $8, %rsp\n"
        "pop %rdx\n"
        "jmp _start\n"
        ".size start_program, . - start_program\n");
