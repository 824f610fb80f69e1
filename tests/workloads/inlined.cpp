// SPDX-License-Identifier: Apache-2.0
// Work in functions that are inlined, two deep.
#include <cstdint>
#include <cstdlib>
#include <ctime>

#define INLINE __attribute__((always_inline)) inline

namespace app {

template <class T> struct Ring {
	volatile T sum;

	INLINE void turn(T by)
	{
		sum = sum * 6364136223846793005u + by; // the line of the innermost
	}
};

template <class T> INLINE void turn_often(Ring<T> &ring, T n)
{
	for (T i = 0; i < n; i++)
		ring.turn(i);
}

__attribute__((noinline)) uint64_t outer(uint64_t n)
{
	Ring<uint64_t> ring{n};

	turn_often(ring, n);
	return ring.sum + 1;
}

} // namespace app

int main(int argc, char **argv)
{
	clock_t end = (clock_t)(atof(argc > 1 ? argv[1] : "1") * CLOCKS_PER_SEC);
	uint64_t x = 0;

	while (clock() < end)
		x += app::outer(100000);
	return x == 42;
}
