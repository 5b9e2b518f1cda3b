/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of networks: creates files beside slurm.conf. */
#pragma once

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/conf_test_util.h"

/* A slurm.conf with nodes n1 to n8, and a topology file. */
struct test_files {
    char dir[64];
    struct conf *conf;
    struct err err;
};

static inline void test_put_file(const struct test_files *p, const char *name, const char *text)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", p->dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static inline int test_load_files(struct test_files *p, const char *plugin, const char *name,
                                  const char *text)
{
    _cleanup_free_ char *path = NULL, *other = NULL;
    *p = (struct test_files){0};
    snprintf(p->dir, sizeof p->dir, "/tmp/topo-test.XXXXXX");
    assert_non_null(mkdtemp(p->dir));
    path = mem_printf("%s/slurm.conf", p->dir);
    other = mem_printf("%s/%s", p->dir, name);
    _cleanup_free_ char *conf = mem_printf(HEAD "TopologyPlugin=%s\nNodeName=n[1-8]\n", plugin);
    test_put_file(p, "slurm.conf", conf);
    test_put_file(p, name, text);
    int rc = conf_load(path, CONF_FULL, NULL, &p->conf, NULL, &p->err);
    unlink(path);
    unlink(other);
    rmdir(p->dir);
    return rc;
}
