#!/bin/sh
# Usage: rotate.sh SERVICE
mv "logs/$1.log" "logs/$1.log.1" && : > "logs/$1.log" && echo "logs/$1.log.1"
