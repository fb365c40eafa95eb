#include "cli/new_files.h"
#include <stddef.h>
#include <string.h>

static const NewFile files[] = {
    { "tool", ".harness/tools", ".md",
      "---\n"
      "# What a model may pass. Types: string, number, integer, boolean, array, object.\n"
      "parameters:\n"
      "  path:\n"
      "    type: string\n"
      "    description: A file of the workspace.\n"
      "    required: true\n"
      "# The implementation, in Starlark, a small Python. Instead of a script, a tool may have one command line:\n"
      "#   command: wc -l -- {{path}}\n"
      "# or a program that reads the arguments as JSON from its standard input and prints JSON:\n"
      "#   argv: [./tools/bin/program]\n"
      "script: |\n"
      "  def run(args):\n"
      "      text = fs.read(args[\"path\"])\n"
      "      return {\"lines\": len(text.splitlines())}\n"
      "timeout_ms: 10000\n"
      "# confirm: true          # ask the user before each call\n"
      "---\n"
      "Count the lines of a text file. A model reads this text to choose the tool.\n",
      "harness call @NAME@ '{\"path\": \".harness/tools/@NAME@.md\"}'" },
    { "hook", ".harness/hooks", ".md",
      "---\n"
      "# Asked before each call of a tool. Other events: tool.post, turn.start, agent.stop, session.start and more.\n"
      "event: tool.pre\n"
      "# Only for these calls; leave it out for all:\n"
      "# when: payload[\"kind\"] == \"shell\"\n"
      "script: |\n"
      "  def handle(event, payload):\n"
      "      # payload[\"name\"] is the tool, payload[\"kind\"] what it does, payload[\"args\"] are its arguments.\n"
      "      if \"forbidden\" in json.encode(payload[\"args\"]):\n"
      "          return block(\"the arguments contain the word forbidden\")\n"
      "      return allow()\n"
      "---\n"
      "Refuses calls whose arguments contain a word. A hook that fails refuses the call too.\n",
      "harness hooks" },
    { "agent", ".harness/agents", ".md",
      "---\n"
      "description: Answers one question about the files of this folder, without changing anything.\n"
      "# Without `model` it uses the one of its parent. `tools` adds tools to those of its parent.\n"
      "tools: []\n"
      "max_iterations: 8\n"
      "---\n"
      "You answer one question about the files of this folder. You change nothing.\n"
      "Name the files you looked at.\n",
      "harness inspect @NAME@" },
    { "test", ".harness/tests", ".md",
      "---\n"
      "# A conversation without a network: `script` is the model, `turns` is what the user says.\n"
      "# One call is shorter:   call: { tool: NAME, args: {} }   and   result: VALUE   or   blocked_by: HOOK\n"
      "turns: [Hello]\n"
      "script: |\n"
      "  def reply(messages, tools):\n"
      "      return {\"text\": \"Hello to you.\"}\n"
      "expect:\n"
      "  response_contains: Hello\n"
      "---\n"
      "Describes what must be true, for the reader.\n",
      "harness test .harness/tests/@NAME@.md" },
    { "skill", ".harness/skills", "/SKILL.md",
      "---\n"
      "name: @NAME@\n"
      "description: Says in one sentence what this skill does and when to use it.\n"
      "---\n"
      "# @NAME@\n"
      "\n"
      "1. The steps, as you would explain them to a colleague.\n"
      "2. Files beside this one (scripts/, references/, assets/) belong to the skill.\n",
      "harness mcp serve, which offers the skill to MCP clients" },
};

const NewFile *new_files_find(const char *kind) {
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(files[i].kind, kind) == 0) return &files[i];
    return NULL;
}
