#!/bin/sh
# A server in Go that answers each request with the time.
cat >server.go <<'END'
package main

import ("bufio"; "fmt"; "net"; "time")

func main() {
	all, _ := net.Listen("tcp", "127.0.0.1:8099")
	for {
		one, err := all.Accept()
		if err != nil { return }
		go func() {
			in := bufio.NewReader(one)
			for {
				line, err := in.ReadString(10)
				if err != nil { one.Close(); return }
				if len(line) == 2 {
					now := time.Now().Format(time.RFC3339)
					fmt.Fprintf(one, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(now), now)
				}
			}
		}()
	}
}
END
HOME=@ go build -o server server.go
