/* SPDX-License-Identifier: Apache-2.0 */
/* The distances between the samples of a CPU that has a real-time reader.
 *
 * A reader that comes at each sample ends the time slice of the thread it interrupts,
 * wherever more threads want to run than there are CPUs. At even distances slices and samples
 * would fall in step, and each thread would be seen at the same point of what it does in a
 * slice. Arrivals at random (exponential) distances see averages over time whatever they
 * cause (Wolff, "Poisson arrivals see time averages", 1982). To set one takes an eighth of a
 * reader's time: it is done while threads wait for CPUs (crowd.h). */
#ifndef GPC_SOURCE_SPACING_H
#define GPC_SOURCE_SPACING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"

#define GPC_SPACING_AHEAD 32

struct gpc_spacing {
	int fd;           /* of the event; borrowed */
	uint64_t mean_ns; /* 0: the kernel's distances stay as they are */
	uint64_t last_ns; /* the distance that was set last; 0: the mean */
	unsigned n_silent;
	bool is_calm; /* atomic: even distances do no harm for now; set by anybody */
	struct gpc_random random;
	/* The next n_ahead distances in parts of a mean: to make them takes code and tables
	 * that are cold at each sample. */
	uint32_t n_ahead, ahead[GPC_SPACING_AHEAD];
};

void gpc_spacing_init(struct gpc_spacing *s, int fd, uint64_t mean_ns);
/* From now to the next sample, when the last one was late_ns ago. Never less than what a
 * reader takes to come: the kernel repeats a distance until it is given another. */
uint64_t gpc_spacing_distance(struct gpc_spacing *s, uint64_t late_ns);
/* Sets the time of the sample after the one at sampled_ns. */
void gpc_spacing_next(struct gpc_spacing *s, uint64_t sampled_ns);
/* How long to wait for that sample, for epoll_wait; -1: as long as it takes. */
int gpc_spacing_wait_ms(const struct gpc_spacing *s);
/* None came: kernels that write no samples of idle CPUs repeat the distance then, however
 * short it is. Draws another; after some of them the distance is the mean, which is right for
 * whatever begins to run at some time, and waits for that without waking up. */
void gpc_spacing_silent(struct gpc_spacing *s);
/* Even distances again, before nobody is left who sets them. */
void gpc_spacing_end(int fd, uint64_t mean_ns);

#endif
