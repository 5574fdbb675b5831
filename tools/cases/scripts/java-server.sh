#!/bin/sh
# A server on the JVM, written in JavaScript, that answers each request with the time.
cat >server.js <<'END'
var all = com.sun.net.httpserver.HttpServer.create(new java.net.InetSocketAddress("127.0.0.1", 8099), 0);
all.createContext("/", new com.sun.net.httpserver.HttpHandler({ handle: function (x) {
    var b = new java.lang.String(new java.util.Date().toString()).getBytes();
    x.sendResponseHeaders(200, b.length);
    x.getResponseBody().write(b);
    x.close();
} }));
all.start();
var f = new java.io.FileWriter("server.pid");
f.write(String(java.lang.ProcessHandle.current().pid()));
f.close();
END
