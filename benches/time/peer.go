// Go's time package: converts moments to all fields. Prints nanoseconds per call in the zone that is its argument.
package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	zone, err := time.LoadLocation(os.Args[1])
	if err != nil {
		os.Exit(2)
	}
	state := uint64(88172645463325252)
	var times [1024]int64
	for i := range times {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		times[i] = 1700000000 + int64(state%31556952)
	}
	best, sum := 1e18, 0
	for round := 0; round < 400; round++ {
		start := time.Now()
		for _, at := range times {
			t := time.Unix(at, 0).In(zone)
			year, month, day := t.Date()
			hour, minute, second := t.Clock()
			_, offset := t.Zone()
			sum += year - 1900 + t.YearDay() - 1 + int(month) - 1 + day + int(t.Weekday()) + hour + minute + second + offset
		}
		best = min(best, float64(time.Since(start).Nanoseconds())/1024)
	}
	fmt.Printf("%.1f %d\n", best, sum)
}
