//! Small programs that make known system calls and print the counts they expect.
