/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The event loop: timers, file descriptors, signals, child processes, and a worker pool for
 * blocking work. One loop per process, run by one thread; every callback runs on that thread. Only
 * the function 'run' of loop_work_post() runs on another thread, on a private copy of its data
 * (DESIGN rule 1).
 *
 * Turns: after each batch of ready events the loop calls the turn hook once. The controller
 * commits there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct loop;
struct loop_timer;
struct loop_fd;

typedef void loop_fn(void *ctx);
typedef void loop_fd_fn(void *ctx, int fd,
                        unsigned ready); /* LOOP_READ | LOOP_WRITE; a hang-up sets both */
typedef void loop_signal_fn(void *ctx, int signo);
typedef void loop_child_fn(void *ctx, pid_t pid, int wait_status);

enum { LOOP_READ = 1, LOOP_WRITE = 2 };

struct loop *loop_new(unsigned workers); /* 0 workers: loop_work_post() may not be used */
/* A loop without workers, whose timers may be early or late by a tick of the kernel's clock (1 to
 * 10 ms). It saves a system call per turn; for short programs that wait for seconds. */
struct loop *loop_new_coarse(void);
void loop_free(struct loop *l);
bool loop_has_workers(const struct loop *l);
void loop_run(struct loop *l);  /* until loop_stop() */
void loop_stop(struct loop *l); /* from a callback */
/* Call in a forked child that continues the loop while its parent ends: before anything else, with
   signals blocked, and not from a callback. Not supported for a loop with workers. */
void loop_forked(struct loop *l);
void loop_on_turn(struct loop *l, loop_fn *fn, void *ctx);

/* Milliseconds of the monotonic clock (CLOCK_BOOTTIME) and of the wall clock; the loop does not
 * cache them. */
int64_t loop_mono_ms(void);
int64_t loop_wall_ms(void);

/* A one-shot timer. loop_timer_set() arms or moves it; a negative time disarms it. It is freed by
 * loop_timer_free, not by firing. */
struct loop_timer *loop_timer_new(struct loop *l, loop_fn *fn, void *ctx);
void loop_timer_set(struct loop_timer *t, int64_t after_ms);
void loop_timer_free(struct loop_timer *t);

/* Watches a descriptor (level-triggered) for the events set last; the caller keeps ownership of
 * the descriptor. May be freed inside its own callback. */
struct loop_fd *loop_fd_new(struct loop *l, int fd, unsigned events, loop_fd_fn *fn, void *ctx);
void loop_fd_events(struct loop_fd *f, unsigned events);
void loop_fd_free(struct loop_fd *f);

void loop_signal(struct loop *l, int signo, loop_signal_fn *fn,
                 void *ctx); /* for the life of the loop */

/* A forked child must reset its signal handlers before anything else, because signals that it
 * catches would be reported to this loop. */

/* Calls fn once when the child ends, with the status of waitpid(). Ends of unwatched children are
 * reported to fn_other (subreaper). */
void loop_child(struct loop *l, pid_t pid, loop_child_fn *fn, void *ctx);
void loop_child_other(struct loop *l, loop_child_fn *fn_other, void *ctx);
/* Checks for ended children before the next wait, as after SIGCHLD, but after the descriptors that
 * are ready by then. */
void loop_child_look(struct loop *l);

/* Calls run(arg) on a worker thread, then done(arg) on the loop. Tasks posted with the same
 * non-zero lane run one after another in order of posting. */
void loop_work_post(struct loop *l, unsigned lane, loop_fn *run, loop_fn *done, void *arg);
