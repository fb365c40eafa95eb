#!/usr/bin/perl
# Perl: errors are one line of JSON on standard error and an exit status other than 0.
use strict;
use warnings;
use JSON::PP;

my $args = decode_json(do { local $/; <STDIN> });
open(my $file, '<:encoding(UTF-8)', $args->{path}) or do {
    print STDERR encode_json({ error => "$args->{path}: $!" }), "\n";
    exit 1;
};
my %seen;
while (my $line = <$file>) { $seen{lc $1}++ while $line =~ /(\p{L}{2,})/g }
my @words = sort { $seen{$b} <=> $seen{$a} || $a cmp $b } keys %seen;
splice(@words, $args->{count} // 3) if @words > ($args->{count} // 3);
print JSON::PP->new->utf8->canonical->encode({ words => [map { { word => $_, count => $seen{$_} } } @words] }), "\n";
