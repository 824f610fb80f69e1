// SPDX-License-Identifier: Apache-2.0
// Goroutines that change stacks all the time: they yield (mcall), outgrow their stacks
// (morestack) and make garbage (systemstack). Usage: goroutines SECONDS [wait]
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
)

const workers = 8

var kept [workers][][]byte

//go:noinline
func deeper(left int, pad [64]uint64) uint64 {
	pad[left%64] += uint64(left)
	if left == 0 {
		return pad[0]
	}
	return deeper(left-1, pad) + pad[left%64]
}

//go:noinline
func grow() uint64 {
	done := make(chan uint64)
	go func() { done <- deeper(60, [64]uint64{}) }()
	return <-done
}

//go:noinline
func yield(n int) {
	for i := 0; i < n; i++ {
		runtime.Gosched()
	}
}

//go:noinline
func litter(worker int) {
	kept[worker] = kept[worker][:0]
	for i := 0; i < 200; i++ {
		kept[worker] = append(kept[worker], make([]byte, 4096+i))
	}
}

//go:noinline
func spin(n uint64) uint64 {
	x := n
	for i := uint64(0); i < n; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

func work(worker int, until time.Time, sum *uint64) {
	for time.Now().Before(until) {
		*sum ^= grow() ^ spin(200000)
		yield(300)
		litter(worker)
	}
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	if len(os.Args) > 2 {
		bufio.NewReader(os.Stdin).ReadString('\n')
	}
	var group sync.WaitGroup
	var sums [workers]uint64
	until := time.Now().Add(time.Duration(seconds * 1e9))
	for i := range sums {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			work(i, until, &sums[i])
		}(i)
	}
	group.Wait()
	fmt.Printf("{\"pid\": %d, \"sum\": %d}\n", os.Getpid(), sums[0]%7)
}
