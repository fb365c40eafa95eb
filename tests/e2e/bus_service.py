"""A service on the session bus with scripted answers: bus_service.py JSON

It owns org.freedesktop.Notifications and org.freedesktop.portal.Desktop. The JSON object says how each method is answered:

    caps, notify, open     {"signature": S, "values": [...]}: a reply with these types; "silent": none; "error": an error; "exit": leaves the bus.
                           notify and open may be absent: the usual reply (an id, the handle of the request).
    signals                after Notify: a list of {"member", "signature", "values"}; "$id" stands for the id. {"foreign": true}: sent by another connection.
                           {"exit": true} leaves the bus. {"flood": N}: N signals about other notifications; 0: without end.
    response               after OpenFile: {"signature", "values"} of the Response signal, and "foreign", "path"; "repeat": the addresses so many times; "pad":
                           so many bytes more in the first one.

Prints "ready", and a line for each method call: its name and its arguments as JSON.
"""
import json
import sys
import dbus
import dbus.bus
import dbus.lowlevel
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

NOTES, PORTAL = "org.freedesktop.Notifications", "org.freedesktop.portal.Desktop"
ID = 7

how = json.loads(sys.argv[1])
DBusGMainLoop(set_as_default=True)
bus = dbus.bus.BusConnection()
other = dbus.bus.BusConnection()
loop = GLib.MainLoop()


def leave():
    bus.flush()
    bus.close()
    loop.quit()
    sys.exit(0)


def say(*words):
    print(*words, flush=True)


def plain(value):
    if isinstance(value, dict): return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)): return [plain(v) for v in value]
    if isinstance(value, bool) or isinstance(value, dbus.Boolean): return bool(value)
    return int(value) if isinstance(value, int) else str(value)


def signal(to, path, interface, member, signature, values, foreign=False):
    m = dbus.lowlevel.SignalMessage(path, interface, member)
    m.set_destination(to)
    m.append(signature=signature, *values)
    (other if foreign else bus).send_message(m)


def flood(to, count):
    for _ in range(200 if count == 0 else count):
        signal(to, "/org/freedesktop/Notifications", NOTES, "NotificationClosed", "uu", [99, 1])
    bus.flush()
    return count == 0


def notify_signals(to):
    for s in how.get("signals", []):
        if s.get("exit"): leave()
        if "flood" in s:
            if flood(to, s["flood"]): GLib.timeout_add(1, flood, to, 0, priority=GLib.PRIORITY_LOW)       # calls are still read
            continue
        values = [ID if v == "$id" else v for v in s["values"]]
        signal(to, "/org/freedesktop/Notifications", NOTES, s["member"], s["signature"], values, s.get("foreign", False))
        if s.get("foreign"): other.flush()
    return False


def respond(to, path):
    for r in how.get("response", []):
        if r.get("exit"): leave()
        values = r["values"]
        if r.get("pad"): values[1]["uris"][0] += "a" * r["pad"]
        if r.get("repeat"): values = [values[0], {"uris": dbus.Array(values[1]["uris"] * r["repeat"], signature="s", variant_level=1)}]
        elif r["signature"] == "ua{sv}" and isinstance(values[1].get("uris"), list):
            values = [values[0], {**values[1], "uris": dbus.Array(values[1]["uris"], signature="s", variant_level=1)}]
        signal(to, r.get("path", path), "org.freedesktop.portal.Request", "Response", r["signature"], values, r.get("foreign", False))
        if r.get("foreign"): other.flush()
    return False


def answer(message, what, usual):
    rule = how.get(what, usual)
    if rule == "silent": return False
    if rule == "exit": leave()
    if rule == "error":
        bus.send_message(dbus.lowlevel.ErrorMessage(message, "org.example.Broken", "it is \x1b[31mbroken\u202e" + "x" * 5000))
        return False
    reply = dbus.lowlevel.MethodReturnMessage(message)
    reply.append(signature=rule["signature"], *rule["values"])
    bus.send_message(reply)
    return True


def on_message(_, message):
    if message.get_type() != dbus.lowlevel.MESSAGE_TYPE_METHOD_CALL: return dbus.lowlevel.HANDLER_RESULT_NOT_YET_HANDLED
    member, sender = message.get_member(), message.get_sender()
    args = message.get_args_list()
    say(member, json.dumps(plain(args)))
    if member == "GetCapabilities":
        answer(message, "caps", {"signature": "as", "values": [["body", "actions", "body-markup"]]})
    elif member == "Notify":
        if answer(message, "notify", {"signature": "u", "values": [ID]}): GLib.timeout_add(50, notify_signals, sender)
    elif member == "OpenFile":
        path = "/org/freedesktop/portal/desktop/request/%s/%s" % (sender[1:].replace(".", "_"), args[2]["handle_token"])
        if answer(message, "open", {"signature": "o", "values": [path]}): GLib.timeout_add(50, respond, sender, how.get("handle", path))
    return dbus.lowlevel.HANDLER_RESULT_HANDLED


bus.add_message_filter(on_message)
for name in (NOTES, PORTAL): bus.request_name(name)
say("ready")
loop.run()
