// SPDX-License-Identifier: Apache-2.0
// Templates and operators: the names are long and full of signs.
#include "truth.h"

namespace shop {

template <class T> struct Field {
	T value;
	NOINLINE Field operator+(const Field &rounds) const;
};

template <class T> NOINLINE Field<T> Field<T>::operator+(const Field &rounds) const
{
	volatile T start = value; // see leaves.h
	T x = start;

	for (T i = rounds.value; i > 0; i--)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return {x};
}

template <class T> struct Sink {
	T sum;
};

template <class T> NOINLINE Sink<T> &operator<<(Sink<T> &sink, T rounds)
{
	volatile T start = rounds;

	for (T i = start; i > 0; i--)
		sink.sum = sink.sum * 2862933555777941757u + 3037000493u + i;
	return sink;
}

template <class T, int N> struct Worker {
	Sink<T> sink{N};

	NOINLINE void operator()(truth &t)
	{
		bool is_heavy = truth_heavy_is_next(&t);
		T rounds = truth_rounds(&t);
		uint64_t begin = truth_clock(CLOCK_THREAD_CPUTIME_ID);

		if (is_heavy)
			sink.sum += (Field<T>{begin} + Field<T>{rounds}).value;
		else
			sink << rounds;
		(is_heavy ? t.heavy_ns : t.light_ns) +=
			truth_clock(CLOCK_THREAD_CPUTIME_ID) - begin;
	}
};

} // namespace shop

int main(int argc, char **argv)
{
	truth t = {};
	shop::Worker<unsigned long, 7> worker;

	truth_begin(&t, atof(argv[1]), argc > 2);
	while (!truth_is_over(&t))
		worker(t);
	t.sum += worker.sink.sum;
	return truth_report(&t);
}
