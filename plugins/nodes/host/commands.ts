/** `svc node run` and `svc nodes run`. What they do is imported when they run. */
import type { Command } from "@svc/sdk/cli";

/** Verbs of the node program, and of whoever runs programs on nodes. */
export const nodeHostCommands: readonly Command[] = [
  {
    name: "node run",
    summary: "Lend this machine to a gateway, as a node",
    options: [
      { flags: "--name <name>", description: "what the gateway calls it (default: the name of this machine)" },
      { flags: "--insecure", description: "allow ws:// to another machine: the credential travels in clear" },
    ],
    examples: [
      "svc node run",
      "svc node run --url wss://gateway.example --token <token> --name workshop",
      "ssh -N -L 18789:127.0.0.1:18789 gateway & svc node run --url ws://127.0.0.1:18789",
    ],
    run: async (context) => (await import("./node-run.ts")).nodeRun(context),
  },
  {
    name: "nodes run",
    summary: "Run a program on a node, asking for an approval where its policy says so",
    args: "<node> <program> [args...]",
    options: [
      { flags: "--cwd <directory>", description: "where it runs, on the node (default: where the node was started)" },
      { flags: "--env <name=value>", description: "a variable it gets; may be given several times", repeatable: true },
      { flags: "--timeout <ms>", description: "milliseconds it may run", default: "120000" },
      { flags: "--agent <id>", description: "the agent whose rules hold" },
      { flags: "--session <key>", description: "the session that hears what becomes of it" },
      { flags: "--ask-timeout <ms>", description: "milliseconds somebody has to allow it", default: "120000" },
      { flags: "--no-wait", description: "where an approval is needed, do not ask for one: fail" },
    ],
    examples: [
      "svc nodes run workshop -- uname -a",
      "svc nodes run workshop --cwd /srv/app --env LANG=C -- git status",
      "svc nodes run workshop --json -- df -h",
    ],
    run: async (context) => (await import("./nodes-run.ts")).nodesRun(context),
  },
];
