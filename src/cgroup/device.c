/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Restricts the devices that processes may open. Version 1 has files for it. Version 2 asks a BPF
 * program: ours compares the device with each denied one. It has a dozen instructions per device
 * and is assembled here, so that neither a compiler nor a library is needed.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup/internal.h"

#define DEVICES_MAX 4096
#define LOG_BYTES 4096

enum {
    RESULT = BPF_REG_0,
    CONTEXT = BPF_REG_1,
    TYPE = BPF_REG_2,
    MAJOR = BPF_REG_3,
    MINOR = BPF_REG_4
};

static struct bpf_insn make_instruction(int code, unsigned dst, unsigned src, int off, int imm)
{
    return (struct bpf_insn){.code = (uint8_t)code,
                             .dst_reg = dst & 0xf,
                             .src_reg = src & 0xf,
                             .off = (int16_t)off,
                             .imm = imm};
}

static struct bpf_insn load_member(unsigned reg, size_t offset)
{
    return make_instruction(BPF_LDX | BPF_W | BPF_MEM, reg, CONTEXT, (int)offset, 0);
}

static struct bpf_insn skip_unless(unsigned reg, unsigned value, int skip)
{
    return make_instruction(BPF_JMP | BPF_JNE | BPF_K, reg, 0, skip, (int)value);
}

static struct bpf_insn make_result(int value)
{
    return make_instruction(BPF_ALU64 | BPF_MOV | BPF_K, RESULT, 0, 0, value);
}

/* Returns the number of instructions: up to 6 + 5 * count. */
static size_t assemble_program(const struct cgroup_device *devices, size_t count,
                               struct bpf_insn *out)
{
    size_t at = 0;

    out[at++] = load_member(TYPE, offsetof(struct bpf_cgroup_dev_ctx, access_type));
    out[at++] =
        /* The upper half is the access type. */
        make_instruction(BPF_ALU | BPF_AND | BPF_K, TYPE, 0, 0, 0xffff);
    out[at++] = load_member(MAJOR, offsetof(struct bpf_cgroup_dev_ctx, major));
    out[at++] = load_member(MINOR, offsetof(struct bpf_cgroup_dev_ctx, minor));
    for (size_t i = 0; i < count; i++) {
        unsigned type = devices[i].block ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR;

        out[at++] = skip_unless(TYPE, type, 4);
        out[at++] = skip_unless(MAJOR, devices[i].major, 3);
        out[at++] = skip_unless(MINOR, devices[i].minor, 2);
        out[at++] = make_result(0);
        out[at++] = make_instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    }
    out[at++] = make_result(1);
    out[at++] = make_instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    return at;
}

/* Returns the descriptor of the program, or -errno. */
static int load_program(const struct cgroup_device *devices, size_t count)
{
    _cleanup_free_ struct bpf_insn *code = mem_new_array(struct bpf_insn, 6 + 5 * count);
    union bpf_attr attr;
    int fd;

    memset(&attr, 0, sizeof(attr));
    attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
    attr.insns = (uint64_t)(uintptr_t)code;
    attr.insn_cnt = (uint32_t)assemble_program(devices, count, code);
    attr.license = (uint64_t)(uintptr_t) "GPL";
    fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
    return fd < 0 ? -errno : fd;
}

/* In addition to the programs of parent directories: a device that one of them denies is
   denied. */
static int attach_program(int dir, int program)
{
    union bpf_attr attr;

    memset(&attr, 0, sizeof(attr));
    attr.target_fd = (uint32_t)dir;
    attr.attach_bpf_fd = (uint32_t)program;
    attr.attach_type = BPF_CGROUP_DEVICE;
    attr.attach_flags = BPF_F_ALLOW_MULTI;
    return syscall(SYS_bpf, BPF_PROG_ATTACH, &attr, sizeof(attr)) ? -errno : 0;
}

static int deny_v2(const struct cgroup *c, const struct cgroup_device *devices, size_t count,
                   struct err *err)
{
    _cleanup_close_ int program = load_program(devices, count);
    int rc = program < 0 ? program : attach_program(c->fd[CGROUP_PROCS], program);

    return rc ? err_set(err, rc, "cannot have the kernel check devices of cgroup %s (bpf): %s",
                        c->path, strerror(-rc))
              : 0;
}

static int deny_v1(const struct cgroup *c, const struct cgroup_device *d, struct err *err)
{
    char text[64];

    snprintf(text, sizeof(text), "%c %u:%u rwm", d->block ? 'b' : 'c', d->major, d->minor);
    return cgroup_file_put(c, CGROUP_DEVICES, "devices.deny", text, err);
}

int cgroup_deny(const struct cgroup *c, const struct cgroup_device *devices, size_t count,
                struct err *err)
{
    int rc = 0;

    if (!cgroup_has(c, CGROUP_DEVICES))
        return err_set(err, -ENOENT, "cgroup %s has no say over devices", c->path);
    if (count > DEVICES_MAX)
        return err_set(err, -ERR_TOO_BIG, "%zu devices, at most %d", count, DEVICES_MAX);
    if (c->version == CGROUP_V2)
        return count ? deny_v2(c, devices, count, err) : 0;
    for (size_t i = 0; i < count && !rc; i++)
        rc = deny_v1(c, &devices[i], err);
    return rc;
}

int cgroup_check_devices(const struct cgroup *c, struct err *err)
{
    _cleanup_close_ int program = c->version == CGROUP_V2 ? load_program(NULL, 0) : -1;

    if (c->version == CGROUP_V2 && program < 0)
        return err_set(err, program, "the kernel takes no program that checks devices (bpf): %s",
                       strerror(-program));
    return 0;
}
