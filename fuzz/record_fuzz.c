/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Input: records of a saved state: a byte for the kind, a byte for the number, two for the length,
 * the record; repeated. Each record is restored or rejected, and the controller that starts with
 * the restored records is consistent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "control/fixture.h"

#define LINES                                                                                      \
    "NodeName=n[1-4] CPUs=4 RealMemory=1000\nPartitionName=p Nodes=ALL Default=YES\n"              \
    "PartitionName=q Nodes=n1\n"
#define HEAD 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The name of a record; only these kinds have names. */
static const char *name_of(unsigned kind, unsigned number)
{
    static const char *const nodes[] = {"n1", "n2", "n9"}, *const parts[] = {"p", "q", "none"};
    switch (kind) {
    case RECORD_NODE:
        return nodes[number % 3];
    case RECORD_PART:
        return parts[number % 3];
    case RECORD_RESV:
        return "r";
    default:
        return NULL;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fixture *f = fixture_new(LINES);
    struct conf *conf = NULL;
    struct err err = {0};
    if (conf_load(f->path, CONF_FULL, NULL, &conf, NULL, &err) != 0)
        abort();
    control_free(f->control);
    f->control = control_new(conf, &f->env);
    while (size >= HEAD) {
        unsigned kind = data[0] % (RECORD_TRIGGER + 2), number = data[1];
        size_t len = (size_t)(data[2] | data[3] << 8);
        len = len < size - HEAD ? len : size - HEAD;
        if (kind == RECORD_META || kind == RECORD_MADE || kind == RECORD_SHUTDOWN)
            number = 0;
        const char *name = name_of(kind, number);
        if (control_restore(f->control, kind, name ? 0 : number, name, data + HEAD, len, &err) != 0)
            control_set_aside(f->control, kind, name ? 0 : number, name, false);
        data += HEAD + len;
        size -= HEAD + len;
    }
    control_start(f->control);
    control_turn(f->control);
    if (control_check(f->control, &err) != 0)
        abort();
    fixture_free(f);
    return 0;
}
