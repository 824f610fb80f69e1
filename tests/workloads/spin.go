// SPDX-License-Identifier: Apache-2.0
// Methods, closures and generics; for so many seconds of CPU time.
package main

import (
	"os"
	"strconv"
	"syscall"
)

type ring[T uint32 | uint64] struct{ sum T }

//go:noinline
func (r *ring[T]) turn(n int) {
	for i := 0; i < n; i++ {
		r.sum = r.sum*31 + T(i)
	}
}

//go:noinline
func call(f func(int) uint64, n int) uint64 { return f(n) }

// Inlined into its caller.
func step(s uint64, i int) uint64 { return s*6364136223846793005 + uint64(i) }

func used() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Sec) + float64(u.Utime.Usec)/1e6
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	r := &ring[uint64]{1}
	var sum uint64
	for used() < seconds {
		r.turn(300000)
		sum += call(func(n int) uint64 {
			s := r.sum
			for i := 0; i < n; i++ {
				s = step(s, i)
			}
			return s
		}, 300000)
	}
	if sum == 42 {
		os.Exit(1)
	}
}
