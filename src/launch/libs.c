/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/libs.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

#define CACHE_FILE "/etc/ld.so.cache"
#define CACHE_MAX (64u << 20)
#define CACHE_MAGIC "glibc-ld.so.cache1.1"

static const char *const system_dirs[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};

struct search {
    struct libs *libs;
    struct str cache;
    const char *lib_path;
    struct utsname host;
    const char *lib; /* value of $LIB */
};

/* ld.so.cache: a header, then entries with offsets of their names and paths. */
struct cache_head {
    char magic[20];
    uint32_t count, strings;
    uint32_t rest[5];
};
struct cache_entry {
    int32_t flags;
    uint32_t key, value, version;
    uint64_t hwcap;
};

void libs_done(struct libs *l)
{
    vec_foreach (&l->list, lib) {
        free(lib->name);
        free(lib->path);
        exe_done(&lib->exe);
    }
    vec_done(&l->list);
}

const struct lib *libs_get(const struct libs *l, const char *prefix)
{
    vec_foreach (&l->list, lib)
        if (str_starts(lib->name, prefix))
            return lib;
    return NULL;
}

/* Uses the file if it is a library for this machine. */
static bool try_file(char *path, struct lib *lib)
{
    if (exe_read(path, &lib->exe, NULL) == 0) {
        lib->path = path;
        return true;
    }
    free(path);
    return false;
}

/* Expands $ORIGIN, $LIB and $PLATFORM in a directory of an object; the caller frees it. */
static char *expand_dir(const struct search *s, const char *dir, size_t len, const char *origin)
{
    struct str out = STR_INIT;

    for (size_t i = 0; i < len;) {
        static const char *const names[] = {"ORIGIN", "LIB", "PLATFORM"};
        const char *const values[] = {origin, s->lib, s->host.machine};
        bool found = false;

        for (size_t k = 0; dir[i] == '$' && k < 3 && !found; k++) {
            bool braces = dir[i + 1] == '{';
            size_t name = strlen(names[k]), at = i + 1 + braces;

            if (at + name + braces > len || strncmp(dir + at, names[k], name) != 0 ||
                (braces && dir[at + name] != '}'))
                continue;
            str_puts(&out, values[k]);
            i = at + name + braces;
            found = true;
        }
        if (!found)
            str_putc(&out, dir[i++]);
    }
    return str_take(&out);
}

static bool try_list(const struct search *s, const char *list, const char *of, struct lib *lib)
{
    const char *slash = strrchr(of, '/');
    _cleanup_free_ char *origin = mem_strndup(of, slash != NULL ? (size_t)(slash - of) : 0);

    while (list != NULL && *list != '\0') {
        size_t len = strcspn(list, ":;");
        _cleanup_free_ char *dir = expand_dir(s, list, len, origin);

        if (*dir == '/' && try_file(mem_printf("%s/%s", dir, lib->name), lib))
            return true;
        list += len + (list[len] != '\0');
    }
    return false;
}

/* The text at an offset of the cache; NULL: the offset is invalid. */
static const char *cache_text(const struct search *s, uint32_t offset)
{
    return offset < s->cache.len ? s->cache.data + offset : NULL;
}

static bool try_cache(const struct search *s, struct lib *lib)
{
    struct cache_head head;
    size_t count;

    if (s->cache.len < sizeof(head))
        return false;
    memcpy(&head, s->cache.data, sizeof(head));
    count = (s->cache.len - sizeof(head)) / sizeof(struct cache_entry);
    if (memcmp(head.magic, CACHE_MAGIC, sizeof(head.magic)) != 0)
        return false;
    for (size_t i = 0; i < count && i < head.count; i++) {
        struct cache_entry e;
        const char *name, *path;

        memcpy(&e, s->cache.data + sizeof(head) + i * sizeof(e), sizeof(e));
        name = cache_text(s, e.key);
        path = cache_text(s, e.value);
        if (str_eq(name, lib->name) && path != NULL && *path == '/' &&
            try_file(mem_strdup(path), lib))
            return true;
    }
    return false;
}

/* DT_RPATH is used if there is no DT_RUNPATH, and also for indirect dependencies. */
static bool try_rpaths(const struct search *s, size_t by, struct lib *lib)
{
    const struct lib *of = &s->libs->list.data[by];

    if (of->exe.runpath != NULL)
        return false;
    for (unsigned depth = 0; depth < LIBS_MAX; depth++) {
        if (of->exe.runpath == NULL && try_list(s, of->exe.rpath, of->path, lib))
            return true;
        if (of == s->libs->list.data)
            break;
        of = &s->libs->list.data[of->by];
    }
    return false;
}

static void find_library(const struct search *s, size_t by, struct lib *lib)
{
    const struct lib *of = &s->libs->list.data[by];

    if (strchr(lib->name, '/') != NULL) {
        try_file(mem_strdup(lib->name), lib);
        return;
    }
    if (try_rpaths(s, by, lib) || try_list(s, s->lib_path, of->path, lib) ||
        try_list(s, of->exe.runpath, of->path, lib) || try_cache(s, lib))
        return;
    for (size_t i = 0; i < sizeof(system_dirs) / sizeof(system_dirs[0]); i++)
        if (try_file(mem_printf("%s/%s", system_dirs[i], lib->name), lib))
            return;
    try_file(mem_printf("/%s/%s", s->lib, lib->name), lib);
}

static bool is_library_known(const struct libs *l, const char *name)
{
    vec_foreach (&l->list, lib)
        if (strcmp(lib->name, name) == 0)
            return true;
    return false;
}

int libs_find(const char *program, struct libs *out, struct err *err)
{
    struct search s = {.libs = out, .lib_path = getenv("LD_LIBRARY_PATH")};
    _cleanup_free_ char *multiarch = NULL;
    struct lib first = {0};
    int rc = exe_read(program, &first.exe, err);

    if (rc < 0)
        return rc;
    first.name = mem_strdup(program);
    first.path = path_absolute(program, NULL);
    vec_push(&out->list, first);
    uname(&s.host);
    multiarch = mem_printf("/lib/%s-linux-gnu", s.host.machine);
    s.lib = access(multiarch, F_OK) == 0 ? multiarch + 1 : "lib64";
    path_read_file(CACHE_FILE, CACHE_MAX, &s.cache, NULL);
    for (size_t i = 0; i < out->list.len; i++)
        for (size_t k = 0; k < out->list.data[i].exe.needed.len; k++) {
            const char *name = out->list.data[i].exe.needed.data[k];
            struct lib lib = {.by = i};

            if (is_library_known(out, name) || out->list.len >= LIBS_MAX)
                continue;
            lib.name = mem_strdup(name);
            find_library(&s, i, &lib);
            vec_push(&out->list, lib);
        }
    str_done(&s.cache);
    return 0;
}
