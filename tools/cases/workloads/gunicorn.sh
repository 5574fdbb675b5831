#!/bin/sh
# gunicorn answers 2,000 requests to Flask.
# needs: gunicorn ab
# note: How Python looks for modules
set -eu
prepare() {
    cat >app.py <<'END'
import flask
app = flask.Flask(__name__)
@app.route("/")
def root():
    return "hello"
END
}
run() {
    rm -f gunicorn.pid
    gunicorn --log-level error -b 127.0.0.1:8099 -p gunicorn.pid app:app 2>/dev/null &
    until [ -s gunicorn.pid ] && curl -s -o /dev/null http://127.0.0.1:8099/; do sleep 0.1; done
    ab -q -c 2 -n 2000 http://127.0.0.1:8099/ >/dev/null
    kill "$(cat gunicorn.pid)"
    wait
}
"$@"
