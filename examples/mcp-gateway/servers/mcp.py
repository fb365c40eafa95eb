"""The minimum for an MCP server on standard input and output: initialize, tools/list, tools/call."""
import json
import sys


def serve(name, tools):
    """tools: {NAME: (DESCRIPTION, PROPERTIES, FUNCTION)}. All properties are required strings."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue                                     # a notification gets no response
        answer = {"jsonrpc": "2.0", "id": message["id"]}
        method, params = message["method"], message.get("params", {})
        if method == "initialize":
            answer["result"] = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                                "serverInfo": {"name": name, "version": "1"}}
        elif method == "ping":
            answer["result"] = {}
        elif method == "tools/list":
            answer["result"] = {"tools": [describe(tool, *about) for tool, about in tools.items()]}
        elif method == "tools/call":
            answer["result"] = call(tools, params["name"], params.get("arguments", {}))
        else:
            answer["error"] = {"code": -32601, "message": "unknown method " + method}
        print(json.dumps(answer), flush=True)


def describe(name, description, properties, _function):
    return {"name": name, "description": description,
            "inputSchema": {"type": "object", "properties": {p: {"type": "string", "description": d} for p, d in properties.items()},
                            "required": list(properties)}}


def call(tools, name, arguments):
    if name not in tools:
        return {"content": [{"type": "text", "text": "unknown tool " + name}], "isError": True}
    try:
        return {"content": [{"type": "text", "text": tools[name][2](**arguments)}]}
    except Exception as problem:
        return {"content": [{"type": "text", "text": str(problem)}], "isError": True}
