// SPDX-License-Identifier: Apache-2.0
// main.main, a goroutine of its own; middle; heavy or light; see truth.h for what
// it does.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

const (
	monotonic  = 1
	processCPU = 2
	threadCPU  = 3
)

func clock(id uintptr) uint64 {
	var ts syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0)
	return uint64(ts.Sec)*1000000000 + uint64(ts.Nsec)
}

//go:noinline
func heavy(rounds uint64) uint64 {
	x := rounds
	for i := uint64(0); i < rounds; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func light(rounds uint64) uint64 {
	x := rounds
	for i := uint64(0); i < rounds; i++ {
		x = (x*2862933555777941757 + 3037000493) ^ i
	}
	return x
}

//go:noinline
func middle(rounds uint64, work func(uint64) uint64, sum *uint64) uint64 {
	begin := clock(threadCPU)
	*sum ^= work(rounds)
	return clock(threadCPU) - begin
}

func run(seconds float64, done chan uint64) {
	runtime.LockOSThread()
	until := uint64(seconds * 1e9)
	var heavyNs, lightNs, sum uint64
	state := clock(monotonic)*2 + 1
	for heavyNs+lightNs < until {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		rounds := 130000 + state%1870000
		if heavyNs*3 <= lightNs*7 {
			heavyNs += middle(rounds, heavy, &sum)
		} else {
			lightNs += middle(rounds, light, &sum)
		}
	}
	fmt.Printf("{\"pid\": %d, \"heavy_ns\": %d, \"light_ns\": %d, \"cpu_ns\": %d}\n",
		os.Getpid(), heavyNs, lightNs, clock(processCPU))
	done <- sum
}

// The line of standard input is waited for by the process's first thread.
func init() {
	runtime.LockOSThread()
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	if len(os.Args) > 2 {
		bufio.NewReader(os.Stdin).ReadString('\n')
	}
	done := make(chan uint64)
	go run(seconds, done)
	<-done
}
