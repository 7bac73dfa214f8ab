# Makes a module whose leases are over after 3 s, whatever was asked for.
s/^\tlease\.ms = ask->ms;$/\tlease.ms = 3000;/
