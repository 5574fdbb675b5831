environment.d
Europe/Athens

# a comment
A=1
export B=2
C='x y'
