#!/bin/sh
# The start of a small Rails application from Debian's gems, with Bundler.
# needs: ruby rails bundle
# better: bootsnap remembers where the files of the load path are; it is set up after Bundler.
# look: fact openat
# note: The time in the kernel; what Ruby does for each of these calls is the rest
set -eu
prepare() {
    HOME=$PWD rails new app --minimal --skip-bundle --skip-git --skip-test --skip-listen --skip-puma --quiet
    printf 'gem "rails"\ngem "sqlite3"\ngem "bootsnap", require: false\n' >app/Gemfile
    cat >app/config/boot.rb <<'END'
ENV['BUNDLE_GEMFILE'] ||= File.expand_path('../Gemfile', __dir__)
require 'bundler/setup'
if ENV['REMEMBER']
    require 'bootsnap'
    Bootsnap.setup(cache_dir: 'tmp/cache', load_path_cache: true, compile_cache_iseq: false, compile_cache_yaml: false)
end
END
}
run() { cd app && HOME=$PWD ruby -r./config/environment -e 0; }
better() { REMEMBER=1 run; }
"$@"
