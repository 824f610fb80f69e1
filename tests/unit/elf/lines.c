/* SPDX-License-Identifier: Apache-2.0 */
/* Inlined functions, whose lines the tests find by the words in their comments. */
#define INLINE static inline __attribute__((always_inline))

volatile int place;

INLINE void innermost(int by)
{
	place = place * 31 + by; /* in innermost */
}

INLINE void between(int n)
{
	place = n;        /* in between */
	innermost(n * 7); /* call of innermost */
}

int outermost(int n)
{
	place = 1;  /* before the call */
	between(n); /* call of between */
	return place;
}

int other(int n)
{
	between(n + 1); /* call in other */
	return n;
}

void _start(void)
{
	place = outermost(other(3)); /* in _start */
}
