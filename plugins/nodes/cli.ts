/** `svc nodes ...`: lists, invokes, approves and renames nodes. `svc node run` starts the node program of `@svc/node-host`. */
import { randomUUID } from "node:crypto";
import { invalidRequest } from "@svc/sdk";
import { askingWith, type CommandContext, defineCommands, show, visible } from "@svc/sdk/cli";
import { nodes, type NodeView } from "@svc/sdk/nodes";
import { readParams, readTimeout, resolveNode } from "./cli-input.ts";
import { describeLines, listLines, payloadLines, pendingLines } from "./cli-text.ts";

type Client = Awaited<ReturnType<CommandContext["connect"]>>;

const READ = ["operator.read"];
const WRITE = ["operator.read", "operator.write"];
const PAIRING = ["operator.read", "operator.pairing"];
/** Default timeout of a node in milliseconds, and the time in addition for the gateway to report it. */
const PATIENCE_MS = 30_000;
const GRACE_MS = 5_000;
const ask = askingWith({ plugin: "nodes", step: "svc nodes list" });

export default defineCommands([
  {
    name: "nodes list",
    summary: "List the nodes, connected ones first",
    examples: ["svc nodes list", "svc nodes list --json"],
    run: (context) =>
      ask(context, READ, async (client) => {
        show(context, await client.call(nodes.list, {}), (answer) => listLines(answer.nodes));
      }),
  },
  {
    name: "nodes describe",
    summary: "Show a node and its commands",
    args: "<node>",
    examples: ["svc nodes describe kitchen", "svc nodes describe 4f1c9a"],
    run: (context) =>
      ask(context, READ, async (client) => {
        const { nodeId } = await namedNode(context, client);
        show(context, await client.call(nodes.describe, { nodeId }), ({ ts: _ts, ...node }) => describeLines(node));
      }),
  },
  {
    name: "nodes invoke",
    summary: "Run a command of a node and print its result",
    args: "<node> <command>",
    options: [
      { flags: "--params <json>", description: "params of the command; default: none" },
      { flags: "--timeout <ms>", description: "timeout in milliseconds; default 30000" },
    ],
    examples: [
      'svc nodes invoke kitchen system.notify --params \'{"title":"Tea"}\'',
      "svc nodes invoke phone location.get --timeout 60000",
    ],
    run: invoke,
  },
  {
    name: "nodes approve",
    summary: "Approve a waiting node",
    args: "[requestId]",
    examples: ["svc nodes approve", "svc nodes approve <requestId>"],
    run: approve,
  },
  {
    name: "nodes rename",
    summary: "Rename a node",
    args: "<node> <name>",
    examples: ['svc nodes rename 4f1c9a "Kitchen"'],
    run: (context) =>
      ask(context, PAIRING, async (client) => {
        const [, displayName = ""] = context.args;
        const { nodeId } = await namedNode(context, client);
        const renamed = await client.call(nodes.rename, { nodeId, displayName });
        show(context, renamed, () => [visible(`${nodeId} is now called ${renamed.displayName}`)]);
      }),
  },
  {
    name: "node run",
    summary: "Connect this machine to a gateway as a node",
    options: [
      { flags: "--name <name>", description: "name of the node (default: the name of this machine)" },
      { flags: "--insecure", description: "allow ws:// to another machine: the credential is sent unencrypted" },
    ],
    examples: [
      "svc node run",
      "svc node run --url wss://gateway.example --token <token> --name workshop",
      "ssh -N -L 18789:127.0.0.1:18789 gateway & svc node run --url ws://127.0.0.1:18789",
    ],
    run: async (context) => (await import("@svc/node-host")).nodeRun(context),
  },
  {
    name: "nodes run",
    summary: "Run a program on a node, with approval where its policy requires it",
    args: "<node> <program> [args...]",
    options: [
      {
        flags: "--cwd <directory>",
        description: "working directory on the node (default: where the node was started)",
      },
      { flags: "--env <name=value>", description: "environment variable; repeatable", repeatable: true },
      { flags: "--timeout <ms>", description: "timeout of the program in milliseconds", default: "120000" },
      { flags: "--agent <id>", description: "agent whose rules apply" },
      { flags: "--session <key>", description: "session whose rules apply and that gets the reports" },
      { flags: "--ask-timeout <ms>", description: "milliseconds to wait for an approval", default: "120000" },
      { flags: "--no-wait", description: "fail instead of asking when an approval is needed" },
    ],
    examples: [
      "svc nodes run workshop -- uname -a",
      "svc nodes run workshop --cwd /srv/app --env LANG=C -- git status",
      "svc nodes run workshop --json -- df -h",
    ],
    run: async (context) => (await import("./remote-run/nodes-run.ts")).nodesRun(context),
  },
]);

async function invoke(context: CommandContext): Promise<void> {
  const [wanted = "", command = ""] = context.args;
  const params = readParams(context.options["params"]);
  const { timeoutMs = PATIENCE_MS } = readTimeout(context.options["timeout"]);
  const next = `svc nodes describe ${visible(wanted)}`;
  await ask(
    context,
    WRITE,
    async (client) => {
      const { nodeId } = await namedNode(context, client);
      const question = { nodeId, command, ...params, timeoutMs, idempotencyKey: randomUUID() };
      const patience = { timeoutMs: timeoutMs + GRACE_MS };
      show(context, await client.call(nodes.invoke, question, patience), ({ payload }) => payloadLines(payload));
    },
    next,
  );
}

async function approve(context: CommandContext): Promise<number> {
  const [requestId] = context.args;
  return ask(context, PAIRING, async (client) => {
    if (requestId === undefined) {
      const { pending } = await client.call(nodes.pairList, {});
      show(context, { pending }, () => pendingLines(pending));
      return pending.length === 0 ? 0 : 1;
    }
    if (requestId.trim() === "") invalidRequest("the request id is blank\nNext: svc nodes approve");
    const approved = await client.call(nodes.pairApprove, { requestId });
    const { nodeId, displayName = nodeId } = approved.node;
    show(context, approved, () => [visible(`approved ${displayName}`)]);
    return 0;
  });
}

async function namedNode({ args: [wanted = ""] }: CommandContext, client: Client): Promise<NodeView> {
  return resolveNode((await client.call(nodes.list, {})).nodes, wanted);
}
