/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads that work, and rename themselves and the process meanwhile.
 * Usage: threads SECONDS wait|go: with "wait" the main thread renames itself
 * before it waits. */
#include <pthread.h>
#include <string.h>

#include "leaves.h"
#include "middle.h"

void *work(void *arg);

NOINLINE void *work(void *arg)
{
	struct truth *t = (struct truth *)arg;

	pthread_setname_np(pthread_self(), t->state % 2 ? "odd worker" : "even worker");
	while (!truth_is_over(t))
		middle(t);
	pthread_setname_np(pthread_self(), "done");
	return NULL;
}

int main(int argc, char **argv)
{
	struct truth t[2];
	pthread_t threads[2];

	if (argc < 3)
		return 2;
	pthread_setname_np(pthread_self(), "renamed early");
	truth_begin(&t[0], atof(argv[1]) / 2, strcmp(argv[2], "wait") == 0);
	pthread_setname_np(pthread_self(), "renamed late");
	truth_begin(&t[1], atof(argv[1]) / 2, 0);
	for (int i = 0; i < 2; i++) {
		t[i].heavy = heavy;
		t[i].light = light;
		if (pthread_create(&threads[i], NULL, work, &t[i]) != 0)
			return 1;
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	t[0].heavy_ns += t[1].heavy_ns;
	t[0].light_ns += t[1].light_ns;
	t[0].sum += t[1].sum;
	return truth_report(&t[0]);
}
