// Works for some seconds of CPU time in two ways, by Go and by the C library, while the CPU profiler interrupts it 100
// times a second and thread. Prints a result that depends on all of the work; the profile goes to the file in the
// first argument.
package main

/*
#include <sys/stat.h>
#include <unistd.h>
static long ask(long times) {
    struct stat about;
    long found = 0;
    for (long i = 0; i < times; i++) {
        found += stat("/etc/passwd", &about) == 0 && about.st_size > 0;
        found += access("/etc/none", R_OK) != 0;
    }
    return found;
}
*/
import "C"

import (
	"crypto/sha256"
	"fmt"
	"os"
	"runtime/pprof"
	"sync"
)

func work(seed byte) (sum [32]byte) {
	sum[0] = seed
	for i := 0; i < 3_000_000; i++ {
		sum = sha256.Sum256(sum[:])
	}
	return sum
}

func main() {
	file, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		panic(err)
	}
	var group sync.WaitGroup
	sums, asked := make([][32]byte, 4), make([]C.long, 4)
	for n := range sums {
		group.Add(2)
		go func(n int) { defer group.Done(); sums[n] = work(byte(n)) }(n)
		go func(n int) { defer group.Done(); asked[n] = C.ask(300_000) }(n)
	}
	group.Wait()
	pprof.StopCPUProfile()
	file.Close()
	fmt.Printf("%x %v\n", sums, asked)
}
