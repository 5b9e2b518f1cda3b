/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The first instructions of the static program. Its addresses have to be relocated, and each page
 * with addresses would be a page fault of its own, which costs more than all else that a start
 * does, above all in virtual machines. One call of the kernel does the same for all of them. What
 * an older kernel refuses happens page by page. Code and constants are left to page faults, each
 * of which maps 16 pages: a start reads a fraction of them.
 *
 * Nothing is relocated yet: no calls of other files, no tables with addresses, no stack protector.
 */
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef MADV_POPULATE_WRITE /* before glibc 2.35 */
#define MADV_POPULATE_WRITE 23
#endif

#define PAGE UINT64_C(4096)

void start_populate(void);
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden"))); /* by the linker */

static void populate_pages(uint64_t from, uint64_t end)
{
    long rc;

    from &= ~(PAGE - 1);
    __asm__ volatile("syscall"
                     : "=a"(rc)
                     : "0"((long)SYS_madvise), "D"(from), "S"(end - from),
                       "d"((long)MADV_POPULATE_WRITE)
                     : "rcx", "r11", "memory");
}

__attribute__((used, visibility("hidden"))) void start_populate(void)
{
    uint64_t base = (uint64_t)&__ehdr_start;
    const ElfW(Phdr) *p = (const ElfW(Phdr) *)(base + __ehdr_start.e_phoff);

    for (unsigned i = 0; i < __ehdr_start.e_phnum; i++)
        if (p[i].p_type == PT_LOAD && (p[i].p_flags & PF_W))
            populate_pages(base + p[i].p_vaddr, base + p[i].p_vaddr + p[i].p_filesz);
}

/* %rdx is for the C library, and the stack as the kernel has made it. */
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
