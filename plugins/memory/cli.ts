/** `svc memory ...`: status, sync and search of agents' memories. */
import { GatewayError } from "@svc/sdk";
import { type CommandContext, defineCommands, show, withGateway } from "@svc/sdk/cli";
import { memory } from "@svc/sdk/memory";
import { foundLines, statusLines, syncLines } from "./cli-text.ts";

const READ = ["operator.read"];
const ADMIN = ["operator.admin"];

/** Choice: milliseconds to wait for the result. Indexing many texts takes minutes, and continues without the command. */
const SEARCH_MS = 60_000;
const INDEX_MS = 900_000;

const AGENT = { flags: "--agent <id>", description: "Agent" };

export default defineCommands([
  {
    name: "memory status",
    summary: "Show index figures of agents' memories, and whether semantic search works",
    options: [{ ...AGENT, description: "Only this agent" }],
    examples: ["svc memory status", "svc memory status --agent main --json"],
    run: (context) =>
      withGateway(context, READ, async (client) =>
        show(context, await client.call(memory.status, agentOf(context), { timeoutMs: SEARCH_MS }), statusLines),
      ),
  },
  {
    name: "memory index",
    summary: "Update the indexes of agents' memories",
    options: [
      { ...AGENT, description: "Only this agent" },
      { flags: "--force", description: "Read all files again" },
    ],
    examples: ["svc memory index", "svc memory index --agent main --force"],
    run: (context) =>
      withGateway(context, ADMIN, async (client) => {
        const params = { ...agentOf(context), force: context.options["force"] === true };
        const done = await client.call(memory.index, params, { timeoutMs: INDEX_MS });
        show(context, done, syncLines);
        return done.agents.some(({ error }) => error !== undefined) ? 1 : 0;
      }),
  },
  {
    name: "memory search",
    summary: "Search an agent's memory",
    args: "<query...>",
    options: [
      { ...AGENT, description: "Agent whose memory to search; default: the default agent" },
      { flags: "--limit <n>", description: "Most places to show; default: the agent's memorySearch.query.maxResults" },
    ],
    examples: [
      'svc memory search "when does the backup run"',
      "svc memory search backup --agent main --limit 3 --json",
    ],
    run: (context) =>
      withGateway(context, READ, async (client) => {
        const params = { query: context.args.join(" "), ...agentOf(context), ...limitOf(context) };
        show(context, await client.call(memory.search, params, { timeoutMs: SEARCH_MS }), foundLines);
      }),
  },
]);

function agentOf({ options }: CommandContext): { agentId?: string } {
  const { agent } = options;
  return typeof agent === "string" ? { agentId: agent } : {};
}

/** @throws GatewayError `INVALID_REQUEST` */
function limitOf({ options }: CommandContext): { maxResults?: number } {
  const { limit } = options;
  if (limit === undefined) return {};
  const count = Number(limit);
  if (Number.isInteger(count) && count >= 1 && count <= 50) return { maxResults: count };
  throw new GatewayError("INVALID_REQUEST", `--limit takes a whole number from 1 to 50, not ${JSON.stringify(limit)}`);
}
