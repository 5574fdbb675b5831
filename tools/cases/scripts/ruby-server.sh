#!/bin/sh
# A server in Ruby that answers each request with the time.
cat >server.rb <<'END'
require "time"
all = TCPServer.new("127.0.0.1", 8099)
loop {
  one = all.accept
  while (line = one.gets)
    next unless line == "\r\n"
    one.write("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n#{Time.now.iso8601[0, 19]}\n")
  end
  one.close
}
END
