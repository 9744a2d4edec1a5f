/** Agents, and their indexes in this thread. */
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { MemorySearch } from "@svc/sdk/memory";
import type { Secrets } from "@svc/sdk/secrets";
import { createAgentIndexes, type AgentIndexesOptions } from "../../../plugins/memory/agent-indexes.ts";
import { createEmbed } from "../../../plugins/memory/embedding/embeddings-api.ts";
import { createEngine, type Engine } from "../../../plugins/memory/engine/engine.ts";
import type { Kind, Questions } from "../../../plugins/memory/engine/protocol.ts";
import type { Thread } from "../../../plugins/memory/engine/thread.ts";
import { temporaryDirectory } from "../agents/temporary.ts";
import { never } from "./scene.ts";

/** Calls an index in this thread. */
export function threadOf(engine: Engine): Pick<Thread, "ask"> {
  const answers: { [K in Kind]: (asked: Questions[K]["asked"], signal: AbortSignal) => unknown } = {
    search: ({ memory, query }, signal) => engine.search(memory, query, signal),
    sync: ({ memory, force }, signal) => engine.sync(memory, force, signal),
    figures: ({ memory }) => engine.figures(memory),
    probe: ({ endpoint }, signal) => engine.probe(endpoint, signal),
    keep: ({ agentIds }) => engine.keep(agentIds),
  };
  return {
    ask: async <K extends Kind>(kind: K, asked: Questions[K]["asked"], signal = never) =>
      (await answers[kind](asked, signal)) as Questions[K]["answer"], // of the same kind
  };
}

export interface IndexesOptions extends Partial<AgentIndexesOptions> {
  /** Settings by agent; the first is the default one. */
  readonly agents?: () => ReturnType<AgentIndexesOptions["agents"]>;
  readonly settings?: Readonly<Record<string, MemorySearch>>;
  readonly reveal?: Secrets["reveal"];
}

export async function indexesOf(
  t: TestContext,
  workspaces: Readonly<Record<string, string>>,
  options: IndexesOptions = {},
) {
  const { settings = {}, reveal } = options;
  const file = join(await temporaryDirectory(t), "index.sqlite");
  const engine = createEngine({ file, note: () => {}, embed: createEmbed() });
  t.after(() => engine.close());
  const warned: unknown[] = [];
  const [defaultId = "main"] = Object.keys(workspaces);
  const list = () =>
    Object.entries(workspaces).map(([id, workspace]) => ({ id, workspace, isDefault: id === defaultId }));
  const indexes = createAgentIndexes({
    agents: () => ({ list, defaultId, memorySearch: (id) => settings[id] ?? {} }),
    secrets: () => (reveal ? { reveal } : undefined),
    thread: threadOf(engine),
    file: () => file,
    log: { warn: (fields) => warned.push(fields) },
    ...options,
  });
  return { indexes, engine, file, warned };
}
