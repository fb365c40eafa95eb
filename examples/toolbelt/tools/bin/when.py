#!/usr/bin/env python3
"""Python: reads the arguments, prints one line of JSON."""
import datetime
import json
import os
import sys
import zoneinfo

args = json.load(sys.stdin)
name = args.get("timezone") or os.environ.get("TZ") or "UTC"
try:
    zone = zoneinfo.ZoneInfo(name)
except (zoneinfo.ZoneInfoNotFoundError, ValueError, IsADirectoryError):
    sys.exit(json.dumps({"error": f"unknown timezone {name}"}))
if "moment" in args:
    moment = datetime.datetime.fromisoformat(args["moment"].replace("Z", "+00:00"))
else:
    moment = datetime.datetime.now(datetime.timezone.utc)
print(json.dumps({"timezone": name, "time": moment.astimezone(zone).isoformat(timespec="seconds")}))
